"""OpenLLMetry / Traceloop: its SDK's decorators and its instrumentations, 0.33 to 0.62, Python and JavaScript.

Releases since 0.50 write the GenAI conventions beside their own attributes; older ones flatten messages into indexed
attributes (``gen_ai.completion.0.tool_calls.1.name``). Arguments are wrapped in a record of the whole call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of, model_span_of, set_answer_of_openai_agents
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.graphs import GRAPH, note_graph, note_node
from collector.model.span import Span
from collector.payloads import langchain
from collector.payloads.refusals import MAX_CHARS, Refusal, find_refusal
from collector.payloads.told_failures import failure_in_message
from collector.payloads.tool_arguments import arguments_of_callback
from collector.payloads.tool_results import tool_result
from collector.payloads.values import MAX_TEXT, find_text, first_name, name_of, parse_any

NAME: Final = "openllmetry"

_KIND: Final = "traceloop.span.kind"
_ENTITY_NAME: Final = "traceloop.entity.name"
_INPUT: Final = "traceloop.entity.input"
_OUTPUT: Final = "traceloop.entity.output"
_CREW_TASK: Final = "crewai.task.description"
_CREW_OUTPUTS: Final = "crewai.crew.tasks_output"
"""On the span of the whole crew: reprs that hold the conversation of each of its agents."""
_ASSOCIATION: Final = "traceloop.association.properties."
_LANGCHAIN_AGENT: Final = _ASSOCIATION + "lc_agent_name"
_INTEGRATION: Final = _ASSOCIATION + "ls_integration"
_NODE: Final = _ASSOCIATION + "langgraph_node"
_CONVERSATION_IDS: Final = (
    *[_ASSOCIATION + name for name in ("thread_id", "session_id", "conversation_id")],
    semconv.CONVERSATION_ID,
)
_AGENT_NAMES: Final = (semconv.AGENT_NAME, _LANGCHAIN_AGENT)
_FIRST_COMPLETION: Final = "gen_ai.completion.0.role"
_FIRST_FINISH: Final = "gen_ai.completion.0.finish_reason"
"""All that AgentOps keeps of a streamed answer that asks for calls."""
_FIRST_PROMPT: Final = "gen_ai.prompt.0.role"
"""All that AgentOps keeps of a request that failed."""
_FIRSTS: Final = (_FIRST_COMPLETION, _FIRST_FINISH, _FIRST_PROMPT)
_FIRST_TEXT: Final = "gen_ai.completion.0.content"
_MESSAGE_PREFIXES: Final = ("gen_ai.completion.", "gen_ai.prompt.")

_CALL_KEY: Final = re.compile(r"gen_ai\.(completion|prompt)\.(\d{1,4})\.tool_calls\.(\d{1,4})\.(id|name|arguments)$")
_PROMPT_KEY: Final = re.compile(r"gen_ai\.prompt\.(\d{1,4})\.(role|content|tool_call_id)$")
# Class names recorded in place of the tool's name: LangChain JS, LlamaIndex.
_CLASS_NAMES: Final = frozenset({"DynamicStructuredTool", "DynamicTool", "StructuredTool", "FunctionTool.task"})
_AGENT_CLASS: Final = re.compile(r"Agent\.workflow$")  # LlamaIndex: the class, not the agent's name
_OPENAI_AGENTS: Final = "opentelemetry.instrumentation.openai_agents"
# They never end the span of a tool that raises, so it is never exported.
_AGNO: Final = "opentelemetry.instrumentation.agno"  # leaves what an agent does that streams beside its span
_LOSSY_SCOPES: Final = frozenset({"@traceloop/node-server-sdk", "opentelemetry.instrumentation.llamaindex"})
_LANGCHAIN: Final = "opentelemetry.instrumentation.langchain"
_STRUCTURED, _USER_OF_JS = '"content":"Returning structured response: ', '"HumanMessage"'
"""How an agent ends there whose output has the form of a tool, which the model called."""
_GRAPH_OF_JS: Final = "workflow CompiledStateGraph"
_OF_AGENT: Final = '"lg_name":"Command"'
"""What a request of LangChain's agents for JavaScript (1.5) returns, in which middleware may answer in place of a tool."""
_DECORATORS: Final = "traceloop.tracer"
_LOCAL: Final = "<locals>."
"""In the qualified name of a function inside another, which the decorators take for that of a tool or agent without one."""
_MCP: Final = "opentelemetry.instrumentation.mcp.instrumentation"
_SILENT_SCOPES: Final = (_LANGCHAIN, _DECORATORS, _MCP)
"""Scopes whose spans may end well, and without an output, though the tool failed: of LangChain's 0.33 records neither failures
nor interrupts, and the SDK's decorators and MCP's clients not that a call was cancelled."""
_HAYSTACK, _REPLIES = "opentelemetry.instrumentation.haystack", "replies"
"""It gives the name of a generator's output for the model's answer (0.62)."""
_OLLAMA, _OFFERED = "opentelemetry.instrumentation.ollama", "llm.request.functions.0.name"
"""It leaves out the calls that an answer asks for (0.62), and the next request tells them. What was offered is told."""
_RESULT_TOOL: Final = re.compile(r'"tool_name":\s*"([^"\\]+)"')
_FAILED_RESULT: Final = re.compile(r"""\s*(?:status='(?:failure|error)'|\{.*"is_error":\s*true\}\s*$)""", re.DOTALL)
_ERROR_IN_REPR: Final = re.compile(
    r"""status='failure' result=None error=(?:'((?:[^'\\]|\\.)*+)|"((?:[^"\\]|\\.)*+))"""
)
"""What Agno has for the result of a call that failed (2.x and 3.x)."""


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``traceloop.span.kind``; without one it may be a model request of an old release."""
    get = span.attributes.get
    kind, operation = get(_KIND), get(semconv.OPERATION_NAME)
    if kind == "tool" or operation == "execute_tool" or (kind == "task" and span.name.endswith("Tool.task")):
        return _read_tool(span)
    if operation == "chat":
        return _read_chat(span)
    if _CREW_OUTPUTS in span.attributes:
        return _read_crew(span)
    if kind in ("workflow", "task"):
        return _read_step(span)
    if kind == "agent" or kind == "session":
        return _read_context(span, Role.AGENT if kind == "agent" else Role.SESSION)
    if any(key in span.attributes for key in _FIRSTS):
        return _read_model(span)
    return IGNORED if type(kind) is str else None


def _read_step(span: Span) -> GenAISpan:
    """Reads a workflow or task. LangChain's is an agent's run if it has the agent's name, or is that of a graph inside a span
    of the same name; LlamaIndex's if its class is an agent's. LangChain JS records in its steps the calls that its chat spans
    lack.
    """
    get = span.attributes.get
    tool = _read_workflow_tool(span)
    if tool is not None:
        return tool
    kind, operation = get(_KIND), get(semconv.OPERATION_NAME)
    name = name_of(get(_ENTITY_NAME))
    is_of_graph = kind == "workflow" and operation == "invoke_agent" and bool(span.parent_span_id)
    names = (get(_LANGCHAIN_AGENT), get(semconv.AGENT_NAME) if is_of_graph else None)
    if (name is not None and name in names) or _AGENT_CLASS.search(span.name):
        return _read_context(span, Role.AGENT)
    if operation == "workflow" and span.parent_span_id:  # without one around the graph each step is a trace of its own
        return _read_graph_of_js(span) if span.name == _GRAPH_OF_JS else _read_langchain_step(span)
    return _read_context(span, Role.OTHER) if operation == "invoke_agent" or not span.parent_span_id else IGNORED


def _read_crew(span: Span) -> GenAISpan:
    genai_span = _read_context(span, Role.OTHER)
    outputs = span.attributes[_CREW_OUTPUTS]
    genai_span.history = outputs if type(outputs) is str and len(outputs) <= MAX_TEXT else None
    return genai_span


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    output = _output_of(span)
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = _tool_name(span, output)
    if span.scope.name in _LOSSY_SCOPES:
        genai_span.note(traced_calls="succeeded")
    recorded = get(semconv.TOOL_CALL_ARGUMENTS)
    genai_span.arguments, envelope_id = _unwrap(get(_INPUT) if recorded is None else recorded)
    if get(semconv.TOOL_CALL_RESULT, output) is None and (genai_span.status != "error" or genai_span.is_pending):
        # Without content no call of OpenAI Agents has a result: whether the model was asked after it tells.
        genai_span.is_pending = recorded is not None or span.scope.name == _OPENAI_AGENTS
        if span.scope.name in _SILENT_SCOPES and _INPUT in span.attributes:
            genai_span.note(outcome="told")
    genai_span.call_id = name_of(get(semconv.TOOL_CALL_ID)) or envelope_id or langchain.call_id_in(output)
    genai_span.agent = first_name(span.attributes, _AGENT_NAMES)
    genai_span.conversation_id = first_name(span.attributes, _CONVERSATION_IDS)
    # A JSON result ends with the flag and a repr begins with it; what is between may be long.
    if type(output) is str and _FAILED_RESULT.match(output[-4096:] if output[:1] == "{" else output[:64]):
        genai_span.status, genai_span.refusal = "error", _refusal_in_repr(output) or genai_span.refusal
    elif (told := failure_in_message(output)) is not None:
        genai_span.status, genai_span.refusal = "error", told.refusal
    elif genai_span.status != "error":
        set_answer_of_openai_agents(genai_span, get(semconv.TOOL_CALL_RESULT, output), genai_span.scope)
    return genai_span


def _refusal_in_repr(output: str) -> Refusal | None:
    match = _ERROR_IN_REPR.match(output[:MAX_CHARS])
    return None if match is None else find_refusal((match[1] or match[2] or "").replace("\\n", "\n"))


def _read_workflow_tool(span: Span) -> GenAISpan | None:
    """Reads the step of a LlamaIndex workflow that called a tool: where that failed, its own span is never exported."""
    output = _output_of(span)
    if type(output) is not str or '"tool_kwargs"' not in output or '"tool_output"' not in output:
        return None
    record = parse_any(output)
    result = record.get("tool_output") if isinstance(record, Mapping) else None
    if not isinstance(result, Mapping):
        return None
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name, genai_span.arguments = name_of(record.get("tool_name")), record.get("tool_kwargs")
    genai_span.call_id = name_of(record.get("tool_id"))
    if result.get("is_error"):
        genai_span.status, genai_span.refusal = "error", tool_result(None, result.get("blocks")).refusal
    return genai_span


def _output_of(span: Span) -> object:
    """Returns what a step gave back. OpenLLMetry 0.4x encodes LlamaIndex's, which is JSON, as JSON once more."""
    output = span.attributes.get(_OUTPUT)
    inner = parse_any(output) if type(output) is str and output[:2] == '"{' else None
    return inner if type(inner) is str else output


