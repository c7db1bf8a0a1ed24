"""Whether one call that a model requested and no span shows ran: what the messages say of it, weighed against the spans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from collector.model.genai_span import AGENT, MODEL, GenAISpan
from collector.model.tracing import WAITS
from collector.payloads.refusals import refuses
from collector.payloads.tool_results import ResultStatus, ToolResult
from collector.reconstruction.drafts import DraftCall, RunSpans, is_broken
from collector.reconstruction.frameworks import FORCING, GATEWAYS
from collector.reconstruction.requested_calls import MAX_CANDIDATES, RequestedCall
from scorers.trajectory import Status

_HANDOFF: Final = re.compile(r"(?:transfer|hand_?off)_to_")
NOT_TAKEN: Final = ("misfit", "unknown")
"""Of a call that the tools do not take which the model was offered."""


class Shown:
    """What the spans of the run's calls tell of those that have none: worked out once, for a run may have thousands of both."""

    def __init__(self, run: RunSpans, requests: Sequence[RequestedCall]) -> None:
        self.run = run
        self.names = {spans[0].name for spans in run.executions}
        self.is_lossy = bool(run.executions) and all(
            spans[0].tracing.traced_calls == "succeeded" for spans in run.executions
        )
        """Whether a call that fails leaves no span."""
        self.awaited = _awaited_turn(run, requests)
        """The turn with the call for which the run waits when it ends: none of its calls ran without a span."""
        denied = _denied(run)
        self._denied_ids = {told.call_id for told in denied}
        self._denied_tools = {told.name for told in denied}
        self.asked = len(requests)
        """How many calls the models asked for."""
        self._last = max((request.turn for request in requests), default=-1)
        self.is_run_elsewhere = run.anchor is not None and run.anchor.tracing.outcome == "told"
        """Whether another process runs calls of that turn."""
        self.are_tools_traced = run.anchor is not None and run.anchor.tracing.traced_calls == "tools"
        self.begun = {request.turn for request in requests if request.execution is not None}
        """The turns of which a span shows that a call ran."""
        self._made: dict[str, list[DraftCall]] = {}
        for request in requests if run.executions else ():
            made = request.execution
            if made is not None and made.status != "error" and made.arguments is not None:
                known = self._made.setdefault(made.name, [])
                if len(known) < MAX_CANDIDATES:
                    known.append(made)
        self.without_span: set[str] = set()
        """The tools of which a call ran that left no span, so far as calls were weighed."""

    def was_made(self, call: DraftCall) -> bool:
        """Whether a span shows an equal call before this one, which did not fail: what it returned may be told again."""
        return any(
            made.arguments == call.arguments and made.start_ns < call.start_ns for made in self._made.get(call.name, ())
        )

    def tell_denial(self, request: RequestedCall) -> bool:
        """Whether the run's own span tells that the call did not run: with what it goes on, or how it ended."""
        if request.id is not None:
            return request.id in self._denied_ids
        return request.turn == self._last and request.name in self._denied_tools


def _awaited_turn(run: RunSpans, requests: Iterable[RequestedCall]) -> int | None:
    anchor = run.anchor
    if anchor is None or (anchor.call_id is None and anchor.tracing.outcome not in WAITS):
        return None
    return max([request.turn for request in requests if anchor.call_id in (None, request.id)], default=None)


def _denied(run: RunSpans) -> list[ToolResult]:
    """Returns what the run's own span tells of calls that did not run. A run that goes on when a human has answered repeats
    the calls of which the one around it tells, which waited.
    """
    denied: list[ToolResult] = []
    going_on: RunSpans | None = run
    while going_on is not None and going_on.anchor is not None and going_on.anchor.role is not MODEL:
        denied += [told for told in going_on.anchor.tool_results or () if told.refusal is not None]
        before = going_on.parent
        going_on = before if before is not None and before.anchor is not None and before.anchor.call_id else None
    return denied


def weigh(
    call: DraftCall, shown: Shown, request: RequestedCall, result: ResultStatus | None, answer: GenAISpan | None
) -> None:
    """Decide by what the messages say of this call, not of others, whether it ran. ``answer`` is the next model request."""
    answered = answer is not None or not request.is_recorded
    run = shown.run
    all_have_spans = run.has_spans_of_all or request.model.tracing.traced_calls == "all"
    is_of_graph = request.model.tracing.traced_calls == "named" and not run.nameless
    tools_have_spans = all_have_spans or shown.are_tools_traced or bool(run.executions) or is_of_graph
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
        if (
            call.executed
            and call.doubt is None
            and _may_be_hooked(request.model, run, tools_have_spans=tools_have_spans)
        ):
            call.doubt_execution("no span shows it, and a hook may have answered in its place")
        elif request.model.scope in GATEWAYS and request.model.tracing.outcome == "lossy":
            call.doubt_execution("what it returned was not recorded: perhaps that it was refused")
    elif answered:
        # Which calls the results that it was told are of is not known, but none of them reads like a failure.
        is_fine = answer is not None and answer.tool_results == () and not tools_have_spans
        is_unmarked = request.model.tracing.outcome in ("lossy", "hooked")  # in whatever words it failed
        call.status = "ok" if is_fine and not is_unmarked else "unset"
        _weigh_without_result(call, shown, request, tools_have_spans=tools_have_spans)
    elif tools_have_spans:
        _weigh_last(call, shown, request, is_handoff=is_handoff, all_have_spans=all_have_spans)
    elif run.anchor is None or run.anchor.status == "error":
        _weigh_interrupted(call, run)
    else:
        _weigh_unanswered(call, request, run, run.anchor)
    if result is not None and call.executed and call.doubt is None:
        shown.without_span.add(call.name)


