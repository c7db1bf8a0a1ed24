"""The limit of work: hostile runs end in an error that names what took too much, in bounded time; ordinary runs are scored."""

from __future__ import annotations

import gc
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from scorers import SCORERS, Evaluation, ToolCall, Trajectory
from scorers.call_scorer import spend_on_comparisons
from scorers.calls import parse_calls
from scorers.work import MAX_WORK, Work, WorkLimitError, hash_key
from tests.operations import within
from tests.scorers.examples import any_order, rule, run
from tests.scorers.systems.cases import NEEDED_OPTIONS

MODULUS = (1 << 61) - 1
"""Python hashes integers that differ by a multiple of it alike."""


def evaluate(expect: dict[str, Any] | None, trajectory: Trajectory, **keys: Any) -> Evaluation:
    """The evaluation by the last scorer of a rule, which takes well under a second of CPU time whatever the run."""
    compiled = rule(expect, **keys)
    gc.disable()  # to look through what other tests of the process left takes up to a second, too
    try:
        with within(1.0):  # 0.05 on an idle machine
            evaluation = compiled.evaluate(trajectory)[-1]
    finally:
        gc.enable()
    return evaluation


def with_argument(value: Any, calls: int = 1) -> Trajectory:
    return run(*[("a", {"x": value})] * calls)


def argument(matcher: dict[str, Any]) -> dict[str, Any]:
    return {"sequence": [{"tool": "a", "arguments": {"x": matcher}}]}


def shuffled(names: str, calls: int) -> list[str]:
    chosen = Random(calls)
    return [chosen.choice(names) for _ in range(calls)]


