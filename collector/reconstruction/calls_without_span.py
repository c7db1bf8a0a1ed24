"""Whether the calls that models requested and no span shows ran: by what the messages tell of each, not of others."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Final

from collector.checkpoints import checkpoint
from collector.model.from_span import ANTHROPIC_SDK
from collector.model.genai_span import GenAISpan
from collector.payloads.messages import tool_call_parts
from collector.payloads.offered_tools import Fit
from collector.payloads.refusals import DENIED_BY_TOOL, refuses
from collector.payloads.tool_results import ResultStatus
from collector.payloads.values import Arguments, parse_any
from collector.reconstruction.call_history import CallHistory
from collector.reconstruction.drafts import BROKEN, ONLY_ATTRIBUTES, DraftCall, RunSpans, begin_ns, is_broken
from collector.reconstruction.requested_calls import MAX_CANDIDATES, RequestedCall
from collector.reconstruction.weighing import NOT_TAKEN, Shown, weigh

_OPEN_ANSWERS: Final = {
    "part": "of the answer that holds it a part was received, and nothing of what came of that",
    "turns": "the client calls functions itself, and may have left this one when it had reached its limit",
    "step": "the framework may not have taken the answer, and what it asked for then is in another trace",
}
"""Of requests that tell of no results: why a call of the answer may not have run."""


def accept_repeated(calls: Sequence[DraftCall]) -> None:
    """Rule out that a failed call was refused, of the arguments with which the same tool succeeded."""
    failed = [
        call for call in calls if call.refusal is not None and (call.refusal.is_of_arguments or call.refusal.is_untold)
    ]
    taken: dict[str, list[Arguments]] = {}
    for call in calls if failed else ():
        known = taken.setdefault(call.name, [])
        if call.executed and call.status != "error" and call.doubt is None and len(known) < MAX_CANDIDATES:
            known.append(call.arguments)
    for call in failed:
        if call.arguments is not None and call.arguments in taken[call.name]:
            call.settle_refusal(fits=True)


def doubt_corrected(calls: Sequence[DraftCall]) -> None:
    """Doubt calls to which a model added arguments when it asked for their tool again: they may have lacked required ones.

    What says so may be in words that nobody knows.
    """
    open_calls = [call for call in calls if _may_be_refused(call)]
    complete: dict[str, list[DraftCall]] = {}
    for call in calls if open_calls else ():
        if call.executed and call.status != "error" and call.arguments:
            known = complete.setdefault(call.name, [])
            if len(known) < MAX_CANDIDATES:
                known.append(call)
    for call in open_calls:
        if any(_completes(later, call) for later in complete.get(call.name, ())):
            call.doubt_execution("the model asked for it again with more arguments, so it may have lacked one")


def _may_be_refused(call: DraftCall) -> bool:
    """Whether it failed, or only messages tell of it; and nothing yet whether its tool takes its arguments."""
    is_open = call.status == "error" or call.span_id is None
    return is_open and call.executed and call.doubt is None and not call.fits and call.arguments is not None


def _completes(later: DraftCall, call: DraftCall) -> bool:
    """Whether ``later`` has the arguments of ``call`` and further ones."""
    if call.arguments is None or later.arguments is None or len(later.arguments) <= len(call.arguments):
        return False
    is_later = later.turn > call.turn if later.turn >= 0 and call.turn >= 0 else later.start_ns > call.start_ns
    return is_later and call.arguments.items() <= later.arguments.items()


def calls_without_span(
    run: RunSpans, models: Sequence[GenAISpan], requests: Sequence[RequestedCall], history: CallHistory
) -> Iterator[DraftCall]:
    """Yields the calls that no span shows, each with the evidence for it. Of those that spans show, notes which never ran."""
    starts = [model.start_ns for model in models]
    # In order of start, so that several requests of one agent each take the next of its runs.
    agents: dict[str | None, deque[GenAISpan]] = {}
    for child in run.children:
        if child.anchor is not None and child.started_by is None:
            agents.setdefault(child.anchor.name, deque()).append(child.anchor)
    shown: Shown | None = None
    for request in requests:
        if request.execution is not None:
            # A call that succeeded needs no look into the inputs, which would have to be parsed.
            made = request.execution
            is_open = made.status == "error" or made.is_silent or made.evidence == ONLY_ATTRIBUTES
            _apply_fit(made, request.fit)
            status = history.status(request) if is_open else request.result_status
            is_lossy = made.is_in_words or request.model.tracing.outcome == "lossy"
            if made.is_silent and status in (None, "ok") and is_lossy:
                status = "open"  # nor do the messages mark which results are failures
            elif (
                status is None
                and made.is_silent
                and _is_told_of_no_failure(models, _following(models, starts, request.model))
            ):
                status = "ok"
            has_broken = is_broken(request.arguments_text)
            if has_broken and made.refusal is not None and made.refusal.is_of_arguments:
                made.settle_refusal(fits=False)
            is_misfit = request.fit in NOT_TAKEN or has_broken
            _apply_result(made, status, is_misfit=is_misfit)
            continue
        following = _following(models, starts, request.model)
        answer = models[following] if following < len(starts) else None
        call = DraftCall(
            request.name, request.id, request.arguments, request.arguments_text, "unset", None,
            _latest_start(request, models, following), 0, None, True, request.turn, request.position,
        )  # fmt: skip
        if request.model.is_transcript and run.children:
            call.start_ns = 0  # a transcript has no times, and agents inside called tools of their own meanwhile
        call.resource = request.model.resource
        if named := agents.get(request.name):  # an agent given to another as a tool, with no span for the tool
            agent = named.popleft()
            call.start_ns, call.status = begin_ns(agent), agent.status
        else:
            shown = shown or Shown(run, requests)
            _apply_messages(call, request, history, shown, answer)
        checkpoint()
        yield call
    if run.is_of_code:
        yield from map(_called_in_code, chain.from_iterable(agents.values()))


def _called_in_code(agent: GenAISpan) -> DraftCall:
    """Returns the call of an agent that is a function of the code of another: its span is all that shows it."""
    return DraftCall(
        agent.name or "", None, None, None, agent.status, None, begin_ns(agent), agent.end_ns, None, True,
        resource=agent.resource,
    )  # fmt: skip


def _apply_messages(
    call: DraftCall, request: RequestedCall, history: CallHistory, shown: Shown, answer: GenAISpan | None
) -> None:
    """Decide by what the messages say of a call whether it ran."""
    if request.provided is not None:
        _apply_provided(call, request.provided)
        return
    status = history.status(request)
    if status is None and (
        request.turn == shown.awaited
        or shown.tell_denial(request)
        or history.is_discarded(request)
        or history.is_unanswered(request)
    ):
        call.executed, call.known_by = False, "request"
        if request.turn == shown.awaited and shown.is_run_elsewhere:
            call.doubt_execution("another process runs calls for which the run waits")
        return
    weigh(call, shown, request, status, answer)
    _apply_fit(call, request.fit if request.provided is None else "")
    if call.executed and call.doubt is None and call.known_by == "request" and history.is_left_out(request):
        call.executed = False
        call.doubt_execution("a later request holds other calls that were asked for then, and not this one")
    if (
        call.executed
        and call.doubt is None
        and call.known_by == "request"
        and request.model.tracing.extent in _OPEN_ANSWERS
    ):
        call.doubt_execution(_OPEN_ANSWERS[request.model.tracing.extent])
    if call.executed and call.doubt is None and is_broken(request.arguments_text):
        call.doubt_execution(BROKEN)
    if call.executed and call.doubt is None and history.is_of_another(request):
        call.doubt_owner("the conversation in the agent's span lacks it")


def _apply_provided(call: DraftCall, result: ResultStatus) -> None:
    """Decide by what a provider tells of a call which it ran: no span would show more, and no framework can refuse it."""
    call.known_by, call.executed = ("request", False) if result == "refused" else ("result", True)
    if result in ("ok", "error"):
        call.status = result
    elif result == "unclear":
        call.status = "error"  # if it ran at all
        call.doubt_execution("the provider tells of an error, which may mean that it did not run it")


def _is_told_of_no_failure(models: Sequence[GenAISpan], at: int) -> bool:
    """Whether the request there was told results, none of which reads like a failure."""
    return at < len(models) and models[at].tool_results == ()


def requested_in_transcript(request: RequestedCall) -> DraftCall:
    """Returns a call that only the agent's own span tells of."""
    call = DraftCall(
        request.name, request.id, request.arguments, request.arguments_text, "unset", None, 0, 0, None,
        resource=request.model.resource, known_by="request",
    )  # fmt: skip
    if refuses(request.model.refusal, request.name) == "yes":  # the run ended with it
        call.executed, call.status = False, "error"
        call.start_ns = call.end_ns = request.model.end_ns
        return call
    call.doubt_execution("the agent's span holds the request, and neither its span nor its result was seen")
    return call


