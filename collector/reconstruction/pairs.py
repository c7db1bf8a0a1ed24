"""Pairs of records of the same thing by two instrumentations: those that are most alike, of items in order of start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from collector.checkpoints import checkpoint
from collector.model.genai_span import GenAISpan

MAX_COMPARED: Final = 32
"""With how many spans that start next a span is compared."""
_T = TypeVar("_T")

SeenBy = set[tuple[int, str]]
"""Runs, by ``id``, each with the scope of an instrumentation that recorded it too."""


def have_times(one: GenAISpan, other: GenAISpan) -> bool:
    """Whether both have a start and an end."""
    return bool(one.start_ns and one.end_ns and other.start_ns and other.end_ns)


def best_pairs(
    items: Sequence[_T], likeness: Callable[[_T, _T], tuple[int, ...] | None], span_of: Callable[[_T], GenAISpan]
) -> list[tuple[_T, _T]]:
    """Returns the pairs of ``items``, which are sorted by start, that are alike, the most alike first."""
    found: list[tuple[tuple[int, ...], int, _T, _T]] = []
    for at, one in enumerate(items):
        checkpoint()
        # Without an end nothing can be ruled out by time.
        end = max(span_of(one).start_ns, span_of(one).end_ns) if span_of(one).end_ns else float("inf")
        # Bounded: thousands of calls that run at once would otherwise be compared in pairs.
        for other in items[at + 1 : at + 1 + MAX_COMPARED]:
            if min(span_of(other).start_ns, span_of(other).end_ns) > end:
                break
            rank = likeness(one, other)
            if rank is not None:
                found.append((rank, len(found), one, other))
    # The number of the pair breaks ties, so that the items themselves are never compared.
    found.sort(key=lambda pair: pair[:2])
    return [(one, other) for _, _, one, other in found]


def distance(one: GenAISpan, other: GenAISpan) -> int:
    """Returns by how many ns two spans differ in start and end."""
    return abs(one.start_ns - other.start_ns) + abs(one.end_ns - other.end_ns)


def overlap(one: GenAISpan, other: GenAISpan, *, of_longer: bool) -> float:
    """Which part of the longer, or of the shorter, of two spans the other one covers; negative if they are apart."""
    if not one.start_ns or not other.start_ns:
        return -1.0
    begin, end = sorted((one.start_ns, one.end_ns))  # a clock set back meanwhile makes a span end before it starts
    other_begin, other_end = sorted((other.start_ns, other.end_ns))
    common = min(end, other_end) - max(begin, other_begin)
    lengths = end - begin, other_end - other_begin
    length = max(lengths) if of_longer else min(lengths)
    return common / length if length > 0 else 1.0 if common == 0 else -1.0
