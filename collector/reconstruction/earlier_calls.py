"""Which of the calls that the models of a run were told of were made before it, in another trace or by another run; and whether
it goes on in another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from collector.model.genai_span import GenAISpan
from collector.model.tracing import MAY_LACK_CALLS, WAITS
from collector.payloads.history import HistoryCall, calls_in_history
from collector.payloads.tool_results import may_contain_results
from collector.payloads.user_input import is_answered, is_approval, resumes_run
from collector.reconstruction.drafts import GATEWAYS, RunSpans, by_start, latest_start
from collector.reconstruction.known_calls import (
    SCOPES_OF_APPROVALS,
    SCOPES_OF_CALLS_FIRST,
    KnownCalls,
    begins_with_results,
)
from collector.reconstruction.requested_calls import RequestedCall, covers_requests

_PYDANTIC_AI: Final = "pydantic-ai"
_AGNO: Final = "openlit.instrumentation.agno"
_SCOPES_THAT_WAIT: Final = (
    _PYDANTIC_AI, _AGNO, "agent_framework", "strands.telemetry.tracer", "strands-agents",
    "amazon.opentelemetry.distro.instrumentation.langchain", "amazon.opentelemetry.distro.instrumentation.openai_agents",
)  # fmt: skip
"""Of agents that end to wait for answers, and begin anew with these."""
_ADK_RUST: Final = "adk_rust"
_ENDING_WELL: Final = ("@arizeai/openinference-instrumentation-openai-agents", "microsoft-otel-openai-agents")
"""Of OpenAI Agents for JavaScript: a run that ends well with calls that no span shows waits for a human, or hands over."""
_WAITING_WELL: Final = (_ADK_RUST, "pydantic_ai")
"""The dialects of runs that end well to wait for a human: nothing, or without content only the calls, is recorded of that."""


def calls_of_this_run(
    found: list[RequestedCall], run: RunSpans, known: KnownCalls, recorded: Iterable[RequestedCall]
) -> list[RequestedCall]:
    """Returns ``found`` without calls that were made before the run, which its first recorded request tells of as well.

    Where nothing tells whether they were, calls of the run may be unrecorded.
    """
    first = min([request.model for request in found], key=by_start, default=None)
    if first is None or _is_fresh(run.anchor):
        return found
    if first.is_transcript:
        return _without_given(found, run)
    anchor = run.anchor if run.parent is None else None
    if (run.anchor is not None and run.anchor.tracing.extent == "resumed") or is_answered(first.history):
        return _answered_by_a_human(found, run)
    given = calls_in_history(anchor.user_input) if anchor is not None and anchor.user_input else []
    earlier = [one for one in found if one.model is first and one.execution is None]
    opening = min(run.models, key=by_start)
    is_resumed = anchor is not None and resumes_run(anchor.user_input)
    is_resumed = is_resumed or (
        anchor is not None and anchor.scope in _SCOPES_THAT_WAIT and _are_told_first(anchor, run.models)
    )
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
            told = {call.id for call in given if call.status is not None} - {None}
            earlier = [one for one in earlier if one.id in told]
    if not earlier:
        run.is_continued |= _began_elsewhere(found, run, known)
        return found
    if is_resumed:
        run.is_continued = True  # a human has answered; it may begin with a call that an earlier trace asked for
    elif anchor is not None and outer.parent_span_id and anchor.user_input:
        if not any(call.status is not None for call in given):
            return found  # the run began with the user's message
        own = waited(run)
        earlier = [one for one in earlier if one.id not in own]
        later = {id(one) for one in _without_given(earlier, run)}
        earlier = [one for one in earlier if id(one) not in later]
    elif outer.parent_span_id or len(known.runs) > 1 or covers_requests(first, run.models):
        known.lacking.add(id(run.parent))  # after a handoff both agents are told the same
    elif not outer.parent_span_id:
        run.is_continued = True  # each request is a trace of its own, unless the rest of this one was not recorded
    return [one for one in found if one not in earlier]


def _began_elsewhere(found: Iterable[RequestedCall], run: RunSpans, known: KnownCalls) -> bool:
    """Whether an agent for JavaScript was given what a human answered; or began with a call that no answer of the run asked
    for, and of which its first request tells, or a later one: of inputs that repeat each other a trace keeps the longest.
    """
    anchor = run.anchor
    if anchor is None or run.parent is not None or anchor.scope not in SCOPES_OF_CALLS_FIRST:
        return False
    first = min(run.models, key=by_start)
    is_resumed = resumes_run(anchor.user_input) or any(
        one.execution is not None and one.execution.start_ns < first.start_ns + (one.model is first) for one in found
    )
    return is_resumed and not known.has_waiting_before(anchor)


def _is_fresh(anchor: GenAISpan | None) -> bool:
    """Whether no earlier run waited for what this one began with: then none of the calls told was made before it."""
    return anchor is not None and anchor.tracing.extent == "fresh"


def _may_precede(told: Collection[RequestedCall], run: RunSpans, recorded: Iterable[RequestedCall]) -> bool:
    """Whether a call without a span was told before those that recorded answers asked for, and two spans would have been lost
    if it was the run's own: those of two requests, or of one and of a call, where others have theirs.
    """
    begun = min([one.turn for one in recorded if one.turn >= 0], default=None)
    turns = {one.turn for one in told}
    return (begun is None or min(turns, default=begun) < begun) and (bool(run.executions) or len(turns) > 1)


def _tells_of_none(anchor: GenAISpan | None, given: Sequence[HistoryCall]) -> bool:
    """Whether the agent's input was recorded, and tells of no calls: those that its first request tells of were added."""
    return anchor is not None and bool(anchor.user_input) and not any(call.status is not None for call in given)


