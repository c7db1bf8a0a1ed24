"""Greedy pairings of expected with actual calls, and what they say of each actual call.

No published scorer pairs optimally: they take the first fit, left to right. These are those loops, once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TypeVar

from scorers.score import Outcome

W = TypeVar("W")
G = TypeVar("G")


def first_fit(wanted: Sequence[W], given: Sequence[G], fits: Callable[[W, G], bool]) -> list[int | None]:
    """For each wanted one the index of the first unused given one that fits it, or None. Each is used at most once."""
    free = list(range(len(given)))
    pairs: list[int | None] = []
    for one in wanted:
        place = next((place for place, index in enumerate(free) if fits(one, given[index])), None)
        pairs.append(None if place is None else free.pop(place))
    return pairs


def in_order_fit(wanted: Sequence[W], given: Sequence[G], fits: Callable[[W, G], bool]) -> list[int]:
    """The indexes of given at which wanted is found in order, others between; shorter than wanted where it is not.

    Leftmost matching finds the whole of wanted whenever any choice of places does.
    """
    found: list[int] = []
    for index, one in enumerate(given):
        if len(found) == len(wanted):
            break
        if fits(wanted[len(found)], one):
            found.append(index)
    return found


def outcomes(count: int, matched: Container[int | None], wrong: Container[int | None] = ()) -> list[Outcome]:
    """One outcome for each of ``count`` actual calls: matched, wrong arguments, else extra."""
    return [
        "matched" if index in matched else "wrong_arguments" if index in wrong else "extra" for index in range(count)
    ]
