"""The pattern of most runs, from how often each variant was seen."""

from __future__ import annotations

from collections import Counter

import pytest

from collector.learning.structure import Node, find_pattern
from collector.learning.variants import Activity, Variant


def log(runs: dict[str, int]) -> Counter[Variant]:
    """Runs by their calls: ``a b+c`` is a, then b and c at once."""
    return Counter({
        tuple(tuple(sorted(map(Activity, step.split("+")))) for step in calls.split()): count
        for calls, count in runs.items()
    })  # fmt: skip


def shown(node: Node | None) -> str:
    """A pattern in short: ``seq(a, any(b, c), opt(d), one(e, f), g{1,3})``."""
    if node is None:
        return "none"
    inside = node.tool or ", ".join(map(shown, node.children))
    if node.kind == "tool":
        return inside
    if node.kind == "repeat":
        return f"{inside}{{{node.low},{'' if node.high is None else node.high}}}"
    return f"{ {'sequence': 'seq', 'any_order': 'any', 'one_of': 'one', 'optional': 'opt'}[node.kind] }({inside})"


@pytest.mark.parametrize(
    ("runs", "pattern"),
    [
        ({"a": 20}, "a"),
        ({"a b c": 20}, "seq(a, b, c)"),
        ({"a b c d": 12, "a c b d": 8}, "seq(a, any(b, c), d)"),
        ({"a b+c d": 20}, "seq(a, any(b, c), d)"),
        ({"a b c": 14, "a c": 6}, "seq(a, opt(b), c)"),
        ({"a b c d": 8, "a d": 12}, "seq(a, opt(seq(b, c)), d)"),
        ({"a b d": 11, "a c d": 9}, "seq(a, one(b, c), d)"),
        ({"a b": 11, "c d": 9}, "one(seq(a, b), seq(c, d))"),
        ({"a b c": 8, "a b b c": 7, "a b b b c": 6}, "seq(a, b{1,3}, c)"),
        ({"a b a": 20}, "seq(a, b, a)"),
        ({"a b b c": 20}, "seq(a, b{2,2}, c)"),
        ({"a b": 8, "a b a b": 8, "a b a b a b": 6}, "seq(a, b){1,3}"),
        ({"a b c d": 5, "c d a b": 5, "a c b d": 5, "c a d b": 5}, "any(seq(a, b), seq(c, d))"),
        ({"a x": 7, "a y": 7, "a z": 6}, "seq(a, one(x, y, z))"),
        ({"a b": 10, "": 10}, "opt(seq(a, b))"),
        ({"": 20}, "none"),
    ],
)
def test_kinds_of_patterns(runs: dict[str, int], pattern: str) -> None:
    assert shown(find_pattern(log(runs), 0.1)) == pattern


@pytest.mark.parametrize("broken", ["a c", "b a c", "a b c c", "x", "a b b c", "c", "a b x c"])
def test_what_few_runs_do_changes_nothing(broken: str) -> None:
    assert shown(find_pattern(log({"a b c": 180, broken: 19}), 0.1)) == "seq(a, b, c)"


def test_a_third_call_of_a_tool_that_is_called_twice_is_a_mistake() -> None:
    runs = {"a b a c": 190, "a a b a c": 5, "a b a a c": 5}
    assert shown(find_pattern(log(runs), 0.1)) == "seq(a, b, a, c)"


def test_four_runs_with_both_do_not_prove_an_order() -> None:
    found = shown(find_pattern(log({"a d": 40, "a b d": 10, "a c d": 10, "a b c d": 4}), 0.1))
    assert found == "seq(a, opt(any(opt(b), opt(c))), d)"


def test_a_failed_split_says_which_tools_are_called_in_any_order() -> None:
    runs = {"a b a c": 10, "b a": 10, "c a b a": 10, "a c b": 10, "b c a a a": 10}
    assert shown(find_pattern(log(runs), 0.1)) == "any(a{1,3}, b, opt(c))"


def test_nothing_that_comes_in_is_too_deep_or_slow() -> None:
    steps = [f"t{number}" for number in range(60)]
    runs = {" ".join(steps[at:] + steps[:at]): 3 for at in range(30)}
    assert find_pattern(log(runs), 0.1) is not None
