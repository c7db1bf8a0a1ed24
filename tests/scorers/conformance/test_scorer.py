"""The native score: values computed by hand, labels, limits, unknown orders, cached shapes."""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from random import Random
from typing import Any

import pytest

from scorers import SCORERS, CompiledRule, Score, ToolCall, Trajectory
from scorers.conformance.observation import MAX_NAME
from scorers.conformance.pattern import PatternError
from scorers.conformance.scorer import MAX_CACHED_RESIDUALS, MAX_CACHED_SHAPES, MAX_SHAPE_CALLS
from scorers.doubts import MAX_ALTERNATIVES
from scorers.score import TOLERANCE
from scorers.work import MAX_WORK, Work, WorkLimitError
from tests.scorers.examples import any_order, refund_file, rule, run

ORDER = ("lookup_order", {"order_id": "ord_7"})


def refund(trajectory: Trajectory) -> Score:
    keys = refund_file()["rules"][0]
    return rule(keys["expect"], constraints=keys["constraints"], **{"pass": keys["pass"]}).native.score(trajectory)


def label_of(compiled: CompiledRule, trajectory: Trajectory) -> str:
    (evaluation,) = compiled.evaluate(trajectory)
    return evaluation.score.label


@pytest.mark.parametrize(
    ("trajectory", "value", "label"),
    [
        (run(ORDER, "check_inventory", "check_policy", "refund_card"), "1", "pass"),
        (run(ORDER, "check_policy", "log_it", "check_inventory", "notify_user", "refund_credit"), "1", "pass"),
        (run(ORDER, "check_inventory", "check_policy", "refund_card", steps=[0, 1, 1, 2]), "1", "pass"),
        (run("lookup_order", "check_inventory", "check_policy", "refund_card"), "1", "pass"),
        # Two edits of 4 expected and 4 made: a different order was looked up.
        (run(("lookup_order", {"order_id": "7"}), "check_inventory", "check_policy", "refund_card"), "6/8", "fail"),
        # Two edits for the call out of order, and one for the violated precedence.
        (run("refund_card", ORDER, "check_inventory", "check_policy"), "6/9", "fail"),
        (run(ORDER, "check_inventory", "check_policy"), "6/7", "fail"),
        (run(ORDER, "check_inventory", "check_policy", "refund_card", "search"), "8/9", "fail"),
        # Forbidden costs what extra costs, and fails whatever the value.
        (run(ORDER, "check_inventory", "check_policy", "refund_card", "delete_order"), "8/9", "fail"),
        (run(), "0", "fail"),
        (run("search"), "0", "fail"),
    ],
)
def test_the_example_of_the_documentation(trajectory: Trajectory, value: str, label: str) -> None:
    score = refund(trajectory)

    assert (score.value, score.label) == (float(Fraction(value)), label)


def test_precision_recall_and_f1_of_the_same_alignment() -> None:
    details = rule({"sequence": ["a", "b", "c"]}).native.score(run("a", "c", "x", "y")).details

    assert details == {"expected": 3, "made": 4, "matched": 2, "precision": 0.5, "recall": 2 / 3, "f1": 4 / 7}


