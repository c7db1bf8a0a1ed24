"""Reads from spans what only a judge needs: outputs, which may contain the final response, and tool definitions.

Used only if a rule has a judge; the content is parsed only when a run is judged. Open traces are kept in memory, so the
content is bounded, and definitions that every request repeats are stored once.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, Final

from collector import dialects
from collector.model import semconv
from collector.model.from_span import output_in_events
from collector.model.genai_span import IGNORED, Content, GenAISpan, Role
from collector.model.span import LogRecord, Span
from collector.payloads.flattened_attributes import FlattenedAttributes, first_attribute
from collector.payloads.values import parse_any

MAX_OUTPUT: Final = 32_768
"""Longest recorded output, in characters. A longer structure is dropped, since half of one cannot be parsed; a longer
text is cut."""
MAX_TOOL_DEFINITIONS: Final = 131_072
"""Longest recorded tool definitions, in characters; longer ones are dropped."""

_OUTPUTS: Final = tuple(dict.fromkeys(name for dialect in dialects.DIALECTS for name in dialect.output_attributes))
_REQUESTS: Final = tuple(dict.fromkeys(name for dialect in dialects.DIALECTS for name in dialect.request_attributes))
_ROLES: Final = frozenset({Role.AGENT, Role.MODEL, Role.OTHER})

ATTRIBUTES: Final = frozenset(name for name in (*_OUTPUTS, *_REQUESTS) if not name.endswith("."))
PREFIXES: Final = tuple(name for name in _OUTPUTS if name.endswith("."))
"""Attributes to decode in addition to those of the dialects."""


def read_span(span: Span) -> GenAISpan | None:
    """Like ``dialects.read_span``, with the content that a judge needs."""
    genai_span = dialects.read_span(span)
    if genai_span is None or genai_span is IGNORED or genai_span.role not in _ROLES:
        return genai_span
    output = first_attribute(span.attributes, _OUTPUTS) or output_in_events(span)
    definitions = first_attribute(span.attributes, dialects.TOOL_DEFINITIONS) or _first_request(span, genai_span)
    return _with_content(genai_span, output, definitions)


def read_log(record: LogRecord) -> GenAISpan | None:
    """Like ``dialects.read_log``, with the content that a judge needs."""
    genai_span = dialects.read_log(record)
    if genai_span is None:
        return None
    body = parse_any(record.body) if _is_event(record, semconv.EVENT_CHOICE) else None
    return _with_content(genai_span, record.attributes.get(semconv.OUTPUT_MESSAGES) or body, None)


def _with_content(genai_span: GenAISpan, output: object, definitions: object) -> GenAISpan:
    output = _bounded_output(output)
    definitions = definitions if definitions is genai_span.user_input else _bounded_definitions(definitions)
    if output or definitions:
        genai_span.content = replace(genai_span.content or Content(), output=output, tool_definitions=definitions)
    return genai_span


def _first_request(span: Span, genai_span: GenAISpan) -> Any:
    """Returns the request of a model span if it is also kept as user input, as the first of a run is.

    Later requests repeat the history. Agent spans are excluded: users control their input and could define tools in it.
    """
    request = first_attribute(span.attributes, _REQUESTS) if genai_span.role is Role.MODEL else None
    return request if request is genai_span.user_input else None


def _bounded_output(value: object) -> object:
    # Text may be cut. What looks like JSON may not: half of it cannot be parsed.
    if type(value) is str and value[:1] not in ("{", "["):
        return value[:MAX_OUTPUT]
    return value if _size(value) <= MAX_OUTPUT else None


def _bounded_definitions(value: object) -> object:
    if not value or _size(value) > MAX_TOOL_DEFINITIONS:
        return None
    if isinstance(value, FlattenedAttributes):
        return FlattenedAttributes(
            (key, sys.intern(text) if type(text) is str else text) for key, text in value.items()
        )
    return sys.intern(value) if type(value) is str else value


def _size(value: object) -> int:
    try:
        return len(value) if type(value) is str else len(repr(value))
    # Nested too deeply, or a number of too many digits: it counts as too long.
    except (RecursionError, ValueError):
        return MAX_TOOL_DEFINITIONS + 1


def _is_event(record: LogRecord, event: str) -> bool:
    return event in (record.event_name, record.attributes.get(semconv.EVENT_NAME))
