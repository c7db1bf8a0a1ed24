"""The cheapest alignment in general: A* over what is left of the pattern and of the calls.

A state is (step, calls of that step still open, rest of the pattern). From it a call of the step can be matched, with
what the pattern must skip before, or the step can be left, its open calls being extra. Calls of one step are taken in
whatever order suits: that is the best over the linear extensions of the observed partial order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from scorers.conformance.pattern import Pattern

MAX_STATES = 10_000
"""States one search may open: two tenths of a second or so. Beyond, the run is reported as not scorable, never guessed."""

Pair = tuple[int, int | None]
"""A tool of the pattern and the call that matches it, or None where it is missing."""

State = tuple[int, int, int]
Edge = tuple[int, State, Sequence[Pair]]


class SearchLimitError(RuntimeError):
    """The run and the pattern can be read together in too many ways."""


class Call(NamedTuple):
    """A call that fits some tool: its number, the bits of the tools it fits, and what leaving it over costs (0 or 1)."""

    number: int
    fits: int
    cost: int


class _Kind(NamedTuple):
    """Calls that are all the same to the pattern."""

    tools: tuple[int, ...]
    cost: int


class _Step:
    """The calls of one step, equal ones next to each other, and how many of each kind come after it."""

    def __init__(self, calls: Sequence[Call], kind_of: dict[tuple[int, int], int], later: Sequence[int]) -> None:
        self.calls = sorted(calls, key=lambda call: (call.fits, call.cost, call.number))
        self.kinds = [kind_of[call.fits, call.cost] for call in self.calls]
        self.later = later
        self.all_open = (1 << len(calls)) - 1

    # Of equal calls the first open one is taken: which of them it is makes no difference, so only one is tried.

    def open_kinds(self, open_calls: int) -> Iterator[tuple[int, int]]:
        """The kinds among the open calls, each with the place of the first open call of it."""
        before = -1
        for place, kind in enumerate(self.kinds):
            if open_calls >> place & 1 and kind != before:
                before = kind
                yield kind, place

    def counts(self, open_calls: int) -> list[int]:
        """How many calls of each kind are still to come, the open ones included."""
        counts = list(self.later)
        for place, kind in enumerate(self.kinds):
            counts[kind] += open_calls >> place & 1
        return counts


class _Search:
    """One search over the steps of one run."""

    def __init__(self, pattern: Pattern, steps: Sequence[Sequence[Call]]) -> None:
        self.pattern = pattern
        keys = sorted({(call.fits, call.cost) for step in steps for call in step})
        kind_of = {key: kind for kind, key in enumerate(keys)}
        tools = range(len(pattern.tools))
        self.kinds = [_Kind(tuple(tool for tool in tools if fits >> tool & 1), cost) for fits, cost in keys]
        self.kinds_of = [[kind for kind, (fits, _) in enumerate(keys) if fits >> tool & 1] for tool in tools]
        self.steps: list[_Step] = []
        later = [0] * len(keys)
        for calls in reversed(steps):
            self.steps.append(_Step(calls, kind_of, later))
            later = self.steps[-1].counts(self.steps[-1].all_open)
        self.steps.reverse()
        # A free call is not worth a match that a costly one could have: then nothing is certain of it.
        self.sure_cost = min((cost for _, cost in keys if cost), default=0)

    def run(self) -> list[Pair]:
        """The pairs of a cheapest alignment, in an order in which pattern and steps agree."""
        start: State = (0, self._all_open(0), self.pattern.start)
        cheapest: dict[State, int] = {start: 0}
        came_from: dict[State, tuple[State, Sequence[Pair]]] = {}
        done: set[State] = set()
        # Of equally promising states the deepest first, then the one found first: most runs are nearly right, and then
        # the bound is exact along the whole way, which is walked straight to its end without looking left or right.
        queue = [(self._still_to_pay(start), 0, 0, start)]
        while queue:
            _, depth, _, state = heappop(queue)
            if state[0] > len(self.steps):
                return _walk_back(came_from, state)
            # The bound never falls by more than a step costs, so a state is reached for its least cost when first taken
            # out; what remains of it in the queue came by a dearer way.
            if state in done:
                continue
            done.add(state)
            if len(done) > MAX_STATES:
                raise SearchLimitError(f"more than {MAX_STATES} ways to read the run along the pattern")
            for cost, following, pairs in self._next(state):
                total = cheapest[state] + cost
                if total < cheapest.get(following, total + 1):
                    cheapest[following] = total
                    came_from[following] = (state, pairs)
                    heappush(queue, (total + self._still_to_pay(following), depth - 1, len(came_from), following))
        raise AssertionError("leaving every step and skipping the rest is always possible")

    def _all_open(self, step: int) -> int:
        return self.steps[step].all_open if step < len(self.steps) else 0

    def _next(self, state: State) -> Iterator[Edge]:
        at, open_calls, rest = state
        if at == len(self.steps):
            skipped = self.pattern.fewest(rest)
            yield len(skipped), (at + 1, 0, self.pattern.done), [(tool, None) for tool in skipped]
            return
        step = self.steps[at]
        # What is sure to be among the best is taken alone. Without this, n unordered tools would be matched in all of
        # 2**n orders of calls that are extra or not, though each tool has its one call.
        matches = self._matches(state)
        certain = next((edge for edge, sure in matches if sure), None)
        if certain:
            yield certain
            return
        yield from (edge for edge, _ in matches)
        left = sum(self.kinds[kind].cost for place, kind in enumerate(step.kinds) if open_calls >> place & 1)
        yield left, (at + 1, self._all_open(at + 1), rest), ()

    def _matches(self, state: State) -> list[tuple[Edge, bool]]:
        """Every way to match an open call next, and whether it is sure to be among the best."""
        at, open_calls, rest = state
        found: list[tuple[Edge, bool]] = []
        for kind, place in self.steps[at].open_kinds(open_calls):
            tools, cost = self.kinds[kind]
            number, now_open = self.steps[at].calls[place].number, open_calls ^ (1 << place)
            for tool in tools:
                for move in self.pattern.moves(rest, tool):
                    pairs: list[Pair] = [*((missing, None) for missing in move.skipped), (tool, number)]
                    sure = len(tools) == 1 and cost >= self.sure_cost
                    sure = sure and (move.alone or (move.certain and tool in self.pattern.once))
                    found.append(((len(move.skipped), (at, now_open, move.rest), pairs), sure))
        return found

    def _still_to_pay(self, state: State) -> int:
        """A lower bound: tools with too few calls left for them, and calls with too few tools left for them."""
        # Order is ignored, and a call is offered to every tool it fits: both can only make it cheaper than it will be.
        # The two sums can be added, for one counts tools that will be missing and the other calls that will be extra.
        at, open_calls, rest = state
        if at >= len(self.steps):
            return len(self.pattern.fewest(rest)) if at == len(self.steps) else 0
        counts = self.steps[at].counts(open_calls)
        least, most = self.pattern.least(rest), self.pattern.most(rest)
        to_pay = 0.0
        for tool, times in least.items():
            short = times - sum([counts[kind] for kind in self.kinds_of[tool]])
            if short > 0:
                to_pay += short
        for count, (tools, cost) in zip(counts, self.kinds, strict=True):
            if cost and count:
                surplus = count - sum([most.get(tool, 0) for tool in tools])
                if surplus > 0:
                    to_pay += surplus
        return int(to_pay)


def search(pattern: Pattern, steps: Sequence[Sequence[Call]]) -> list[Pair]:
    """The pairs of a cheapest alignment of these steps with the pattern. Raises SearchLimitError."""
    return _Search(pattern, steps).run()


def _walk_back(came_from: dict[State, tuple[State, Sequence[Pair]]], state: State) -> list[Pair]:
    parts = []
    while state in came_from:
        state, pairs = came_from[state]
        parts.append(pairs)
    return [pair for pairs in reversed(parts) for pair in pairs]
