"""Groups the spans of a trace into agent runs.

A run is an agent span and its subtree. A tool execution belongs to the nearest agent above it, whatever steps, chains and
model spans are in between. An execution directly below another of the same tool, with no agent between, is the same call
recorded again (framework > MCP client > MCP server). A run that only contains one agent span of the same name, or without
a name, is that agent's wrapper. Spans without an agent form one more run, anchored at the trace's root or at the earliest
span. What two instrumentations recorded counts once (`duplicates`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from collector.model.genai_span import GenAISpan, Role
from collector.payloads.messages import tool_call_parts
from collector.reconstruction.ancestry import Ancestry
from collector.reconstruction.drafts import RunSpans, by_start, latest_start
from collector.reconstruction.duplicates import (
    SeenBy,
    absorb_calls,
    absorb_models,
    is_nested_call,
    merge_repeated_calls,
    repeated_runs,
    without_repeated_models,
)
from collector.reconstruction.requested_calls import CallIds, Owners, requested_calls

MAX_WRAPPERS: Final = 64
"""How many further agent spans of one run are searched for its context."""
MAX_OWNERS_COMPARED: Final = 100_000
"""How many pairs of a run and of spans that may be its own are compared; where there are more, they are nobody's."""
HANDOFF_NS: Final = 5_000_000
"""How long before or after the start of an agent's run the span of the handoff to it may end."""


def group_runs(spans: Mapping[bytes, GenAISpan], ancestry: Ancestry) -> list[RunSpans]:
    """Returns the runs of one trace, sorted by the start of their anchors; ``spans`` are sorted by start."""
    found: list[RunSpans] = []
    run_of: dict[bytes, RunSpans] = {}
    for span in spans.values():
        if span.role is Role.AGENT and span.span_id not in run_of:
            _open_run(span, ancestry, run_of, found)
    calls: dict[bytes, list[GenAISpan]] = {}
    orphans = _assign(spans, ancestry, run_of, calls)
    if len(found) > 1:
        found = _without_wrapped(_unite_repeated(found))
    root = spans.get(ancestry.root() or b"")
    agentless = _adopt(orphans, found, has_root=root is not None and root.role is not Role.AGENT)
    if found and agentless is not None:
        _reclaim(agentless, found)
    for run in found if agentless is None else (*found, agentless):
        _merge_repeated(run, calls)
    for run in found if agentless is None else (*found, agentless):
        _use_outermost_ids(run, calls)
    if len(found) > 1:
        found = _without_handoffs(_without_workflows(found))
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
        elif span.span_id in calls:
            continue  # by the clock, one inside it started first
        elif ancestors.tool is None:
            calls[span.span_id] = call = [span]
            run.executions.append(call)
        else:
            _open_nested_call(span, ancestry, calls, run)
    return agentless


def _adopt(orphans: Mapping[bytes, RunSpans], runs: Sequence[RunSpans], *, has_root: bool) -> RunSpans | None:
    """Give what is below a missing span to the run that it belongs to. Returns the spans that belong to no agent's run.

    Where nothing tells which run it is, each that was under way counts the calls as in doubt. Without agents it is the
    root's, unless several spans are missing: each may have been an agent.
    """
    agentless = orphans.get(b"")
    below_missing = {missing: spans for missing, spans in orphans.items() if missing}
    if not below_missing:
        return agentless
    _absorb_repeated(list(below_missing.values()), runs)
    may_compare = len(runs) * len(below_missing) <= MAX_OWNERS_COMPARED
    owners_of, unowned = Owners(runs), []
    for missing, spans in below_missing.items():
        if runs and _is_idle(spans):  # all of it was recorded twice
            runs[0].adopted.add(missing)
            continue
        ids = CallIds(spans)
        owners = owners_of.of(ids)
        possible = [run for run in runs if _is_under_way(run, spans)] if may_compare and len(owners) != 1 else []
        if len(owners) == 1:
            owners[0].adopted.add(missing)
            _join(owners[0], spans)
        elif possible:
            for run in possible:
                run.adopted.add(missing)
                run.disputed.append(spans)
        else:
            unowned.append((missing, spans, ids))
    if not unowned:
        return agentless
    is_disputed = has_root and len(unowned) + (agentless is not None) > 1
    agentless = agentless or RunSpans(None, b"")
    known = CallIds(agentless)
    for missing, spans, ids in unowned:
        if is_disputed and not ids.match(known):
            agentless.adopted.add(missing)
            agentless.disputed.append(spans)
        else:
            _join(agentless, spans)
            known.add(spans)
            agentless.incomplete, agentless.missing_ancestor = ("missing_parent",), missing
    return agentless


