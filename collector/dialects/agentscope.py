"""AgentScope (2.0, Python): the GenAI conventions, except that the span of a tool that failed is a success.

The state is in the result, the repr of a ``ToolResponse``. Everything else is left to the conventions.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.genai_span import GenAISpan, Role, genai_span_of
from collector.model.span import Span
from collector.payloads.refusals import find_refusal

NAME: Final = "agentscope"

_SCOPE: Final = "agentscope"
_FAILED: Final = ("state=<ToolResultState.ERROR", "state=<ToolResultState.DENIED", "state=<ToolResultState.INTERRUPTED")
_SEARCHED: Final = 1 << 18  # characters of a result


def read_span(span: Span) -> GenAISpan | None:
    """Reads whether a tool failed; None for any other span."""
    if span.attributes.get(semconv.OPERATION_NAME) != "execute_tool":
        return None
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    result = span.attributes.get(semconv.TOOL_CALL_RESULT)
    if type(result) is str and any(state in result[:_SEARCHED] for state in _FAILED):
        genai_span.status, genai_span.refusal = "error", find_refusal(result)
    return genai_span


DIALECT: Final = Dialect(
    name=NAME,
    keys=(),
    scopes=(_SCOPE,),
    read_span=read_span,
    attributes=frozenset({semconv.OPERATION_NAME, semconv.TOOL_CALL_RESULT}),
)
