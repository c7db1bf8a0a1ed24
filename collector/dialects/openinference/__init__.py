"""OpenInference attributes (semantic conventions 0.1.x, Python and JavaScript instrumentors and span processors).

Seen with LangChain, OpenAI Agents, LlamaIndex, smolagents, CrewAI, Agno, DSPy, AutoGen, Google ADK, Haystack, the model
clients, and over the native spans of Pydantic AI, Strands and Mastra. They differ little: in the attributes that hold
the tool's name and call id, and in how its arguments are wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from collector.dialects.openinference import agno, model_request, tool_call
from collector.dialects.openinference.common import (
    ADK,
    AGENT_FRAMEWORK,
    CLAUDE,
    CLAUDE_JS,
    LANGCHAIN,
    LANGCHAIN_JS,
    METADATA,
    METHOD,
    NAME,
    TOOL_NAME,
)
from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.graphs import is_graph, note_graph
from collector.model.span import Span
from collector.model.tracing import TracedCalls
from collector.payloads import langchain
from collector.payloads.flattened_attributes import flattened_calls
from collector.payloads.pauses import leaves_calls_open
from collector.payloads.text_calls import ACTION_INPUT, REJECTED
from collector.payloads.user_input import ends_with_answers, resumes_run
from collector.payloads.values import MAX_TEXT, find_text, first_name, name_of, parse_any

_AGENT_NAME: Final = "agent.name"
_CREW: Final = "crew_key"
_CREW_TASKS: Final = "crew_tasks"
_CREW_MESSAGES: Final = ('"tool_calls": [{', ACTION_INPUT)
"""In the output of a task of CrewAI, which holds the conversation of the agent with its model: calls, or such in words."""
_ROLE: Final = "graph.node.id"
"""The role of an agent of CrewAI. The name of its span has its task behind it where CrewAI's events are listened to."""
_KICKOFF: Final = ".kickoff"
"""Ends the name of the span of an agent of CrewAI without a crew, whose output holds the conversation as well."""
_RESUMED: Final = re.compile(r"\.a?continue_run$")
"""Ends the name of a run of Agno that goes on once a human has answered; its input is what the user said at first (3.x)."""
# LlamaIndex, Haystack, DSPy: agents traced as chains under the name of their class, which is not the agent's.
_AGENT_CHAIN: Final = re.compile(
    r"(?:\bAgent|[a-z]Agent|AgentWorkflow|ReAct(?:V\d)?|CodeAct)\.(?:run|arun|run_async|forward|aforward)$"
)
# LlamaIndex before 0.12: each method of an agent's parts is an agent's, and is given the tools that it runs.
_AGENT_STEP: Final = re.compile(r"^\w{0,64}Agent(?:Runner|Worker)\.(?!a?(?:stream_)?chat$)")
_KEPT_CONTEXT: Final = '{"init_state": {"is_running": true,'
"""Begins the input of a workflow of LlamaIndex (0.14) that is given the context of one that waited for a human."""
_BRACKETED: Final = re.compile(r"^(?:agent_run|invocation) \[(.+)\]$")
_NODE: Final = '"langgraph_node":'
_EVENT: Final = "target"
_TYPE_OF_MASTRA: Final = "mastra.span.type"
_EVENT_PATH: Final = "metadata.path"
_EVENT_OF_BEEAI: Final = re.compile(
    r"^(?:agent|tool)\..+\.(?:init|start|update|partial_update|success|finish|error|retry|final_answer)$"
)
"""Instrumentors of BeeAI record events of its emitter as spans: older ones all of them, several of one call."""
_HAYSTACK_COUNTS: Final = "tool_call_counts"
_HAYSTACK_MESSAGE: Final = '"ChatMessage(_role='
"""In the output of Haystack's agent: its instrumentation writes the conversation as reprs of its messages."""
_OPERATION: Final = "ai.operationId"
_VERCEL_AGENTS: Final = ("ai.generateText", "ai.streamText")
"""Runs of Vercel's AI SDK, which the processor for it calls chains (2.x); each call of a tool leaves a span."""
_STEP: Final = "agent_step"
"""The operation of Vercel's AI SDK for a turn of an agent, which the processor for it takes for a request to a model."""
_TASK: Final = "execute_task "
"""Begins the name of a node of LangGraph under OpenLLMetry (0.62), which the processor for it calls a tool (0.1.23)."""
_TRACED_CALLS: Final[dict[str, TracedCalls]] = {
    ADK: "all", CLAUDE: "all", CLAUDE_JS: "all",
    "openinference.instrumentation.openai_agents": "tools", "@arizeai/openinference-instrumentation-openai-agents": "tools",
}  # fmt: skip
"""Scopes for agents of which it is known which calls leave spans. Those for Claude's Agent SDK record no requests to models."""


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``openinference.span.kind``."""
    attributes = span.attributes
    kind = attributes.get(semconv.OPENINFERENCE_KIND)
    if type(kind) is str:
        kind = kind.upper()  # tracers of one's own write it in either case
    event = attributes.get(_EVENT) or attributes.get(_EVENT_PATH)
    if type(event) is str and _EVENT_OF_BEEAI.match(event):
        return _read_event(span)
    if (kind == "AGENT" and _AGENT_STEP.match(span.name)) or (kind == "TOOL" and span.name.startswith(_TASK)):
        return IGNORED
    is_named_like_agent = kind == "AGENT" and TOOL_NAME in attributes  # a tool named `ask_policy_agent` gets that kind
    if kind == "TOOL" or is_named_like_agent:
        return tool_call.read_tool(span)
    if kind == "LLM":
        is_part = attributes.get(semconv.OPERATION_NAME) == _STEP or attributes.get(_TYPE_OF_MASTRA) == "model_chunk"
        return IGNORED if is_part else model_request.read_model(span)
    if kind == "AGENT":
        return _read_agent(span)
    if kind == "CHAIN":
        return _read_chain(span)
    return IGNORED if type(kind) is str else None


def _read_event(span: Span) -> GenAISpan:
    """Reads an event of an agent that tells a tool: which of these events are one call, nothing says."""
    if TOOL_NAME not in span.attributes:
        return IGNORED
    genai_span = tool_call.read_tool(span)
    genai_span.note(identity="guessed")
    return genai_span


def _read_agent(span: Span) -> GenAISpan:
    genai_span = _read_context(span)
    genai_span.role, genai_span.output = Role.AGENT, flattened_calls(span.attributes)
    transcript = span.attributes.get(semconv.OUTPUT_VALUE)
    is_of_crewai = _CREW in span.attributes or (span.scope.name == tool_call.CREWAI and span.name.endswith(_KICKOFF))
    if is_of_crewai and type(transcript) is str and len(transcript) <= MAX_TEXT:
        genai_span.history = transcript if any(marker in transcript for marker in _CREW_MESSAGES) else None
        # What an agent does again for a guardrail is a conversation of its own, without the attempt before.
        genai_span.note(extent="some" if REJECTED in transcript else "")
    genai_span.name = first_name(span.attributes, (_AGENT_NAME, semconv.AGENT_NAME)) or genai_span.agent
    if _RESUMED.search(span.name) is not None:
        genai_span.note(extent="resumed")
    genai_span.note(traced_calls=_TRACED_CALLS.get(genai_span.scope, ""))
    if genai_span.scope == AGENT_FRAMEWORK:
        told = span.attributes.get(semconv.OUTPUT_MESSAGES)
        genai_span.is_pending = genai_span.status != "error" and leaves_calls_open(told)
    elif genai_span.scope == agno.SCOPE:
        agno.note_traced_calls(genai_span, span)
        agno.note_pause(genai_span, span)
    if genai_span.agent != span.name and type(metadata := span.attributes.get(METADATA)) is str and _NODE in metadata:
        genai_span.note(identity="node")  # called an agent for its name
    if genai_span.name is None and span.scope.name.startswith(tool_call.CREWAI):
        genai_span.name = name_of(span.attributes.get(_ROLE))
    if genai_span.name is None:
        bracketed = _BRACKETED.match(span.name)
        genai_span.name = name_of(bracketed[1] if bracketed else METHOD.sub("", span.name))
    return genai_span


def _read_chain(span: Span) -> GenAISpan:
    """Reads a chain: the agent's run if LangChain's metadata names an agent like the span, else a step."""
    metadata = span.attributes.get(METADATA)
    agent = find_text(langchain.AGENT, metadata)
    if agent is not None and agent == span.name:
        genai_span = _read_agent(span)
        genai_span.note(traced_calls="all")
        return genai_span
    if _AGENT_CHAIN.search(span.name):
        genai_span = _read_context(span)
        genai_span.role = Role.AGENT
        given, transcript = span.attributes.get(semconv.INPUT_VALUE), span.attributes.get(semconv.OUTPUT_VALUE)
        if type(given) is str and given.startswith(_KEPT_CONTEXT):
            genai_span.note(extent="resumed")
        if type(transcript) is str and _HAYSTACK_MESSAGE in transcript and len(transcript) <= MAX_TEXT:
            genai_span.history, genai_span.has_output = transcript, _tells_all_of_haystack(transcript)
        return genai_span
    if span.attributes.get(_OPERATION) in _VERCEL_AGENTS:
        genai_span = _read_context(span)
        genai_span.role = Role.AGENT
        genai_span.note(traced_calls="all")
        return genai_span
    is_whole = not span.parent_span_id or is_graph(
        find_text(langchain.INTEGRATION, metadata), find_text(langchain.NODE, metadata)
    )
    return _read_context(span) if is_whole else IGNORED


def _tells_all_of_haystack(transcript: str) -> bool:
    """Whether what Haystack's agent returned is whole: not where a hook left messages of calls out of it, which are counted
    beside them (3.x).
    """
    output = parse_any(transcript)
    if not isinstance(output, Mapping):
        return False
    counts = output.get(_HAYSTACK_COUNTS)
    return not isinstance(counts, Mapping) or not any(counts.values())


def _read_context(span: Span) -> GenAISpan:
    get = span.attributes.get
    metadata, user_input = get(METADATA), get(semconv.INPUT_VALUE)
    if span.scope.name == AGENT_FRAMEWORK:
        told = get(semconv.INPUT_MESSAGES)
        user_input = told if resumes_run(told) or ends_with_answers(told) else user_input
    if _CREW in span.attributes:  # the input describes the agent; the task is in another attribute
        user_input = get(semconv.OUTPUT_VALUE) if span.parent_span_id else get(_CREW_TASKS)
    conversation_id = name_of(get(semconv.SESSION_ID)) or find_text(langchain.THREAD, metadata)
    genai_span = context_span_of(span, Role.OTHER, NAME, user_input, conversation_id)
    genai_span.agent = find_text(langchain.AGENT, metadata)
    if span.scope.name in (LANGCHAIN, LANGCHAIN_JS):
        note_graph(genai_span, span, find_text(langchain.INTEGRATION, metadata), get(semconv.OUTPUT_VALUE))
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(semconv.OPENINFERENCE_KIND,),
    read_span=read_span,
    markers=(semconv.OPENINFERENCE_KIND.encode(),),
    attributes=frozenset({
        *tool_call.ATTRIBUTES, _TYPE_OF_MASTRA, _AGENT_NAME, semconv.INPUT_VALUE, semconv.OUTPUT_VALUE, METADATA, _CREW,
        _CREW_TASKS, _ROLE,
        _EVENT, _EVENT_PATH, semconv.AGENT_NAME, semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES, semconv.SESSION_ID,
        semconv.ERROR_TYPE,
    }),
    prefixes=model_request.PREFIXES,
    output_attributes=model_request.OUTPUTS,
    tool_definition_attributes=model_request.TOOL_DEFINITIONS,
)  # fmt: skip
