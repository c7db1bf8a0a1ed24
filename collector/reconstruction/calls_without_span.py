"""Whether the calls that models requested and no span shows ran: by what the messages tell of each, not of others."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Final

from collector.checkpoints import checkpoint
from collector.model.genai_span import AGENT, GenAISpan
from collector.payloads.messages import tool_call_parts
from collector.payloads.offered_tools import Fit
from collector.payloads.refusals import refuses
from collector.payloads.tool_results import ResultStatus
from collector.payloads.values import Arguments, parse_any
from collector.reconstruction.call_history import CallHistory
from collector.reconstruction.drafts import BROKEN, ONLY_ATTRIBUTES, DraftCall, RunSpans, begin_ns, is_broken
from collector.reconstruction.requested_calls import MAX_CANDIDATES, RequestedCall
from scorers.trajectory import Status

_OPEN_ANSWERS: Final = {
    "part": "of the answer that holds it a part was received, and nothing of what came of that",
    "turns": "the client calls functions itself, and may have left this one when it had reached its limit",
}
"""Of requests that tell of no results: why a call of the answer may not have run."""
_HANDOFF: Final = re.compile(r"(?:transfer|hand_?off)_to_")


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
    shown: _Shown | None = None
    for request in requests:
        if request.execution is not None:
            # A call that succeeded needs no look into the inputs, which would have to be parsed.
            made = request.execution
            is_open = made.status == "error" or made.is_silent or made.evidence == ONLY_ATTRIBUTES
            _apply_fit(made, request.fit)
            status = history.status(request) if is_open else request.result_status
            if (
                status is None
                and made.is_silent
                and _is_told_of_no_failure(models, _following(models, starts, request.model))
            ):
                status = "ok"
            is_misfit = request.fit in _NOT_TAKEN or is_broken(request.arguments_text)
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
            shown = shown or _Shown(run, requests)
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
    call: DraftCall, request: RequestedCall, history: CallHistory, shown: _Shown, answer: GenAISpan | None
) -> None:
    """Decide by what the messages say of a call whether it ran."""
    if request.provided is not None:
        _apply_provided(call, request.provided)
        return
    status = history.status(request)
    if status is None and (
        request.turn == shown.awaited or history.is_discarded(request) or history.is_unanswered(request)
    ):
        call.executed, call.known_by = False, "request"
        return
    _weigh(call, shown, request, status, answer)
    _apply_fit(call, request.fit)
    if call.executed and call.doubt is None and call.known_by == "request" and history.is_left_out(request):
        call.executed = False
        call.doubt_execution("a later request holds other calls of the same answer, and not this one")
    if call.executed and call.doubt is None and call.known_by == "request" and request.model.tracing in _OPEN_ANSWERS:
        call.doubt_execution(_OPEN_ANSWERS[request.model.tracing])
    if call.executed and call.doubt is None and is_broken(request.arguments_text):
        call.doubt_execution(BROKEN)
    if call.executed and call.doubt is None and history.is_of_another(request):
        call.doubt, call.evidence = "uncertain_owner", "the conversation in the agent's span lacks it"


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
    call.doubt_execution("the agent's span holds the request, and neither its span nor its result was seen")
    return call


def _apply_result(call: DraftCall, result: ResultStatus | None, *, is_misfit: bool) -> None:
    """Decide by what the model was told of a call that a span shows whether it ran: two signs that it was refused suffice."""
    if call.is_silent and result not in (None, "open") and call.status == "unset":
        call.status, call.is_silent = "ok" if result == "ok" else "error", False
    if result in ("unclear", "refused") and is_misfit and call.status == "error":
        call.settle_refusal(fits=False)
        return
    if result == "error" and call.refusal is not None and call.refusal.is_untold:
        call.settle_refusal(fits=True)
    if result == "refused" and call.status != "ok":
        call.executed = False
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
    """Whether its arguments fitted the tool, so that words that leave this open say nothing of it."""
    return call.refusal is not None and call.refusal.is_ruled_out


def _apply_fit(call: DraftCall, fit: Fit) -> None:
    """Decide by what the model was offered whether a call ran whose failure does not tell, or which is of no offered tool."""
    call.fits = fit == "fits"
    if call.refusal is not None and call.refusal.is_of_arguments and fit in ("fits", "misfit"):
        call.settle_refusal(fits=fit == "fits")
    elif not call.executed or call.doubt is not None:
        return
    elif fit == "unknown":
        call.doubt_execution("the model was offered no tool of that name")
    # What messages call a result may be a refusal in words that are not known.
    elif fit == "misfit" and (call.status == "error" or call.span_id is None):
        call.doubt_execution("its arguments do not fit the tool, so it may not have run")


def _following(models: Sequence[GenAISpan], starts: Sequence[int], model: GenAISpan) -> int:
    """Returns which request to the models came after this: not the same one, as a client inside recorded it."""
    following = bisect_right(starts, model.start_ns)
    while following < len(models) and _is_client_of(models[following], model):
        following += 1
    return following


def _is_client_of(inner: GenAISpan, model: GenAISpan) -> bool:
    """Whether a request is below another, and was answered with the same calls, or nothing tells with what: Google ADK 1.28."""
    is_below = inner.parent_span_id == model.span_id and inner.end_ns <= model.end_ns
    if inner.output is None:
        return is_below and not inner.has_output and inner.history is None
    return is_below and _calls_of(inner) == _calls_of(model)


def _calls_of(model: GenAISpan) -> list[tuple[str, object]]:
    return [(part.name, parse_any(part.arguments)) for part in tool_call_parts(model.output)]


def _latest_start(request: RequestedCall, models: Sequence[GenAISpan], following: int) -> int:
    """Returns when a call began that nobody timed: when the model had answered, at the latest when it was asked again."""
    if not request.is_recorded:
        return request.model.start_ns if request.turn >= 0 else 0
    end_ns = request.model.end_ns
    return min(end_ns, models[following].start_ns) if following < len(models) else end_ns


_NOT_TAKEN: Final = ("misfit", "unknown")
"""Of a call that the tools do not take which the model was offered."""


class _Shown:
    """What the spans of the run's calls tell of those that have none: worked out once, for a run may have thousands of both."""

    def __init__(self, run: RunSpans, requests: Iterable[RequestedCall]) -> None:
        self.run = run
        self.names = {spans[0].name for spans in run.executions}
        self.is_lossy = bool(run.executions) and all(spans[0].tracing == "lossy" for spans in run.executions)
        """Whether a call that fails leaves no span."""
        self.awaited = _awaited_turn(run, requests)
        """The turn with the call for which the run waits when it ends: none of its calls ran without a span."""


