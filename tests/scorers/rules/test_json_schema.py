"""JSON Schema: valid values, and schemas that are refused when a rule is loaded."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.rules.json_schema import compile_schema
from scorers.work import Work

TREE = {"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"type": "string", "minLength": 2}, "ab", True),
        ({"type": "string", "minLength": 2}, "a", False),
        ({"type": "integer"}, True, False),
        ({"type": "object", "required": ["city"], "additionalProperties": False}, {"city": 1}, False),
        ({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}, {"city": "x"}, True),
        ({"pattern": "^(a+)+$"}, "a" * 5_000 + "b", False),
        ({"properties": {"pattern": {"pattern": "^a"}}}, {"pattern": "b"}, False),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}, [1], False),
        (TREE, [[], [[]]], True),
        (TREE, [[1]], False),
    ],
)
def test_valid(schema: dict[str, Any], value: Any, *, valid: bool) -> None:
    assert compile_schema(schema)(value, Work()) is valid


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "strin"}, "not a JSON Schema"),
        ({"$ref": "https://example.com/schema.json"}, "points outside the schema"),
        ({"properties": {"x": {"$ref": "other.json"}}}, "points outside the schema"),
        ({"$ref": "#/$defs/none"}, "does not resolve"),
        ({"$ref": 5}, "points outside the schema|not a JSON Schema"),
        ({"patternProperties": {"^x": {}}}, "patternProperties"),
        ({"pattern": "(?=x)"}, "RE2"),
    ],
)
def test_refused_schemas(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compile_schema(schema)


@pytest.mark.parametrize("draft", ["04", "06", "07", "2019-09", "2020-12"])
def test_a_schema_is_held_against_the_whole_metaschema_of_its_draft(draft: str) -> None:
    dialect = f"http{'s' * draft.startswith('20')}://json-schema.org/draft{'/' * draft.startswith('20')}"
    dialect += f"{draft}/schema" if draft.startswith("20") else f"-{draft}/schema#"
    wrong: list[dict[str, Any]] = [
        {"type": "strin"},
        {"minLength": -1},
        {"not": {"properties": {"a": {"required": 1}}}},
    ]
    for inner in [*wrong, {"allOf": []}]:
        with pytest.raises(ValueError, match="not a JSON Schema"):
            compile_schema({"$schema": dialect, "properties": {"x": {"items": inner}}})
    good = {"$defs": {"a": {"type": "string"}}, "properties": {"x": {"items": {"$ref": "#/$defs/a"}}}}
    check = compile_schema({"$schema": dialect, **good})
    assert [check({"x": items}, Work()) for items in (["a"], [1])] == [True, False]


def test_a_value_nested_too_deep_is_not_valid() -> None:
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]

    assert compile_schema(TREE)(deep, Work()) is False
