"""How long a failed request waits for its next attempt, and when there is none."""

from __future__ import annotations

import math

import pytest

from collector.config.fields import RetryConfig
from collector.transport.backoff import MAX_RETRY_AFTER, Backoff


def backoff(max_elapsed_time: float = math.inf, jitter: float = 0.5, **config: float) -> Backoff:
    return Backoff(RetryConfig.model_validate(config), lambda: jitter, max_elapsed_time)


def test_pauses_double_up_to_max_interval() -> None:
    subject = backoff(initial_interval=1.0, max_interval=5.0)
    assert [subject.next_pause(0.0) for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]


@pytest.mark.parametrize(("jitter", "pause"), [(0.0, 5.0), (0.5, 10.0), (1.0, 15.0)])
def test_jitter_is_half_the_pause_either_way(jitter: float, pause: float) -> None:
    assert backoff(jitter=jitter, initial_interval=10.0).next_pause(0.0) == pause


def test_a_success_starts_over() -> None:
    subject = backoff()
    pauses = [subject.next_pause(0.0), subject.next_pause(0.0)]
    subject.reset()
    assert [*pauses, subject.next_pause(0.0)] == [1.0, 2.0, 1.0]


def test_the_pause_a_server_asks_for_is_taken_without_jitter_and_bounded() -> None:
    subject = backoff(jitter=0.9)
    pauses = [subject.next_pause(0.0, asked) for asked in (7.0, MAX_RETRY_AFTER, MAX_RETRY_AFTER + 1, math.inf)]
    assert pauses == [7.0, MAX_RETRY_AFTER, MAX_RETRY_AFTER, MAX_RETRY_AFTER]


@pytest.mark.parametrize("asked", [-5.0, 0.0, 0.001])
def test_a_server_that_asks_for_less_than_our_own_pause_gets_that(asked: float) -> None:
    subject = backoff()
    assert [subject.next_pause(0.0, asked) for _ in range(3)] == [1.0, 2.0, 4.0]


def test_our_own_pause_grows_meanwhile() -> None:
    subject = backoff()
    assert [subject.next_pause(0.0, asked) for asked in (7.0, 7.0, None)] == [7.0, 7.0, 4.0]


@pytest.mark.parametrize(("elapsed", "pause"), [(0.0, 1.0), (9.0, 1.0), (9.001, None), (10.0, None)])
def test_no_attempt_comes_after_max_elapsed_time(elapsed: float, pause: float | None) -> None:
    assert backoff(max_elapsed_time=10.0).next_pause(elapsed) == pause


@pytest.mark.parametrize(("asked", "pause"), [(3.0, 3.0), (3.001, None)])
def test_nor_at_a_servers_request(asked: float, pause: float | None) -> None:
    assert backoff(max_elapsed_time=10.0).next_pause(7.0, asked) == pause


def test_giving_up_on_one_request_does_not_slow_down_the_next() -> None:
    subject = backoff(max_elapsed_time=10.0)
    assert [subject.next_pause(10.0), subject.next_pause(0.0)] == [None, 1.0]


def test_by_default_there_is_no_end() -> None:
    assert backoff().next_pause(1e9) == 1.0


def test_disabled_retries_never_wait() -> None:
    assert backoff(enabled=False).next_pause(0.0, 0.0) is None
