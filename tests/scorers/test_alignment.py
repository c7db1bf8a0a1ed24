"""The alignment is the cheapest there is: against every word, every order and every alignment, on small cases."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorers import Trajectory, load_rules
from scorers.expectation import read_expectation
from scorers.rules import Expect
from scorers.trajectory_scorer import TrajectoryScorer
from tests.scorers import reference
from tests.scorers.strategies import patterns, trajectories


def scorer_of(expect: dict[str, Any]) -> TrajectoryScorer:
    return load_rules({"rules": [{"name": "r", "expect": expect}]}).rules[0].native


def value_by_hand(expect: dict[str, Any], trajectory: Trajectory, free: str) -> float:
    element = read_expectation(Expect.model_validate(expect)).element
    assert element is not None
    total = reference.shortest(element) + sum(call.name not in free for call in trajectory.calls)
    return 1 - reference.fewest_edits(element, trajectory.calls, free) / total if total else 1.0


@settings(max_examples=400, deadline=None)
@given(patterns, trajectories(), st.sampled_from(["", "", "a", "abcde"]))
def test_equals_brute_force_over_alignments_and_linear_extensions(
    expect: dict[str, Any], trajectory: Trajectory, free: str
) -> None:
    expect = expect | {"allow_extra": list(free)}

    assert scorer_of(expect).score(trajectory).value == pytest.approx(
        value_by_hand(expect, trajectory, free), abs=1e-12
    )