def _absorb_repeated(orphans: Sequence[RunSpans], runs: Sequence[RunSpans]) -> None:
    """Merge what another instrumentation recorded as spans of ``runs`` into those."""
    together = RunSpans(None, b"")
    for spans in orphans:
        _join(together, spans)
    if runs and _is_recorded_twice(together, runs):
        absorb_calls(runs, together)
        absorb_models(runs, together)
        left = {model.span_id for model in together.models}
        for spans in orphans:
            spans.executions = [call for call in spans.executions if call]
            spans.models = [model for model in spans.models if model.span_id in left]


def _reclaim(agentless: RunSpans, runs: Sequence[RunSpans]) -> None:
    """Take from ``agentless`` what is a run's: recorded there by another instrumentation, or requested by its models."""
    if _is_recorded_twice(agentless, runs):
        seen_by = absorb_calls(runs, agentless) | absorb_models(runs, agentless)
        for run in runs:
            own = run.anchor.instrumentation if run.anchor is not None else None
            seen_by |= {(id(run), span.scope) for span in run.wrappers if span.instrumentation != own}
        besides = {scope for _, scope in seen_by}
        seen_by |= {(id(run), run.anchor.scope) for run in runs if run.anchor is not None}
        _claim_rest(agentless, runs, {pair for pair in seen_by if pair[1] in besides})
    if not any(call[0].call_id for call in agentless.executions):
        return
    owners: dict[str, list[RunSpans]] = {}
    for run in runs:
        ids = {call.id for call in requested_calls(sorted(run.models, key=by_start)) if call.id is not None}
        for call_id in ids:
            owners.setdefault(call_id, []).append(run)
    remaining: list[list[GenAISpan]] = []
    for call in agentless.executions:
        requesters = owners.get(call[0].call_id or "", ())
        (requesters[0].executions if len(requesters) == 1 else remaining).append(call)
    agentless.executions = remaining


def _claim_rest(agentless: RunSpans, runs: Sequence[RunSpans], seen_by: SeenBy) -> None:
    """Give what an instrumentation recorded besides spans that are a run's too to that run: the run lacks its own span.

    Where it recorded several runs at that time, each counts the calls as in doubt.
    """
    if len(runs) * (len(agentless.executions) + len(agentless.models)) > MAX_OWNERS_COMPARED:
        agentless.incomplete = (*agentless.incomplete, "missing_anchor")
        return
    unclaimed = RunSpans(None, agentless.anchor_id)
    for span, alone in [
        *((call[0], RunSpans(None, b"", executions=[call])) for call in agentless.executions),
        *((model, RunSpans(None, b"", models=[model])) for model in agentless.models),
    ]:
        owners = [run for run in runs if (id(run), span.scope) in seen_by and _may_enclose(run.anchor, span)]
        if span.start_ns:
            owners = [run for run in owners if not any(other.parent is run for other in owners)]
        if len(owners) == 1:
            _join(owners[0], alone)
        elif owners:
            for run in owners:
                run.disputed.append(alone)
        else:
            _join(unclaimed, alone)
    agentless.executions, agentless.models = unclaimed.executions, unclaimed.models


def _may_enclose(anchor: GenAISpan | None, span: GenAISpan) -> bool:
    """Whether the span may have been made during the run: by the clock, where one clock stamped both."""
    if anchor is None or anchor.resource != span.resource or not span.start_ns or not anchor.start_ns:
        return True
    return anchor.start_ns <= latest_start(span.start_ns) and span.start_ns <= max(anchor.end_ns, anchor.start_ns)


def _members(run: RunSpans) -> Iterator[GenAISpan]:
    yield from run.models
    for call in run.executions:
        yield call[0]


