"""How often drift is found where there is none, and how late where there is: simulated routes, looked at every ten minutes.

    python -m tests.deploy.drift_simulation

prints the tables of `deploy/README.md`, in half an hour; names of tables as arguments print only those. Runs of a route
take one of seven paths; 2 % of them look an order up twice, and after a change so many points more of them do. A quarter of
the mix may follow the hour of the day and the weekend: that is no drift. The decisions on releases are those of
`tests.deploy.release_simulation`.
"""

from __future__ import annotations

import random
import sys
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from math import log
from statistics import median
from typing import NamedTuple

from collector.drift.paths import Path, facts_of
from collector.drift.stream import MAX_STREAMS, VERSION, Stream
from collector.drift.versions import RELEASES_A_YEAR
from tests.deploy.release_simulation import ACCURACY, release, shown

RATES, POINTS, STEPS = (20, 200, 2_000), (2, 5, 15), 6
START, LEARNING, MONTH = 490_008, 21 * 24, 30 * 24  # hours; a day begins with the first
MONTHS, CHANGES, RELEASES = 12, 20, 360


def _path(*names: str) -> Path:
    return tuple([(name.rstrip("!"), name.endswith("!"), step) for step, name in enumerate(names)])


TWICE = _path("lookup_order", "lookup_order", "check_policy", "refund_card")
MIX: dict[Path, float] = {
    _path("lookup_order", "check_policy", "refund_card"): 0.60,
    _path("lookup_order", "check_policy"): 0.15,
    _path("lookup_order", "check_policy", "refund_credit"): 0.10,
    _path("search_kb"): 0.08,
    _path("lookup_order!", "lookup_order", "check_policy", "refund_card"): 0.03,
    TWICE: 0.02,
    (): 0.02,
}
FACTS = [facts_of(path) for path in MIX]
THRESHOLDS = {f"{window.hours}h": window.threshold for window in Stream(1)._windows}
THRESHOLDS[VERSION] = log(MAX_STREAMS * RELEASES_A_YEAR)
_AT = list(MIX).index(TWICE)


class Route(NamedTuple):
    """Runs an hour, and how much of the mix follows the hour and the day."""

    rate: int
    rhythm: float = 0.0

    def shares(self, hour: int, change: float) -> Sequence[float]:
        """How likely each path is in an hour; ``change`` of the runs look an order up twice that did not."""
        found = list(MIX.values())
        day, at = divmod(hour, 24)
        moved = self.rhythm * ((at < 8) * 0.5 + ((day + 3) % 7 >= 5) * 0.5)
        found[0], found[3] = found[0] - moved - change, found[3] + moved
        found[_AT] += change
        return found


class Shared:
    """Collectors that each see a part of the runs of a route: what one finds, and what all together do."""

    def __init__(self, collectors: int = 1) -> None:
        self.streams = [Stream(1) for _ in range(collectors)]

    def hour(
        self, chance: random.Random, route: Route, hour: int, change: float, steps: int, version: str = ""
    ) -> Iterator[Found]:
        """What is found in so many looks within an hour."""
        bounds = list(accumulate(route.shares(hour, change)))
        for step in range(steps):
            runs = route.rate * (step + 1) // steps - route.rate * step // steps
            for number, stream in enumerate(self.streams):
                part = (runs + number) // len(self.streams)
                taken = Counter(min(bisect(bounds, chance.random()), len(bounds) - 1) for _ in range(part))
                for path, times in taken.items():
                    stream.count(hour, FACTS[path], times, version)
                stream.look(hour)
            drift = any(stream.drift is not None for stream in self.streams)
            release = any(stream.release is not None for stream in self.streams)
            yield Found(drift, release, self._together())

    def _together(self) -> bool:
        totals = Counter[str]()
        for stream in self.streams:
            totals.update(stream.evidence)
        return any(total > THRESHOLDS[window] for window, total in totals.items())


class Found(NamedTuple):
    """Whether a collector alone tells of drift since last week, or of a version; and whether all together do, of either."""

    drift: bool
    release: bool
    together: bool


def learnt(chance: random.Random, route: Route, hours: int = LEARNING, collectors: int = 1) -> tuple[Shared, int]:
    """Collectors that have seen so many hours from a random one on, and the hour that comes next."""
    shared, begin = Shared(collectors), START + chance.randrange(168)
    for hour in range(begin, begin + hours):
        list(shared.hour(chance, route, hour, 0.0, 1))
    return shared, begin + hours


def false_alarms(chance: random.Random, route: Route, collectors: int = 1) -> tuple[int, int]:
    """How often drift begins in a month without any, after three weeks of learning: alone and together."""
    shared, begin = learnt(chance, route, collectors=collectors)
    hours = (shared.hour(chance, route, hour, 0.0, STEPS) for hour in range(begin, begin + MONTH))
    alone, together = zip(*((one.drift, one.together) for hour in hours for one in hour), strict=True)
    return _begins(alone), _begins(together)


def _begins(found: Sequence[bool]) -> int:
    return sum(now and not before for before, now in pairwise((False, *found)))


def delay(chance: random.Random, route: Route, points: int, collectors: int = 1) -> tuple[int | None, int | None]:
    """After how many minutes a change at a random hour is found, alone and together; None if it is not within a week."""
    shared, changed = learnt(chance, route, LEARNING + chance.randrange(24), collectors)
    found: list[int | None] = [None, None]
    after = (shared.hour(chance, route, hour, points / 100, STEPS) for hour in range(changed, changed + 168))
    for at, one in enumerate(one for hour in after for one in hour):
        for which, is_found in enumerate((one.drift, one.together)):
            if is_found and found[which] is None:
                found[which] = (at + 1) * 60 // STEPS
        if None not in found or (found[0] is not None and collectors == 1):
            break
    return found[0], found[1]


