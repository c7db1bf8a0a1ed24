"""The optimal alignment of a run with a pattern: which call is which expected one, at the fewest edits.

An edit is a missing call (expected, not made) or an extra one (made, not expected). The alignment is a cheapest one over
all runs the pattern accepts, all linear extensions of the observed order, and all ways to lay one along the other (as in
conformance checking by Adriansyah and van der Aalst); of several cheapest ones always the same is taken. A plain sequence
of calls along a plain sequence of tools is solved by the longest common subsequence, and a block in any order by an
assignment, in polynomial time whatever the run; everything else by search.
"""

from __future__ import annotations

from collections.abc import Sequence

from scorers.lcs import longest_common_subsequence
from scorers.matching import best_assignment
from scorers.pattern import Pattern
from scorers.search import Call, Pair, search


def align(pattern: Pattern, calls: Sequence[Call], steps: Sequence[int]) -> list[Pair]:
    """Every expected call of the cheapest reading with the number of the call that is it, or None where it is missing.

    ``steps[i]`` is the step of ``calls[i]``; it never falls, and calls of one step are unordered. Raises
    SearchLimitError where run and pattern are too entangled to search.
    """
    if pattern.chain is not None and len(set(steps)) == len(steps) and len({call.cost for call in calls}) < 2:
        # Of calls that cost alike the longest subsequence leaves the fewest over; else it need not be the cheapest.
        return _align_chain(pattern, pattern.chain, calls)
    if pattern.bag is not None:
        return _align_bag(pattern.bag, calls)
    # What is left: structure in the pattern, or calls of one step along a sequence.
    groups: dict[int, list[Call]] = {}
    for call, step in zip(calls, steps, strict=True):
        groups.setdefault(step, []).append(call)
    return search(pattern, list(groups.values()))


def _align_chain(pattern: Pattern, chain: Sequence[int], calls: Sequence[Call]) -> list[Pair]:
    # Most runs are just what was expected; they need no table.
    places = pattern.places
    if len(calls) == len(chain) and all(call.fits >> tool & 1 for tool, call in zip(chain, calls, strict=True)):
        return [(tool, call.number) for tool, call in zip(chain, calls, strict=True)]
    matched = longest_common_subsequence(len(chain), [places(call.fits) for call in calls])
    return [(tool, None if at is None else calls[at].number) for tool, at in zip(chain, matched, strict=True)]


def _align_bag(bag: Sequence[tuple[int, bool]], calls: Sequence[Call]) -> list[Pair]:
    places: dict[int, list[int]] = {}
    for call in calls:
        if call.fits not in places:
            places[call.fits] = [place for place, (tool, _) in enumerate(bag) if call.fits >> tool & 1]
    taken = best_assignment(
        [places[call.fits] for call in calls], [required for _, required in bag], [call.cost > 0 for call in calls]
    )
    # In the order of the run, what is missing last: the order in which a scorer of sequences will read it.
    found = sorted((at, tool) for at, (tool, _) in zip(taken, bag, strict=True) if at is not None)
    missing: list[Pair] = [(tool, None) for at, (tool, needed) in zip(taken, bag, strict=True) if at is None and needed]
    return [(tool, calls[at].number) for at, tool in found] + missing