def _is_recorded_twice(spans: RunSpans, runs: Iterable[RunSpans]) -> bool:
    """Whether an instrumentation recorded these spans that did not record those of the runs, or the reverse."""
    return len({span.instrumentation for run in (spans, *runs) for span in _members(run)}) > 1


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
    return (
        bool(agentless.executions or agentless.disputed)
        or not has_agents
        or any(model.output is not None and tool_call_parts(model.output) for model in agentless.models)
    )


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
        run_of[inner.span_id] = run = RunSpans(inner, inner.span_id, parent)
        found.append(run)
        if parent is not None:
            parent.children.append(run)
        if ancestors.tool is not None:
            run.started_by = ancestors.tool.span_id
        if ancestors.missing:
            run.incomplete, run.missing_ancestor = ("missing_parent",), ancestors.missing


def _unite_repeated(found: list[RunSpans]) -> list[RunSpans]:
    """Returns ``found`` with the runs that two instrumentations recorded as one."""
    kept_as: dict[int, RunSpans] = {}
    for kept, absorbed in repeated_runs(found):
        _unite(kept, absorbed)
        kept_as[id(absorbed)] = kept
        if kept.parent is None and absorbed.parent is not kept:
            kept.parent, kept.started_by = absorbed.parent, absorbed.started_by
    return _relinked(found, kept_as) if kept_as else found


def _without_wrapped(found: list[RunSpans]) -> list[RunSpans]:
    """Returns ``found`` without the agent spans that are another span of the same run.

    One of the same name, or without a name, directly inside another may be: if it does nothing; or if the outer one does
    nothing itself and contains no second one, or only unnamed ones one after the other, its turns. Else the outer one is
    a workflow, or calls itself.
    """
    parents = {id(run.parent) for run in found}
    idle = {id(run) for run in found if _is_idle(run)}
    nested: dict[int, list[RunSpans]] = {}
    names: dict[int, str | None] = {}
    for inner in found:  # outer runs come first
        name = None if inner.anchor is None else inner.anchor.name
        outer_name = names.get(id(inner.parent))
        if inner.parent is not None and inner.started_by is None and name in (None, outer_name):
            nested.setdefault(id(inner.parent), []).append(inner)
            name = outer_name
        names[id(inner)] = name
    kept_as: dict[int, RunSpans] = {}
    for outer in found:
        inner_runs = nested.get(id(outer), ())
        busy = [inner for inner in inner_runs if id(inner) not in idle or id(inner) in parents]
        is_wrapper = id(outer) in idle and (len(busy) == 1 or _are_turns(busy))
        kept = kept_as.get(id(outer), outer)
        for inner in inner_runs:
            if is_wrapper or (id(inner) in idle and id(inner) not in parents):
                _unite(kept, inner)
                kept_as[id(inner)] = kept
    return _relinked(found, kept_as) if kept_as else found


def _are_turns(runs: Sequence[RunSpans]) -> bool:
    """Whether the agent spans of these runs have no names and follow one another."""
    anchors = [run.anchor for run in runs if run.anchor is not None and run.anchor.name is None]
    return len(anchors) == len(runs) and all(
        latest_start(later.start_ns) >= earlier.end_ns for earlier, later in pairwise(anchors)
    )


def _unite(kept: RunSpans, absorbed: RunSpans) -> None:
    """Make the spans of ``absorbed`` spans of ``kept``."""
    inner = [*([] if absorbed.anchor is None else [absorbed.anchor]), *absorbed.wrappers]
    kept.wrappers += inner[: MAX_WRAPPERS - len(kept.wrappers)]
    _join(kept, absorbed)


def _kept(run: RunSpans, kept_as: Mapping[int, RunSpans]) -> RunSpans:
    """Returns the run whose spans those of ``run`` are now."""
    while (kept := kept_as.get(id(run))) is not None:
        run = kept
    return run


def _relinked(found: Sequence[RunSpans], kept_as: dict[int, RunSpans]) -> list[RunSpans]:
    """Returns the runs that were kept, with the runs that they started and were started by."""
    for run in found:  # outer runs come first, so a long chain is followed once
        if id(run) in kept_as:
            kept_as[id(run)] = _kept(run, kept_as)
    runs = [run for run in found if id(run) not in kept_as]
    for run in runs:
        run.children = []
        run.parent = None if run.parent is None else _kept(run.parent, kept_as)
    _break_cycles(runs)
    for run in {id(kept): kept for kept in kept_as.values()}.values():
        run.executions.sort(key=lambda call: by_start(call[0]))
    for run in runs:
        if run.parent is not None:
            run.parent.children.append(run)
    return runs


