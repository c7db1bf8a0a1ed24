"""DeepEval's permissions: the share of the calls that were allowed and not denied."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.systems import deepeval_permission
from tests.scorers.systems.cases import calls, run


@pytest.mark.parametrize(
    ("actual", "options", "value", "success"),
    [
        ("ab", {"allowed_tools": ["a", "b"]}, 1.0, True),
        ("abbb", {"allowed_tools": ["a"]}, 0.25, False),
        ("ab", {"allowed_tools": ["a", "b"], "denied_tools": ["b"]}, 0.5, False),  # a denial wins
        ("ab", {"denied_tools": ["b"], "threshold": 0.5}, 0.5, True),
        ("ab", {"denied_tools": ["b"], "threshold": 0.5, "strict_mode": True}, 0.0, False),
        ("ab", {"denied_tools": []}, 1.0, True),
        ("a", {"allowed_tools": []}, 0.0, False),
        ("", {"allowed_tools": []}, 1.0, True),
    ],
)
def test_scores(actual: str, options: dict[str, Any], value: float, success: bool) -> None:
    score = run(deepeval_permission, [], calls(*actual), **options)
    assert (score.value, score.details["success"]) == (value, success)
    assert score.label == ("pass" if success else "fail")


def test_the_reason_is_that_of_the_original_and_forbidden_calls_are_marked() -> None:
    score = run(deepeval_permission, [], calls(*"cab"), allowed_tools=["b", "a"], denied_tools=["b"])
    assert score.details["reason"] == (
        "2 of 3 tool call(s) were unauthorized: ['c', 'b']. Allowed=['a', 'b'], Denied=['b']."
    )
    assert list(score.outcomes) == ["forbidden", "unscored", "forbidden"]
    reason = run(deepeval_permission, [], calls("b"), denied_tools=["b"]).details["reason"]
    assert reason.endswith("Allowed=ANY, Denied=['b'].")
