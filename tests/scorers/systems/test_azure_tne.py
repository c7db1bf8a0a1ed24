"""Azure's task navigation efficiency: steps as text, parameters once per tool name."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.call_scorer import OriginalError
from scorers.systems import azure_tne
from tests.scorers.systems.cases import calls, run

NAMES: list[tuple[str, str, str, bool]] = [
    ("exact_match", "ab", "ab", True),
    ("exact_match", "ab", "ba", False),
    ("in_order_match", "ab", "axb", True),
    ("in_order_match", "ab", "ba", False),
    ("any_order_match", "ab", "bxa", True),
    ("any_order_match", "aa", "ab", False),
    ("any_order_match", "a", "", False),
]


@pytest.mark.parametrize(("mode", "expected", "actual", "good"), NAMES)
def test_by_name(mode: str, expected: str, actual: str, good: bool) -> None:
    score = run(azure_tne, calls(*expected), calls(*actual), matching_mode=mode)
    assert score.value == good
    assert score.details["result"] == ("pass" if good else "fail")


PARAMETERS: list[tuple[Any, Any, bool]] = [
    ({"x": "1"}, {"x": 1}, True),
    ({"x": True}, {"x": "True"}, True),
    ({"x": None}, {"x": "None"}, True),
    ({"x": 1}, {"x": 1.0}, False),
    ({"x": {"b": 1, "a": [2]}}, {"x": {"a": [2], "b": 1}}, True),
    ({"x": [1, 2]}, {"x": "[1, 2]"}, True),
    ({"x": 1}, {"x": 1, "y": 2}, False),
    ({}, {}, True),
    (None, {}, True),
    ({}, {"x": 1}, False),
]


@pytest.mark.parametrize(("expected", "actual", "good"), PARAMETERS)
def test_by_parameters(expected: Any, actual: Any, good: bool) -> None:
    assert run(azure_tne, calls(("a", expected)), calls(("a", actual)), with_params=True).value == good
    assert run(azure_tne, calls(("a", expected)), calls(("a", actual))).value == 1.0


def test_the_last_parameters_of_a_tool_count_for_all_its_calls() -> None:
    both = calls(("a", {"x": 1}), ("a", {"x": 2}))
    assert run(azure_tne, both, both, with_params=True).value == 0.0
    assert run(azure_tne, both, calls(("a", {"x": 2}), ("a", {"x": 2})), with_params=True).value == 1.0


def test_names_are_stripped_except_in_the_lookup_of_parameters() -> None:
    assert run(azure_tne, calls("a "), calls(" a")).value == 1.0
    assert run(azure_tne, calls(("a ", {"x": 1})), calls(("a", {"x": 1})), with_params=True).value == 0.0


def test_precision_recall_and_f1_are_of_multisets() -> None:
    details = run(azure_tne, calls("a", "a", "b"), calls("a", "b", "b", "c")).details
    assert details["precision_score"] == pytest.approx(2 / 4)
    assert details["recall_score"] == pytest.approx(2 / 3)
    assert details["f1_score"] == pytest.approx(2 * 2 / (4 + 3))


def test_without_calls_precision_recall_and_f1_are_0() -> None:
    details = run(azure_tne, calls("a"), []).details
    assert details == {"result": "fail", "precision_score": 0.0, "recall_score": 0.0, "f1_score": 0.0}


@pytest.mark.parametrize("with_params", [True, False])
def test_an_empty_list_of_expected_calls_raises(with_params: bool) -> None:
    with pytest.raises(OriginalError, match="at least one expected call"):
        run(azure_tne, [], calls("a"), with_params=with_params)


def test_an_unknown_mode_raises_on_creation() -> None:
    with pytest.raises(ValueError, match="azure_tne option 'matching_mode'"):
        azure_tne.create(matching_mode="exact")
