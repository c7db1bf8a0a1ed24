"""Merges the executions and model requests of one run into its calls: each once, with what any of its spans records.

Executions are what ran. Model outputs are what was requested: they supply ids, arguments and positions that executions
lack, replace executions in dialects that record none, and yield calls that never ran, with ``executed=False``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from collector.checkpoints import checkpoint
from collector.model.genai_span import AGENT, GenAISpan
from collector.reconstruction.call_history import CallHistory
from collector.reconstruction.calls_without_span import (
    accept_repeated,
    apply_told_in_order,
    calls_without_span,
    doubt_corrected,
    requested_in_transcript,
)
from collector.reconstruction.dispatchers import without_dispatchers
from collector.reconstruction.drafts import DraftCall, RunSpans, latest_start, latest_starts
from collector.reconstruction.duplicate_calls import UNSURE, without_steps
from collector.reconstruction.earlier_calls import calls_of_this_run, waited
from collector.reconstruction.executions import doubt_unparsed, merged_execution, refuse_with_run
from collector.reconstruction.frameworks import GOOGLE_ADK, OPENAI_AGENTS, WITHOUT_REQUESTS
from collector.reconstruction.known_calls import KnownCalls
from collector.reconstruction.lost_requests import may_lack_requests, was_answered_later
from collector.reconstruction.matching import PLACEHOLDERS, assign_responses, match
from collector.reconstruction.requested_calls import (
    MAX_REQUESTED,
    RequestedCall,
    asked_at_once,
    in_causal_order,
    requested_calls,
    was_told,
)
from collector.reconstruction.resumed_runs import (
    goes_on_elsewhere,
    goes_on_here,
    is_part_without_requests,
    precedes,
    was_told_of_earlier,
)
from collector.reconstruction.unrecorded_calls import (
    has_unrecorded_calls,
    has_unseen_coworker,
    is_transcript_of_part,
    may_have_lost_calls,
)
from collector.reconstruction.unseen_agents import (
    doubt_asked_inside,
    doubt_beside_agents,
    doubt_of_other_names,
    doubt_unasked,
)


def merge_calls(run: RunSpans, known: KnownCalls) -> list[DraftCall]:
    """Returns the calls of ``run``: executions in order of start, then calls that no span shows.

    ``known`` are those of all runs of the trace, which may share its messages.
    """
    checkpoint()
    calls = _recorded_calls(run)
    requested: list[RequestedCall] = []
    models = run.models
    if models:
        models, run.turns_are_ordered = in_causal_order(models)
        calls, requested = _with_requests(run, known, calls, models)
    else:
        _doubt_without_results(calls, run, known)
        run.is_continued |= is_part_without_requests(run, known)
    # Without a model span, the transcript in the agent's span is all that may tell of requests.
    if not models and run.anchor is not None and run.anchor.output is not None and run.anchor.role is AGENT:
        calls += _calls_of_transcript(run, calls, run.anchor)
    if any(call.name in PLACEHOLDERS for call in calls):  # no request tells the name of the tool
        calls = [call for call in calls if call.name not in PLACEHOLDERS]
        run.has_unrecorded_calls = True
    is_untold = bool(run.nameless) and not _are_told(run, calls)
    run.has_unrecorded_calls |= is_untold or may_have_lost_calls(run, models, requested)
    accept_repeated(calls)
    doubt_corrected(calls)
    doubt_unparsed(calls)
    refuse_with_run(calls, run.anchor)
    doubt_of_other_names(run, calls)
    doubt_beside_agents(run, calls)
    return calls


def _with_requests(
    run: RunSpans, known: KnownCalls, calls: list[DraftCall], models: Sequence[GenAISpan]
) -> tuple[list[DraftCall], list[RequestedCall]]:
    """Returns the calls that spans or ``models``, which are in order, tell of, and what was requested of the latter."""
    requested = requested_calls(models)
    checkpoint()
    calls = without_dispatchers(calls, requested, run)
    # Parses inputs on first use only: each repeats the conversation so far, and few runs need them.
    history = CallHistory(models, requested, is_ordered=run.turns_are_ordered)
    if calls and requested:
        _match_used(calls, requested, run, history)
    own = _without_made_before(requested, run)
    if own is not requested:
        requested, history = own, CallHistory(models, own, is_ordered=run.turns_are_ordered)
    checkpoint()
    if may_lack_requests(run, known, models, requested, calls):
        requested += _unrequested(run, known, history, calls, requested)
    if calls and not requested:
        assign_responses(calls, run)
        apply_told_in_order(calls, models if run.turns_are_ordered else ())
    checkpoint()
    calls += calls_without_span(run, models, requested, history)
    checkpoint()
    _doubt_pending(calls, run, models, known, requested)
    _doubt_answered(calls, run, models[0])
    run.has_unrecorded_calls |= any(
        one.model.tracing.extent == "turns" and history.status(one) is None
        for one in requested
        if one.execution is None
    )
    run.has_unrecorded_calls |= len(requested) >= MAX_REQUESTED or has_unrecorded_calls(run, models, requested)
    run.is_continued |= goes_on_elsewhere(run, requested, known) or was_told_of_earlier(run, known)
    run.has_unrecorded_calls |= was_answered_later(run, known, models, requested)
    _note_unasked_results(run, calls, models, history)
    doubt_asked_inside(run, calls, requested)
    doubt_unasked(run, calls, requested)
    at_once = asked_at_once(requested, run.asked_inside)
    if at_once is not None:
        run.turns_are_ordered = False
        _forget_times(calls, *at_once)
    if any(model.is_transcript for model in models):
        run.has_unrecorded_calls |= history.is_partly_unread or has_unseen_coworker(run, calls)
        run.has_unrecorded_calls |= is_transcript_of_part(run)
    return calls, requested


def _forget_times(calls: Iterable[DraftCall], later: GenAISpan, earlier: Sequence[RequestedCall]) -> None:
    """Forget when calls began that no span shows, since two requests ran at once: that is known by the turns alone. The span
    of a stream may end late; then the later request was told of the calls of the earlier.
    """
    if not was_told(later, earlier):
        for call in calls:
            if call.span_id is None and not call.end_ns:
                call.start_ns = 0


def _match_used(
    calls: Sequence[DraftCall], requested: Sequence[RequestedCall], run: RunSpans, history: CallHistory
) -> None:
    """Match executions with requests, first with those of answers that were used: of two equal ones, the other has none."""
    unused = history.unused_answers()
    match(calls, [one for one in requested if one.model.span_id not in unused], run)
    if unused:
        matched = {id(one.execution) for one in requested}
        left = [call for call in calls if id(call) not in matched]
        match(left, [one for one in requested if one.model.span_id in unused], run)


def _note_unasked_results(
    run: RunSpans, calls: Sequence[DraftCall], models: Sequence[GenAISpan], history: CallHistory
) -> None:
    """Note that models were told results which no call of the run explains."""
    if calls and all(call.span_id is not None for call in calls):
        return  # where spans show all calls, the inputs need not be read
    if history.has_unasked_results(calls):
        if not calls and len(models) == 1 and models[0] is run.anchor and not models[0].parent_span_id:
            run.is_continued = True  # each request is a trace of its own
        else:
            run.has_unrecorded_calls = True


def _without_made_before(requested: list[RequestedCall], run: RunSpans) -> list[RequestedCall]:
    """Returns ``requested`` without the calls that were made before a human was asked, if ``run`` goes on with the run around
    it, which waits: what goes on begins with the answer that asked for all of them.
    """
    made: set[tuple[str | None, str | None]] = set()
    before = run.parent
    while before is not None and before.anchor is not None and before.anchor.call_id is not None:
        made.update([(spans[0].call_id, spans[0].name) for spans in before.executions])
        before = before.parent
    if not made:
        return requested
    return [one for one in requested if one.execution is not None or (one.id, one.name) not in made]


def _calls_of_transcript(run: RunSpans, calls: Sequence[DraftCall], anchor: GenAISpan) -> Iterator[DraftCall]:
    """Yields the calls that no span shows and the agent's own span holds, which tells neither turns nor results."""
    requested = requested_calls([anchor])
    for request in requested:
        request.turn = -1
    match(calls, requested, run)
    for request in requested:
        if request.execution is None:
            yield requested_in_transcript(request)