def waited(run: RunSpans) -> set[str]:
    """Returns the ids of the calls for which a run of Vercel's AI SDK began with an answer of a human: where they have a
    result later, they are this run's, whoever asked for them (LegacyOpenTelemetry of version 7 has no span of them)."""
    anchor = run.anchor
    if anchor is None or run.parent is not None or anchor.dialect != "ai_sdk" or not is_approval(anchor.user_input):
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


def goes_on_here(run: RunSpans, known: KnownCalls) -> bool:
    """Whether what a human answers to a run is in its trace: a later run of its agent, or what is around it."""
    anchor = run.anchor
    return anchor is None or run.parent is not None or known.has_run_after(anchor)


def was_told_of_earlier(run: RunSpans, known: KnownCalls) -> bool:
    """Whether the trace is one request that events tell was told of results: of calls that an earlier trace asked for; or its
    agent began with the answers for which it waited in an earlier trace.
    """
    anchor = run.anchor
    if anchor is not None and run.models and run.parent is None:
        if anchor.scope in _SCOPES_THAT_WAIT:
            return not _is_fresh(anchor) and _begins_with_answers(run, anchor) and not known.has_waiting_before(anchor)
        if anchor.scope in SCOPES_OF_APPROVALS and (_begins_with_call(run, anchor) or _answers_first(run, anchor)):
            return not known.has_waiting_before(anchor)
    if anchor is not None and run.parent is None and anchor.tracing.extent == "resumed":
        return not known.has_waiting_before(anchor)
    if run.executions or run.children or run.disputed or len(run.models) != 1:
        return False
    model = run.models[0]
    return bool(model.tool_results) and model.history is None and model is anchor and not model.parent_span_id


def _begins_with_answers(run: RunSpans, anchor: GenAISpan) -> bool:
    """Whether an agent was told results first; or, of whose messages nothing was captured, began with a call, which a human
    approved."""
    if _are_told_first(anchor, run.models):
        return True
    return _begins_with_call(run, anchor)


def _begins_with_call(run: RunSpans, anchor: GenAISpan) -> bool:
    """Whether a run of whose messages nothing was captured began with a call, and then asked a model. By the clock of a host
    that has the call begin before its agent, it may have begun at any time.
    """
    if any(model.history is not None or _was_only_asked(model) for model in run.models):
        return False
    first = min(run.models, key=by_start)
    return any(anchor.start_ns <= spans[0].start_ns and _precedes(spans[0], first) for spans in run.executions)


def _precedes(call: GenAISpan, model: GenAISpan) -> bool:
    """Whether a call began before a request, or by a clock of whole milliseconds with it, and before that had an answer."""
    return call.start_ns < model.start_ns or (
        call.start_ns == model.start_ns and latest_start(call.start_ns) < model.end_ns
    )


def _answers_first(run: RunSpans, anchor: GenAISpan) -> bool:
    """Whether an agent, each of whose requests is around the calls that its answer asked for, made one that is in none of them,
    or was told results first: Google's ADK for JavaScript. A request that was lost leaves its calls without a parent.
    """
    if any(model.tracing.extent != "around" for model in run.models):
        return False
    made = any(spans[0].parent_span_id == anchor.span_id for spans in run.executions)
    return made or _are_told_first(anchor, run.models)


