"""The runs of one route and agent by version (``service.version``): whether a new version does otherwise than the one before.

An hour of the new version is compared with one of the version before that is like it: the same hour, where both were in use,
or else the same hour a week ago, or else the same hour of the last day of its kind, a working day or one of a weekend (UTC). So
neither a rhythm nor what changes for all versions is the release's. The test is that of `collector.drift.comparison`,
from the version's first hour on: within that hour at any time, then at the end of each. It ends after a week.

Each release may cost one false alarm in `MAX_STREAMS` years: one a year where every route and agent has one a day.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final

from collector.drift.comparison import Counts, Drift, Fact, compare

MAX_VERSIONS: Final = 4
"""Versions of a route and agent that are counted apart; one that has had no run for some hours makes room for another."""
DAY: Final = 24  # hours
WEEK: Final = 7 * DAY
RELEASES_A_YEAR: Final = 365
_BOTH_IN_USE: Final = 10  # where the version before has a smaller part of the runs of the new one, it is going
_KEPT: Final = WEEK + DAY
_QUIET: Final = 2  # hours


@dataclass(slots=True)
class Version:
    """A version: its runs by the hour, and what it is compared with."""

    name: str
    born: int
    """The hour of its first run."""
    against: str | None
    """The version that was in use then; None for the first one."""
    hours: dict[int, Counts] = field(default_factory=dict)
    before: Counts = field(default_factory=Counts)
    done: Counts = field(default_factory=Counts)
    paired: int = -1
    """The hour up to which its runs are in ``done``, and those like them in ``before``."""
    evidence: float | None = None
    drift: Drift | None = None

    @property
    def latest(self) -> int:
        """The last hour in which it had a run."""
        return max(self.hours, default=-1)


class Versions:
    """Counts runs by version, and says how the newest differs from the one before. Hours are those since 1970."""

    def __init__(self, max_streams: int) -> None:
        self.known: dict[str, Version] = {}
        """By name, the oldest first."""
        self._threshold = log(max_streams * RELEASES_A_YEAR)

    def count(self, name: str, hour: int, slots: Iterable[int], runs: int) -> None:
        """Count runs of a version of which the facts in these slots are true."""
        version = self.known.get(name)
        if version is None:
            if len(self.known) == MAX_VERSIONS and not self._make_room(hour):
                return
            # Where several are in use, that of most runs: the others are canaries.
            before = max(self.known.values(), key=lambda one: (one.latest, one.hours[one.latest].runs), default=None)
            version = self.known[name] = Version(name, hour, None if before is None else before.name, paired=hour)
        counts = version.hours.setdefault(hour, Counts())
        counts.runs += runs
        for slot in slots:
            counts.hits[slot] += runs

    def forget(self, slot: int) -> None:
        """Free a slot for another fact."""
        for version in self.known.values():
            for counts in (version.before, version.done, *version.hours.values()):
                counts.hits[slot] = 0

    @property
    def evidence(self) -> float | None:
        """The logarithm of the e-value against "the newest version does as the one before"; None without such."""
        return newest.evidence if (newest := self._newest()) is not None else None

    def look(self, hour: int, facts: Sequence[Fact | None]) -> Drift | None:
        """Test as of now. Returns how the newest version differs, while it is in use and for a week at most."""
        for version in list(self.known.values()):
            for old in [one for one in version.hours if one <= hour - _KEPT or one > hour]:
                del version.hours[old]
            if not version.hours:
                del self.known[version.name]
        newest = self._newest()
        if newest is None or newest.against is None:
            return None
        if hour >= newest.born + WEEK or newest.latest < hour - _QUIET:
            newest.evidence = newest.drift = None
            return None
        if hour == newest.born:
            # It may have none: where the clock was ahead as the version was born, and was set since.
            if hour in newest.hours:
                before = Counts()
                self._add_alike(newest, hour, before)
                self._test(newest, before, newest.hours[hour], facts)
        elif newest.paired < hour:
            for one in range(newest.paired, hour):
                if one in newest.hours and self._add_alike(newest, one, newest.before):
                    newest.done.add(newest.hours[one])
            newest.paired = hour
            self._test(newest, newest.before, newest.done, facts)
        return newest.drift

    def _newest(self) -> Version | None:
        newest = next(reversed(self.known.values()), None)
        return newest if newest is not None and newest.against in self.known else None

    def _make_room(self, hour: int) -> bool:
        quiet = min(self.known.values(), key=lambda one: one.latest)
        if quiet.latest > hour - _QUIET:
            return False
        del self.known[quiet.name]
        return True

    def _add_alike(self, version: Version, hour: int, to: Counts) -> bool:
        """Add the hours of the version before that are like this one; False if there are none."""
        hours = self.known[version.against or ""].hours
        if hour in hours and hours[hour].runs * _BOTH_IN_USE >= version.hours[hour].runs:
            alike: int | None = hour
        elif hour - WEEK in hours:
            alike = hour - WEEK
        else:
            days = (hour - DAY * days for days in range(1, 7))
            alike = next((one for one in days if one in hours and _is_weekend(one) == _is_weekend(hour)), None)
        if alike is not None:
            to.add(hours[alike])
        return alike is not None

    def _test(self, version: Version, before: Counts, now: Counts, facts: Sequence[Fact | None]) -> None:
        if not before.runs or not now.runs:
            return
        first = min(self.known[version.against or ""].hours)
        found = compare(facts, before, now, first, version.born)
        version.evidence = found.evidence
        if found.evidence >= self._threshold and found.changes:
            versions = (version.name, version.against or "")
            version.drift = Drift(version.born * 3600, version.latest + 1 - version.born, found.changes, versions)


def _is_weekend(hour: int) -> bool:
    return (hour // DAY + 3) % 7 >= 5  # 1970 began on a Thursday