def _recorded_calls(run: RunSpans) -> list[DraftCall]:
    """Returns the calls that spans show: the run's own, and those that may be its own or another's."""
    # The usual case needs none of the tests of `_named`.
    executions = run.executions if all(map(_is_usual, run.executions)) else _named(run)
    calls = [merged_execution(spans) for spans in executions]
    if run.anchor is not None and run.anchor.tracing.outcome == "lossy":
        for call in calls:
            call.is_silent |= call.status == "unset"
    _accept_texts(run, calls)
    _doubt_waiting(calls)
    for disputed in run.disputed:
        disputed_calls = merge_calls(disputed, KnownCalls())
        run.has_unrecorded_calls |= disputed.has_unrecorded_calls
        for call in disputed_calls:
            # These were counted among the disputed spans, and order nothing in this run.
            call.turn = call.response = -1
            call.doubt_owner("it is below a span that was not received")
            calls.append(call)
    if run.repeated:
        for call in calls:
            if call.span_id in run.repeated:
                call.doubt = "uncertain_duplicate"
                call.evidence = "another span may be a record of the same call"
    if run.enclosing:
        for call in calls:
            call.enclosing_id = run.enclosing.get(call.span_id or b"")
    return calls


def _accept_texts(run: RunSpans, calls: Iterable[DraftCall]) -> None:
    """Accept that a call failed whose result is a text, if another text of the run was converted to JSON."""
    texts = [call for call in calls if call.is_silent and call.status == "error"]
    if texts and any(span.tracing.outcome == "converted" for spans in run.executions for span in spans):
        for call in texts:
            call.is_silent = False


