"""OpenInference attributes (semantic conventions 0.1.x, Python and JavaScript instrumentors and span processors).

Seen with LangChain, OpenAI Agents, LlamaIndex, smolagents, CrewAI, Agno, DSPy, AutoGen, Google ADK, Haystack, the model
clients, and over the native spans of Pydantic AI, Strands and Mastra. They differ little: in the attributes that hold
the tool's name and call id, and in how its arguments are wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import (
    context_span_of,
    doubt_failure,
    doubt_outcome,
    doubt_start,
    genai_span_of,
    model_span_of,
)
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.graphs import note_graph
from collector.model.span import Span
from collector.payloads.flattened_attributes import flattened_calls, flattened_messages
from collector.payloads.gemini_parts import left_calls, may_hold_provided, provided_calls, with_provided_calls
from collector.payloads.offered_tools import names_tool_to_call
from collector.payloads.refusals import (
    MAX_CHARS,
    Refusal,
    find_refusal,
    guardrail_refusal,
    refuses,
    settled_by_parameters,
)
from collector.payloads.span_names import is_handoff
from collector.payloads.text_calls import ACTION_INPUT, requests_action
from collector.payloads.tool_arguments import arguments_of_crew, is_positional, is_schema, tool_arguments
from collector.payloads.tool_results import flagged_failure, is_in_place_of_result, tool_result
from collector.payloads.values import MAX_TEXT, UNREADABLE, find_text, first_name, name_of, parse_any

NAME: Final = "openinference"

_KIND: Final = "openinference.span.kind"
_TOOL_NAME: Final = "tool.name"
_TOOL_PARAMETERS: Final = "tool.parameters"
_CALL_IDS: Final = ("tool.id", "tool_call.id", "tool.call_id", "tool_call_id")
_AGENT_NAME: Final = "agent.name"
_INPUT: Final = "input.value"
_OUTPUT: Final = "output.value"
_CREW: Final = "crew_key"
_CREW_TASKS: Final = "crew_tasks"
_CREW_MESSAGES: Final = ('"tool_calls": [{', ACTION_INPUT)
"""In the output of a task of CrewAI, which holds the conversation of the agent with its model: calls, or such in words."""
_METADATA: Final = "metadata"  # JSON text: LangChain's run configuration

# `travel_agent.run`, `lookup.__call__`, `agent_run [travel_agent]`: how instrumentors name the span of a method.
_METHOD: Final = re.compile(
    r"\.(?:run|arun|run_stream|_execute_core|kickoff|__call__|acall|call|invoke|ainvoke|on_messages(?:_stream)?)$"
)
_RESUMED: Final = re.compile(r"\.a?continue_run$")
"""Ends the name of a run of Agno that goes on once a human has answered; its input is what the user said at first (3.x)."""
# LlamaIndex, Haystack, DSPy: agents traced as chains under the name of their class, which is not the agent's.
_AGENT_CHAIN: Final = re.compile(r"(?:\bAgent|[a-z]Agent|AgentWorkflow|ReAct|CodeAct)\.(?:run|arun|forward|aforward)$")
# LlamaIndex before 0.12: each method of an agent's parts is an agent's, and is given the tools that it runs.
_AGENT_STEP: Final = re.compile(r"^\w{0,64}Agent(?:Runner|Worker)\.(?!a?(?:stream_)?chat$)")
_BRACKETED: Final = re.compile(r"^(?:agent_run|invocation) \[(.+)\]$")
_LANGCHAIN_AGENT: Final = re.compile(r'"lc_agent_name":\s*"([^"\\]+)"')
_NODE: Final = '"langgraph_node":'
_INTEGRATION: Final = re.compile(r'"ls_integration":\s*"([^"\\]+)"')
_LANGCHAIN_THREAD: Final = re.compile(r'"thread_id":\s*"([^"\\]+)"')
_LANGCHAIN_CALL_ID: Final = re.compile(r'"tool_call_id":\s*"([^"\\]+)"')

_ANSWER: Final = "llm.output_messages."
_TEXT: Final = "llm.output_messages.0.message.content"
_ANSWERED: Final = "llm.output_messages.0.message.role"
_CONVERSATION: Final = "llm.input_messages."
_OF_LOOP: Final = "message.tool_calls."
_OUTPUT_PREFIXES: Final = (_ANSWER, _OF_LOOP)
_PARAMETERS: Final = "llm.invocation_parameters"
_EVENT: Final = "target"
_EVENT_PATH: Final = "metadata.path"
_EVENT_OF_BEEAI: Final = re.compile(
    r"^(?:agent|tool)\..+\.(?:start|update|partial_update|success|finish|error|retry|final_answer)$"
)
"""Instrumentors of BeeAI record events of its emitter as spans: older ones all of them, several of one call."""
_AUTOMATIC: Final = "automatic_function_calling_history"
_AUTOMATIC_CALLS: Final = re.compile(rf'"{_AUTOMATIC}": ?\[(?=\{{)')
"""In the output of google-genai, which calls tools and its model again until none is requested."""
_GIVEN: Final = '"function_call"'
"""In an input that holds earlier calls; the user's words after them have no role in its history."""
_BEGINNING: Final = 64
"""How much of its history tells where it begins anew: a stream has it once for each turn, one after the other."""
_ANTHROPIC: Final = ("openinference.instrumentation.anthropic", "@arizeai/openinference-instrumentation-anthropic")
_BY_PROVIDER: Final = re.compile(r'"type": ?"(?:(?:server|mcp)_tool_use|\w{1,40}_tool_result)"')
"""In their answers with what the provider ran; attributes hold such calls like those that the model asked for."""
_CALLS_IN_OUTPUT: Final = ('"toolCalls":[{', "[[ ## next_tool_name ## ]]")
"""In outputs that hold calls in the framework's own form alone: Mastra 0.x, DSPy."""
_CALLS_IN_TEXT: Final = re.compile(r"(?:\A|\n)Tool calls: (?=\[\{)")
"""NeMo Agent Toolkit, before the repr of an answer's calls. It loses later requests, so what came of them is not known."""
_DSPY: Final = "openinference.instrumentation.dspy"
_CALLS_IN_FIELD: Final = re.compile(r"\[\[ ## \w{1,100} ## \]\]\n(\{\"tool_calls\": \[\{[^\n]*\})(?:\n|\Z)")
"""DSPy: a field of an answer whose type is `ToolCalls` (3.x)."""
_HAYSTACK_MESSAGE: Final = '"ChatMessage(_role='
"""In the output of Haystack's agent: its instrumentation writes the conversation as reprs of its messages."""
_HANDOFF: Final = "handoff_to_"
_LANGCHAIN: Final = "openinference.instrumentation.langchain"
_GOOGLE: Final = "openinference.instrumentation.google_genai"
_WITHOUT_EMPTY: Final = (_LANGCHAIN, _GOOGLE)
"""Scopes that leave out the arguments of a requested call if there are none."""
_JS_AGENTS: Final = "@arizeai/openinference-instrumentation-openai-agents"
_HIDDEN: Final = "__REDACTED__"
"""In the place of an answer that is not to be recorded (`OPENINFERENCE_HIDE_OUTPUTS`)."""
_OPERATION: Final = "ai.operationId"
_VERCEL_AGENTS: Final = ("ai.generateText", "ai.streamText")
"""Runs of Vercel's AI SDK, which the processor for it calls chains (2.x); each call of a tool leaves a span."""
_LISTING: Final = "mcp_tools"
"""OpenAI Agents: what it asks each MCP server before a request to a model. Only the span of a call names a tool."""
_STEP: Final = "agent_step"
"""The operation of Vercel's AI SDK for a turn of an agent, which the processor for it takes for a request to a model."""
_TASK: Final = "execute_task "
"""Begins the name of a node of LangGraph under OpenLLMetry (0.62), which the processor for it calls a tool (0.1.23)."""
_REQUESTED: Final = "tool_call.function.arguments"
"""The arguments, which Pipecat's instrumentation (2.0) has nowhere else if there are none."""
_AUTOGEN: Final = "openinference.instrumentation.autogen_agentchat"
"""It ends all spans well, also of calls whose arguments AutoGen could not parse, and tells its model so (0.7)."""
_UNPARSED: Final = re.compile(r"Error: [^\n]{1,200}: line \d{1,9} column \d{1,9} \(char \d{1,9}\)\Z")
_PIPECAT: Final = "openinference.instrumentation.pipecat"
"""It ends all spans well. A handler has no other way to tell a failure than its result (Pipecat 1.x)."""
_CREWAI: Final = "openinference.instrumentation.crewai"
"""It ends the spans of tools well, also of one that failed (CrewAI 0.2xx) or could not reach the coworker that it names."""
_FAILED_IN_CREW: Final = re.compile(
    r"\s*(?:I encountered an error while trying to use the tool|Error executing tool)\."
)
"""How the words begin that CrewAI has in place of a result."""
_ADK: Final = "openinference.instrumentation.google_adk"
"""It ends the spans of tools well, also of one whose error a callback answered, or that answered with an error (1.0)."""
_CLAUDE: Final = "openinference.instrumentation.claude_agent_sdk"
"""It ends the span of a call that the application denied in its own words like one that failed with these."""
_HOOKED: Final = (_CLAUDE, "@arizeai/openinference-instrumentation-claude-agent-sdk")
"""Scopes for Claude's Agent SDK: they record no requests to models, and each call by a hook."""
_EXIT_CODE: Final = "Exit code "
"""Begins the words for a command of a shell that ran and failed."""
_MERGED: Final = "(merged tools)"  # Google ADK: a span for the results of parallel calls
_ADK_SCOPE, _ADK_AGENT = "gcp.vertex.agent", "invoke_agent "
"""The span on which it writes all requests of a run of ADK 2.13, one over the other: the calls of several answers are mixed,
and the last input and output are whole."""


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``openinference.span.kind``."""
    attributes = span.attributes
    kind = attributes.get(_KIND)
    if type(kind) is str:
        kind = kind.upper()  # tracers of one's own write it in either case
    event = attributes.get(_EVENT) or attributes.get(_EVENT_PATH)
    if type(event) is str and _EVENT_OF_BEEAI.match(event):
        return _read_event(span)
    if (kind == "AGENT" and _AGENT_STEP.match(span.name)) or (kind == "TOOL" and span.name.startswith(_TASK)):
        return IGNORED
    is_named_like_agent = kind == "AGENT" and _TOOL_NAME in attributes  # a tool named `ask_policy_agent` gets that kind
    if kind == "TOOL" or is_named_like_agent:
        return _read_tool(span)
    if kind == "LLM":
        return IGNORED if attributes.get(semconv.OPERATION_NAME) == _STEP else _read_model(span)
    if kind == "AGENT":
        return _read_agent(span)
    if kind == "CHAIN":
        return _read_chain(span)
    return IGNORED if type(kind) is str else None


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    name = name_of(get(_TOOL_NAME))
    # For JavaScript it gives the span of a handoff a tool's name as well.
    if is_handoff(span.name) and (name is None or name.startswith(_HANDOFF)):
        return IGNORED
    if name is None and span.name == _LISTING:
        return IGNORED
    if name is None and "[" not in span.name:  # no provider takes a tool of such a name
        name = name_of(_METHOD.sub("", span.name))
    if name == _MERGED:
        return IGNORED
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name
    genai_span.call_id = first_name(span.attributes, _CALL_IDS) or find_text(_LANGCHAIN_CALL_ID, get(_OUTPUT))
    parameters = get(_TOOL_PARAMETERS)  # a schema in some instrumentors, the arguments in others
    genai_span.arguments = _arguments_of(span)
    genai_span.is_pending = genai_span.is_pending or (
        _INPUT in span.attributes and _OUTPUT not in span.attributes and genai_span.status != "error"
    )
    if genai_span.is_pending and is_schema(parameters):
        doubt_outcome(genai_span)  # an instrumentor's or a decorator's, which records what returned; it was cancelled
    genai_span.agent = find_text(_LANGCHAIN_AGENT, get(_METADATA))
    genai_span.conversation_id = name_of(get(semconv.SESSION_ID))
    _read_refusal(genai_span, get(_OUTPUT))
    # Where a call failed and nothing says why: its arguments were refused if the tool could not have taken them.
    genai_span.refusal = settled_by_parameters(genai_span.refusal, genai_span.arguments, parameters)
    were_recorded = _INPUT in span.attributes or genai_span.arguments is not None
    # OpenAI Agents for JavaScript records arguments if they fit.
    if were_recorded and span.scope.name == _JS_AGENTS and genai_span.refusal is not None:
        genai_span.refusal = genai_span.refusal._replace(is_ruled_out=genai_span.refusal.is_of_arguments)
    if genai_span.status == "error" and _OUTPUT in span.attributes and not were_recorded:
        doubt_start(genai_span)
    if genai_span.scope == _CLAUDE and not span.status_message.startswith(_EXIT_CODE):
        doubt_failure(genai_span)
    return genai_span


def _arguments_of(span: Span) -> object:
    get = span.attributes.get
    parameters = get(_TOOL_PARAMETERS)
    arguments = tool_arguments(arguments_of_crew(get(_INPUT)), parameters, name_of(get(_TOOL_NAME)))
    if arguments is None and parameters is not None and not is_schema(parameters):
        arguments = parse_any(parameters)
    if arguments is None and span.scope.name == _PIPECAT:
        arguments = get(_REQUESTED)
    return UNREADABLE if arguments is None and is_positional(get(_INPUT)) else arguments


def _read_refusal(genai_span: GenAISpan, output: object) -> None:
    is_told = genai_span.scope in (_PIPECAT, _ADK) or is_in_place_of_result(output)
    if is_told and ((told := tool_result(None, output)).failed or is_in_place_of_result(output)):
        genai_span.status, genai_span.refusal = "error", told.refusal or genai_span.refusal
    elif is_told and told.is_open and genai_span.status == "ok":
        genai_span.status, genai_span.tracing = "unset", "told"
    elif (flagged := flagged_failure(output)) is not None:
        genai_span.status, genai_span.refusal = "error", flagged.refusal or genai_span.refusal
    elif genai_span.scope == _CREWAI and type(output) is str and _FAILED_IN_CREW.match(output) is not None:
        genai_span.status = "error"
    # AutoGen's span of a tool that does not exist ends well. Only of a refusal that names the tool: the output is the tool's.
    name = genai_span.name
    if name is not None and type(output) is str and len(output) <= MAX_CHARS and name in output:
        refusal = find_refusal(output)
        if refusal is not None and refusal.tool is not None and refuses(refusal, name) == "yes":
            genai_span.status, genai_span.refusal = "error", refusal
    if genai_span.scope == _AUTOGEN and _is_unparsed(genai_span.arguments, output):
        genai_span.status, genai_span.refusal = "error", Refusal()
    if genai_span.status != "error" and genai_span.refusal is None:
        genai_span.refusal = guardrail_refusal(genai_span.scope, output)


def _is_unparsed(arguments: object, output: object) -> bool:
    """Whether the output is what Python's parser of JSON says of arguments that are no object."""
    is_told = type(output) is str and _UNPARSED.match(output) is not None
    return is_told and not isinstance(parse_any(arguments), Mapping)


