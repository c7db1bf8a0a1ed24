"""The optimal alignment of a run with a pattern: which call is which expected one, at the fewest edits.

An edit is a missing call (expected, not made) or an extra one (made, not expected). The alignment is a cheapest one over
all runs the pattern accepts, all linear extensions of the observed order, and all ways to lay one along the other (as in
conformance checking by Adriansyah and van der Aalst); of several cheapest ones always the same is taken. A plain sequence
of calls along a plain sequence of tools is solved by the longest common subsequence, and a block in any order by an
assignment, in polynomial time whatever the run; everything else by search.
"""

from __future__ import annotations

from collections.abc import Sequence

from scorers.conformance.assignment import best_assignment
from scorers.conformance.lcs import longest_common_subsequence
from scorers.conformance.pattern import Pattern
from scorers.conformance.search import Call, Pair, search


def align(pattern: Pattern, fits: Sequence[int], costs: Sequence[int], steps: Sequence[int]) -> list[Pair]:
    """Every expected call of the cheapest reading with the index of the call that is it, or None where it is missing.

    Of call i ``fits[i]`` are the tools it can be, as bits, ``costs[i]`` (0 or 1) is what leaving it over costs, and
    ``steps[i]`` its step: steps never fall, and calls of one step are unordered. Raises SearchLimitError where run and
    pattern are too entangled to search.
    """
    if pattern.chain is not None and len(set(steps)) == len(steps) and _cost_alike(fits, costs):
        return _align_chain(pattern, pattern.chain, fits)
    if pattern.bag is not None:
        return _align_bag(pattern.bag, fits, costs)
    # What is left: structure in the pattern, or calls of one step along a sequence.
    groups: dict[int, list[Call]] = {}
    for index, (tools, step) in enumerate(zip(fits, steps, strict=True)):
        if tools:
            groups.setdefault(step, []).append(Call(index, tools, costs[index]))
    return search(pattern, list(groups.values()))


def _cost_alike(fits: Sequence[int], costs: Sequence[int]) -> bool:
    """Of calls that cost alike the longest subsequence leaves the fewest over; else it need not be the cheapest."""
    return len({cost for tools, cost in zip(fits, costs, strict=True) if tools}) < 2


def _align_chain(pattern: Pattern, chain: Sequence[int], fits: Sequence[int]) -> list[Pair]:
    # Most runs are nearly right: equal ends are matched as they stand (some longest subsequence has them), and only what
    # is between them needs the table.
    calls = [index for index, tools in enumerate(fits) if tools]
    start, shorter = 0, min(len(chain), len(calls))
    while start < shorter and fits[calls[start]] >> chain[start] & 1:
        start += 1
    end = 0
    while end < shorter - start and fits[calls[-1 - end]] >> chain[-1 - end] & 1:
        end += 1
    stop, last = len(chain) - end, len(calls) - end
    between = (1 << (stop - start)) - 1
    masks = [pattern.places(fits[index]) >> start & between for index in calls[start:last]]
    matched = longest_common_subsequence(stop - start, masks)
    pairs: list[Pair] = list(zip(chain[:start], calls[:start], strict=True))
    for tool, at in zip(chain[start:stop], matched, strict=True):
        pairs.append((tool, None if at is None else calls[start + at]))
    pairs += zip(chain[stop:], calls[last:], strict=True)
    return pairs


def _align_bag(bag: Sequence[tuple[int, bool]], fits: Sequence[int], costs: Sequence[int]) -> list[Pair]:
    places: dict[int, list[int]] = {}
    for tools in fits:
        if tools not in places:
            places[tools] = [place for place, (tool, _) in enumerate(bag) if tools >> tool & 1]
    costly = [cost > 0 for cost in costs]
    taken = best_assignment([places[tools] for tools in fits], [required for _, required in bag], costly)
    # In the order of the run, what is missing last: the order in which a scorer of sequences will read it.
    found = sorted((at, tool) for at, (tool, _) in zip(taken, bag, strict=True) if at is not None)
    missing: list[Pair] = [(tool, None) for at, (tool, needed) in zip(taken, bag, strict=True) if at is None and needed]
    return [(tool, at) for at, tool in found] + missing
