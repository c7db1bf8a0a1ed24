"""What two instrumentations recorded of one trace: the same runs, calls and model requests, each once.

Two libraries that observe the same framework leave two spans of each call, with ids and times of their own. Spans are
compared only where a trace has spans of more than one instrumentation, or one call id twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Final, TypeVar

from collector.checkpoints import checkpoint
from collector.model import semconv
from collector.model.genai_span import TOOL, GenAISpan
from collector.payloads.messages import tool_call_parts
from collector.payloads.span_names import ERROR_SUFFIX
from collector.payloads.values import Arguments, parse_arguments
from collector.reconstruction.drafts import RunSpans, by_start, clock_of
from collector.reconstruction.tool_names import is_mcp, is_same_tool, is_stand_in_for

MAX_COMPARED: Final = 32
"""With how many spans that start next a span is compared."""
_UNSURE: Final = ("guessed", "result")
_T = TypeVar("_T")

SeenBy = set[tuple[int, str]]
"""Runs, by ``id``, each with the scope of an instrumentation that recorded it too."""


# --- calls --------------------------------------------------------------------------------------------------------------


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
            if span.tracing and span.tracing in _UNSURE:  # nearly all have none
                return True
    return False


def _with_results(executions: Iterable[list[GenAISpan]]) -> list[list[GenAISpan]]:
    """Returns the executions, with each span that tells only what came of a call among those of the call before it."""
    calls: list[list[GenAISpan]] = []
    open_calls: dict[str | None, deque[list[GenAISpan]]] = {}
    for spans in sorted(executions, key=lambda spans: by_start(spans[0])):
        waiting = open_calls.setdefault(spans[0].name, deque())
        if spans[0].tracing == "result" and waiting:
            waiting.popleft().extend(spans)
        else:
            calls.append(list(spans))
            waiting.append(calls[-1])
    return calls


def _is_evident(span: GenAISpan) -> bool:
    """Whether more than its tool's name says that the span is a call."""
    return span.tracing != "guessed" or span.call_id is not None or span.arguments is not None


def merge_repeated_calls(run: RunSpans) -> None:
    """Merge the executions of ``run`` that two instrumentations recorded, and note those that may be such."""
    if len(run.executions) < 2 or not _may_repeat(run.executions):
        return
    calls = sorted(run.executions, key=lambda call: by_start(call[0]))
    for one, other in _best_pairs(calls, _likeness, lambda call: call[0]):
        if _likeness(one, other) is None:  # one of them was merged with a third
            continue
        _merge(one, other)
    calls = [call for call in calls if call]
    # One id at two times means a wrong clock, so here the pairs cannot be limited to calls that overlap.
    if len(calls) <= MAX_COMPARED:
        for one, other in combinations(calls, 2):
            if one and other and _is_alike_but_for_time(one, other) and not _ids(one).isdisjoint(_ids(other)):
                _merge(one, other)
    run.executions = [call for call in calls if call]
    pairs: Iterable[tuple[list[GenAISpan], list[GenAISpan]]]
    pairs = _best_pairs(run.executions, _doubtful, lambda call: call[0])
    # Nothing overlaps: a wrong clock may have moved one record of a call away from the other.
    if not pairs and len(run.executions) <= MAX_COMPARED:
        pairs = [pair for pair in combinations(run.executions, 2) if _is_alike_but_for_time(*pair)]
    run.repeated = {_outer_first(one, other)[1][0].span_id for one, other in pairs}


def _merge(one: list[GenAISpan], other: list[GenAISpan]) -> None:
    """Make the spans of ``other`` spans of ``one``."""
    first, second = _outer_first(one, other)
    # In place: other lists hold the same calls, and an empty one marks a call that is gone.
    one[:] = first + second
    other.clear()


def _outer_first(one: list[GenAISpan], other: list[GenAISpan]) -> tuple[list[GenAISpan], list[GenAISpan]]:
    """Returns two records of one call, that of an MCP library or of a stand-in last: frameworks know more of a call."""
    is_last = (is_mcp(one[0]) and not is_mcp(other[0])) or is_stand_in_for(one[0], other[0])
    return (other, one) if is_last else (one, other)


def _is_alike_but_for_time(one: Sequence[GenAISpan], other: Sequence[GenAISpan]) -> bool:
    if not _instrumentations(one).isdisjoint(_instrumentations(other)) or not is_same_tool(one[0], other[0]):
        return False
    ids, other_ids = _ids(one), _ids(other)
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
    for one, other in _best_pairs(calls, _likeness, lambda call: call[0]):
        kept, absorbed = (one, other) if id(one) in known else (other, one)
        if id(kept) in known and id(absorbed) not in known and _likeness(kept, absorbed) is not None:
            seen_by |= {(id(owner[id(kept)]), span.scope) for span in absorbed}
            kept += absorbed
            absorbed.clear()
    others.executions = [call for call in others.executions if call]
    return seen_by