def _read_event(span: Span) -> GenAISpan:
    """Reads an event of an agent that tells a tool: which of these events are one call, nothing says."""
    if _TOOL_NAME not in span.attributes:
        return IGNORED
    genai_span = _read_tool(span)
    genai_span.tracing = "guessed"
    return genai_span


def _read_agent(span: Span) -> GenAISpan:
    genai_span = _read_context(span)
    genai_span.role, genai_span.output = Role.AGENT, flattened_calls(span.attributes)
    transcript = span.attributes.get(_OUTPUT)
    if _CREW in span.attributes and type(transcript) is str and len(transcript) <= MAX_TEXT:
        genai_span.history = transcript if any(marker in transcript for marker in _CREW_MESSAGES) else None
    genai_span.name = first_name(span.attributes, (_AGENT_NAME, semconv.AGENT_NAME)) or genai_span.agent
    if _RESUMED.search(span.name) is not None:
        genai_span.tracing = "resumed"
    elif genai_span.scope in _HOOKED:
        genai_span.tracing = "complete"
    if genai_span.agent != span.name and type(metadata := span.attributes.get(_METADATA)) is str and _NODE in metadata:
        genai_span.tracing = "node"  # called an agent for its name
    if genai_span.name is None:
        bracketed = _BRACKETED.match(span.name)
        genai_span.name = name_of(bracketed[1] if bracketed else _METHOD.sub("", span.name))
    return genai_span


