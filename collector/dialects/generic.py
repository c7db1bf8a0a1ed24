"""The fallback: a span of no known dialect that still looks like a tool call, an agent or a model request.

Its kind is recognised by the attributes in which many tracers record one; names and arguments by the attributes common
beside them. Seen with Laminar, LoongSuite, Traceloop's forks and home-made tracers.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.genai_span import GenAISpan, Role, context_attributes, genai_span_of, set_output
from collector.model.span import Span
from collector.payloads.values import first_value, name_of, parse_any

NAME: Final = "generic"

_KINDS: Final = (
    "gen_ai.span.kind",
    "lmnr.span.type",
    "span.kind",
    "span.type",
    "span_type",
    "type",
    "sdk_span_type",
    "opik.type",
)
_ROLES: Final = {
    "tool": Role.TOOL, "tool_call": Role.TOOL, "function": Role.TOOL, "execute_tool": Role.TOOL,
    "agent": Role.AGENT, "invoke_agent": Role.AGENT, "agent_run": Role.AGENT,
    "llm": Role.MODEL, "generation": Role.MODEL, "chat": Role.MODEL,
}  # fmt: skip
_TOOL_NAMES: Final = (semconv.TOOL_NAME, "tool.name", "tool_name", "function.name")
_CALL_IDS: Final = (semconv.TOOL_CALL_ID, "tool.call_id", "tool_call_id", "tool_call.id")
_INPUTS: Final = (
    semconv.TOOL_CALL_ARGUMENTS, "tool.arguments", "tool_arguments", "tool.parameters", "tool.input", "input.value",
    "lmnr.span.input", "arguments", "input",
)  # fmt: skip
_OUTPUTS: Final = ("output.value", "lmnr.span.output", "output")
_AGENT_NAMES: Final = (semconv.AGENT_NAME, "agent.name", "agent_name")
_SESSIONS: Final = (semconv.CONVERSATION_ID, semconv.SESSION_ID, "lmnr.association.properties.session_id")


def read_span(span: Span) -> GenAISpan | None:
    """Returns None if no common attribute says what the span is."""
    role = _role(span)
    if role is None:
        return None
    genai_span = genai_span_of(span, role, NAME)
    genai_span.conversation_id = name_of(first_value(span.attributes, _SESSIONS))
    if role is Role.TOOL:
        genai_span.name = name_of(first_value(span.attributes, _TOOL_NAMES)) or name_of(
            span.name.removeprefix("execute_tool ")
        )
        genai_span.call_id = name_of(first_value(span.attributes, _CALL_IDS))
        genai_span.arguments = first_value(span.attributes, _INPUTS)
    elif role is Role.AGENT:
        genai_span.name = name_of(first_value(span.attributes, _AGENT_NAMES)) or name_of(span.name)
        genai_span.user_input = first_value(span.attributes, _INPUTS)
        genai_span.attributes = context_attributes(span)
    else:
        set_output(genai_span, first_value(span.attributes, _OUTPUTS))
    return genai_span


def _role(span: Span) -> Role | None:
    kind = parse_any(first_value(span.attributes, _KINDS))
    role = _ROLES.get(kind.lower()) if isinstance(kind, str) else None
    if role is None and (span.name.startswith("execute_tool ") or first_value(span.attributes, _CALL_IDS) is not None):
        return Role.TOOL if first_value(span.attributes, _TOOL_NAMES) is not None else None
    return role


DIALECT: Final = Dialect(
    name=NAME,
    keys=(),
    read_span=read_span,
    markers=(b"tool.name",),
    attributes=frozenset({*_KINDS, *_TOOL_NAMES, *_CALL_IDS, *_INPUTS, *_OUTPUTS, *_AGENT_NAMES, *_SESSIONS}),
    output_attributes=_OUTPUTS,
)
