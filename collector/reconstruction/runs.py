"""Groups the spans of a trace into agent runs.

A run is an agent span and its subtree. A tool execution belongs to the nearest agent above it, whatever steps, chains and
model spans are in between. An execution directly below another of the same tool, with no agent between, is the same call
recorded again (framework > MCP client > MCP server). An agent span directly inside one of the same name, or without a
name, is a wrapper of the same run. Spans without an agent form one more run, anchored at the trace's root or at the
earliest span.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from collector.model.genai_span import GenAISpan, Role
from collector.reconstruction.ancestry import Ancestry
from collector.reconstruction.drafts import RunSpans, by_start
from collector.reconstruction.requested_calls import belongs_to

HANDOFF_NS: Final = 5_000_000
"""How long before an agent's run the span of the handoff to it may end."""
MAX_NAMESAKES: Final = 64
"""With how many agents of the same name an idle agent is compared."""


def group_runs(spans: Mapping[bytes, GenAISpan], ancestry: Ancestry) -> list[RunSpans]:
    """Returns the runs of one trace, sorted by the start of their anchors; ``spans`` are sorted by start."""
    found: list[RunSpans] = []
    run_of: dict[bytes, RunSpans] = {}
    for span in spans.values():
        if span.role is Role.AGENT and span.span_id not in run_of:
            _open_run(span, ancestry, run_of, found)
    calls: dict[bytes, list[GenAISpan]] = {}
    agentless = _adopt(_assign(spans, ancestry, run_of, calls), found)
    for run in found if agentless is None else (*found, agentless):
        if run.enclosing or run.started_by is not None:
            _use_outermost_ids(run, calls)
    if len(found) > 1:
        found = _without_duplicates(_without_workflows(found))
    if agentless is not None and _is_run(agentless, bool(found)):
        _set_anchor(agentless, spans, ancestry)
        if agentless.anchor is None or agentless.anchor.role is not Role.SESSION:  # its calls are in other traces too
            found.append(agentless)
    return found


def _assign(
    spans: Mapping[bytes, GenAISpan],
    ancestry: Ancestry,
    run_of: Mapping[bytes, RunSpans],
    calls: dict[bytes, list[GenAISpan]],
) -> dict[bytes, RunSpans]:
    """Assign each tool execution and model request to its agent's run. Returns those without one, by missing ancestor.

    Fills ``calls`` with all spans of a call, by the id of each of its spans.
    """
    agentless: dict[bytes, RunSpans] = {}
    for span in spans.values():
        if span.role is not Role.TOOL and span.role is not Role.MODEL:
            continue
        ancestors = ancestry.ancestors_of(span.span_id)
        if ancestors.agent is not None:
            run = run_of[ancestors.agent.span_id]
        else:
            run = agentless.setdefault(ancestors.missing, RunSpans(None, b""))
        if span.role is Role.MODEL:
            run.models.append(span)
        elif ancestors.tool is None:
            calls[span.span_id] = call = [span]
            run.executions.append(call)
        elif span.span_id not in calls:
            _open_nested_call(span, ancestry, calls, run)
    return agentless


def _adopt(orphans: Mapping[bytes, RunSpans], runs: Sequence[RunSpans]) -> RunSpans | None:
    """Give what is below a missing span to the run that it belongs to. Returns the spans that belong to no agent's run.

    Where nothing tells which run it is, each that was under way counts the calls as in doubt.
    """
    agentless: RunSpans | None = None
    for missing, spans in orphans.items():
        owners = [run for run in runs if belongs_to(spans, run)] if missing else []
        possible = [run for run in runs if _is_under_way(run, spans)] if missing and len(owners) != 1 else []
        if len(owners) == 1:
            owners[0].adopted.add(missing)
            _join(owners[0], spans)
        elif possible:
            for run in possible:
                run.adopted.add(missing)
                run.disputed.append(spans)
        else:
            agentless = agentless or RunSpans(None, b"")
            _join(agentless, spans)
            if missing:
                agentless.incomplete, agentless.missing_ancestor = ("missing_parent",), missing
    return agentless


def _join(run: RunSpans, spans: RunSpans) -> None:
    run.executions += spans.executions
    run.models += spans.models
    run.enclosing.update(spans.enclosing)


def _is_under_way(run: RunSpans, spans: RunSpans) -> bool:
    """Whether the run may have made these calls, by the time at which it happened."""
    anchor = run.anchor
    if anchor is None or not anchor.start_ns or not spans.executions:
        return anchor is not None and bool(spans.executions or spans.models)
    starts = [call[0].start_ns for call in spans.executions if call[0].resource == anchor.resource]
    return not starts or any(anchor.start_ns <= start <= anchor.end_ns for start in starts)


def _is_run(agentless: RunSpans, has_agents: bool) -> bool:
    """Whether spans without an agent are a run: beside agents, a model request without tool calls is none."""
    return bool(agentless.executions) or not has_agents or any(model.output is not None for model in agentless.models)


