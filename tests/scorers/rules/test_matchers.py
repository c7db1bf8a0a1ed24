"""The models of matchers: which mapping is which matcher."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from scorers.rules import matchers
from scorers.rules.matchers import MATCHER_KEYS, ArgumentPattern

PATTERN: TypeAdapter[Any] = TypeAdapter(ArgumentPattern)

EXAMPLES: dict[str, dict[str, Any]] = {
    "regex": {"regex": "a"},
    "fuzzy": {"fuzzy": "a", "threshold": 0.5},
    "semantic": {"semantic": "a"},
    "min": {"min": 1},
    "max": {"max": 1},
    "approx": {"approx": 1, "tolerance": 0.5},
    "one_of": {"one_of": [1]},
    "present": {"present": True},
    "ignore": {"ignore": True},
    "schema": {"schema": {"type": "string"}},
    "subset": {"subset": {"a": 1}},
    "exact": {"exact": {"a": 1}},
}


def test_every_matcher_has_an_example_here() -> None:
    assert tuple(EXAMPLES) == MATCHER_KEYS


@pytest.mark.parametrize("key", MATCHER_KEYS)
def test_the_key_selects_the_matcher_and_dumping_it_restores_the_mapping(key: str) -> None:
    matcher = PATTERN.validate_python(EXAMPLES[key])

    assert type(matcher) is matchers.MATCHER_MODELS[key]
    assert matcher.model_dump(by_alias=True, exclude_unset=True) == EXAMPLES[key]
    assert PATTERN.validate_python(matcher) == matcher


@pytest.mark.parametrize("literal", ["a", 1, 1.5, True, None, [], [{"regex": "a"}]])
def test_everything_but_a_mapping_is_a_literal(literal: Any) -> None:
    assert PATTERN.validate_python(literal) == literal
    assert not isinstance(PATTERN.validate_python(literal), BaseModel)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"city": "a"},
        {"regex": "a", "fuzzy": "b"},
        {"ignore": False},
        {"present": "yes"},
        {"approx": 1, "tolerance": -1},
        {"min": float("nan")},
        {"min": True},
        {"fuzzy": ""},
        {"fuzzy": "a" * 3_000},
        {"fuzzy": "a", "threshold": 1.1},
        {"one_of": []},
        {5: 6},
    ],
)
def test_invalid_matchers_are_refused(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        PATTERN.validate_python(wrong)
