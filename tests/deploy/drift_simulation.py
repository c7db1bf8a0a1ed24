"""How often drift is found where there is none, and how late where there is: simulated routes, looked at every ten minutes.

    python -m tests.deploy.drift_simulation

prints the tables of `deploy/README.md`, in some minutes. Runs of a route take one of seven paths; 2 % of them look an
order up twice, and after a change so many points more of them do. A quarter of the mix may follow the hour of the day and the
day of the week: that is no drift. The decisions on releases are those of `tests.deploy.release_simulation`.
"""

from __future__ import annotations

import random
import sys
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from statistics import median
from typing import NamedTuple

from collector.drift.paths import Path, facts_of
from collector.drift.stream import Drift, Stream
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
_AT = list(MIX).index(TWICE)


class Route(NamedTuple):
    """Runs an hour, and how much of the mix follows the hour and the day."""

    rate: int
    rhythm: float = 0.0

    def shares(self, hour: int, change: float) -> Sequence[float]:
        """How likely each path is in an hour; ``change`` of the runs look an order up twice that did not."""
        found = list(MIX.values())
        day, at = divmod(hour, 24)
        moved = self.rhythm * ((at < 8) * 0.5 + (day % 7 < 2) * 0.5)
        found[0], found[3] = found[0] - moved - change, found[3] + moved
        found[_AT] += change
        return found


def looks(
    chance: random.Random, route: Route, begin: int, end: int, stream: Stream, change: float, steps: int = STEPS
) -> Iterator[Drift | None]:
    """What is found in these hours, in so many looks an hour."""
    for hour in range(begin, end):
        bounds = list(accumulate(route.shares(hour, change)))
        for step in range(steps):
            runs = route.rate * (step + 1) // steps - route.rate * step // steps
            taken = Counter(min(bisect(bounds, chance.random()), len(bounds) - 1) for _ in range(runs))
            for path, number in taken.items():
                stream.count(hour, FACTS[path], number)
            yield stream.look(hour)


def learnt(chance: random.Random, route: Route, hours: int = LEARNING) -> tuple[Stream, int]:
    """A stream that has seen so many hours from a random one on, and the hour that comes next."""
    stream, begin = Stream(1), START + chance.randrange(168)
    for _ in looks(chance, route, begin, begin + hours, stream, 0.0, 1):
        pass
    return stream, begin + hours


def false_alarms(chance: random.Random, route: Route) -> int:
    """How often drift begins in a month without any, after three weeks of learning."""
    stream, begin = learnt(chance, route)
    before, found = stream.drift, 0
    for drift in looks(chance, route, begin, begin + MONTH, stream, 0.0):
        found += drift is not None and before is None
        before = drift
    return found


def delay(chance: random.Random, route: Route, points: int) -> int | None:
    """After how many minutes a change at a random hour is found, None if it is not within a week."""
    stream, changed = learnt(chance, route, LEARNING + chance.randrange(24))
    if stream.drift is not None:
        return None
    after = looks(chance, route, changed, changed + 168, stream, points / 100)
    return next(((at + 1) * 60 // STEPS for at, drift in enumerate(after) if drift is not None), None)


def main() -> None:
    """Print the tables; ``quick`` as an argument looks at a tenth of it."""
    quick = 10 if sys.argv[1:] == ["quick"] else 1
    print("| runs an hour | months | false alarms | months with a rhythm | false alarms |\n|--:|--:|--:|--:|--:|")
    for rate in RATES:
        chance, count = random.Random(rate), max(1, MONTHS // quick)
        steady, moving = (sum(false_alarms(chance, Route(rate, much)) for _ in range(count)) for much in (0.0, 0.25))
        print(f"| {rate:,} | {count} | {steady} | {count} | {moving} |", flush=True)
    print("\n| change | runs an hour | found within a week | median | 90th percentile |\n|--:|--:|--:|--:|--:|")
    for points in POINTS:
        for rate in RATES:
            chance, changes = random.Random(rate + points), max(2, CHANGES // quick)
            delays = [delay(chance, Route(rate), points) for _ in range(changes)]
            times = sorted(one for one in delays if one is not None)
            at = [shown(median(times)), shown(times[(len(times) * 9 - 1) // 10])] if times else ["-", "-"]
            print(f"| {points} points | {rate:,} | {len(times)} of {changes} | {at[0]} | {at[1]} |", flush=True)
    print("\n| runs an hour | releases without a change | rolled back | months between two, with a release a day |")
    print("|--:|--:|--:|--:|")
    for rate in RATES:
        chance, releases = random.Random(rate), RELEASES // quick
        back = sum(release(chance, rate, ACCURACY)[0] == "worse" for _ in range(releases))
        months = f"{releases / 30 / back:.1f}" if back else f"more than {releases // 30}"
        print(f"| {rate:,} | {releases} | {back} | {months} |", flush=True)


if __name__ == "__main__":
    main()
