"""Values in the encodings of instrumentations."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.payloads.values import (
    MAX_DEPTH,
    MAX_KEPT_TEXT,
    MAX_NAME,
    MAX_REPR,
    MAX_REPR_PARTS,
    MAX_REPRS,
    MAX_TEXT,
    MAX_VALUES,
    UNREADABLE,
    find_text,
    first_member,
    first_name,
    first_value,
    limit_parsing,
    name_of,
    parse_any,
    parse_arguments,
    parse_json,
    parse_once,
    parse_repr,
    span_id_of,
)
from tests.builders import agent_span, run_of, tool_span
from tests.strategies import hostile_text


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("written", "arguments", "text"),
    [
        ('{"city": "Paris"}', {"city": "Paris"}, None),
        ('  {"city": "Paris"}\n', {"city": "Paris"}, None),
        ({"city": "Paris"}, {"city": "Paris"}, None),
        ('"{\\"city\\": \\"Paris\\"}"', {"city": "Paris"}, None),  # JSON inside JSON
        ("{'city': 'Paris', 'again': True, 'at': None}", {"city": "Paris", "again": True, "at": None}, None),
        ("{}", {}, None),
        (None, None, None),
        ("", None, None),
        ("null", None, None),
        ([], None, None),
        ("Paris", None, "Paris"),
        ("[1, 2]", None, "[1, 2]"),
        ("{broken", None, "{broken"),
        ('{"a": 1} and more', None, '{"a": 1} and more'),
        ("{1: 'keys are names'}", None, "{1: 'keys are names'}"),
        ([1, 2], None, "[1, 2]"),
        (7, None, "7"),
    ],
)
def test_arguments_are_an_object_or_text(written: Any, arguments: Any, text: str | None) -> None:
    assert parse_arguments(written) == (arguments, text)


def test_what_has_no_text_is_not_taken_for_nothing() -> None:
    assert parse_arguments(nested(100_000)) == (None, UNREADABLE)
    assert parse_arguments(10**5_000) == (None, UNREADABLE)


def test_numbers_that_json_does_not_know_stay_text() -> None:
    assert parse_arguments('{"limit": NaN, "most": -Infinity}') == ({"limit": "NaN", "most": "-Infinity"}, None)


def test_a_number_that_is_too_large_stays_text() -> None:
    long = "9" * 400 + ".0"
    written = '{"limit": 1e400, "least": -1E+999, "most": 1e308, "long": ' + long + "}"
    expected = {"limit": "1e400", "least": "-1E+999", "most": 1e308, "long": long}
    assert parse_arguments(written) == (expected, None)
    assert parse_arguments(json.dumps(expected)) == (expected, None)


def test_a_number_of_too_many_digits_hides_nothing_beside_it() -> None:
    digits = "9" * 5_000
    assert parse_arguments('{"pad": %s, "amount": 7}' % digits) == ({"pad": digits, "amount": 7}, None)  # noqa: UP031
    assert parse_arguments('{"pad": %s, "amount": ' % digits)[0] is None  # noqa: UP031


@pytest.mark.parametrize("open_", ['{"a":', "["])
def test_deep_nesting_is_not_parsed(open_: str) -> None:
    close = "}" if open_ == '{"a":' else "]"
    deep = open_ * (MAX_DEPTH + 2) + "1" + close * (MAX_DEPTH + 2)
    assert parse_json(deep) is None
    assert parse_json(open_ * MAX_DEPTH + "1" + close * MAX_DEPTH) is not None
    assert parse_json(open_ * 100_000) is None


@given(
    st.lists(
        st.tuples(st.booleans(), st.text(alphabet='[{]}()"\\a', max_size=4)),
        min_size=MAX_DEPTH - 4,
        max_size=MAX_DEPTH + 4,
    ),
    st.sampled_from(["1", "[]", "{}"]),
)
def test_the_depth_of_json_is_that_of_its_containers(levels: list[tuple[bool, str]], innermost: str) -> None:
    text = innermost
    for is_object, words in levels:
        beside = json.dumps(words)
        text = f'{{{beside}: {text}, "b": {beside}}}' if is_object else f"[{beside}, {text}, {beside}]"
    depth = len(levels) + (innermost != "1")
    assert (parse_json(text) is None) == (depth > MAX_DEPTH)


def test_many_brackets_are_not_deep() -> None:
    assert parse_json("[" + ",".join(["{}"] * 500) + "]") == [{}] * 500


def test_a_long_text_is_not_parsed() -> None:
    assert parse_json('"' + "x" * MAX_TEXT + '"') is None
    assert parse_arguments('{"a": "' + "x" * MAX_TEXT + '"}')[0] is None


@pytest.mark.parametrize(
    "text", ["__import__('os')", "print(1)", "a.b", "(" * 1000, "-" * 30_000 + "1", "1+" * 9000 + "1"]
)
def test_only_python_literals_are_parsed(text: str) -> None:
    assert parse_repr(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            "{'tags': {'a'}, 'raw': b'x', 'rest': ..., 'z': 1j}",
            {"tags": ["a"], "raw": "b'x'", "rest": "Ellipsis", "z": "1j"},
        ),
        ("{'at': {(1, 2): {None: 1e400}, b'k': (1, {2})}}", {"at": {"(1, 2)": {None: "inf"}, "b'k'": (1, [2])}}),
        ("{'n': [0x" + "f" * 5_000 + "]}", {"n": ["0x" + "f" * 5_000]}),
    ],
)
def test_what_a_repr_has_and_json_does_not_is_text(text: str, value: Any) -> None:
    assert parse_repr(text) == value
    assert json.dumps(parse_repr(text), allow_nan=False)


def test_parse_any_leaves_plain_text_alone() -> None:
    assert parse_any("refund order 42") == "refund order 42"
    assert parse_any("[urgent] refund") == "[urgent] refund"
    assert parse_any(' ["a"] ') == ["a"]
    assert parse_any("('a', 1)") == ("a", 1)
    assert parse_any('"quoted"') == "quoted"


@pytest.mark.parametrize("value", [None, "", 7, ["x"], b"x", {}])
def test_only_text_is_a_name(value: object) -> None:
    assert name_of(value) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("00f067aa0ba902B7", bytes.fromhex("00f067aa0ba902b7")),
        ("00f067aa 0ba902b7", b""),
        ("x" * 16, b""),
        ("", b""),
        (7, b""),
    ],
)
def test_an_id_of_a_span(value: object, expected: bytes) -> None:
    assert span_id_of(value) == expected


def test_a_name_is_bounded() -> None:
    assert name_of("x" * 10_000) == "x" * MAX_NAME


def test_one_name_is_found_without_parsing() -> None:
    pattern = re.compile(r'"id":\s*"([^"]+)"')
    assert find_text(pattern, '{"a": {"id": "c1"}}') == "c1"
    assert find_text(pattern, "nothing") is None
    assert find_text(pattern, None) is None


@given(st.text(alphabet="{}[]()'\",: \\nabc1-", max_size=200))
def test_any_text_is_parsed_or_kept(text: str) -> None:
    arguments, kept = parse_arguments(text)
    assert arguments is None or kept is None
    parse_any(text)


@pytest.mark.parametrize(
    "recorded", ["x" * 10_000, '"' + "x" * 10_000 + '"', ["x" * 10_000]], ids=["text", "JSON", "list"]
)
def test_a_text_that_is_no_object_is_cut(recorded: object) -> None:
    _, text = parse_arguments(recorded)
    assert text is not None
    assert len(text) == MAX_KEPT_TEXT


def test_a_repr_that_is_too_long_is_not_parsed() -> None:
    assert parse_repr(repr("x" * (MAX_REPR - 2))) == "x" * (MAX_REPR - 2)
    assert parse_repr(repr("x" * (MAX_REPR - 1))) is None


def test_a_name_is_searched_up_to_a_limit() -> None:
    assert find_text(re.compile("x(c1)"), "x" * MAX_TEXT + "c1") is None


def test_the_first_of_several_keys() -> None:
    values = {"a": None, "b": "", "c": 0, "d": "name"}
    assert (first_value(values, "abc"), first_value(values, "bc"), first_value(values, "az")) == ("", "", None)
    assert (first_name(values, "abcd"), first_name(values, "abc")) == ("name", None)


@pytest.mark.parametrize("written", [r'{"to": "a\ud800"}', r"{'to': 'a\ud800'}", r"{'to': 'a\U0000dfff'}"])
def test_half_a_character_is_replaced_where_it_is_read(written: str) -> None:
    assert parse_arguments(written) == ({"to": "a\ufffd"}, None)
    assert parse_any(written) == {"to": "a\ufffd"}


@given(st.dictionaries(hostile_text, hostile_text | st.lists(hostile_text, max_size=3), max_size=3))
def test_whatever_is_parsed_can_be_encoded(value: dict[str, Any]) -> None:
    for written in (json.dumps(value), repr(value)):
        assert json.dumps(parse_any(written), ensure_ascii=False).encode()


def test_the_reprs_parsed_for_one_trace_are_limited() -> None:
    text = repr({"x": "y" * (MAX_REPR - 10)})
    most = MAX_REPRS // len(text)
    parsed = limit_parsing(lambda: [parse_repr(text) is not None for _ in range(most + 5)])
    assert parsed == [True] * most + [False] * 5
    assert parse_repr(text) is not None


def test_a_repr_of_too_many_parts_is_not_parsed() -> None:
    assert parse_repr(repr([1] * (MAX_REPR_PARTS - 1))) == [1] * (MAX_REPR_PARTS - 1)
    assert parse_repr(repr([1] * (MAX_REPR_PARTS + 1))) is None
    assert parse_repr("f'" + "{1}" * (MAX_REPR_PARTS + 1) + "'") is None


def test_the_values_parsed_for_one_trace_are_limited() -> None:
    many = "[" + "1," * (MAX_TEXT // 2 - 2) + "1]"
    most = MAX_VALUES // (MAX_TEXT // 2 - 1)
    assert limit_parsing(lambda: [parse_json(many) is not None for _ in range(most + 2)]) == [True] * most + [False] * 2
    assert parse_json(many) is not None


def test_a_text_is_parsed_once_where_it_is_tried_in_several_ways() -> None:
    many = "[" + "1," * (MAX_TEXT // 2 - 2) + "1]"
    most = MAX_VALUES // (MAX_TEXT // 2 - 1)
    first, *others = parse_once(lambda: [parse_json(many) for _ in range(most + 2)])
    assert first == parse_json(many)
    assert all(other is first for other in others)


def test_reprs_beyond_the_limit_of_a_trace_are_no_arguments() -> None:
    arguments = repr({"x": "y" * (MAX_REPR - 10)})
    tools = [
        tool_span("write", None, number, at=number, attributes={"gen_ai.tool.call.arguments": arguments})
        for number in range(2, 12)
    ]
    read = [call.arguments is not None for call in run_of(agent_span(), *tools).trajectory.calls]
    assert read == [True] * (MAX_REPRS // len(arguments)) + [False] * (10 - MAX_REPRS // len(arguments))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": [1, {"b": 2}], "c": 3}', [1, {"b": 2}]),
        ('{"a": [1], "c": cut', [1]),
        ('{"a": null}', None),
        ('{"b": 1, "a": 2}', None),
        ('{"a": ', None),
        ('{"a": ' + "[" * 100_000, None),
        ('{"a": "' + "x" * MAX_TEXT + '"}', None),
        ('{"a": ' + "1" * 5000 + "}", None),
        (["a"], None),
    ],
)
def test_the_first_member_of_an_object(text: object, expected: object) -> None:
    assert first_member(text, "a") == expected
