"""Throughput from a topic of Apache Kafka: one trace a message, as the OpenTelemetry Collector writes them by trace id."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from confluent_kafka import Producer

from tests.bench.end_to_end import collector_to, cpu_seconds
from tests.bench.load import EPOCH, SPANS_PER_TRACE, request, trace
from tests.bench.pacing import wait_until_arrived
from tests.bench.sink import Sink
from tests.kafka_broker import Broker
from tests.kafka_lab import new_topic
from tests.waiting import wait_for

_POOL = 2000
_QUIET = 10.0  # seconds after which nothing more comes


def throughput(messages: int = 60_000, python: str = sys.executable) -> dict[str, float]:
    """Measure a collector that finds so many messages in a topic: spans per CPU-second and per second, share delivered."""
    with TemporaryDirectory() as made, Broker(Path(made)) as broker:
        topic = new_topic(broker.address)
        _write(broker.address, topic, messages)
        kafka = {"brokers": [broker.address], "traces": {"topic": topic}}
        with Sink() as sink, collector_to(sink, "memory", python=python, receivers={"kafka": kafka}) as collector:
            wait_for(lambda: sink.counts()[0], 0.01)
            # From the first spans on: to join the group takes seconds.
            before, cpu, began = sink.counts()[0], cpu_seconds(collector.pid), time.monotonic()
            ended = began

            def arrived() -> int:
                nonlocal ended
                if (now := sink.counts()[0]) >= messages * SPANS_PER_TRACE:
                    ended = time.monotonic()
                return now

            wait_until_arrived(arrived, messages * SPANS_PER_TRACE, _QUIET)
            spans = sink.counts()[0]
            return {
                "spans_per_cpu_second": (spans - before) / (cpu_seconds(collector.pid) - cpu),
                "spans_per_second": (spans - before) / (ended - began),
                "delivered_share": spans / (messages * SPANS_PER_TRACE),
            }


def _write(address: str, topic: str, messages: int) -> None:
    random, clock = Random(1), 1_700_000_000_000_000_000
    pool = [request(trace(random, clock + number * 1_000_000)) for number in range(_POOL)]
    settings: dict[str, Any] = {"linger.ms": 50, "queue.buffering.max.kbytes": 1 << 20}
    producer = Producer({"bootstrap.servers": address, **settings})
    for number in range(messages):
        epoch = (1 + number // _POOL).to_bytes(8, "big")
        producer.produce(topic, pool[number % _POOL].replace(EPOCH, epoch), str(number))
        if not number % _POOL:
            producer.flush(60)
    producer.flush(60)
