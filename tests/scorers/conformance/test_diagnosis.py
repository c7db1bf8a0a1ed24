"""Diagnoses: the outcome of each call, substitutes for missing calls, retries."""

from __future__ import annotations

from typing import Any

import pytest

from scorers import ToolCall, Trajectory
from tests.scorers.examples import rule, run

X, Y = {"x": 1}, {"x": 2}
WITH_X = {"tool": "a", "arguments": X}


@pytest.mark.parametrize(
    ("expect", "trajectory", "outcomes", "missing"),
    [
        ({"sequence": ["a", "b"]}, run("a", "b"), "matched matched", []),
        ({"sequence": ["a", "b"]}, run("b", "a"), "out_of_order matched", []),
        ({"sequence": ["a", "b", "c"]}, run("c", "a", "b"), "out_of_order matched matched", []),
        ({"sequence": ["a", "b"]}, run("b", "a", steps=[0, 0]), "matched matched", []),
        ({"sequence": ["a", "b"]}, run("x", "a"), "extra matched", ["b"]),
        ({"sequence": ["a"]}, run("a", "a"), "matched extra", []),
        ({"sequence": [WITH_X]}, run(("a", X)), "matched", []),
        ({"sequence": [WITH_X]}, run(("a", Y)), "wrong_arguments", []),
        ({"sequence": [WITH_X]}, run(("a", Y), ("a", X)), "extra matched", []),
        ({"sequence": [WITH_X]}, run("a"), "matched", []),
        ({"sequence": ["b", WITH_X]}, run(("a", X), "b"), "out_of_order matched", []),
        ({"sequence": ["b", WITH_X]}, run(("a", Y), "b"), "wrong_arguments matched", []),
        ({"sequence": ["b", WITH_X]}, run(("a", Y), ("a", X), "b"), "extra out_of_order matched", []),
        ({"sequence": ["a"], "allow_extra": ["log_*"]}, run("log_x", "a"), "unscored matched", []),
        ({"sequence": ["a"], "allow_extra": ["*"]}, run("a", "a"), "matched unscored", []),
        ({"sequence": ["a", "b"], "allow_extra": ["*"]}, run("b", "a"), "out_of_order matched", []),
        ({"sequence": ["a"], "forbid": ["rm*"]}, run("a", "rm"), "matched forbidden", []),
        ({"sequence": ["[ar]*"], "forbid": ["rm*"]}, run("rm", "a"), "forbidden matched", []),
        ({"sequence": [{**WITH_X, "tool": "[ar]*"}], "forbid": ["rm*"]}, run(("rm", X), ("a", X)), "forbidden matched", []),
        ({"forbid": ["rm*"]}, run("a", "rm", "a"), "unscored forbidden unscored", []),
        ({"any_order": ["a", "b"]}, run("b", "a", "c"), "matched matched extra", []),
        ({"one_of": ["a", {"sequence": ["b", "c"]}]}, run("b", "c"), "matched matched", []),
        ({"sequence": [{"repeat": "a", "min": 2}]}, run("a"), "matched", ["a"]),
        ({"sequence": []}, run("a"), "extra", []),
        ({"sequence": ["a"]}, run(ToolCall("a", executed=False)), "unscored", ["a"]),
        ({"sequence": [{"tool": {"regex": "^a"}}]}, run("b"), "extra", ["/^a/"]),
    ],
)  # fmt: skip
def test_outcomes(expect: dict[str, Any], trajectory: Trajectory, outcomes: str, missing: list[str]) -> None:
    score = rule(expect).native.score(trajectory)

    assert list(score.outcomes) == outcomes.split()
    assert list(score.missing) == missing


FAILED = ToolCall("a", status="error")


@pytest.mark.parametrize(
    ("trajectory", "outcomes"),
    [
        (run(FAILED, "a"), "unscored matched"),
        (run(FAILED, FAILED, "a"), "unscored unscored matched"),
        (run(FAILED, FAILED), "unscored matched"),
        (run(FAILED, "b", "a"), "matched extra extra"),
        (run("a", "a"), "matched extra"),
        (run(FAILED, ToolCall("b", status="error")), "matched extra"),
        (run(FAILED, "a", steps=[0, 0]), "extra matched"),  # made at once: none is the retry of the other
        (run(FAILED, FAILED, "a", steps=[0, 0, 1]), "unscored matched extra"),  # one retry retries one call
        (run(FAILED, FAILED, "a", "a", steps=[0, 0, 1, 1]), "unscored unscored matched extra"),
        (run(FAILED, "b", "a", steps=[0, 0, 1]), "unscored extra matched"),
        (run(FAILED, "a", steps=[3, 7]), "unscored matched"),
    ],
)
def test_retries_collapse_into_the_last_attempt(trajectory: Trajectory, outcomes: str) -> None:
    score = rule({"sequence": ["a"], "retries": "collapse"}).native.score(trajectory)

    assert list(score.outcomes) == outcomes.split()


def test_retries_count_by_default() -> None:
    assert list(rule({"sequence": ["a"]}).native.score(run(FAILED, "a")).outcomes) == ["matched", "extra"]