def _doubt_waiting(calls: Sequence[DraftCall]) -> None:
    """Doubt the calls without a word of what came of them, where a later one has their id: each may have ended to wait for a
    human, and begun anew with the answer.
    """
    silent = [call for call in calls if call.is_silent and call.id is not None]
    last = {(call.id, call.name): call for call in calls} if silent else {}
    for call in silent:
        if last[call.id, call.name] is not call:
            call.doubt_execution("its span holds no result, and a later one has its id")


def _is_usual(spans: Sequence[GenAISpan]) -> bool:
    """Whether one span recorded the execution, which names the tool and is the tool's for sure."""
    return len(spans) == 1 and spans[0].name is not None and spans[0].tracing.identity not in UNSURE


def _named(run: RunSpans) -> Iterator[list[GenAISpan]]:
    """Yields the executions that name their tool, and notes the others."""
    enclosing = set(run.enclosing.values())
    for spans in without_steps(run.executions):
        if any(span.name is not None for span in spans):
            yield spans
        elif spans[0].span_id not in enclosing:
            run.nameless.append(spans[0])


def _are_told(run: RunSpans, calls: Iterable[DraftCall]) -> bool:
    """Whether messages tell of the calls whose spans name no tool: after each answer, of as many as began, or were refused.

    Not where one started an agent, whose calls are ordered by it.
    """
    if not {child.started_by for child in run.children}.isdisjoint(span.span_id for span in run.nameless):
        return False
    starts = sorted(model.start_ns for model in run.models)
    began = Counter(bisect_right(starts, span.start_ns) - 1 for span in run.nameless)
    told = Counter(call.turn for call in calls if call.span_id is None and (call.executed or call.doubt is None))
    return all(turn >= 0 and count <= told[turn] for turn, count in began.items())


def _is_after(call: DraftCall, last: GenAISpan, requested: Iterable[RequestedCall]) -> bool:
    """Whether a call began after the last request, by the clock, or because its answer asked for it: by a clock of whole
    milliseconds both may have begun at once.
    """
    if call.start_ns != last.start_ns:
        return call.start_ns > last.start_ns
    is_asked = any(one.execution is call and one.model is last and one.is_recorded for one in requested)
    return is_asked or last.end_ns <= latest_start(call.start_ns)


def _is_around(call: DraftCall, last: GenAISpan) -> bool:
    """Whether the last request was made within a call: by an agent that is the tool, and has no span of its own."""
    return call.start_ns <= last.start_ns < call.end_ns and last.end_ns <= call.end_ns


def _is_known_to_have_run(call: GenAISpan, anchor: GenAISpan, known: KnownCalls) -> bool:
    """Whether a call without a result ran all the same: of OpenAI Agents without content, where the run handed over."""
    if call.tracing.outcome == "open":
        return True
    return call.arguments is None and call.scope in OPENAI_AGENTS and known.has_later_run(anchor)


