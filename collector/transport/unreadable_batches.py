"""Compressed batches of a topic that cannot be unpacked: where they end, so that reading goes on behind them.

librdkafka reports the first offset of such a batch and asks for it again, for ever. It does not report how many messages the
batch has, and any offset within it is answered with the whole batch. So its end is found by reading from offsets behind its
first: the same batch again says that it goes on until there, anything else that it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from confluent_kafka import Message

_ATTEMPTS: Final = 3  # bytes damaged on their way are whole when they are sent again


class UnreadableBatch(NamedTuple):
    """A batch that is left out."""

    failure: Message
    """What librdkafka reported, with topic, partition and first offset."""
    end: int
    """The offset behind it."""

    @property
    def reason(self) -> str:
        """Says what is left out, and why."""
        error = self.failure.error()
        return f"a batch up to offset {self.end - 1} cannot be unpacked: {error.str() if error else ''}"


class Sifted(NamedTuple):
    """What was read of a partition, and what to do next."""

    messages: Sequence[Message]
    seek: int | None = None
    """Where to read on; None: where it is."""
    left_out: UnreadableBatch | None = None
    deleted: int | None = None
    """How many messages before these the topic had deleted unread; None: it had all."""


class _Search:
    """The search for the end of one batch."""

    def __init__(self, failure: Message) -> None:
        self.failure, self.first = failure, offset_of(failure)
        self.attempts = 0
        self.probe: int | None = None
        self.end = self.first + 1
        """It ends here at the latest."""
        self._within, self._step = self.first, 1

    def go_on(self) -> Sifted:
        """Probe further on, in steps that double at first: most batches are small, however much of the topic is unread."""
        if self.end - self._within <= 1:
            return Sifted((), self.end, UnreadableBatch(self.failure, self.end))
        self.probe = self._within + min(self._step, (self.end - self._within) // 2)
        return Sifted((), self.probe)

    def answer(self, message: Message) -> None:
        """Take the first answer to a probe."""
        assert self.probe is not None  # noqa: S101 - there was one
        offset = offset_of(message)
        if message.error() is not None and offset == self.first:
            self._within, self._step = self.probe, 2 * self._step
        else:
            # Another batch that cannot be unpacked may begin before the probe.
            self.end = min(self.probe, offset)


class UnreadableBatches:
    """Those of the partitions of one consumer."""

    def __init__(self) -> None:
        self._searches: dict[int, _Search] = {}

    def forget(self, number: int) -> None:
        """Note that a partition begins, or is not read any more."""
        self._searches.pop(number, None)

    def sift(self, batch: Sequence[Message], high: Callable[[], int]) -> Sifted:
        """Take what was read of a partition at once: messages, and failures to unpack a batch.

        ``high`` returns the offset behind the last message of the partition.
        """
        number = batch[0].partition() or 0
        search = self._searches.get(number)
        if search is None or search.probe is None:
            return self._read(number, batch, search, high)
        # All the rest was read before it was known where to read on, and is read again.
        search.answer(batch[0])
        return self._go_on(number, search)

    def _read(self, number: int, batch: Sequence[Message], search: _Search | None, high: Callable[[], int]) -> Sifted:
        messages, failure = [message for message in batch if message.error() is None], batch[-1]
        if failure.error() is None:
            self.forget(number)
            return Sifted(messages)
        if search is None or search.first != offset_of(failure):
            search = self._searches[number] = _Search(failure)
        search.attempts += 1
        if search.attempts < _ATTEMPTS:
            return Sifted(messages)
        search.end = max(high(), search.first + 1)
        return self._go_on(number, search)._replace(messages=messages)

    def _go_on(self, number: int, search: _Search) -> Sifted:
        sifted = search.go_on()
        if sifted.left_out is not None:
            self.forget(number)
        return sifted


def offset_of(message: Message) -> int:
    """Returns the offset of a message, or of the batch that a failure is about."""
    offset = message.offset()
    return 0 if offset is None else offset
