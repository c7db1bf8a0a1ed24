"""The circuit breaker: its transitions, and when it admits requests."""

from __future__ import annotations

import pytest

from collector.config.judge import CircuitBreakerConfig
from collector.judging.circuit import TRANSITIONS, Circuit, CircuitEvent, CircuitState


def circuit(failures: int = 3) -> Circuit:
    return Circuit(CircuitBreakerConfig(failures=failures, cool_down=30))


def opened(at: float = 100.0) -> Circuit:
    found = circuit(1)
    assert found.admits(at)
    found.failed(at)
    return found


def test_failures_in_a_row_open_it() -> None:
    found = circuit()
    for _ in range(2):
        found.failed(0.0)
    found.succeeded()
    for _ in range(2):
        found.failed(0.0)
    assert str(found.state) == str(CircuitState.CLOSED)
    found.failed(0.0)
    assert str(found.state) == str(CircuitState.OPEN)
    assert not found.admits(29.9)


def test_after_the_cool_down_one_request_at_a_time_probes() -> None:
    found = opened()
    assert found.admits(130.0)
    assert str(found.state) == str(CircuitState.HALF_OPEN)
    assert not found.admits(131.0)
    found.succeeded()
    assert str(found.state) == str(CircuitState.CLOSED)
    assert found.admits(132.0)


def test_a_failed_probe_opens_it_again() -> None:
    found = opened()
    assert found.admits(130.0)
    found.failed(131.0)
    assert str(found.state) == str(CircuitState.OPEN)
    assert not found.admits(160.9)
    assert found.admits(161.0)


def test_an_inconclusive_probe_lets_the_next_one_probe() -> None:
    found = opened()
    assert found.admits(130.0)
    found.released()
    assert found.admits(130.0)


def test_requests_sent_before_it_opened_neither_close_nor_prolong_it() -> None:
    found = opened()
    found.succeeded()
    assert str(found.state) == str(CircuitState.OPEN)
    found.failed(120.0)
    assert found.admits(130.0)


@pytest.mark.parametrize(
    ("state", "event"), [(state, event) for state in CircuitState for event in CircuitEvent], ids=str
)
def test_every_event_but_cooled_is_defined_in_every_state(state: CircuitState, event: CircuitEvent) -> None:
    assert (event in TRANSITIONS[state]) == (event is not CircuitEvent.COOLED or state is CircuitState.OPEN)
