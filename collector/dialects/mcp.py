"""Model Context Protocol spans (semantic conventions 1.39; MCP SDKs, FastMCP): a tool call as the transport records it.

It is usually one of several spans of the same call, and then only adds what the framework's span lacks. The client's span of
the Python SDK ends well although the server's result says that it is an error. mcp-go (1.2) has words of its own, and a span
of the tool inside the server's; its client does not tell which tool it calls.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import doubt_failure, genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import SPAN_KIND_CLIENT, SPAN_KIND_SERVER, Span
from collector.payloads.values import name_of

NAME: Final = "mcp"

_CALL: Final = "tools/call"
_GO_METHOD: Final = "mcp.method"
_TOOL: Final = "mcp.tool.name"
_GO_SPAN: Final = "mcp."
_PYTHON_SDK: Final = "mcp-python-sdk"
_ARGUMENTS: Final = (semconv.TOOL_CALL_ARGUMENTS, "mcp.tool.arguments", "mcp.request.arguments")  # as servers name them


def read_span(span: Span) -> GenAISpan | None:
    """Reads a tool call; listings, handshakes and the like are ignored."""
    get = span.attributes.get
    if semconv.MCP_METHOD_NAME not in span.attributes:
        return _read_go(span)
    if get(semconv.MCP_METHOD_NAME) != _CALL:
        return IGNORED
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = (
        name_of(get(semconv.TOOL_NAME)) or name_of(get(_TOOL)) or name_of(span.name.rpartition(_CALL)[2].strip())
    )
    if span.kind == SPAN_KIND_SERVER and not span.parent_span_id:
        genai_span.note(extent="served")
    genai_span.call_id = name_of(get(semconv.TOOL_CALL_ID))
    genai_span.arguments = next((get(key) for key in _ARGUMENTS if key in span.attributes), None)
    if not span.status_message and not span.events:  # a server refuses with the flag of a result that is an error
        doubt_failure(genai_span)
    if span.scope.name == _PYTHON_SDK and span.kind == SPAN_KIND_CLIENT and genai_span.status == "unset":
        genai_span.note(outcome="told")
    return genai_span


def _read_go(span: Span) -> GenAISpan | None:
    method = span.attributes.get(_GO_METHOD)
    if span.name != f"{_GO_SPAN}{method}":
        return None  # of another tracer
    if method != _CALL:
        return IGNORED
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(span.attributes.get(_TOOL))
    if span.kind == SPAN_KIND_SERVER and not span.parent_span_id:
        genai_span.note(extent="served")
    if span.kind == SPAN_KIND_CLIENT and genai_span.status == "unset":
        genai_span.note(outcome="told")  # it ends well although the result is an error
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(semconv.MCP_METHOD_NAME, _GO_METHOD),
    read_span=read_span,
    markers=(b"mcp.method",),
    attributes=frozenset({semconv.TOOL_NAME, _TOOL, semconv.TOOL_CALL_ID, *_ARGUMENTS, semconv.ERROR_TYPE}),
)
