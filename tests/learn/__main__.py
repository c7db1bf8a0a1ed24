"""Print how well rules are learnt, beside a plain frequency baseline: the most frequent run as a sequence; and, where
pm4py is installed, beside its inductive miner.

python -m tests.learn [--runs 20,200,2000] [--broken 0,0.05,0.2] [--seeds 3]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from collector.learning.groups import Group
from collector.learning.rules import NotLearntError, compile_rule, expectation, learn_rule
from scorers import ToolCall
from tests.learn.facts import facts_of
from tests.learn.hidden import HIDDEN, KEY, Hidden, Maker, passes
from tests.learn.inductive import inductive, is_installed

HELD_BACK = 100
Learner = Callable[[Sequence[Sequence[ToolCall]]], Mapping[str, Any] | None]


class Tally(NamedTuple):
    """Facts of the hidden rules, learnt facts and those that are right; good and broken runs, and those judged wrongly."""

    hidden: int = 0
    learnt: int = 0
    right: int = 0
    good: int = 0
    false_alarms: int = 0
    broken: int = 0
    misses: int = 0

    def __add__(self, other: object) -> Tally:
        assert isinstance(other, Tally)
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))

    def cells(self) -> list[str]:
        """Precision, recall, false alarms and misses in per cent."""
        pairs = [
            (self.right, self.learnt),
            (self.right, self.hidden),
            (self.false_alarms, self.good),
            (self.misses, self.broken),
        ]
        return [f"{100 * part / whole:.0f} %" if whole else "-" for part, whole in pairs]


def learnt(runs: Sequence[Sequence[ToolCall]]) -> Mapping[str, Any] | None:
    """The rule that `rightcall learn` proposes."""
    group = Group()
    for calls in runs:
        group.add(calls)
    try:
        candidate = learn_rule(KEY, group)
    except NotLearntError:
        return None
    return expectation(candidate.pattern, candidate.collapse, candidate.arguments)


def most_frequent(runs: Sequence[Sequence[ToolCall]]) -> Mapping[str, Any]:
    """The baseline: the most frequent run, and of each argument the value that nine of ten calls have."""
    usual, _ = Counter(tuple(call.name for call in calls) for calls in runs).most_common(1)[0]
    values: dict[str, dict[str, Counter[str | int | float]]] = {}
    for calls in runs:
        for call in calls:
            for name, value in (call.arguments or {}).items():
                if value is not None:
                    values.setdefault(call.name, {}).setdefault(name, Counter())[value] += 1
    return {"sequence": [_with_usual(tool, values.get(tool, {})) for tool in usual]}


def _with_usual(tool: str, values: Mapping[str, Counter[str | int | float]]) -> Any:
    usual = {name: seen.most_common(1)[0] for name, seen in values.items()}
    given = {name: value for name, (value, count) in usual.items() if count >= 0.9 * values[name].total()}
    return {"tool": tool, "arguments": given} if given else tool


def trial(hidden: Hidden, learner: Learner, runs: int, broken: float, seed: int) -> Tally:
    """Learn one hidden rule, and try what was learnt on runs that were held back."""
    maker = Maker(hidden, seed)
    expect = learner(maker.runs(runs, broken))
    expected = facts_of(hidden.expect())
    if expect is None:
        return Tally(len(expected))
    found, rule = facts_of(expect), compile_rule(KEY, expect)
    right = sum(fact in expected for fact in found)
    alarms = sum(not passes(rule, maker.good()) for _ in range(HELD_BACK))
    misses = sum(passes(rule, maker.broken()) for _ in range(HELD_BACK))
    return Tally(len(expected), len(found), right, HELD_BACK, alarms, HELD_BACK, misses)


def total(learner: Learner, runs: int, broken: float, seeds: int, of: Sequence[Hidden] = HIDDEN) -> Tally:
    """The sum over hidden rules and seeds."""
    trials = [trial(hidden, learner, runs, broken, seed) for hidden in of for seed in range(seeds)]
    return sum(trials, Tally())


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", default="20,200,2000")
    parser.add_argument("--broken", default="0,0.05,0.2")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    sizes, shares = [int(text) for text in options.runs.split(",")], [float(text) for text in options.broken.split(",")]
    learners = {"": learnt, "baseline: ": most_frequent} | ({"miner: ": inductive} if is_installed() else {})
    heads = [f"{name}precision | recall | false alarms | misses |" for name in learners]
    print("| runs | broken |", *heads)
    print("|--:|--:|" + "--:|" * 4 * len(learners))
    for runs in sizes:
        for broken in shares:
            cells = [
                cell for learner in learners.values() for cell in total(learner, runs, broken, options.seeds).cells()
            ]
            print(f"| {runs:,} | {broken:.0%} | {' | '.join(cells)} |", flush=True)
    print("\n| hidden rule, 200 runs, 5 % broken |", *heads)
    print("|---|" + "--:|" * 4 * len(learners))
    for hidden in HIDDEN:
        cells = [cell for one in learners.values() for cell in total(one, 200, 0.05, options.seeds, [hidden]).cells()]
        print(f"| {hidden.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