def _entity_name(value: object) -> str | None:
    """Returns the name of an entity; of a function inside another, that of the function alone."""
    name = name_of(value)
    return None if name is None else name.rpartition(_LOCAL)[2]


def _tool_name(span: Span, output: object) -> str | None:
    get = span.attributes.get
    name = _entity_name(get(semconv.TOOL_NAME)) or _entity_name(get(_ENTITY_NAME))
    if name is not None and name not in _CLASS_NAMES:
        return name
    if name is None and span.name.endswith(".tool"):
        return name_of(span.name.removesuffix(".tool"))
    name = find_text(_RESULT_TOOL, output)
    if name is None:  # LangChain's ToolMessage; a failed call leaves none, and then the name is lost
        message = parse_any(output)
        kwargs = message.get("kwargs") if isinstance(message, Mapping) else None
        name = name_of(kwargs.get("name")) if isinstance(kwargs, Mapping) else None
    return name


def _unwrap(value: object) -> tuple[object, str | None]:
    """Returns the tool's own arguments, and the call's id if the record around them has it."""
    record = parse_any(value)
    if not isinstance(record, Mapping):
        return value, None
    if "tool_name" in record and "arguments" in record:  # an MCP request
        return record["arguments"], None
    if "input_str" in record:
        return arguments_of_callback(record)
    kwargs = record.get("kwargs")
    if record.keys() <= {"args", "kwargs"}:  # a Python or JavaScript function
        if isinstance(kwargs, Mapping) and (kwargs or not record.get("args")):
            return kwargs, None
        positional = record.get("args")
        if isinstance(positional, list) and len(positional) == 1:
            return positional[0], None
    return record, None


