"""How often a service that has not stopped is told to have, and how late one that has: simulated years, by minutes of ten.

    python -m tests.deploy.stop_simulation

prints the table of `deploy/README.md`. A year of an installation has services of all kinds: used around the clock or in
office hours, with days, weeks and holidays; a handful of runs a day; batches each night, week or month, early or late and of
any length; bursts; some that are new within the year, and some that are retired little by little. `stops` is the condition of
`RightcallRunsStopped`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from random import Random
from statistics import median

HOUR, DAY, WEEK, YEAR = 6, 144, 1008, 365 * 144  # steps
HALF_HOUR, LEAST, SOME = 3, 20, 10
"""As in the alert."""
YEARS, STOPS = 12, 50


def runs(random: Random, rate: float) -> int:
    """How many runs a step has, of so many an hour."""
    mean = rate / HOUR
    if mean > 30:
        return max(0, round(random.gauss(mean, math.sqrt(mean))))
    count, left = 0, random.expovariate(1.0)
    while left < mean:
        count, left = count + 1, left + random.expovariate(1.0)
    return count


def holidays(random: Random) -> frozenset[int]:
    """Days of a year: some alone, and the last week."""
    return frozenset([*random.sample(range(350), 10), *range(358, 365)])


def steady(random: Random, rate: float, free: frozenset[int]) -> Iterator[float]:
    """Around the clock: at night a tenth, on weekends and holidays more or less."""
    weekend, holiday = random.uniform(0.4, 1.3), random.uniform(0.2, 1.5)
    for step in range(YEAR):
        day, hour = divmod(step, DAY)
        rhythm = 0.55 - 0.45 * math.cos(2 * math.pi * (hour - 4 * HOUR) / DAY)
        yield rate * rhythm * (holiday if day in free else weekend if day % 7 > 4 else 1.0)


def office(random: Random, rate: float, free: frozenset[int]) -> Iterator[float]:
    """From 8 to 18 on working days, within minutes or an hour; till noon before a holiday, and on it hardly at all."""
    width, holiday = random.uniform(1, 6), random.uniform(0.0, 0.1)
    for step in range(YEAR):
        day, hour = divmod(step, DAY)
        end = (12 if day + 1 in free else 18) * HOUR
        open_now = 1 / (1 + math.exp((8 * HOUR - hour) / width)) / (1 + math.exp((hour - end) / width))
        yield rate * (open_now if day % 7 < 5 else 0.01) * (holiday if day in free else 1.0)


def batch(random: Random, rate: float, every: int, free: frozenset[int]) -> Iterator[float]:
    """One each day, week or month, of one to six hours; sometimes there is none."""
    rates, begin = [0.0] * (YEAR + DAY), random.randrange(DAY)
    del free  # machines have none
    for first in range(begin, YEAR, every):
        if random.random() < 0.95:
            start = first + random.randrange(2 * HOUR)
            end = start + random.randint(HOUR, 6 * HOUR)
            rates[start:end] = [rate] * (end - start)
    return iter(rates[:YEAR])


def bursts(random: Random, rate: float, free: frozenset[int]) -> Iterator[float]:
    """Steady on the whole, but the rate of each half-hour is of any size."""
    for step, usual in enumerate(steady(random, rate, free)):
        if step % HALF_HOUR == 0:
            size = random.expovariate(1.0)
        yield usual * size


def installation(random: Random) -> list[list[int]]:
    """The runs of each service in each step of a year."""
    free = holidays(random)
    of_kinds = [
        *(steady(random, rate, free) for rate in (30, 60, 100, 150, 200, 300, 400, 700, 1_000, 3_000)),
        *(office(random, rate, free) for rate in (40, 80, 150, 300, 600, 1_200)),
        *(steady(random, rate, free) for rate in (0.1, 0.3, 1, 3)),
        *(batch(random, rate, every, free) for rate in (60, 300) for every in (DAY, WEEK, 30 * DAY)),
        *(bursts(random, rate, free) for rate in (60, 200)),
    ]
    services = [[runs(random, rate) for rate in rates] for rates in of_kinds]
    for counts in random.sample(services[:16], 6):
        at = random.randrange(60 * DAY, 300 * DAY)
        if random.random() < 0.5:
            counts[:at] = [0] * at
        else:  # over a week
            counts[at:] = [
                sum(random.random() < max(0.0, 1 - step / WEEK) for _ in range(count)) if step < WEEK else 0
                for step, count in enumerate(counts[at:])
            ]
    return services


def stops(counts: Sequence[int]) -> list[int]:
    """The steps at which the alert begins to fire for a service."""
    total = [0, *accumulate(counts)]
    half = [total[step + 1] - total[max(0, step + 1 - HALF_HOUR)] for step in range(len(counts))]
    known = {step for step in range(HOUR, len(counts)) if not half[step] and half[step - HALF_HOUR] >= SOME}
    begun = sorted(step for step in known if step - 1 not in known)
    told = [
        step
        for step in sorted(known)
        if step >= WEEK
        and min(half[step - HALF_HOUR], half[step - HOUR], half[step - WEEK]) >= LEAST
        and bisect_right(begun, step) - bisect_right(begun, step - 2 * WEEK) <= 1
    ]
    return [step for step in told if step - 1 not in told]


def false_alarms(random: Random) -> int:
    """How many alerts an installation has in a year in which nothing stopped."""
    return sum(len(stops(counts)) for counts in installation(random))


def delay(random: Random, rate: int) -> int | None:
    """After how many minutes a stop is told, of a service with ``rate`` runs or more in the hour before; None if it is not."""
    day = random.randrange(28, 33) * DAY
    counts = [runs(random, one) for one in islice(steady(random, 1.5 * rate, frozenset()), day + 2 * DAY)]
    busy = [step for step in range(day, day + DAY) if sum(counts[step - HOUR : step]) >= rate]
    at = random.choice(busy)
    counts[at:] = [0] * len(counts[at:])
    told = [step for step in stops(counts) if step >= at]
    return (told[0] + 1 - at) * 10 if told else None


def main() -> None:
    """Print the tables."""
    random = Random(1)
    alarms = sum(false_alarms(random) for _ in range(YEARS))
    print(f"false alarms in {YEARS} years: {alarms}\n")
    print("| runs in the hour before | found | median | latest |\n|--:|--:|--:|--:|")
    for rate in (100, 200, 2_000):
        delays = [delay(random, rate) for _ in range(STOPS)]
        found = [one for one in delays if one is not None]
        print(f"| {rate:,} | {len(found)} of {STOPS} | {median(found):.0f} min | {max(found)} min |")


if __name__ == "__main__":
    main()
