"""How often and how late releases are decided: simulated releases of a day each, asked every five minutes.

    python -m tests.deploy.release_simulation

prints the table of `deploy/README.md`. The stable version has a day of runs, of which 95 % pass; each release starts with none.
"""

from __future__ import annotations

import random
from collections import Counter
from statistics import median

from collector.offline.compare import Counts, Criteria, Passed, RuleScorer, compare

CRITERIA = Criteria(tolerance=0.05, confidence=0.99953, min_runs=50)
ACCURACY, CHECKS, MINUTES, RELEASES = 0.95, 288, 5, 200
_KEY = RuleScorer("refund", "trajectory")


def main() -> None:
    """Print the table."""
    chance = random.Random(1)
    print("| change of accuracy | runs an hour | worse | no worse | undecided after a day | median time to decide |")
    print("|--:|--:|--:|--:|--:|--:|")
    for points in (0, 2, 5, 15):
        for rate in (20, 200, 2_000):
            found = [release(chance, rate, ACCURACY - points / 100) for _ in range(RELEASES)]
            decisions = Counter(decision for decision, _ in found)
            delays = [minutes for decision, minutes in found if decision != "wait"]
            shares = [f"{decisions[name] / RELEASES:.1%}" for name in ("worse", "no worse", "wait")]
            delay = shown(median(delays)) if delays else "-"
            print(f"| {-points} points | {rate:,} | {' | '.join(shares)} | {delay} |", flush=True)


def shown(minutes: float) -> str:
    """A time for people."""
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def release(chance: random.Random, rate: int, accuracy: float) -> tuple[str, int]:
    """The decision on one release, and after how many minutes it fell."""
    stable = _passing(chance, 24 * rate, ACCURACY)
    made = passed = 0
    for check in range(1, CHECKS + 1):
        more = rate * MINUTES * check // 60 - made
        made, passed = made + more, passed + _passing(chance, more, accuracy)
        a: Counts = {_KEY: Passed(stable, 24 * rate)}
        decision = compare(a, {_KEY: Passed(passed, made)}, CRITERIA).decision
        if decision != "wait":
            return decision, check * MINUTES
    return "wait", CHECKS * MINUTES


def _passing(chance: random.Random, count: int, accuracy: float) -> int:
    """Returns how many of so many runs pass."""
    return sum(chance.random() < accuracy for _ in range(count))


if __name__ == "__main__":
    main()
