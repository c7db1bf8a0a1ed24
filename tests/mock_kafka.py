"""librdkafka's mock cluster: a broker in this process, for what needs none of Kafka's own."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from tests import otlp_data as data
from tests.waiting import PATIENCE

TOPIC, GROUP = "spans", "rightcall"
_KEPT = 5 << 20
"""Bytes of a partition that librdkafka's cluster keeps: of more it deletes the first, read or not."""


class Cluster:
    """A mock cluster, which lives in a producer."""

    def __init__(self) -> None:
        self._home = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
        (broker,) = self._home.list_topics(timeout=30).brokers.values()
        self.address = f"{broker.host}:{broker.port}"
        self._producer = Producer({"bootstrap.servers": self.address, "message.max.bytes": 8 << 20})
        self._written = Counter[str]()

    def stop(self) -> None:
        """Its brokers answer no more."""
        del self._home

    def write(self, *spans: Any, value: bytes | None = None, topic: str = TOPIC, key: str = "") -> None:
        """Write one message, keyed by the trace of the first span unless otherwise said."""
        key = key or (spans[0].trace_id.hex() if spans else "x")
        value = data.traces(*spans).SerializeToString() if value is None else value
        self._written[topic] += len(value)
        assert self._written[topic] < _KEPT, "chance may write all of it to one partition"
        self._producer.produce(topic, value, key)
        self._producer.flush(30)

    def overwrite(self, key: str, topic: str = TOPIC) -> int:
        """Write spans of no agent to the partition of a key until all else in it is deleted. Returns how many messages."""
        size, count = 500_000, 2 * _KEPT // 500_000
        for _ in range(count):
            span = data.span(1, trace_id=os.urandom(16), pad="x" * size)
            self._producer.produce(topic, data.traces(span).SerializeToString(), key)
        self._producer.flush(30)
        return count

    def commit(self, offset: int, topic: str, group: str, partitions: int = 4) -> None:
        """Commit an offset of each partition, for a group without members."""
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": group})
        try:
            places = [TopicPartition(topic, number, offset) for number in range(partitions)]
            consumer.commit(offsets=places, asynchronous=False)
        finally:
            consumer.close()

    def write_batch(self, *values: bytes, key: str, topic: str = TOPIC) -> None:
        """Write messages as one compressed batch."""
        settings = {"bootstrap.servers": self.address, "message.max.bytes": 64 << 20, "batch.size": 64 << 20}
        producer = Producer({**settings, "compression.type": "zstd", "linger.ms": 60_000})
        # Known before the first message: those that wait for the partitions to be known may leave one by one.
        producer.list_topics(topic, 30)
        for value in values:
            producer.produce(topic, value, key)
        producer.flush(30)

    def committed(self, partitions: int = 4) -> dict[int, tuple[int, str]]:
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": GROUP})
        try:
            found = consumer.committed([TopicPartition(TOPIC, number) for number in range(partitions)], timeout=30)
            return {place.partition: (place.offset, place.metadata or "") for place in found if place.offset >= 0}
        finally:
            consumer.close()

    def read_all(self, topic: str, count: int) -> list[Any]:
        """Returns the first messages of a topic."""
        group = {"group.id": os.urandom(4).hex(), "auto.offset.reset": "earliest"}
        consumer = Consumer({"bootstrap.servers": self.address, **group})
        try:
            consumer.subscribe([topic])
            found: list[Any] = []
            while len(found) < count:
                found += consumer.consume(count, PATIENCE)
            return found
        finally:
            consumer.close()
