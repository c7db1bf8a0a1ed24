"""Mastra's exporters, 0.24 (`@mastra/otel`) to 1.x (`@mastra/otel-exporter`, `@mastra/otel-bridge`, `@mastra/laminar`).

1.x follows the GenAI conventions for agents and tools; the tool calls, which its chat spans omit, are on the spans of its
steps. 0.24 has its own names for everything. The exporter for Laminar writes the type of a span only in its name.

The telemetry of 0.18 that this replaced has a span of each method. Of a run it tells the calls, and in the result of the
agent what its models asked for; what a tool threw is the result of its call, as an object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, doubt_outcome, genai_span_of, set_input, set_output
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.messages import may_contain_tool_calls
from collector.payloads.refusals import Refusal, find_refusal, is_refusal
from collector.payloads.tool_results import ToolResult, is_mcp_failure, tool_result
from collector.payloads.user_input import goes_on_with_answer
from collector.payloads.values import find_text, first_name, first_value, name_of, parse_any, span_id_of

NAME: Final = "mastra"

_TYPE: Final = "mastra.span.type"
_RESPONSE_ID: Final = "id"  # of a step in 0.x
_REQUESTED: Final = '"toolCalls":[{'
_ASKED: Final = '"toolInput":'  # of a chunk
_ERROR: Final = '{"error"'
_INPUT: Final = "input"
_OUTPUT: Final = "output"
_NOTHING: Final = '"content":"null"}'
_NOTHING_TOLD: Final = re.compile(r',\{"role":"tool","tool_call_id":"[^"]*",' + re.escape(_NOTHING))
"""What 0.x tells a model of a call that returned nothing, which its span shows, and of one for which there is no function."""
_AGENT_INPUT: Final = "mastra.agent_run.input"
_AGENT_ID: Final = "gen_ai.agent.id"
_TOOL_INPUT: Final = "gen_ai.tool.input"
_STEP_OUTPUT: Final = "mastra.model_step.output"
_CHUNK_OUTPUT: Final = "mastra.model_chunk.output"
_LAMINAR: Final = "@mastra/laminar"
_LAMINAR_INPUT: Final = "lmnr.span.input"
_LAMINAR_OUTPUT: Final = "lmnr.span.output"
_LANGFUSE_OUTPUT: Final = "langfuse.observation.output"
_LAMINAR_SESSION: Final = "lmnr.association.properties.session_id"
_NAMED: Final = re.compile(r"^(agent run|mcp_tool|provider_tool|client_tool|tool|step|chunk): (?:'([^']+)')?")
"""Begins the names of spans: `tool: 'get_weather'`, `step: 0`."""
_OPERATION: Final = "mastra.operationId"
_OLD_CALL: Final = "mastra.stream.toolCall"
_OLD_TOOL: Final = "stream.toolCall."
_OLD_AGENT: Final = "agent.streamVNext"
"""A method of an agent in 0.18, inside that which its application calls."""
_OLD_INPUT, _OLD_RESULT = f"{_OLD_AGENT}.argument.0", f"{_OLD_AGENT}.result"
_COMPONENT: Final = "componentName"
_METHODS: Final = ("agent.", "mastra.", "workflow.agentic-loop.", "workflow.executionWorkflow.")
_THROWN: Final = "TOOL_EXECUTION_FAILED"
_CLIENT_TOOL: Final = "client_tool_call"
"""Of a call for which the agent has no function: its client may run it when the run has ended, or there is no such tool."""
_TOOLS: Final = ("tool_call", "mcp_tool_call", "provider_tool_call", _CLIENT_TOOL)
_TYPES: Final = {
    "agent run": "agent_run", "mcp_tool": "mcp_tool_call", "provider_tool": "provider_tool_call",
    "client_tool": _CLIENT_TOOL, "tool": "tool_call", "step": "model_step", "chunk": "model_chunk",
}  # fmt: skip
_WORKFLOW: Final = "workflow-"
"""Begins the names of tools that are workflows: their spans end well, whatever became of the workflow inside."""
_FAILED_WORKFLOW: Final = re.compile(r"\{\"error\":.+,\"runId\":\"[^\"]{1,64}\"\}\Z", re.DOTALL)
_MISFIT: Final = re.compile(r'"message":\s?"Tool output validation failed for ')
"""What Mastra answers in place of a result that does not fit the tool's schema."""
_MISFIT_WITHIN: Final = 100  # characters of a result
_DELEGATION: Final = "agent-"
"""Begins the names of tools that are agents."""
_OF_RESUMPTION: Final = frozenset({"suspendedToolRunId", "suspendedToolCallId", "resumeData"})
_OF_MEMORY: Final = frozenset({"threadId", "resourceId"})
"""What Mastra adds to the arguments of an agent or a workflow that goes on, and to those of an agent."""
_PROMPT: Final = "prompt"
_SUSPENDED: Final = '{"status":"suspended"'
_DECLINED: Final = '{"approved":false'
"""Begins the input of an agent that goes on when a human denied a call."""
_METADATA: Final = "metadata"  # of all keys, by the exporter for Arize
_RESUMED_FROM: Final = "mastra.metadata.resumedFromSpanId"
"""Where an agent goes on: the id of the span of what waited, which is around it, but for that of a durable agent, a root."""
_RESUMED_FROM_IN_METADATA: Final = re.compile(r'"resumedFromSpanId":"([0-9a-f]+)"')
_NOTHING_ASKED: Final = "[]"
"""Input of an agent that goes on with what a task in the background found, after the run that began the task."""
_AGENT_OUTPUTS: Final = ("mastra.agent_run.output", _LANGFUSE_OUTPUT, _LAMINAR_OUTPUT)
_MODEL_OUTPUTS: Final = (_OUTPUT, _LANGFUSE_OUTPUT, _LAMINAR_OUTPUT)
_AGENT_INPUTS: Final = (_AGENT_INPUT, _INPUT, _LAMINAR_INPUT, "langfuse.observation.input")
_ARGUMENTS: Final = (semconv.TOOL_CALL_ARGUMENTS, _TOOL_INPUT, _INPUT, _LAMINAR_INPUT, "mastra.metadata.args")
_RESULTS: Final = (semconv.TOOL_CALL_RESULT, _OUTPUT, semconv.OUTPUT_VALUE, _LAMINAR_OUTPUT)
_CONVERSATION_IDS: Final = (semconv.CONVERSATION_ID, "mastra.metadata.threadId", "threadId", _LAMINAR_SESSION)


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``mastra.span.type``. A generation repeats its steps, so only steps are read."""
    kind = span.attributes.get(_TYPE)
    if kind is None and _COMPONENT in span.attributes:
        return _read_method(span)
    if kind is None and (named := _NAMED.match(span.name)) is not None:
        kind = _TYPES[named[1]]
    if kind in _TOOLS:
        return _read_tool(span, is_pending=kind == _CLIENT_TOOL)
    if kind == "agent_run":
        return _read_agent(span)
    if kind == "model_step":
        return _read_model(span, _STEP_OUTPUT)
    return _read_chunk(span) if kind == "model_chunk" else IGNORED


def _read_tool(span: Span, *, is_pending: bool) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(semconv.TOOL_NAME)) or _quoted(span) or name_of(span.name.rpartition(" ")[2])
    genai_span.call_id = name_of(get(semconv.TOOL_CALL_ID))
    genai_span.arguments = _own_arguments(genai_span.name or "", first_value(span.attributes, _ARGUMENTS))
    result = first_value(span.attributes, _RESULTS)
    if is_pending:
        genai_span.is_pending = True
        genai_span.note(outcome="asked", extent="apart")
    elif is_mcp_failure(result):
        genai_span.status, genai_span.refusal = "error", tool_result(None, result).refusal
    elif type(result) is str and is_refusal(result, genai_span.name):  # such a span has status OK
        genai_span.status, genai_span.refusal = "error", Refusal()
    elif type(result) is str and _tells_failure(genai_span.name or "", result):
        genai_span.status = "error"
    elif result is None and genai_span.arguments is None and genai_span.status == "ok":  # content is not recorded
        genai_span.status = "unset"
        doubt_outcome(genai_span)
    elif result is None and genai_span.status == "ok":
        genai_span.is_pending = True  # it returned nothing, or suspended the run, whose span never ends in 1.24
        genai_span.note(outcome="open")
    return genai_span


def _own_arguments(tool: str, arguments: object) -> object:
    """Returns the arguments without what Mastra adds for an agent or a workflow that is called as a tool."""
    if type(arguments) is not str or not tool.startswith((_DELEGATION, _WORKFLOW)):
        return arguments
    given = parse_any(arguments)
    if not isinstance(given, Mapping):
        return arguments
    added = _OF_RESUMPTION
    if tool.startswith(_DELEGATION) and _PROMPT in given:
        added |= _OF_MEMORY  # what a model wrote there is replaced
    return arguments if added.isdisjoint(given) else {key: given[key] for key in given if key not in added}


def _tells_failure(tool: str, result: str) -> bool:
    """Whether a result tells that its tool ran and failed; the span ended well."""
    if tool.startswith(_WORKFLOW) and _FAILED_WORKFLOW.match(result):
        return True
    return result.startswith(_ERROR) and _MISFIT.search(result, 0, _MISFIT_WITHIN) is not None


def _read_method(span: Span) -> GenAISpan | None:
    """Reads what 0.18 tells of one of its methods; the steps of its own workflows repeat the messages of a run."""
    if span.attributes.get(_OPERATION) == _OLD_CALL:
        return _read_old_tool(span)
    if span.name == _OLD_AGENT:
        return _read_old_agent(span)
    return IGNORED if span.name.startswith(_METHODS) else None


def _read_old_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(f"{_OLD_TOOL}toolName"))
    genai_span.call_id = name_of(get(f"{_OLD_TOOL}toolCallId"))
    genai_span.arguments = get(f"{_OLD_TOOL}args")
    result = get(f"{_OLD_TOOL}result")
    told = parse_any(result) if type(result) is str and _THROWN in result else None
    if isinstance(told, Mapping) and told.get("code") == _THROWN:
        genai_span.status, genai_span.refusal = "error", find_refusal(str(told.get("message", "")))
    elif type(result) is str and is_refusal(result, genai_span.name):
        genai_span.status, genai_span.refusal = "error", Refusal()
    return genai_span


def _read_old_agent(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = context_span_of(span, Role.AGENT, NAME, get(_OLD_INPUT))
    genai_span.name = name_of(get(_COMPONENT))
    genai_span.note(traced_calls="all")
    set_output(genai_span, get(_OLD_RESULT))
    return genai_span


def _read_agent(span: Span) -> GenAISpan:
    get = span.attributes.get
    conversation_id = first_name(span.attributes, _CONVERSATION_IDS)
    given = first_value(span.attributes, _AGENT_INPUTS)
    genai_span = context_span_of(span, Role.AGENT, NAME, given, conversation_id)
    began = get(_RESUMED_FROM) or find_text(_RESUMED_FROM_IN_METADATA, get(_METADATA))
    is_resumed = goes_on_with_answer(given) or began is not None or given == _NOTHING_ASKED
    genai_span.note(traced_calls="all", extent="resumed" if is_resumed else "")
    genai_span.parent_span_id = span.parent_span_id or span_id_of(began)
    answer = parse_any(given) if type(given) is str and given.startswith(_DECLINED) else None
    if isinstance(answer, Mapping):
        genai_span.tool_results = (ToolResult(name_of(answer.get("toolCallId")), True, Refusal()),)
    genai_span.name = name_of(get(semconv.AGENT_NAME)) or name_of(get(_AGENT_ID)) or _quoted(span)
    output = first_value(span.attributes, _AGENT_OUTPUTS)
    # A tool that suspends the run ends its own span well; it runs anew when that goes on.
    waits = parse_any(output) if type(output) is str and output.startswith(_SUSPENDED) else None
    genai_span.call_id = name_of(waits.get("toolCallId")) if isinstance(waits, Mapping) else None
    return genai_span


def _quoted(span: Span) -> str | None:
    """Returns the tool or agent that the span's name quotes."""
    named = _NAMED.match(span.name)
    return None if named is None else name_of(named[2])