def _read_context(span: Span, role: Role) -> GenAISpan:
    get = span.attributes.get
    name = _entity_name(get(_ENTITY_NAME))
    user_input = get(_INPUT) or get(semconv.INPUT_MESSAGES) or get(_CREW_TASK)
    genai_span = context_span_of(span, role, NAME, user_input, first_name(span.attributes, _CONVERSATION_IDS))
    if role is Role.AGENT and not _AGENT_CLASS.search(span.name):
        genai_span.name = name_of(get(semconv.AGENT_NAME)) or name or name_of(span.name.removesuffix(".agent"))
    genai_span.agent = name_of(get(_LANGCHAIN_AGENT)) or (name if get(_KIND) == "workflow" else None)
    note_graph(genai_span, span, name_of(get(_INTEGRATION)), get(_OUTPUT))
    if role is Role.AGENT and span.scope.name == _AGNO:
        genai_span.note(extent="around")
    return genai_span


def _read_graph_of_js(span: Span) -> GenAISpan:
    """Reads a whole graph, beside whose span are those of its nodes, and which has no metadata."""
    graph = context_span_of(span, Role.OTHER, NAME, span.attributes.get(_INPUT))
    note_graph(graph, span, GRAPH, span.attributes.get(_OUTPUT))
    return graph