def _break_cycles(runs: Iterable[RunSpans]) -> None:
    """Leave no run above itself: two instrumentations may disagree on which of two agents contains the other."""
    seen: set[int] = set()
    for run in runs:
        path: set[int] = set()
        above: RunSpans | None = run
        while above is not None and id(above) not in seen:
            seen.add(id(above))
            path.add(id(above))
            if above.parent is not None and id(above.parent) in path:
                above.parent = None
            above = above.parent


def _open_nested_call(span: GenAISpan, ancestry: Ancestry, calls: dict[bytes, list[GenAISpan]], run: RunSpans) -> None:
    """Add ``span`` together with the executions above it that record the same call, outermost first."""
    nested = {span.span_id: span}
    outer = ancestry.ancestors_of(span.span_id).tool
    while (
        outer is not None and is_nested_call(outer, span) and outer.span_id not in calls and outer.span_id not in nested
    ):
        nested[outer.span_id] = outer
        outer = ancestry.ancestors_of(outer.span_id).tool
    call = calls.get(outer.span_id) if outer is not None and is_nested_call(outer, span) else None
    if call is None:
        call = []
        run.executions.append(call)
        if outer is not None:
            run.enclosing[next(reversed(nested))] = outer.span_id
    for execution in reversed(nested.values()):
        call.append(execution)
        calls[execution.span_id] = call


def _merge_repeated(run: RunSpans, calls: dict[bytes, list[GenAISpan]]) -> None:
    """Merge what two instrumentations recorded of this run, and refer to its calls by their outermost spans."""
    merge_repeated_calls(run)
    if len(run.models) > 1:
        run.models = without_repeated_models(run.models)
    for call in run.executions:
        if len(call) > 1:
            calls.update((span.span_id, call) for span in call)


def _use_outermost_ids(run: RunSpans, calls: Mapping[bytes, list[GenAISpan]]) -> None:
    """Refer to the calls that started this run, or enclose its executions, by their outermost spans."""
    if run.started_by is not None and run.started_by in calls:
        run.started_by = calls[run.started_by][0].span_id
    if run.enclosing:
        pairs = [
            tuple(calls[span_id][0].span_id if span_id in calls else span_id for span_id in pair)
            for pair in run.enclosing.items()
        ]
        run.enclosing = {execution: outer for execution, outer in pairs if execution != outer}


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


def _without_handoffs(found: list[RunSpans]) -> list[RunSpans]:
    """Returns ``found`` without agents that did nothing just before one of the same name started: spans of a handoff."""
    busy: dict[str | None, list[int]] = {}
    for run in found:
        if run.anchor is not None and not _is_idle(run):
            busy.setdefault(run.anchor.name, []).append(run.anchor.start_ns)
    for starts in busy.values():
        starts.sort()
    return [run for run in found if not (_is_idle(run) and _is_handoff(run, busy))]


def _is_handoff(idle: RunSpans, busy: Mapping[str | None, Sequence[int]]) -> bool:
    """Whether a busy agent of this name started when, or soon after, the idle one ended."""
    if idle.anchor is None or idle.anchor.status == "error":
        return False
    starts = busy.get(idle.anchor.name, ())
    after = bisect_left(starts, max(idle.anchor.end_ns - HANDOFF_NS, idle.anchor.start_ns))
    return after < len(starts) and starts[after] <= idle.anchor.end_ns + HANDOFF_NS


def _is_idle(run: RunSpans) -> bool:
    return not run.executions and not run.models


def _set_anchor(agentless: RunSpans, spans: Mapping[bytes, GenAISpan], ancestry: Ancestry) -> None:
    root = ancestry.root()
    anchor = None if root is None else spans.get(root)
    if root is not None and (anchor is None or anchor.role is not Role.AGENT):
        agentless.anchor, agentless.anchor_id = anchor, root
        if anchor is not None and anchor.role is Role.TOOL and not anchor.remote_parent:
            agentless.incomplete = (*agentless.incomplete, "missing_anchor")  # whoever called it is in another trace
    else:
        earliest = min([*agentless.models, *(call[0] for call in agentless.executions)], key=by_start)
        agentless.anchor_id = earliest.span_id[:8]
        agentless.incomplete = (*agentless.incomplete, "missing_anchor")