def _read_chain(span: Span) -> GenAISpan:
    """Reads a chain: the agent's run if LangChain's metadata names an agent like the span, else a step."""
    agent = find_text(_LANGCHAIN_AGENT, span.attributes.get(_METADATA))
    if agent is not None and agent == span.name:
        genai_span = _read_agent(span)
        genai_span.tracing = genai_span.tracing or "complete"
        return genai_span
    if _AGENT_CHAIN.search(span.name):
        genai_span = _read_context(span)
        genai_span.role = Role.AGENT
        transcript = span.attributes.get(_OUTPUT)
        if type(transcript) is str and _HAYSTACK_MESSAGE in transcript and len(transcript) <= MAX_TEXT:
            genai_span.history = transcript
        return genai_span
    if span.attributes.get(_OPERATION) in _VERCEL_AGENTS:
        genai_span = _read_context(span)
        genai_span.role, genai_span.tracing = Role.AGENT, "complete"
        return genai_span
    return IGNORED if span.parent_span_id else _read_context(span)


def _read_context(span: Span) -> GenAISpan:
    get = span.attributes.get
    metadata, user_input = get(_METADATA), get(_INPUT)
    if _CREW in span.attributes:  # the input describes the agent; the task is in another attribute
        user_input = get(_OUTPUT) if span.parent_span_id else get(_CREW_TASKS)
    conversation_id = name_of(get(semconv.SESSION_ID)) or find_text(_LANGCHAIN_THREAD, metadata)
    genai_span = context_span_of(span, Role.OTHER, NAME, user_input, conversation_id)
    genai_span.agent = find_text(_LANGCHAIN_AGENT, metadata)
    if span.scope.name == _LANGCHAIN:
        note_graph(genai_span, span, find_text(_INTEGRATION, metadata))
    return genai_span


