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
    ("value", "unit", "valid"),
    [
        (-19.99, 0.01, True),
        (19.995, 0.01, False),
        (7, 0.1, True),
        (7, 2, False),
        (7.0, 7, True),
        (1e308, 0.5, True),
        (1e308, 0.123456789, False),
        (5e-324, 1e308, False),
        (10**4_000, 1e-308, True),
        (float("inf"), 0.01, False),
        (float("nan"), 0.01, False),
        (True, 2, True),  # no number
        ("7", 2, True),
    ],
)
def test_a_multiple_is_one_of_the_numbers_as_written(value: Any, unit: float, *, valid: bool) -> None:
    assert compile_schema({"multipleOf": unit})(value, Work()) is valid


def test_every_amount_in_cents_is_a_multiple_of_a_cent() -> None:
    check = compile_schema({"type": "number", "multipleOf": 0.01})

    assert [cents for cents in range(1, 10_001) if not check(cents / 100, Work())] == []


def test_dividing_numbers_of_many_digits_spends_work_for_their_digits() -> None:
    short, long = Work(), Work()
    check = compile_schema({"multipleOf": 3})
    check(7, short)
    check(10**4_000, long)

    assert short.left - long.left > 1_000


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "strin"}, "not a JSON Schema"),
        ({"$ref": "https://example.com/schema.json"}, "points outside the schema"),
        ({"properties": {"x": {"$ref": "other.json"}}}, "points outside the schema"),
        ({"$ref": "#/$defs/none"}, "does not resolve"),
        ({"$ref": "#/maxItems/x", "maxItems": 3}, "does not resolve to a schema"),
        ({"$ref": "#/allOf/x", "allOf": [{}]}, "does not resolve to a schema"),
        ({"$ref": "#/title/0", "title": "abc"}, "does not resolve to a schema"),
        ({"items": {"$ref": "#/default"}, "default": 5}, "does not resolve to a schema"),
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


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"properties": {"$ref": {"type": "string"}}}, {"$ref": "a.json"}, {"$ref": 1}),
        (
            {"properties": {"patternProperties": {"type": "object"}}},
            {"patternProperties": {}},
            {"patternProperties": 1},
        ),
        ({"properties": {"pattern": {"pattern": "^a"}, "items": {}}}, {"pattern": "ab"}, {"pattern": "b"}),
        ({"type": "object", "default": {"$ref": "a.json", "pattern": "(?=a)"}}, {}, 1),
        ({"const": {"$schema": "a", "patternProperties": 1}}, {"$schema": "a", "patternProperties": 1}, {}),
        ({"enum": [{"$ref": "b"}], "examples": [{"$ref": "b"}]}, {"$ref": "b"}, {"$ref": "c"}),
        ({"dependencies": {"$ref": ["a"]}, "dependentRequired": {"$ref": ["a"]}}, {"$ref": 1, "a": 1}, {"$ref": 1}),
    ],
)
def test_names_and_values_are_no_keywords(schema: dict[str, Any], good: Any, bad: Any) -> None:
    check = compile_schema(schema)
    assert [check(value, Work()) for value in (good, bad)] == [True, False]


@pytest.mark.parametrize("keyword", ["items", "not", "then", "contains", "propertyNames", "unevaluatedItems"])
@pytest.mark.parametrize("inner", [{"$ref": "a.json"}, {"pattern": "(?=a)"}, {"patternProperties": {}}])
def test_what_is_refused_is_found_in_every_schema_of_a_schema(keyword: str, inner: dict[str, Any]) -> None:
    of_a_draft: dict[str, Any] = {"$schema": "http://json-schema.org/draft-07/schema", "dependencies": {"a": inner}}
    by_reference = {"$ref": "#/const/more/0", "const": {"more": [inner]}}
    listed, named = {"allOf": [{}, inner]}, {"dependentSchemas": {"a": inner}}
    for schema in ({keyword: inner}, listed, named, of_a_draft, by_reference):
        with pytest.raises(ValueError, match=r"points outside|RE2|not supported"):
            compile_schema(schema)


@pytest.mark.parametrize("reference", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("more", [{}, {"$id": "https://example.com/schema"}])
def test_a_reference_may_name_an_anchor(reference: str, more: dict[str, Any]) -> None:
    anchor = {"$ref": "$anchor", "$dynamicRef": "$dynamicAnchor"}[reference]
    check = compile_schema({**more, "$defs": {"a": {anchor: "name", "type": "string"}}, "items": {reference: "#name"}})
    assert [check(value, Work()) for value in (["a"], [1])] == [True, False]


def test_a_value_nested_too_deep_is_not_valid() -> None:
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]

    assert compile_schema(TREE)(deep, Work()) is False


@pytest.mark.parametrize(
    ("schema", "value"),
    [({"uniqueItems": True}, [{1, 2}, {1, 2}]), ({"multipleOf": 3}, 1j), ({"exclusiveMaximum": 9}, 1j)],
)
def test_a_value_that_json_does_not_have_is_not_valid(schema: dict[str, Any], value: Any) -> None:
    assert compile_schema(schema)(value, Work()) is False
