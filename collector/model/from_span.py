"""Reads what every dialect reads of a span in the same way: ids, times, failures, and what a model was told and answered."""

from __future__ import annotations

import json
from typing import Any, Final, Literal

from collector.model import semconv
from collector.model.genai_span import MODEL, Content, GenAISpan, Role
from collector.model.span import SPAN_KIND_CONSUMER, SPAN_KIND_SERVER, STATUS_ERROR, STATUS_OK, Span
from collector.payloads.cut_values import is_cut
from collector.payloads.messages import may_contain_tool_calls, tool_call_parts
from collector.payloads.offered_tools import fits_of
from collector.payloads.pauses import asks_for_approval, is_told_of_approval
from collector.payloads.refusals import UNTOLD, Refusal, find_refusal, guardrail_refusal, is_interrupt
from collector.payloads.response import is_blank
from collector.payloads.stack_traces import refusal_in_stack
from collector.payloads.text_calls import asks_langroid, is_step, requests_action, writes_code
from collector.payloads.told_failures import is_in_place_of_result
from collector.payloads.tool_results import newest_tool_results, tool_result
from collector.payloads.user_input import newest_user_input
from collector.payloads.values import MAX_TEXT, name_of

MAX_CONTEXT_TEXT: Final = 512
"""Longest attribute value, in characters, that is kept for rules to match."""
_DENIALS: Final = ("denied", "rejected", "permission_denied")
"""Types of errors that mean a denial, by the framework or by the tool."""
_PAUSED: Final = "pause_turn"
_CLAUDES_AGENTS: Final = ("Agent", "Task")
"""Tools by which Claude's agent starts another."""
_GOES_ON: Final = "async_launched"
_CLAUDES_OUTPUT: Final = "StructuredOutput"
AI_SDK: Final = ("ai", "gen_ai")
"""The scopes of Vercel's AI SDK: 4 to 6, and 7 with LegacyOpenTelemetry; and 7. Its spans hold what an agent began with, also
results. Where it gives a failed span a message, it records the exception as well."""
ANTHROPIC_SDK: Final = "com.anthropic.sdk."
"""Begins the scopes of the spans that Anthropic's own client makes (@anthropic-ai/sdk 1.14, and for Go 2.15): those of its tool
runner hold the requests and the calls. Without an option of its own they have no content.
"""
OPENLIT_GRAPHS: Final = "openlit.instrumentation.langgraph"
OPENLIT_GRAPHS_JS: Final = "@openlit/instrumentation-langgraph"
"""The scopes of OpenLIT's spans of graphs, and of their nodes."""
_PYTHON: Final = "python"
"""Where a span has more attributes than the SDK keeps, that for Python drops the oldest, and so what a request was told."""
_COPILOT: Final = "github.copilot"  # it has no message where content is not captured, and means its own denial
MAX_EVENTS: Final = 16
"""How many events of a span are looked at for what was raised."""
_OF_TOOL_OR_HOOK: Final = (
    "agno.exceptions.RetryAgentRun",
    "agno.exceptions.StopAgentRun",
    "RetryAgentRun",
    "StopAgentRun",
)
"""Types of errors with which a tool of Agno, or a hook before it, ends a call to tell the agent what to do."""
_REMOTE_KINDS: Final = (SPAN_KIND_SERVER, SPAN_KIND_CONSUMER)  # called from elsewhere; used if the flags do not say


def has_remote_parent(span: Span) -> bool:
    """Whether the span's parent, if it has one, runs in another process."""
    return span.remote_parent is True or (span.remote_parent is None and span.kind in _REMOTE_KINDS)


def genai_span_of(span: Span, role: Role, dialect: str) -> GenAISpan:
    """Returns a GenAI span with what every span holds: ids, times, and whether it failed."""
    genai_span = GenAISpan(
        span.span_id, span.parent_span_id, span.start_ns, span.end_ns, role, dialect, span.resource, has_remote_parent(span)
    )  # fmt: skip
    genai_span.scope = span.scope.name
    error_type = span.attributes.get(semconv.ERROR_TYPE)
    if error_type is not None or (span.status == STATUS_ERROR and not _is_failure_of_another(span)):
        set_error(genai_span, span, name_of(error_type))
    elif span.status == STATUS_OK:
        genai_span.status = "ok"
    return genai_span


