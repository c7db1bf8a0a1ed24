"""Dapr Agents' own instrumentation, in OpenInference's words: how it records the calls of its executor of tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from collector.dialects.openinference.common import TOOL_NAME
from collector.model import semconv
from collector.model.genai_span import GenAISpan
from collector.model.span import Span
from collector.payloads.refusals import find_refusal
from collector.payloads.values import MAX_TEXT, UNREADABLE, parse_any

SCOPE: Final = "dapr_agents.observability.instrumentor"

_CALL, _BY_POSITION, _BY_NAME = "tool_name", "args", "kwargs"
"""What the executor is given: the call in an envelope."""
_FAILED: Final = re.compile(
    r"content=\[TextContent\(type='text', text=(['\"])(Error executing tool '.*)\1\)\]", re.DOTALL
)
_FLAG: Final = " isError=True"
"""Ends the repr of the result that stands for what a tool raised: the span ends well."""


def is_batch(span: Span) -> bool:
    """Whether the span is that around all calls of an answer (0.x), which names no tool."""
    return span.scope.name == SCOPE and TOOL_NAME not in span.attributes


def read_call(call: GenAISpan, span: Span) -> None:
    """Read the arguments out of their envelope, and a failure out of the result."""
    given = parse_any(span.attributes.get(semconv.INPUT_VALUE))
    if isinstance(given, Mapping) and _CALL in given and _BY_NAME in given:
        call.arguments = UNREADABLE if given.get(_BY_POSITION) else given[_BY_NAME]
    result = span.attributes.get(semconv.OUTPUT_VALUE)
    if type(result) is str and len(result) <= MAX_TEXT and result.endswith(_FLAG) and (told := _FAILED.match(result)):
        call.status, call.refusal = "error", find_refusal(told[2])
