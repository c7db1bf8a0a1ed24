"""The OpenTelemetry GenAI semantic conventions (up to 0.1, by their own numbers), and names deprecated since 1.36.

Messages are read wherever one of the releases puts them: attributes (JSON text or structured), span events, log events.
Strands (strands-agents 1.62, @strands-agents/sdk) and rig (0.46) follow these conventions except for their own attributes of
what came of a call, Sentry (@sentry/node 10.78) except for the names of a model's answer,
Cloudflare's Agents (0.32) except for approvals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from collector.dialects.otel_genai import (
    aws,
    cloudflare,
    crewai,
    langchain,
    microsoft,
    model_request,
    quarkus,
    tool_call,
    weave,
)
from collector.dialects.otel_genai.log_events import read_log
from collector.dialects.otel_genai.model_request import ends_with_call, read_model, read_steps
from collector.dialects.otel_genai.span_events import event_value
from collector.dialects.otel_genai.tool_call import read_tool
from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of
from collector.model.genai_span import AGENT, CONVENTIONS, IGNORED, MODEL, OTHER, TOOL, CopiedField, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.function_parameters import PARAMETER
from collector.payloads.offered_tools import offers_hosted
from collector.payloads.pauses import PAUSED, leaves_calls_open, outcome_of_pause
from collector.payloads.refusals import Refusal
from collector.payloads.tool_arguments import RECORDS
from collector.payloads.user_input import ends_with_answers
from collector.payloads.values import MAX_NAME, find_text, first_name, name_of

_SENTRY_TOOLS: Final = "gen_ai.request.available_tools"
_CONVERSATION_IDS: Final = (semconv.CONVERSATION_ID, semconv.SESSION_ID)
_NODE: Final = "metadata.langgraph_node"
"""The node in which a span began. langchain-azure-ai 1.2 (`enable_auto_tracing`) has every node of a graph as an agent."""
_AGENT_FRAMEWORK: Final = "agent_framework"
_QWEN_CODE: Final = "qwen-code"
"""It answers what does not fit a tool in that tool's own words, and no span shows such a call."""
_LANGCHAIN: Final = "opentelemetry.instrumentation.genai.langchain"
_HOOKED: Final = (
    _LANGCHAIN, "semantic_kernel.utils.telemetry.agent_diagnostics.decorators",
    _AGENT_FRAMEWORK, _QWEN_CODE,
)  # fmt: skip
"""Scopes of agents whose middleware, filters or checks may answer in place of a tool, which leaves no span then."""
_AWAITED: Final = re.compile(
    r'"type": "function_approval_request", "function_call": \{"type": "function_call", "call_id": "([^"]{1,256})"'
)
"""With this Microsoft's Agent Framework ends a run to wait for a human: for the answer to this call, with all beside it."""
_INTERRUPT: Final = re.compile(r"'id': 'v1:(?:before_)?tool_call:([^:']{1,256}):")
"""With the id of the call for which it is asked, in the answer of an agent of Strands (1.62) that waits for a human."""
_STRANDS_FOR_PYTHON: Final = "strands.telemetry.tracer"
_FINISH, _WAITS = "finish_reason", "interrupt"
_WAITS_IN_MESSAGE: Final = ('"finish_reason": "interrupt"}]', '"finish_reason":"interrupt"}]')
_AGNO: Final = ("openlit.instrumentation.agno", "opentelemetry.instrumentation.genai.agno")
_BEYOND_LIMIT: Final = (
    "ai.koog.agents.core.agent.exception.AIAgentMaxNumberOfIterationsReachedException",
    "strands.types.exceptions.MaxTokensReachedException",
)
"""With these an agent of Koog ends before the next node of its graph, and one of Strands after an answer that was cut off: in
place of the calls of the last answer, if they have not begun.
"""
_ITERATIONS: Final = "tanstack.ai.iterations"
"""Of the span around the requests and calls of one `chat()` of TanStack AI, which is named as a request. One that was aborted
lacks it."""
_REQUEST_MODEL: Final = "gen_ai.request.model"
_LOOP: Final = "tanstack_ai_chat"
_TRACERS_OF_ALL_CALLS: Final = (tool_call.AI_SDK_7, tool_call.LIVEKIT, "gcp.vertex.agent", _QWEN_CODE)
"""The third is Google ADK's."""
_OPENLLMETRY: Final = ("@traceloop/instrumentation-", "opentelemetry.instrumentation.")
_DOTTED: Final = (".chat", ".completion")  # of its spans without an operation: `bedrock.completion`
_STEPS: Final = frozenset({
    "create_agent", "embeddings", "execute_task", "handoff", "invoke_node", "plan", "rerank", "retrieval", "speech", "task",
    "transcription", "image_generation", "create_memory", "create_memory_store", "delete_memory", "delete_memory_store",
    "read_memory", "search_memory", "update_memory", "upsert_memory",
})  # fmt: skip
"""Operations that are neither a call nor a request to a model."""


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``gen_ai.operation.name``, else by its name; None if the conventions know neither."""
    operation = span.attributes.get(semconv.OPERATION_NAME)
    if type(operation) is not str:
        operation = _operation_in_name(span)
        if operation is None:
            # What Cloudflare's platform does for agents, such as to start one, has no operation.
            is_around = cloudflare.OPERATION in span.attributes or aws.is_around_request(span)
            return IGNORED if is_around else None
    reader = _READERS.get(operation) or _READERS.get(operation.lower())  # Microsoft Agent 365: `Chat`
    if reader is None:
        return IGNORED if operation in _STEPS else None
    genai_span = reader(span)
    if cloudflare.OPERATION in span.attributes:
        return cloudflare.read_beyond(genai_span, span)
    if crewai.EVENT in span.attributes:
        return crewai.read_beyond(genai_span, span)
    return aws.read_beyond(genai_span, span) if span.scope.name in aws.SCOPES else genai_span


def _operation_in_name(span: Span) -> str | None:
    """Returns the operation that begins the span's name, as the conventions have it, if an attribute is of that operation."""
    if span.name.endswith(_DOTTED) and span.scope.name.startswith(_OPENLLMETRY):
        return "chat"
    if span.name.startswith(quarkus.AI_SERVICE):
        return "invoke_agent"
    if _ITERATIONS in span.attributes or (
        tool_call.COMPLETION in span.attributes and semconv.TOOL_NAME not in span.attributes
    ):
        return _LOOP
    if span.events and any(event.name == semconv.EVENT_CHOICE for event in span.events):
        return "chat"  # what a model chose is an event of its request
    operation = span.name.partition(" ")[0]
    evidence = _EVIDENCE.get(operation, ())
    return operation if any(key in span.attributes for key in evidence) else None


