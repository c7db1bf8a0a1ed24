"""The Kafka exporter, against librdkafka's mock cluster: one trace a message, keyed by its id."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs

from collector.component import ExportRequest
from collector.config.exporters import KafkaExporterConfig, SendingQueueConfig
from collector.delivery.queued_exporter import DeliveryError
from collector.delivery.sending_queue import SendingQueue
from collector.exporters.kafka import KafkaExporter, KafkaTransport
from collector.otlp.by_trace import MAX_MESSAGE, by_trace
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.harness import value
from tests.mock_kafka import Cluster

ONE, TWO = b"1" * 16, b"2" * 16


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return Cluster()


def config(cluster: Cluster, **more: Any) -> KafkaExporterConfig:
    return KafkaExporterConfig.model_validate({"brokers": [cluster.address], **more})


def traces(*spans: Any) -> ExportRequest:
    return ExportRequest("traces", data.traces(*spans).SerializeToString(), len(spans))


def test_a_request_is_divided_by_trace_and_keyed_by_its_id(cluster: Cluster) -> None:
    request = traces(data.span(1, trace_id=ONE), data.span(2, trace_id=TWO), data.span(3, trace_id=ONE))

    async def main() -> None:
        telemetry, queue = Telemetry(), SendingQueue(SendingQueueConfig())
        exporter = KafkaExporter(config(cluster, traces={"topic": "scored"}), queue, telemetry)
        await exporter.start()
        queue.put(request)
        await queue.drained()
        await exporter.shutdown()
        assert value(telemetry, "exporter_sent_spans_total", exporter="kafka") == 3

    asyncio.run(main())
    messages = sorted(cluster.read_all("scored", 2), key=lambda message: message.key())
    assert [message.key().decode() for message in messages] == [ONE.hex(), TWO.hex()]
    spans = [[span.span_id[-1] for span in data.all_spans(message.value())] for message in messages]
    assert spans == [[1, 3], [2]]


def test_events_go_to_a_topic_of_their_own_as_json(cluster: Cluster) -> None:
    records = [LogRecord(trace_id=ONE, span_id=b"s" * 8, event_name="gen_ai.evaluation.result")]
    logs = ExportLogsServiceRequest(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=records)])])
    settings = config(cluster, logs={"topic": "events", "encoding": "otlp_json"})
    assert settings.signals() == ("logs",)

    async def main() -> None:
        transport = KafkaTransport(settings)
        await transport.send(ExportRequest("logs", logs.SerializeToString(), 1))
        await transport.close()

    asyncio.run(main())
    (message,) = cluster.read_all("events", 1)
    assert message.key().decode() == ONE.hex()
    assert f'"traceId":"{ONE.hex()}"' in message.value().decode().replace(" ", "")


def test_a_trace_that_is_no_json_is_rejected_and_the_others_are_written_once(cluster: Cluster) -> None:
    good, bad = data.span(1, trace_id=ONE), [data.span(number, trace_id=TWO, name="bad") for number in (2, 3)]
    payload = data.traces(good, *bad).SerializeToString().replace(b"bad", b"b\xffd")
    settings = config(cluster, traces={"topic": "json", "encoding": "otlp_json"})

    async def main() -> None:
        transport = KafkaTransport(settings)
        rejected = await transport.send(ExportRequest("traces", payload, 3))
        assert (rejected.count, "cannot be written as JSON" in rejected.message) == (2, True)
        await transport.send(traces(data.span(4, trace_id=ONE, name="later")))
        await transport.close()

    asyncio.run(main())
    first, second = cluster.read_all("json", 2)
    assert (first.key().decode(), "later" in second.value().decode()) == (ONE.hex(), True)


def test_a_message_too_large_for_the_client_is_rejected_and_the_others_are_written_once(cluster: Cluster) -> None:
    large = data.span(1, trace_id=ONE, pad="x" * 2_000_000)  # librdkafka's own limit is 1,000,000 by default

    async def main() -> None:
        transport = KafkaTransport(config(cluster, traces={"topic": "large"}))
        rejected = await transport.send(traces(large, data.span(2, trace_id=TWO)))
        assert (rejected.count, "too large" in rejected.message) == (1, True)
        await transport.close()

    asyncio.run(main())
    (message,) = cluster.read_all("large", 1)
    assert message.key().decode() == TWO.hex()


def test_a_cluster_that_does_not_answer_is_tried_again() -> None:
    settings = KafkaExporterConfig.model_validate(
        {"brokers": ["127.0.0.1:1"], "traces": {"topic": "scored"}, "timeout": "200ms", "properties": {"log_level": 0}}
    )

    async def main() -> None:
        transport = KafkaTransport(settings)
        with pytest.raises(DeliveryError) as failed:
            await transport.send(traces(data.span(1)))
        assert failed.value.retryable
        await transport.close()

    asyncio.run(main())


def test_a_large_trace_is_several_messages_below_the_limit_of_brokers() -> None:
    large = [data.span(number, pad="x" * (MAX_MESSAGE // 3)) for number in range(1, 8)]
    parts = list(by_trace("traces", data.traces(*large).SerializeToString()))
    assert {trace_id for trace_id, _, _ in parts} == {data.TRACE}
    assert sum(items for _, _, items in parts) == 7
    assert max(len(request) for _, request, _ in parts) < 1_000_000