def _awaited_turn(run: RunSpans, requests: Iterable[RequestedCall]) -> int | None:
    call_id = None if run.anchor is None else run.anchor.call_id
    turns = (request.turn for request in requests if request.id == call_id)
    return None if call_id is None else max(turns, default=None)


def _weigh(
    call: DraftCall, shown: _Shown, request: RequestedCall, result: ResultStatus | None, answer: GenAISpan | None
) -> None:
    """Decide by what the messages say of this call, not of others, whether it ran. ``answer`` is the next model request."""
    answered = answer is not None or not request.is_recorded
    run = shown.run
    all_have_spans = run.has_spans_of_all or request.model.tracing == "complete"
    is_of_graph = request.model.tracing == "graph" and not run.nameless
    tools_have_spans = all_have_spans or bool(run.executions) or is_of_graph
    is_handoff = _HANDOFF.match(call.name) is not None  # is it a tool, or the framework's own?
    if _is_refused(request, result, shown, answered=answered, tools_have_spans=tools_have_spans):
        result = "refused"
    call.known_by = "request" if result is None or result == "refused" else "result"
    # The surest evidence first: what messages say of this call, then whether tools leave spans, then how the run ended.
    if result == "refused":
        call.executed = False
    elif is_handoff and not all_have_spans and (tools_have_spans or not call.arguments):
        _weigh_handoff(call, result, tools_have_spans=tools_have_spans)
    elif result == "unclear":
        call.status = "error"  # if it ran at all
        call.doubt_execution("the messages tell of a failure or of a denial")
    elif result is not None:
        call.status = _told_status(result, request.model, is_lossy=shown.is_lossy)
        _doubt_told(call, shown, tools_have_spans=tools_have_spans)
    elif answered:
        # Which calls the results that it was told are of is not known, but none of them reads like a failure.
        is_fine = answer is not None and answer.tool_results == () and not tools_have_spans
        call.status = "ok" if is_fine else "unset"
        _weigh_without_result(call, shown, request, tools_have_spans=tools_have_spans)
    elif tools_have_spans:
        call.executed = "missing_anchor" in run.incomplete
        if call.executed or is_handoff or call.name in shown.names or _may_have_failed_the_run(call, run):
            call.doubt_execution("the model asked for it last, and neither its span nor its result was seen")
        # The provider may run tools of its own, of which it alone knows the parameters, and answers when they have returned.
        elif request.model.finish == "other" and request.fit not in ("fits", "misfit"):
            call.doubt_execution("the model's answer holds it, and ended all the same")
    elif run.anchor is None or run.anchor.status == "error":
        _weigh_interrupted(call, run)
    elif request.turn > 0 or run.anchor.role is AGENT or run.anchor.tracing == "graph":
        call.doubt_execution("the model asked for it last, and was told no result")


