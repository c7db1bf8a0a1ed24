"""The cheapest alignment in general: A* over the residuals of the pattern and the remaining calls.

A state is (step, open calls of that step, residual of the pattern). From it either a call of the step is matched, after
the pattern skips what must come before it, or the step is left and its open calls are extra. Calls of one step may be
taken in any order, so the result is the best over all linear extensions of the observed partial order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from scorers.conformance.pattern import Pattern
from scorers.work import Work

_STATE_COST = 70
_MOVE_COST = 30
_RESIDUAL_COST = 40

Pair = tuple[int, int | None]
"""A tool of the pattern and the call that matches it, or None if the tool is missing."""

State = tuple[int, int, int]
Edge = tuple[int, State, Sequence[Pair]]


class Candidate(NamedTuple):
    """A call that fits some tool: its index in the run, the tools it fits as bits, and the cost of leaving it over (0 or 1)."""

    call: int
    fits: int
    cost: int


class _Kind(NamedTuple):
    """Calls that the pattern does not distinguish."""

    tools: tuple[int, ...]
    cost: int


class _Step:
    """The calls of one step, sorted by kind, and the number of later calls of each kind."""

    def __init__(self, calls: Sequence[Candidate], kind_of: dict[tuple[int, int], int], later: Sequence[int]) -> None:
        # Calls of one kind stand together, and `open_kinds` tries only the first open one of each: equal calls in
        # every order would multiply the states without changing the cost.
        self.calls = sorted(calls, key=lambda call: (call.fits, call.cost, call.call))
        self.kinds = [kind_of[call.fits, call.cost] for call in self.calls]
        self.later = later
        self.all_open = (1 << len(calls)) - 1
        self.cost = 2 * len(calls) * (1 + len(calls) // 512)
        """Of a look at every call, in units of work."""

    def open_kinds(self, open_calls: int) -> Iterator[tuple[int, int]]:
        """The kinds among the open calls, each with the position of its first open call. The others are equivalent."""
        previous = -1
        for position, kind in enumerate(self.kinds):
            if open_calls >> position & 1 and kind != previous:
                previous = kind
                yield kind, position

    def counts(self, open_calls: int) -> list[int]:
        """The number of remaining calls of each kind: the open ones and the later ones."""
        counts = list(self.later)
        for position, kind in enumerate(self.kinds):
            counts[kind] += open_calls >> position & 1
        return counts


class _Search:
    """One search over the steps of one run."""

    def __init__(self, pattern: Pattern, steps: Sequence[Sequence[Candidate]], work: Work) -> None:
        self.pattern = pattern
        self.work = work
        keys = sorted({(call.fits, call.cost) for step in steps for call in step})
        kind_of = {key: kind for kind, key in enumerate(keys)}
        tools = range(len(pattern.tools))
        work.spend(len(steps) * (25 + len(keys)) + 2 * len(keys) * len(tools), "expect")
        self.kinds = [_Kind(tuple(tool for tool in tools if fits >> tool & 1), cost) for fits, cost in keys]
        self.kinds_of = [[kind for kind, (fits, _) in enumerate(keys) if fits >> tool & 1] for tool in tools]
        self.steps: list[_Step] = []
        later = [0] * len(keys)
        for calls in reversed(steps):
            self.steps.append(_Step(calls, kind_of, later))
            later = self.steps[-1].counts(self.steps[-1].all_open)
        self.steps.reverse()
        # A free call must not take a match that a costly one could have, so its matches are not certain.
        self.certain_cost = min((cost for _, cost in keys if cost), default=0)
        self.seen: set[int] = set()
        self.edges = sum(len(kind.tools) for kind in self.kinds)

    def run(self) -> list[Pair]:
        """Returns the pairs of a cheapest alignment, in an order that both the pattern and the steps allow."""
        start: State = (0, self._all_open(0), self.pattern.start)
        cheapest: dict[State, int] = {start: 0}
        came_from: dict[State, tuple[State, Sequence[Pair]]] = {}
        expanded: set[State] = set()
        # Among equal estimates the deepest state comes first, then the oldest: most runs are nearly right, and then the
        # bound is exact along the whole path, so the search goes straight to the end.
        queue = [(self._lower_bound(start), 0, 0, start)]
        while queue:
            _, depth, _, state = heappop(queue)
            if state[0] > len(self.steps):
                return _backtrack(came_from, state)
            # The bound is consistent, so a state is first popped at its least cost; later entries are costlier.
            if state in expanded:
                continue
            expanded.add(state)
            for cost, successor, pairs in self._successors(state):
                total = cheapest[state] + cost
                # Only if strictly cheaper: of several equal paths the first stays, so the result is deterministic.
                if total < cheapest.get(successor, total + 1):
                    cheapest[successor] = total
                    came_from[successor] = (state, pairs)
                    # The size of `came_from` orders equal estimates by age.
                    heappush(queue, (total + self._lower_bound(successor), depth - 1, len(came_from), successor))
        raise AssertionError("leaving every step and skipping the whole pattern is always possible")

    def _all_open(self, step: int) -> int:
        return self.steps[step].all_open if step < len(self.steps) else 0

    def _successors(self, state: State) -> Iterator[Edge]:
        number, open_calls, residual = state
        if number == len(self.steps):
            skipped = self.pattern.fewest(residual)
            yield len(skipped), (number + 1, 0, self.pattern.done), [(tool, None) for tool in skipped]
            return
        # A match that is certain to be among the best is taken alone. Otherwise n unordered tools would expand 2**n states,
        # one for each subset of calls that are extra, although each tool has exactly one call.
        matches = []
        for edge, is_certain in self._matches(state):
            if is_certain:
                yield edge
                return
            matches.append(edge)
        yield from matches
        kinds = self.steps[number].kinds
        extra = sum(self.kinds[kind].cost for position, kind in enumerate(kinds) if open_calls >> position & 1)
        yield extra, (number + 1, self._all_open(number + 1), residual), ()

    def _matches(self, state: State) -> Iterator[tuple[Edge, bool]]:
        """Every way to match an open call next, each with whether it is certain to be among the best."""
        number, open_calls, residual = state
        step = self.steps[number]
        self.work.spend(step.cost, "expect")
        for kind, position in step.open_kinds(open_calls):
            tools, cost = self.kinds[kind]
            call, still_open = step.calls[position].call, open_calls ^ (1 << position)
            self.work.spend(2 * len(tools), "expect")
            for tool in tools:
                for move in self.pattern.moves(residual, tool):
                    self.work.spend(_MOVE_COST + len(move.skipped), "expect")
                    pairs: list[Pair] = [*((missing, None) for missing in move.skipped), (tool, call)]
                    # A call that fits several tools may be needed for another of them later.
                    certain = len(tools) == 1 and cost >= self.certain_cost
                    certain = certain and (move.alone or (move.certain and tool in self.pattern.once))
                    yield (len(move.skipped), (number, still_open, move.residual), pairs), certain

    # The bound must stay consistent: `run` never looks at a state again once it was expanded.
    def _lower_bound(self, state: State) -> int:
        """A lower bound of the remaining cost: tools with too few calls left, and calls with too few tools left."""
        # Order is ignored and a call counts for every tool it fits, so the bound never exceeds the real cost. The two sums
        # may be added: one counts tools that will be missing, the other calls that will be extra.
        number, open_calls, residual = state
        units = _STATE_COST
        if residual not in self.seen:  # whether or not the pattern knows it from earlier runs
            self.seen.add(residual)
            units += _RESIDUAL_COST * self.pattern.width(residual)
        if number >= len(self.steps):
            self.work.spend(units, "expect")
            return len(self.pattern.fewest(residual)) if number == len(self.steps) else 0
        step = self.steps[number]
        counts = step.counts(open_calls)
        least, most = self.pattern.least(residual), self.pattern.most(residual)
        self.work.spend(units + step.cost + 5 * (len(counts) + len(least)) + 2 * self.edges, "expect")
        bound = 0.0
        for tool, times in least.items():
            shortage = times - sum([counts[kind] for kind in self.kinds_of[tool]])
            if shortage > 0:
                bound += shortage
        for count, (tools, cost) in zip(counts, self.kinds, strict=True):
            if cost and count:
                surplus = count - sum([most.get(tool, 0.0) for tool in tools], 0.0)
                if surplus > 0:
                    bound += surplus
        return int(bound)


def search(pattern: Pattern, steps: Sequence[Sequence[Candidate]], work: Work) -> list[Pair]:
    """Returns the pairs of a cheapest alignment of these steps with the pattern. Raises WorkLimitError: it never guesses."""
    return _Search(pattern, steps, work).run()


def _backtrack(came_from: dict[State, tuple[State, Sequence[Pair]]], state: State) -> list[Pair]:
    parts = []
    while state in came_from:
        state, pairs = came_from[state]
        parts.append(pairs)
    return [pair for pairs in reversed(parts) for pair in pairs]
