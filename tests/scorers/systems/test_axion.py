"""Axion: three scorings, three argument strategies, and the surprises of its similarity."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.systems import axion
from tests.scorers.systems.cases import Call, calls, run

NAMES: list[tuple[str, str, dict[str, Any], float]] = [
    ("", "", {}, 1.0),
    ("", "a", {"scoring": "precision"}, 0.0),
    ("ab", "ba", {}, 1.0),
    ("aa", "a", {}, 0.5),
    ("a", "abc", {}, 1.0),
    ("a", "ab", {"scoring": "precision"}, 0.5),
    ("a", "", {"scoring": "precision"}, 1.0),
    ("a", "ab", {"scoring": "f1"}, 2 / 3),
    ("a", "b", {"scoring": "f1"}, 0.0),
    ("ab", "ab", {"strict_order": True}, 1.0),
    ("ab", "ba", {"strict_order": True}, 0.0),
    ("a", "ab", {"strict_order": True, "scoring": "recall"}, 0.0),
]


@pytest.mark.parametrize(("expected", "actual", "options", "value"), NAMES)
def test_by_name(expected: str, actual: str, options: dict[str, Any], value: float) -> None:
    assert run(axion, calls(*expected), calls(*actual), **options).value == pytest.approx(value)


SENTENCE = "please summarise the quarterly report for the customer and list the three largest risks it names, " * 3

# strategy, threshold, expected arguments, actual arguments, fits
ARGUMENTS: list[tuple[str, float, dict[str, Any], dict[str, Any], bool]] = [
    ("exact", 0.8, {"x": True}, {"x": 1}, True),  # Python's ==
    ("exact", 0.8, {"x": 1}, {"x": 1, "y": 2}, False),
    ("unheard of", 0.8, {"x": 1}, {"x": 1.0}, True),  # falls back to exact
    ("subset", 0.8, {"x": 1}, {"x": 1, "y": 2}, True),
    ("subset", 0.8, {"f": {"k": 1}}, {"f": {"k": 1, "z": 2}}, True),
    ("subset", 0.8, {"f": [1]}, {"f": [1, 2]}, False),
    ("subset", 0.8, {"x": None}, {}, False),
    ("fuzzy", 0.8, {}, {"x": 1}, True),
    ("fuzzy", 0.8, {"x": "v"}, {"x": "v", "junk": 1}, True),
    ("fuzzy", 0.8, {"q": "what is machine learning"}, {"q": "what is ML"}, False),
    ("fuzzy", 0.8, {"q": "hello world"}, {"q": "hello wurld"}, True),
    ("fuzzy", 0.8, {"x": None}, {"x": None}, False),  # null is unlike null
    ("fuzzy", 0.8, {"x": 1}, {"x": 1.0}, False),  # two types
    ("fuzzy", 0.8, {"x": 100}, {"x": 85}, True),
    ("fuzzy", 0.8, {"x": 0}, {"x": 0}, True),
    ("fuzzy", 0.1, {"x": 0}, {"x": 1}, False),
    ("fuzzy", 0.1, {"x": 5, "q": "same"}, {"x": -5, "q": "same"}, False),  # -1 and 1 make 0
    ("fuzzy", 0.5, {"x": ["ab"]}, {"x": ["ac"]}, False),
    ("fuzzy", 0.75, {"x": {"p": "v", "q": "w"}}, {"x": {"p": "v"}}, True),  # (1/2 + 1) / 2
    ("fuzzy", 0.76, {"x": {"p": "v", "q": "w"}}, {"x": {"p": "v"}}, False),
    ("fuzzy", 1.0, {"x": {}}, {"x": {}}, True),
    ("fuzzy", 0.8, {"q": SENTENCE}, {"q": SENTENCE}, True),
    ("fuzzy", 0.8, {"q": SENTENCE}, {"q": f"Hi, {SENTENCE}"}, False),  # difflib's autojunk
    ("fuzzy", 0.8, {"q": SENTENCE[:150]}, {"q": f"Hi, {SENTENCE[:150]}"}, True),
]


@pytest.mark.parametrize(("strategy", "threshold", "expected", "actual", "fits"), ARGUMENTS)
def test_by_arguments(
    strategy: str, threshold: float, expected: dict[str, Any], actual: dict[str, Any], fits: bool
) -> None:
    options = {"parameter_matching_strategy": strategy, "fuzzy_threshold": threshold, "check_parameters": True}
    assert run(axion, calls(("a", expected)), calls(("a", actual)), **options).value == fits


def test_arguments_are_ignored_by_default() -> None:
    assert run(axion, calls(("a", {"x": 1})), calls(("a", {"x": 2})), parameter_matching_strategy="fuzzy").value == 1.0


EXPLANATIONS: list[tuple[list[Call], list[Call], dict[str, Any], str]] = [
    ([], [], {}, "Correct: No tools were expected and none were called."),
    ([], calls("a"), {}, "Incorrect: No tools were expected, but 1 were called."),
    (
        calls("a", "b"),
        calls("c", "a"),
        {},
        "[recall] Correctly called: ['a']; Missing tools: ['b']; Unexpected tools: ['c']",
    ),
    (
        calls(("a", {"x": 1})),
        [],
        {"check_parameters": True, "scoring": "f1"},
        "[f1] Missing/incorrect calls: [\"a({'x': 1})\"]",
    ),
    (calls("a"), calls("a", "a"), {"strict_order": True}, "Tool count mismatch: expected 1, got 2"),
    (calls("a"), calls("b"), {"strict_order": True}, "Tool mismatch at position 0: expected 'a', got 'b'"),
    (calls("a", "b"), calls("a", "b"), {"strict_order": True}, "All 2 tools called correctly in order."),
    (
        calls(("a", {"x": 1})),
        calls(("a", {"x": 2})),
        {"strict_order": True, "check_parameters": True},
        "Tool mismatch at position 0: expected 'a', got 'a' with args {'x': 2}",
    ),
]


@pytest.mark.parametrize(("expected", "actual", "options", "explanation"), EXPLANATIONS)
def test_reports_the_explanation_of_the_original(
    expected: list[Call], actual: list[Call], options: dict[str, Any], explanation: str
) -> None:
    assert run(axion, expected, actual, **options).details["explanation"] == explanation


def test_half_passes_by_default() -> None:
    assert run(axion, calls("a", "b"), calls("a")).label == "pass"
    assert run(axion, calls("a", "b"), calls("a"), threshold=0.6).label == "fail"


def test_outcomes_and_missing_tools() -> None:
    score = run(axion, calls("a", "b"), calls("c", "a"))
    assert (list(score.outcomes), list(score.missing)) == (["extra", "matched"], ["b"])


def test_texts_too_long_to_compare_are_refused() -> None:
    options = {"check_parameters": True, "parameter_matching_strategy": "fuzzy"}
    long = "x" * (axion.TEXT_LIMIT + 1)
    with pytest.raises(ValueError, match=f"up to {axion.TEXT_LIMIT} characters"):
        run(axion, calls(("a", {"q": long})), calls(("a", {"q": "y"})), **options)
    assert run(axion, calls(("a", {"q": long})), calls(("a", {"q": long})), **options).value == 1.0


def test_scoring_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="axion option 'scoring'"):
        axion.create(scoring="fbeta")