def _read_agent(span: Span) -> GenAISpan:
    if microsoft.is_handoff(span) or langchain.is_hook(span):
        return IGNORED
    genai_span = _read_context(span, AGENT)
    genai_span.name = name_of(span.attributes.get(semconv.AGENT_NAME)) or name_of(_agent_in_name(span))
    if genai_span.name is not None and span.attributes.get(_NODE) == genai_span.name:
        genai_span.note(identity="node")
    elif genai_span.scope in _TRACERS_OF_ALL_CALLS or genai_span.scope.startswith(tool_call.STRANDS):
        genai_span.note(traced_calls="all")
        answer = _interrupting_answer(span)
        genai_span.call_id = None if answer is None else find_text(_INTERRUPT, answer)
        genai_span.is_pending = answer is not None and genai_span.call_id is None
        _read_question(genai_span)
    elif genai_span.scope == _AGENT_FRAMEWORK:
        _read_agent_framework(genai_span, span)
    elif genai_span.scope in microsoft.SCOPES:
        microsoft.read_agent(genai_span, span)
    elif genai_span.scope == weave.SCOPE:
        weave.read_agent(genai_span, span)
    elif genai_span.scope in _AGNO:
        _read_agno(genai_span, span)
    elif span.name.startswith(quarkus.AI_SERVICE):
        quarkus.read_service(genai_span, span)
    if genai_span.scope in _HOOKED:
        genai_span.note(outcome="hooked")
        _note_open_calls(genai_span, span)
    if genai_span.error_type in _BEYOND_LIMIT:
        genai_span.refusal = Refusal(is_of_rest=True)
    return genai_span


