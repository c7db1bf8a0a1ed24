"""Names: exact, glob, regex."""

from __future__ import annotations

import pytest

from scorers.rules.matchers import Name, Regex
from scorers.rules.names import compile_name, format_name, is_exact


@pytest.mark.parametrize(
    ("name", "matching", "others"),
    [
        ("search", ["search"], ["Search", "search_web", "", "sea"]),
        ("search_*", ["search_", "search_web"], ["search", "my search_web"]),
        (Regex(regex="^(get|find)_"), ["get_x", "find_"], ["forget_x"]),
        (Regex(regex="order"), ["reorder", "order"], ["Order"]),
    ],
)
def test_matching_names(name: Name, matching: list[str], others: list[str]) -> None:
    is_meant = compile_name(name)

    assert [one for one in matching if not is_meant(one)] == []
    assert [one for one in others if is_meant(one)] == []


@pytest.mark.parametrize(
    ("name", "exact"), [("a.b", True), ("a*", False), ("a?", False), ("[a", False), (Regex(regex="a"), False)]
)
def test_exact_names_match_only_themselves(name: Name, *, exact: bool) -> None:
    assert is_exact(name) is exact


@pytest.mark.parametrize(("name", "shown"), [("a*", "a*"), (Regex(regex="^a$"), "/^a$/")])
def test_names_in_messages(name: Name, shown: str) -> None:
    assert format_name(name) == shown