def _read_chunk(span: Span) -> GenAISpan:
    """Reads a streamed chunk that is a call, or an error: all that is left of a run that crashed before the step ended.

    Other chunks name a tool as well: what a call wrote meanwhile, its result, that it waits for an approval.
    """
    output = first_value(span.attributes, (_CHUNK_OUTPUT, *_MODEL_OUTPUTS))
    if type(output) is not str or not (_ASKED in output or output.startswith(_ERROR)):
        return IGNORED
    genai_span = _read_model(span, _CHUNK_OUTPUT)
    if genai_span is not IGNORED and _ASKED in output:
        genai_span.note(extent="part")
    return genai_span


def _read_model(span: Span, output_key: str) -> GenAISpan:
    """Reads a step, or a chunk of one, with the calls its model requested."""
    output = first_value(span.attributes, (output_key, *_MODEL_OUTPUTS))
    if not may_contain_tool_calls(output):
        return IGNORED
    genai_span = genai_span_of(span, Role.MODEL, NAME)
    set_output(genai_span, output)
    given = span.attributes.get(_INPUT)  # in 0.x the request, with all messages
    if type(given) is str and _NOTHING in given:
        given = _NOTHING_TOLD.sub("", given)
    set_input(genai_span, given)
    genai_span.response_id = name_of(span.attributes.get(_RESPONSE_ID))
    genai_span.finish = "tool_calls" if type(output) is str and _REQUESTED in output else ""
    if type(output) is str and output.startswith(_ERROR) and is_refusal(output):
        genai_span.tool_results = (ToolResult(None, True, Refusal()),)
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_TYPE, _COMPONENT),
    read_span=read_span,
    scopes=(_LAMINAR,),
    whole_scopes=(_LAMINAR,),
    attributes=frozenset({
        *_AGENT_INPUTS, *_AGENT_OUTPUTS, _RESPONSE_ID, *_ARGUMENTS, *_RESULTS, _AGENT_ID, _STEP_OUTPUT, _CHUNK_OUTPUT,
        *_CONVERSATION_IDS, _RESUMED_FROM, _METADATA, semconv.AGENT_NAME, semconv.TOOL_NAME, semconv.TOOL_CALL_ID,
        semconv.ERROR_TYPE, _OPERATION,
        _OLD_INPUT, _OLD_RESULT, *(_OLD_TOOL + key for key in ("toolName", "toolCallId", "args", "result")),
    }),
    markers=(b"mastra.operationId", b"agent.streamVNext", b"workflow.executionWorkflow", b"workflow.agentic-loop"),
    output_attributes=("mastra.agent_run.output", _STEP_OUTPUT, _OUTPUT),
)  # fmt: skip
