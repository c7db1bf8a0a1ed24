"""Calls that two instrumentations recorded, each once; `duplicate_runs` does the same of runs and model requests.

Two libraries that observe the same framework leave two spans of each call, with ids and times of their own. Spans are
compared only where a trace has spans of more than one instrumentation, or one call id twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

from collector.model.genai_span import TOOL, GenAISpan
from collector.model.tracing import USUAL
from collector.payloads.span_names import ERROR_SUFFIX
from collector.payloads.values import Arguments, parse_arguments
from collector.reconstruction.drafts import RunSpans, by_start
from collector.reconstruction.pairs import MAX_COMPARED, SeenBy, best_pairs, distance, have_times, overlap
from collector.reconstruction.tool_names import is_mcp, is_same_tool, is_stand_in_for

UNSURE: Final = ("guessed", "result")
"""Identities of a TOOL that may be no call of its own."""


def is_nested_call(outer: GenAISpan, inner: GenAISpan) -> bool:
    """Whether an execution directly below another is the same call, recorded on its way."""
    if outer.role is not TOOL:
        return False
    return inner.name in (None, outer.name) or (is_same_tool(outer, inner) and _agreement([outer], [inner]) is not None)


def without_steps(executions: list[list[GenAISpan]]) -> list[list[GenAISpan]]:
    """Returns the executions without those that only look like a call, where another span shows their tool's call: each is a
    step on the way to it.
    """
    if not _has_unsure(executions):
        return executions
    executions = _with_results(executions)
    shown = {spans[0].name for spans in executions if any(map(_is_evident, spans))}
    return [
        spans
        for spans in executions
        if any(map(_is_evident, spans))
        or not (spans[0].name in shown or (spans[0].name or "").removesuffix(ERROR_SUFFIX) in shown)
    ]


def _has_unsure(executions: Sequence[Sequence[GenAISpan]]) -> bool:
    for spans in executions:
        for span in spans:
            if span.tracing is not USUAL and span.tracing.identity in UNSURE:  # nearly all are usual
                return True
    return False


def _with_results(executions: Iterable[list[GenAISpan]]) -> list[list[GenAISpan]]:
    """Returns the executions, with each span that tells only what came of a call among those of the call before it."""
    calls: list[list[GenAISpan]] = []
    open_calls: dict[str | None, deque[list[GenAISpan]]] = {}
    for spans in sorted(executions, key=lambda spans: by_start(spans[0])):
        waiting = open_calls.setdefault(spans[0].name, deque())
        if spans[0].tracing.identity == "result" and waiting:
            waiting.popleft().extend(spans)
        else:
            calls.append(list(spans))
            waiting.append(calls[-1])
    return calls


def _is_evident(span: GenAISpan) -> bool:
    """Whether more than its tool's name says that the span is a call."""
    return span.tracing.identity != "guessed" or span.call_id is not None or span.arguments is not None


def merge_repeated_calls(run: RunSpans) -> None:
    """Merge the executions of ``run`` that two instrumentations recorded, and note those that may be such."""
    if len(run.executions) < 2 or not _may_repeat(run.executions):
        return
    calls = sorted(run.executions, key=lambda call: by_start(call[0]))
    for one, other in best_pairs(calls, likeness, lambda call: call[0]):
        if likeness(one, other) is None:  # one of them was merged with a third
            continue
        merge_records(one, other)
    calls = [call for call in calls if call]
    # One id at two times means a wrong clock, so here the pairs cannot be limited to calls that overlap.
    if len(calls) <= MAX_COMPARED:
        for one, other in combinations(calls, 2):
            if one and other and is_alike_but_for_time(one, other) and not call_ids(one).isdisjoint(call_ids(other)):
                merge_records(one, other)
    run.executions = [call for call in calls if call]
    pairs: Iterable[tuple[list[GenAISpan], list[GenAISpan]]]
    pairs = best_pairs(run.executions, _doubtful, lambda call: call[0])
    # Nothing overlaps: a wrong clock may have moved one record of a call away from the other.
    if not pairs and len(run.executions) <= MAX_COMPARED:
        pairs = [pair for pair in combinations(run.executions, 2) if is_alike_but_for_time(*pair)]
    run.repeated = {_outer_first(one, other)[1][0].span_id for one, other in pairs}


def merge_records(one: list[GenAISpan], other: list[GenAISpan]) -> None:
    """Make the spans of ``other`` spans of ``one``."""
    first, second = _outer_first(one, other)
    # In place: other lists hold the same calls, and an empty one marks a call that is gone.
    one[:] = first + second
    other.clear()


def _outer_first(one: list[GenAISpan], other: list[GenAISpan]) -> tuple[list[GenAISpan], list[GenAISpan]]:
    """Returns two records of one call, that of an MCP library or of a stand-in last: frameworks know more of a call."""
    is_last = (is_mcp(one[0]) and not is_mcp(other[0])) or is_stand_in_for(one[0], other[0])
    return (other, one) if is_last else (one, other)


def is_alike_but_for_time(one: Sequence[GenAISpan], other: Sequence[GenAISpan]) -> bool:
    """Whether two records may be of one call if the clock of one is wrong."""
    if not _instrumentations(one).isdisjoint(_instrumentations(other)) or not is_same_tool(one[0], other[0]):
        return False
    ids, other_ids = call_ids(one), call_ids(other)
    return not (ids and other_ids and ids.isdisjoint(other_ids))


