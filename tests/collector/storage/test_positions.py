"""Where a partition is read on when the topic has not what was to be read."""

from __future__ import annotations

import threading

import pytest

from collector.config.kafka import KafkaReceiverConfig
from collector.storage.offsets import Checkpoint, Partition
from collector.storage.positions import Positions


def positions() -> Positions:
    config = KafkaReceiverConfig.model_validate({"brokers": ["nowhere:9092"], "traces": {"topic": "spans"}})
    return Positions(config, 30.0, threading.Event())


@pytest.mark.parametrize(
    ("sought", "first", "deleted"),
    [(100, 150, 30), (100, 120, 0), (100, 110, 0), (100, 250, 130), (150, 160, 10), (150, 150, None)],
)
def test_messages_of_finished_traces_are_none_that_were_deleted_unread(
    sought: int, first: int, deleted: int | None
) -> None:
    partition = Partition("spans", 0, Checkpoint(120, 100, 200), 30.0)
    partition.sought = sought
    assert positions().found(partition, first) == (partition, deleted)
    assert partition.sought is None


def test_offsets_that_begin_anew_are_those_of_another_partition() -> None:
    partition = Partition("spans", 3, Checkpoint(120, 100, 200), 30.0)
    partition.sought = 100
    anew, deleted = positions().found(partition, 99)
    assert (anew.topic, anew.number, anew.begun, deleted) == ("spans", 3, Checkpoint(99, 99, 99), 0)
