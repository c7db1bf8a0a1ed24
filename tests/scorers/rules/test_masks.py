"""Values that a tracer or collector masked: neither right nor wrong, and of no effect on what does not look at them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from scorers.rules.arguments import MAX_COMPARED_TEXT, MISSING, compile_argument
from scorers.rules.masks import MAX_LOOKED_AT, MaskedChoices, has_mask, is_masked, judge_argument
from scorers.rules.matchers import ArgumentPattern
from scorers.work import MAX_WORK, Work, WorkLimitError

PATTERN: TypeAdapter[Any] = TypeAdapter(ArgumentPattern)
MASKS = [
    "****", "card ****", "***", "__REDACTED__", "[REDACTED]", "[REDACTED EMAIL]", "<redacted>", "REDACTED", "[Filtered]",
    "[Scrubbed due to 'password']", "[sensitive_data]", "<PERSON>", "Mail <EMAIL_ADDRESS> soon", "long...[truncated]",
    "long (truncated 40 characters)",
]  # fmt: skip
VALUES = [
    "",
    "Paris",
    "**bold**",
    "***loud*** words",
    "a [link](b)",
    "<b>PERSON</b>",
    "[truncated] at first",
    "the redacted file",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("text", MASKS)
def test_masks(text: str) -> None:
    assert is_masked(text, Work())
    assert has_mask({"a": [1, {"b": text}]}, Work())


@pytest.mark.parametrize("text", VALUES)
def test_values(text: str) -> None:
    assert not is_masked(text, Work())


def test_only_so_many_values_are_searched() -> None:
    assert has_mask([*range(MAX_LOOKED_AT - 1), "****"], Work())
    assert not has_mask([*range(MAX_LOOKED_AT), "****"], Work())
    assert not has_mask("x" * 20_000 + "****", Work())


def test_a_text_that_is_longer_than_what_is_searched_may_end_with_a_note_that_it_was_cut() -> None:
    assert is_masked("x" * MAX_COMPARED_TEXT + "...[truncated]", Work())
    assert not is_masked("x" * MAX_COMPARED_TEXT + "...", Work())


def test_looking_for_masks_is_paid_for() -> None:
    work = Work()
    is_masked("x" * 8_000, work)
    assert MAX_WORK - work.left == 32
    with pytest.raises(WorkLimitError, match="masks in arguments"):
        has_mask(["[" * 20_000] * 1_000, Work())


@pytest.mark.parametrize(
    ("pattern", "value", "verdict"),
    [
        ("Paris", "[REDACTED]", None),
        (5, "[REDACTED]", None),
        (True, "****", None),
        ("[REDACTED]", "[REDACTED]", True),
        ({"regex": ".*"}, "[REDACTED]", None),
        ({"min": 1}, "<redacted>", None),
        ({"present": True}, "[REDACTED]", True),
        ({"present": False}, "[REDACTED]", False),
        ({"ignore": True}, "[REDACTED]", True),
        ({"one_of": ["EUR", "USD"]}, "[Filtered]", None),
        ({"one_of": ["EUR", "[Filtered]"]}, "[Filtered]", True),
        ({"subset": {"city": "Paris"}}, {"city": "Paris", "name": "<PERSON>"}, True),
        ({"subset": {"city": "Paris", "name": "Jo"}}, {"city": "Rome", "name": "<PERSON>"}, False),
        ({"subset": {"city": "Paris", "name": "Jo"}}, {"city": "Paris", "name": "<PERSON>"}, None),
        ({"subset": {"city": "Paris"}}, "[REDACTED]", None),
        ({"exact": {"a": [1, "x"]}}, {"a": [1, "****"]}, None),
        ({"exact": {"a": [1, "x"]}}, {"a": [2, "****"]}, False),
        ([1, "x"], [1, "x", "****"], False),
        ({"schema": {"type": "object"}}, {"a": "****"}, None),
        ("Paris", MISSING, False),
    ],
)
def test_verdicts(pattern: Any, value: Any, verdict: bool | None) -> None:
    assert judge_argument(PATTERN.validate_python(pattern))(value, Work()) is verdict


def test_choices_decide_by_the_arguments_that_are_not_masked() -> None:
    choices = MaskedChoices([(1, {"id": 1, "name": "Jo"}, "subset"), (2, {"id": 2}, "subset"), (4, {"id": 1}, "exact")])

    assert choices.concern({"name": "****"}, Work())
    assert not choices.concern({"note": "****"}, Work())
    assert choices.matching({"id": 1, "name": "****"}, Work()) == (0, 1)
    assert choices.matching({"id": 2, "name": "****"}, Work()) == (2, 0)
    assert choices.matching({"id": "****"}, Work()) == (0, 2 | 4)


@given(JSON, JSON)
def test_without_masks_it_decides_as_the_matcher_does(expected: Any, value: Any) -> None:
    pattern = PATTERN.validate_python({"exact": expected})

    assert judge_argument(pattern)(value, Work()) is compile_argument(pattern)(value, Work())


@given(JSON, st.sampled_from(MASKS), st.data())
def test_a_right_value_is_never_wrong_once_masked(value: Any, mask: str, data: st.DataObject) -> None:
    judge = judge_argument(PATTERN.validate_python({"exact": value}))

    assert judge(_mask_somewhere(value, mask, data), Work()) is None


def _mask_somewhere(value: Any, mask: str, data: st.DataObject) -> Any:
    if isinstance(value, list) and value and data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(value) - 1))
        return [*value[:at], _mask_somewhere(value[at], mask, data), *value[at + 1 :]]
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: _mask_somewhere(value[key], mask, data)}
    return mask
