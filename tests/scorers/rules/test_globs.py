"""Globs."""

from __future__ import annotations

import pytest

from scorers.rules.globs import compile_glob


@pytest.mark.parametrize(
    ("glob", "matching", "others"),
    [
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
    ],
)
def test_matching_texts(glob: str, matching: list[str], others: list[str]) -> None:
    is_meant = compile_glob(glob)

    assert [one for one in matching if not is_meant(one)] == []
    assert [one for one in others if is_meant(one)] == []


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValueError, match="not a glob: the range z-a ends before it begins"):
        compile_glob("get_[0-9z-a]")
