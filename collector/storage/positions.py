"""Where a consumer of the Kafka receiver begins to read its partitions, and where it goes on if what was to be read is gone.

librdkafka would go on by itself, without a word, where a topic has deleted what was committed or is about to be read
(``auto.offset.reset``). Which traces the deleted messages belonged to is not known, so the receiver has to learn of it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from collector.config.kafka import KafkaReceiverConfig
from collector.storage.offsets import Checkpoint, Partition, checkpoint_of
from collector.transport.kafka import import_kafka
from collector.transport.unreadable_batches import offset_of

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_log = logging.getLogger(__name__)
_CALL: Final = 10.0  # seconds that a question to the brokers may take
_PAUSE: Final = 1.0  # seconds between two of them
_SILENCE: Final = 3.0  # seconds without an answer after which nothing is known of the topic; less than `traces.confirm`


class Positions:
    """Those of one consumer, for its thread. ``lifetime`` as for the receiver; ``stopping`` ends all waiting for brokers."""

    def __init__(self, config: KafkaReceiverConfig, lifetime: float, stopping: threading.Event) -> None:
        self._kafka = import_kafka("receivers.kafka")
        self._config, self._lifetime, self._stopping = config, lifetime, stopping
        self._gone = set[int]()  # partitions of which the next offset is not in the topic
        self._owns, self._asked, self._heard = False, -1, 0.0

    def begin(self, consumer: Consumer, assigned: list[Any]) -> list[Partition]:
        """Returns the partitions with where to begin. Asks until that is known: elsewhere traces are torn."""
        committed = self._ask(lambda: consumer.committed(assigned, timeout=_CALL))
        return [partition for position in committed or () if (partition := self._begin(consumer, position)) is not None]

    def ask(self, consumer: Consumer, owned: Mapping[int, Partition]) -> None:
        """Ask the brokers about one partition after the other, and about one that they are silent on until they answer."""
        self._owns, heard = bool(owned), True
        if owned:
            number = self._asked if self._asked in owned else min(owned)
            where = self._kafka.TopicPartition(owned[number].topic, number)
            try:
                heard = consumer.get_watermark_offsets(where, timeout=_PAUSE) is not None
            except self._kafka.KafkaException:
                heard = False
            self._asked = min((other for other in owned if other > number), default=-1) if heard else number
        if heard:
            self._heard = time.monotonic()

    def brokers_are_silent(self) -> bool:
        """Whether the brokers of owned partitions do not answer: that a trace is quiet says nothing then. For any thread."""
        return self._owns and time.monotonic() - self._heard > _SILENCE

    def lost(self, partition: Partition, failure: Message) -> None:
        """Note that the topic has not what was to be read."""
        partition.sought = offset_of(failure)
        self._gone.add(partition.number)

    def go_on(self, consumer: Consumer, owned: Mapping[int, Partition]) -> None:
        """Go on with what there is of the partitions that are lost."""
        for number in sorted(self._gone):
            # One that was taken away and has come back is begun where it was committed.
            if number in owned and owned[number].sought is not None:
                where = self._kafka.TopicPartition(owned[number].topic, number, self._kafka.OFFSET_BEGINNING)
                try:
                    # librdkafka reads no more of it, and refuses to seek there. It may be that only the second failed before.
                    if any(one.partition == number for one in consumer.assignment()):
                        consumer.incremental_unassign([where])
                    consumer.incremental_assign([where])
                except self._kafka.KafkaException as error:  # tried again with whatever is read next
                    said = error.args[0].str()
                    _log.warning("receivers.kafka: %s: no return to the beginning: %s", owned[number], said)
                    continue
            self._gone.discard(number)

    def found(self, partition: Partition, first: int) -> tuple[Partition, int | None]:
        """Returns what is read from this message on, and how many before it were deleted unread.

        That is another partition where the offsets begin anew; None where nothing is missing after all.
        """
        sought, partition.sought = partition.sought or 0, None
        if first == sought:
            return partition, None
        if first < sought:
            _log.error(
                "receivers.kafka: %s was made anew: it had offset %d, and begins at %d", partition, sought, first
            )
            return self._new(partition.topic, partition.number, first), 0
        deleted = max(0, first - max(sought, partition.begun.offset))
        _log.error("receivers.kafka: %s: %d messages before offset %d were deleted unread", partition, deleted, first)
        return partition, deleted

    def _begin(self, consumer: Consumer, position: Any) -> Partition | None:
        if position.offset >= 0:
            checkpoint = checkpoint_of(position.offset, position.metadata)
            partition = Partition(position.topic, position.partition, checkpoint, self._lifetime)
            # A trace that was quiet for so long was released unfinished: if it goes on, its beginning is not read again.
            partition.misses(int(self._lifetime * 1e9))
            return partition
        ends = self._ask(lambda: consumer.get_watermark_offsets(position, timeout=_CALL))
        if ends is None:
            return None
        start = ends[0] if self._config.initial_offset == "earliest" else ends[1]
        return self._new(position.topic, position.partition, start)

    def _new(self, topic: str, number: int, start: int) -> Partition:
        partition = Partition(topic, number, Checkpoint(start, start, start), self._lifetime)
        if start:  # the first spans of some traces are before it
            partition.misses()
        return partition

    def _ask(self, question: Callable[[], Any]) -> Any:
        """Returns the answer, None where there is no time left to wait for it."""
        while not self._stopping.is_set():
            try:
                return question()
            except self._kafka.KafkaException as error:
                _log.warning("receivers.kafka: the brokers do not say where to begin: %s", error.args[0].str())
                self._stopping.wait(_PAUSE)
        return None