def _was_only_asked(model: GenAISpan) -> bool:
    """Whether a model was told what the user wants, and of no results."""
    return model.user_input is not None and model.tool_results is None


def _are_told_first(anchor: GenAISpan, models: Sequence[GenAISpan]) -> bool:
    """Whether the first request of an agent tells of results, and of no question of the user's after them; each of those that
    may be the first, where the clock does not tell.

    An agent of Microsoft's framework may be handed over to, and it, Strands and AWS's distro tell in the agent's span what
    it was asked.
    """
    if anchor.scope not in (_PYDANTIC_AI, _AGNO) and anchor.user_input is not None:
        return False
    began = min([model.start_ns for model in models])
    return all(
        model.user_input is None
        and (model.tool_results is not None or (model.history is not None and may_contain_results(model.history)))
        for model in models
        if model.start_ns == began
    )


def _ends_with_call_apart(run: RunSpans) -> bool:
    """Whether no model was asked after a call for whose outcome the run waits: by the clock, or because the call is inside the
    last request."""
    apart = [spans[0] for spans in run.executions if spans[0].tracing.extent == "apart" and spans[0].status != "error"]
    if not apart or not run.models:
        return False
    last = max(run.models, key=by_start)
    return any(call.parent_span_id == last.span_id or call.start_ns > last.start_ns for call in apart)


def _asked_last(run: RunSpans, requested: Sequence[RequestedCall]) -> list[RequestedCall]:
    """Returns the calls that the last answer of the run asked for."""
    last = max(run.models, key=by_start)
    return [one for one in requested if one.model is last and one.is_recorded]


def _remembers_waiting(run: RunSpans) -> bool:
    """Whether the run's memory was given a call that waits for a human."""
    return any(model.is_pending and model.is_transcript for model in run.models)


def _ends_well_to_wait(run: RunSpans, anchor: GenAISpan, asked: Sequence[RequestedCall], known: KnownCalls) -> bool:
    """Whether a run that ended well waits for calls that its last answer asked for, of which no span shows one."""
    if not asked or all(one.execution for one in asked):
        return False
    if anchor.scope in _ENDING_WELL:
        return not all(one.execution or one.by_provider for one in asked) and not known.has_later_run(anchor)
    if anchor.dialect == _ADK_RUST:
        return not any(one.execution for one in asked)
    # With content the result of its run tells. One whose form is a tool's, which no span shows, is known as such.
    are_tools = all(one.arguments is None and not one.fit for one in asked) and asked[0].model.content is not None
    return are_tools and not goes_on_here(run, known)


def goes_on_elsewhere(run: RunSpans, requested: Sequence[RequestedCall], known: KnownCalls) -> bool:
    """Whether the trace is one request of an agent or a conversation that asked for tools, and nothing shows them, or one that
    a gateway saw, which may have; or its agent said that it waits; or, of a framework that shows each call, ended well without
    those that were asked for last: they wait for a human.
    """
    anchor = run.anchor
    if anchor is not None and (anchor.is_pending or anchor.tracing.outcome in WAITS or _remembers_waiting(run)):
        return not goes_on_here(run, known)
    if (
        anchor is not None
        and anchor.status != "error"
        and (anchor.dialect in _WAITING_WELL or anchor.scope in _ENDING_WELL)
    ):
        return _ends_well_to_wait(run, anchor, _asked_last(run, requested), known)
    if _ends_with_call_apart(run):
        return anchor is None or not known.has_run_after(anchor)
    if run.executions or run.children or run.disputed or len(run.models) != 1:
        return False
    model = run.models[0]
    # Spring AI's, of a model without a client: calls and further requests are beside it, and what it was told is unknown.
    # DSPy's, seen by its client alone: those that follow tell.
    is_known_part = model.tracing.extent in ("nested", "step")
    is_of_gateway = model.scope in GATEWAYS
    if not requested and not is_known_part and (model.has_output or not is_of_gateway):
        return False
    # One that names neither may be all there is: a program that asks a model once which tool to use.
    is_part = is_known_part or is_of_gateway or model.agent is not None or model.conversation_id is not None
    return is_part and model is run.anchor and not model.parent_span_id and model.status != "error"
