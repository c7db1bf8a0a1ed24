"""What the accuracy alert costs and catches, on simulated traffic: seeded, one look every five minutes.

Twenty runs an hour, an objective of 0.90, true accuracy 0.95. Looked at over 30 days, `avg over 1h < 0.9` cries wolf
hundreds of times; the Wilson bound hardly ever, and still sees a drop to 0.85 within a day and a collapse within hours.
"""

from __future__ import annotations

import bisect
import itertools
import math
from random import Random
from typing import Any

import yaml

from tests.deploy import stop_simulation
from tests.deploy.drift_simulation import Route, delay, false_alarms
from tests.deploy.programs import DEPLOY

SETTINGS: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus" / "objectives.yaml").read_text("utf-8"))
Z, LEAST = SETTINGS["confidence"], SETTINGS["min_evaluations"]
UNITS = {"m": 1, "h": 60, "d": 1440}
OBJECTIVE, PER_HOUR, DAY, STEP = 0.90, 20, 1440, 5


def minutes(duration: str) -> int:
    return int(duration[:-1]) * UNITS[duration[-1]]


WINDOWS = [(minutes(pair["over"]), minutes(pair["recovery"])) for pair in SETTINGS["accuracy"]["windows"]]
KEEP = minutes(SETTINGS["accuracy"]["keep_firing_for"])
HOLD = minutes(SETTINGS["accuracy"]["for"])


class Traffic:
    """Runs at random times, each right with a chance that may change once."""

    def __init__(self, random: Random, days: int, accuracy: float, change: int = 0, later: float = 0.0) -> None:
        self.end, self.passes = days * DAY, [0]
        self.times: list[float] = []
        at = random.expovariate(PER_HOUR / 60)
        while at < self.end:
            right = random.random() < (later if change and at >= change else accuracy)
            self.times.append(at)
            self.passes.append(self.passes[-1] + right)
            at += random.expovariate(PER_HOUR / 60)

    def counts(self, now: int, window: int) -> tuple[int, int]:
        """Passed and evaluated within ``window`` minutes before ``now``."""
        first, last = bisect.bisect_right(self.times, now - window), bisect.bisect_right(self.times, now)
        return self.passes[last] - self.passes[first], last - first


def surely_below(traffic: Traffic, now: int) -> bool:
    for window, recovery in WINDOWS:
        s, n = traffic.counts(now, window)
        if n < LEAST or (s + Z * Z / 2 + Z * math.sqrt(s * (n - s) / n + Z * Z / 4)) / (n + Z * Z) >= OBJECTIVE:
            continue
        back, of = traffic.counts(now, recovery)
        if of < LEAST or back / of < OBJECTIVE:
            return True
    return False


def naively_below(traffic: Traffic, now: int) -> bool:
    s, n = traffic.counts(now, 60)
    return n > 0 and s / n < OBJECTIVE


def alarms(hits: list[bool], hold: int, keep: int) -> list[int]:
    """The minutes at which an alert with ``for: hold`` and ``keep_firing_for: keep`` starts to fire."""
    started, since, last, firing = [], None, 0, False
    for index, hit in enumerate(hits):
        now = index * STEP
        if hit:
            since, last = now if since is None else since, now
            if now - since >= hold and not firing:
                firing = True
                started.append(now)
        else:
            since = None
            firing = firing and now - last < keep
    return started


def wilson_alarms(traffic: Traffic) -> list[int]:
    return alarms([surely_below(traffic, now) for now in range(0, traffic.end, STEP)], HOLD, KEEP)


def test_false_alarms_are_rare() -> None:
    random, months = Random(1), 12
    traffic = [Traffic(random, 30, 0.95) for _ in range(months)]
    ours = sum(len(wilson_alarms(one)) for one in traffic) / months
    naive = alarms([naively_below(traffic[0], now) for now in range(0, traffic[0].end, STEP)], 0, 0)
    print(f"false alarms in 30 days: ours {ours:.2f}, the plain average {len(naive)}")
    assert ours < 1
    assert len(naive) > 100


def test_a_drop_to_85_percent_is_seen_within_two_days() -> None:
    random, change = Random(2), 7 * DAY
    delays = []
    for _ in range(20):
        traffic = Traffic(random, 10, 0.95, change, 0.85)
        delays.append(next(at for at in wilson_alarms(traffic) if at >= change) - change)
    delays.sort()
    print(f"0.85 seen after a median of {delays[10] / 60:.1f} h, at worst {delays[-1] / 60:.1f} h")
    assert delays[10] < 24 * 60
    assert delays[-1] < 48 * 60


def test_a_collapse_is_seen_within_hours() -> None:
    random, change = Random(3), 2 * DAY
    delays = []
    for _ in range(20):
        traffic = Traffic(random, 3, 0.95, change, 0.5)
        delays.append(next(at for at in wilson_alarms(traffic) if at >= change) - change)
    delays.sort()
    print(f"0.50 seen after a median of {delays[10]} min, at worst {delays[-1]} min")
    assert delays[10] <= 60
    assert delays[-1] <= 180


def test_chance_rarely_looks_like_a_drop_since_last_week() -> None:
    """The two-proportion test on the same hour of two weeks, 100 runs an hour's worth of chance."""
    random, test = Random(4), SETTINGS["last_week"]
    hours = 24 * 30
    false = 0
    for accuracy, _ in itertools.product((0.9, 0.95), range(hours)):
        then, now = (sum(random.random() < accuracy for _ in range(100)) for _ in range(2))
        pooled = (then + now) / 200
        drop = (then - now) / 100
        spread = math.sqrt(pooled * (1 - pooled) * 2 / 100) or math.inf
        false += drop > test["min_drop"] and drop / spread > test["confidence"]
    print(f"false drops in {2 * hours} separate hours: {false}")
    assert false <= 2


def test_chance_rarely_looks_like_a_worse_version() -> None:
    """A new version beside a stable one for a day, 200 runs an hour each, looked at every five minutes."""
    random, test, false, rate = Random(5), SETTINGS["version"], 0, 200
    for _ in range(60):
        stable = sum(random.random() < 0.95 for _ in range(24 * rate))
        runs = passed = 0
        worse = False
        for _ in range(0, DAY, STEP):
            runs, passed = runs + 16, passed + sum(random.random() < 0.95 for _ in range(16))
            pooled = (stable + passed) / (24 * rate + runs)
            drop = stable / (24 * rate) - passed / runs
            spread = math.sqrt(pooled * (1 - pooled) * (1 / runs + 1 / (24 * rate)))
            worse = worse or (runs >= LEAST and drop > test["min_drop"] and drop / spread > test["confidence"])
        false += worse
    print(f"versions that are as good and called worse: {false} of 60")
    assert false <= 2


def test_drift_is_found_where_there_is_some_and_a_rhythm_is_none() -> None:
    random, route = Random(6), Route(200, 0.25)
    assert false_alarms(random, route) == (0, 0)
    found = delay(random, route, 15)[0]
    assert found is not None
    assert found <= 8 * 60


def test_a_service_that_stops_is_told_within_the_hour_and_no_other() -> None:
    random = Random(7)
    assert stop_simulation.false_alarms(random) == 0
    delays = [stop_simulation.delay(random, 100) for _ in range(10)]
    assert all(one is not None and one <= 60 for one in delays), delays
