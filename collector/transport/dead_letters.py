"""Writes the messages that the Kafka receiver refuses to a topic of their own, ``receivers.kafka.dead_letter_topic``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from collector.transport.kafka import import_kafka

if TYPE_CHECKING:
    from confluent_kafka import Message

_PATIENCE: Final = 10.0  # seconds for the brokers to have a message


class DeadLetters:
    """The topic of refused messages. Connects when there is one to write."""

    def __init__(self, settings: Mapping[str, Any], topic: str) -> None:
        """``settings`` are librdkafka's. Raises ConfigError where it is not installed."""
        self._kafka = import_kafka("receivers.kafka")
        self._settings, self.topic = settings, topic
        self._producer: Any = None

    def write(self, message: Message, reason: str) -> None:
        """Write a message with ``reason`` and its place as headers, and wait until the brokers have it.

        Of what librdkafka could not read there is only the place.
        Raises KafkaException or BufferError if they do not.
        """
        if self._producer is None:
            self._producer = self._kafka.Producer({**self._settings, "enable.idempotence": True})
        if message.error() is not None:
            self._deliver(message, reason, None, None)
            return
        try:
            self._deliver(message, reason, message.value(), message.key())
        except self._kafka.KafkaException as error:
            # Tried again, it would hold up all partitions for good: any sender could do that. Its headers say where it is.
            if error.args[0].code() != self._kafka.KafkaError.MSG_SIZE_TOO_LARGE:
                raise
            self._deliver(message, f"{reason}; too large for this topic", None, None)

    def _deliver(self, message: Message, reason: str, value: bytes | None, key: bytes | None) -> None:
        headers = {
            "error": reason,
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
        }
        failures: list[Any] = []
        self._producer.produce(
            self.topic, value, key,
            headers=[(f"rightcall.{name}", str(said).encode("utf-8", "replace")) for name, said in headers.items()],
            on_delivery=lambda failure, _: failures.append(failure),
        )  # fmt: skip
        self._producer.flush(_PATIENCE)
        if not failures:
            raise BufferError("no answer")
        if failures[0] is not None:
            raise self._kafka.KafkaException(failures[0])