def _may_repeat(calls: Sequence[Sequence[GenAISpan]]) -> bool:
    """Whether two instrumentations recorded the calls, or two calls have one id."""
    first, ids = calls[0][0], set[str]()
    for call in calls:
        span = call[0]
        if span.scope != first.scope or span.dialect != first.dialect or span.call_id in ids:
            return True
        if span.call_id is not None:
            ids.add(span.call_id)
    return False


def absorb_calls(runs: Iterable[RunSpans], others: RunSpans) -> SeenBy:
    """Merge executions of ``others`` that another instrumentation recorded as executions of ``runs`` into those."""
    known = {id(call): call for run in runs for call in run.executions}
    owner = {id(call): run for run in runs for call in run.executions}
    seen_by: SeenBy = set()
    calls = sorted([*known.values(), *others.executions], key=lambda call: by_start(call[0]))
    for one, other in best_pairs(calls, likeness, lambda call: call[0]):
        kept, absorbed = (one, other) if id(one) in known else (other, one)
        if id(kept) in known and id(absorbed) not in known and likeness(kept, absorbed) is not None:
            seen_by |= {(id(owner[id(kept)]), span.scope) for span in absorbed}
            kept += absorbed
            absorbed.clear()
    others.executions = [call for call in others.executions if call]
    return seen_by


def likeness(one: Sequence[GenAISpan], other: Sequence[GenAISpan]) -> tuple[int, ...] | None:
    """How sure it is that two executions are the same call, the surest least; None if nothing says so."""
    if not one or not other:
        return None
    are_timed = have_times(one[0], other[0])
    if not (_may_be_one_call(one, other) if are_timed else is_same_tool(one[0], other[0])):
        return None
    ids, other_ids = call_ids(one), call_ids(other)
    has_same_id = not ids.isdisjoint(other_ids)
    is_another = _instrumentations(one).isdisjoint(_instrumentations(other))
    # A library records a call once, so two of its spans are two calls. So are two different ids.
    if not has_same_id and (not is_another or (ids and other_ids)):
        return None
    agreement = _agreement(one, other)
    # One id from two libraries outweighs arguments, which each of them writes in its own way.
    if agreement is None and not (has_same_id and is_another):
        return None
    if not are_timed and not (is_another and (has_same_id or agreement == 0)):
        return None
    # What was exported twice has the same times. Else providers use ids again, and branches of a graph run at once.
    if not is_another and distance(one[0], other[0]):
        return None
    return (not has_same_id, agreement or 0, _has_failed(one) != _has_failed(other), distance(one[0], other[0]))


def _has_failed(call: Iterable[GenAISpan]) -> bool:
    """Whether a record tells of a failure: of equal calls at once, the other library's record of it most likely does, too."""
    return any(span.status == "error" for span in call)


def _doubtful(one: Sequence[GenAISpan], other: Sequence[GenAISpan]) -> tuple[int, ...] | None:
    """As `likeness`, of calls whose arguments differ: each library may have written them in its own way; and of calls of one
    library with one id, which a provider may have used again.
    """
    ids, other_ids = call_ids(one), call_ids(other)
    if not _may_be_one_call(one, other):
        return None
    is_another = _instrumentations(one).isdisjoint(_instrumentations(other))
    if not is_another and not ids.isdisjoint(other_ids):
        return (distance(one[0], other[0]),) if _agreement(one, other) is not None else None
    if ids and other_ids:
        return None
    return (distance(one[0], other[0]),) if is_another and _agreement(one, other) is None else None


def possible_likeness(one: Sequence[GenAISpan], other: Sequence[GenAISpan]) -> tuple[int, ...] | None:
    """As `likeness`, of records of two instrumentations; those last of which nothing but other arguments speaks against it."""
    if not one or not other or not _instrumentations(one).isdisjoint(_instrumentations(other)):
        return None
    alike = likeness(one, other)
    if alike is not None:
        return (0, *alike)
    doubtful = _doubtful(one, other)
    return None if doubtful is None else (1, *doubtful)


def _may_be_one_call(one: Sequence[GenAISpan], other: Sequence[GenAISpan]) -> bool:
    return is_same_tool(one[0], other[0]) and overlap(one[0], other[0], of_longer=False) >= 0.5


def call_ids(call: Iterable[GenAISpan]) -> set[str]:
    """Returns the ids that the spans of a call give it."""
    return {span.call_id for span in call if span.call_id is not None}


def _instrumentations(call: Iterable[GenAISpan]) -> set[tuple[str, str]]:
    return {span.instrumentation for span in call}


def _agreement(one: Sequence[GenAISpan], other: Sequence[GenAISpan]) -> int | None:
    """0 if the arguments are the same, 1 if they may be, None if they differ."""
    arguments, text = _arguments(one)
    others, other_text = _arguments(other)
    if arguments is None or others is None:
        # LangChain passes the bare value to a tool of one argument; the other library may have recorded the object.
        bare, values = (text, others) if arguments is None else (other_text, arguments)
        return 0 if bare is not None and values is not None and bare in values.values() else 1
    if arguments == others:
        return 0
    small, large = sorted((arguments, others), key=len)  # defaults may be filled in
    return 1 if small and all(key in large and large[key] == value for key, value in small.items()) else None


def _arguments(call: Sequence[GenAISpan]) -> tuple[Arguments, str | None]:
    parsed = [parse_arguments(span.arguments) for span in call]
    return next((one for one in parsed if one[0] is not None), parsed[0])