def _apply_result(call: DraftCall, result: ResultStatus | None, *, is_misfit: bool) -> None:
    """Decide by what the model was told of a call that a span shows whether it ran: two signs that it was refused suffice."""
    if call.is_silent and result not in (None, "open") and call.status == "unset":
        call.status, call.is_silent = "ok" if result == "ok" else "error", False
    if call.refusal == DENIED_BY_TOOL:
        return
    if result in ("unclear", "refused") and is_misfit and call.status == "error":
        call.settle_refusal(fits=False)
        return
    if result == "error" and call.refusal is not None and call.refusal.is_untold:
        call.settle_refusal(fits=True)
    if result == "refused" and call.status != "ok":
        call.executed = False
        if call.refusal is not None and call.refusal.is_of_arguments:
            call.settle_refusal(fits=False)
    elif call.executed and (result == "refused" or (result == "unclear" and not _was_accepted(call))):
        call.doubt_execution("the messages tell of a denial or refusal, its span of an execution")
    elif result == "ok" and call.evidence == ONLY_ATTRIBUTES:
        call.doubt, call.evidence = None, ""


def apply_told_in_order(calls: Sequence[DraftCall], models: Sequence[GenAISpan]) -> None:
    """Decide by results that name no call whether the calls ran that spans show: those between one request and the next,
    where each has a result. No answer of the models was recorded, which would tell what they asked for.
    """
    if not any(model.tool_results for model in models):  # nearly always
        return
    shown = sorted((call for call in calls if call.span_id is not None), key=lambda call: call.start_ns)
    starts = [call.start_ns for call in shown]
    for model, later in pairwise(models):
        if not later.tool_results:  # nothing tells, or none failed
            continue
        begin, end = bisect_right(starts, model.start_ns), bisect_left(starts, later.start_ns)
        asked, results = shown[begin:end], later.tool_results
        if len(asked) != len(results) or len(set(starts[begin:end])) != len(asked):
            continue
        for call, result in zip(asked, results, strict=True):
            if result.call_id is None and result.name in (None, call.name):
                _apply_result(call, result.status(call.name), is_misfit=False)


