"""The last resort: a span of a dialect nobody here knows that still looks like a tool call, an agent or a model request.

Kinds are recognised by the attribute in which many tracers say them; names and arguments by the attributes usual beside
it. Seen with Laminar, LoongSuite, Traceloop's forks and home-made tracers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from collector.model import semconv
from collector.model.genai_span import Dialect, GenAISpan, Role, context_attributes, genai_span_of
from collector.model.span import Span
from collector.payloads.messages import may_contain_tool_calls
from collector.payloads.values import name_of, parse_any

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
    """A genai_span where the span says what it is in some usual way, else None: a blind spot."""
    role = _role(span)
    if role is None:
        return None
    genai_span = genai_span_of(span, role, NAME)
    genai_span.conversation_id = name_of(_first(span, _SESSIONS))
    if role is Role.TOOL:
        genai_span.name = name_of(_first(span, _TOOL_NAMES)) or name_of(span.name.removeprefix("execute_tool "))
        genai_span.call_id = name_of(_first(span, _CALL_IDS))
        genai_span.arguments = _first(span, _INPUTS)
    elif role is Role.AGENT:
        genai_span.name = name_of(_first(span, _AGENT_NAMES)) or name_of(span.name)
        genai_span.user_input = _first(span, _INPUTS)
        genai_span.attributes = context_attributes(span)
    elif may_contain_tool_calls(_first(span, _OUTPUTS)):
        genai_span.output = _first(span, _OUTPUTS)
    return genai_span


def _role(span: Span) -> Role | None:
    kind = parse_any(_first(span, _KINDS))
    role = _ROLES.get(kind.lower()) if isinstance(kind, str) else None
    if role is None and (span.name.startswith("execute_tool ") or _first(span, _CALL_IDS) is not None):
        return Role.TOOL if _first(span, _TOOL_NAMES) is not None else None
    return role


def _first(span: Span, keys: Iterable[str]) -> object:
    return next((value for key in keys if (value := span.attributes.get(key)) is not None), None)


DIALECT: Final = Dialect(
    name=NAME,
    keys=(),
    read_span=read_span,
    markers=(b"tool.name",),
    attributes=frozenset({*_KINDS, *_TOOL_NAMES, *_CALL_IDS, *_INPUTS, *_OUTPUTS, *_AGENT_NAMES, *_SESSIONS}),
    output_attributes=_OUTPUTS,
)