def _likeness(one: Sequence[GenAISpan], other: Sequence[GenAISpan]) -> tuple[int, ...] | None:
    """How sure it is that two executions are the same call, the surest least; None if nothing says so."""
    if not one or not other:
        return None
    are_timed = _are_timed(one[0], other[0])
    if not (_may_be_one_call(one, other) if are_timed else is_same_tool(one[0], other[0])):
        return None
    ids, other_ids = _ids(one), _ids(other)
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
    if not is_another and _distance(one[0], other[0]):
        return None
    return (not has_same_id, agreement or 0, _distance(one[0], other[0]))


def _doubtful(one: Sequence[GenAISpan], other: Sequence[GenAISpan]) -> tuple[int, ...] | None:
    """As `_likeness`, of calls whose arguments differ: each library may have written them in its own way; and of calls of one
    library with one id, which a provider may have used again.
    """
    ids, other_ids = _ids(one), _ids(other)
    if not _may_be_one_call(one, other):
        return None
    is_another = _instrumentations(one).isdisjoint(_instrumentations(other))
    if not is_another and not ids.isdisjoint(other_ids):
        return (_distance(one[0], other[0]),) if _agreement(one, other) is not None else None
    if ids and other_ids:
        return None
    return (_distance(one[0], other[0]),) if is_another and _agreement(one, other) is None else None


def _are_timed(one: GenAISpan, other: GenAISpan) -> bool:
    return bool(one.start_ns and one.end_ns and other.start_ns and other.end_ns)


def _may_be_one_call(one: Sequence[GenAISpan], other: Sequence[GenAISpan]) -> bool:
    return is_same_tool(one[0], other[0]) and _overlap(one[0], other[0], of_longer=False) >= 0.5


def _ids(call: Iterable[GenAISpan]) -> set[str]:
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


# --- runs ---------------------------------------------------------------------------------------------------------------


def repeated_runs(runs: Sequence[RunSpans]) -> Iterator[tuple[RunSpans, RunSpans]]:
    """Yields pairs of runs that are one, recorded by two instrumentations: the one to keep, and the other."""
    anchored = [(run, run.anchor) for run in runs if run.anchor is not None]
    if len({anchor.instrumentation for _, anchor in anchored}) < 2:
        return
    anchored.sort(key=lambda pair: by_start(pair[1]))
    # A library records a run once: two of its agents stay two runs, whatever third record resembles both.
    recorded_by = {id(run): {anchor.instrumentation} for run, anchor in anchored}
    group: dict[int, RunSpans] = {id(run): run for run, _ in anchored}
    for (one, _), (other, _) in _best_pairs(anchored, _run_likeness, lambda pair: pair[1]):
        kept, absorbed = _head(one, group), _head(other, group)
        if kept is absorbed or not recorded_by[id(kept)].isdisjoint(recorded_by[id(absorbed)]):
            continue
        if _is_inside(kept, absorbed) or (kept.is_idle and not absorbed.is_idle and not _is_inside(absorbed, kept)):
            kept, absorbed = absorbed, kept
        recorded_by[id(kept)] |= recorded_by[id(absorbed)]
        group[id(absorbed)] = kept
        yield kept, absorbed


def _head(run: RunSpans, group: dict[int, RunSpans]) -> RunSpans:
    while group[id(run)] is not run:
        run = group[id(run)]
    return run


def _run_likeness(one: tuple[RunSpans, GenAISpan], other: tuple[RunSpans, GenAISpan]) -> tuple[int, ...] | None:
    (run, anchor), (other_run, other_anchor) = one, other
    if anchor.name != other_anchor.name and None not in (anchor.name, other_anchor.name):
        return None
    if anchor.instrumentation == other_anchor.instrumentation or not _are_simultaneous(one, other):
        return None
    if _is_inside(other_run, run):
        # An agent that a tool started, or that is further inside, is a run of its own.
        if other_run.started_by is not None or other_run.parent is not run:
            return None
    elif _are_of_two_processes(anchor, other_anchor):
        return None
    if run.executions and other_run.executions:
        # Agents of one name may run side by side: they are one run only if they share a call.
        first = ((a, b) for a in run.executions[:MAX_COMPARED] for b in other_run.executions[:MAX_COMPARED])
        if not any(_likeness(a, b) is not None or _is_alike_but_for_time(a, b) for a, b in first):
            return None
    return (_distance(anchor, other_anchor),)


def _are_of_two_processes(one: GenAISpan, other: GenAISpan) -> bool:
    """Whether their resources say so: they name two hosts, or two pods or containers of one."""
    clock, other_clock = clock_of(one.resource), clock_of(other.resource)
    if None not in (clock, other_clock) and clock != other_clock:
        return True
    here, there = one.resource.attributes, other.resource.attributes
    return any(name in here and name in there and here[name] != there[name] for name in semconv.PROCESS_NAMES)


def _are_simultaneous(one: tuple[RunSpans, GenAISpan], other: tuple[RunSpans, GenAISpan]) -> bool:
    """Whether two runs happened at the same time; where a time is missing, whether they made the same calls."""
    (run, anchor), (other_run, other_anchor) = one, other
    if _are_timed(anchor, other_anchor):
        return _overlap(anchor, other_anchor, of_longer=True) >= 0.8
    ids, other_ids = ({one for call in each.executions for one in _ids(call)} for each in (run, other_run))
    if ids and other_ids:
        return not ids.isdisjoint(other_ids)
    names, other_names = (sorted(call[0].name or "" for call in each.executions) for each in (run, other_run))
    return bool(names) and names == other_names


