"""Unites the runs of several agent spans that are one run: of two instrumentations, of wrappers, of the halves of one agent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from collector.model.genai_span import GenAISpan
from collector.model.span_copies import copy_of
from collector.model.tracing import tracing_of
from collector.payloads.messages import tool_call_parts
from collector.reconstruction.drafts import RunSpans, by_start, latest_start
from collector.reconstruction.duplicate_runs import is_around_agents, repeated_runs
from collector.reconstruction.known_calls import waits
from collector.reconstruction.ownership import join

MAX_WRAPPERS: Final = 64
"""How many further agent spans of one run are searched for its context."""


def united(found: list[RunSpans]) -> list[RunSpans]:
    """Returns ``found``, in which outer runs come first, with one run for all agent spans of each."""
    # In this order: whether an outer span is a wrapper depends on which runs are left inside it.
    return _with_requests(_with_continued(_without_wrapped(_unite_repeated(found))))


def _unite_repeated(found: list[RunSpans]) -> list[RunSpans]:
    """Returns ``found`` with the runs that two instrumentations recorded as one."""
    kept_as: dict[int, RunSpans] = {}
    for kept, absorbed in repeated_runs(found):
        _unite(kept, absorbed)
        kept_as[id(absorbed)] = kept
        # Only one of the two libraries may have recorded what started the run.
        if kept.parent is None and absorbed.parent is not kept:
            kept.parent, kept.started_by = absorbed.parent, absorbed.started_by
    return _relinked(found, kept_as) if kept_as else found


def _without_wrapped(found: list[RunSpans]) -> list[RunSpans]:
    """Returns ``found`` without the agent spans that are another span of the same run.

    One of the same name, or without a name, directly inside another may be: if it does nothing; or if the outer one does
    nothing itself and contains no second one, or only unnamed ones one after the other, its turns. Else the outer one is
    a workflow, as graphs are, or calls itself.
    """
    # By `id`: runs are mutable, and comparing two by value would compare all of their spans.
    parents = {id(run.parent) for run in found}
    idle = {id(run) for run in found if run.is_idle}
    nested: dict[int, list[RunSpans]] = {}
    names: dict[int, str | None] = {}
    for inner in found:  # outer runs come first
        name = None if inner.anchor is None else inner.anchor.name
        outer_name = names.get(id(inner.parent))
        # An unnamed span takes the name around it, so that wrappers are recognised through unnamed ones in between.
        if inner.parent is not None and inner.started_by is None and name in (None, outer_name):
            nested.setdefault(id(inner.parent), []).append(inner)
            name = outer_name
        names[id(inner)] = name
    kept_as: dict[int, RunSpans] = {}
    for outer in found:
        inner_runs = nested.get(id(outer), ())
        busy = [inner for inner in inner_runs if id(inner) not in idle or id(inner) in parents]
        is_wrapper = id(outer) in idle and (len(busy) == 1 or _are_turns(busy)) and not is_around_agents(outer)
        # Outer runs come first: what is inside an absorbed run goes to the outermost one at once.
        kept = kept_as.get(id(outer), outer)
        for inner in inner_runs:
            if is_wrapper or (id(inner) in idle and id(inner) not in parents):
                _unite(kept, inner)
                kept_as[id(inner)] = kept
    return _relinked(found, kept_as) if kept_as else found


def _with_continued(found: list[RunSpans]) -> list[RunSpans]:
    """Returns ``found`` with what an agent did before it waited for a human, and when that had answered, as one run: where the
    span of what goes on is inside that of what waited, and began when that had ended (Mastra), and where the same call of
    such a run started both.
    """
    parts: dict[int, list[RunSpans]] = {}  # of a run, by each of them
    known: dict[int, set[str | None]] = {}  # the calls of a run, by its first part
    # What a call started and waits, by the first part of the run around it, its agent and the id of the call.
    started: dict[tuple[int, str | None, str | None], RunSpans] = {}
    calls_of: dict[int, dict[bytes, str | None]] = {}  # the ids of the calls of a part, by their spans
    for inner in found:  # outer runs come first
        outer = inner.parent
        if outer is None or inner.anchor is None or outer.anchor is None:
            continue
        waiting: RunSpans | None = outer
        if inner.started_by is None:
            waiting = _last_waiting(parts.get(id(outer)), inner.anchor) or outer
        else:
            if not (started or waits(inner.anchor)):
                continue
            if id(outer) not in calls_of:
                calls_of[id(outer)] = {spans[0].span_id: spans[0].call_id for spans in outer.executions}
            call = id(parts.get(id(outer), [outer])[0]), inner.anchor.name, calls_of[id(outer)].get(inner.started_by)
            waiting = started.pop(call, None)
            if waits(inner.anchor):
                started[call] = inner
        if waiting is None or waiting.anchor is None:
            continue
        # Two runs inside one part are of two calls, though their ids may be the same.
        if inner.started_by is not None and waiting.parent is outer:
            continue
        of_run = parts.get(id(waiting), [waiting])
        # One part goes on with each: what more are inside are runs of their own, and the parts are compared once.
        if of_run[-1] is waiting and _continues(waiting.anchor, inner.anchor):
            calls = known.setdefault(id(of_run[0]), set())
            calls.update([spans[0].call_id for part in (waiting, inner) for spans in part.executions])
            _leave_out_repeated(waiting, inner, calls)
            of_run.append(inner)
            parts[id(of_run[0])] = parts[id(inner)] = of_run
    kept_as: dict[int, RunSpans] = {}
    for of_run in {id(of_run): of_run for of_run in parts.values()}.values():
        kept = of_run[0]
        kept.anchor = _until([part.anchor for part in of_run if part.anchor is not None])
        for part in of_run[1:]:
            _unite(kept, part)
            kept_as[id(part)] = kept
            kept.started_by = part.started_by or kept.started_by  # the call that waited is left out
    return _relinked(found, kept_as) if kept_as else found


def _last_waiting(of_run: Sequence[RunSpans] | None, resumed: GenAISpan) -> RunSpans | None:
    """Returns the last part of a run, if it waits for what another goes on with: all parts of a durable agent of Mastra's name
    the first as that in which they are.
    """
    if of_run is None or resumed.tracing.extent != "resumed":
        return None
    anchor = of_run[-1].anchor
    return of_run[-1] if anchor is not None and waits(anchor) else None


def _continues(waiting: GenAISpan, resumed: GenAISpan) -> bool:
    """Whether an agent goes on with an answer for which it waited, as one of its two spans tells."""
    is_same = (resumed.name, resumed.instrumentation) == (waiting.name, waiting.instrumentation)
    tells = waits(waiting) or resumed.tracing.extent == "resumed"
    return is_same and tells and latest_start(resumed.start_ns) >= waiting.end_ns > 0


def _leave_out_repeated(waiting: RunSpans, resumed: RunSpans, known: Collection[str | None]) -> None:
    """Leave out what both parts of a run tell: calls that waited and are made now, and the answer that asked for them, with
    which the second part may begin: the first may lack it. ``known`` are the ids of the run's calls so far.
    """
    awaited = None if waiting.anchor is None else waiting.anchor.call_id
    made = {spans[0].call_id for spans in resumed.executions} - {None}
    named = (
        {spans[0].name for spans in resumed.executions if spans[0].call_id == awaited} if awaited is not None else set()
    )
    last_call = max([spans[0] for spans in waiting.executions], key=by_start, default=None)
    waiting.executions = [
        spans
        for spans in waiting.executions
        if not (
            (spans[0].call_id in made and (spans[-1].is_pending or spans[0].call_id == awaited))
            or (spans[0] is last_call and spans[0].call_id is None and spans[0].name in named)
        )
    ]
    first = min([model for model in resumed.models if model.output is not None], key=by_start, default=None)
    asked = [] if first is None else [part.id for part in tool_call_parts(first.output)]
    if first is None or not asked or any(call_id != awaited and call_id not in known for call_id in asked):
        return
    resumed.models = [model for model in resumed.models if model is not first and model.parent_span_id != first.span_id]
    last = max([model for model in waiting.models if model.tracing.extent != "part"], key=by_start, default=None)
    if last is not None and last.output is None:
        whole = copy_of(last)
        whole.output, whole.has_output, whole.finish = first.output, first.has_output, first.finish
        waiting.models = [whole if model is last else model for model in waiting.models]


def _until(parts: Sequence[GenAISpan]) -> GenAISpan:
    """Returns a span that began as the first of the parts, and ended as the last."""
    begun, ended = parts[0], parts[-1]
    anchor = copy_of(begun)  # the trace keeps its spans for a revision
    anchor.end_ns, anchor.status, anchor.error_type = ended.end_ns, ended.status, ended.error_type
    anchor.call_id, anchor.is_pending, anchor.refusal = ended.call_id, ended.is_pending, ended.refusal
    anchor.content, anchor.output = ended.content or begun.content, ended.output or begun.output
    anchor.tool_results = tuple([told for part in parts for told in part.tool_results or ()]) or None
    known = begun.tracing
    anchor.tracing = tracing_of(ended.tracing.outcome, known.identity, known.extent, known.traced_calls)
    return anchor


def _with_requests(found: list[RunSpans]) -> list[RunSpans]:
    """Returns ``found`` with an agent that made calls and asked no model, and the one around it that asked and made none, as
    one run: that of the inner one, during which the outer one asked (LlamaIndex's class of an agent, under Splunk's
    instrumentation 0.1).
    """
    kept_as: dict[int, RunSpans] = {}
    for outer in found:
        inner = outer.children[0] if len(outer.children) == 1 and outer.models and not outer.executions else None
        if inner is not None and _asks_for(outer, inner):
            _unite(inner, outer)
            inner.parent, inner.started_by = outer.parent, outer.started_by
            kept_as[id(outer)] = inner
    return _relinked(found, kept_as) if kept_as else found


def _asks_for(outer: RunSpans, inner: RunSpans) -> bool:
    """Whether the calls of the inner agent may be what the outer one asked for: in one process, while the inner one ran."""
    anchor = inner.anchor
    if anchor is None or outer.anchor is None or inner.models or not inner.executions or inner.started_by is not None:
        return False
    # One that was called from another process is an agent of its own.
    if anchor.remote_parent or anchor.resource != outer.anchor.resource:
        return False
    return any(anchor.start_ns < model.start_ns < anchor.end_ns for model in outer.models)


def _are_turns(runs: Sequence[RunSpans]) -> bool:
    """Whether the agent spans of these runs have no names and follow one another."""
    anchors = [run.anchor for run in runs if run.anchor is not None and run.anchor.name is None]
    return len(anchors) == len(runs) and all(
        latest_start(later.start_ns) >= earlier.end_ns for earlier, later in pairwise(anchors)
    )


def _unite(kept: RunSpans, absorbed: RunSpans) -> None:
    """Make the spans of ``absorbed`` spans of ``kept``."""
    inner = [*([] if absorbed.anchor is None else [absorbed.anchor]), *absorbed.wrappers]
    # Bounded: thousands of agent spans inside one another may be one run, and all wrappers are searched for context.
    kept.wrappers += inner[: MAX_WRAPPERS - len(kept.wrappers)]
    join(kept, absorbed)


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
        # Collected anew below: the children of an absorbed run are now those of the run that was kept.
        run.children = []
        run.parent = None if run.parent is None else _kept(run.parent, kept_as)
    _break_cycles(runs)
    # Two lists were concatenated; merging takes the executions of a run to be in order of start.
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
        # Each run is visited once over all walks, which keeps a long chain linear: what was passed has no cycle left.
        while above is not None and id(above) not in seen:
            seen.add(id(above))
            path.add(id(above))
            if above.parent is not None and id(above.parent) in path:
                above.parent = None
            above = above.parent