def _may_be_hooked(model: GenAISpan, run: RunSpans, *, tools_have_spans: bool) -> bool:
    """Whether a hook may have answered in place of a tool. The tools of a graph leave spans, though no other call shows it."""
    if model.tracing.outcome == "hooked":
        return tools_have_spans or model.tracing.identity == "node"
    own = run.wrappers if run.anchor is None else [run.anchor, *run.wrappers]
    return any(span.tracing.outcome == "hooked" for span in own)


def _weigh_unanswered(call: DraftCall, request: RequestedCall, run: RunSpans, anchor: GenAISpan) -> None:
    """The run ended well with the request. What asked a model once, and is no agent, most likely did as it said."""
    if request.model.status == "error":
        call.executed = False
        call.doubt_execution("the request failed before its answer had ended")  # a stream that was cut off
        return
    is_of_graph = anchor.tracing.identity == "graph" or request.model.tracing.identity == "node"
    is_of_agent = anchor.role is AGENT or request.model.scope in GATEWAYS
    if request.turn > 0 or is_of_agent or run.may_lack_agent or is_of_graph:
        call.doubt_execution("the model asked for it last, and was told no result")
    elif request.model.finish == "other" and any(name in request.model.scope for name in FORCING):
        call.doubt_execution("the model was asked once, and perhaps had to answer in the form of this call")


def _told_status(result: ResultStatus, model: GenAISpan, *, is_lossy: bool) -> Status:
    """Without the flag of a failure the words of a result may be a tool's of either, unless only failures leave no span."""
    if (result == "open" and not is_lossy) or (result == "ok" and model.tracing.outcome == "lossy"):
        return "unset"
    return "ok" if result == "ok" else "error"


def _weigh_interrupted(call: DraftCall, run: RunSpans) -> None:
    """The run ended before the model was asked again, and with an error: perhaps with that which refused the call."""
    call.executed = False
    if run.anchor is None or _may_have_failed_the_run(call, run):
        call.doubt_execution("the run was interrupted after the model asked for it")


def _is_refused(
    request: RequestedCall, result: ResultStatus | None, shown: Shown, *, answered: bool, tools_have_spans: bool
) -> bool:
    """Whether no tool that was offered takes a call, and what is known of it agrees that it was refused: the words that the
    model was told, or that a call which ran would have left a span.
    """
    if request.fit == "output":  # the framework answers: that it has the output, or what is wrong with that
        return tools_have_spans
    if request.fit not in NOT_TAKEN and not is_broken(request.arguments_text):
        return False
    has_no_span = answered and tools_have_spans and not shown.is_lossy
    return result == "unclear" or (has_no_span and result in (None, "error", "open"))


def _doubt_told(call: DraftCall, shown: Shown, *, tools_have_spans: bool) -> None:
    """Doubt a call of which the model was told a result, where a span would show it if it ran."""
    if call.status == "ok" and shown.is_lossy:
        call.status = "error"  # if it ran at all
        call.doubt_execution("only calls that fail, or never run, leave no span")
    elif call.status != "error" and tools_have_spans:
        call.status = "unset"  # its span would tell: in the words of a tool a failure may read like any other result
        if shown.was_made(call):
            call.doubt_execution("no span shows it, and a cache may have answered as an equal call before it was")
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


def _weigh_last(
    call: DraftCall, shown: Shown, request: RequestedCall, *, is_handoff: bool, all_have_spans: bool
) -> None:
    """The model was not asked again, or that was lost, and a span would show the call if it ran and its tool leaves any."""
    run = shown.run
    if run.ended_before_calls:
        call.executed = False
        return
    call.executed = "missing_anchor" in run.incomplete
    # A span of a call may not tell of which tool it is: smolagents' under MLflow.
    may_have_run = call.executed or run.may_lack_agent or call.name in shown.names or bool(run.nameless)
    if may_have_run or is_handoff or _may_have_failed_the_run(call, run):
        call.doubt_execution("the model asked for it last, and neither its span nor its result was seen")
    elif (
        not all_have_spans
        and not shown.are_tools_traced
        and (request.turn in shown.begun or call.name in shown.without_span)
    ):
        call.doubt_execution("its tool may leave no span, and the run may have gone on after the model asked for it")
    elif run.anchor is not None and run.anchor.status == "error":
        return  # with the refusal of this call
    # A call for which the run waits has no result there.
    elif run.told_results >= shown.asked:
        call.doubt_execution(
            "no span shows it, and the agent's output tells of a result for each call that was asked for"
        )
    # The provider may run tools of its own, of which it alone knows the parameters, and answers when they have returned.
    elif request.model.finish == "other" and request.fit not in ("fits", "misfit"):
        call.doubt_execution("the model's answer holds it, and ended all the same")


def _weigh_without_result(call: DraftCall, shown: Shown, request: RequestedCall, *, tools_have_spans: bool) -> None:
    """The model was asked again, and no result that it was told is known to be of this call."""
    anchor = shown.run.anchor
    if not tools_have_spans:
        if anchor is not None and anchor.status == "error":
            call.doubt_execution("the run failed, and nothing tells what the model was told of it")
        elif call.status == "unset" and request.model.scope in GATEWAYS:
            call.doubt_execution("a gateway saw that the model asked for it, and nothing tells what it was told of it")
        elif _may_be_hooked(request.model, shown.run, tools_have_spans=False):
            call.doubt_execution("no span shows it, and a hook may have answered in its place")
    elif shown.is_lossy:
        call.executed = request.result_status == "error" or call.name in shown.names
        call.status = "error"  # if it ran: that is why there is no span
        if request.result_status != "error":
            call.doubt_execution("no span shows it, and only calls that fail, or never run, leave none")
    else:
        call.executed = False
        call.doubt_execution("its span was not seen, nor its result")