def _is_failure_of_another(span: Span) -> bool:
    """Whether the span has its status from another.

    OpenInference's processor for Vercel's AI SDK copies that of the first failure of a trace, with its message, to all
    spans that end later, though they succeeded.
    """
    if span.scope.name not in AI_SDK or semconv.OPENINFERENCE_KIND not in span.attributes:
        return False
    if not span.status_message:  # what was thrown is no `Error`: the SDK records nothing of it, and no output
        return semconv.OUTPUT_VALUE in span.attributes
    return all(event.name != semconv.EVENT_EXCEPTION for event in span.events)


def set_error(genai_span: GenAISpan, span: Span, error_type: str | None = None) -> None:
    """Mark the span as failed, with the reason: ``error_type``, else the class of the recorded exception."""
    genai_span.status = "error"
    # The status, the exception, or what should be a type may hold the words of a refusal.
    messages: list[object] = [span.status_message, error_type]
    trace: object = None
    for event in span.events:
        if event.name == semconv.EVENT_EXCEPTION:
            error_type = error_type or name_of(event.attributes.get(semconv.EXCEPTION_TYPE))
            messages.append(event.attributes.get(semconv.EXCEPTION_MESSAGE))
            trace = trace or event.attributes.get(semconv.EXCEPTION_STACK_TRACE)
    genai_span.error_type = error_type
    words = [message for message in messages if type(message) is str]
    genai_span.is_pending = any(map(is_interrupt, (error_type or "", *words)))
    genai_span.refusal = next(filter(None, map(find_refusal, words)), None)
    if genai_span.refusal is None and error_type in _DENIALS:
        genai_span.refusal = Refusal(is_sure=span.scope.name == _COPILOT)
    if genai_span.refusal is None:
        genai_span.refusal = refusal_in_stack(trace)
        if genai_span.refusal is None and error_type in _OF_TOOL_OR_HOOK:
            genai_span.refusal = Refusal(is_sure=False)


def set_raised(genai_span: GenAISpan, span: Span) -> None:
    """Mark a call as failed that recorded what was raised, and of which nothing tells that it returned.

    Some tracers leave the status as it is, or report a success.
    """
    if any(event.name == semconv.EVENT_EXCEPTION for event in span.events[:MAX_EVENTS]):
        set_error(genai_span, span)


def set_words_of_failure(genai_span: GenAISpan, words: str) -> None:
    """Mark a call as failed by its result: words, where the framework makes JSON of what tools return.

    Those that do not read like a failure are in doubt: a tool may have made them itself.
    """
    told = tool_result(None, words)
    genai_span.status, genai_span.refusal = "error", told.refusal
    if not told.failed and told.refusal is None:
        genai_span.note(outcome="text")


def set_answer_of_openai_agents(genai_span: GenAISpan, answer: object, scope: str) -> None:
    """Read what the OpenAI Agents SDK gave its model, of a call whose span ends well: that the tool failed, or may have been
    refused by a guardrail. ``scope`` is known as one of that SDK.
    """
    if is_in_place_of_result(answer):
        genai_span.status, genai_span.refusal = "error", tool_result(None, answer).refusal
    else:
        genai_span.refusal = guardrail_refusal(scope, answer)


def doubt_start(genai_span: GenAISpan) -> None:
    """Note that a call that failed, and has a result but no arguments, may never have begun.

    A framework that checks arguments inside the span may leave out what the tool does not take: OpenAI Agents for JavaScript.
    """
    if genai_span.refusal is None or genai_span.refusal.is_ruled_out:
        genai_span.refusal = Refusal(is_sure=False)


