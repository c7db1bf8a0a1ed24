"""The optimal alignment of a run with a pattern: which call is which expected one, with the fewest edits.

An edit is a missing call (expected, not made) or an extra one (made, not expected). The alignment is a cheapest one over
all runs the pattern accepts, all linear extensions of the observed order and all ways to align the two (conformance
checking, Adriansyah and van der Aalst). Among several cheapest alignments the choice is deterministic. A plain sequence of
calls against a plain sequence of tools is solved by the longest common subsequence, concurrent calls against it by
`groups` where each fits one tool, and a block in any order by an assignment, all in polynomial time for every run; everything
else is solved by search.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scorers.conformance.assignment import Partners, best_assignment
from scorers.conformance.groups import match_groups
from scorers.conformance.lcs import longest_common_subsequence
from scorers.conformance.observation import bits
from scorers.conformance.pattern import Pattern
from scorers.conformance.search import Candidate, Pair, search
from scorers.work import Work


def align(pattern: Pattern, fits: list[int], costs: list[int], steps: list[int], work: Work) -> list[Pair]:
    """Returns every expected call of the cheapest alignment with the index of the call that matches it, or None.

    For call i, ``fits[i]`` are the tools it can match, as bits, ``costs[i]`` (0 or 1) is the cost of leaving it over, and
    ``steps[i]`` is its step. Steps never decrease, and calls of one step are unordered. Raises WorkLimitError.
    """
    # The polynomial cases come first: the search is exponential at worst, and its limit of work would make an
    # error of a long run that each of these aligns easily.
    chain = pattern.chain
    if chain is not None:
        # Equal costs, since the longest subsequence leaves over the fewest calls, not the cheapest ones.
        if is_ascending(steps) and _same_cost(fits, costs):
            return _align_chain(pattern, chain, fits, work)
        if steps[0] == steps[-1]:
            # Concurrent calls fit a sequence in whatever order it asks for.
            assigned = _assign([(tool, True) for tool in chain], fits, costs, work)
            return list(zip(chain, assigned, strict=True))
        # Where a call fits tools that another call fits only in part, which one takes a place can decide later matches.
        if _same_cost(fits, costs) and _are_disjoint(set(fits)):
            return _align_groups(chain, fits, steps, work)
    if pattern.bag is not None:
        return _align_bag(pattern.bag, fits, costs, work)
    # A structured pattern, or calls of several steps that fit several tools of a sequence.
    groups: dict[int, list[Candidate]] = {}
    for index, (tools, step) in enumerate(zip(fits, steps, strict=True)):
        # A call that fits no tool changes no state: left in, it would only multiply the steps of the search.
        if tools:
            groups.setdefault(step, []).append(Candidate(index, tools, costs[index]))
    return search(pattern, list(groups.values()), work)


def is_ascending(steps: Sequence[int]) -> bool:
    """Whether each of these steps is after the one before it."""
    before = -1
    for step in steps:
        if step <= before:
            return False
        before = step
    return True


def _same_cost(fits: list[int], costs: list[int]) -> bool:
    """Whether all calls cost the same. Only then is a longest common subsequence certain to be a cheapest alignment."""
    common: int | None = None
    for index, tools in enumerate(fits):
        if tools:
            if common is not None and costs[index] != common:
                return False
            common = costs[index]
    return True


def _are_disjoint(kinds: Collection[int]) -> bool:
    """Whether no two of these sets of tools have a tool in common."""
    union, total = 0, 0
    for tools in kinds:
        union |= tools
        total += tools.bit_count()
    # Sets that overlap count a common tool twice in the total and once in the union.
    return union.bit_count() == total


def _align_groups(chain: Sequence[int], fits: Sequence[int], steps: Sequence[int], work: Work) -> list[Pair]:
    # Unambiguous, since no two kinds of calls have a tool in common; 0 below is a tool that no call fits.
    kind_of = {tool: tools for tools in set(fits) for tool in bits(tools)}
    groups: dict[int, dict[int, list[int]]] = {}
    for call, (tools, step) in enumerate(zip(fits, steps, strict=True)):
        if tools:
            groups.setdefault(step, {}).setdefault(tools, []).append(call)
    matched = match_groups([kind_of.get(tool, 0) for tool in chain], list(groups.values()), work)
    return list(zip(chain, matched, strict=True))


def _align_chain(pattern: Pattern, chain: tuple[int, ...], fits: list[int], work: Work) -> list[Pair]:
    # Most runs are nearly right: a common prefix and suffix are matched directly (some longest subsequence contains them),
    # and only the part between them needs the table.
    calls = [index for index, tools in enumerate(fits) if tools]
    start, stop, last = 0, len(chain), len(calls)
    while start < stop and start < last and fits[calls[start]] >> chain[start] & 1:
        start += 1
    while start < stop and start < last and fits[calls[last - 1]] >> chain[stop - 1] & 1:
        stop, last = stop - 1, last - 1
    # One row for each call; an operation on a row takes time for each 64 positions.
    work.spend((last - start) * (5 + (stop - start) // 64) + 2 * (stop - start), "expect")
    between = (1 << (stop - start)) - 1
    masks = [pattern.positions(fits[index]) >> start & between for index in calls[start:last]]
    matched = longest_common_subsequence(stop - start, masks)
    partners: list[int | None] = [*calls[:start]]
    partners += [None if call is None else calls[start + call] for call in matched]
    partners += calls[last:]
    return list(zip(chain, partners, strict=True))


def _align_bag(bag: Sequence[tuple[int, bool]], fits: Sequence[int], costs: Sequence[int], work: Work) -> list[Pair]:
    assigned = _assign(bag, fits, costs, work)
    # In the order of the run, missing calls last: the order in which a scorer of sequences will read them.
    matched = sorted((call, tool) for call, (tool, _) in zip(assigned, bag, strict=True) if call is not None)
    missing: list[Pair] = [
        (tool, None) for call, (tool, required) in zip(assigned, bag, strict=True) if call is None and required
    ]
    return [(tool, call) for call, tool in matched] + missing


def _assign(bag: Sequence[tuple[int, bool]], fits: Sequence[int], costs: Sequence[int], work: Work) -> Partners:
    """Returns the call assigned to each tool of a block in any order, or None."""
    distinct = set(fits)
    work.spend(len(distinct) * len(bag), "expect")
    positions = {tools: [at for at, (tool, _) in enumerate(bag) if tools >> tool & 1] for tools in distinct}
    # Of calls that fit the same tools no more than these tools can be matched, so the first ones suffice.
    kept: list[int] = []
    counts: dict[tuple[int, int], int] = {}
    for call, kind in enumerate(zip(fits, costs, strict=True)):
        count = counts.get(kind, 0)
        if count < len(positions[kind[0]]):
            counts[kind] = count + 1
            kept.append(call)
    edges, costly = [positions[fits[call]] for call in kept], [costs[call] > 0 for call in kept]
    assigned = best_assignment(edges, [required for _, required in bag], costly, work)
    return [None if call is None else kept[call] for call in assigned]
