"""Which runs of a trace may have begun before this process could see it."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from collector.assembly.trace import Trace
from collector.model.genai_span import Role

_RECORDED: Final = (Role.TOOL, Role.MODEL)
"""What an agent does, as opposed to what encloses that."""


class Beginnings:
    """Tells which runs of a trace may have begun before this process could see it, by the spans it had when this was made."""

    def __init__(self, trace: Trace) -> None:
        self._seen_from, self._known_since_ns, self._spans = trace.seen_from, trace.known_since_ns, trace.spans
        self._recorded: list[int] | None = None

    def may_be_missing(self, anchor: bytes) -> bool:
        """Whether that of the run with this anchor may be; b"" means all of the trace."""
        if self._seen_from is None or (anchor and anchor not in self._spans):
            return False
        spans = self._spans.values()
        start = self._spans[anchor].start_ns if anchor else min([span.start_ns for span in spans], default=0)
        # Nearly every trace ends here. What follows looks at all of its spans, once.
        if start >= max(self._seen_from.latest_ns, self._known_since_ns):
            return False
        end = self._spans[anchor].end_ns if anchor else max([span.end_ns for span in spans], default=0)
        if start < self._known_since_ns <= end:
            return True
        if self._recorded is None:
            self._recorded = sorted([span.start_ns for span in spans if span.role in _RECORDED])
        at = bisect_left(self._recorded, start)
        first = self._recorded[at] if at < len(self._recorded) else end
        return self._seen_from.may_miss_beginning(start, end, first)
