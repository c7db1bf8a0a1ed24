"""Names: exact, glob, regex."""

from __future__ import annotations

import pytest

from scorers.rules.matchers import Name, Regex
from scorers.rules.names import compile_name, format_name, is_exact


@pytest.mark.parametrize(
    ("name", "matching", "others"),
    [
        ("search", ["search"], ["Search", "search_web", "", "sea"]),
        ("search_*", ["search_", "search_web", "search_\n"], ["search", "my search_web"]),
        ("*", ["", "anything"], []),
        ("get_?", ["get_a", "get_é"], ["get_", "get_ab"]),
        ("get_[ab]", ["get_a", "get_b"], ["get_c", "get_[ab]"]),
        ("get_[!a-c]", ["get_d"], ["get_a", "get_b", "get_"]),
        ("x[]y", ["x[]y"], ["xy"]),
        ("x[!]y", ["x[!]y"], ["xy", "xay"]),
        ("x[!]y]", ["xa"], ["xy", "x]", "x[!]y]"]),
        ("x[a-]", ["xa", "x-"], ["xb"]),
        ("a.b*", ["a.b", "a.bc"], ["axb"]),
        ("[\\]*", ["\\", "\\x"], ["x"]),
        ("[", ["["], ["x"]),
        (Regex(regex="^(get|find)_"), ["get_x", "find_"], ["forget_x"]),
        (Regex(regex="order"), ["reorder", "order"], ["Order"]),
    ],
)
def test_matching_names(name: Name, matching: list[str], others: list[str]) -> None:
    is_meant = compile_name(name)

    assert [one for one in matching if not is_meant(one)] == []
    assert [one for one in others if is_meant(one)] == []


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValueError, match="not a glob: the range z-a ends before it begins"):
        compile_name("get_[0-9z-a]")


@pytest.mark.parametrize(
    ("name", "exact"), [("a.b", True), ("a*", False), ("a?", False), ("[a", False), (Regex(regex="a"), False)]
)
def test_exact_names_match_only_themselves(name: Name, *, exact: bool) -> None:
    assert is_exact(name) is exact


@pytest.mark.parametrize(("name", "shown"), [("a*", "a*"), (Regex(regex="^a$"), "/^a$/")])
def test_names_in_messages(name: Name, shown: str) -> None:
    assert format_name(name) == shown