def _structured(state: object) -> list[Any]:
    """Returns the messages of a state that ends with an output in the form of a tool: the call, what it was told, the end."""
    # Looked for before it is parsed: the state of a long run is large, and few end so.
    if type(state) is not str or (at := state.rfind(_STRUCTURED)) < 0 or _USER_OF_JS in state[at:]:
        return []
    record = parse_any(state)
    messages = record.get("messages") if isinstance(record, Mapping) else None
    return messages if isinstance(messages, list) else []


def _read_langchain_step(span: Span) -> GenAISpan:
    output, given = span.attributes.get(_OUTPUT), span.attributes.get(_INPUT)
    if ended := _structured(output):
        output = json.dumps(ended[-3:-2])
    elif type(output) is not str or "HumanMessage" in output or "ToolMessage" in output or "tool_calls" not in output:
        output = None  # the graph's whole state, or a step without calls
    if _structured(given):
        return IGNORED  # the agent had ended: what the state tells of its last call is that it has its output
    genai_span = model_span_of(span, NAME, output, given)
    genai_span.note(traced_calls="named", outcome="hooked" if type(output) is str and _OF_AGENT in output else "")
    return genai_span


def _read_chat(span: Span) -> GenAISpan:
    """Reads a request in the GenAI conventions; LlamaIndex's has its tool calls in the entity's output alone."""
    get = span.attributes.get
    outputs = (get(semconv.OUTPUT_MESSAGES), _output_of(span))
    output = next((text for text in outputs if _contains_calls(text)), None) or _flattened_calls(span.attributes)
    genai_span = model_span_of(span, NAME, output, get(semconv.INPUT_MESSAGES) or get(_INPUT))
    genai_span.response_id = name_of(get(semconv.RESPONSE_ID))
    genai_span.agent = first_name(span.attributes, _AGENT_NAMES)
    note_node(genai_span, name_of(get(_NODE)), name_of(get(_INTEGRATION)))
    return genai_span


