"""Flattened attributes, rebuilt into the value that they came from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.payloads.flattened_attributes import FlattenedAttributes, flattened_calls, unflatten

UNFOLDED: list[tuple[dict[str, Any], Any]] = [
    ({}, {}),
    ({"a.0.b": 1, "a.1.b": 2}, {"a": [{"b": 1}, {"b": 2}]}),
    ({"a.10": "k", "a.9": "j"}, {"a": ["j", "k"]}),
    ({"a.0": 1, "a.x": 2}, {"a": {"0": 1, "x": 2}}),
    ({"a": 1, "a.b": 2}, {"a": {"b": 2}}),
    ({"a.b": 2, "a": 1}, {"a": {"b": 2}}),
    ({"": 1, ".": 2}, {"": {"": 2}}),
    ({"a.0": {"7": 1}, "a.1": {7: 1}}, {"a": [{"7": 1}, {7: 1}]}),  # objects that were attributes themselves
    ({"a": {"b": 1}, "a.c": 2}, {"a": {"c": 2}}),
]


@pytest.mark.parametrize(("attributes", "value"), UNFOLDED)
def test_unflatten(attributes: dict[str, Any], value: Any) -> None:
    assert unflatten(FlattenedAttributes(attributes)) == value


@pytest.mark.parametrize("value", [{"a.0": 1}, ["a.0"], "a.0", None])
def test_any_other_value_is_unchanged(value: Any) -> None:
    assert unflatten(value) is value


@given(st.dictionaries(st.text("a0.²", max_size=40), st.integers(), max_size=8))
def test_no_name_raises(attributes: dict[str, int]) -> None:
    unflatten(FlattenedAttributes(attributes))


def test_depth_and_number_are_bounded() -> None:
    assert unflatten(FlattenedAttributes({"a." * 10_000: 1}))
    many = unflatten(FlattenedAttributes({f"a.{at}": at for at in range(100_000)}))
    assert isinstance(many, dict)
    assert len(many["a"]) == 4_096


@pytest.mark.parametrize(
    "key",
    [
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.{}",
        "gen_ai.completion.0.tool_calls.0.{}",
        "acme.choices.1.message.tool_calls.0.function.{}",
        "message.tool_calls.0.tool_call.function.{}",
        "llm.output_messages.0.message.contents.0.tool_call.function.{}",
    ],
)
def test_a_call_of_an_answer_is_read_from_its_parts(key: str) -> None:
    parts = {key.format("name"): "pay", key.format("arguments"): "{}"}
    assert flattened_calls(parts) == [{"type": "tool_call", "name": "pay", "arguments": "{}"}]


def test_calls_are_in_order_and_those_repeated_as_contents_count_once() -> None:
    answer = "llm.output_messages.0.message"
    names = {f"{answer}.tool_calls.{at}.tool_call.function.name": f"f{at}" for at in (10, 2)}
    again = {f"{answer}.contents.0.tool_call.function.name": "f2"}
    calls = flattened_calls({**again, **names})
    assert calls is not None
    assert [call["name"] for call in calls] == ["f2", "f10"]


@pytest.mark.parametrize("key", ["llm.input_messages.0.message.tool_calls.0.tool_call.function.name", "llm.tool_calls"])
def test_what_was_asked_before_is_no_call_of_the_answer(key: str) -> None:
    assert flattened_calls({key: "pay"}) is None
