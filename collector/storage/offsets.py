"""What a topic has to hold still: from where a partition is read again by whoever reads it next.

The topic is to its messages what the spool is to requests. A trace counts as finished once its results are queued; what was
read of others has to be read again after a crash, or by another consumer. So a partition is committed at the first message of
the oldest trace that is not finished. Traces that *are* finished may have messages on both sides of that; they must not be
judged again by what is behind it. So what is committed has the offset of the first message of any of those beside it:
whoever reads on begins there, and learns by what it reads up to the committed offset which traces are finished. So it does with
those of traces that were evicted not long ago: the rest of their runs may still come.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from collector.assembly.seen_from import SeenFrom

_FORMAT: Final = "rightcall/1"


class Checkpoint(NamedTuple):
    """Where a partition may be read on: at ``offset``, with what is known of the messages around it."""

    offset: int
    begin: int
    """The first message of any trace that was finished before and has messages behind ``offset``, or may get some."""
    taken: int
    """Up to here all was taken, and all that was made of it is delivered but for the traces that are read again."""

    def metadata(self) -> str:
        """Returns what is committed beside the offset."""
        return f"{_FORMAT} {self.begin} {self.taken}"


def checkpoint_of(offset: int, metadata: str | None) -> Checkpoint:
    """Returns what was committed; of others' metadata, or none, only the offset is used."""
    kind, _, rest = (metadata or "").partition(" ")
    begin, _, taken = rest.partition(" ")
    # Not `isdigit` alone: it accepts superscripts, which `int` refuses.
    if kind == _FORMAT and begin.isascii() and begin.isdigit() and taken.isascii() and taken.isdigit():
        # Whatever the metadata says, begin <= offset <= taken, on which all below relies.
        return Checkpoint(offset, min(int(begin), offset), max(int(taken), offset))
    return Checkpoint(offset, offset, offset)


@dataclass(slots=True)
class _Reading:
    """A trace that is not finished: its messages, and whether it is one of an agent's."""

    first: int
    last: int
    since: float
    is_open: bool = False
    was_evicted: bool = False
    """It is finished, but its runs may not have ended."""


class Partition:
    """One partition while this process reads it, from ``begun`` on; ``lifetime``: seconds that other traces are kept for."""

    def __init__(self, topic: str, number: int, begun: Checkpoint, lifetime: float) -> None:
        self.topic, self.number, self.begun, self._lifetime = topic, number, begun, lifetime
        self.taken = begun.offset
        """Every message before this offset was taken."""
        self._at = begun.begin
        self.committed: Checkpoint | None = None
        self.revoked = False
        """Another consumer reads it."""
        self.finished = set[bytes]()
        """Traces that were finished before: what comes of them is forwarded, and not judged again."""
        self.seen_from = SeenFrom.topic()
        """Tells which runs may have spans in messages that are not read."""
        self._unseen_ns: int | None = None
        self.sought: int | None = None
        """The offset that was not in the topic, until it is known what is read in its place."""
        self._reading: dict[bytes, _Reading] = {}  # in order of the first message
        self._ended: dict[bytes, _Reading] = {}  # finished not long ago, in that order
        self._straddling: list[_Reading] = []  # finished long ago, and the offset may come to be between their messages

    def __str__(self) -> str:
        return f"{self.topic}/{self.number}"

    def misses(self, unseen_ns: int = 0) -> None:
        """Note that messages before the next one are not read: runs that had begun ``unseen_ns`` before it may miss spans."""
        self._unseen_ns = unseen_ns

    def interrupted(self) -> None:
        """Note that messages were lost. Which runs may have had spans in them is known once the next one is read."""
        self.seen_from.interrupted()
        self.misses()

    def written(self, time_ns: int) -> None:
        """Note when the next message was written, before it is taken."""
        if self._unseen_ns is not None:
            self.seen_from.began(time_ns - self._unseen_ns)
            self._unseen_ns = None

    def done(self, offset: int) -> None:
        """Note that this message needs to be read no more, but for traces that are not finished."""
        self._at = max(self._at, offset + 1)
        self.taken = max(self.taken, self._at)

    def read(self, trace_id: bytes, offset: int, now: float, *, is_open: bool) -> None:
        """Note that a message of a trace was taken that is not finished."""
        self._pass(trace_id, offset)
        reading = self._reading.get(trace_id)
        if reading is None:
            reading = self._reading[trace_id] = _Reading(offset, offset, now)
        reading.last = offset
        reading.is_open = reading.is_open or is_open

    def passed(self, trace_ids: Iterable[bytes], offset: int, now: float) -> None:
        """Note a message of traces that are finished: here, or before the partition came to this process, or came back."""
        for trace_id in trace_ids:
            if not self._pass(trace_id, offset):
                self._ended[trace_id] = _Reading(offset, offset, now, was_evicted=True)  # it may have been

    def _pass(self, trace_id: bytes, offset: int) -> bool:
        ended = self._ended.get(trace_id)
        if ended is not None:
            ended.last = offset
        return ended is not None

    def finish(self, trace_id: bytes, now: float, *, was_evicted: bool = False) -> None:
        """Note that nothing of this trace needs to be read again."""
        reading = self._reading.pop(trace_id, None)
        if reading is not None:
            before = self._ended.pop(trace_id, reading)
            first = min(before.first, reading.first)
            self._ended[trace_id] = _Reading(first, reading.last, now, was_evicted=was_evicted)

    def checkpoint(self, now: float) -> Checkpoint:
        """Returns where to read on if this process ended now, once all that is queued is delivered."""
        if self._at < self.begun.offset:  # it is not known yet what is finished
            return self.begun
        # In order of their first message, so the first one that is young enough ends the search.
        for trace_id in list(self._reading):
            if now - self._reading[trace_id].since <= self._lifetime:
                break
            if not self._reading[trace_id].is_open:
                self.finish(trace_id, now)
        firsts = [reading.first for reading in self._reading.values()]
        # Messages of a partition are read in order, so the first that is not finished is the oldest.
        offset = firsts[0] if firsts else self.taken
        for trace_id in [trace_id for trace_id, ended in self._ended.items() if now - ended.since > self._lifetime]:
            self._straddling.append(self._ended.pop(trace_id))
        self._straddling = [ended for ended in self._straddling if _may_straddle(ended, firsts)]
        behind = [ended.first for ended in self._straddling if ended.last >= offset]
        behind += [ended.first for ended in self._ended.values() if ended.last >= offset or ended.was_evicted]
        if self._at < self.begun.taken:  # of those, more messages may be among what is read again
            behind.append(self.begun.begin)
        return Checkpoint(offset, min([offset, *behind]), max(self.taken, self.begun.taken))

    def is_reading(self, trace_id: bytes) -> bool:
        """Whether the trace is not finished."""
        return trace_id in self._reading

    def unfinished(self) -> list[bytes]:
        """Returns the traces that the next consumer reads again."""
        return list(self._reading)