@pytest.mark.parametrize(
    ("keys", "trajectory", "value", "label"),
    [
        ({"expect": {"sequence": []}}, run(), 1.0, "pass"),
        ({"expect": {"sequence": []}}, run("a"), 0.0, "fail"),
        ({}, run("a", "b"), 1.0, "pass"),
        ({}, run(), 1.0, "pass"),
        ({"expect": {"optional": "a"}}, run(), 1.0, "pass"),
        # A violated limit adds one edit, and one to the divisor.
        ({"expect": {"sequence": ["a"], "max_calls": 1, "allow_extra": ["b"]}}, run("a", "b"), 2 / 3, "fail"),
        ({"expect": {"sequence": ["a"], "max_calls": 2, "allow_extra": ["b"]}}, run("a", "b"), 1.0, "pass"),
        ({"expect": {"sequence": ["a"], "max_errors": 0}}, run(ToolCall("a", status="error")), 2 / 3, "fail"),
        ({"expect": {"sequence": ["a"], "max_errors": 1}}, run(ToolCall("a", status="error")), 1.0, "pass"),
        ({"expect": {"max_errors": 0, "retries": "collapse"}}, run(ToolCall("a", status="error"), "a"), 1.0, "pass"),
        ({"expect": {"max_errors": 0, "retries": "collapse"}}, run(ToolCall("a", status="error"), "b"), 0.0, "fail"),
        ({"expect": {"sequence": ["a", "b"], "allow_extra": ["*"]}}, run("b", "a"), 0.5, "fail"),
        ({"expect": {"max_errors": 0, "max_calls": 5}}, run(ToolCall("a", status="error"), "a"), 0.5, "fail"),
        # Without a pattern the value is the share of constraints and limits that are satisfied.
        ({"constraints": [{"absence": "a"}, {"absence": "b"}, {"existence": "c"}]}, run("a", "c"), 2 / 3, "fail"),
        ({"constraints": [{"absence": "a"}, {"absence": "b"}]}, run("c"), 1.0, "pass"),
        ({"expect": {"forbid": ["rm"]}, "constraints": [{"existence": "a"}]}, run("a", "rm"), 0.5, "fail"),
        ({"expect": {"sequence": ["a", "b", "c"]}, "pass": 0.6}, run("a", "b"), 0.8, "pass"),
        ({"expect": {"sequence": ["a", "b", "c"]}, "pass": 0.8}, run("a", "b"), 0.8, "pass"),
        ({"expect": {"sequence": ["a", "b", "c"]}, "pass": 0.81}, run("a", "b"), 0.8, "fail"),
        ({"expect": {"sequence": ["a"]}, "pass": 0}, run(), 0.0, "pass"),
        ({"expect": {"sequence": ["a"], "forbid": ["rm"]}, "pass": 0}, run("a", "rm"), 2 / 3, "fail"),
        ({"expect": {"sequence": ["a"]}, "constraints": [{"absence": "b"}], "pass": 0}, run("b", "a"), 0.5, "fail"),
    ],
)  # fmt: skip
def test_values_and_labels(keys: dict[str, Any], trajectory: Trajectory, value: float, label: str) -> None:
    score = rule(**keys).native.score(trajectory)

    assert score.value == pytest.approx(value)
    assert score.label == label


@pytest.mark.parametrize("calls", ["abac", "acab"])
def test_a_tool_of_two_branches_is_matched_in_the_branch_that_goes_on(calls: str) -> None:
    scorer = rule({"any_order": [{"sequence": ["a", "b"]}, {"sequence": ["a", "c"]}]}).native

    assert scorer.score(run(*calls)).value == 1.0


def test_calls_without_captured_arguments_are_listed_in_the_details() -> None:
    with_arguments = [{"tool": tool, "arguments": {"x": 1}} for tool in "ab"]
    scorer = rule({"sequence": [*with_arguments, "c"]}).native

    assert scorer.score(run("a", ("b", {"x": 1}), "c")).details["unobserved"] == [0]
    assert scorer.score(run("b", "a", "c", steps=[0, 0, 1])).details["unobserved"] == [0, 1]
    assert "unobserved" not in scorer.score(run(("a", {"x": 1}), ("b", {"x": 1}), "c")).details


@pytest.mark.parametrize(
    ("expect", "names", "label"),
    [
        ({"sequence": ["a", "b"]}, "ab", "ambiguous"),
        ({"sequence": ["a", "b"]}, "aab", "fail"),  # no order passes
        ({"any_order": ["a", "b"]}, "ab", "pass"),  # every order passes
        ({"any_order": [*"abcdef"]}, "fedcba", "pass"),  # order cannot matter, so that none has to be tried
        ({"sequence": [{"optional": "a"}, {"optional": "b"}]}, "ab", "ambiguous"),
        ({"sequence": ["x", {"any_order": ["a", "b"]}]}, "xab", "ambiguous"),
        ({"one_of": [{"sequence": ["a", "b"]}, {"sequence": ["b", "a"]}]}, "ab", "pass"),
        ({"sequence": [{"repeat": "a"}]}, "aaaa", "pass"),
        ({"sequence": [*"abcdef"]}, "fedcba", "ambiguous"),  # more orders than are tried
        ({}, "ab", "pass"),
    ],
)
def test_an_unknown_order_is_ambiguous_if_the_label_depends_on_it(
    expect: dict[str, Any], names: str, label: str
) -> None:
    trajectory = run(*names, steps=[4] * len(names), doubts=[any_order(*range(len(names)))])

    assert label_of(rule(expect), trajectory) == label
    assert label_of(rule(expect), run(*names, steps=[4] * len(names))) == ("pass" if label != "fail" else label)


