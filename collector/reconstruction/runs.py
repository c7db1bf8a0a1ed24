"""Readings of a trace -> the agent runs in it: who belongs to whom.

A run is an agent span and its subtree. A tool call belongs to the nearest agent above it, however many steps, chains and
model spans lie between. An execution right below another of the same tool, with no agent between, is the same call seen
again (framework > MCP client > MCP server). An agent span right inside one of the same name, or without a name, is a
wrapper of the same run. What belongs to no agent is one more run, anchored at the trace's root or at the earliest span.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Final

from collector.model.genai_span import Content, GenAISpan, Role
from collector.reconstruction.ancestry import Ancestry
from collector.reconstruction.drafts import RunSpans

HANDOFF_NS: Final = 5_000_000
"""How long before an agent's run the span of the handoff to it may end."""
MAX_NAMESAKES: Final = 64


def index_spans(genai_spans: Iterable[GenAISpan]) -> dict[bytes, GenAISpan]:
    """Returns the spans by span id, in order of start: repeated spans once, log events merged into their model span."""
    spans: dict[bytes, GenAISpan] = {}
    events: dict[bytes, list[GenAISpan]] = {}
    for span in sorted(genai_spans, key=_start):
        if span.role is Role.EVENT:
            events.setdefault(span.span_id, []).append(span)
        elif span.span_id:
            spans.setdefault(span.span_id, span)
    for span_id, told in events.items():
        _attach(spans, span_id, told)
    return spans


def _start(span: GenAISpan) -> tuple[int, bytes]:
    # Arrival order means nothing: exporters send spans as they end, retries and processes mix. Ids at least are fixed.
    return span.start_ns, span.span_id


def _attach(spans: dict[bytes, GenAISpan], span_id: bytes, events: list[GenAISpan]) -> None:
    """Make ``events`` part of their model span, or model requests of their own where that span is none."""
    unique = {repr((event.start_ns, event.output, event.user_input, event.tool_results)): event for event in events}
    model = spans.get(span_id)
    if model is not None and model.role is Role.MODEL:
        model = spans[span_id] = copy(model)  # the caller's spans stay as they are
        if model.output is None:
            model.output = [event.output for event in unique.values() if event.output is not None] or None
        for event in unique.values():
            model.user_input = model.user_input or event.user_input
            model.conversation_id = model.conversation_id or event.conversation_id
            if event.content is not None:
                known = model.content or Content()
                model.content = Content(
                    known.output or event.content.output, known.tool_definitions or event.content.tool_definitions
                )
            model.tool_results = (*(model.tool_results or ()), *(event.tool_results or ())) or None
        return
    for number, event in enumerate(unique.values()):
        model = copy(event)
        model.role = Role.MODEL
        model.parent_span_id = span_id
        model.span_id = span_id + number.to_bytes(4, "big")  # longer than any span's id, so nobody else's
        spans[model.span_id] = model


def group(spans: Mapping[bytes, GenAISpan], ancestry: Ancestry) -> list[RunSpans]:
    """The runs of one trace, anchors in order of start. ``spans`` as ``index_spans`` returns them."""
    found: list[RunSpans] = []
    run_of: dict[bytes, RunSpans] = {}
    for span in spans.values():
        if span.role is Role.AGENT and span.span_id not in run_of:
            _open_run(span, ancestry, run_of, found)
    calls: dict[bytes, list[GenAISpan]] = {}
    stray = _assign(spans, ancestry, run_of, calls)
    for run in found if stray is None else (*found, stray):
        if run.nested or run.outer_id is not None:
            _name_starters(run, calls)
    if len(found) > 1:
        found = _without_echoes(_without_workflows(found))
    if stray is not None and _is_run(stray, bool(found)):
        _anchor_stray(stray, spans, ancestry)
        if stray.anchor is None or stray.anchor.role is not Role.SESSION:  # calls of a session are seen elsewhere
            found.append(stray)
    return found