def false_releases(chance: random.Random, route: Route, days: int) -> int:
    """How many of a release a day without a change are told to differ from the one before."""
    shared, found = Shared(), set[int]()
    for hour in range(START + 10, START + 10 + 24 * days):
        number = (hour - START - 10) // 24
        if any(one.release for one in shared.hour(chance, route, hour, 0.0, STEPS, f"v{number}")):
            found.add(number)
    return len(found)


def release_delay(chance: random.Random, route: Route, points: int) -> int | None:
    """After how many minutes a change that comes with a version is found, where the one before was there for ten days."""
    shared, changed = Shared(), START + 264 + chance.randrange(24)
    for hour in range(changed - 240, changed):
        list(shared.hour(chance, route, hour, 0.0, 1, "v1"))
    after = (shared.hour(chance, route, hour, points / 100, STEPS, "v2") for hour in range(changed, changed + 168))
    found = (one.release for hour in after for one in hour)
    return next(((at + 1) * 60 // STEPS for at, is_found in enumerate(found) if is_found), None)


def _cells(delays: Sequence[int | None]) -> str:
    times = sorted(one for one in delays if one is not None)
    at = [shown(median(times)), shown(times[(len(times) * 9 - 1) // 10])] if times else ["-", "-"]
    return f"{len(times)} of {len(delays)} | {at[0]} | {at[1]}"


def one_collector(quick: int) -> None:
    """Print the tables of one collector, against the week before."""
    print("| runs an hour | months | false alarms | months with a rhythm | false alarms |\n|--:|--:|--:|--:|--:|")
    for rate in RATES:
        chance, count = random.Random(rate), max(1, MONTHS // quick)
        steady, moving = (sum(false_alarms(chance, Route(rate, much))[0] for _ in range(count)) for much in (0.0, 0.25))
        print(f"| {rate:,} | {count} | {steady} | {count} | {moving} |", flush=True)
    print("\n| change | runs an hour | found within a week | median | 90th percentile |\n|--:|--:|--:|--:|--:|")
    for points in POINTS:
        for rate in RATES:
            chance, changes = random.Random(rate + points), max(2, CHANGES // quick)
            delays = [delay(chance, Route(rate), points)[0] for _ in range(changes)]
            print(f"| {points} points | {rate:,} | {_cells(delays)} |", flush=True)


def three_collectors(quick: int) -> None:
    """Print the tables of three that share the runs."""
    print("\n| runs an hour | months | false alarms of one of three | of all together |\n|--:|--:|--:|--:|")
    for rate in RATES:
        chance, count = random.Random(rate), max(1, MONTHS // quick)
        found = [false_alarms(chance, Route(rate), 3) for _ in range(count)]
        print(f"| {rate:,} | {count} | {sum(one[0] for one in found)} | {sum(one[1] for one in found)} |", flush=True)
    print(
        "\n| change | runs an hour | by one of three | median | 90th percentile | together | median | 90th percentile |"
    )
    print("|--:|" + "--:|" * 7)
    for points in POINTS:
        for rate in RATES:
            chance, changes = random.Random(rate + points), max(2, CHANGES // 2 // quick)
            found_after = [delay(chance, Route(rate), points, 3) for _ in range(changes)]
            alone, together = zip(*found_after, strict=True)
            print(f"| {points} points | {rate:,} | {_cells(alone)} | {_cells(together)} |", flush=True)


def versions(quick: int) -> None:
    """Print the tables of versions against the one before."""
    print("\n| runs an hour | releases without a change | told to differ | with a rhythm | told to differ |")
    print("|--:|--:|--:|--:|--:|")
    for rate in RATES:
        chance, days = random.Random(rate), RELEASES // quick
        steady, moving = (false_releases(chance, Route(rate, much), days) for much in (0.0, 0.25))
        print(f"| {rate:,} | {days} | {steady} | {days} | {moving} |", flush=True)
    print("\n| change | runs an hour | found within a week | median | 90th percentile |\n|--:|--:|--:|--:|--:|")
    for points in POINTS:
        for rate in RATES:
            chance, changes = random.Random(rate + points), max(2, CHANGES // quick)
            delays = [release_delay(chance, Route(rate), points) for _ in range(changes)]
            print(f"| {points} points | {rate:,} | {_cells(delays)} |", flush=True)


def rollbacks(quick: int) -> None:
    """Print the table of decisions on releases."""
    print("\n| runs an hour | releases without a change | rolled back | months between two, with a release a day |")
    print("|--:|--:|--:|--:|")
    for rate in RATES:
        chance, releases = random.Random(rate), RELEASES // quick
        back = sum(release(chance, rate, ACCURACY)[0] == "worse" for _ in range(releases))
        months = f"{releases / 30 / back:.1f}" if back else f"more than {releases // 30}"
        print(f"| {rate:,} | {releases} | {back} | {months} |", flush=True)


def main() -> None:
    """Print the tables; with names of them as arguments only those, with ``quick`` a tenth of each."""
    tables = {table.__name__: table for table in (one_collector, three_collectors, versions, rollbacks)}
    wanted = [name for name in sys.argv[1:] if name in tables] or list(tables)
    for name in wanted:
        tables[name](10 if "quick" in sys.argv else 1)


if __name__ == "__main__":
    main()
