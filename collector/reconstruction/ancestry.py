"""Who is above whom in a trace: nearest agent, nearest tool, whether the way up is whole.

Every span is walked once, iteratively, so a trace of 100,000 spans in one line, or in a ring, stays linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from collector.model.genai_span import GenAISpan, Role

MAX_CONTEXT_STEPS = 256
"""How far above an anchor its context is looked for."""


class Above(NamedTuple):
    """What is above a span."""

    agent: GenAISpan | None
    tool: GenAISpan | None
    """The nearest tool execution, or group of them, between the span and that agent."""
    whole: bool
    """False where a parent on the way up is missing that should come here."""


_NOTHING_ABOVE = Above(None, None, True)
_BROKEN = Above(None, None, False)


class Ancestry:
    """The parent links of one trace, with what is known of the spans."""

    def __init__(self, spans: Mapping[bytes, GenAISpan], parents: Mapping[bytes, bytes]) -> None:
        self._spans = spans
        self._parents = parents
        self._inside: dict[bytes, Above] = {}

    def above(self, span_id: bytes) -> Above:
        """What is above ``span_id``. Siblings share the answer, and every span on the way up keeps its own."""
        parent = self._parent(span_id)
        known = self._inside.get(parent)
        return known if known is not None else self._climb(span_id, parent)

    def _climb(self, span_id: bytes, parent: bytes) -> Above:
        inside = self._inside
        path: list[bytes] = []
        child = span_id
        while (above := inside.get(parent)) is None:
            if not parent:
                above = _NOTHING_ABOVE
                break
            if parent not in self._parents and parent not in self._spans:
                reading = self._spans.get(child)
                above = _NOTHING_ABOVE if reading is not None and reading.remote_parent else _BROKEN
                break
            inside[parent] = _NOTHING_ABOVE  # until the way up is known, and for good where parents form a ring
            path.append(parent)
            child, parent = parent, self._parent(parent)
        for span in reversed(path):
            above = inside[span] = self._below(span, above)
        return above

    def _below(self, parent: bytes, above_parent: Above) -> Above:
        reading = self._spans.get(parent)
        if reading is not None:
            if reading.role is Role.AGENT:
                return Above(reading, None, above_parent.whole)
            if reading.role is Role.TOOL or reading.role is Role.GROUP:
                return Above(above_parent.agent, reading, above_parent.whole)
        return above_parent

    def _parent(self, span_id: bytes) -> bytes:
        reading = self._spans.get(span_id)
        return reading.parent_span_id if reading is not None else self._parents.get(span_id, b"")

    def upwards(self, span_id: bytes) -> Iterator[GenAISpan]:
        """The readings above ``span_id``, nearest first, as far as MAX_CONTEXT_STEPS."""
        for _ in range(MAX_CONTEXT_STEPS):
            span_id = self._parent(span_id)
            if not span_id:
                return
            reading = self._spans.get(span_id)
            if reading is not None:
                yield reading

    def root(self) -> bytes | None:
        """The span nothing is above, by what was seen; the first by time where there are several."""
        roots = [span_id for span_id, parent in self._parents.items() if not parent]
        if not roots:
            roots = [
                r.span_id for r in self._spans.values() if r.remote_parent and r.parent_span_id not in self._parents
            ]
        return min(roots, key=self._start) if roots else None

    def _start(self, span_id: bytes) -> tuple[int, bytes]:
        reading = self._spans.get(span_id)
        return (reading.start_ns, span_id) if reading is not None else (0, span_id)
