"""The pairings: first fit, in-order fit, the heaviest pairs, and their outcomes."""

from __future__ import annotations

from itertools import combinations, permutations
from operator import eq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.systems.pairing import first_fit, heaviest_pairs, in_order_fit, outcomes

WORDS = st.lists(st.sampled_from("abc"), max_size=5)


@pytest.mark.parametrize(
    ("wanted", "given_", "pairs"),
    [
        ("ab", "ba", [1, 0]),
        ("aa", "a", [0, None]),
        ("aa", "aba", [0, 2]),
        ("", "ab", []),
        ("ab", "", [None, None]),
        ("xa", "aa", [None, 0]),
    ],
)
def test_first_fit_uses_each_call_once(wanted: str, given_: str, pairs: list[int | None]) -> None:
    assert first_fit(wanted, given_, eq) == pairs


def test_first_fit_is_greedy() -> None:
    # 1 fits both, 2 only the first: the best assignment pairs all, the greedy one does not.
    assert first_fit([1, 2], [2, 3], lambda wanted, one: one >= wanted and (wanted, one) != (2, 3)) == [0, None]


@given(WORDS, WORDS)
def test_first_fit_of_equals_pairs_as_many_as_possible(wanted: list[str], given_: list[str]) -> None:
    pairs = [index for index in first_fit(wanted, given_, eq) if index is not None]
    assert len(pairs) == len(set(pairs)) == sum(min(wanted.count(one), given_.count(one)) for one in set(wanted))


@given(WORDS, WORDS)
def test_in_order_fit_finds_a_subsequence_whenever_there_is_one(wanted: list[str], given_: list[str]) -> None:
    subsequences = {tuple(given_[i] for i in chosen) for chosen in combinations(range(len(given_)), len(wanted))}
    found = in_order_fit(wanted, given_, eq)
    assert (len(found) == len(wanted)) == (tuple(wanted) in subsequences)
    assert found == sorted(set(found))


def test_in_order_fit_takes_the_leftmost_calls() -> None:
    assert in_order_fit("ab", "xaabb", eq) == [1, 3]


def test_outcomes() -> None:
    assert outcomes(4, {0, None}, {2}) == ["matched", "extra", "wrong_arguments", "extra"]


MATRICES = st.tuples(st.integers(1, 5), st.integers(1, 4)).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 3), min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0]
    )
)


@given(MATRICES)
def test_heaviest_pairs_are_the_first_of_the_best(weights: list[list[int]]) -> None:
    rows, columns = len(weights), len(weights[0])
    skips = [-1] * max(0, rows - columns)

    def rank(choice: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        return -sum(weights[row][column] for row, column in enumerate(choice) if column >= 0), choice

    best = min(set(permutations([*skips, *range(columns)], rows)), key=rank)
    assert heaviest_pairs(weights) == {row: column for row, column in enumerate(best) if column >= 0}
