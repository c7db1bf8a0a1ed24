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
from scorers.conformance.observation import ObservedCall, bits
from scorers.conformance.pattern import Pattern
from scorers.conformance.search import Candidate, search
from scorers.work import Work

Alignment = tuple[Sequence[int], Partners]
"""The expected calls, as numbers of tools, and for each the call that matches it, or None."""


def align(pattern: Pattern, calls: list[ObservedCall], steps: list[int], work: Work) -> Alignment:
    """Returns every expected call of the cheapest alignment with the index of the call that matches it, or None.

    Call i is of step ``steps[i]``. Steps never decrease, and calls of one step are unordered. Raises WorkLimitError.
    """
    # The polynomial cases come first: the search is exponential at worst, and its limit of work would make an
    # error of a long run that each of these aligns easily.
    chain = pattern.chain
    same_cost = _same_cost(calls)
    # Equal costs, since the longest subsequence leaves over the fewest calls, not the cheapest ones.
    if chain is not None and same_cost and is_ascending(steps):
        return chain, _align_chain(pattern, chain, calls, work)
    fits, costs = [call.fits for call in calls], [call.cost for call in calls]
    if chain is not None:
        if steps[0] == steps[-1]:
            # Concurrent calls fit a sequence in whatever order it asks for.
            return chain, _assign([(tool, True) for tool in chain], fits, costs, work)
        # Where a call fits tools that another call fits only in part, which one takes a place can decide later matches.
        if same_cost and _are_disjoint(set(fits)):
            return chain, _align_groups(chain, fits, steps, work)
    if pattern.bag is not None:
        return _align_bag(pattern.bag, fits, costs, work)
    # A structured pattern, or calls of several steps that fit several tools of a sequence.
    groups: dict[int, list[Candidate]] = {}
    for index, (tools, step) in enumerate(zip(fits, steps, strict=True)):
        # A call that fits no tool changes no state: left in, it would only multiply the steps of the search.
        if tools:
            groups.setdefault(step, []).append(Candidate(index, tools, costs[index]))
    pairs = search(pattern, list(groups.values()), work)
    return [tool for tool, _ in pairs], [call for _, call in pairs]


def is_ascending(steps: Sequence[int]) -> bool:
    """Whether each of these steps is after the one before it."""
    before = -1
    for step in steps:
        if step <= before:
            return False
        before = step
    return True


def _same_cost(calls: list[ObservedCall]) -> bool:
    """Whether all calls cost the same. Only then is a longest common subsequence certain to be a cheapest alignment."""
    common = -1
    for call in calls:
        if call.fits:
            if common not in (-1, call.cost):
                return False
            common = call.cost
    return True


def _are_disjoint(kinds: Collection[int]) -> bool:
    """Whether no two of these sets of tools have a tool in common."""
    union, total = 0, 0
    for tools in kinds:
        union |= tools
        total += tools.bit_count()
    # Sets that overlap count a common tool twice in the total and once in the union.
    return union.bit_count() == total


def _align_groups(chain: Sequence[int], fits: Sequence[int], steps: Sequence[int], work: Work) -> Partners:
    # Unambiguous, since no two kinds of calls have a tool in common; 0 below is a tool that no call fits.
    kind_of = {tool: tools for tools in set(fits) for tool in bits(tools)}
    groups: dict[int, dict[int, list[int]]] = {}
    for call, (tools, step) in enumerate(zip(fits, steps, strict=True)):
        if tools:
            groups.setdefault(step, {}).setdefault(tools, []).append(call)
    return match_groups([kind_of.get(tool, 0) for tool in chain], list(groups.values()), work)


def _align_chain(pattern: Pattern, chain: tuple[int, ...], calls: list[ObservedCall], work: Work) -> Partners:
    # Most runs are nearly right: a common prefix and suffix are matched directly (some longest subsequence contains them),
    # and only the part between them needs the table.
    fitting = [index for index, call in enumerate(calls) if call.fits]
    start, stop, last = 0, len(chain), len(fitting)
    while start < stop and start < last and calls[fitting[start]].fits >> chain[start] & 1:
        start += 1
    while start < stop and start < last and calls[fitting[last - 1]].fits >> chain[stop - 1] & 1:
        stop, last = stop - 1, last - 1
    # One row for each call; an operation on a row takes time for each 64 positions.
    work.spend((last - start) * (5 + (stop - start) // 64) + 2 * (stop - start), "expect")
    between = (1 << (stop - start)) - 1
    masks = [pattern.positions(calls[index].fits) >> start & between for index in fitting[start:last]]
    matched = longest_common_subsequence(stop - start, masks)
    partners: Partners = [*fitting[:start]]
    partners += [None if call is None else fitting[start + call] for call in matched]
    partners += fitting[last:]
    return partners


def _align_bag(bag: Sequence[tuple[int, bool]], fits: Sequence[int], costs: Sequence[int], work: Work) -> Alignment:
    assigned = _assign(bag, fits, costs, work)
    # In the order of the run, missing calls last: the order in which a scorer of sequences will read them.
    matched = sorted((call, tool) for call, (tool, _) in zip(assigned, bag, strict=True) if call is not None)
    missing = [tool for call, (tool, required) in zip(assigned, bag, strict=True) if call is None and required]
    calls: Partners = [call for call, _ in matched]
    return [tool for _, tool in matched] + missing, calls + [None] * len(missing)


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
