"""Kafka exporter: annotated traces to one topic, evaluation events to another, one trace a message.

Configuration: ``exporters.kafka``. The key is the trace id in hex, as the OpenTelemetry Collector writes it: all messages
of a trace are in one partition. A request counts as sent when all replicas in sync have all of its messages; if any message
failed, it is sent again. A message that the topic's encoding cannot express, or that is too large, is rejected alone.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from collector.clock import SYSTEM_CLOCK
from collector.component import ExportRequest, Rejected
from collector.config.exporters import KafkaExporterConfig
from collector.config.kafka import Encoding
from collector.delivery.queued_exporter import DeliveryError, QueuedExporter
from collector.delivery.sending_queue import SendingQueue
from collector.errors import ConfigError, DecodeError
from collector.otlp import json
from collector.otlp.by_trace import by_trace
from collector.telemetry.metrics import Telemetry
from collector.transport.kafka import client_errors, import_kafka

_PERMANENT: Final = ("MSG_SIZE_TOO_LARGE", "INVALID_MSG", "INVALID_RECORD", "INVALID_MSG_SIZE")
_POLL: Final = 0.05  # seconds


class KafkaTransport:
    """Writes requests to the topics of their signals."""

    def __init__(self, config: KafkaExporterConfig) -> None:
        """Raises ConfigError."""
        kafka = self._kafka = import_kafka("exporters.kafka")
        self._config, self._topics = config, {"traces": config.traces, "logs": config.logs}
        settings = config.librdkafka() | {
            # librdkafka repeats by itself what a broker did not confirm: this way neither twice nor out of order.
            "enable.idempotence": True,
            "error_cb": client_errors("exporters.kafka"),
        }
        settings.setdefault("linger.ms", 5)
        # Given up when we give up: otherwise it would go on trying beside our own next attempt.
        settings.setdefault("message.timeout.ms", int(config.timeout * 1000))
        try:
            self._producer = kafka.Producer(settings)
        except kafka.KafkaException as error:
            raise ConfigError(f"exporters.kafka: {error.args[0].str()}") from None

    async def send(self, request: ExportRequest) -> Rejected:
        """Write one request. Returns what cannot be encoded, or is too large for the brokers. Raises DeliveryError."""
        return await asyncio.to_thread(self._write, request)

    def _write(self, request: ExportRequest) -> Rejected:
        answers: list[Any] = []
        topic = self._topics[request.signal]
        if topic is None:
            raise DeliveryError(f"no topic for {request.signal}", retryable=False)
        messages, rejected = _encoded(request, topic.encoding)
        for trace_id, value, items in messages:

            def delivered(error: Any, _: Any, items: int = items) -> None:
                answers.append((error, items))

            # Without a key, items of no trace are spread over the partitions.
            self._produce(topic.topic, value, trace_id.hex() or None, delivered)
        until = time.monotonic() + self._config.timeout + 1.0
        while len(answers) < len(messages) and time.monotonic() < until:
            self._producer.poll(_POLL)
        if len(answers) < len(messages):
            raise DeliveryError("no answer in time", retryable=True)
        for failure, items in answers:
            if failure is not None and failure.name() not in _PERMANENT:
                raise DeliveryError(f"{failure.name()}: {failure.str()}", retryable=True, kind=failure.name())
            if failure is not None:
                rejected = Rejected(rejected.count + items, failure.str())
        return rejected

    def _produce(self, topic: str, value: bytes, key: str | None, delivered: Any) -> None:
        """Put a message into the producer's queue, which may be full for a while."""
        until = time.monotonic() + self._config.timeout
        while True:
            try:
                self._producer.produce(topic, value, key, on_delivery=delivered)
            except BufferError:
                if time.monotonic() > until:
                    raise DeliveryError("the producer's queue is full", retryable=True) from None
                self._producer.poll(_POLL)
            except self._kafka.KafkaException as error:
                # What is larger than its own limit (`message.max.bytes`) librdkafka refuses here, in place of the brokers.
                delivered(error.args[0], None)
                return
            else:
                return

    async def close(self) -> None:
        """Write what is under way."""
        await asyncio.to_thread(self._producer.flush, 5.0)


def _encoded(request: ExportRequest, encoding: Encoding) -> tuple[list[tuple[bytes, bytes, int]], Rejected]:
    """Returns trace id, value and number of items of each message, and what cannot be encoded. Raises DeliveryError.

    All of them before the first is written: a request that fails half-way is written again from its beginning.
    """
    try:
        parts = list(by_trace("logs" if request.signal == "logs" else "traces", request.payload))
    except DecodeError as error:
        raise DeliveryError(str(error), retryable=False, kind="not OTLP") from None
    messages, rejected = list[tuple[bytes, bytes, int]](), Rejected()
    for trace_id, part, items in parts:
        try:
            value = json.from_protobuf(request.signal, part) if encoding == "otlp_json" else part
        except DecodeError as error:
            rejected = Rejected(rejected.count + items, str(error))
        else:
            messages.append((trace_id, value, items))
    return messages, rejected


class KafkaExporter(QueuedExporter):
    """Writes queued requests."""

    def __init__(self, config: KafkaExporterConfig, queue: SendingQueue, telemetry: Telemetry) -> None:
        """Raises ConfigError if the extra is not installed."""
        import_kafka("exporters.kafka")
        super().__init__(
            queue, telemetry, SYSTEM_CLOCK, name="kafka", target=", ".join(config.brokers),
            connect=lambda: KafkaTransport(config), retry=config.retry_on_failure,
            consumers=config.sending_queue.num_consumers, drain_timeout=config.timeout,
        )  # fmt: skip
