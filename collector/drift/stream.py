"""The runs of one route and agent: counted by hour, and compared with the same hours of the week before.

Four windows, of an hour, six hours, a day and a week, each begin anew when they end (UTC). In each the runs since its
beginning are tested against the same hours of the ``baseline`` weeks before, so that the rhythm of days and weeks is no
change. The test is that of `collector.drift.comparison`, so it may be asked every minute without more false alarms. Each
window may cost its share of one false alarm a year over all streams and windows: expectations add up, whatever depends on
what. J. Shin, A. Ramdas and A. Rinaldo ("E-detectors", 2023) detect changes by such restarts. It holds where runs are
independent of each other and all facts have a slot.

Neither is drift what changes less than `comparison.MIN_CHANGE`, nor what only goes back to how it was the week before that:
an incident would be told a second time, a week later.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from math import log
from typing import Final

from collector.drift.comparison import MAX_FACTS, Change, Counts, Drift, Fact, compare
from collector.drift.versions import Version, Versions
from collector.statistics import log_evidence

MAX_STREAMS: Final = 100
"""Routes and agents whose runs are compared; the probability of a false alarm is shared by so many."""
FALSE_ALARMS_A_YEAR: Final = 1.0
WEEK: Final = 168  # hours
VERSION: Final = "version"
_WINDOWS: Final = (1, 6, 24, WEEK)
_HOURS_A_YEAR: Final = 8766
_RARE: Final = 0.005
_SUSPICIOUS: Final = log(20)


@dataclass(slots=True)
class _Window:
    hours: int
    start: int = -1
    before: Counts = field(default_factory=Counts)
    earlier: Counts = field(default_factory=Counts)
    """The same hours of the week before the baseline."""
    done: Counts = field(default_factory=Counts)
    """Its own runs. Those of the hour in progress count in the window of an hour alone: its mix is not that of a whole one."""
    drift: Drift | None = None
    previous: Drift | None = None
    """That of the window before it."""
    evidence: float | None = None
    """The logarithm of the e-value of the last test; None where there was none."""
    changes: tuple[Change, ...] = ()
    """What changed most by the last test, sure or not."""

    def enter(self, hour: int) -> None:
        """Begin anew where this hour is of another window."""
        start = hour // self.hours * self.hours
        if start != self.start:
            # Those of a week end with it, since then the baseline has the new ways itself. The others last until the next
            # window of their length has had its say.
            lasts = start == self.start + self.hours and self.hours < WEEK
            self.start, self.previous, self.drift = start, self.drift if lasts else None, None
            self.before, self.earlier, self.done = Counts(), Counts(), Counts()

    @property
    def threshold(self) -> float:
        """The logarithm of the mean of e-values from which on there is drift."""
        return log(MAX_STREAMS * len(_WINDOWS) * _HOURS_A_YEAR / self.hours / FALSE_ALARMS_A_YEAR)


class Stream:
    """Counts runs and says what changed. ``baseline`` is in weeks. Hours are those since 1970."""

    def __init__(self, baseline: int) -> None:
        self.baseline = baseline
        self.hours: dict[int, Counts] = {}
        self.facts: list[Fact | None] = [None] * MAX_FACTS
        self.refused = 0
        """The last hour in which there was no slot for a fact."""
        self.drift: Drift | None = None
        """The difference from the weeks before, if there is one."""
        self.release: Drift | None = None
        """The difference of the newest version from the one before, if there is one."""
        self.versions = Versions(MAX_STREAMS)
        self._slots: dict[str, int] = {}
        self._windows = [_Window(hours) for hours in _WINDOWS]
        self._rolled = self._first = -1

    def restore(
        self, hours: dict[int, Counts], facts: list[Fact | None], refused: int, versions: list[Version]
    ) -> None:
        """Go on from what was counted before."""
        self.hours, self.facts, self.refused = hours, facts, refused
        self.versions.known = {version.name: version for version in versions}
        self._slots = {fact.name: slot for slot, fact in enumerate(facts) if fact is not None}

    @property
    def evidence(self) -> dict[str, float]:
        """The logarithms of the e-values against "nothing changed", by window, `VERSION` for that of versions.

        Not the highest so far but the last: of collectors that see different runs, these add up.
        """
        found = {f"{window.hours}h": window.evidence for window in self._windows} | {VERSION: self.versions.evidence}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def suspected(self) -> tuple[Change, ...]:
        """What seems to have changed since the weeks before, where that is not sure yet: other collectors may know more."""
        known = [(window.evidence, window.changes) for window in self._windows if window.evidence is not None]
        evidence, changes = max(known, default=(0.0, ()))
        return changes if evidence >= _SUSPICIOUS else ()

    @property
    def latest(self) -> int:
        """The last hour in which a run was counted."""
        return max(self.hours, default=0)

    def is_ready(self, hour: int) -> bool:
        """Whether the whole baseline of this hour was seen."""
        return min(self.hours, default=hour) <= hour - WEEK * self.baseline

    @property
    def kept(self) -> int:
        """How many hours are kept: the longest window, what it is compared with, and the week before that."""
        return WEEK * (self.baseline + 2)

    def count(self, hour: int, facts: Collection[str], runs: int = 1, version: str = "") -> None:
        """Count runs of which the same facts are true, and of their version, "" where it is unknown."""
        counts = self.hours.get(hour)
        if counts is None:
            counts = self.hours[hour] = Counts()
        counts.runs += runs
        slots = list[int]()
        for fact in facts:
            slot = self._slots.get(fact)
            if slot is None and (slot := self._new_slot(fact, hour)) is None:
                self.refused = hour
                continue
            counts.hits[slot] += runs
            slots.append(slot)
        if version:
            self.versions.count(version, hour, slots, runs)

    def look(self, hour: int) -> Drift | None:
        """Test as of now: the hour in progress, and the longer windows when one has passed.

        Returns the drift that there is: that of the shortest window. What versions differ in is in ``release``.
        """
        if hour < self._rolled - 1 and self._was_ahead(hour):
            # As after a restart: the windows are those of hours that are still to come.
            self._windows, self._rolled = [_Window(hours) for hours in _WINDOWS], -1
        if hour > self._rolled:
            self._roll(hour)
        if (now := self.hours.get(hour)) is not None:
            current = self._windows[0]
            current.done = now
            self._test(current, hour)
        found = [drift for window in self._windows for drift in (window.drift, window.previous) if drift is not None]
        self.drift = min(found, key=lambda one: (one.hours, -one.since)) if found else None
        self.release = self.versions.look(hour, self.facts)
        return self.drift

    # ---- slots

    def _new_slot(self, fact: str, hour: int) -> int | None:
        if len(self._slots) == MAX_FACTS:
            return None
        slot = self.facts.index(None)
        # While there was no room it may have been true and not been counted.
        missed = self.refused > hour - self.kept
        self.facts[slot], self._slots[fact] = Fact(fact, hour, hour + 1 if missed else 0), slot
        return slot

    def _make_room(self, hour: int) -> None:
        """Forget what is true of hardly any run, where there is no room for anything new."""
        if len(self._slots) < MAX_FACTS:
            return
        self.refused = hour  # what is forgotten now may be true of later runs, and be taken for new
        total = Counts()
        for counts in self.hours.values():
            total.add(counts)
        for slot, fact in enumerate(self.facts):
            if fact is not None and total.hits[slot] < _RARE * total.runs:
                for counts in self.hours.values():
                    counts.hits[slot] = 0
                self.versions.forget(slot)
                self.facts[slot] = None
                del self._slots[fact.name]

    # ---- windows

    def _was_ahead(self, hour: int) -> bool:
        """Whether the clock was ahead before, and is not behind now: by it most of the hours have passed."""
        return sum(one > hour for one in self.hours) < len(self.hours) / 2

    def _roll(self, hour: int) -> None:
        for old in [one for one in self.hours if one <= hour - self.kept or one > hour]:
            del self.hours[old]
        self._make_room(hour)
        self._first = min(self.hours, default=hour)
        current, *longer = self._windows
        for window in longer:
            for one in range(max(self._rolled, hour - window.hours), hour):
                window.enter(one)
                self._pair(window, one)
            self._test(window, hour - 1)
            window.enter(hour)
        current.enter(hour)
        current.evidence = None  # until it has a run
        self._add_before(current, hour)
        self._rolled = hour

    def _pair(self, window: _Window, hour: int) -> None:
        """Add an hour and those it is compared with. One without the other would make it another mix of hours."""
        if hour in self.hours and self._add_before(window, hour):
            window.done.add(self.hours[hour])

    def _add_before(self, window: _Window, hour: int) -> bool:
        """Add what an hour is compared with; False if there is nothing."""
        before = [self.hours[one] for one in range(hour - WEEK * self.baseline, hour, WEEK) if one in self.hours]
        for counts in before:
            window.before.add(counts)
        if (earlier := self.hours.get(hour - WEEK * (self.baseline + 1))) is not None:
            window.earlier.add(earlier)
        return bool(before)

    # ---- the test

    def _test(self, window: _Window, hour: int) -> None:
        """Look for drift in a window up to this hour."""
        before, done = window.before, window.done
        first = window.start - WEEK * self.baseline
        window.evidence = None
        if not before.runs or not done.runs or self._first > first:
            return
        found = compare(self.facts, before, done, first, window.start, lambda *change: self._is_return(window, *change))
        window.evidence, window.changes = found.evidence, found.changes
        if found.evidence >= window.threshold and found.changes:
            window.drift = Drift(self._since(window, hour, found.slot) * 3600, window.hours, found.changes)

    @staticmethod
    def _is_return(window: _Window, slot: int, share: float, change: float) -> bool:
        """Whether the share is back to what it was before the baseline."""
        earlier = window.earlier
        return earlier.runs > 0 and abs(share - earlier.hits[slot] / earlier.runs) < abs(change) / 2

    def _since(self, window: _Window, end: int, slot: int) -> int:
        """The hour of the window from which on the fact's share fits a change best."""
        hours = [(hour, self.hours[hour]) for hour in range(window.start, end + 1) if hour in self.hours]
        runs, hits = window.before.runs, window.before.hits[slot]
        after_runs, after_hits = sum(one.runs for _, one in hours), sum(one.hits[slot] for _, one in hours)
        best, since = float("-inf"), window.start
        for hour, counts in hours:
            fit = log_evidence(hits, runs, after_hits, after_runs)
            if fit > best:
                best, since = fit, hour
            runs, hits = runs + counts.runs, hits + counts.hits[slot]
            after_runs, after_hits = after_runs - counts.runs, after_hits - counts.hits[slot]
        return since
