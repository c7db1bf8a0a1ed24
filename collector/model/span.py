"""Decoded spans and log records: plain data, only what reconstruction needs.

IDs are bytes, times are integer Unix nanoseconds. Attributes are only those that a dialect or the configuration names;
their values are plain Python: str, bool, int, float, bytes, list, dict or None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

SPAN_KIND_SERVER: Final = 2
SPAN_KIND_CLIENT: Final = 3
SPAN_KIND_CONSUMER: Final = 5
STATUS_OK: Final = 1
STATUS_ERROR: Final = 2


@dataclass(frozen=True, slots=True)
class Resource:
    """The source of the spans, with all its attributes: they are few, and rules may match any of them."""

    attributes: Mapping[str, Any]

    @property
    def service(self) -> str | None:
        """``service.name``, or None if it is not set."""
        name = self.attributes.get("service.name")
        return name if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class Scope:
    """The instrumentation scope: the library that wrote the span."""

    name: str
    version: str


@dataclass(slots=True)
class SpanEvent:
    """An event recorded inside a span."""

    name: str
    time_ns: int
    attributes: dict[str, Any]


@dataclass(slots=True, init=False)
class Span:
    """One span. ``parent_span_id`` is empty for a root; ``remote_parent`` is None if the flags do not say."""

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes
    name: str
    kind: int
    start_ns: int
    end_ns: int
    status: int
    status_message: str
    remote_parent: bool | None
    attributes: dict[str, Any]
    events: Sequence[SpanEvent]
    resource: Resource
    scope: Scope
    is_whole: bool
    """Whether all its attributes were decoded, not only the selected ones, or all that may tell of a call without arguments."""
    lacks_attributes: bool
    """Whether the SDK dropped attributes: it keeps 128 of a span, unless it is told otherwise."""
    lacks_events: bool
    """Whether it dropped events, of which it keeps as many."""

    # Written out: that of a dataclass stays interpreted in the compiled build.
    def __init__(  # noqa: PLR0913, PLR0917 - all that a span has
        self,
        trace_id: bytes,
        span_id: bytes,
        parent_span_id: bytes,
        name: str,
        kind: int,
        start_ns: int,
        end_ns: int,
        status: int,
        status_message: str,
        remote_parent: bool | None,
        attributes: dict[str, Any],
        events: Sequence[SpanEvent],
        resource: Resource,
        scope: Scope,
        is_whole: bool = True,
        lacks_attributes: bool = False,
        lacks_events: bool = False,
    ) -> None:
        self.trace_id, self.span_id, self.parent_span_id = trace_id, span_id, parent_span_id
        self.name, self.kind, self.start_ns, self.end_ns = name, kind, start_ns, end_ns
        self.status, self.status_message, self.remote_parent = status, status_message, remote_parent
        self.attributes, self.events, self.resource, self.scope = attributes, events, resource, scope
        self.is_whole, self.lacks_attributes, self.lacks_events = is_whole, lacks_attributes, lacks_events


def copied(span: Span, name: str, attributes: dict[str, Any]) -> Span:
    """Returns the span with another name and other attributes."""
    return Span(
        span.trace_id, span.span_id, span.parent_span_id, name, span.kind, span.start_ns, span.end_ns, span.status,
        span.status_message, span.remote_parent, attributes, span.events, span.resource, span.scope, span.is_whole,
        span.lacks_attributes, span.lacks_events,
    )  # fmt: skip


@dataclass(slots=True)
class LogRecord:
    """One log record, joined to a span by its ids, which are empty if it has none."""

    trace_id: bytes
    span_id: bytes
    event_name: str
    time_ns: int
    attributes: Mapping[str, Any]
    body: Any
    resource: Resource
    scope: Scope