def _open_run(agent: GenAISpan, ancestry: Ancestry, run_of: dict[bytes, RunSpans], found: list[RunSpans]) -> None:
    """Open the run of ``agent`` and those of the agents above it, outermost first."""
    nested = {agent.span_id: agent}
    outer = ancestry.ancestors_of(agent.span_id).agent
    while outer is not None and outer.span_id not in run_of and outer.span_id not in nested:
        nested[outer.span_id] = outer
        outer = ancestry.ancestors_of(outer.span_id).agent
    for inner in reversed(nested.values()):
        ancestors = ancestry.ancestors_of(inner.span_id)
        parent = None if ancestors.agent is None else run_of.get(ancestors.agent.span_id)
        if parent is not None and ancestors.tool is None and _is_wrapped(inner, parent):
            parent.wrappers.append(inner)
            run_of[inner.span_id] = parent
            continue
        run_of[inner.span_id] = run = RunSpans(inner, inner.span_id, parent)
        found.append(run)
        if parent is not None:
            parent.children.append(run)
        if ancestors.tool is not None:
            run.started_by = ancestors.tool.span_id
        if ancestors.missing:
            run.incomplete, run.missing_ancestor = ("missing_parent",), ancestors.missing


def _is_wrapped(inner: GenAISpan, outer: RunSpans) -> bool:
    return inner.name is None or (outer.anchor is not None and inner.name == outer.anchor.name)


def _open_nested_call(span: GenAISpan, ancestry: Ancestry, calls: dict[bytes, list[GenAISpan]], run: RunSpans) -> None:
    """Add ``span`` together with the executions above it that record the same call, outermost first."""
    nested = {span.span_id: span}
    outer = ancestry.ancestors_of(span.span_id).tool
    while (
        outer is not None and _is_same_tool(outer, span) and outer.span_id not in calls and outer.span_id not in nested
    ):
        nested[outer.span_id] = outer
        outer = ancestry.ancestors_of(outer.span_id).tool
    call = calls.get(outer.span_id) if outer is not None and _is_same_tool(outer, span) else None
    if call is None:
        call = []
        run.executions.append(call)
        if outer is not None:
            run.enclosing[next(reversed(nested))] = outer.span_id
    for execution in reversed(nested.values()):
        call.append(execution)
        calls[execution.span_id] = call


def _is_same_tool(outer: GenAISpan, inner: GenAISpan) -> bool:
    return outer.role is Role.TOOL and outer.name == inner.name


def _use_outermost_ids(run: RunSpans, calls: Mapping[bytes, list[GenAISpan]]) -> None:
    """Refer to the calls that started this run, or enclose its executions, by their outermost spans."""
    if run.started_by is not None and run.started_by in calls:
        run.started_by = calls[run.started_by][0].span_id
    for execution, outer in run.enclosing.items():
        if outer in calls:
            run.enclosing[execution] = calls[outer][0].span_id


def _without_workflows(found: list[RunSpans]) -> list[RunSpans]:
    """Returns ``found`` without agents that did nothing themselves and only contain others: those are workflows."""
    starters = {run.parent.anchor_id for run in found if run.parent is not None and run.started_by is None}
    runs: list[RunSpans] = []
    for run in found:  # outer runs come first
        while run.parent is not None and run.parent.anchor_id in starters and _is_idle(run.parent):
            run.parent = run.parent.parent
        if run.anchor_id not in starters or not _is_idle(run):
            runs.append(run)
    return runs


def _without_duplicates(found: list[RunSpans]) -> list[RunSpans]:
    """Returns ``found`` without agents that did nothing beside one of the same name that did: these are spans of a
    handoff, or of a second instrumentation, for the same run."""
    busy: dict[str | None, list[GenAISpan]] = {}
    for run in found:
        if run.anchor is not None and not _is_idle(run):
            busy.setdefault(run.anchor.name, []).append(run.anchor)
    return [
        run
        for run in found
        if not (_is_idle(run) and any(_is_duplicate(run.anchor, other) for other in _namesakes(run, busy)))
    ]


def _namesakes(run: RunSpans, busy: Mapping[str | None, list[GenAISpan]]) -> list[GenAISpan]:
    return [] if run.anchor is None else busy.get(run.anchor.name, [])[:MAX_NAMESAKES]


def _is_duplicate(idle: GenAISpan | None, busy: GenAISpan) -> bool:
    return idle is not None and busy.start_ns - HANDOFF_NS <= idle.end_ns and idle.start_ns <= busy.end_ns


def _is_idle(run: RunSpans) -> bool:
    return not run.executions and not run.models


def _set_anchor(agentless: RunSpans, spans: Mapping[bytes, GenAISpan], ancestry: Ancestry) -> None:
    root = ancestry.root()
    anchor = None if root is None else spans.get(root)
    if root is not None and (anchor is None or anchor.role is not Role.AGENT):
        agentless.anchor, agentless.anchor_id = anchor, root
    else:
        earliest = min([*agentless.models, *(call[0] for call in agentless.executions)], key=by_start)
        agentless.anchor_id = earliest.span_id[:8]
        agentless.incomplete = (*agentless.incomplete, "missing_anchor")
