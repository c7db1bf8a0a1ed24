"""How the activities of a log relate: which come before which, and which exclude each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from collector.learning.variants import Activity, Log, activities_of, least_support
from collector.statistics import chance_of_at_most

_SIGNIFICANT = 0.05  # of the test that two activities exclude each other
_MIN_PAIRS = 5  # runs with both, before an order of theirs is believed: by chance it would be 1 of 16
Pair = tuple[Activity, Activity]


class Relations:
    """What the runs of a log tell about each pair of activities."""

    def __init__(self, log: Log, noise: float) -> None:
        self.activities = activities_of(log)
        self._noise, self._total = noise, sum(log.values())
        self._runs: Counter[Activity] = Counter()
        self._together: Counter[Pair] = Counter()
        self._before: Counter[Pair] = Counter()
        for variant, runs in log.items():
            first, last = _places(variant)
            for activity in first:
                self._runs[activity] += runs
            for a, b in combinations(sorted(first), 2):
                self._together[a, b] += runs
                # All calls of the one before all of the other: tools that alternate have no order.
                if last[a] < first[b]:
                    self._before[a, b] += runs
                elif last[b] < first[a]:
                    self._before[b, a] += runs
        self._reach = self._closure()

    def excludes(self, a: Activity, b: Activity) -> bool:
        """Whether no run has both but by mistake, and chance does not explain it."""
        together, runs = self._together[_sorted(a, b)], sorted((self._runs[a], self._runs[b]))
        if together >= least_support(runs[0], self._noise):
            return False
        # Two rare tools hardly ever meet in any case: without the test they would be taken for alternatives.
        return chance_of_at_most(together, runs[0], runs[1], self._total) < _SIGNIFICANT

    def precedes(self, a: Activity, b: Activity) -> bool:
        """Whether a comes before b, in runs with both or by way of others."""
        # Both ways is a cycle, which noise or a loop makes: no order then.
        return b in self._reach[a] and a not in self._reach[b]

    def is_ordered(self, a: Activity, b: Activity) -> bool:
        """Whether one of the two comes before the other."""
        return self.precedes(a, b) or self.precedes(b, a)

    def belong_together(self, first: Sequence[Activity], second: Sequence[Activity]) -> bool:
        """Whether two groups may both be left out, but hardly one without the other."""
        # The most frequent activity stands for its group: the others may be optional within it.
        a, b = (max(group, key=self._runs.__getitem__) for group in (first, second))
        runs, together = self._runs[a] + self._runs[b], self._together[_sorted(a, b)]
        is_optional = self._total - max(self._runs[a], self._runs[b]) >= least_support(self._total, self._noise)
        return is_optional and runs - 2 * together < least_support(runs - together, self._noise)

    def _comes_before(self, a: Activity, b: Activity) -> bool:
        together = self._together[_sorted(a, b)]
        against = together - self._before[a, b]
        return together >= _MIN_PAIRS and against < least_support(together, self._noise)

    def _closure(self) -> dict[Activity, set[Activity]]:
        direct = {a: {b for b in self.activities if a != b and self._comes_before(a, b)} for a in self.activities}
        # Transitive, since tools that are rarely together in a run are ordered by those between them.
        reach = {}
        for start in self.activities:
            found: set[Activity] = set()
            waiting = [start]
            while waiting:
                new = direct[waiting.pop()] - found
                found |= new
                waiting += new
            reach[start] = found
        return reach


def components(activities: Sequence[Activity], linked: Callable[[Activity, Activity], bool]) -> list[list[Activity]]:
    """Returns the activities in groups such that no two of different groups are linked."""
    groups: list[list[Activity]] = []
    for activity in activities:
        apart = [group for group in groups if not any(linked(activity, other) for other in group)]
        joined = [other for group in groups if group not in apart for other in group]
        groups = [*apart, [*joined, activity]]
    return groups


def _places(variant: Iterable[Iterable[Activity]]) -> tuple[dict[Activity, int], dict[Activity, int]]:
    first: dict[Activity, int] = {}
    last: dict[Activity, int] = {}
    for at, step in enumerate(variant):
        for activity in step:
            first.setdefault(activity, at)
            last[activity] = at
    return first, last


def _sorted(a: Activity, b: Activity) -> Pair:
    return (a, b) if a < b else (b, a)
