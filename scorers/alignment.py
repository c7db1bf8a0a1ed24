"""The optimal alignment of a run with a pattern: which call is which expected one, at the fewest edits.

An edit is a missing call (expected, not made) or an extra one (made, not expected). The alignment is a cheapest one over
all calls the pattern accepts, all linear extensions of the observed order, and all ways to lay one along the other (as
in conformance checking by Adriansyah and van der Aalst); of several cheapest ones always the same is taken. A plain
sequence is solved by its longest common subsequence and a block in any order by an assignment, in polynomial time
whatever the run; everything else by search.
"""

from __future__ import annotations

from collections.abc import Sequence

from scorers.lcs import longest_common_subsequence
from scorers.matching import best_assignment
from scorers.pattern import Pattern
from scorers.search import Call, Pair, search


def align(pattern: Pattern, steps: Sequence[Sequence[Call]]) -> list[Pair]:
    """Every expected call of the cheapest reading with the number of the call that is it, or None where it is missing.

    ``steps`` hold the calls in order, those of one step being unordered; calls that fit no tool may be left out, for
    they are extra in any alignment. Raises SearchLimitError where run and pattern are too entangled to search.
    """
    if pattern.bag is not None:
        return _align_bag(pattern.bag, [call for step in steps for call in step])
    if pattern.chain is not None and all(len(step) == 1 for step in steps) and _cost_alike(steps):
        return _align_chain(pattern.chain, [step[0] for step in steps])
    return search(pattern, [step for step in steps if step])


def _cost_alike(steps: Sequence[Sequence[Call]]) -> bool:
    """Where some left-over calls are free and others not, the longest subsequence need not be the cheapest."""
    return len({call.cost for step in steps for call in step}) < 2


def _align_chain(chain: Sequence[int], calls: Sequence[Call]) -> list[Pair]:
    places: dict[int, int] = {}
    for position, tool in enumerate(chain):
        places[tool] = places.get(tool, 0) | 1 << position
    fits: dict[int, int] = {}
    for call in calls:
        if call.fits not in fits:
            fits[call.fits] = sum(mask for tool, mask in places.items() if call.fits >> tool & 1)
    matched = dict(longest_common_subsequence(len(chain), [fits[call.fits] for call in calls]))
    return [(tool, calls[matched[at]].number if at in matched else None) for at, tool in enumerate(chain)]


def _align_bag(bag: Sequence[tuple[int, bool]], calls: Sequence[Call]) -> list[Pair]:
    fits = [sum(1 << place for place, (tool, _) in enumerate(bag) if call.fits >> tool & 1) for call in calls]
    taken = best_assignment(fits, [required for _, required in bag], [call.cost > 0 for call in calls])
    # In the order of the run, what is missing last: the order in which a scorer of sequences will read it.
    found = sorted((at, tool) for at, (tool, _) in zip(taken, bag, strict=True) if at is not None)
    missing: list[Pair] = [
        (tool, None) for at, (tool, required) in zip(taken, bag, strict=True) if at is None and required
    ]
    return [(tool, calls[at].number) for at, tool in found] + missing
