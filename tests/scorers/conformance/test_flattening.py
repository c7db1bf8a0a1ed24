"""Patterns as the lists of calls that published scorers take."""

from __future__ import annotations

from typing import Any

import pytest

from scorers import ToolCall, Trajectory
from scorers.conformance.flattening import actual_calls, check_flattening, expected_calls
from scorers.work import Work
from tests.scorers.examples import rule, run

ORD = {"tool": "lookup", "arguments": {"id": {"regex": "^ord_"}, "full": True}}


def flat(expect: dict[str, Any], trajectory: Trajectory, **keys: Any) -> list[dict[str, Any]]:
    native = rule(expect, **keys).native
    diagnosis = native.diagnose_as_listed(trajectory, Work())
    assert native.pattern is not None
    check_flattening(native.pattern)
    return expected_calls(native.pattern, diagnosis, trajectory, Work())


@pytest.mark.parametrize(
    ("expect", "trajectory", "expected"),
    [
        ({"sequence": ["a", "b"]}, run("b"), ["a", "b"]),
        ({"sequence": ["a", {"one_of": ["b", "c"]}]}, run("a", "c"), ["a", "c"]),
        ({"sequence": ["a", {"one_of": ["b", "c"]}]}, run("a"), ["a", "b"]),
        ({"sequence": ["a", {"optional": "b"}]}, run("a", "b"), ["a", "b"]),
        ({"sequence": ["a", {"optional": "b"}]}, run("a"), ["a"]),
        ({"sequence": [{"repeat": "a", "min": 1}]}, run("a", "a", "a"), ["a", "a", "a"]),
        ({"any_order": ["a", "b", "c"]}, run("c", "a"), ["c", "a", "b"]),
        ({"sequence": []}, run("a"), []),
        ({"mode": "subset", "tools": ["a", "b"]}, run("b"), ["b"]),
    ],
)
def test_the_list_is_that_of_the_alignment_closest_to_the_run(
    expect: dict[str, Any], trajectory: Trajectory, expected: list[str]
) -> None:
    assert flat(expect, trajectory) == [{"tool": tool} for tool in expected]


FAILED = ToolCall("a", status="error")


@pytest.mark.parametrize(
    ("expect", "trajectory", "expected"),
    [
        ({"any_order": ["a", "b"]}, run("a", "b", steps=[0, 0]), "ab"),
        ({"any_order": ["a", "b"]}, run("b", "a", steps=[0, 0]), "ba"),
        ({"sequence": ["q", {"any_order": ["a", "b"]}]}, run("q", "b", "a", steps=[0, 1, 1]), "qba"),
        ({"sequence": ["a", "b"]}, run("b", "a", steps=[0, 0]), "ab"),  # no other order is expected
        (
            {"sequence": ["a", {"optional": "a"}], "retries": "collapse"},
            run(FAILED, "a", steps=[0, 0]),
            "aa",
        ),  # no retry
    ],
)
def test_concurrent_calls_are_expected_in_the_order_listed_where_the_pattern_allows_it(
    expect: dict[str, Any], trajectory: Trajectory, expected: str
) -> None:
    constraints = [{"precedence": ["a", "b"]}]  # which holds for concurrent calls however they are listed
    for keys in ({}, {"constraints": constraints}):
        assert flat(expect, trajectory, **keys) == [{"tool": tool} for tool in expected]


def test_published_scorers_of_sequences_take_concurrent_calls_in_whatever_order_they_are_listed() -> None:
    compiled = rule({"any_order": ["a", "b"]}, scorers=[{"system": "evalite", "mode": "exact"}, "adk", "agentevals_lc"])
    for names in ("ab", "ba"):
        evaluations = compiled.evaluate(run(*names, steps=[0, 0]))
        assert [evaluation.score.label for evaluation in evaluations] == ["pass"] * 3


@pytest.mark.parametrize(
    ("tool", "trajectory", "args"),
    [
        ({"tool": "a", "arguments": {"y": {"exact": {"z": 2}}}}, run(("a", {"y": {"z": 2}, "w": 0})), {"y": {"z": 2}}),
        ({"tool": "a", "arguments": {"x": 1}}, run(("a", {"x": 2})), {"x": 1}),
        ({"tool": "a", "arguments": {}}, run("a"), {}),
        (ORD, run(("lookup", {"id": "ord_7", "full": True, "more": 1})), {"id": "ord_7", "full": True, "more": 1}),
        (ORD, run("lookup"), None),
        (ORD, run(("lookup", {"id": "7"})), {"id": "∅", "full": True}),
        (ORD, run(("lookup", {"id": "∅"}), ("other", {"id": "∅1"})), {"id": "∅2", "full": True}),
        (ORD, run(), {"id": "∅", "full": True}),
        ({"tool": "a", "arguments": {"x": {"present": False}, "y": {"ignore": True}}}, run(("a", {"x": 1})), {"x": "∅"}),
    ],
)  # fmt: skip
def test_arguments(tool: dict[str, Any], trajectory: Trajectory, args: dict[str, Any] | None) -> None:
    (call,) = flat({"sequence": [tool]}, trajectory)

    assert call.get("args") == args


def test_a_call_out_of_order_lends_its_arguments() -> None:
    tools = [{"tool": name, "arguments": {"x": {"min": 1}}} for name in "ab"]

    assert flat({"sequence": tools}, run(("b", {"x": 2}), ("a", {"x": 3}))) == [
        {"tool": "a", "args": {"x": 3}},
        {"tool": "b", "args": {"x": 2}},
    ]


@pytest.mark.parametrize(
    "scorer",
    [
        "evalite",
        "vertex",
        {"system": "axion", "check_parameters": True, "parameter_matching_strategy": "subset"},
        {"system": "axion", "check_parameters": True, "parameter_matching_strategy": "fuzzy"},
        {"system": "agentevals_lc", "tool_args_match_mode": "superset"},
        {"system": "mastra_trajectory", "typed": True},
        "mlflow_exact",
    ],
)
def test_published_scorers_pass_no_call_with_arguments_that_a_matcher_refuses(scorer: Any) -> None:
    refund = {"tool": "refund", "arguments": {"amount": {"max": 100}, "currency": "EUR"}}
    compiled = rule({"sequence": [refund, {"tool": "notify", "arguments": {"to": "Ada"}}]}, scorers=[scorer])
    labels = [
        compiled.evaluate(run(("refund", {"amount": amount, "currency": "EUR"}), ("notify", {"to": to})))[0].score.label
        for amount, to in ((50, "Ada"), (1_000_000, "Ada"), (50, "Bob"))
    ]

    assert labels == ["pass", "fail", "fail"]


def test_actual_calls_have_the_captured_arguments() -> None:
    trajectory = run(("a", {"x": 1}), "b", ToolCall("c", {}, status="error"))

    assert actual_calls(trajectory, [0, 1, 2]) == [
        {"tool": "a", "args": {"x": 1}, "state": "result", "success": True},
        {"tool": "b", "state": "result", "success": True},
        {"tool": "c", "args": {}, "state": "output-error", "success": False},
    ]


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        (None, "this rule has no pattern"),
        ({"forbid": ["a"]}, "this rule has no pattern"),
        ({"sequence": ["a", "get_*"]}, "get_\\* is not an exact name"),
        ({"optional": {"tool": {"regex": "^a"}}}, "/\\^a/ is not an exact name"),
    ],
)
def test_patterns_without_a_list_are_refused(expect: dict[str, Any] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_flattening(rule(expect).native.pattern)
