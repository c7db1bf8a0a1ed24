"""Pairings of expected with actual calls, and the resulting outcomes.

Nearly all published scorers take the first match, from left to right; one pairs optimally (`heaviest_pairs`).
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


def heaviest_pairs(weights: Sequence[Sequence[int]]) -> dict[int, int]:
    """Returns a column for each row: as many pairs as possible, of the largest total weight.

    Of several such pairings it is the one in which the first row has no column or else the lowest, then the second row, ...
    """
    rows, columns = len(weights), len(weights[0]) if weights else 0
    # Integers, exact at any size: floats would lose the digits that decide between pairings of equal weight.
    base = columns + 1
    # One number orders pairings first by their total, then by the columns of the rows: digits of a number to this base.
    costs = [
        [(column + 1) * base ** (rows - 1 - row) - weight * base**rows for column, weight in enumerate(of_row)]
        for row, of_row in enumerate(weights)
    ]
    if rows <= columns:
        return dict(enumerate(_cheapest_columns(costs)))
    return {
        row: column for column, row in enumerate(_cheapest_columns([list(one) for one in zip(*costs, strict=True)]))
    }


def _cheapest_columns(costs: Sequence[Sequence[int]]) -> list[int]:
    """Returns a column of its own for each row, at the least total cost; there are at least as many columns as rows.

    The Hungarian algorithm: each row in turn takes the end of the shortest path to a free column, by reduced costs. Rows and
    columns are numbered from 1; column 0 is where a path starts, and row 0 is no row.
    """
    columns = len(costs[0]) if costs else 0
    row_of, of_column, of_row = [0] * (columns + 1), [0] * (columns + 1), [0] * (len(costs) + 1)
    for start in range(1, len(costs) + 1):
        row_of[0], column = start, 0
        distance: dict[int, int] = {}
        came_from: dict[int, int] = {}
        reached: list[int] = []
        while row := row_of[column]:
            reached.append(column)
            for other in range(1, columns + 1):
                length = costs[row - 1][other - 1] - of_row[row] - of_column[other]
                if other not in reached and length < distance.get(other, length + 1):
                    distance[other], came_from[other] = length, column
            step, column = min((length, other) for other, length in distance.items())
            del distance[column]
            for other in reached:
                of_row[row_of[other]] += step
                of_column[other] -= step
            distance = {other: length - step for other, length in distance.items()}
        while column:
            row_of[column], column = row_of[came_from[column]], came_from[column]
    chosen = {row: column for column, row in enumerate(row_of) if column}
    return [chosen[row] - 1 for row in range(1, len(costs) + 1)]


def outcomes(count: int, matched: Container[int | None], wrong: Container[int | None] = ()) -> list[Outcome]:
    """Returns one outcome for each of ``count`` actual calls: matched, wrong arguments, otherwise extra."""
    return [
        "matched" if index in matched else "wrong_arguments" if index in wrong else "extra" for index in range(count)
    ]
