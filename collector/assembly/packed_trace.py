"""An open trace that is quiet, in less than half of its memory: one compressed string instead of a hundred objects.

What its spans hold is in the raw bytes of those that are held as well, so compressed together it takes little more than they
do; where messages are recorded, a third. To pack and to unpack takes about as long as to take five spans.
"""

from __future__ import annotations

import marshal
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

import lz4.block

from collector.assembly.sizes import PACKED_TRACE
from collector.assembly.trace import Given, Trace
from collector.assembly.trace_state import TraceState
from collector.model.genai_span import GenAISpan, Role

SMALL: Final = 64 << 10
"""Bytes, as the assembler counts them, up to which it costs next to nothing to pack a trace."""
MAX_PACKED: Final = 1 << 20
"""Bytes of the largest trace that is packed, as the assembler counts them: to pack it takes about 2 ms."""
_NOT_PLAIN: Final = ("role", "resource", "tracing", "refusal", "tool_results", "attributes", "content")
_PLAIN: Final = tuple(field.name for field in fields(GenAISpan) if field.name not in _NOT_PLAIN)
_plain_of: Final = attrgetter(*_PLAIN)
_given_of: Final = attrgetter("revision", "fingerprint", "label", "conversation", "known_forbidden")


class PackedTrace:
    """All that a ``Trace`` was. ``held`` is how many spans it holds, ``size`` about how many bytes it takes."""

    __slots__ = ("due", "held", "objects", "size", "state", "trace_id")

    def __init__(self, trace_id: bytes, due: float, held: int, state: bytes, objects: tuple[Any, ...]) -> None:
        self.trace_id, self.due, self.held, self.state, self.objects = trace_id, due, held, state, objects
        self.size = PACKED_TRACE + len(state)


class _Objects:
    """What is kept as it is, since traces share it or nearly none has it: each once, by its place."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self._places: dict[int, int] = {}

    def place_of(self, kept: object) -> int:
        place = self._places.setdefault(id(kept), len(self.kept))
        if place == len(self.kept):
            self.kept.append(kept)
        return place


def pack(trace: Trace, max_bytes: int = MAX_PACKED) -> PackedTrace | None:
    """Returns the trace in little memory; None if it is larger than ``max_bytes``, busy, or holds what cannot be packed."""
    if trace.total_size > max_bytes or trace.evaluating or trace.leaving or trace.unconfirmed is not None:
        return None
    objects = _Objects()
    place_of = objects.place_of
    spans, places = list[tuple[Any, ...]](), dict[int, int]()
    for key, span in trace.spans.items():
        places[id(span)] = len(spans)
        rare = (span.resource, span.tracing, span.refusal, span.tool_results, span.content)
        spans.append((key, int(span.role), _plain_of(span), dict(span.attributes), [place_of(kept) for kept in rare]))
    state = (
        (trace.opened, trace.touched, bytes(trace.links), trace.state.value, trace.size, trace.truncated),
        (trace.waiting, trace.awaited, trace.has_agent, trace.release, trace.known_since_ns),
        [place_of(kept) for kept in (trace.resource, trace.seen_from, trace.past, trace.reading)],
        spans,
        dict(trace.held),
        place_of(trace.envelope),
        {span_id: place_of(envelope) for span_id, envelope in trace.other_envelopes.items()},
        {anchor: _given_of(given) for anchor, given in trace.verdicts.items()},
        dict(trace.seen),
        {beginning: [places[id(span)] for span in models] for beginning, models in trace.histories.items()},
    )
    try:
        packed = marshal.dumps(state)
    except ValueError:  # nested too deeply, or of a type that is no data
        return None
    return PackedTrace(trace.trace_id, trace.due, len(trace.held), lz4.block.compress(packed), tuple(objects.kept))


def unpack(packed: PackedTrace) -> Trace:
    """Returns the trace as it was."""
    times, flags, rare, spans, held, envelope, other_envelopes, verdicts, seen, histories = marshal.loads(  # noqa: S302 - our own
        lz4.block.decompress(packed.state)
    )
    objects = packed.objects
    opened, touched, links, state, size, truncated = times
    trace = Trace(packed.trace_id, opened, touched, bytearray(links), TraceState(state), size=size, truncated=truncated)
    trace.due = packed.due
    trace.waiting, trace.awaited, trace.has_agent, trace.release, trace.known_since_ns = flags
    trace.resource, trace.seen_from, trace.past, trace.reading = [objects[place] for place in rare]
    read = [_span_of(span, objects) for span in spans]
    trace.spans = {span[0]: read[at] for at, span in enumerate(spans)}
    trace.held, trace.envelope = held, objects[envelope]
    # What is empty stays what all traces share.
    if other_envelopes:
        trace.other_envelopes = {span_id: objects[at] for span_id, at in other_envelopes.items()}
    if verdicts:
        trace.verdicts = {anchor: Given(*given) for anchor, given in verdicts.items()}
    if seen:
        trace.seen = seen
    if histories:
        trace.histories = {beginning: [read[at] for at in models] for beginning, models in histories.items()}
    return trace


def _span_of(state: tuple[Any, ...], objects: tuple[Any, ...]) -> GenAISpan:
    _, role, plain, attributes, (resource, tracing, refusal, tool_results, content) = state
    span = GenAISpan(b"", b"", 0, 0, Role(role), "", objects[resource])
    for name, value in zip(_PLAIN, plain, strict=True):
        setattr(span, name, value)
    span.tracing = objects[tracing]
    span.refusal, span.tool_results, span.content = objects[refusal], objects[tool_results], objects[content]
    if attributes:
        span.attributes = attributes
    return span