def doubt_failure(genai_span: GenAISpan) -> None:
    """Note of a call that failed that nothing which is understood says why: it may have been refused."""
    if genai_span.status == "error" and genai_span.refusal is None:
        genai_span.refusal = UNTOLD


def doubt_outcome(genai_span: GenAISpan) -> None:
    """Note of a call that its answer may tell of a failure, unless its span says what came of it."""
    if genai_span.status == "unset" and not genai_span.tracing.outcome:
        genai_span.note(outcome="told")


def output_in_events(span: Span) -> Any:
    """Returns what the newest event of a span holds of the answer of its agent or model; None if none does."""
    for event in reversed(span.events):
        if event.name == semconv.EVENT_CHOICE:
            return event.attributes.get(semconv.EVENT_MESSAGE)
        if event.name == semconv.EVENT_INFERENCE_DETAILS:
            return event.attributes.get(semconv.OUTPUT_MESSAGES)
    return None


def doubt_cut_result(genai_span: GenAISpan) -> None:
    """Note of a call that seems to have succeeded that the rest of its result may tell of a failure."""
    genai_span.status = "unset"
    genai_span.note(outcome=genai_span.tracing.outcome or "told")


def doubt_answer(genai_span: GenAISpan) -> None:
    """Note of a request whose span lacks attributes or events that its answer may have asked for calls, unless its reason to
    end is another, and that what it was told of earlier ones may be missing: SDKs drop what is set last, as the answer is.
    """
    if genai_span.resource.attributes.get(semconv.TELEMETRY_SDK_LANGUAGE) == _PYTHON:
        return
    if genai_span.finish != "other" and not genai_span.tracing.extent:
        genai_span.note(extent="some")
    genai_span.tool_results = genai_span.tool_results or None  # that none failed is not told


def refuse_output_of_claude(call: GenAISpan) -> None:
    """Note that what Claude's Agent SDK offers as a tool is the form of an agent's output, and none that ran."""
    if call.name == _CLAUDES_OUTPUT:
        call.refusal = Refusal()


def note_agent_of_claude(call: GenAISpan, result: object) -> None:
    """Note of a call that starts an agent of Claude's Agent SDK whether that goes on when the call ends, where its calls are
    recorded as those of the agent that started it; and of the form of an output that it is none.
    """
    refuse_output_of_claude(call)
    if call.name in _CLAUDES_AGENTS:
        call.note(extent="starts" if type(result) is not str or _GOES_ON in result[:256] else "asks")


def model_span_of(span: Span, dialect: str, output: object, messages: object) -> GenAISpan:
    """Returns a MODEL span with what reconstruction needs of the request's output and input messages."""
    genai_span = genai_span_of(span, MODEL, dialect)
    set_output(genai_span, output)
    genai_span.finish = _finish(span, tells_calls=genai_span.output is not None)
    # A model that says nothing has requested tools: some tracers record of its message only the text.
    # One that requests an action in words has finished for its provider, and not for the agent.
    if output is not None and (requests_action(output) or (not genai_span.finish and is_blank(output))):
        genai_span.finish = "tool_calls"
    if genai_span.output is None and not genai_span.finish and is_cut(output):
        genai_span.output = output  # what was cut off may have asked for calls, and nothing else tells
    if output is not None and not span.parent_span_id and is_step(output):
        genai_span.note(extent="step")
    if messages:
        _read_langroid(genai_span, output, messages)
        note_code(genai_span, output, messages)
    set_input(genai_span, messages)
    note_approvals(genai_span, output, messages)
    return genai_span


def note_approvals(genai_span: GenAISpan, output: object, messages: object) -> None:
    """Note of a request to a model whether its answer waits for a human's approval, and whether it was told one last."""
    genai_span.is_pending = genai_span.is_pending or asks_for_approval(output)
    if is_told_of_approval(messages):
        genai_span.note(extent="resumed")


