"""A value that was masked before it was recorded is neither wrong nor right: no fail and no pass rests on it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers import CompiledRule, ToolCall, Trajectory, parse_rules

ORDER = {"regex": "^ord_"}
MASKS = ("[REDACTED]", "****", "__REDACTED__", "ord ...[truncated]")


def evaluated(expect: dict[str, Any], *calls: ToolCall, **rule: Any) -> Any:
    compiled = CompiledRule(
        parse_rules({"rules": [{"name": "r", "expect": expect, "scorers": ["trajectory"], **rule}]}).rules[0]
    )
    return compiled.evaluate(Trajectory(list(calls)))[0]


def verdict(arguments: dict[str, Any], given: dict[str, Any], mode: str = "subset") -> tuple[str, bool]:
    """The label of a run of one call, and whether something of it was not observed."""
    tool = {"tool": "find", "arguments": arguments, "arguments_mode": mode}
    evaluation = evaluated({"sequence": [tool]}, ToolCall("find", given, step=0))
    return evaluation.score.label, "unobserved" in evaluation.score.details


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(
    "pattern",
    ["ann@x.org", ORDER, {"min": 5}, {"one_of": ["a", "b"]}, {"fuzzy": "hello world"}, {"exact": {"a": [1]}},
     {"schema": {"type": "integer"}}, True],
)  # fmt: skip
def test_a_masked_value_is_unobserved_whatever_tests_it(pattern: Any, mask: str) -> None:
    assert verdict({"x": pattern, "order": ORDER}, {"x": mask, "order": "ord_1"}) == ("incomplete", True)


@pytest.mark.parametrize("mask", MASKS)
def test_a_wrong_value_beside_a_masked_one_is_wrong(mask: str) -> None:
    assert verdict({"x": "a", "order": ORDER}, {"x": mask, "order": "7"}) == ("fail", False)
    assert verdict({"x": "a", "order": ORDER}, {"x": mask}) == ("fail", False)


def test_a_mask_inside_a_mapping_hides_only_what_is_there() -> None:
    inner = {"user": {"subset": {"mail": "ann@x.org", "plan": "pro"}}}
    assert verdict(inner, {"user": {"mail": "****", "plan": "pro"}}) == ("incomplete", True)
    assert verdict(inner, {"user": {"mail": "****", "plan": "free"}}) == ("fail", False)


def test_that_there_is_an_argument_is_seen_behind_a_mask() -> None:
    assert verdict({"x": {"present": True}}, {"x": "****"}) == ("pass", False)
    assert verdict({"x": {"present": False}}, {"x": "****"}) == ("fail", False)
    assert verdict({"y": 1}, {"x": "****", "y": 1}, "exact") == ("fail", False)


def test_no_mask_is_looked_for_in_a_value_that_only_has_to_be_there() -> None:
    tool = {"tool": "write", "arguments": {"path": {"regex": "^src/"}, "content": {"present": True}}}
    calls = [ToolCall("write", {"path": f"src/{at}", "content": "[" * 20_000}, step=at) for at in range(60)]
    assert evaluated({"repeat": tool}, *calls).score.label == "pass"


def test_a_rule_may_expect_the_mask_itself() -> None:
    assert verdict({"x": "[REDACTED]"}, {"x": "[REDACTED]"}) == ("pass", False)


def test_a_masked_value_decides_which_of_two_tools_of_one_name_it_may_be() -> None:
    tools = [{"tool": "find", "arguments": {"x": "a"}}, {"tool": "find", "arguments": {"y": 1}}]
    evaluation = evaluated(
        {"sequence": tools}, ToolCall("find", {"x": "****"}, step=0), ToolCall("find", {"y": 1}, step=1)
    )
    assert (evaluation.score.label, evaluation.score.details["unobserved"]) == ("incomplete", [0])
    swapped = evaluated(
        {"sequence": tools}, ToolCall("find", {"y": 1}, step=0), ToolCall("find", {"x": "****"}, step=1)
    )
    assert swapped.score.label == "fail"


def test_a_constraint_is_broken_only_by_what_was_seen() -> None:
    absence = [{"absence": {"tool": "pay", "arguments": {"to": "eve"}}}]
    assert evaluated({}, ToolCall("pay", {"to": "****"}, step=0), constraints=absence).score.label == "incomplete"
    assert evaluated({}, ToolCall("pay", {"to": "eve"}, step=0), constraints=absence).score.label == "fail"


values = st.one_of(st.integers(0, 2), st.sampled_from(["a", "b", "ord_1"]), st.booleans())
keys = st.sampled_from(["x", "y", "z"])


@given(st.dictionaries(keys, st.one_of(values, st.just(ORDER)), min_size=1), st.dictionaries(keys, values), st.data())
def test_masking_turns_no_pass_into_a_fail_and_hides_no_other_mismatch(
    arguments: dict[str, Any], given_: dict[str, Any], data: st.DataObject
) -> None:
    masked = data.draw(st.sets(st.sampled_from(sorted(given_)))) if given_ else set()
    before, _ = verdict(arguments, given_)
    after, unobserved = verdict(
        arguments, {key: "[REDACTED]" if key in masked else value for key, value in given_.items()}
    )
    # What is left to see: the arguments that were not masked, and that the masked ones are there.
    seen, _ = verdict(
        {key: pattern for key, pattern in arguments.items() if key not in masked} or {"q": {"present": False}}, given_
    )
    looked_for = bool(masked & arguments.keys())
    assert after == ("fail" if seen == "fail" else "incomplete" if looked_for else "pass")
    assert before == "fail" or after != "fail"
    assert unobserved == (after == "incomplete")