def _read_agent_framework(agent: GenAISpan, span: Span) -> None:
    """Note of an agent of Microsoft's framework what it waits for, and that its calls may be hidden."""
    told = span.attributes.get(semconv.OUTPUT_MESSAGES)
    agent.call_id = find_text(_AWAITED, told)
    agent.is_pending = agent.call_id is None and agent.status != "error" and leaves_calls_open(told)
    if told is None and offers_hosted(span.attributes.get(semconv.TOOL_DEFINITIONS)):
        agent.note(extent="some")


def _read_agno(agent: GenAISpan, span: Span) -> None:
    """Note of an agent of Agno that it waits for an answer, or goes on with one."""
    told = span.attributes.get(semconv.OUTPUT_MESSAGES)
    if type(told) is str and any(f'"{words}' in told for words in PAUSED):
        agent.note(outcome=outcome_of_pause(told))
    if ends_with_answers(agent.user_input):
        agent.note(extent="resumed")


def _read_question(agent: GenAISpan) -> None:
    """Note whether an agent of Strands was asked anything: one that goes on when a human has answered was not."""
    if agent.user_input == "[]":  # by the newest conventions
        agent.user_input = None
    if agent.scope == _STRANDS_FOR_PYTHON and agent.user_input is not None:
        agent.note(extent="fresh")


def _interrupting_answer(span: Span) -> object:
    """Returns the answer with which an agent of Strands ends to wait for a human; None if it does not. For Python it names the
    call.
    """
    if event_value(span, semconv.EVENT_CHOICE, _FINISH) == _WAITS:
        return event_value(span, semconv.EVENT_CHOICE, semconv.EVENT_MESSAGE)
    told = span.attributes.get(semconv.OUTPUT_MESSAGES)
    if told is None and span.events:
        told = event_value(span, semconv.EVENT_INFERENCE_DETAILS, semconv.OUTPUT_MESSAGES)
    return told if type(told) is str and told.endswith(_WAITS_IN_MESSAGE) else None


def _agent_in_name(span: Span) -> str | None:
    if span.name.startswith(quarkus.AI_SERVICE):
        return span.name.removeprefix(quarkus.AI_SERVICE).partition(".")[0]
    name = span.name.removeprefix("invoke_agent").strip()
    # The AI SDK 7.0.173 puts the model where an agent has no name.
    return None if name == span.attributes.get(_REQUEST_MODEL) else name


def _read_loop(span: Span) -> GenAISpan:
    return _read_context(span, AGENT)


def _note_open_calls(genai_span: GenAISpan, span: Span) -> None:
    """Note that a graph of LangChain's ended with a request for calls, which it does to wait for a human (1.3b0). To go on it
    needs a thread, which is its conversation; without one that is most likely the form of its output.
    """
    if genai_span.scope != _LANGCHAIN or genai_span.conversation_id is None:
        return
    if ends_with_call(span.attributes.get(semconv.OUTPUT_MESSAGES)):
        genai_span.note(outcome="open")


def _read_workflow(span: Span) -> GenAISpan:
    workflow = _read_context(span, OTHER)
    _note_open_calls(workflow, span)
    name = workflow.attributes.get(semconv.AGENT_NAME)
    if name is not None and semconv.WORKFLOW_NAME not in workflow.attributes:
        workflow.attributes = {**workflow.attributes, semconv.WORKFLOW_NAME: name}
    return workflow


def _read_context(span: Span, role: Role) -> GenAISpan:
    user_input = span.attributes.get(semconv.INPUT_MESSAGES)
    if user_input is None and span.events:
        user_input = event_value(span, semconv.EVENT_USER_MESSAGE, semconv.EVENT_CONTENT)
        if user_input is None:
            user_input = event_value(span, semconv.EVENT_INFERENCE_DETAILS, semconv.INPUT_MESSAGES)
    genai_span = context_span_of(span, role, CONVENTIONS, user_input, first_name(span.attributes, _CONVERSATION_IDS))
    tool_call.name_strands(genai_span, span)
    genai_span.response_id = name_of(span.attributes.get(semconv.RESPONSE_ID))
    return genai_span