def _read_model(span: Span) -> GenAISpan | None:
    get = span.attributes.get
    output, given = get(_OUTPUT), get(_INPUT)
    # Written by hand: instrumentations have both.
    if given is None and output is None and (_ANSWERED in span.attributes or _TEXT in span.attributes):
        if not span.is_whole and span.parent_span_id and semconv.OPERATION_NAME not in span.attributes:
            return None  # to be read again with all attributes
        given = flattened_messages(span.attributes, _CONVERSATION)
        output = get(_TEXT)
    if span.scope.name == _ADK_SCOPE and span.name.startswith(_ADK_AGENT):
        return _read_requests_of_adk(span, output)
    calls: object = _calls_in_answer(span.attributes, output, span.scope.name)
    if calls is None and type(output) is str and any(marker in output for marker in _CALLS_IN_OUTPUT):
        calls = output
    if calls is None and span.scope.name == _DSPY and type(text := get(_TEXT)) is str:
        field = _CALLS_IN_FIELD.search(text, 0, MAX_TEXT)
        calls = None if field is None else field[1]
    genai_span = model_span_of(span, NAME, calls, given)
    # An answer without calls is in `output.value` alone. It was captured all the same.
    genai_span.has_output = genai_span.has_output or (bool(output) and output != _HIDDEN)
    if calls is not None and names_tool_to_call(get(_PARAMETERS)):
        genai_span.finish = "other"  # as OpenAI has it
    if not genai_span.has_output and span.scope.name == _GOOGLE:
        genai_span.finish = ""  # Gemini gives the same reason whether it asks for functions or not
    is_asking = requests_action(output) or (type(output) is str and _CALLS_IN_TEXT.search(output) is not None)
    if calls is None and is_asking:
        genai_span.output, genai_span.finish = get(_TEXT), "tool_calls"
    genai_span.agent = find_text(_LANGCHAIN_AGENT, get(_METADATA))
    genai_span.conversation_id = name_of(get(semconv.SESSION_ID))
    if type(output) is str and _AUTOMATIC in output and len(output) <= MAX_TEXT:
        _read_loop(genai_span, span, output)
    return genai_span


