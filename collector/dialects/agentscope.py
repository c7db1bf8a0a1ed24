"""AgentScope (2.0 for Python, 1.0 for Java): the GenAI conventions, except that the span of a tool that failed is a success.

The state is in the result: in Python the repr of a ``ToolResponse``, in Java text. Everything else is left to the conventions.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.genai_span import IGNORED, GenAISpan, Role, genai_span_of
from collector.model.span import Span
from collector.payloads.refusals import find_refusal
from collector.payloads.tool_results import tool_result

NAME: Final = "agentscope"

_SCOPES: Final = ("agentscope", "agentscope-java")
_FAILED: Final = ("state=<ToolResultState.ERROR", "state=<ToolResultState.DENIED", "state=<ToolResultState.INTERRUPTED")
_JAVA_ERROR: Final = '[{"text":"Error: '
_SEARCHED: Final = 1 << 18  # characters of a result


def read_span(span: Span) -> GenAISpan | None:
    """Reads whether a tool failed; None for any other span, unless it only formats messages."""
    operation = span.attributes.get(semconv.OPERATION_NAME)
    if operation != "execute_tool":
        return IGNORED if operation == "format" else None
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    result = span.attributes.get(semconv.TOOL_CALL_RESULT)
    if type(result) is str:
        if any(state in result[:_SEARCHED] for state in _FAILED):
            genai_span.status, genai_span.refusal = "error", find_refusal(result)
        elif result.startswith(_JAVA_ERROR):
            genai_span.status, genai_span.refusal = "error", tool_result(None, result).refusal
    return genai_span


DIALECT: Final = Dialect(
    name=NAME,
    keys=(),
    scopes=_SCOPES,
    read_span=read_span,
    attributes=frozenset({semconv.OPERATION_NAME, semconv.TOOL_CALL_RESULT}),
)
