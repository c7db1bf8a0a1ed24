"""Mistakes in plain words: what was given where that is short, and the nearest of what there is."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scorers.wording import as_given, nearest, plain_words, quantity


class Model(BaseModel):
    """One field of each kind that rules have."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    text: Annotated[str, Field(min_length=1, max_length=70)] = "a"
    whole: Annotated[int, Field(ge=1, lt=10)] = 1
    number: Annotated[float, Field(gt=0, le=1)] = 1.0
    flag: bool = False
    some: Annotated[list[int], Field(min_length=1, max_length=2)] = [1]
    named: dict[str, int] = {}
    mode: Literal["exact", "flexible"] = "exact"
    always: Literal[True] = True


def told(given_: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        Model.model_validate(given_)
    (error,) = caught.value.errors()
    return plain_words(error)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"text": 5}, "must be text, not 5"),
        ({"text": ["a"]}, "must be text"),
        ({"text": ""}, "must not be empty, not ''"),
        ({"text": "x" * 71}, "must have at most 70 characters"),
        ({"whole": "1"}, "must be a whole number, not '1'"),
        ({"whole": 0}, "must be at least 1, not 0"),
        ({"whole": 10}, "must be less than 10, not 10"),
        ({"number": 0}, "must be greater than 0.0, not 0"),
        ({"number": 1.5}, "must be at most 1.0, not 1.5"),
        ({"number": float("inf")}, "must be a finite number, not inf"),
        ({"number": "x" * 58}, f"must be a number, not {'x' * 58!r}"),
        ({"number": "x" * 59}, "must be a number"),  # too long to repeat
        ({"flag": "yes"}, "must be true or false, not 'yes'"),
        ({"whole": True}, "must be a whole number, not true"),  # as rule files have it, and not Python
        ({"some": {}}, "must be a list"),
        ({"some": []}, "must not be empty"),
        ({"some": [1, 2, 3]}, "must have at most 2 entries, has 3"),
        ({"named": []}, "must be a mapping"),
        ({"mode": "flexibel"}, "must be 'exact' or 'flexible', not 'flexibel'; did you mean flexible?"),
        ({"mode": "x"}, "must be 'exact' or 'flexible', not 'x'"),
        ({"always": False}, "must be true, not false"),
    ],
)
def test_errors_in_plain_words(given_: dict[str, Any], message: str) -> None:
    assert told(given_) == message


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("rout", "; did you mean route?"),
        ("intnet", "; did you mean intent?"),
        ("zzz", ""),
        ("", ""),
        ("r" * 10_000, ""),
        ("Route", "; did you mean route?"),
    ],
)
def test_the_nearest_word(word: str, hint: str) -> None:
    assert nearest(word, ["route", "intent"]) == hint
    assert nearest(word, []) == ""


def test_a_word_without_end_is_compared_up_to_a_limit() -> None:
    assert nearest("a" * 10_000_000, ["a" * 100]) == f"; did you mean {'a' * 100}?"


@given(st.text(max_size=20), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_only_words_that_there_are_are_named(word: str, known: list[str]) -> None:
    hint = nearest(word, known)
    assert hint in {"", *(f"; did you mean {one}?" for one in known)}
    assert word not in known or not word or hint == f"; did you mean {word}?"


def test_one_is_no_plural() -> None:
    assert [quantity(number, "more kind") for number in (0, 1, 2)] == ["0 more kinds", "1 more kind", "2 more kinds"]


@pytest.mark.parametrize(
    "text", ["0.95", "1", "0", "0.9999999", "0.1", "0.667", "1234567", "20260101.5", "-1234567890123456"]
)
def test_what_was_given_is_shown_as_it_was(text: str) -> None:
    assert as_given(float(text)) == text
