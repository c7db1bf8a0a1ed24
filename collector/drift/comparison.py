"""Two samples of runs compared by the facts that are counted of them: how sure it is that they differ, and in what.

The evidence is a mean of e-values (`collector.statistics.log_evidence`), one for each of `MAX_FACTS` slots, so it may be asked
after each run. A slot that is not in use, or whose fact is not to decide, counts as 1, which is an e-value too: so the
evidence of samples without a difference stays close to 1, and that of collectors which see different runs may be multiplied.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import exp, log
from typing import Final, NamedTuple

from collector.statistics import log_evidence
from scorers.quoting import shorten

MAX_FACTS: Final = 64
"""Facts that are counted of the runs of one route and agent: rare ones make room for new ones."""
MIN_CHANGE: Final = 0.01
"""The smallest change of a share of runs that is drift."""
_SHOWN: Final = 3


class Change(NamedTuple):
    """One fact whose share of the runs changed: ``now`` and ``before``, from 0 to 1."""

    fact: str
    now: float
    before: float

    def __str__(self) -> str:
        return f"{self.fact} in {_percent(self.now)} of runs ({_percent(self.before)} before)"


class Drift(NamedTuple):
    """A difference that chance does not explain. ``since`` is the hour in which it seems to have begun, in Unix seconds."""

    since: int
    hours: int
    """The length of the window that shows it."""
    changes: tuple[Change, ...]
    """Those that are the surest, first."""
    versions: tuple[str, str] | None = None
    """The version that differs and the one before it, where it is they that are compared."""

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M UTC")
        of = "" if self.versions is None else "version {} differs from {}: ".format(*map(shorten, self.versions))
        return f"{of}since {since} {'; '.join(map(str, self.changes))}"


@dataclass(slots=True)
class Counts:
    """How many runs there were, and of how many each fact is true, by its slot."""

    runs: int = 0
    hits: array[int] = field(default_factory=lambda: array("I", bytes(4 * MAX_FACTS)))

    def add(self, other: Counts) -> None:
        """Add what another one counted."""
        self.runs += other.runs
        for slot, hits in enumerate(other.hits):
            if hits:
                self.hits[slot] += hits


@dataclass(slots=True)
class Fact:
    """What a slot counts. Its counts are complete from the hour ``since`` on, 0 for always; it was first seen at ``born``."""

    name: str
    born: int
    since: int


class Comparison(NamedTuple):
    """What two samples differ in."""

    evidence: float
    """The logarithm of the mean of e-values."""
    changes: tuple[Change, ...]
    """The surest, first."""
    slot: int
    """That of the first of them; -1 where nothing changed."""


def compare(
    facts: Sequence[Fact | None],
    before: Counts,
    now: Counts,
    first: int,
    start: int,
    is_return: Callable[[int, float, float], bool] = lambda *_: False,
) -> Comparison:
    """Returns how the runs ``now`` differ from those ``before``, the first of which were in the hour ``first``.

    The facts that decide are those born before the hour ``start``: chosen by what is in the sample, they would be found by
    chance. The others may only tell what else changed. ``is_return`` says of a slot, its share now and its change whether it
    is only back to what it once was.
    """
    found, tested = list[tuple[float, str, int]](), list[float]()
    for slot, fact in enumerate(facts):
        if fact is None or fact.since > first:
            continue
        share = now.hits[slot] / now.runs
        change = share - before.hits[slot] / before.runs
        evidence = log_evidence(before.hits[slot], before.runs, now.hits[slot], now.runs)
        if abs(change) < MIN_CHANGE or is_return(slot, share, change):
            evidence = min(evidence, 0.0)
        else:
            found.append((evidence, fact.name, slot))
        if fact.born < start:
            tested.append(evidence)
    found.sort(key=lambda one: (-one[0], one[1]))
    changes = dict[tuple[float, float], Change]()
    for _, name, slot in found:
        shares = now.hits[slot] / now.runs, before.hits[slot] / before.runs
        # Facts that are true of the same runs say the same.
        changes.setdefault(shares, Change(name, *shares))
    return Comparison(_log_mean(tested), tuple(changes.values())[:_SHOWN], found[0][2] if found else -1)


def _log_mean(logs: Sequence[float]) -> float:
    """The logarithm of the mean of e-values over all `MAX_FACTS` slots; those that are left out count as 1."""
    highest = max(0.0, *logs) if logs else 0.0  # without it a sum of exponentials may be beyond the range of a float
    return highest + log(
        (sum(exp(one - highest) for one in logs) + (MAX_FACTS - len(logs)) * exp(-highest)) / MAX_FACTS
    )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 or not share else f"{share:.1%}"
