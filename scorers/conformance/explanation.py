"""The sentence of a native score: every edit with its cost, so that the value can be recomputed from it.

Names of tools in it may come from agents: they are cut, and unprintable characters are escaped. Argument values never
occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scorers.quoting import printable

MAX_EDITS = 12


class Edit(NamedTuple):
    """Something to repair: its kind in words, what it is about, and how many edits it takes (0 where it is free)."""

    kind: str
    name: str
    cost: int


def explain(value: float, edits: Sequence[Edit], sizes: Sequence[int], matched: int) -> str:
    """``score 0.500 = 1 - 3/(3 + 3): missing refund_card (1), out of order check_policy (2); 1 call matched``.

    ``sizes`` are the expected calls, the calls made and, where constraints count, their number.
    """
    calls = f"{matched} call{'' if matched == 1 else 's'} matched"
    if not any(sizes):
        return f"score {value:.3f}: nothing expected, nothing called"
    formula = f"score {value:.3f} = 1 - {sum(edit.cost for edit in edits)}/({' + '.join(map(str, sizes))})"
    return f"{formula}: {', '.join(_shown(edits))}; {calls}" if edits else f"{formula}: {calls}"


def _shown(edits: Iterable[Edit]) -> list[str]:
    groups: dict[tuple[str, str], tuple[int, int]] = {}
    for kind, name, cost in edits:
        times, total = groups.get((kind, name), (0, 0))
        groups[kind, name] = (times + 1, total + cost)
    shown = [
        f"{kind} {printable(name)}{'' if times == 1 else f' x{times}'} ({total})"
        for (kind, name), (times, total) in list(groups.items())[:MAX_EDITS]
    ]
    rest = list(groups.values())[MAX_EDITS:]
    return [*shown, f"{len(rest)} more kinds ({sum(total for _, total in rest)})"] if rest else shown
