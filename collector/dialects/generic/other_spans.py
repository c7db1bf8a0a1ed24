"""Spans in the conventions of HTTP, of databases and of Prefect, which are nothing else, whatever words are in their texts."""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.span import Span

_NAMES: Final = frozenset({
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "HTTP", "SELECT", "INSERT", "UPDATE",
})  # fmt: skip
"""How the names of such spans begin."""
_TEMPLATES: Final = (semconv.HTTP_ROUTE, "url.template")
"""In which braces hold the name of a parameter."""
_KEYS: Final = (
    "http.", "url.", "server.", "client.", "network.", "net.", "user_agent.", "db.", "error.type", "peer.service", "thread.",
    "otel.",
)  # fmt: skip

_PREFECT: Final = "prefect"
"""The scope of Prefect's spans of flows and tasks, and what begins the keys of all that it writes."""


def is_of_prefect(span: Span) -> bool:
    """Whether a span is of a flow or a task of Prefect: of parameters (`tool_name`, `query`) it tells the types alone."""
    return span.scope.name == _PREFECT and all(key.startswith(_PREFECT) for key in span.attributes)


def is_of_http_or_database(span: Span) -> bool:
    """Whether name and attributes are those of such a span, and hold no object: a body may be a call."""
    if span.events or span.name.partition(" ")[0] not in _NAMES:
        return False
    return all(key.startswith(_KEYS) and not _holds_object(key, value) for key, value in span.attributes.items())


def _holds_object(key: str, value: object) -> bool:
    if type(value) is str:
        return "{" in value and key not in _TEMPLATES
    return isinstance(value, (dict, list))
