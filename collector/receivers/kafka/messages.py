"""Messages of a topic, taken in one after the other in the event loop. One that finds no room waits; one that never can be
taken is put aside.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final, Protocol

from collector.assembly.refused_traces import RefusedTraces
from collector.component import Intake, Rejected
from collector.config.kafka import KafkaReceiverConfig
from collector.errors import CollectorError, DecodeError, PermanentError
from collector.otlp import json
from collector.otlp.by_trace import trace_ids
from collector.storage.offsets import Offsets, Origin, Partition
from collector.telemetry.metrics import Telemetry
from collector.transport.dead_letters import DeadLetters
from collector.transport.kafka import import_kafka
from collector.transport.unreadable_batches import Sifted, UnreadableBatch, offset_of
from scorers.quoting import shorten

if TYPE_CHECKING:
    from confluent_kafka import Message

_log = logging.getLogger(__name__)
_TURN: Final = 0.01  # seconds for which messages are taken in before others have their turn
_OVERHEAD: Final = 500  # bytes of a message besides its value


class MessageIntake(Intake, Protocol):
    """What messages are passed to."""

    async def take_message(self, request: bytes, origin: Origin) -> Rejected:
        """Take one OTLP protobuf request. Raises CollectorError if nothing of it was taken."""


class MessagePipeline(Protocol):
    """What has to know that partitions come and go."""

    offsets: Offsets | None
    refused: RefusedTraces

    def now(self) -> float:
        """Returns the time by which traces become due, in seconds."""

    def flush(self) -> None:
        """Queue all results."""

    def leave(self, partition: Partition) -> None:
        """Drop the open traces of a partition."""


class MessageTaking:
    """What was read and handed over is taken; ``turn`` is held while a message is, ``taken`` counts bytes of messages."""

    def __init__(
        self, config: KafkaReceiverConfig, intake: MessageIntake, pipeline: MessagePipeline, telemetry: Telemetry
    ) -> None:
        self._kafka = import_kafka("receivers.kafka")
        self._config, self._intake, self._pipeline, self._telemetry = config, intake, pipeline, telemetry
        self.handed: asyncio.Queue[tuple[Partition, Sifted]] = asyncio.Queue()
        self.turn, self.taken = asyncio.Lock(), 0
        topic = config.dead_letter_topic
        self._dead_letters = DeadLetters(config.librdkafka(), topic) if topic else None

    async def take_all(self) -> None:
        """Go on until cancelled."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _TURN
        while True:
            partition, read = await self.handed.get()
            if read.deleted is not None:
                self._telemetry.kafka_deleted_messages.inc(read.deleted)
                partition.interrupted()
            for message in read.messages:
                await self._take(partition, message)
                self.taken += size_of(message)
                if loop.time() > until:
                    await asyncio.sleep(0)
                    until = loop.time() + _TURN
            if read.left_out is not None:
                await self._leave_out(partition, read.left_out)

    async def _take(self, partition: Partition, message: Message) -> None:
        """Take a message, however long it finds no room."""
        while not partition.revoked:
            try:
                async with self.turn:
                    # It may have gone while this waited for its turn.
                    if not partition.revoked:
                        await self._take_once(partition, message)
                        partition.done(offset_of(message))
                return
            except CollectorError as error:
                if not isinstance(error, PermanentError):
                    await asyncio.sleep(error.retry_after or 1.0)
                    continue
                refused: CollectorError = error
            except Exception:  # noqa: BLE001 - a bug, or a message nobody expected, must not end the reading of all others
                _log.exception("receivers.kafka: a message could not be taken")
                refused = DecodeError("the message could not be taken")
            if await self._put_aside(message, refused):
                # Where nothing of it can be read, its key tells which trace it is of.
                with contextlib.suppress(ValueError):
                    trace_id = bytes.fromhex((message.key() or b"").decode("ascii"))
                    self._pipeline.refused.add(message.value() or b"", [trace_id])
                partition.done(offset_of(message))
                return

    async def _leave_out(self, partition: Partition, batch: UnreadableBatch) -> None:
        while not partition.revoked:
            if await self._put_aside(batch.failure, DecodeError(batch.reason)):
                partition.done(batch.end - 1)
                partition.interrupted()
                return

    async def _take_once(self, partition: Partition, message: Message) -> None:
        value, offset = message.value(), offset_of(message)
        partition.written(1_000_000 * message.timestamp()[1])
        if not isinstance(value, bytes):  # deleted from a compacted topic
            return
        with self._intake.reservation() as room:
            room.add(len(value))
            if self._config.traces.encoding == "otlp_json":
                room.add(json.cost(value))
                value = await asyncio.to_thread(json.to_protobuf, "traces", value)
            # Read a second time: only for its ids, or for the traces that were not finished.
            if offset < partition.begun.taken:
                found = trace_ids("traces", value)
                if offset < partition.begun.offset:
                    partition.finished |= found
                if found <= partition.finished:
                    partition.passed(found, offset, self._pipeline.now())
                    return
            await self._intake.take_message(value, Origin(partition, offset))

    async def _put_aside(self, message: Message, error: CollectorError) -> bool:
        """Returns False where a message that can never be taken has to be tried again, since it could not be put aside."""
        where = f"{message.topic()}/{message.partition()} offset {message.offset()}"
        if self._dead_letters is not None:
            try:
                await asyncio.to_thread(self._dead_letters.write, message, str(error))
            except (self._kafka.KafkaException, BufferError) as failure:
                _log.error("receivers.kafka: %s cannot be written to %s: %s", where, self._dead_letters.topic, failure)
                await asyncio.sleep(1.0)
                return False
        self._intake.refuse("kafka", error)
        _log.error("receivers.kafka: %s is left out: %s", where, shorten(str(error)))
        return True


def size_of(message: Message) -> int:
    """Returns about how many bytes a message takes."""
    return _OVERHEAD + len(message.value() or b"")