def _is_inside(run: RunSpans, other: RunSpans) -> bool:
    above = run.parent
    for _ in range(MAX_COMPARED):
        if above is None or above is other:
            break
        above = above.parent
    return above is other


# --- model requests -------------------------------------------------------------------------------------------------------


def without_repeated_models(models: Sequence[GenAISpan]) -> list[GenAISpan]:
    """Returns ``models`` without those whose tool calls another instrumentation, or another span, recorded too."""
    # Around a request are functions and nodes of graphs that return its answer.
    if any(model.has_output and model.tracing != "guessed" for model in models):
        models = [model for model in models if model.tracing != "guessed"]
    if len({model.instrumentation for model in models if model.output is not None}) < 2:
        return list(models)
    # LiteLLM writes each request to its caller's span as well, over what is left there of those before.
    dropped = {model.parent_span_id for model in models if model.dialect == "litellm" and model.has_output}
    dropped -= {model.span_id for model in models if model.scope == "litellm"}
    models = [model for model in models if model.span_id not in dropped]
    speaking = sorted([model for model in models if model.output is not None], key=by_start)
    for one, other in _best_pairs(speaking, _model_likeness, lambda model: model):
        if one.span_id not in dropped and other.span_id not in dropped and _called(one) and _called(other):
            dropped.add(other.span_id)
    return [model for model in models if model.span_id not in dropped]


def _called(model: GenAISpan) -> list[str]:
    return [] if model.output is None else [part.name for part in tool_call_parts(model.output)]


def absorb_models(runs: Iterable[RunSpans], others: RunSpans) -> SeenBy:
    """Leave out the requests of ``others`` that another instrumentation recorded as requests of ``runs``."""
    owner = {model.span_id: run for run in runs for model in run.models}
    models = sorted([model for run in runs for model in run.models] + others.models, key=by_start)
    absorbed: dict[bytes, GenAISpan] = {}
    seen_by: SeenBy = set()
    for one, other in _best_pairs(models, _model_likeness, lambda model: model):
        kept, repeated = (one, other) if one.span_id in owner else (other, one)
        if kept.span_id in owner and repeated.span_id not in owner and repeated.span_id not in absorbed:
            absorbed[repeated.span_id] = repeated
            seen_by.add((id(owner[kept.span_id]), repeated.scope))
            # Only one of the libraries captured the output, which may hold tool calls.
            if kept.output is None and repeated.output is not None:
                owner[kept.span_id].models.append(repeated)
    others.models = [model for model in others.models if model.span_id not in absorbed]
    return seen_by


def _model_likeness(one: GenAISpan, other: GenAISpan) -> tuple[int, ...] | None:
    if one.instrumentation == other.instrumentation or _overlap(one, other, of_longer=True) < 0.8:
        return None
    calls, other_calls = _called(one), _called(other)
    return (_distance(one, other),) if not calls or not other_calls or calls == other_calls else None


# --- any of them --------------------------------------------------------------------------------------------------------


def _best_pairs(
    items: Sequence[_T], likeness: Callable[[_T, _T], tuple[int, ...] | None], span_of: Callable[[_T], GenAISpan]
) -> list[tuple[_T, _T]]:
    """Returns the pairs of ``items``, which are sorted by start, that are alike, the most alike first."""
    found: list[tuple[tuple[int, ...], int, _T, _T]] = []
    for at, one in enumerate(items):
        checkpoint()
        # Without an end nothing can be ruled out by time.
        end = max(span_of(one).start_ns, span_of(one).end_ns) if span_of(one).end_ns else float("inf")
        # Bounded: thousands of calls that run at once would otherwise be compared in pairs.
        for other in items[at + 1 : at + 1 + MAX_COMPARED]:
            if min(span_of(other).start_ns, span_of(other).end_ns) > end:
                break
            rank = likeness(one, other)
            if rank is not None:
                found.append((rank, len(found), one, other))
    # The number of the pair breaks ties, so that the items themselves are never compared.
    found.sort(key=lambda pair: pair[:2])
    return [(one, other) for _, _, one, other in found]


def _distance(one: GenAISpan, other: GenAISpan) -> int:
    return abs(one.start_ns - other.start_ns) + abs(one.end_ns - other.end_ns)


def _overlap(one: GenAISpan, other: GenAISpan, *, of_longer: bool) -> float:
    """Which part of the longer, or of the shorter, of two spans the other one covers; negative if they are apart."""
    if not one.start_ns or not other.start_ns:
        return -1.0
    begin, end = sorted((one.start_ns, one.end_ns))  # a clock set back meanwhile makes a span end before it starts
    other_begin, other_end = sorted((other.start_ns, other.end_ns))
    common = min(end, other_end) - max(begin, other_begin)
    lengths = end - begin, other_end - other_begin
    length = max(lengths) if of_longer else min(lengths)
    return common / length if length > 0 else 1.0 if common == 0 else -1.0