def _may_straddle(ended: _Reading, firsts: Sequence[int]) -> bool:
    """Whether a trace that is not finished, which may become the oldest, has its first message among those of ``ended``."""
    at = bisect_right(firsts, ended.first)
    return at < len(firsts) and firsts[at] <= ended.last


class Origin(NamedTuple):
    """Where a message was read."""

    partition: Partition
    offset: int


class Offsets:
    """The partitions that this process reads. ``sent`` and ``commit`` are those of the spool's journal."""

    def __init__(
        self,
        is_open: Callable[[bytes], bool],
        is_closed: Callable[[bytes], bool],
        was_evicted: Callable[[bytes], bool],
        now: Callable[[], float],
    ) -> None:
        self._is_open, self._is_closed, self._was_evicted, self._now = is_open, is_closed, was_evicted, now
        self.partitions: list[Partition] = []
        self._sent: list[bytes] = []

    def is_reading(self, trace_id: bytes) -> bool:
        """Whether messages of the trace, which is not finished, were read."""
        return any(partition.is_reading(trace_id) for partition in self.partitions)

    def read(self, origin: Origin, trace_ids: Iterable[bytes]) -> None:
        """Note that a message, or part of it, was taken."""
        partition, offset = origin
        now = self._now()
        for trace_id in trace_ids:
            is_open = self._is_open(trace_id)
            if trace_id in partition.finished or (not is_open and self._is_closed(trace_id)):
                partition.passed([trace_id], offset, now)
            else:
                partition.read(trace_id, offset, now, is_open=is_open)

    @property
    def behind(self) -> bool:
        """Never: nothing is written."""
        return False

    def sent(self, trace_id: bytes) -> None:
        """Note that the results of a trace are queued by the next commit."""
        self._sent.append(trace_id)

    def commit(self) -> None:
        """Note that all results sent so far are queued."""
        sent, self._sent = self._sent, []
        now = self._now() if sent else 0.0
        for trace_id in sent:
            if not self._is_open(trace_id):  # else it had more spans since, and there is another verdict to come
                was_evicted = self._was_evicted(trace_id)
                for partition in self.partitions:
                    partition.finish(trace_id, now, was_evicted=was_evicted)
