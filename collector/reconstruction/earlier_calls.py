"""Which of the calls that the models of a run were told of were made before it, in another trace or by another run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from collector.model.genai_span import GenAISpan
from collector.model.tracing import MAY_LACK_CALLS
from collector.payloads.history import HistoryCall, calls_in_history
from collector.payloads.user_input import is_answered, is_approval
from collector.reconstruction.drafts import RunSpans, by_start
from collector.reconstruction.frameworks import ADK_OPENINFERENCE, AI_SDK_DIALECT
from collector.reconstruction.known_calls import KnownCalls, begins_with_results, is_given_answer
from collector.reconstruction.requested_calls import RequestedCall, covers_requests
from collector.reconstruction.resumed_runs import began_elsewhere, begins_told_of_others, begins_with_answers, is_fresh


def calls_of_this_run(
    found: list[RequestedCall], run: RunSpans, known: KnownCalls, recorded: Iterable[RequestedCall]
) -> list[RequestedCall]:
    """Returns ``found`` without calls that were made before the run, which its first recorded request tells of as well.

    Where nothing tells whether they were, calls of the run may be unrecorded.
    """
    return _without_made_before(_without_handed_over(found, run, known), run, known, recorded)


def _without_made_before(
    found: list[RequestedCall], run: RunSpans, known: KnownCalls, recorded: Iterable[RequestedCall]
) -> list[RequestedCall]:
    first = min([request.model for request in found], key=by_start, default=None)
    if first is None or is_fresh(run.anchor):
        return found
    if first.is_transcript:
        return _without_earlier(_without_given(found, run), run)
    anchor = run.anchor if run.parent is None else None
    if (run.anchor is not None and run.anchor.tracing.extent == "resumed") or is_answered(first.history):
        return _answered_by_a_human(found, run)
    given = calls_in_history(anchor.user_input) if anchor is not None and anchor.user_input else []
    earlier = [one for one in found if one.model is first and one.execution is None]
    opening = min(run.models, key=by_start)
    is_answer = anchor is not None and is_given_answer(run)
    is_resumed = is_answer or (anchor is not None and begins_with_answers(anchor, run.models))
    is_resumed = is_resumed or any(spans[0].start_ns < opening.start_ns for spans in run.executions)
    # LiteLLM: of the two records of a request, the outer one leaves out calls of earlier turns.
    outer = opening if opening.span_id == first.parent_span_id else first
    may_precede = _may_precede(earlier, run, recorded)
    is_resumed = is_resumed or (may_precede and outer is opening and _tells_of_none(anchor, given))
    if by_start(opening) < by_start(outer):  # its own input may have been dropped, as a later one repeats it
        # A call that no answer of the run asked for is one for which an earlier run waited, as are the others.
        is_asked_before = is_resumed or may_precede or any(one.execution is not None for one in found)
        if is_asked_before and _has_all_answers(run):
            is_resumed = True
        else:
            begun = _first_turn(recorded) if is_answer and may_precede else -1
            told = {call.id for call in given if call.status is not None} - {None}
            earlier = [one for one in earlier if one.id in told or begun is None or one.turn < begun]
    if not earlier:
        run.is_continued |= began_elsewhere(found, run, known)
        return found
    if is_resumed:
        run.is_continued = True  # a human has answered; it may begin with a call that an earlier trace asked for
    elif anchor is not None and not run.opens_with(outer) and anchor.user_input:
        if not any(call.status is not None for call in given):
            return found  # the run began with the user's message
        own = waited(run)
        earlier = [one for one in earlier if one.id not in own]
        later = {id(one) for one in _without_given(earlier, run)}
        earlier = [one for one in earlier if id(one) not in later]
    elif not run.opens_with(outer) or len(known.runs) > 1 or covers_requests(first, run.models):
        known.lacking.add(id(run.parent))  # after a handoff both agents are told the same
    else:
        run.is_continued = True  # each request is a trace of its own, unless the rest of this one was not recorded
    return [one for one in found if one not in earlier]


def _without_handed_over(found: list[RequestedCall], run: RunSpans, known: KnownCalls) -> list[RequestedCall]:
    """Returns ``found``; of an agent of OpenAI's SDK to which another handed over without the calls before the first that the
    run has a span of: the other made them, or they are the run's own, and their spans were lost.
    """
    anchor = run.anchor
    if not found or anchor is None or not begins_told_of_others(run, anchor) or known.is_first(anchor):
        return found
    began = min([one.turn for one in found if one.execution is not None], default=None)
    own = [one for one in found if one.execution is not None or (began is not None and one.turn >= began)]
    if len(own) < len(found):
        known.lacking.add(id(run.parent))
    return own


def _may_precede(told: Collection[RequestedCall], run: RunSpans, recorded: Iterable[RequestedCall]) -> bool:
    """Whether a call without a span was told before those that recorded answers asked for, and two spans would have been lost
    if it was the run's own: those of two requests, or of one and of a call, where others have theirs.
    """
    begun = _first_turn(recorded)
    turns = {one.turn for one in told}
    return (begun is None or min(turns, default=begun) < begun) and (bool(run.executions) or len(turns) > 1)


def _first_turn(requests: Iterable[RequestedCall]) -> int | None:
    return min([one.turn for one in requests if one.turn >= 0], default=None)


def _tells_of_none(anchor: GenAISpan | None, given: Sequence[HistoryCall]) -> bool:
    """Whether the agent's input was recorded, and tells of no calls: those that its first request tells of were added."""
    return anchor is not None and bool(anchor.user_input) and not any(call.status is not None for call in given)


