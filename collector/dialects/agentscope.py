"""AgentScope (Python 1.0 and 2.0, Java 1.0): the GenAI conventions, except that the span of a tool that failed is a success.

The state is in the result: in Python a ``ToolResponse``, as its repr or as JSON (2.0.11), in Java text. In Python before 2.0
there is none, and the toolkit's own words tell. Everything else is left to the conventions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import find_refusal
from collector.payloads.tool_results import tool_result
from collector.payloads.values import parse_any

NAME: Final = "agentscope"

_SCOPES: Final = ("agentscope", "agentscope-java")
_FAILED: Final = ("state=<ToolResultState.ERROR", "state=<ToolResultState.DENIED", "state=<ToolResultState.INTERRUPTED")
_FAILED_IN_JSON: Final = re.compile(r'"state": "(error|denied|interrupted)"')
_IN_PLACE: Final = re.compile(
    r"""^"?ToolResponse\(content=\[\{'type': 'text', 'text': \\?['"]"""
    r"(?=Error: |Error occurred when calling MCP tool: |Function(?:NotFound|Inactive)Error: )"
)
"""How the result of a tool begins that raised, or that the toolkit did not call, before there was a state."""
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
        elif result.startswith(_JAVA_ERROR) or _tells_failure(result):
            genai_span.status, genai_span.refusal = "error", tool_result(None, result).refusal
        elif (begin := _IN_PLACE.match(result)) is not None:
            genai_span.status, genai_span.refusal = "error", find_refusal(result[begin.end() :])
    elif genai_span.status != "error":  # that of the span says nothing of the tool
        genai_span.status = "unset"
        genai_span.note(outcome="told")
    return genai_span


def _tells_failure(result: str) -> bool:
    """Whether a result in JSON has a state of a call that failed; what a tool returned is text in there."""
    state = _FAILED_IN_JSON.search(result, 0, _SEARCHED)
    response = parse_any(result) if state is not None else None
    return state is not None and isinstance(response, Mapping) and response.get("state") == state[1]


DIALECT: Final = Dialect(
    name=NAME,
    keys=(),
    scopes=_SCOPES,
    read_span=read_span,
    attributes=frozenset({semconv.OPERATION_NAME, semconv.TOOL_CALL_RESULT}),
)