def note_code(genai_span: GenAISpan, output: object, messages: object) -> None:
    """Note of a request to a model whether its answer is code, which may call tools."""
    if output is not None and not genai_span.tracing.extent and writes_code(output, messages):
        genai_span.note(extent="code")


def _read_langroid(genai_span: GenAISpan, output: object, messages: object) -> None:
    """Note of a request of Langroid that its answer asks for a call in text; and, where it begins its trace, that it was told
    of earlier ones.
    """
    if output is not None and asks_langroid(output, messages):
        genai_span.finish = "tool_calls"
    if not genai_span.parent_span_id and asks_langroid(messages, messages):
        genai_span.note(extent="step")


def set_output(genai_span: GenAISpan, output: object) -> None:
    """Keep a model's output if it may contain tool calls."""
    genai_span.has_output = genai_span.has_output or bool(output)
    if may_contain_tool_calls(output):
        genai_span.output = output


def compare_with_offered(genai_span: GenAISpan, definitions: object) -> None:
    """Keep whether the calls in a model's output fit the tools that the request offered, if these are known."""
    if definitions and genai_span.output is not None:
        fits = fits_of(tool_call_parts(genai_span.output), definitions)
        if fits:
            genai_span.content = Content(fits=fits)


def set_input(genai_span: GenAISpan, messages: object) -> None:
    """Keep of a model's input the user's message, if it is the newest, and the newest failed tool results."""
    if messages:
        genai_span.user_input = newest_user_input(messages)
        genai_span.tool_results = newest_tool_results(messages)
        if is_cut(messages):
            _doubt_cut_input(genai_span)
        history = _as_text(messages)
        if genai_span.user_input is messages:
            genai_span.user_input = history
        # A longer text would not be parsed later, so an open trace need not hold it.
        if (type(history) is not str or len(history) <= MAX_TEXT) and may_contain_tool_calls(history):
            genai_span.history = history


def _doubt_cut_input(genai_span: GenAISpan) -> None:
    """Note of a request that it was told more than is recorded, and what came last is missing: what came of the newest calls,
    and, where nothing is around it, whether these were made in other traces.
    """
    genai_span.tool_results = genai_span.tool_results or None
    if genai_span.role is MODEL and not genai_span.parent_span_id and not genai_span.tracing.extent:
        genai_span.note(extent="step")


def _as_text(messages: object) -> object:
    """Returns structured messages as JSON, unless that is too long to be parsed later.

    Objects take many times the memory, and of texts that continue each other a trace keeps the longest alone.
    """
    if type(messages) is str:
        return messages
    try:
        text = json.dumps(messages, default=str)
    except RecursionError:
        return messages
    return text if len(text) <= MAX_TEXT else messages


def _finish(span: Span, *, tells_calls: bool) -> Literal["", "tool_calls", "other"]:
    """The finish reason, in the words of any provider: tool_calls, tool_use, tool-calls, function_call, ...

    Anthropic pauses among calls of tools that it runs itself: where the output does not tell of them, they were made unseen.
    """
    for name in semconv.FINISH_REASONS:
        reasons = span.attributes.get(name)
        if reasons:
            text = str(reasons).lower()
            if "tool" in text or "function" in text or (_PAUSED in text and not tells_calls):
                return "tool_calls"
            return "other"
    return ""


def context_span_of(
    span: Span, role: Role, dialect: str, user_input: object = None, conversation_id: str | None = None
) -> GenAISpan:
    """Returns an AGENT or OTHER span with the context of a run: its input, conversation and short attributes."""
    genai_span = genai_span_of(span, role, dialect)
    genai_span.user_input = user_input
    genai_span.conversation_id = conversation_id
    genai_span.attributes = context_attributes(span)
    return genai_span


def context_attributes(span: Span) -> dict[str, Any]:
    """Returns the attributes that rules may match: short strings, numbers and booleans, no messages."""
    return {
        key: value
        for key, value in span.attributes.items()
        if (len(value) <= MAX_CONTEXT_TEXT if type(value) is str else isinstance(value, (bool, int, float)))
    }
