"""Room for requests in flight: the bytes of all that are being received or taken in, whichever listener they came to."""

from __future__ import annotations

import logging
from threading import Lock
from types import TracebackType
from typing import Self

from collector.errors import RefusedError, TooLargeError

_log = logging.getLogger(__name__)
SMALL = 1 << 20
"""Bytes. The last quarter of the room is for requests up to this size, so that a few large ones do not shut out the rest."""


class InFlight:
    """Room for ``max_bytes``. Thread-safe: large requests are decompressed outside the event loop."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.bytes = max_bytes, 0
        self.lock = Lock()
        """Guards ``bytes``, and with it what each reservation is part of it."""

    def reservation(self, part: int = 1) -> Reservation:
        """Returns a reservation of nothing yet, for one request; to be left as a context.

        It finds room as long as no more than one ``part``-th of all is taken.
        """
        return Reservation(self, part)

    def check(self, size: int, more: int, part: int) -> None:
        """Raise RefusedError where a request of ``size`` bytes in all that takes ``more`` now finds no room in a ``part``-th.

        Raises TooLargeError where it would find none in all of it.
        """
        most = self.max_bytes if size <= SMALL else self.max_bytes * 3 // 4
        if size > most:
            raise TooLargeError(f"the request needs more memory than the {most >> 20} MiB there is for it")
        if self.bytes + more > most // part:
            raise RefusedError("too many requests in flight, retry later")


class Reservation:
    """What one request takes of the room; all of it is free again when the context is left.

    A MemoryError becomes a RefusedError: of a limit that the room does not know, such as that of the address space.
    """

    def __init__(self, in_flight: InFlight, part: int) -> None:
        self._in_flight, self._part, self._size, self._is_left = in_flight, part, 0, False

    def expect(self, size: int) -> None:
        """Raise RefusedError or TooLargeError if ``size`` more bytes, announced and not received yet, would find no room.

        Nothing is reserved: who only announces a large request must not shut out others.
        """
        # Without the lock: nothing is reserved, and every part that arrives is checked again.
        self._in_flight.check(self._size + size, size, self._part)

    def add(self, size: int) -> None:
        """Reserve ``size`` more bytes. Raises RefusedError where there is no room, TooLargeError where there never is.

        Raises RefusedError, too, once the context was left: nobody would give the room back.
        """
        # A thread that decompresses goes on when its call is cancelled, and the context is left meanwhile.
        with self._in_flight.lock:
            if self._is_left:
                raise RefusedError("the request was given up")
            self._in_flight.check(self._size + size, size, self._part)
            self._in_flight.bytes += size
            self._size += size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._in_flight.lock:
            size, self._size, self._is_left = self._size, 0, True
            self._in_flight.bytes -= size
        if kind is MemoryError:
            _log.warning("no memory is left for a request of which %d bytes were read; it is refused", size)
            raise RefusedError("no memory for the request, retry later") from None