def _doubt_pending(
    calls: Sequence[DraftCall],
    run: RunSpans,
    models: Sequence[GenAISpan],
    known: KnownCalls,
    requested: Sequence[RequestedCall],
) -> None:
    """Mark the calls that wait for a human's approval: their spans hold no result, and the model was not asked again.

    Those of which a span was begun to ask for that never ran if the model went on. Of some that is known beforehand: what a
    human answers begins another run, whatever the model does meanwhile.
    """
    if models[-1].is_transcript:  # what it was told is known, and not when; its answer is that to the last request
        asked_last = {id(one.execution) for one in requested if one.is_recorded}
        waiting = {spans[0].span_id for spans in run.executions if spans[-1].is_pending}
        run.is_continued |= any(
            not call.executed and call.span_id in waiting and id(call) in asked_last for call in calls
        )
        return
    awaited = None if run.anchor is None else run.anchor.call_id
    pending = {
        spans[0].span_id: spans[-1].tracing.outcome
        for spans in run.executions
        if spans[-1].is_pending and not (run.anchor is not None and _is_known_to_have_run(spans[-1], run.anchor, known))
    }
    apart = {
        spans[0].span_id for spans in run.executions if spans[-1].is_pending and spans[-1].tracing.extent == "apart"
    }
    went_on_ns = max([model.start_ns for model in models if model.has_output], default=0) if pending else 0
    # Where spans of calls that ran hold no result either, nothing tells that a later one is the one before, made anew.
    made = latest_starts([call for call in calls if call.span_id not in pending]) if pending else {}
    for call in calls if pending or awaited is not None else ():
        is_awaited = call.id is not None and call.id == awaited
        if not (is_awaited or call.span_id in pending):
            continue
        is_made_later = made.get(call.name, 0) > call.start_ns  # when there was an answer
        if not call.executed:  # its span says so, or that of the agent
            is_last = call.span_id in pending and _is_after(call, models[-1], requested) and not is_made_later
            is_answered_apart = (is_awaited or call.span_id in apart) and not goes_on_here(run, known)
            run.is_continued |= is_last or is_answered_apart
        elif pending.get(call.span_id or b"") == "asked":
            call.executed = False
            if call.start_ns >= went_on_ns:
                call.doubt_execution("its span holds no result, and the model did not go on")
        elif _is_after(call, models[-1], requested) or _is_around(call, models[-1]):
            call.executed = False
            call.doubt_execution("its span holds no result, and the model was not told one")
            run.is_continued = True  # what it does with the answer is in a trace of its own, or in none
        elif call.status == "error":
            call.executed = False  # it is begun anew when there is an answer
            if not is_made_later:
                call.doubt_execution("it waited for an answer, and the model went on")


def _doubt_answered(calls: Iterable[DraftCall], run: RunSpans, first: GenAISpan) -> None:
    """Doubt the calls with which a run of Google's ADK goes on if no result was captured: a human answered, perhaps "no"."""
    if run.anchor is not None and run.anchor.scope == GOOGLE_ADK:
        silent = {one[0].span_id for one in run.executions if one[-1].is_pending and precedes(one[0], first)}
        for call in calls if silent else ():
            if call.span_id in silent and call.executed:
                call.doubt_execution("a human answered it, and nothing tells how")


def _doubt_without_results(calls: Iterable[DraftCall], run: RunSpans, known: KnownCalls) -> None:
    """Mark the calls of a run without requests that ended well, and hold no result as they would if they had run."""
    pending = {
        spans[0].span_id
        for spans in run.executions
        if spans[-1].is_pending and spans[-1].scope in WITHOUT_REQUESTS and spans[-1].arguments is not None
    }
    for call in calls if pending else ():
        if call.span_id in pending and call.executed and call.status != "error":
            call.executed = False
            call.doubt_execution("its span holds no result")
            run.is_continued |= not goes_on_here(run, known)


def _unrequested(
    run: RunSpans,
    known: KnownCalls,
    history: CallHistory,
    calls: Iterable[DraftCall],
    requested: Iterable[RequestedCall],
) -> list[RequestedCall]:
    """Returns the calls that models were told results of, and no recorded output of the run requested."""
    found = history.unrequested()
    matched = {id(request.execution): request for request in requested if request.execution is not None}
    answered_ids = {one.id for one in found} - {None}
    for call in calls if found else ():
        if id(call) in matched:
            request = matched[id(call)]
            if call.id not in answered_ids or request.id == call.id:
                call.turn = request.turn
            else:  # the request of its own id was not recorded, so that another seemed to be its request
                request.execution = None
                if call.arguments is request.arguments:
                    call.arguments = None
                del matched[id(call)]
    match([call for call in calls if id(call) not in matched], found, run)
    found = known.without_others(found, run, waited(run) if found else ())
    return calls_of_this_run(found, run, known, requested)
