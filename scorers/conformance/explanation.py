"""The explanation of a native score: every edit with its cost, so that the value can be recomputed from it.

Tool names in it may come from agents, so they are shortened and unprintable characters are escaped. Argument values never
appear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scorers.quoting import shorten
from scorers.wording import quantity

MAX_EDITS = 12
"""Kinds of edits that are listed one by one."""


class Edit:
    """A difference from the expected run: its kind, the tool or constraint concerned, and its cost (0 if free)."""

    def __init__(self, kind: str, name: str, cost: int) -> None:
        self.kind, self.name, self.cost = kind, name, cost


def explain(value: float, edits: Sequence[Edit], sizes: Sequence[int], matched: int) -> str:
    """Returns ``score 0.500 = 1 - 3/(3 + 3): missing refund_card (cost 1), out of order check (cost 2); 1 call matched``.

    ``sizes`` are the numbers of expected calls, of calls made and, if constraints count, of constraints.
    """
    # Not in the f-strings below: compiled, one with a format of its own takes three times as long.
    rounded = format(value, ".3f")
    calls = f"{quantity(matched, 'call')} matched"
    if not any(sizes):
        return f"score {rounded}: nothing expected, nothing called"
    total = " + ".join([str(size) for size in sizes])
    cost = 0
    for edit in edits:
        cost += edit.cost
    formula = f"score {rounded} = 1 - {cost}/({total})"
    return f"{formula}: {', '.join(_list_edits(edits))}; {calls}" if edits else f"{formula}: {calls}"


def _list_edits(edits: Iterable[Edit]) -> list[str]:
    groups: dict[tuple[str, str], tuple[int, int]] = {}
    for edit in edits:
        times, total = groups.get((edit.kind, edit.name), (0, 0))
        groups[edit.kind, edit.name] = (times + 1, total + edit.cost)
    shown = [
        f"{kind} {shorten(name)}{'' if times == 1 else f' x{times}'} (cost {total})"
        for (kind, name), (times, total) in list(groups.items())[:MAX_EDITS]
    ]
    rest = list(groups.values())[MAX_EDITS:]
    return [*shown, f"{quantity(len(rest), 'more kind')} (cost {sum(total for _, total in rest)})"] if rest else shown
