"""The cheapest alignment in general: A* over what is left of the pattern and of the calls.

A state is (step, calls of that step still open, rest of the pattern). From it a call of the step can be matched, with
what the pattern must skip before, or the step can be left, its open calls being extra. Calls of one step are taken in
whatever order suits: that is the best over the linear extensions of the observed partial order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from scorers.pattern import Pattern

MAX_STATES = 50_000
"""States one search may open: about half a second. Beyond it the run is reported as not scorable, never guessed."""

Pair = tuple[int, int | None]
"""A tool of the pattern and the call that matches it, or None where it is missing."""


class SearchLimitError(RuntimeError):
    """The run and the pattern can be read together in too many ways."""


class Call(NamedTuple):
    """A call that fits some tool: its number, a bit for each tool it fits, and what leaving it over costs (0 or 1)."""

    number: int
    fits: int
    cost: int


State = tuple[int, int, int]


class _Search:
    """One search. Open calls of a step are a bit set, equal ones being taken lowest first."""

    def __init__(self, pattern: Pattern, steps: Sequence[Sequence[Call]]) -> None:
        self.pattern = pattern
        self.steps = [sorted(step, key=lambda call: (call.fits, call.cost, call.number)) for step in steps]
        self.kinds = sorted({(call.fits, call.cost) for step in steps for call in step})
        # later[step][kind]: calls of this kind in the steps after this one.
        self.later = [[0] * len(self.kinds)]
        for step in reversed(self.steps):
            counts = self.later[-1].copy()
            for call in step:
                counts[self.kinds.index((call.fits, call.cost))] += 1
            self.later.append(counts)
        self.later.reverse()

    def run(self) -> list[Pair]:
        """The pairs of a cheapest alignment, in an order in which pattern and steps agree."""
        start: State = (0, self._all_open(0), self.pattern.start)
        cheapest: dict[State, int] = {start: 0}
        came_from: dict[State, tuple[State, Sequence[Pair]]] = {}
        # Of equally promising states the deepest first: then the one found first.
        queue = [(self._still_to_pay(start), 0, 0, start)]
        found = closed = 0
        while queue:
            _, depth, _, state = heappop(queue)
            if state[0] > len(self.steps):
                return _walk_back(came_from, state)
            closed += 1
            if closed > MAX_STATES:
                raise SearchLimitError(f"more than {MAX_STATES} ways to read the run along the pattern")
            paid = cheapest[state]
            for cost, following, pairs in self._next(state):
                total = paid + cost
                if total < cheapest.get(following, total + 1):
                    cheapest[following] = total
                    came_from[following] = (state, pairs)
                    found += 1
                    heappush(queue, (total + self._still_to_pay(following), depth - 1, found, following))
        raise AssertionError("leaving every step and skipping the rest is always possible")

    def _all_open(self, step: int) -> int:
        return (1 << len(self.steps[step])) - 1 if step < len(self.steps) else 0

    def _next(self, state: State) -> Iterator[tuple[int, State, Sequence[Pair]]]:
        at, open_calls, rest = state
        if at == len(self.steps):
            skipped = self.pattern.fewest(rest)
            yield len(skipped), (at + 1, 0, self.pattern.done), [(tool, None) for tool in skipped]
            return
        step = self.steps[at]
        before = None
        for place, call in enumerate(step):
            if not open_calls >> place & 1 or call[1:] == before:
                continue
            before = call[1:]
            for move in self.pattern.moves(rest):
                if call.fits >> move.tool & 1:
                    pairs = [*((tool, None) for tool in move.skipped), (move.tool, call.number)]
                    taken = (len(move.skipped), (at, open_calls ^ (1 << place), move.rest), pairs)
                    if move.certain and call.fits == 1 << move.tool and move.tool in self.pattern.once:
                        yield taken
                        return
                    yield taken
        left = sum(call.cost for place, call in enumerate(step) if open_calls >> place & 1)
        yield left, (at + 1, self._all_open(at + 1), rest), ()

    def _still_to_pay(self, state: State) -> int:
        """A lower bound: tools with too few calls left for them, and calls with too few tools left for them."""
        at, open_calls, rest = state
        if at >= len(self.steps):
            return len(self.pattern.fewest(rest)) if at == len(self.steps) else 0
        counts = self.later[at + 1].copy()
        for place, call in enumerate(self.steps[at]):
            if open_calls >> place & 1:
                counts[self.kinds.index((call.fits, call.cost))] += 1
        least, most = self.pattern.least(rest), self.pattern.most(rest)
        to_pay = 0.0
        available = dict.fromkeys(least, 0)
        for (fits, cost), count in zip(self.kinds, counts, strict=True):
            if count:
                room = 0.0
                for tool, times in most.items():
                    if fits >> tool & 1:
                        room += times
                        if tool in available:
                            available[tool] += count
                if cost and count > room:
                    to_pay += count - room
        for tool, times in least.items():
            if times > available[tool]:
                to_pay += times - available[tool]
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
