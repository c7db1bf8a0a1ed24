"""Kafka receiver: traces from a topic keyed by trace id, such as the OpenTelemetry Collector's Kafka exporter writes.

Configuration: ``receivers.kafka``. One thread polls, since librdkafka's rebalance callbacks have to answer where they are
called; messages are taken in the event loop, one after the other. A message that finds no room waits, and the partitions are
paused. What is committed, and why nothing is lost or judged by half, is in `collector.storage.offsets`: a partition that
moves takes its open traces with it, which are dropped here and read again there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from collector.config.kafka import KafkaReceiverConfig
from collector.errors import ConfigError
from collector.receivers.kafka.messages import MessageIntake, MessagePipeline, MessageTaking, size_of
from collector.storage.offsets import Checkpoint, Partition
from collector.storage.positions import Positions
from collector.telemetry.metrics import Telemetry
from collector.transport.kafka import client_errors, import_kafka
from collector.transport.unreadable_batches import UnreadableBatches, offset_of

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_log = logging.getLogger(__name__)
MAX_BUFFERED: Final = 4 << 20
"""Bytes of messages that were read and not taken; beyond them no more are read."""
_BATCH: Final = 50  # messages read at once, however large they are
_POLL: Final = 0.1  # seconds
_PATIENCE: Final = 1.0  # seconds that are waited for room before all partitions are paused
_LOOK: Final = 0.005  # seconds between looks for it
_COMMIT_INTERVAL: Final = 1.0  # seconds between two checkpoints
_LEAVE: Final = 5.0  # seconds in which what was made of a partition may be delivered before it moves
_TURN: Final = 0.01  # seconds for which messages are taken in before others have their turn
_OVERHEAD: Final = 500  # bytes of a message besides its value


class KafkaReceiver:
    """One consumer of the group, ``is_paused`` while messages have waited for room for long: nothing is fetched then."""

    def __init__(
        self,
        config: KafkaReceiverConfig,
        intake: MessageIntake,
        pipeline: MessagePipeline,
        mark: Callable[[], Callable[[], bool]],
        telemetry: Telemetry,
        *,
        lifetime: float,
        max_buffered: int = MAX_BUFFERED,
    ) -> None:
        """Raises ConfigError. ``lifetime``: seconds that a trace without an agent is read again for.

        ``mark`` returns what tells whether all results queued so far are delivered.
        """
        self._kafka = import_kafka("receivers.kafka")
        self._config, self._pipeline, self._mark = config, pipeline, mark
        self._telemetry = telemetry
        offsets = pipeline.offsets
        assert offsets is not None  # noqa: S101 - the pipeline has the same configuration
        self._offsets = offsets
        self._owned: dict[int, Partition] = {}  # the thread's
        self._unreadable = UnreadableBatches()
        self._to_commit: queue.SimpleQueue[tuple[Partition, Checkpoint]] = queue.SimpleQueue()
        self._taking = MessageTaking(config, intake, pipeline, telemetry)
        self._read = 0  # bytes; the thread's, where `taken` is the loop's
        self.is_paused, self._max_buffered = False, max_buffered
        self._stopping = threading.Event()
        self.positions = Positions(config, lifetime, self._stopping)
        self._thread: threading.Thread | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Join the group; the brokers may come up later. Raises ConfigError where librdkafka refuses the settings."""
        self._loop = asyncio.get_running_loop()
        settings = self._config.consumer() | {"error_cb": client_errors("receivers.kafka")}
        try:
            consumer = self._kafka.Consumer(settings)
        except self._kafka.KafkaException as error:
            raise ConfigError(f"receivers.kafka: {error.args[0].str()}") from None
        self._thread = threading.Thread(target=self._run, args=[consumer], name="kafka-receiver", daemon=True)
        self._thread.start()
        self._tasks = [asyncio.create_task(self._taking.take_all()), asyncio.create_task(self._checkpoint_forever())]

    async def shutdown(self) -> None:
        """Leave the group: open traces are for whoever reads their partitions next."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stopping.set()
            await asyncio.to_thread(thread.join)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def buffered(self) -> int:
        """Bytes of messages that were read and not taken."""
        return self._read - self._taking.taken

    # ---- in the thread

    def _run(self, consumer: Consumer) -> None:
        consumer.subscribe(
            [self._config.traces.topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )
        due = time.monotonic()
        while not self._stopping.is_set():
            try:
                self._wait_for_room()
                self._pause_or_resume(consumer)
                # Also while paused: whoever does not poll is put out of the group.
                self._hand_over(consumer, consumer.consume(1 if self.is_paused else _BATCH, _POLL))
                self._commit_delivered(consumer)
                if time.monotonic() >= due:
                    due = time.monotonic() + _COMMIT_INTERVAL
                    self.positions.ask(consumer, self._owned)
                    self._measure(consumer)
            except Exception:  # noqa: BLE001 - whatever the brokers answer, the thread must go on
                _log.exception("receivers.kafka: polling failed")
                self._stopping.wait(1.0)
        self._commit_delivered(consumer)
        consumer.close()

    def _hand_over(self, consumer: Consumer, messages: Iterable[Message]) -> None:
        batches: dict[int, list[Message]] = {}
        out_of_range: list[Message] = []
        for message in messages:
            error = message.error()
            if error is not None and error.code() == self._kafka.KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001 - so it is named
                out_of_range.append(message)
            elif error is not None and error.code() != self._kafka.KafkaError._BAD_COMPRESSION:  # noqa: SLF001
                _log.warning("receivers.kafka: %s", error.str())
            elif (number := message.partition()) is not None:
                batches.setdefault(number, []).append(message)
        for number, batch in batches.items():
            # Those of a partition that has just moved are read by its next consumer.
            if (partition := self._owned.get(number)) is not None:
                self._hand_over_of(consumer, partition, batch)
        for failure in out_of_range:
            if (partition := self._owned.get(failure.partition() or 0)) is not None:
                self.positions.lost(partition, failure)
        self.positions.go_on(consumer, self._owned)

    def _hand_over_of(self, consumer: Consumer, partition: Partition, batch: list[Message]) -> None:
        deleted = None
        if partition.sought is not None:
            found, deleted = self.positions.found(partition, offset_of(batch[0]))
            if found is not partition:
                self._leave([self._kafka.TopicPartition(partition.topic, partition.number)])
                self._own(partition := found)
        where = self._kafka.TopicPartition(partition.topic, partition.number)
        # Cached: it came with the batch.
        read = self._unreadable.sift(batch, lambda: consumer.get_watermark_offsets(where, cached=True)[1])
        read = read._replace(deleted=deleted)
        self._read += sum(map(size_of, read.messages))
        self._loop.call_soon_threadsafe(self._taking.handed.put_nowait, (partition, read))
        if read.seek is not None:
            where.offset = read.seek
            try:
                consumer.seek(where)
            except self._kafka.KafkaException as error:  # the batch is read once more, and the search begins anew
                _log.warning("receivers.kafka: %s: no seek to %d: %s", partition, where.offset, error.args[0].str())
                self._unreadable.forget(partition.number)

    def _wait_for_room(self) -> None:
        # Pausing is for long waits: what is fetched is thrown away, and nothing is fetched for up to a second after it.
        until = time.monotonic() + _PATIENCE
        while not self.is_paused and self.buffered > self._max_buffered and time.monotonic() < until:
            if self._stopping.wait(_LOOK):
                return

    def _pause_or_resume(self, consumer: Consumer) -> None:
        limit = self._max_buffered // 2 if self.is_paused else self._max_buffered
        if self.buffered > limit:
            consumer.pause(consumer.assignment())  # again and again: partitions may have come meanwhile
            self.is_paused = True
        elif self.is_paused:
            consumer.resume(consumer.assignment())
            self.is_paused = False

    def _commit_delivered(self, consumer: Consumer) -> None:
        latest: dict[int, tuple[Partition, Checkpoint]] = {}
        with contextlib.suppress(queue.Empty):
            while True:
                partition, checkpoint = self._to_commit.get_nowait()
                # It may have left and come back meanwhile: a checkpoint of its earlier stay is of no use.
                if self._owned.get(partition.number) is partition:
                    latest[partition.number] = partition, checkpoint
        self._commit(consumer, latest.values())

    def _commit(self, consumer: Consumer, checkpoints: Iterable[tuple[Partition, Checkpoint]]) -> None:
        offsets = [
            self._kafka.TopicPartition(partition.topic, partition.number, checkpoint.offset, checkpoint.metadata())
            for partition, checkpoint in checkpoints
        ]
        if not offsets:
            return
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
        except self._kafka.KafkaException as error:  # the next checkpoint has it too, here or with whoever reads on
            _log.warning("receivers.kafka: offsets not committed: %s", error.args[0].str())
            return
        for partition, checkpoint in checkpoints:
            partition.committed = checkpoint

    def _measure(self, consumer: Consumer) -> None:
        telemetry = self._telemetry
        for number, partition in self._owned.items():
            _, high = consumer.get_watermark_offsets(self._kafka.TopicPartition(partition.topic, number), cached=True)
            committed = partition.committed or partition.begun
            telemetry.child(telemetry.kafka_unread_messages, str(number)).set(max(0, high - partition.taken))
            telemetry.child(telemetry.kafka_uncommitted_messages, str(number)).set(
                max(0, partition.taken - committed.offset)
            )

    def _on_assign(self, consumer: Consumer, assigned: list[Any]) -> None:
        positions = []
        for partition in self.positions.begin(consumer, assigned):
            self._own(partition)
            positions.append(self._kafka.TopicPartition(partition.topic, partition.number, partition.begun.begin))
        consumer.incremental_assign(positions)

    def _own(self, partition: Partition) -> None:
        self._unreadable.forget(partition.number)
        self._owned[partition.number] = partition
        self._loop.call_soon_threadsafe(self._offsets.partitions.append, partition)

    def _on_revoke(self, consumer: Consumer, revoked: list[Any]) -> None:
        self._commit(consumer, self._leave(revoked))

    def _on_lost(self, _: Consumer, lost: list[Any]) -> None:
        # Nothing is committed: another consumer may have gone further already.
        _log.warning("receivers.kafka: lost partitions %s: the group went on without us", [at.partition for at in lost])
        self._leave(lost)

    def _leave(self, positions: Iterable[Any]) -> list[tuple[Partition, Checkpoint]]:
        """Forget partitions. Returns what can be committed for them."""
        left = [partition for position in positions if (partition := self._owned.pop(position.partition, None))]
        if not left:
            return []
        # librdkafka gives the partitions away when the callback returns, so it has to wait until they are let go.
        return asyncio.run_coroutine_threadsafe(self._let_go(left), self._loop).result()

    # ---- in the event loop

    async def _let_go(self, left: Iterable[Partition]) -> list[tuple[Partition, Checkpoint]]:
        # Between two messages: none of them is half taken when its partition goes.
        async with self._taking.turn:
            self._pipeline.flush()
            checkpoints = []
            for partition in left:
                checkpoints.append((partition, partition.checkpoint(self._pipeline.now())))
                partition.revoked = True
                self._pipeline.leave(partition)
                self._offsets.partitions.remove(partition)
                number = str(partition.number)
                self._telemetry.child(self._telemetry.kafka_unread_messages, number).set(0)
                self._telemetry.child(self._telemetry.kafka_uncommitted_messages, number).set(0)
        return checkpoints if await self._are_delivered(_LEAVE) else []

    async def _are_delivered(self, patience: float) -> bool:
        delivered, until = self._mark(), self._loop.time() + patience
        while not (done := delivered()) and self._loop.time() < until:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.02)
        return done

    async def _checkpoint_forever(self) -> None:
        while True:
            await asyncio.sleep(_COMMIT_INTERVAL)
            # Before `_are_delivered` takes its mark: all results of what counts as finished here are queued by then.
            found = [(part, part.checkpoint(self._pipeline.now())) for part in self._offsets.partitions]
            if await self._are_delivered(float("inf")):
                for partition, checkpoint in found:
                    if checkpoint != partition.committed:
                        self._to_commit.put((partition, checkpoint))
