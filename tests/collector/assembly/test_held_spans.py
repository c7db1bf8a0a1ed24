"""The budget of held spans: what fits, what must go, and what may leave beyond it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.assembly.held_spans import HeldSpans


@pytest.mark.parametrize(("size", "fits"), [(0, True), (30, True), (31, False)])
def test_what_fits_exactly_has_room(size: int, fits: bool) -> None:
    assert HeldSpans(100, bytes=70).has_room(size) is fits


@pytest.mark.parametrize(("held", "leaving", "exceeded"), [(100, 0, False), (101, 0, True), (120, 20, False)])
def test_what_leaves_anyway_exceeds_nothing(held: int, leaving: int, exceeded: bool) -> None:
    assert HeldSpans(100, bytes=held, leaving=1, leaving_bytes=leaving).exceeded() is exceeded


def test_room_is_not_made_of_what_has_not_left_yet() -> None:
    assert not HeldSpans(100, bytes=100, leaving=20).has_room(1)


@pytest.mark.parametrize(("size", "may"), [(15, True), (16, False)])
def test_a_quarter_of_the_budget_may_leave_beyond_it(size: int, may: bool) -> None:
    assert HeldSpans(100, bytes=100, leaving=1, leaving_bytes=10).may_leave(size) is may


@given(st.integers(0, 1_000), st.lists(st.tuples(st.integers(0, 300), st.booleans()), max_size=30))
def test_whoever_asks_first_never_exceeds_the_budget_by_more_than_a_quarter(
    most: int, wanted: list[tuple[int, bool]]
) -> None:
    held = HeldSpans(most)
    for size, leaves in wanted:
        if held.has_room(size):
            held.bytes += size
        elif leaves and held.may_leave(size):
            held.bytes += size
            held.leave(size)
        assert not held.exceeded()
        assert held.bytes <= most * 5 // 4
