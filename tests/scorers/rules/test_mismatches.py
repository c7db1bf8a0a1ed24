"""Which argument of a call is not what a rule expects, in words."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.rules.arguments import compile_arguments
from scorers.rules.mismatches import compile_mismatches
from scorers.rules.model import Tool
from scorers.work import Work

WRONG: list[tuple[Any, Any, str, str]] = [  # pattern, value, what is said of the value, what is said where there is none
    ("7", "8", '"8" is not "7"', 'must be "7"'),
    (True, 1, "1 is not true", "must be true"),
    ({"regex": "^ord_"}, "7", '"7" does not match ^ord_', "must match ^ord_"),
    ({"min": 1}, 0, "0 is not a number from 1", "must be a number from 1"),
    ({"max": 1234567}, 1234568, "1234568 is not a number up to 1234567", "must be a number up to 1234567"),
    ({"max": 10}, "x", '"x" is not a number up to 10', "must be a number up to 10"),
    ({"min": 1, "max": 2.5}, 3, "3 is not a number from 1 to 2.5", "must be a number from 1 to 2.5"),
    ({"approx": 9.99, "tolerance": 0.01}, 9.5, "9.5 is not 9.99 within 0.01", "must be 9.99 within 0.01"),
    ({"one_of": ["EUR", "USD"]}, "GBP", '"GBP" is not one of "EUR", "USD"', 'must be one of "EUR", "USD"'),
    ({"one_of": [{"regex": "a"}, *"bcdef"]}, 1, '1 is not one of ..., "b", "c", "d", "e", ...',
     'must be one of ..., "b", "c", "d", "e", ...'),
    ({"fuzzy": "new york"}, "Rome", '"Rome" is not similar to "new york" (under 0.8)', 'must be similar to "new york"'),
    ({"exact": {"a": 1}}, {"a": 2}, '{"a": 2} is not {"a": 1}', 'must be {"a": 1}'),
    ({"schema": {"type": "string"}}, 1, "1 does not satisfy the JSON Schema of the rule",
     "must satisfy the JSON Schema of the rule"),
    ({"subset": {"a": 1}}, 7, "7 is not an object", "must be an object"),
]  # fmt: skip


def said(arguments: dict[str, Any], given: dict[str, Any], mode: str = "subset", *, values: bool = True) -> list[str]:
    tool = Tool.model_validate({"tool": "t", "arguments": arguments, "arguments_mode": mode})
    found = compile_mismatches(tool)(given, Work())
    assert bool(found) != compile_arguments(tool.arguments or {}, mode)(given, Work())  # as the scorer sees it
    return [one.sentence(values=values) for one in found]


@pytest.mark.parametrize(("pattern", "value", "told", "_"), WRONG)
def test_each_matcher_says_what_a_value_is_not(pattern: Any, value: Any, told: str, _: str) -> None:
    assert said({"x": pattern}, {"x": value}) == [f"x: {told}"]
    (without,) = said({"x": pattern}, {"x": value}, values=False)
    assert told.endswith(without.removeprefix("x "))
    assert without.startswith(("x is not", "x does not"))


@pytest.mark.parametrize(("pattern", "_", "__", "told"), WRONG)
def test_each_matcher_says_what_is_missing(pattern: Any, _: Any, __: str, told: str) -> None:
    assert said({"x": pattern}, {"y": 1}) == [f"x is missing: {told}"]


def test_an_argument_that_must_or_must_not_be_there() -> None:
    assert said({"x": {"present": True}}, {}) == ["x is missing: must be given"]
    assert said({"x": {"present": False}}, {"x": 1}) == ["x: 1 must not be given"]
    assert said({"x": {"ignore": True}}, {}) == []


def test_only_what_differs_is_said_and_where_it_is() -> None:
    assert said(
        {"a": 1, "f": {"subset": {"city": "Rome", "n": {"min": 2}}}}, {"a": 1, "f": {"city": "Paris", "n": 3}}
    ) == ['f.city: "Paris" is not "Rome"']


def test_arguments_that_the_rule_does_not_have() -> None:
    assert said({"a": 1}, {"a": 1, "b": 2}, "exact") == ["b: 2 is not an argument of the rule"]
    assert said({"a": 1}, {"a": 1, "b": 2}) == []


def test_long_and_hostile_values_are_cut_and_escaped() -> None:
    (told,) = said({"x": "7"}, {"x": "\x1b[2J" + "a" * 10_000})
    assert told.isprintable()
    assert len(told) < 100
