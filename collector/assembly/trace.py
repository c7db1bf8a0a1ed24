"""One trace between its first span of interest and the day it is forgotten: what is kept of it, and its states.

There may be a hundred thousand of these: what most of them never have takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, Final, cast

from collector.model.genai_span import GenAISpan
from collector.otlp.lazy import Envelope, parent_links


class TraceState(Enum):
    """Where a trace is in its life."""

    OPEN = auto()
    CLOSED = auto()
    """Its verdict is given; it is only remembered."""
    REOPENED = auto()
    """Spans came after the verdict."""


class TraceEvent(Enum):
    """What can happen to a trace."""

    ARRIVED = auto()
    RELEASED = auto()


TRANSITIONS: dict[TraceState, dict[TraceEvent, TraceState]] = {
    TraceState.OPEN: {TraceEvent.ARRIVED: TraceState.OPEN, TraceEvent.RELEASED: TraceState.CLOSED},
    TraceState.CLOSED: {TraceEvent.ARRIVED: TraceState.REOPENED},
    TraceState.REOPENED: {TraceEvent.ARRIVED: TraceState.REOPENED, TraceEvent.RELEASED: TraceState.CLOSED},
}


def _nothing() -> dict[Any, Any]:
    """What most traces never have: shared, and so it cannot be written."""
    return _NOTHING


_NOTHING: Final = cast("dict[Any, Any]", MappingProxyType({}))


@dataclass(slots=True, eq=False)
class Trace:
    """One open or remembered trace. ``spans`` are keyed by span id, those of log records by a hash of the record."""

    trace_id: bytes
    opened: float
    touched: float
    links: bytearray
    state: TraceState = TraceState.OPEN
    due: float = 0.0
    """When it will be looked at; an entry in the heap with another time is stale."""
    waits: bool = False
    """It was due and not whole; anything new lets it settle again."""
    truncated: bool = False
    """Some of it was not kept, because a limit was reached."""
    spans: dict[bytes | int, GenAISpan] = field(default_factory=dict)
    held: dict[bytes, bytes] = field(default_factory=dict)
    """Spans that wait for the verdict, raw."""
    envelope: Envelope | None = None
    """What surrounded the first of them, and nearly always the others."""
    envelopes: dict[bytes, Envelope] = field(default_factory=_nothing)
    """What surrounded those that had something else around them."""
    verdicts: dict[bytes, tuple[int, int]] = field(default_factory=_nothing)
    """Anchor of each run that has its verdict: revision, and a fingerprint of what was scored."""
    seen: dict[bytes | int, bool] = field(default_factory=_nothing)
    """Spans of before a restart, of which only this is known: key, and whether it was held."""
    rows: list[int] | tuple[()] = ()
    """Where the journal keeps it."""
    context: Sequence[int] = ()
    """Where the journal keeps what was known of it, among others, before it opened."""
    mark: int = 0
    """Where the journal notes that it is finished; 0 for nowhere."""

    known_parents: dict[bytes, bytes] | None = None
    links_read: int = 0

    def hold(self, span_id: bytes, raw: bytes, envelope: Envelope) -> None:
        """Let a span wait for the verdict."""
        self.held[span_id] = raw
        if self.envelope is None:
            self.envelope = envelope
        elif envelope is not self.envelope and envelope != self.envelope:
            self.envelopes = self.envelopes or {}
            self.envelopes[span_id] = envelope

    def let_go(self) -> None:
        """No span waits any more."""
        self.held, self.envelope, self.envelopes = {}, None, _NOTHING

    def envelope_of(self, span_id: bytes) -> Envelope | None:
        """What surrounded a held span; where that one is not held, what surrounded others, None where none is."""
        return self.envelopes.get(span_id, self.envelope)

    def held_spans(self) -> Iterator[tuple[bytes, bytes, Envelope]]:
        """The held spans: id, raw span, what surrounded it."""
        if self.envelope is not None:
            for span_id, raw in self.held.items():
                yield span_id, raw, self.envelopes.get(span_id, self.envelope)

    def note_verdict(self, anchor: bytes, revision: int, fingerprint: int) -> None:
        """A run has its verdict."""
        self.verdicts = self.verdicts or {}
        self.verdicts[anchor] = (revision, fingerprint)

    def note_row(self, row: int) -> None:
        """The journal keeps some of it there."""
        self.rows = self.rows or []
        self.rows.append(row)

    def was_held(self, key: bytes | int) -> bool:
        """Whether a span it has is, or was, held."""
        return key in self.held or self.seen.get(key, False) or (key in self.spans and self.spans[key].annotatable)

    def step(self, event: TraceEvent) -> None:
        """Change state. Raises ValueError, and changes nothing, where the event cannot happen."""
        try:
            self.state = TRANSITIONS[self.state][event]
        except KeyError:
            raise ValueError(f"{event.name} cannot happen to a trace that is {self.state.name}") from None

    def parents(self) -> dict[bytes, bytes]:
        """Span id to parent id of every span seen, read or not."""
        if self.state is not TraceState.REOPENED:
            return parent_links(bytes(self.links))
        if self.known_parents is None:
            self.known_parents = {}
        if len(self.links) > self.links_read:  # asked for at each span of a long session: read only what is new
            self.known_parents.update(parent_links(bytes(self.links[self.links_read :])))
            self.links_read = len(self.links)
        return self.known_parents
