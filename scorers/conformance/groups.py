"""The longest matching of a plain sequence of tools with groups of calls that are unordered among themselves.

After each group only one thing matters for each number of matches so far: the earliest position of the sequence at which they
can be complete, since whatever can follow a later position can follow an earlier one too. From such a position a group adds
its next match at the next position that one of its calls fits, as long as calls of one kind fit the same positions and calls
of two kinds no common one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scorers.work import Work

_START_COST = 15
_CALL_COST = 8


class _Reached(NamedTuple):
    """How a number of matches was reached after a group: by the first ``added`` of these positions."""

    positions: Sequence[int]
    added: int


def match_groups(kinds: Sequence[int], groups: Sequence[Mapping[int, Sequence[int]]], work: Work) -> list[int | None]:
    """Returns for each position of the sequence the call that matches it, or None; as many are matched as can be.

    ``kinds[position]`` is the kind of call that the position takes, and ``groups`` maps the kinds of each group to its calls.
    Raises WorkLimitError.
    """
    places: dict[int, list[int]] = {}
    for position, kind in enumerate(kinds):
        places.setdefault(kind, []).append(position)
    ends = [0]  # for each number of matches
    trail: list[list[_Reached]] = []
    for group in groups:
        best: list[int] = []
        reached: list[_Reached] = []
        calls = sum(map(len, group.values()))
        work.spend(len(ends) * (_START_COST + _CALL_COST * calls), "expect")
        # Each number of earlier matches is kept, not the largest alone: fewer may end at an earlier position,
        # from where this group and later ones match more.
        for count, start in enumerate(ends):
            found = _next_positions(places, group, start)
            for added in range(len(found) + 1):
                end = found[added - 1] + 1 if added else start
                if count + added == len(best):
                    best.append(end)
                    reached.append(_Reached(found, added))
                elif end < best[count + added]:
                    best[count + added], reached[count + added] = end, _Reached(found, added)
        ends = best
        trail.append(reached)
    return _assign(kinds, groups, trail)


def _next_positions(places: Mapping[int, Sequence[int]], group: Mapping[int, Sequence[int]], start: int) -> list[int]:
    """The positions from ``start`` on that the calls of a group can match, for each kind the earliest."""
    found: list[int] = []
    for kind, calls in group.items():
        of_kind = places.get(kind, ())
        first = bisect_left(of_kind, start)
        # More positions of a kind than the group has calls of it cannot all be matched.
        found += of_kind[first : first + len(calls)]
    found.sort()
    return found


def _assign(
    kinds: Sequence[int], groups: Sequence[Mapping[int, Sequence[int]]], trail: Sequence[Sequence[_Reached]]
) -> list[int | None]:
    assigned: list[int | None] = [None] * len(kinds)
    # Backwards from the largest number of matches after the last group.
    count = len(trail[-1]) - 1 if trail else 0
    for number in range(len(groups) - 1, -1, -1):
        positions, added = trail[number][count]
        unused = {kind: iter(calls) for kind, calls in groups[number].items()}
        for position in positions[:added]:
            assigned[position] = next(unused[kinds[position]])
        count -= added
    return assigned
