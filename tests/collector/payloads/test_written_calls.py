"""Calls that a span's name holds as a program would write them."""

from __future__ import annotations

import pytest

from collector.payloads.values import UNREADABLE
from collector.payloads.written_calls import MAX_NAME, call_in_span_name
from tests.operations import within


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tool: pay(to='Ada', tags=['a'], note=None)", ("pay", {"to": "Ada", "tags": ["a"], "note": None})),
        ("shop.function call: pay({})", ("pay", {})),
        ("tool pay({broken})", ("pay", UNREADABLE)),
        ("tool pay(open(1))", ("pay", UNREADABLE)),
        ("tool: pay(to='Ada').then(by=2)", ("pay", UNREADABLE)),
        ("tool: pay(to='Ada'", None),
        ("pay(to='Ada')", None),
        ("toolbox: pay(to='Ada')", None),
    ],
)
def test_names(name: str, expected: object) -> None:
    assert call_in_span_name(name) == expected


def test_a_longer_name_is_not_looked_at() -> None:
    name = f"tool: pay(to='{'x' * MAX_NAME}')"
    assert call_in_span_name(name[: MAX_NAME - 2] + "')") is not None
    assert call_in_span_name(name) is None


@pytest.mark.parametrize("part", ["a.", "tool ", "tool: a(", ")", " "])
def test_a_name_that_nearly_matches_many_times_takes_no_time(part: str) -> None:
    with within(1.0):
        for _ in range(20):
            call_in_span_name("tool: a(" + part * (MAX_NAME // len(part) - 8) + "\n")
            call_in_span_name(part * (MAX_NAME // len(part) - 8) + "(")
