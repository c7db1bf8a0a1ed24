"""What a judge is told of a run beyond its calls: where an answer and the definitions of tools stand on its spans.

Only pipelines with a rule that asks a model look for it, and it stays as the wire held it until a run is judged. An open
trace keeps its genai_spans in memory, so what is kept is bounded, and definitions repeated by every request are kept once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

from collector import dialects
from collector.model import semconv
from collector.model.genai_span import IGNORED, Content, GenAISpan, Role
from collector.model.span import LogRecord, Span
from collector.payloads.flattened_attributes import FlattenedAttributes
from collector.payloads.values import parse_any

MAX_ANSWER: Final = 32_768
"""Characters of a recorded output that are kept. A longer record is left out, since half of one cannot be read; of a
longer text the beginning is kept."""
MAX_OFFERED: Final = 131_072
"""Characters of the definitions of tools; longer ones are left out."""

_ANSWERS: Final = tuple(dict.fromkeys(name for dialect in dialects.DIALECTS for name in dialect.output_attributes))
_OFFERS: Final = tuple(
    dict.fromkeys(name for dialect in dialects.DIALECTS for name in dialect.tool_definition_attributes)
)
_REQUESTS: Final = tuple(dict.fromkeys(name for dialect in dialects.DIALECTS for name in dialect.request_attributes))
_ROLES: Final = frozenset({Role.AGENT, Role.MODEL, Role.OTHER})

ATTRIBUTES: Final = frozenset(name for name in (*_ANSWERS, *_OFFERS, *_REQUESTS) if not name.endswith("."))
PREFIXES: Final = tuple(name for name in (*_ANSWERS, *_OFFERS) if name.endswith("."))
"""What has to be decoded beyond what the dialects look at."""


def read_span(span: Span) -> GenAISpan | None:
    """As ``dialects.read_span``, and what the span tells a judge."""
    genai_span = dialects.read_span(span)
    if genai_span is None or genai_span is IGNORED or genai_span.role not in _ROLES:
        return genai_span
    answer = _first(span.attributes, _ANSWERS) or _answer_in_events(span)
    offered = _first(span.attributes, _OFFERS) or _request_kept_anyway(span, genai_span)
    return _with_content(genai_span, answer, offered)


def read_log(record: LogRecord) -> GenAISpan | None:
    """As ``dialects.read_log``, likewise."""
    genai_span = dialects.read_log(record)
    if genai_span is None:
        return None
    body = parse_any(record.body) if _names(record, semconv.EVENT_CHOICE) else None
    return _with_content(genai_span, record.attributes.get(semconv.OUTPUT_MESSAGES) or body, None)


def _with_content(genai_span: GenAISpan, answer: object, offered: object) -> GenAISpan:
    answer = _bounded_answer(answer)
    offered = offered if offered is genai_span.user_input else _bounded_offer(offered)
    if answer or offered:
        genai_span.content = Content(answer, offered)
    return genai_span


def _first(attributes: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The first of the attributes that says something; those of a prefix together, by their names."""
    for name in names:
        value = attributes.get(name)
        if not value and name.endswith("."):
            value = FlattenedAttributes((key, value) for key, value in attributes.items() if key.startswith(name))
        if value:
            return value
    return None


def _answer_in_events(span: Span) -> Any:
    for event in reversed(span.events):
        if event.name == semconv.EVENT_CHOICE:
            return event.attributes.get(semconv.EVENT_MESSAGE)
        if event.name == semconv.EVENT_INFERENCE_DETAILS:
            return event.attributes.get(semconv.OUTPUT_MESSAGES)
    return None


def _request_kept_anyway(span: Span, genai_span: GenAISpan) -> Any:
    """A whole request, with its history, is kept for nobody; but the run's first is, for the user's words in it.

    Only a model's: what an agent was asked is the user's alone to write, and would define tools.
    """
    request = _first(span.attributes, _REQUESTS) if genai_span.role is Role.MODEL else None
    return request if request is genai_span.user_input else None


def _bounded_answer(value: object) -> object:
    if type(value) is str and value[:1] not in ("{", "["):
        return value[:MAX_ANSWER]
    return value if _size(value) <= MAX_ANSWER else None


def _bounded_offer(value: object) -> object:
    if not value or _size(value) > MAX_OFFERED:
        return None
    if isinstance(value, FlattenedAttributes):
        return FlattenedAttributes(
            (key, sys.intern(text) if type(text) is str else text) for key, text in value.items()
        )
    return sys.intern(value) if type(value) is str else value


def _size(value: object) -> int:
    try:
        return len(value) if type(value) is str else len(repr(value))
    except (RecursionError, ValueError):
        return MAX_OFFERED + 1


def _names(record: LogRecord, event: str) -> bool:
    return event in (record.event_name, record.attributes.get(semconv.EVENT_NAME))