def test_retries_in_an_unknown_order_are_ambiguous() -> None:
    unordered = run(ToolCall("a", status="error"), "a", steps=[0, 0], doubts=[any_order(0, 1)])

    assert label_of(rule({"any_order": ["a", "a"], "retries": "collapse"}), unordered) == "ambiguous"
    assert label_of(rule({"any_order": ["a", "a"]}), unordered) == "pass"


def test_constraints_on_an_unknown_order_are_ambiguous() -> None:
    unordered = run("a", "b", steps=[0, 0], doubts=[any_order(0, 1)])

    assert label_of(rule(constraints=[{"precedence": ["a", "b"]}]), unordered) == "ambiguous"
    assert label_of(rule(constraints=[{"existence": "b"}]), unordered) == "pass"


@pytest.mark.parametrize(
    ("steps", "label"),
    [
        ([0] * 5, "pass"),  # 5! orders
        ([0] * 6, "ambiguous"),
        ([0] * 4 + [1] * 2, "pass"),  # 4! * 2 orders
        ([0] * 4 + [1] * 3, "ambiguous"),  # 4! * 3! orders
    ],
)
def test_the_orders_that_are_tried_are_bounded(steps: list[int], label: str) -> None:
    assert factorial(5) <= MAX_ALTERNATIVES < factorial(4) * factorial(3)
    places = [[at for at, of in enumerate(steps) if of == step] for step in set(steps)]
    unordered = run(*"a" * len(steps), steps=steps, doubts=[any_order(*of) for of in places])

    assert label_of(rule({"repeat": "a"}), unordered) == label


def test_a_tool_cannot_be_both_expected_and_forbidden() -> None:
    with pytest.raises(ValueError, match="delete_tmp is both expected and forbidden"):
        rule({"sequence": ["delete_tmp"], "forbid": ["delete_*"]})


