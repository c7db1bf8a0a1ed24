"""LangChain's trajectory match: four modes, the direction of argument matchers, overrides, layouts."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.systems import agentevals_lc
from tests.scorers.systems.cases import calls, run

MODES: list[tuple[str, str, str, bool]] = [
    ("strict", "ab", "ab", True),
    ("strict", "ab", "ba", False),
    ("strict", "a", "aa", False),
    ("strict", "", "", True),
    ("unordered", "ab", "ba", True),
    ("unordered", "ab", "bab", False),
    ("superset", "a", "ab", True),
    ("superset", "ab", "a", False),
    ("superset", "aa", "a", False),
    ("subset", "ab", "a", True),
    ("subset", "a", "ab", False),
    ("subset", "a", "", True),
]


@pytest.mark.parametrize(("mode", "expected", "actual", "good"), MODES)
def test_modes(mode: str, expected: str, actual: str, good: bool) -> None:
    score = run(agentevals_lc, calls(*expected), calls(*actual), trajectory_match_mode=mode)
    assert score.value == good
    assert score.details == {"key": f"trajectory_{mode}_match", "comment": None}


XY, X = {"x": 1, "y": 2}, {"x": 1}

ARGUMENTS: list[tuple[str, str, dict[str, Any], dict[str, Any], bool]] = [
    ("superset", "exact", X, {"x": True}, True),  # Python's ==
    ("superset", "exact", XY, X, False),
    ("superset", "ignore", XY, {}, True),
    ("superset", "subset", XY, X, True),
    ("subset", "subset", XY, X, False),  # the roles are swapped
    ("subset", "subset", X, XY, True),
    ("unordered", "subset", XY, X, False),  # both directions
    ("strict", "subset", XY, X, True),
    ("superset", "superset", X, XY, True),
    ("strict", "superset", XY, X, False),
    ("superset", "subset", {"x": {"a": 1, "b": 2}}, {"x": {"a": 1}}, False),  # top level only
]


@pytest.mark.parametrize(("mode", "matcher", "expected", "actual", "good"), ARGUMENTS)
def test_argument_matchers(
    mode: str, matcher: str, expected: dict[str, Any], actual: dict[str, Any], good: bool
) -> None:
    options = {"trajectory_match_mode": mode, "tool_args_match_mode": matcher}
    assert run(agentevals_lc, calls(("a", expected)), calls(("a", actual)), **options).value == good


OVERRIDES: list[tuple[Any, dict[str, Any], dict[str, Any], bool]] = [
    ("ignore", X, {"x": 2}, True),
    ("unheard of", X, {"x": 2}, True),  # any other name ignores arguments
    ([], X, {"x": 2}, False),  # counts as no override
    ("", X, {"x": 2}, False),
    (["x"], X, {"x": 1, "y": 9}, True),
    (["x"], X, {"x": 2}, False),
    (["z"], X, {"x": 2}, True),  # absent on both sides
    (["z"], X, {"z": None}, True),
    (["x.k"], {"x": {"k": 1, "j": 2}}, {"x": {"k": 1}}, True),
    (["x.k"], {"x": {"k": 1}}, {"x": 1}, False),
    (["x.k"], {"x": 3}, {"x": 1}, True),  # leads nowhere on both sides
]


@pytest.mark.parametrize(("override", "expected", "actual", "good"), OVERRIDES)
def test_overrides_of_one_tool(override: Any, expected: dict[str, Any], actual: dict[str, Any], good: bool) -> None:
    options = {"trajectory_match_mode": "superset", "tool_args_match_overrides": {"a": override}}
    assert run(agentevals_lc, calls(("a", expected)), calls(("a", actual)), **options).value == good
    assert run(agentevals_lc, calls(("b", X)), calls(("b", {"x": 2})), **options).value == 0.0


def test_strict_ignores_the_order_inside_one_message() -> None:
    assert run(agentevals_lc, calls("a", "b"), calls("b", "a"), layout="one_message").value == 1.0
    assert run(agentevals_lc, calls("a", "b"), calls("b", "a"), layout="per_message").value == 0.0
    assert run(agentevals_lc, calls("a", "b"), calls("b"), layout="one_message").value == 0.0


def test_the_assignment_is_greedy() -> None:
    options = {"trajectory_match_mode": "superset", "tool_args_match_mode": "superset"}
    score = run(agentevals_lc, calls(("a", X), ("a", XY)), calls(("a", XY), ("a", X)), **options)
    assert score.value == 0.0


def test_outcomes() -> None:
    score = run(agentevals_lc, calls("a"), calls("b", "a"), trajectory_match_mode="superset")
    assert list(score.outcomes) == ["extra", "matched"]
    assert score.explanation.startswith("Scores 1: 1 of 2 calls made match one of the 1 expected")


@pytest.mark.parametrize(
    "options",
    [{"trajectory_match_mode": "exact"}, {"tool_args_match_mode": "fuzzy"}, {"tool_args_match_overrides": {"a": 5}}],
)
def test_unknown_modes_raise(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"agentevals_lc option '{next(iter(options))}"):
        agentevals_lc.create(**options)