def _told_status(result: ResultStatus, model: GenAISpan, *, is_lossy: bool) -> Status:
    """Without the flag of a failure the words of a result may be a tool's of either, unless only failures leave no span."""
    if (result == "open" and not is_lossy) or (result == "ok" and model.tracing == "lossy"):
        return "unset"
    return "ok" if result == "ok" else "error"


def _weigh_interrupted(call: DraftCall, run: RunSpans) -> None:
    """The run ended before the model was asked again, and with an error: perhaps with that which refused the call."""
    call.executed = False
    if run.anchor is None or _may_have_failed_the_run(call, run):
        call.doubt_execution("the run was interrupted after the model asked for it")


def _is_refused(
    request: RequestedCall, result: ResultStatus | None, shown: _Shown, *, answered: bool, tools_have_spans: bool
) -> bool:
    """Whether no tool that was offered takes a call, and what is known of it agrees that it was refused: the words that the
    model was told, or that a call which ran would have left a span.
    """
    if request.fit == "output":  # the framework answers: that it has the output, or what is wrong with that
        return tools_have_spans
    if request.fit not in _NOT_TAKEN and not is_broken(request.arguments_text):
        return False
    has_no_span = answered and tools_have_spans and not shown.is_lossy
    return result == "unclear" or (has_no_span and result in (None, "error", "open"))


def _doubt_told(call: DraftCall, shown: _Shown, *, tools_have_spans: bool) -> None:
    """Doubt a call of which the model was told a result, where a span would show it if it ran."""
    if call.status == "ok" and shown.is_lossy:
        call.status = "error"  # if it ran at all
        call.doubt_execution("only calls that fail, or never run, leave no span")
    elif call.status == "ok" and tools_have_spans:
        call.status = "unset"  # its span would tell: in the words of a tool a failure may read like any other result
    elif call.status == "error" and tools_have_spans and not shown.is_lossy:
        call.doubt_execution("the messages tell of a failure, and no span shows whether the tool ran")


def _weigh_handoff(call: DraftCall, result: ResultStatus | None, *, tools_have_spans: bool) -> None:
    """A framework hands over without a tool, and tools that do that leave spans where others do."""
    call.executed = not tools_have_spans
    if call.executed and result in ("ok", "error"):
        call.status = result
    if call.executed or call.arguments:
        call.doubt_execution("it hands over to another agent, and nothing tells whether a tool does that")


def _may_have_failed_the_run(call: DraftCall, run: RunSpans) -> bool:
    """Whether the run ended with an error that may be the call's: not with the refusal of a call that never ran."""
    anchor = run.anchor
    return anchor is not None and anchor.status == "error" and refuses(anchor.refusal, call.name) != "yes"


def _weigh_without_result(call: DraftCall, shown: _Shown, request: RequestedCall, *, tools_have_spans: bool) -> None:
    """The model was asked again, and no result that it was told is known to be of this call."""
    anchor = shown.run.anchor
    if not tools_have_spans:
        if anchor is not None and anchor.status == "error":
            call.doubt_execution("the run failed, and nothing tells what the model was told of it")
    elif shown.is_lossy:
        call.executed = request.result_status == "error" or call.name in shown.names
        call.status = "error"  # if it ran: that is why there is no span
        if not call.executed:
            call.doubt_execution("no span shows it, nor any other call of its tool")
    else:
        call.executed = False
        call.doubt_execution("its span was not seen, nor its result")