def waited(run: RunSpans) -> set[str]:
    """Returns the ids of the calls for which a run of Vercel's AI SDK began with an answer of a human: where they have a
    result later, they are this run's, whoever asked for them (LegacyOpenTelemetry of version 7 has no span of them)."""
    anchor = run.anchor
    if (
        anchor is None
        or run.parent is not None
        or anchor.dialect != AI_SDK_DIALECT
        or not is_approval(anchor.user_input)
    ):
        return set()
    return {call.id for call in calls_in_history(anchor.user_input) if call.status is None and call.id is not None}


def _without_given(found: list[RequestedCall], run: RunSpans) -> list[RequestedCall]:
    """Returns ``found``, which the agent's own conversation holds, without the calls with which that began."""
    if run.anchor is None or not begins_with_results(run):
        return found
    given = Counter((call.id, call.name) for call in calls_in_history(run.anchor.user_input))
    own: list[RequestedCall] = []
    for one in found:
        if given[one.id, one.name] > 0:
            given[one.id, one.name] -= 1
        else:
            own.append(one)
    return own


def _without_earlier(found: list[RequestedCall], run: RunSpans) -> list[RequestedCall]:
    """Returns ``found`` without the calls that only the last of many requests on one span tells of, where each call leaves a
    span: Google's ADK goes on with calls of an earlier trace, which a human approved or another made. So it did where none
    of the answers on the span asked for a call.
    """
    if run.anchor is None or run.anchor.scope != ADK_OPENINFERENCE:
        return found
    own = [one for one in found if one.execution is not None or one.is_recorded]
    run.is_continued |= len(own) < len(found) or any(one.model.tracing.outcome == "unasked" for one in found)
    return own


def _answered_by_a_human(found: list[RequestedCall], run: RunSpans) -> list[RequestedCall]:
    """Returns ``found``, in doubt: a human may have let each run in an earlier trace, done it elsewhere, or denied it."""
    for request in found:
        if request.execution is None and request.result_status != "refused":
            request.result_status, run.is_continued = "unclear", True
    return found


def _has_all_answers(run: RunSpans) -> bool:
    """Whether no request of the run may have asked for calls that are not known."""
    return all(
        (model.output is not None or model.finish == "other" or model.status == "error")
        and model.tracing.extent not in MAY_LACK_CALLS
        for model in run.models
    )