def _calls_in_answer(attributes: Mapping[str, Any], output: object, scope: str) -> str | list[dict[str, Any]] | None:
    """Returns the calls that an answer asked for, beside what its provider ran; None if there are none."""
    if (
        scope in _ANTHROPIC
        and type(output) is str
        and _BY_PROVIDER.search(output) is not None
        and len(output) <= MAX_TEXT
    ):
        return output
    calls = flattened_calls(attributes)
    if calls is not None and scope in _WITHOUT_EMPTY and output:
        for call in calls:
            call.setdefault("arguments", "")
    if type(output) is str and may_hold_provided(output):
        return [*provided_calls(output), *(calls or ())] or None
    return calls


def _read_loop(genai_span: GenAISpan, span: Span, output: str) -> None:
    """Reads the one span of all turns: the history in its output has them and their results, its answer what it left to others.

    The history begins with what the loop was given, which may hold calls that were made before.
    """
    begun = _AUTOMATIC_CALLS.search(output)
    if begun is None:
        return
    given = genai_span.history
    genai_span.tracing = "memory" if type(given) is str and _GIVEN in given else "loop"
    beginning = output[begun.end() : begun.end() + _BEGINNING]
    history = f'{{"{_AUTOMATIC}":[' + output[output.rindex(beginning) :]
    genai_span.history = with_provided_calls(history)
    answer = {key: value for key, value in span.attributes.items() if key.startswith(_ANSWER)}
    is_streamed = not any(key.startswith(_OF_LOOP) for key in span.attributes)
    genai_span.output = (
        left_calls(output, history) if is_streamed else _calls_in_answer(answer, output, span.scope.name)
    )


def _read_requests_of_adk(span: Span, output: object) -> GenAISpan:
    given = span.attributes.get(_INPUT)
    genai_span = model_span_of(span, NAME, output, given)
    genai_span.conversation_id = name_of(span.attributes.get(semconv.SESSION_ID))
    if type(given) is str and len(given) <= MAX_TEXT:
        genai_span.history, genai_span.tracing = given, "memory"
    return genai_span


DIALECT: Final = Dialect(
    name=NAME,
    keys=(_KIND,),
    read_span=read_span,
    markers=(b"openinference.span.kind",),
    attributes=frozenset({
        _TOOL_NAME, _TOOL_PARAMETERS, _REQUESTED, *_CALL_IDS, _AGENT_NAME, _INPUT, _OUTPUT, _METADATA, _CREW, _CREW_TASKS,
        _EVENT, _EVENT_PATH, semconv.AGENT_NAME, semconv.SESSION_ID, semconv.ERROR_TYPE,
    }),
    prefixes=_OUTPUT_PREFIXES,
    output_attributes=(_ANSWER, _OUTPUT),
    tool_definition_attributes=("llm.tools.", _PARAMETERS),
)  # fmt: skip