def test_a_run_that_needs_too_large_a_search_raises() -> None:
    shuffled = Random(3)
    expected = [f"t{shuffled.randrange(10)}" for _ in range(200)]
    scorer = rule({"sequence": [{"optional": name} for name in expected]}).native

    with pytest.raises(WorkLimitError):
        scorer.score(run(*shuffled.sample(expected, 200), steps=[at // 8 for at in range(200)]))


def test_a_shape_has_the_same_score_after_its_eviction() -> None:
    scorer = rule({"sequence": [{"tool": "a", "arguments": {"x": 1}}, "b"]}).native
    runs = [run(("a", {"x": x}), name) for x in (1, 2) for name in ("b", "c", "d")]
    first = [scorer.score(trajectory) for trajectory in runs]

    for number in range(3 * MAX_CACHED_SHAPES):
        scorer.score(run(f"made_up_{number}"))

    assert [scorer.score(trajectory) for trajectory in runs] == first


def test_a_shape_is_scored_once() -> None:
    scorer = rule({"sequence": ["a"]}).native
    trajectory = run("a", "b")

    assert scorer.score(trajectory) is scorer.score(trajectory)


def test_the_number_of_cached_shapes_is_bounded() -> None:
    scorer = rule({"sequence": ["a"]}).native

    for number in range(MAX_CACHED_SHAPES):
        scorer.score(run(f"made_up_{number}"))
    assert len(scorer._results) == MAX_CACHED_SHAPES

    scorer.score(run("one_more"))
    assert len(scorer._results) == 1


@pytest.mark.parametrize(("calls", "cached"), [(MAX_SHAPE_CALLS, True), (MAX_SHAPE_CALLS + 1, False)])
def test_only_shapes_of_short_runs_are_cached(calls: int, *, cached: bool) -> None:
    scorer = rule({"sequence": ["a"]}).native

    scorer.score(run(*["a"] * calls))

    assert bool(scorer._results) is cached


@pytest.mark.parametrize(("length", "cached"), [(MAX_NAME, True), (MAX_NAME + 1, False)])
def test_only_shapes_with_short_names_are_cached(length: int, *, cached: bool) -> None:
    scorer = rule({"sequence": ["a"]}).native

    scorer.score(run("a", "x" * length))

    assert bool(scorer._results) is cached


@pytest.mark.parametrize(("missed_by", "label"), [(0.0, "pass"), (TOLERANCE / 2, "pass"), (2 * TOLERANCE, "fail")])
def test_a_value_passes_if_it_misses_the_threshold_by_no_more_than_the_tolerance(missed_by: float, label: str) -> None:
    threshold = 0.8 + missed_by  # the run has 2 of 3 calls: 1 - 1/(3 + 2)

    assert rule({"sequence": ["a", "b", "c"]}, **{"pass": threshold}).native.score(run("a", "b")).label == label


def test_residuals_of_earlier_runs_are_dropped() -> None:
    tools = [f"t{at}" for at in range(12)]
    scorer = rule({"sequence": [{"any_order": tools}, "end"]}).native
    subsets = [[tool for at, tool in enumerate(tools) if mask >> at & 1] for mask in range(1, 4096, 5)]

    values = [scorer.score(run(*subset, "end")).value for subset in subsets]

    assert values == [pytest.approx(1 - (12 - len(subset)) / (14 + len(subset))) for subset in subsets]
    assert scorer.pattern is not None
    assert scorer.pattern.size < MAX_CACHED_RESIDUALS + 1_000


@pytest.mark.parametrize(
    ("options", "expected", "actual", "value"),
    [
        ({}, ["a", "b"], ["a", "b"], 1.0),
        ({}, ["a", "b"], ["b", "a"], 0.5),
        ({"mode": "any_order"}, ["a", "b"], ["b", "x", "a"], 1.0),
        ({"allow_extra": ["x"]}, ["a"], ["x", "a"], 1.0),
        ({"max_calls": 1, "mode": "in_order"}, ["a"], ["a", "x"], 0.5),
        ({"constraints": [{"absence": "x"}]}, ["a"], ["a"], 1.0),
        ({}, ["a*"], ["a*"], 1.0),
        ({}, ["a*"], ["ab"], 0.0),
        ({}, [], [], 1.0),
    ],
)
def test_as_a_scorer_of_plain_calls(
    options: dict[str, Any], expected: list[str], actual: list[str], value: float
) -> None:
    scorer = SCORERS["trajectory"](**options)

    score = scorer(expected=[{"tool": tool} for tool in expected], actual=[{"tool": tool} for tool in actual])

    assert score.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("options", "arguments", "value"),
    [
        ({}, {"x": 1, "y": 2}, 1.0),
        ({"arguments_mode": "exact"}, {"x": 1, "y": 2}, 0.0),
        ({}, {"x": 2}, 0.0),
        ({}, None, 1.0),
    ],
)
def test_arguments_of_plain_calls_are_literals(
    options: dict[str, Any], arguments: dict[str, Any] | None, value: float
) -> None:
    actual = {"tool": "a"} | ({} if arguments is None else {"args": arguments})

    score = SCORERS["trajectory"](**options)(expected=[{"tool": "a", "args": {"x": 1}}], actual=[actual])

    assert score.value == value


@pytest.mark.parametrize(
    ("options", "expected", "message"),
    [
        ({"mode": "in_ordr"}, [], "did you mean in_order?"),
        ({"colour": "red"}, [], "unknown key colour"),
        ({}, ["a"], "expected\\[0\\] must be an object"),
        ({}, [{"tool": 5}], "expected\\[0\\] must be an object"),
        ({}, [{"tool": "a", "args": []}], "the arguments of 'a' must be an object"),
        ({}, "ab", "expected must be a list of calls"),
    ],
)
def test_invalid_calls_and_options_are_refused(options: dict[str, Any], expected: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        SCORERS["trajectory"](**options)(expected=expected, actual=[])


def test_of_plain_calls_those_made_are_named_in_errors_and_the_work_is_counted() -> None:
    scorer = SCORERS["trajectory"]()

    with pytest.raises(TypeError, match=r"actual\[0\] must be an object"):
        scorer(expected=[], actual=["a"])  # type: ignore[list-item]
    work = Work()
    scorer(expected=[{"tool": "a"}], actual=[{"tool": "b"}] * 1_000, work=work)
    assert work.left < MAX_WORK


@pytest.mark.parametrize(("threshold", "label"), [(0.5, "pass"), (0.6, "fail")])
def test_the_threshold_of_plain_calls(threshold: float, label: str) -> None:
    score = SCORERS["trajectory"](**{"pass": threshold})(expected=[{"tool": "a"}] * 3, actual=[{"tool": "a"}])

    assert (score.value, score.label) == (0.5, label)


def test_a_pattern_error_is_a_value_error() -> None:
    assert issubclass(PatternError, ValueError)
