"""Traces in which no agent has shown up yet: what is known of them in case one does."""

from __future__ import annotations

from typing import Final

from collector.assembly.seen_from import SeenFrom
from collector.assembly.sizes import span_bytes
from collector.model.genai_span import GenAISpan

_ENTRY: Final = 400  # bytes of a trace without links


class Unclaimed:
    """Parent links and roots of one trace, and about how many bytes they take.

    ``before_ready``: it was known when the process became ready, from a process that saw traces from ``seen_from`` on.
    ``reading`` are the attributes that were read of its roots, None for all.
    """

    __slots__ = ("before_ready", "links", "reading", "roots", "seen_from", "size")

    def __init__(self, reading: frozenset[str] | None) -> None:
        self.reading = reading
        self.links = bytearray()
        self.roots: list[GenAISpan] = []
        self.size, self.before_ready = _ENTRY, False
        self.seen_from: SeenFrom | None = None


class UnclaimedTraces:
    """Parent links and roots by trace, evicted after one to two ``lifetime``s, or earlier beyond a number or size.

    Two generations instead of a timer for each trace: most traces never become an agent's.
    """

    def __init__(self, lifetime: float, limit: int, max_bytes: int) -> None:
        self._lifetime, self._limit, self._max_bytes = lifetime, limit, max_bytes // 2
        self._young: dict[bytes, Unclaimed] = {}
        self._old: dict[bytes, Unclaimed] = {}
        self._bytes = self._old_bytes = 0  # the latter as many as there were, whatever was claimed since
        self._since = 0.0
        self._seen_from: SeenFrom | None = None
        self.reading: frozenset[str] | None = None
        """The attributes that are read of spans now; None for all."""

    @property
    def used_bytes(self) -> int:
        """About how many bytes they take, at most."""
        return self._bytes + self._old_bytes

    def add_links(self, trace_id: bytes, links: bytes, max_links: int, now: float) -> None:
        """Add parent links, unless there are ``max_links`` bytes of them."""
        known = self._get(trace_id, now)
        if len(known.links) < max_links:
            known.links += links
            known.size += len(links)
            self._bytes += len(links)

    def add_root(self, trace_id: bytes, root: GenAISpan, received: int, max_roots: int, now: float) -> None:
        """Add a root, decoded from ``received`` bytes, unless there are ``max_roots`` of them."""
        known = self._get(trace_id, now)
        if len(known.roots) < max_roots:
            known.roots.append(root)
            size = span_bytes(root, received)
            known.size += size
            self._bytes += size

    def claim(self, trace_id: bytes) -> Unclaimed:
        """What is known of the trace, removed from here."""
        if trace_id in self._young:
            known = self._young.pop(trace_id)
            self._bytes -= known.size
            return known
        return self._old.pop(trace_id) if trace_id in self._old else Unclaimed(self.reading)

    def ready(self, seen_from: SeenFrom) -> None:
        """Note from when on a process sees traces; what is known so far was known to it or to one before it."""
        for known in (*self._young.values(), *self._old.values()):
            if not known.before_ready:
                known.before_ready, known.seen_from = True, self._seen_from
        self._seen_from = seen_from

    def _get(self, trace_id: bytes, now: float) -> Unclaimed:
        # The old generation goes as a whole. A trace that is seen again moves to the young one, so it outlives that.
        if now - self._since > self._lifetime or len(self._young) >= self._limit or self._bytes > self._max_bytes:
            self._old, self._young, self._since = self._young, {}, now
            self._old_bytes, self._bytes = self._bytes, 0
        known = self._young.get(trace_id)
        if known is None:
            known = self._young[trace_id] = self.claim(trace_id)
            self._bytes += known.size
        return known
