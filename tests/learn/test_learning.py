"""Each kind of hidden rule is learnt from 200 runs of which 5 % are broken, as the table in the documentation says."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import pytest

from tests.learn.__main__ import Tally, learnt, most_frequent, total, trial
from tests.learn.facts import facts_of
from tests.learn.hidden import HIDDEN, Hidden, Maker, passes
from tests.learn.inductive import pattern_of


@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda hidden: hidden.name)
def test_a_hidden_rule_is_learnt(hidden: Hidden) -> None:
    found = trial(hidden, learnt, 200, 0.05, 1)
    assert found.right >= 0.9 * found.hidden
    assert found.right >= 0.9 * found.learnt
    assert found.false_alarms <= 0.08 * found.good


def test_the_baseline_learns_less() -> None:
    of = HIDDEN[:8]
    assert total(most_frequent, 100, 0.05, 1, of).right < total(learnt, 100, 0.05, 1, of).right


@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda hidden: hidden.name)
def test_good_runs_follow_their_rule_and_broken_ones_do_not(hidden: Hidden) -> None:
    maker = Maker(hidden, 7)
    assert all(passes(maker.rule, maker.good()) for _ in range(20))
    assert not any(passes(maker.rule, maker.broken()) for _ in range(20))


class Tree(NamedTuple):
    """A process tree as pm4py has it."""

    label: str | None = None
    operator: Enum | None = None
    children: Sequence[Any] = ()


Operator = Enum("Operator", ["SEQUENCE", "XOR", "PARALLEL", "LOOP"])
A, B, NOTHING = Tree("a"), Tree("b"), Tree()


@pytest.mark.parametrize(
    ("operator", "children", "pattern"),
    [
        (Operator.SEQUENCE, (A, NOTHING, B), {"sequence": ["a", "b"]}),
        (Operator.PARALLEL, (A, B), {"any_order": ["a", "b"]}),
        (Operator.XOR, (A, B), {"one_of": ["a", "b"]}),
        (Operator.XOR, (NOTHING, A), {"optional": "a"}),
        (Operator.XOR, (NOTHING, A, B), {"optional": {"one_of": ["a", "b"]}}),
        (Operator.LOOP, (A, NOTHING), {"repeat": "a"}),
        (Operator.LOOP, (NOTHING, A), {"optional": {"repeat": "a"}}),
        (Operator.LOOP, (A, B), {"sequence": ["a", {"optional": {"repeat": {"sequence": ["b", "a"]}}}]}),
        (Operator.SEQUENCE, (NOTHING, NOTHING), None),
    ],
)
def test_a_process_tree_is_a_pattern(operator: Operator, children: Sequence[Tree], pattern: Any) -> None:
    assert pattern_of(Tree(None, operator, children)) == pattern


def test_facts_tell_rules_apart() -> None:
    facts = [frozenset(facts_of(hidden.expect())) for hidden in HIDDEN]
    assert len(set(facts)) == len(HIDDEN)


def test_a_tally_is_in_per_cent() -> None:
    assert (Tally(4, 4, 3, 10, 1, 10, 2) + Tally()).cells() == ["75 %", "75 %", "10 %", "20 %"]