def _assign(
    spans: Mapping[bytes, GenAISpan],
    ancestry: Ancestry,
    run_of: Mapping[bytes, RunSpans],
    calls: dict[bytes, list[GenAISpan]],
) -> RunSpans | None:
    """Give each tool execution and model request to its agent's run; the answer is the run of what has no agent.

    ``calls`` gets for the span of each execution all spans of the same call.
    """
    stray: RunSpans | None = None
    for span in spans.values():
        if span.role is not Role.TOOL and span.role is not Role.MODEL:
            continue
        ancestors = ancestry.ancestors_of(span.span_id)
        if ancestors.agent is not None:
            run = run_of[ancestors.agent.span_id]
        else:
            run = stray = stray or RunSpans(None, b"")
            if not ancestors.complete:
                run.missing = ("missing_parent",)
        if span.role is Role.MODEL:
            run.models.append(span)
        elif ancestors.tool is None:
            calls[span.span_id] = call = [span]
            run.executions.append(call)
        elif span.span_id not in calls:
            _open_nested_call(span, ancestry, calls, run)
    return stray


def _is_run(stray: RunSpans, has_agents: bool) -> bool:
    """Beside agents, a model request that asked for nothing makes no run."""
    return bool(stray.executions) or not has_agents or any(model.output is not None for model in stray.models)


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
            run.outer_id = ancestors.tool.span_id
        if not ancestors.complete:
            run.missing = ("missing_parent",)


def _is_wrapped(inner: GenAISpan, outer: RunSpans) -> bool:
    return inner.name is None or (outer.anchor is not None and inner.name == outer.anchor.name)


def _open_nested_call(span: GenAISpan, ancestry: Ancestry, calls: dict[bytes, list[GenAISpan]], run: RunSpans) -> None:
    """Enter ``span`` together with the executions above it that show the same call, outermost first."""
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
            run.nested[next(reversed(nested))] = outer.span_id
    for execution in reversed(nested.values()):
        call.append(execution)
        calls[execution.span_id] = call


def _is_same_tool(outer: GenAISpan, inner: GenAISpan) -> bool:
    return outer.role is Role.TOOL and outer.name == inner.name


def _name_starters(run: RunSpans, calls: Mapping[bytes, list[GenAISpan]]) -> None:
    """What started a run, or an execution inside another, is a call: known by its outermost span."""
    if run.outer_id is not None and run.outer_id in calls:
        run.outer_id = calls[run.outer_id][0].span_id
    for execution, outer in run.nested.items():
        if outer in calls:
            run.nested[execution] = calls[outer][0].span_id


def _without_workflows(found: list[RunSpans]) -> list[RunSpans]:
    """``found`` but for agents that did nothing themselves and only contain others: those are workflows."""
    starters = {run.parent.anchor_id for run in found if run.parent is not None and run.outer_id is None}
    kept: list[RunSpans] = []
    for run in found:  # outer runs come first
        while run.parent is not None and run.parent.anchor_id in starters and _is_idle(run.parent):
            run.parent = run.parent.parent
        if run.anchor_id not in starters or not _is_idle(run):
            kept.append(run)
    return kept


def _without_echoes(found: list[RunSpans]) -> list[RunSpans]:
    """``found`` but for agents that did nothing beside one of the same name that did: a handoff's or a second
    instrumentation's span of the same run."""
    busy: dict[str | None, list[GenAISpan]] = {}
    for run in found:
        if run.anchor is not None and not _is_idle(run):
            busy.setdefault(run.anchor.name, []).append(run.anchor)
    return [
        run for run in found if not (_is_idle(run) and any(_is_echo(run.anchor, of) for of in _named_as(run, busy)))
    ]


def _named_as(run: RunSpans, busy: Mapping[str | None, list[GenAISpan]]) -> list[GenAISpan]:
    return [] if run.anchor is None else busy.get(run.anchor.name, [])[:MAX_NAMESAKES]


def _is_echo(idle: GenAISpan | None, busy: GenAISpan) -> bool:
    return idle is not None and busy.start_ns - HANDOFF_NS <= idle.end_ns and idle.start_ns <= busy.end_ns


def _is_idle(run: RunSpans) -> bool:
    return not run.executions and not run.models


def _anchor_stray(stray: RunSpans, spans: Mapping[bytes, GenAISpan], ancestry: Ancestry) -> None:
    root = ancestry.root()
    anchor = None if root is None else spans.get(root)
    if root is not None and (anchor is None or anchor.role is not Role.AGENT):
        stray.anchor, stray.anchor_id = anchor, root
    else:
        earliest = min([*stray.models, *(call[0] for call in stray.executions)], key=_start)
        stray.anchor_id = earliest.span_id[:8]
        stray.missing = (*stray.missing, "missing_anchor")
