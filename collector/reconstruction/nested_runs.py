"""Makes runs of the agents inside tools that have no span of their own, where the spans of their models name them.

rig opens the span of an agent only where none is around it: inside a tool the agent's requests and calls are directly below
the tool's span. Each of its requests names the agent that made it, so what is inside a tool is that agent's run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from collector.checkpoints import checkpoint
from collector.model.genai_span import GenAISpan
from collector.reconstruction.drafts import RunSpans


def with_nested_runs(runs: Iterable[RunSpans]) -> list[RunSpans]:
    """Returns ``runs`` with those of agents inside their tools, outer ones first. Nothing else is known to be inside."""
    found: list[RunSpans] = []
    waiting = list(runs)[::-1]
    while waiting:
        run = waiting.pop()
        found.append(run)
        if run.asked_inside:
            checkpoint()
            waiting += _runs_inside(run)[::-1]
    return found


def _runs_inside(run: RunSpans) -> list[RunSpans]:
    """Take from ``run`` what agents inside its tools did, and return their runs: each has what is inside its tool."""
    # The outermost tools alone: what is deeper inside is taken along, and looked at with the run that took it.
    outermost = [call[0] for call in run.executions if call[0].span_id not in run.enclosing]
    tools = [tool for tool in outermost if tool.tracing.extent == "nested"]
    if not tools:
        return []
    own = {model.agent for model in run.models if model.span_id not in run.asked_inside}
    own |= {None, None if run.anchor is None else run.anchor.name}
    agents = _agents_inside(run)
    inner: dict[bytes, RunSpans] = {}
    for tool in tools:
        names = agents.get(tool.span_id, own)
        # One without a name, or of the name of the agent around it, may be that agent: that stays in doubt.
        if len(names) == 1 and names.isdisjoint(own):
            inner[tool.span_id] = _begin(tool, run)
    if inner:
        _move(run, inner)
    return list(inner.values())


def _agents_inside(run: RunSpans) -> dict[bytes, set[str | None]]:
    """Returns by tool which agents the requests directly inside it name, and None for what the tool may have done itself."""
    found: dict[bytes, set[str | None]] = {}
    for call in run.executions if run.enclosing else ():
        tool = run.enclosing.get(call[0].span_id)
        if tool is not None and call[0].name is not None and call[0].tracing.extent != "nested":
            found.setdefault(tool, set()).add(None)
    for model in run.models:
        if (tool := run.asked_inside.get(model.span_id)) is not None:
            found.setdefault(tool, set()).add(model.agent)
    return found


def _begin(tool: GenAISpan, outer: RunSpans) -> RunSpans:
    run = RunSpans(tool, tool.span_id, outer)
    run.started_by = tool.span_id
    outer.children.append(run)
    return run


def _move(run: RunSpans, inner: Mapping[bytes, RunSpans]) -> None:
    """Give what is inside the tools of ``inner`` to their runs."""
    tool_of = _outermost_tools(run)
    executions, models = run.executions, run.models
    run.executions, run.models = [], []
    for call in executions:
        inner.get(tool_of.get(call[0].span_id, b""), run).executions.append(call)
    for model in models:
        inner.get(tool_of.get(model.span_id, b""), run).models.append(model)
    for owner, span_id, tool in _taken(run.enclosing, inner, tool_of):
        owner.enclosing[span_id] = tool
    for owner, span_id, tool in _taken(run.asked_inside, inner, tool_of):
        owner.asked_inside[span_id] = tool


def _outermost_tools(run: RunSpans) -> dict[bytes, bytes]:
    """Returns for each span inside a tool of the run the outermost tool around it."""
    found: dict[bytes, bytes] = {}
    for inside in (run.enclosing, run.asked_inside):
        for span_id, nearest in inside.items():
            # Parents may form a cycle, and what was walked once is known for all on the way: else this was not linear.
            way, tool = {span_id}, nearest
            while tool not in found and tool in run.enclosing and tool not in way:
                way.add(tool)
                tool = run.enclosing[tool]
            found.update(dict.fromkeys(way, found.get(tool, tool)))
    return found


def _taken(
    inside: dict[bytes, bytes], inner: Mapping[bytes, RunSpans], tool_of: Mapping[bytes, bytes]
) -> list[tuple[RunSpans, bytes, bytes]]:
    """Take from ``inside`` what is inside tools of the inner runs. Returns it, but for what is directly inside: the tool that
    started a run is not around it.
    """
    taken = [(inner[tool_of[span_id]], span_id, tool) for span_id, tool in inside.items() if tool_of[span_id] in inner]
    for _, span_id, _ in taken:
        del inside[span_id]
    return [one for one in taken if one[2] not in inner]
