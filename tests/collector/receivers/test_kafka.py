"""The Kafka receiver in a collector, against librdkafka's mock cluster."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from google.protobuf.json_format import MessageToDict

from collector.component import Rejected
from collector.config.kafka import KafkaReceiverConfig
from collector.config.model import Config
from collector.errors import ConfigError, RefusedError
from collector.receivers.kafka.receiver import KafkaReceiver
from collector.service.service import Service
from collector.storage.offsets import Origin
from tests import otlp_data as data
from tests.harness import WEATHER_RULES, Bench, value
from tests.mock_kafka import GROUP, TOPIC, Cluster
from tests.sinks import OtlpSink, RecordingIntake
from tests.waiting import let_others_run, until

DEAD = "dead"
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return Cluster()


def config(folder: Path, cluster: Cluster, sink: OtlpSink, **kafka: Any) -> Config:
    rules, anywhere = folder / "rules.yaml", {"endpoint": "127.0.0.1:0"}
    rules.write_text(WEATHER_RULES)
    settings = {
        "brokers": [cluster.address], "group_id": GROUP, "traces": {"topic": TOPIC},
        "properties": {"session.timeout.ms": 6000, "heartbeat.interval.ms": 200}, **kafka,
    }  # fmt: skip
    return Config.model_validate({
        "receivers": {"kafka": settings}, "rules": [rules], "admin": anywhere,
        "traces": {"settle": "300ms", "confirm": "300ms", "idle_timeout": "3s"},
        "exporters": {"prometheus": anywhere, "otlp": {"endpoint": sink.endpoint, "tls": {"insecure": True}}},
    })  # fmt: skip


@contextlib.asynccontextmanager
async def running(config: Config) -> AsyncIterator[Service]:
    service = Service(config)
    await service.start()
    task = asyncio.create_task(service.run())
    try:
        yield service
    finally:
        service.stop()
        await task
        await service.shutdown()


def run() -> tuple[bytes, list[Any]]:
    """A right run of this moment, a span a message."""
    trace_id, now = os.urandom(16), time.time() - data.EPOCH_NS / 1e9
    calls = [
        data.tool(at + 2, 1, name, now + at / 100, trace_id) for at, name in enumerate(("get_weather", "send_email"))
    ]
    return trace_id, [*calls, data.agent(1, at=now, trace_id=trace_id)]


def labels(sink: OtlpSink, trace_id: bytes) -> list[str]:
    found = [record for record in sink.records() if record.trace_id == trace_id]
    values = [{item.key: item.value for item in record.attributes} for record in found]
    return [value["gen_ai.evaluation.score.label"].string_value for value in values]


class FullIntake(RecordingIntake):
    """Takes nothing until there is room."""

    def __init__(self) -> None:
        super().__init__(RefusedError("full", 0.02))
        self.places: set[tuple[int, int]] = set()

    async def take_message(self, request: bytes, origin: Origin) -> Rejected:
        rejected = await self.take("traces", request, "kafka")
        self.places.add((origin.partition.number, origin.offset))
        return rejected


def test_runs_are_scored_and_committed_once_their_results_are_delivered(tmp_path: Path, cluster: Cluster) -> None:
    trace_id, spans = run()

    async def main(sink: OtlpSink) -> None:
        async with running(config(tmp_path, cluster, sink)) as service:
            for span in spans:
                cluster.write(span)
            await until(lambda: labels(sink, trace_id) == ["pass"])
            accepted = {"receiver": "kafka", "transport": "kafka"}
            assert value(service.telemetry, "receiver_accepted_spans_total", **accepted) == 3
            await until(lambda: sum(at for at, _ in cluster.committed().values()) == 3, 0.2)
            assert all(metadata.startswith("rightcall/1 ") for at, metadata in cluster.committed().values() if at)
            await until(
                lambda: (
                    not any(value(service.telemetry, "kafka_uncommitted_messages", partition=str(n)) for n in range(4))
                )
            )

    with OtlpSink() as sink:
        asyncio.run(main(sink))


def test_a_run_that_is_open_when_its_consumer_stops_is_scored_whole_by_the_next_one(
    tmp_path: Path, cluster: Cluster
) -> None:
    trace_id, spans = run()

    async def main(sink: OtlpSink) -> None:
        settings = config(tmp_path, cluster, sink)
        async with running(settings) as service:
            cluster.write(spans[0])
            await until(lambda: value(service.telemetry, "traces_open") == 1)
        assert labels(sink, trace_id) == []
        assert value(service.telemetry, "kafka_moved_traces_total") == 1
        assert value(service.telemetry, "dropped_spans_total", stage="assembly", reason="moved") == 1
        async with running(settings):
            for span in spans[1:]:
                cluster.write(span)
            await until(lambda: labels(sink, trace_id))
        assert labels(sink, trace_id) == ["pass"]

    with OtlpSink() as sink:
        asyncio.run(main(sink))


def test_a_run_with_spans_in_messages_that_were_deleted_unread_is_incomplete(tmp_path: Path, cluster: Cluster) -> None:
    (trace_id, spans), topic, key = run(), "brief", "always the same partition"

    async def main(sink: OtlpSink) -> None:
        settings = config(tmp_path, cluster, sink, traces={"topic": topic})
        # In less time a run of which nothing came for so long is taken for one that was scored before.
        settings = settings.model_copy(update={"traces": settings.traces.model_copy(update={"idle_timeout": 60.0})})
        async with running(settings) as service:
            cluster.write(spans[0], topic=topic, key=key)
            await until(lambda: value(service.telemetry, "traces_open") == 1)
        cluster.write(data.tool(9, 1, "delete_account", 0, trace_id), topic=topic, key=key)
        written = cluster.overwrite(key, topic)
        async with running(settings) as service:
            cluster.write(*spans, topic=topic, key=key)
            await until(lambda: labels(sink, trace_id))
            assert labels(sink, trace_id) == ["incomplete"]
            assert 2 <= value(service.telemetry, "kafka_deleted_messages_total") < 2 + written
            late_id, late_spans = run()
            cluster.write(*late_spans, topic=topic, key=key)
            await until(lambda: labels(sink, late_id) == ["pass"])

    with OtlpSink() as sink:
        asyncio.run(main(sink))


def test_messages_that_are_deleted_while_others_wait_are_counted(tmp_path: Path, cluster: Cluster) -> None:
    (tmp_path / "rules.yaml").write_text(WEATHER_RULES)
    settings = {"brokers": [cluster.address], "group_id": "slow", "traces": {"topic": "slow"}}
    key, count = "always the same partition", 20

    async def main() -> None:
        bench, intake = Bench(tmp_path, receivers={"kafka": settings}), FullIntake()
        receiver = KafkaReceiver(
            KafkaReceiverConfig.model_validate(settings), intake, bench.pipeline, lambda: lambda: True, bench.telemetry,
            lifetime=1.0, max_buffered=1 << 18,
        )  # fmt: skip
        await receiver.start()
        await until(lambda: receiver.is_paused)
        written = count + await asyncio.to_thread(cluster.overwrite, key, "slow")
        intake.answer = None
        await until(lambda: any(offset == written - 1 for _, offset in intake.places))
        deleted = value(bench.telemetry, "kafka_deleted_messages_total")
        assert deleted == written - len(intake.places) > 0
        await receiver.shutdown()

    for _ in range(count):
        cluster.write(data.span(1, trace_id=os.urandom(16), pad="x" * 100_000), topic="slow", key=key)
    asyncio.run(main())


def test_a_topic_that_was_made_anew_is_read_from_its_beginning(tmp_path: Path, cluster: Cluster) -> None:
    (first_id, first), key = run(), "always the same partition"

    async def main(sink: OtlpSink) -> None:
        async with running(config(tmp_path, cluster, sink, group_id="anew", traces={"topic": "anew"})):
            # It may have spans in what the topic was before.
            await until(lambda: labels(sink, first_id) == ["incomplete"])
            await until(lambda: labels(sink, next_id) == ["pass"])

    with OtlpSink() as sink:
        cluster.write(*first, topic="anew", key=key)
        next_id, following = run()
        cluster.write(*following, topic="anew", key=key)
        cluster.commit(1_000, "anew", "anew")
        asyncio.run(main(sink))


def test_what_is_not_otlp_goes_to_the_dead_letters_and_holds_up_nothing(tmp_path: Path, cluster: Cluster) -> None:
    trace_id, spans = run()

    async def main(sink: OtlpSink) -> None:
        async with running(config(tmp_path, cluster, sink, dead_letter_topic=DEAD)) as service:
            cluster.write(value=b"no request")
            cluster.write(*spans)
            await until(lambda: labels(sink, trace_id) == ["pass"])
            refused = {"receiver": "kafka", "transport": "kafka", "reason": "decode"}
            await until(lambda: value(service.telemetry, "receiver_refused_spans_total", **refused) == 1)
        (letter,) = await asyncio.to_thread(cluster.read_all, DEAD, 1)
        assert letter.value() == b"no request"
        assert dict(letter.headers())["rightcall.topic"] == TOPIC.encode()

    with OtlpSink() as sink:
        asyncio.run(main(sink))


def test_a_run_with_a_message_that_is_not_otlp_is_incomplete(tmp_path: Path, cluster: Cluster) -> None:
    trace_id, spans = run()

    async def main(sink: OtlpSink) -> None:
        async with running(config(tmp_path, cluster, sink, traces={"topic": "half"})):
            cluster.write(*spans, topic="half")
            cluster.write(value=b"no request", key=trace_id.hex(), topic="half")
            await until(lambda: labels(sink, trace_id))
        assert labels(sink, trace_id) == ["incomplete"]

    with OtlpSink() as sink:
        asyncio.run(main(sink))


def test_a_message_too_large_for_the_dead_letters_holds_up_nothing(tmp_path: Path, cluster: Cluster) -> None:
    trace_id, spans = run()

    async def main(sink: OtlpSink) -> None:
        kafka = {"dead_letter_topic": "large", "traces": {"topic": "of_large"}}
        async with running(config(tmp_path, cluster, sink, **kafka)):
            cluster.write(value=b"\xff" * (2 << 20), topic="of_large")
            cluster.write(*spans, topic="of_large")
            await until(lambda: labels(sink, trace_id) == ["pass"])
        (letter,) = await asyncio.to_thread(cluster.read_all, "large", 1)
        assert letter.value() is None
        headers = dict(letter.headers())
        assert headers["rightcall.topic"] == b"of_large"
        assert headers["rightcall.error"].endswith(b"too large for this topic")

    with OtlpSink() as sink:
        asyncio.run(main(sink))


def test_a_batch_that_cannot_be_unpacked_is_left_out_and_holds_up_nothing(tmp_path: Path, cluster: Cluster) -> None:
    trace_id, spans = run()
    bomb = [bytes(2 << 20)] * 3  # a kilobyte as it is written
    limits = {"fetch.max.bytes": 1 << 20, "fetch.message.max.bytes": 1 << 20, "receive.message.max.bytes": 2 << 20}
    properties = {**limits, "fetch.error.backoff.ms": 10, "session.timeout.ms": 6000, "heartbeat.interval.ms": 200}
    kafka = {"dead_letter_topic": "unread", "traces": {"topic": "bombs"}, "properties": properties}
    refused = {"receiver": "kafka", "transport": "kafka", "reason": "decode"}

    async def main(sink: OtlpSink) -> None:
        async with running(config(tmp_path, cluster, sink, **kafka)) as service:
            cluster.write(spans[0], topic="bombs")
            cluster.write_batch(*bomb, key=trace_id.hex(), topic="bombs")
            cluster.write(*spans[1:], topic="bombs")
            cluster.write_batch(*bomb, key=trace_id.hex(), topic="bombs")  # the last of the topic
            # What is left out may hold spans of every run under way.
            await until(lambda: labels(sink, trace_id) == ["incomplete"])
            await until(lambda: value(service.telemetry, "receiver_refused_spans_total", **refused) == 2)
            # Nor is it known of a run that began before the next message was written.
            cluster.write(*run()[1], topic="bombs", key=trace_id.hex())
            late_id, late_spans = run()
            cluster.write(*late_spans, topic="bombs", key=trace_id.hex())
            await until(lambda: labels(sink, late_id) == ["pass"])
        found = [dict(letter.headers()) for letter in await asyncio.to_thread(cluster.read_all, "unread", 2)]
        # Letters without a key go to any partition, so a reader may see the second one first.
        assert sorted((int(one["rightcall.offset"]), one["rightcall.error"][:42].decode()) for one in found) == [
            (1, "a batch up to offset 3 cannot be unpacked:"),
            (5, "a batch up to offset 7 cannot be unpacked:"),
        ]

    with OtlpSink() as sink:
        asyncio.run(main(sink))


def test_a_message_that_nobody_expected_is_put_aside(tmp_path: Path, cluster: Cluster) -> None:
    (tmp_path / "rules.yaml").write_text(WEATHER_RULES)
    settings = {"brokers": [cluster.address], "group_id": "puzzled", "traces": {"topic": "puzzling"}}

    class PuzzledIntake(FullIntake):
        """Fails at the first message as no intake should."""

        async def take_message(self, request: bytes, origin: Origin) -> Rejected:
            if not self.received:
                await self.take("traces", request, "kafka")
                raise ZeroDivisionError
            return await super().take_message(request, origin)

    async def main() -> None:
        bench, intake = Bench(tmp_path, receivers={"kafka": settings}), PuzzledIntake()
        intake.answer = None
        receiver = KafkaReceiver(
            KafkaReceiverConfig.model_validate(settings), intake, bench.pipeline, lambda: lambda: True, bench.telemetry,
            lifetime=1.0,
        )  # fmt: skip
        await receiver.start()
        await until(lambda: len(intake.places) == 1)
        assert intake.refused == [("kafka", "decode")]
        await receiver.shutdown()

    for _ in range(2):
        cluster.write(data.span(1, trace_id=os.urandom(16)), topic="puzzling")
    asyncio.run(main())


def test_requests_may_be_json(tmp_path: Path, cluster: Cluster) -> None:
    trace_id, spans = run()
    request = MessageToDict(data.traces(*spans))
    for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in span:
                span[name] = base64.b64decode(span[name]).hex()

    async def main(sink: OtlpSink) -> None:
        async with running(config(tmp_path, cluster, sink, traces={"topic": "json", "encoding": "otlp_json"})):
            cluster.write(value=json.dumps(request).encode(), topic="json")
            await until(lambda: labels(sink, trace_id) == ["pass"])

    with OtlpSink() as sink:
        asyncio.run(main(sink))


def test_a_backend_that_is_down_holds_up_the_offsets_and_loses_nothing(tmp_path: Path, cluster: Cluster) -> None:
    trace_id, spans = run()

    async def main(sink: OtlpSink, port: int) -> None:
        settings = config(tmp_path, cluster, sink)
        before = sum(at for at, _ in cluster.committed().values())
        async with running(settings) as service:
            assert service._queue is not None
            assert all(outlet.queue.durable for outlet in service._queue._outlets)  # tried forever, as with a spool
            for span in spans:
                cluster.write(span)
            await until(lambda: value(service.telemetry, "exporter_queue_size", exporter="otlp") >= 1)
            assert sum(at for at, _ in cluster.committed().values()) <= before
            with OtlpSink(port=port) as back:
                await until(lambda: labels(back, trace_id) == ["pass"])
                await until(lambda: sum(at for at, _ in cluster.committed().values()) > before, 0.2)

    with OtlpSink() as sink:
        port = sink.port
    asyncio.run(main(sink, port))


def test_messages_that_wait_for_moments_pause_no_partition(tmp_path: Path, cluster: Cluster) -> None:
    (tmp_path / "rules.yaml").write_text(WEATHER_RULES)
    settings = {"brokers": [cluster.address], "group_id": "brisk", "traces": {"topic": "brisk"}}
    count, paused = 150, set[bool]()

    class BriskIntake(FullIntake):
        """Takes messages more slowly than they are read."""

        receiver: KafkaReceiver

        async def take_message(self, request: bytes, origin: Origin) -> Rejected:
            await let_others_run(20)
            paused.add(self.receiver.is_paused)
            return await super().take_message(request, origin)

    async def main() -> None:
        bench, intake = Bench(tmp_path, receivers={"kafka": settings}), BriskIntake()
        intake.answer = None
        intake.receiver = receiver = KafkaReceiver(
            KafkaReceiverConfig.model_validate(settings), intake, bench.pipeline, lambda: lambda: True, bench.telemetry,
            lifetime=1.0, max_buffered=1 << 18,
        )  # fmt: skip
        await receiver.start()
        await until(lambda: len(intake.places) == count)
        await receiver.shutdown()

    for _ in range(count):
        cluster.write(data.span(1, trace_id=os.urandom(16), pad="x" * 30_000), topic="brisk")
    asyncio.run(main())
    assert paused == {False}


def test_where_nothing_is_taken_no_more_than_so_much_is_read(tmp_path: Path, cluster: Cluster) -> None:
    (tmp_path / "rules.yaml").write_text(WEATHER_RULES)
    settings = {
        "brokers": [cluster.address], "group_id": "full", "traces": {"topic": "full"},
        # By default librdkafka fetches nothing for a second each time its queue was full, which it is all the time here.
        # And its cluster takes a member that it lost back when its session is over, after 45 s by default.
        "properties": {"fetch.queue.backoff.ms": 10, "session.timeout.ms": 15_000, "heartbeat.interval.ms": 500},
    }  # fmt: skip
    limit, count, size = 1 << 18, 160, 25_000

    async def main() -> None:
        bench, intake = Bench(tmp_path, receivers={"kafka": settings}), FullIntake()
        receiver = KafkaReceiver(
            KafkaReceiverConfig.model_validate(settings), intake, bench.pipeline, lambda: lambda: True, bench.telemetry,
            lifetime=1.0, max_buffered=limit,
        )  # fmt: skip
        await receiver.start()
        await until(lambda: receiver.buffered > limit)
        for _ in range(20):  # polls, each of which would read more
            refused = len(intake.received)
            await until(lambda refused=refused: len(intake.received) > refused + 5)
        assert receiver.buffered < 8 * limit < count * size
        intake.answer = None
        # Each of them at least once: a busy machine may take so long that the group begins anew.
        await until(lambda: len(intake.places) == count and receiver.buffered == 0)
        await receiver.shutdown()

    for _ in range(count):
        cluster.write(data.span(1, trace_id=os.urandom(16), pad="x" * size), topic="full")
    asyncio.run(main())


def test_settings_that_librdkafka_refuses_are_named(tmp_path: Path, cluster: Cluster) -> None:
    with OtlpSink() as sink:
        settings = config(tmp_path, cluster, sink, properties={"session.timeout.mss": 1})

    async def main() -> None:
        await Service(settings).start()

    with pytest.raises(ConfigError, match=r"receivers\.kafka: No such configuration property"):
        asyncio.run(main())


def test_brokers_that_do_not_answer_are_told_in_our_log_alone(
    tmp_path: Path, cluster: Cluster, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    async def main(sink: OtlpSink) -> None:
        async with running(config(tmp_path, cluster, sink, brokers=["127.0.0.1:1"])):
            await until(lambda: "brokers are down" in caplog.text)

    with OtlpSink() as sink:
        asyncio.run(main(sink))
    assert "Connection refused" in caplog.text
    assert "|FAIL|" not in capfd.readouterr().err  # a line of librdkafka, which is not JSON and comes at every attempt


def test_partitions_that_the_group_took_away_are_told(
    tmp_path: Path, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(sink: OtlpSink) -> None:
        service = Service(config(tmp_path, cluster, sink))
        (receiver,) = service._receivers
        assert isinstance(receiver, KafkaReceiver)
        receiver._on_lost(receiver._kafka.Consumer, [TopicPartition(TOPIC, 2), TopicPartition(TOPIC, 5)])

    with OtlpSink() as sink:
        asyncio.run(main(sink))
    assert "lost partitions [2, 5]" in caplog.text


def test_open_traces_wait_for_brokers_that_do_not_answer(tmp_path: Path) -> None:
    cluster = Cluster()

    async def main(sink: OtlpSink) -> None:
        async with running(config(tmp_path, cluster, sink)) as service:
            _, spans = run()
            cluster.write(spans[0])
            await until(lambda: service.pipeline.open_traces == 1)
            assert not service.pipeline.topic_stalled()
            cluster.stop()
            await until(service.pipeline.topic_stalled)

    with OtlpSink() as sink:
        asyncio.run(main(sink))
