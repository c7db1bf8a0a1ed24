"""Pydantic Logfire's own instrumentations: the OpenAI Agents SDK, and decorated functions (logfire 3.x, 4.x); and those that
are written with its API: magentic (0.41).

Pydantic AI, which Logfire also displays, writes its own spans.
"""

from __future__ import annotations

import json
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import compare_with_offered, context_span_of, doubt_outcome, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import find_refusal, guardrail_refusal
from collector.payloads.told_failures import is_in_place_of_result
from collector.payloads.tool_results import tool_result
from collector.payloads.values import name_of, parse_any

NAME: Final = "logfire"

_AGENTS_SCOPE: Final = "logfire.openai_agents"
_FUNCTIONS_SCOPE: Final = "logfire"
_NAME: Final = "name"
_INPUT: Final = "input"
_ERROR: Final = "error"
_MCP: Final = "mcp_data"  # the server's name; "null" for a function
_GROUP, _NONE = "group_id", "null"
"""The key of the conversation, and how a value that is None is written."""
_RESPONSE: Final = "response"
_OUTPUT: Final = "output"
_RAW_INPUT: Final = "raw_input"

_TOOL_SPAN: Final = "Function: "
_AGENT_SPAN: Final = "Agent run: "
_TRACE_SPAN: Final = "OpenAI Agents trace: "
_CHAT_SPAN: Final = "Chat completion with "
_DECORATED_TOOL: Final = "running tool "  # nothing else distinguishes a decorated tool from another function
_FUNCTION: Final = "code.function"
_NOT_ARGUMENTS: Final = ("logfire.", "code.", "thread.", "exception.")
_SCHEMA: Final = "logfire.json_schema"
_ENCODED: Final = ("array", "object")
"""Types of the values that Logfire writes as JSON, by the schema beside them: it has none for a text."""
_MAGENTIC_SCOPE: Final = "magentic"
_CALL: Final = "Executing function call "
_CALLED: Final = "self._function.__name__"
_CHAINS: Final = ("Calling prompt-chain ", "Calling async prompt-chain ")
_CHAIN: Final = "func.__name__"


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name, a template, which is constant."""
    if span.scope.name == _FUNCTIONS_SCOPE:
        return _read_function(span, span.name.removeprefix(_DECORATED_TOOL)) if _is_decorated_tool(span) else None
    if span.scope.name == _MAGENTIC_SCOPE:
        return _read_magentic(span)
    if span.name.startswith(_TOOL_SPAN):
        return _read_tool(span)
    if span.name.startswith((_AGENT_SPAN, _TRACE_SPAN)):
        return _read_context(span, Role.AGENT if span.name.startswith(_AGENT_SPAN) else Role.OTHER)
    if span.name.startswith(_CHAT_SPAN):
        return model_span_of(span, NAME, span.attributes.get(_OUTPUT), span.attributes.get(_INPUT))
    if semconv.OPERATION_NAME in span.attributes:
        return _read_model(span)
    return IGNORED


def _read_model(span: Span) -> GenAISpan:
    genai_span = model_span_of(span, NAME, span.attributes.get(_RESPONSE), span.attributes.get(_RAW_INPUT))
    response = parse_any(genai_span.output)
    # A response of OpenAI's repeats the tools of its request.
    if isinstance(response, dict) and response.get("tools"):
        compare_with_offered(genai_span, json.dumps(response["tools"]))
    return genai_span


def _is_decorated_tool(span: Span) -> bool:
    """Whether the span is the call of the function that its name tells: one that the application opens itself is not."""
    function = span.attributes.get(_FUNCTION)
    return type(function) is str and span.name == f"{_DECORATED_TOOL}{function.rsplit('.', 1)[-1]}"


def _read_function(span: Span, name: str) -> GenAISpan:
    """Reads a decorated function: one attribute per argument, under the argument's name."""
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(name)
    genai_span.arguments = _arguments(span, "return")
    return genai_span


def _arguments(span: Span, *others: str) -> dict[str, Any]:
    """Returns the attributes that are arguments, one each: all but Logfire's own and ``others``."""
    schema = parse_any(span.attributes.get(_SCHEMA))
    types = schema.get("properties") if isinstance(schema, dict) else None
    return {
        key: value if _is_text(types, key) else parse_any(value)
        for key, value in span.attributes.items()
        if key not in others and not key.startswith(_NOT_ARGUMENTS)
    }


def _is_text(types: object, key: str) -> bool:
    """Whether the schema says that a value is as it was, and not the JSON of a list or an object."""
    kind = types.get(key) if isinstance(types, dict) else None
    return isinstance(kind, dict) and kind.get("type") not in _ENCODED


def _read_magentic(span: Span) -> GenAISpan:
    """Reads a prompt chain, which asks a model until it asks for no function, or the call of a function.

    The template of a span's name has the name of the function in it, and an attribute has it as well: for want of source
    code, it is in the name itself.
    """
    if span.name.startswith(_CALL):
        genai_span = genai_span_of(span, Role.TOOL, NAME)
        genai_span.name = name_of(span.attributes.get(_CALLED)) or name_of(span.name.removeprefix(_CALL))
        genai_span.arguments = _arguments(span, _CALLED)
        return genai_span
    chain = next((prefix for prefix in _CHAINS if span.name.startswith(prefix)), None)
    if chain is None:
        return IGNORED
    genai_span = context_span_of(span, Role.AGENT, NAME)
    genai_span.name = name_of(span.attributes.get(_CHAIN)) or name_of(span.name.removeprefix(chain))
    return genai_span


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_NAME))
    genai_span.arguments = get(_INPUT)
    genai_span.is_pending = _INPUT in span.attributes and get(_OUTPUT) == "null" and get(_ERROR) is None
    if (error := get(_ERROR)) is not None:
        genai_span.status = "error"
        genai_span.refusal = find_refusal(error) if type(error) is str else None
    else:
        _read_answer(genai_span, get(_OUTPUT), is_of_server=get(_MCP, "null") != "null")
    return genai_span


def _read_answer(genai_span: GenAISpan, output: object, *, is_of_server: bool) -> None:
    """Read what was given to the model, where OpenAI's SDK records no error: of an MCP server's it never does."""
    if is_in_place_of_result(output):
        genai_span.status, genai_span.refusal = "error", tool_result(None, output).refusal
    elif is_of_server and tool_result(None, output).failed:
        doubt_outcome(genai_span)
    else:
        genai_span.refusal = guardrail_refusal(genai_span.scope, output)


def _read_context(span: Span, role: Role) -> GenAISpan:
    group = name_of(span.attributes.get(_GROUP))
    genai_span = context_span_of(span, role, NAME, conversation_id=None if group == _NONE else group)
    genai_span.name = name_of(span.attributes.get(_NAME))
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_AGENTS_SCOPE, _FUNCTIONS_SCOPE, _MAGENTIC_SCOPE),
    read_span=read_span,
    attributes=frozenset(
        {
            _NAME,
            _INPUT,
            _OUTPUT,
            _ERROR,
            _MCP,
            _GROUP,
            _RESPONSE,
            _RAW_INPUT,
            semconv.OPERATION_NAME,
            semconv.ERROR_TYPE,
        }
    ),
    whole_scopes=(_AGENTS_SCOPE, _FUNCTIONS_SCOPE, _MAGENTIC_SCOPE),
    output_attributes=(_RESPONSE, "final_result"),
    tool_definition_attributes=("model_request_parameters",),
)
