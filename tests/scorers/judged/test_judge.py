"""Reading a model's answer: what is read over, what is refused."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.judged.judge import MAX_ANSWER_LENGTH, AnswerError, parse_answer
from tests.operations import within

ANY_OBJECT: dict[str, Any] = {"type": "object"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "list": {"type": "array", "items": {"type": "string"}}},
    "required": ["n"],
}

READ: list[tuple[str, dict[str, Any]]] = [
    ('{"n": 1}', {"n": 1}),
    ('  {"n": 1}\n', {"n": 1}),
    ('```json\n{"n": 1}\n```', {"n": 1}),
    ('```\n{"n": 1}\n```', {"n": 1}),
    ('```json\n{"n": 1}', {"n": 1}),
    ('Here you are: {"n": 1}. Bye.', {"n": 1}),
    ('{"n": 1} and that is all', {"n": 1}),
    ('first {"n": 1}, no, {"n": 2}', {"n": 2}),
    ('{"n": 1}, no, {"n": 2}', {"n": 1}),
    ('thinking<|message|>{"n": 1}', {"n": 1}),
    ('see "{" here: {"n": 1}', {"n": 1}),
    ('outer {"n": 1, "in": {"m": 2}} end', {"n": 1, "in": {"m": 2}}),
    ('{"n": 1, "t": "two\nlines\tand a tab"}', {"n": 1, "t": "two\nlines\tand a tab"}),
    ('{"n": 1, "t": "a \\"quoted\\" word"}', {"n": 1, "t": 'a "quoted" word'}),
    ('{"n": 1, "n": 2}', {"n": 2}),
    (r'{"n": 1, "list": ["\ud800"]}', {"n": 1, "list": ["\ufffd"]}),
]


@pytest.mark.parametrize(("answer", "found"), READ)
def test_reads(answer: str, found: dict[str, Any]) -> None:
    assert parse_answer(answer, SCHEMA) == found


def test_an_object_is_only_checked() -> None:
    assert parse_answer({"n": 1, "more": None}, SCHEMA) == {"n": 1, "more": None}


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "   ",
        "no",
        "null",
        "5",
        '"text"',
        '[{"n": 1}]',
        '{"n": 1',
        '{"n": 1, "t": "cut o',
        "{'n': 1}",
        "{n: 1}",
        '{"n": NaN}',
        '{"n": 1, "t": "\x01"}',
        '{"n": 1 /* one */}',
        'an open "quote {"n": 1}',
        "{" * 100_000,
        '{"n":' * 20_000,
    ],
)
def test_refuses_what_is_no_json_object(answer: str) -> None:
    with pytest.raises(AnswerError, match="is not "):
        parse_answer(answer, ANY_OBJECT)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("{}", "the answer: required fails"),
        ('{"n": "1"}', "n: type fails"),
        ('{"n": true}', "n: type fails"),
        ('{"n": 1, "list": ["a", 2]}', "list/1: type fails"),
    ],
)
def test_names_the_place_that_breaks_the_schema_and_no_values(answer: str, message: str) -> None:
    with pytest.raises(AnswerError, match=message):
        parse_answer(answer, SCHEMA)


def test_refuses_endless_answers() -> None:
    with pytest.raises(AnswerError, match="longer than"):
        parse_answer("x" * (MAX_ANSWER_LENGTH + 1), SCHEMA)


@pytest.mark.parametrize("end", ["", "\\"])
def test_a_text_that_never_ends_is_refused_in_linear_time(end: str) -> None:
    with within(1.0), pytest.raises(AnswerError, match="not JSON"):  # 0.01 s on an idle machine
        parse_answer('{"' + '\\"' * 20_000 + end, ANY_OBJECT)


@given(st.text('{}[]"\\:,n1 \n', max_size=40))
def test_any_text_is_read_or_refused(answer: str) -> None:
    with suppress(AnswerError):
        assert isinstance(parse_answer(answer, ANY_OBJECT), dict)
