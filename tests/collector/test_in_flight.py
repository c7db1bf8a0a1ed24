"""Room for requests in flight: what is refused, what never fits, and what is left for small requests."""

from __future__ import annotations

import pytest

from collector.errors import RefusedError, TooLargeError
from collector.in_flight import SMALL, InFlight

ROOM = 8 * SMALL


def test_requests_are_refused_while_the_room_is_taken() -> None:
    in_flight = InFlight(ROOM)
    with in_flight.reservation() as first, in_flight.reservation() as second:
        first.add(4 * SMALL)
        with pytest.raises(RefusedError):
            second.add(4 * SMALL)
        second.add(2 * SMALL)
        assert in_flight.bytes == 6 * SMALL
    assert in_flight.bytes == 0


def test_what_never_fits_is_not_worth_a_retry() -> None:
    with InFlight(ROOM).reservation() as reservation:
        with pytest.raises(TooLargeError):
            reservation.expect(7 * SMALL)
        reservation.add(4 * SMALL)
        with pytest.raises(TooLargeError):
            reservation.add(3 * SMALL)


def test_what_is_only_announced_takes_no_room() -> None:
    in_flight = InFlight(ROOM)
    with in_flight.reservation() as reservation:
        reservation.expect(6 * SMALL)
        assert in_flight.bytes == 0
        reservation.add(6 * SMALL)
        with in_flight.reservation() as other, pytest.raises(RefusedError):
            other.expect(2 * SMALL)


def test_the_last_quarter_is_for_small_requests() -> None:
    in_flight = InFlight(ROOM)
    with in_flight.reservation() as large, in_flight.reservation() as small:
        large.add(6 * SMALL)
        with in_flight.reservation() as another, pytest.raises(RefusedError):
            another.add(SMALL + 1)
        small.add(SMALL)


def test_a_refused_request_leaves_no_trace() -> None:
    in_flight = InFlight(ROOM)

    def refused() -> None:
        with in_flight.reservation() as reservation:
            reservation.add(2 * SMALL)
            reservation.add(ROOM)

    with pytest.raises(TooLargeError):
        refused()
    assert in_flight.bytes == 0


def test_a_request_for_which_there_is_no_memory_is_to_be_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    in_flight = InFlight(ROOM)

    def without_memory() -> None:
        with in_flight.reservation() as reservation:
            reservation.add(SMALL)
            raise MemoryError

    with pytest.raises(RefusedError, match="no memory"):
        without_memory()
    assert in_flight.bytes == 0
    assert caplog.messages == [f"no memory is left for a request of which {SMALL} bytes were read; it is refused"]


def test_work_that_goes_on_after_its_request_was_given_up_takes_no_room() -> None:
    in_flight = InFlight(ROOM)
    with in_flight.reservation() as reservation:
        reservation.add(SMALL)
    with pytest.raises(RefusedError, match="given up"):
        reservation.add(SMALL)
    assert in_flight.bytes == 0
