"""Solo.io's agentevals: ADK's trajectories, with the arguments as spans hold them."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.call_scorer import OriginalError
from scorers.systems import agentevals_cli
from tests.scorers.systems.cases import calls, run


@pytest.mark.parametrize(
    ("expected", "actual", "value"),
    [
        ("a", "a", 0.0),  # by name alone is impossible
        (("a", {}), "a", 1.0),  # no arguments were captured
        (("a", {"x": 1}), "a", 0.0),
        (("a", {"x": 1}), ("a", {"x": 1}), 1.0),
        (("a", {"value": "null"}), ("a", None), 1.0),
        (("a", {"value": [1]}), ("a", [1]), 1.0),
        (("a", {}), ("a", None), 0.0),
    ],
)
def test_arguments_are_those_of_spans(expected: Any, actual: Any, value: float) -> None:
    score = run(agentevals_cli, calls(expected), calls(actual))
    assert score.value == value
    assert score.details == {"status": "PASSED" if value else "FAILED", "actual": ["a"], "reason": None}


@pytest.mark.parametrize(("match_type", "value"), [(None, 0.0), ("IN_ORDER", 0.0), ("any_order", 1.0), ("EXACT", 0.0)])
def test_match_types(match_type: str | None, value: float) -> None:
    two = calls(("a", {}), ("b", {}))
    assert run(agentevals_cli, two, [*two[::-1], {"tool": "c"}], trajectory_match_type=match_type).value == value


def test_an_unknown_match_type_is_refused() -> None:
    with pytest.raises(OriginalError, match="no trajectory_match_type 'IN-ORDER'; it has EXACT, IN_ORDER, ANY_ORDER"):
        agentevals_cli.create(trajectory_match_type="IN-ORDER")
