"""Parsing of calls, and access to their arguments."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from scorers.calls import ABSENT, Call, arguments, names, optional_arguments, parse_calls


def test_parses_known_keys_only() -> None:
    given = {"tool": "search", "args": {"q": 1}, "state": "call", "output": [1], "span": "ignored"}
    assert parse_calls([given], "actual") == [Call("search", {"q": 1}, "call", [1])]


def test_absent_arguments_are_not_null() -> None:
    absent, null = parse_calls([{"tool": "a"}, {"tool": "a", "args": None}], "expected")
    assert absent.args is ABSENT
    assert null.args is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "actual must be a list of calls, got NoneType"),
        ("search", "actual must be a list of calls, got str"),
        ({"tool": "a"}, "actual must be a list of calls, got dict"),
        ([{"tool": "a"}, "b"], r"actual\[1\] must be an object with a string 'tool'"),
        ([{"args": {}}], r"actual\[0\] must be an object"),
        ([{"tool": 5}], r"actual\[0\] must be an object"),
        ([None], r"actual\[0\] must be an object"),
    ],
)
def test_the_error_names_the_invalid_call(given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        parse_calls(given, "actual")


@pytest.mark.parametrize("nothing", [ABSENT, None])
def test_missing_arguments_are_empty_or_none(nothing: Any) -> None:
    assert optional_arguments(Call("a", nothing)) is None
    assert arguments(Call("a", nothing)) == {}


def test_optional_arguments_distinguish_missing_from_empty() -> None:
    assert optional_arguments(Call("a", {})) == {}


def test_arguments_may_be_any_mapping() -> None:
    assert arguments(Call("a", MappingProxyType({"x": 1})))["x"] == 1


@pytest.mark.parametrize("odd", [[1], "text", 5, True])
def test_arguments_must_be_an_object(odd: Any) -> None:
    with pytest.raises(TypeError, match="arguments of 'a' must be an object"):
        arguments(Call("a", odd))


def test_names_keep_order_and_repeats() -> None:
    assert names([Call("b"), Call("a"), Call("b")]) == ["b", "a", "b"]
