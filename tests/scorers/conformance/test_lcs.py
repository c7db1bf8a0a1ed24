"""The longest common subsequence, compared with the textbook algorithm."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.conformance.lcs import longest_common_subsequence
from tests.scorers.reference import lcs_f1

words = st.text("abc", max_size=12)


def fits(expected: str, actual: str) -> list[int]:
    return [sum(1 << at for at, one in enumerate(expected) if one == other) for other in actual]


@given(words, words)
def test_it_is_as_long_as_by_the_textbook_algorithm(expected: str, actual: str) -> None:
    matched = longest_common_subsequence(len(expected), fits(expected, actual))

    total = len(expected) + len(actual)
    pairs = [(at, call) for at, call in enumerate(matched) if call is not None]
    assert 2 * len(pairs) == round(lcs_f1(expected, actual) * total) if total else not pairs
    assert all(expected[at] == actual[call] for at, call in pairs)
    assert all(one < other for (_, one), (_, other) in pairwise(pairs))


@pytest.mark.parametrize(
    ("expected", "actual", "matched"),
    [
        ("", "", []),
        ("abc", "", [None, None, None]),
        ("abc", "abc", [0, 1, 2]),
        ("abc", "xaxbxc", [1, 3, 5]),
        ("abc", "cab", [1, 2, None]),
        ("a", "aa", [0]),  # the second call is the one too many
        ("aa", "a", [0, None]),
    ],
)
def test_matched_calls(expected: str, actual: str, matched: list[int | None]) -> None:
    assert longest_common_subsequence(len(expected), fits(expected, actual)) == matched