def _contains_calls(output: object) -> bool:
    return type(output) is str and '"tool_call' in output and '"arguments"' in output


def _read_model(span: Span) -> GenAISpan:
    """Reads a request of a release that flattens messages. Respan (respan-tracing 2.24) has calls in the entity's alone."""
    given = span.attributes.get(_INPUT)
    prompts: dict[int, dict[str, Any]] = {}
    for key, value in span.attributes.items():
        match = _PROMPT_KEY.match(key)
        if match is not None:
            prompts.setdefault(int(match[1]), {})[match[2]] = value
    for (index, _), call in _calls_in(span.attributes, "prompt"):
        prompts.setdefault(index, {}).setdefault("tool_calls", []).append(call)
    messages = [prompts[index] for index in sorted(prompts)]
    # Agents that call tools in words (CrewAI before 1.0) have their calls in the text of the answer.
    output = _flattened_calls(span.attributes) or span.attributes.get(_OUTPUT) or span.attributes.get(_FIRST_TEXT)
    if span.scope.name == _HAYSTACK and output == _REPLIES:
        output = None
    genai_span = model_span_of(span, NAME, output, messages if given is None else given)
    if span.scope.name == _OLLAMA:
        _note_left_out_by_ollama(genai_span, span)
    genai_span.response_id = name_of(span.attributes.get(semconv.RESPONSE_ID))
    genai_span.agent = first_name(span.attributes, _AGENT_NAMES)
    genai_span.conversation_id = first_name(span.attributes, _CONVERSATION_IDS)
    note_node(genai_span, name_of(span.attributes.get(_NODE)), name_of(span.attributes.get(_INTEGRATION)))
    return genai_span


def _note_left_out_by_ollama(genai_span: GenAISpan, span: Span) -> None:
    """Notes that an answer may have asked for calls, which an answer without a text did."""
    get = span.attributes.get
    if get(_FIRST_COMPLETION) is not None and not get(_FIRST_TEXT) and genai_span.status != "error":
        genai_span.finish = "tool_calls"
    elif get(_OFFERED) is not None:
        genai_span.note(extent="some")


def _flattened_calls(attributes: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    return [call for _, call in _calls_in(attributes, "completion")] or None


def _calls_in(attributes: Mapping[str, Any], kind: str) -> list[tuple[tuple[int, int], dict[str, Any]]]:
    """Returns the flattened tool calls of ``kind``, completion or prompt, each with its message's index and its own."""
    calls: dict[tuple[int, int], dict[str, Any]] = {}
    for key, value in attributes.items():
        match = _CALL_KEY.match(key)
        if match is not None and match[1] == kind:
            calls.setdefault((int(match[2]), int(match[3])), {"type": "tool_call"})[match[4]] = value
    return sorted(calls.items(), key=lambda item: item[0])


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_KIND, *_FIRSTS, _CREW_OUTPUTS),
    read_span=read_span,
    markers=(b"traceloop.span.kind",),
    attributes=frozenset({
        _CREW_TASK, _ENTITY_NAME, _INPUT, _OUTPUT, semconv.OPERATION_NAME, semconv.AGENT_NAME, semconv.TOOL_NAME,
        semconv.TOOL_CALL_ID, semconv.TOOL_CALL_ARGUMENTS, semconv.TOOL_CALL_RESULT, semconv.CONVERSATION_ID,
        semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES, semconv.RESPONSE_ID, semconv.ERROR_TYPE, _OFFERED,
    }),
    prefixes=(_ASSOCIATION, *_MESSAGE_PREFIXES),
    output_attributes=("gen_ai.completion.", _OUTPUT, "gen_ai.task.output", "crewai.crew.result"),
    tool_definition_attributes=("llm.request.functions.", "crewai.agent.tools"),
)  # fmt: skip
