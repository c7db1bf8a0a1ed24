"""Greedy pairings of expected with actual calls, and the resulting outcomes.

No published scorer pairs optimally: they take the first match, from left to right.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TypeVar

from scorers.score import Outcome

W = TypeVar("W")
G = TypeVar("G")


def first_fit(wanted: Sequence[W], given: Sequence[G], fits: Callable[[W, G], bool]) -> list[int | None]:
    """Returns for each wanted call the index of the first unused given call that fits it, or None."""
    free = list(range(len(given)))
    pairs: list[int | None] = []
    for one in wanted:
        place = next((place for place, index in enumerate(free) if fits(one, given[index])), None)
        pairs.append(None if place is None else free.pop(place))
    return pairs


def in_order_fit(wanted: Sequence[W], given: Sequence[G], fits: Callable[[W, G], bool]) -> list[int]:
    """Returns the indexes at which the wanted calls occur in order among the given ones; fewer than wanted if not all do.

    Leftmost matching finds all wanted calls whenever any choice of indexes does.
    """
    found: list[int] = []
    for index, one in enumerate(given):
        if len(found) == len(wanted):
            break
        if fits(wanted[len(found)], one):
            found.append(index)
    return found


def outcomes(count: int, matched: Container[int | None], wrong: Container[int | None] = ()) -> list[Outcome]:
    """Returns one outcome for each of ``count`` actual calls: matched, wrong arguments, otherwise extra."""
    return [
        "matched" if index in matched else "wrong_arguments" if index in wrong else "extra" for index in range(count)
    ]
