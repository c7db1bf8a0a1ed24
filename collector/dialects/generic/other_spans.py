"""Spans in the conventions of HTTP and of databases, which are nothing else, whatever words are in their texts."""

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


def is_of_http_or_database(span: Span) -> bool:
    """Whether name and attributes are those of such a span, and hold no object: a body may be a call."""
    if span.events or span.name.partition(" ")[0] not in _NAMES:
        return False
    return all(key.startswith(_KEYS) and not _holds_object(key, value) for key, value in span.attributes.items())


def _holds_object(key: str, value: object) -> bool:
    if type(value) is str:
        return "{" in value and key not in _TEMPLATES
    return isinstance(value, (dict, list))
