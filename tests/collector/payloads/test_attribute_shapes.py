"""What keys of unknown tracers are about, by their words alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.payloads.attribute_shapes import (
    MAX_KEY,
    MAX_LOOKED_AT,
    may_hold_arguments,
    shape_of,
    typed_tool_name,
    values_by_meaning,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("toolName", "tool_name"),
        ("tool.name", "tool_name"),
        ("Tool-Name", "tool_name"),
        ("TOOL_NAME", "tool_name"),
        ("MCPToolName", "mcp_tool_name"),
        ("entity.1.type", "entity_1_type"),
        ("__x--", "x"),
        ("é", "e"),
        ("日", ""),
        ("", ""),
    ],
)
def test_words(text: str, words: str) -> None:
    assert words_of(text) == words


@given(st.text("aZ1._é- ", max_size=20))
def test_words_of_words_are_the_same(text: str) -> None:
    words = words_of(text)
    assert words_of(words) == words
    assert words == words.lower().strip("_")
    assert "__" not in words


@pytest.mark.parametrize("key", ["tool_name", "acme.tool.name", "toolName", "acme.function.name", "mcp.tool.name"])
def test_prefix_and_style_of_a_key_say_nothing(key: str) -> None:
    shape = shape_of(key)
    assert shape is not None
    assert shape.meaning == "tool_name"


@pytest.mark.parametrize(
    "key",
    [
        "code.function.name",
        "use_tool",
        "has_tool",
        "toolbox_names",
        "mytool",
        "mime.kind",
        "session.name",
        "spanstatus",
        "",
    ],
)
def test_keys_about_something_else(key: str) -> None:
    assert shape_of(key) is None


def test_a_key_of_any_length_is_looked_at_up_to_a_limit() -> None:
    ending = ".tool.name"
    assert shape_of("x" * (MAX_KEY - len(ending)) + ending) is not None
    assert shape_of("x" * (MAX_KEY + 1 - len(ending)) + ending) is None


def test_the_most_believable_value_comes_first() -> None:
    found = values_by_meaning({
        "acme.input": "any", "tool.arguments": "own", "params": "weak", "x.tool.arguments": "longer", "color": "red",
        "tool.args": None, "tool.inputs": "",
    })  # fmt: skip
    assert found == {"input": ["own", "longer", "any", "weak"]}


@given(st.permutations([("b.input", 1), ("a.input", 2), ("input", 3), ("tool.input", 4)]))
def test_the_order_of_attributes_makes_no_difference(attributes: list[tuple[str, int]]) -> None:
    assert values_by_meaning(dict(attributes)) == {"input": [4, 3, 2, 1]}


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({"entity.1.type": "tool.x", "entity.1.name": "pay"}, "pay"),
        ({"entity.1.type": "toolCall", "entity.1.name": "pay"}, "pay"),
        ({"entity.1.type": "agent", "entity.1.name": "a", "entity.2.type": "tool", "entity.2.name": "pay"}, "pay"),
        ({"entity.1.type": "tool", "entity.2.name": "pay"}, None),
        ({"entity.1.type": "toolbox", "entity.1.name": "pay"}, None),
        ({"entity.1.type": 7, "entity.1.name": "pay"}, None),
        ({}, None),
    ],
)
def test_the_entity_that_is_a_tool(attributes: dict[str, Any], name: object) -> None:
    assert typed_tool_name(attributes) == name


def test_of_many_attributes_only_the_first_are_looked_at_and_the_others_may_be_anything() -> None:
    few = {f"note_{number}": "x" for number in range(MAX_LOOKED_AT - 1)}
    assert values_by_meaning({**few, "tool_name": "pay"}) == {"tool_name": ["pay"]}
    assert values_by_meaning({**few, "note": "x", "tool_name": "pay"}) == {}
    assert not may_hold_arguments({**few, "note": "x"})
    assert may_hold_arguments({**few, "note": "x", "more": "x"})


def test_a_name_of_any_length_is_read_up_to_a_limit() -> None:
    name = "toolName" + "aB" * MAX_KEY
    assert words_of(name).startswith("tool_name")
    assert words_of(name + "cD" * 100) == words_of(name)