def _was_accepted(call: DraftCall) -> bool:
    """Whether its arguments fitted the tool, or its span shows that it began: words that leave this open say nothing of it."""
    return call.refusal is not None and call.refusal.is_ruled_out


def _apply_fit(call: DraftCall, fit: Fit) -> None:
    """Decide by what the model was offered whether a call ran whose failure does not tell, or which is of no offered tool."""
    call.fits = fit == "fits"
    if call.refusal is not None and call.refusal.is_of_arguments and fit in ("fits", "misfit"):
        call.settle_refusal(fits=fit == "fits")
    elif not call.executed or call.doubt is not None:
        return
    elif fit == "unknown":  # some frameworks keep tools back, and run them all the same
        if not _was_accepted(call):
            call.doubt_execution("the model was offered no tool of that name")
    # What messages call a result may be a refusal in words that are not known.
    elif fit == "misfit" and (call.status == "error" or call.span_id is None):
        call.doubt_execution("its arguments do not fit the tool, so it may not have run")


def _following(models: Sequence[GenAISpan], starts: Sequence[int], model: GenAISpan) -> int:
    """Returns which request to the models came after this: not the same one, as a client inside recorded it, nor one of the
    same tracer that was made before this one was answered, as in a vote.
    """
    following = bisect_right(starts, model.start_ns)
    while following < len(models) and (is_client_of(models[following], model) or _is_beside(models[following], model)):
        following += 1
    return following


def _is_beside(later: GenAISpan, model: GenAISpan) -> bool:
    """Whether a request was made before another was answered, and was told no more: the span of a stream may end late."""
    is_like = later.scope == model.scope and later.parent_span_id == model.parent_span_id
    return later.start_ns < model.end_ns and is_like and later.tool_results == model.tool_results


def is_client_of(inner: GenAISpan, model: GenAISpan) -> bool:
    """Whether a request is below another, and was answered with the same calls, or nothing tells with what: Google ADK 1.28.

    Beside it, where it is told by the id of the answer, or was made meanwhile: Anthropic's SDK, whose own span OpenLLMetry
    has no span around, nor OpenInference around a stream.
    """
    is_answer = model.response_id is not None and inner.response_id == model.response_id
    is_answer = is_answer or (inner.scope.startswith(ANTHROPIC_SDK) and _is_during(inner, model))
    is_below = (is_answer or inner.parent_span_id == model.span_id) and inner.end_ns <= model.end_ns
    if inner.output is None:
        return is_below and not inner.has_output and inner.history is None
    return is_below and _calls_of(inner) == _calls_of(model)


def _is_during(inner: GenAISpan, model: GenAISpan) -> bool:
    """Whether another library made a request, from the same place, while one of a program went on."""
    is_there = inner.parent_span_id == model.parent_span_id and inner.scope != model.scope
    return is_there and model.response_id is None and inner.start_ns < model.end_ns


def _calls_of(model: GenAISpan) -> list[tuple[str, object]]:
    return [(part.name, parse_any(part.arguments)) for part in tool_call_parts(model.output)]


def _latest_start(request: RequestedCall, models: Sequence[GenAISpan], following: int) -> int:
    """Returns when a call began that nobody timed: when the model had answered, at the latest when it was asked again."""
    if not request.is_recorded:
        return request.model.start_ns if request.turn >= 0 else 0
    end_ns = request.model.end_ns
    return min(end_ns, models[following].start_ns) if following < len(models) else end_ns