_REQUESTS: Final = (
    "chat", "chat.completions", "completion", "fetch_response", "generate_content", "realtime_inference", "text_completion",
)  # fmt: skip
"""Of a model. `completion` is in the names of Quarkus LangChain4j's spans, `chat.completions` in Semantic Kernel for Java."""
_READERS: Final[Mapping[str, Callable[[Span], GenAISpan]]] = {
    "execute_tool": read_tool,
    "invoke_agent": _read_agent,
    "invoke_workflow": _read_workflow,
    _LOOP: _read_loop,
    **dict.fromkeys(_REQUESTS, read_model),
    "list_run_steps": read_steps,
}
_OF_MODEL: Final = (semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES, *semconv.FINISH_REASONS)
_EVIDENCE: Final[Mapping[str, tuple[str, ...]]] = {
    "execute_tool": (semconv.TOOL_NAME, semconv.TOOL_CALL_ID, semconv.TOOL_CALL_ARGUMENTS),
    "invoke_agent": (semconv.AGENT_NAME, semconv.CONVERSATION_ID, semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES),
    "invoke_workflow": (semconv.WORKFLOW_NAME, semconv.AGENT_NAME),
    "chat": _OF_MODEL,
    "completion": _OF_MODEL,
    "generate_content": _OF_MODEL,
    "realtime_inference": _OF_MODEL,
    "text_completion": _OF_MODEL,
}
"""The attributes of each operation that tell it from another of that name."""

FIELDS_OF: Final[Mapping[Role, Mapping[str, CopiedField]]] = {
    TOOL: {
        semconv.TOOL_CALL_ID: "call_id",
        semconv.TOOL_CALL_ARGUMENTS: "arguments",
        semconv.CONVERSATION_ID: "conversation_id",
    },
    AGENT: {semconv.CONVERSATION_ID: "conversation_id", semconv.RESPONSE_ID: "response_id"},
    MODEL: {semconv.CONVERSATION_ID: "conversation_id", semconv.RESPONSE_ID: "response_id"},
}
"""The fields that are the very text of an attribute, where that `is_copied`: nothing else that is read depends on it."""


_TELLING: Final = (*RECORDS, aws.HANDOFF)
"""Begin arguments that tell more than what a tool was given."""


def is_copied(field: CopiedField, text: str) -> bool:
    """Whether the field is the text as it is, and the text tells nothing else."""
    if field == "arguments":
        return bool(text) and not text.startswith(_TELLING)
    return 0 < len(text) <= MAX_NAME and text[0] != "<"


DIALECT: Final[Dialect] = Dialect(
    name=CONVENTIONS,
    keys=(semconv.OPERATION_NAME,),
    read_span=read_span,
    markers=(b"gen_ai", quarkus.AI_SERVICE.encode()),
    attributes=frozenset({
        *tool_call.ATTRIBUTES, *model_request.ATTRIBUTES, *cloudflare.ATTRIBUTES, *crewai.ATTRIBUTES, *weave.ATTRIBUTES,
        *_CONVERSATION_IDS,
        semconv.AGENT_NAME, semconv.WORKFLOW_NAME, _NODE, _ITERATIONS, _FINISH, aws.STREAM, tool_call.STRANDS_START,
        semconv.ERROR_TYPE, semconv.HTTP_ROUTE, semconv.URL_PATH,
    }),
    prefixes=(PARAMETER,),
    read_log=read_log,
    log_markers=(b"gen_ai.",),
    output_attributes=(semconv.OUTPUT_MESSAGES, "gen_ai.workflow.output"),
    tool_definition_attributes=(
        semconv.TOOL_DEFINITIONS, "gen_ai.request.tool.definitions", "gen_ai.agent.tools", _SENTRY_TOOLS,
    ),
)  # fmt: skip