def pairs(count: int) -> list[int]:
    return [at // 2 for at in range(2 * count)]


def objects(count: int) -> list[dict[str, int]]:
    return [{"k": at} for at in range(count)]


def nested(depth: int) -> Any:
    value: Any = "bad"
    for _ in range(depth):
        value = {"n": value}
    return value


LOOPS = {"any_order": [{"repeat": {"sequence": [*names]}, "min": 0} for names in ("ab", "cd", "ac")]}
BRANCHING = {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}
RECURSIVE = {
    "$ref": "#/$defs/n",
    "$defs": {"n": {"anyOf": [{"type": "integer"}, *({**BRANCHING, "minProperties": least} for least in (0, 1))]}},
}
GLOBS = [f"*{one}*{other}*" for one in "abcdefghij" for other in "abcdefghij"]

TOO_MUCH: dict[str, tuple[dict[str, Any], Callable[[], Trajectory], str]] = {
    "calls": ({"sequence": ["a"]}, lambda: run(*"a" * 30_000), "the number of calls"),
    "names": ({"any_order": GLOBS}, lambda: run(*[f"made_up_{at}" for at in range(10_000)]), "the names of tools"),
    "literals": (argument({"exact": ["x"] * 1_000}), lambda: with_argument(["x"] * 1_000, 1_000), "arguments"),
    "regex": (argument({"regex": "(a?){300}b"}), lambda: with_argument("a" * 20_000, 100), "regex"),
    "fuzzy": (argument({"fuzzy": "a b" * 600, "ratio": "weighted"}), lambda: with_argument("a" * 20_000), "fuzzy"),
    "partial": (argument({"fuzzy": "a b" * 600, "ratio": "partial"}), lambda: with_argument("a" * 20_000), "fuzzy"),
    "short fuzzy": (argument({"fuzzy": "late order"}), lambda: with_argument("a " * 10_000, 1_000), "fuzzy"),
    "unique items": (argument({"schema": {"uniqueItems": True}}), lambda: with_argument(objects(20_000)), "schema"),
    "contains": (argument({"schema": {"contains": {"const": -1}}}), lambda: with_argument([*range(20_000)]), "schema"),
    "pattern": (argument({"schema": {"pattern": "^(a|a)*$"}}), lambda: with_argument("a" * 100_000 + "!", 1_000), "schema"),
    "references": (argument({"schema": RECURSIVE}), lambda: with_argument(nested(40)), "schema"),
    "unevaluated": (argument({"schema": {"unevaluatedItems": False}}), lambda: with_argument([0] * 20_000), "schema"),
    "loops": (LOOPS, lambda: run(*shuffled("abcd", 2_000)), "expect"),
    "steps": ({"sequence": [*"abcdef" * 10]}, lambda: run(*shuffled("abcdef", 9_000), steps=pairs(4_500)), "expect"),
    "assignment": (
        {"any_order": [{"tool": "a", "arguments": {"i": {"min": at}}} for at in range(300)]},
        lambda: run(*[("a", {"i": at % 300}) for at in range(1_000)]),
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_MUCH)
def test_beyond_the_limit_an_evaluation_is_an_error_that_names_it(name: str) -> None:
    expect, trajectory, part = TOO_MUCH[name]

    score = evaluate(expect, trajectory()).score

    assert (score.label, score.value) == ("error", None)
    assert score.details == {"error.type": "WorkLimitError"}
    assert f"{part} exceeds the limit of 500000 units of work for one evaluation" in score.explanation


def test_constraints_draw_on_the_limit() -> None:
    names = shuffled("ab", 10_000)

    score = evaluate(None, run(*names), constraints=[{"response": ["a", "b"]}] * 100).score

    assert "constraints exceeds the limit" in score.explanation


def test_all_orders_of_a_doubt_draw_on_one_limit() -> None:
    calls = 120
    steps = [min(at, calls - 5) for at in range(calls)]
    unsure = run(*shuffled("abcdef", calls), steps=steps, doubts=[any_order(*range(calls - 5, calls))])

    score = evaluate(LOOPS | {"allow_extra": ["*"]}, unsure, **{"pass": 0.0}).score

    assert (score.label, score.details) == ("error", {"error.type": "WorkLimitError"})


def arguments_of_axion() -> dict[str, Any]:
    return {"system": "axion", "check_parameters": True, "parameter_matching_strategy": "fuzzy"}


def forbidden_sequences() -> dict[str, Any]:
    return {"system": "mastra_trajectory", "blacklistedSequences": [[*"a" * 299, "b"]]}


@pytest.mark.parametrize(
    ("system", "calls"),
    [
        ("evalite", [("a", {"x": [0] * 1_000_000})]),
        ({"system": "deepeval", "check_args": True}, [("a", {"x": at}) for at in range(2_000)]),
        (arguments_of_axion(), [("a", {"x": "ab" * 4_000}), ("a", {"x": "ba" * 4_000})] * 5),
        ("adk", [("a", {"x": at}) for at in range(2_000)]),
        (forbidden_sequences(), ["a"] * 2_000),
    ],
    ids=["values", "pairs of calls", "texts", "pairs", "sequences"],
)
def test_published_scorers_draw_on_the_limit(system: Any, calls: list[Any]) -> None:
    expected = [{"tool": "a", "arguments": {"x": "ab" * 5_000}}] * 100

    score = evaluate({"sequence": expected}, run(*calls), scorers=["trajectory", system]).score

    assert (score.label, score.details) == ("error", {"error.type": "WorkLimitError"})


@pytest.mark.parametrize("name", sorted(SCORERS.keys() - {"trajectory", "mastra_llm"}))
def test_published_scorers_score_two_hundred_calls(name: str) -> None:
    system = {"system": name, **NEEDED_OPTIONS.get(name, {})}
    names = [f"t{at % 7}" for at in range(200)]
    expected = [{"tool": name, "arguments": {"query": f"value {at}"}} for at, name in enumerate(names)]

    score = evaluate(
        {"sequence": expected}, run(*[(name, {"query": "value"}) for name in names]), scorers=["trajectory", system]
    ).score

    assert score.label in {"pass", "fail"}


def test_a_scorer_by_itself_has_no_limit() -> None:
    one = [{"tool": "a", "args": {"x": "text"}}]

    assert SCORERS["adk"](match_type="ANY_ORDER")(expected=one, actual=one * 200_000).value == 1.0


@pytest.mark.parametrize(
    ("expect", "trajectory"),
    [
        ({"sequence": [*"abcdef" * 10]}, run(*shuffled("abcdef", 10_000))),
        ({"sequence": [*"abcdef" * 10]}, run(*shuffled("abcdef", 10_000), steps=[0] * 10_000)),
        ({"sequence": [f"t{at}" for at in range(400)]}, run(*[f"t{400 - at}" for at in range(400)], steps=[0] * 400)),
        ({"sequence": [*"abcdef" * 30]}, run(*shuffled("abcdef", 180), steps=[at // 5 for at in range(180)])),
        ({"sequence": [f"t{at}" for at in range(200)]}, run(*[f"t{at ^ 1}" for at in range(200)], steps=pairs(100))),
        ({"any_order": ["*"] * 300}, run(*shuffled("abcdef", 10_000))),
        (argument({"schema": {"uniqueItems": True}}), with_argument(objects(4_000))),
        (argument({"regex": "refund|cancel|order"}), with_argument("a" * 20_000, 500)),
        (argument({"fuzzy": "where is my order"}), with_argument("where was my order, please?", 5_000)),
    ],
    ids=["long", "one step", "reversed step", "steps", "pairs", "globs", "unique items", "regex", "fuzzy"],
)
def test_large_runs_are_scored(expect: dict[str, Any], trajectory: Trajectory) -> None:
    assert evaluate(expect, trajectory).score.label in {"pass", "fail"}


def test_the_same_run_takes_the_same_work_again() -> None:
    scorer = rule(LOOPS | {"forbid": ["x*"]}).native
    trajectory = run(*shuffled("abcd", 50))
    first, second = Work(), Work()

    assert scorer.score(trajectory, first) == scorer.score(trajectory, second)  # the second from a cache
    assert first.left == second.left < MAX_WORK


def test_integers_of_equal_hash_do_not_slow_sets_down() -> None:
    colliding = [at * MODULUS for at in range(4_000)]

    assert evaluate(argument({"schema": {"uniqueItems": True}}), with_argument(colliding)).score.label == "pass"
    assert len({hash(hash_key(number)) for number in colliding}) == len(colliding)


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (10**20, 1e20), (-(10**20), -1e20), (1 << 60, 2.0**60), (10**400, 10**400)]
)
def test_equal_numbers_have_equal_keys(one: float, other: float) -> None:
    assert hash_key(one) == hash_key(other)
    assert hash_key(one) != hash_key(one + 1)


def test_work_is_spent_to_the_last_unit() -> None:
    work = Work()
    work.spend(MAX_WORK, "regex")

    with pytest.raises(WorkLimitError, match="schema exceeds the limit"):
        work.spend(1, "schema")


def test_calls_of_other_tools_are_not_compared_by_their_arguments() -> None:
    def left(*tools: str) -> int:
        work = Work()
        one, other = [parse_calls([{"tool": tool, "args": {"x": "y" * 5_000}}] * 5, "actual") for tool in tools]
        spend_on_comparisons(one, other, work)
        return work.left

    assert left("a", "b") > left("a", "a")


def test_calls_that_never_ran_cost_as_much_as_others() -> None:
    work = Work()

    rule({"sequence": ["a"]}).native.score(Trajectory([ToolCall("a", executed=False)] * 100), work)

    assert work.left < MAX_WORK - 2_000
