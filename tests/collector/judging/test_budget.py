"""The budget: exact in every window, in whatever order requests are settled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.config.judge import BudgetConfig
from collector.judging.budget import Budget

DAY = 86_400.0


def budget(**limits: int) -> Budget:
    unlimited = dict.fromkeys(BudgetConfig.model_fields, 10**9)
    return Budget(BudgetConfig(**{**unlimited, **limits}))


def test_requests_of_a_minute_and_of_a_day() -> None:
    minute = budget(requests_per_minute=2)
    assert [minute.reserve(1, now) is not None for now in (0.0, 30.0, 59.9, 60.0)] == [True, True, False, True]
    day = budget(requests_per_day=2)
    assert [day.reserve(1, now) is not None for now in (0.0, 3600.0, DAY - 1, DAY)] == [True, True, False, True]


def test_reserved_tokens_that_were_not_used_are_given_back() -> None:
    tokens = budget(tokens_per_minute=100)
    first = tokens.reserve(80, 0.0)
    assert first is not None
    assert tokens.reserve(30, 1.0) is None
    first.settle(70)
    assert tokens.reserve(30, 2.0) is not None
    assert tokens.reserve(1, 3.0) is None


def test_tokens_beyond_the_reservation_count_too() -> None:
    tokens = budget(tokens_per_minute=100)
    first = tokens.reserve(10, 0.0)
    assert first is not None
    first.settle(95)
    assert tokens.reserve(6, 1.0) is None


def test_a_request_that_was_never_sent_does_not_count() -> None:
    requests = budget(requests_per_minute=1)
    first = requests.reserve(10, 0.0)
    assert first is not None
    first.cancel()
    assert requests.reserve(10, 1.0) is not None


def test_a_request_is_settled_in_the_window_it_was_sent_in() -> None:
    tokens = budget(tokens_per_minute=100)
    first = tokens.reserve(100, 59.0)
    assert first is not None
    assert tokens.reserve(100, 60.0) is not None
    first.settle(0)
    assert tokens.reserve(1, 61.0) is None


def test_a_clock_set_back_opens_no_new_window() -> None:
    requests = budget(requests_per_minute=1)
    assert requests.reserve(1, 120.0) is not None
    assert [requests.reserve(1, now) for now in (119.0, 120.0, 119.0, 0.0, 59.9)] == [None] * 5


def test_a_clock_that_was_far_ahead_opens_the_next_window_in_time() -> None:
    requests = budget(requests_per_minute=1, requests_per_day=2)
    assert requests.reserve(1, 1000 * DAY) is not None
    assert [requests.reserve(1, now) is not None for now in (0.0, 59.9, 60.0, DAY - 1, DAY)] == [
        False, False, True, False, True
    ]  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60), st.floats(0, 20)), max_size=60),
    st.integers(1, 10),
    st.integers(1, 200),
)
def test_no_minute_exceeds_its_budget(asked: list[tuple[int, int, float]], requests: int, tokens: int) -> None:
    """If requests use at most what they reserved, no minute exceeds its budget."""
    limited, now = budget(requests_per_minute=requests, tokens_per_minute=tokens), 0.0
    sent: dict[int, list[int]] = {}
    for most, used, pause in asked:
        now += pause
        reservation = limited.reserve(most, now)
        if reservation is not None:
            reservation.settle(min(used, most))
            sent.setdefault(int(now // 60), []).append(min(used, most))
    assert all(len(minute) <= requests and sum(minute) <= tokens for minute in sent.values())
