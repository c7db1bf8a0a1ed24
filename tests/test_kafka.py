"""Consumers of a real Kafka that come, go and crash under load: every run is scored, none by half, none lost.

Opt-in: see tests/kafka_broker.py.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests import kafka_lab as lab
from tests.collector_process import CollectorProcess
from tests.kafka_broker import Broker
from tests.sinks import OtlpSink
from tests.waiting import wait_for

RATE = 20.0
"""Runs a second."""
Change = Callable[[Broker, Sequence[CollectorProcess]], None]
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


def nothing(_: Broker, __: Sequence[CollectorProcess]) -> None:
    pass


def kill_one(_: Broker, consumers: Sequence[CollectorProcess]) -> None:
    consumers[0].kill()


def roll(_: Broker, consumers: Sequence[CollectorProcess]) -> None:
    for consumer in consumers:
        assert consumer.stop() == 0
        consumer.start()


def add_one(_: Broker, consumers: Sequence[CollectorProcess]) -> None:
    consumers[-1].start()


def restart_broker(broker: Broker, _: Sequence[CollectorProcess]) -> None:
    broker.stop()
    broker.start()


@pytest.mark.parametrize(
    ("consumers", "at_first", "change"),
    [(1, 1, nothing), (3, 3, nothing), (2, 2, kill_one), (2, 1, add_one), (2, 2, roll), (2, 2, restart_broker)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_every_run_is_scored_once_or_again_alike(broker: Broker, consumers: int, at_first: int, change: Change) -> None:
    topic = lab.new_topic(broker.address)
    with OtlpSink() as sink, contextlib.ExitStack() as stack:
        processes = [lab.consumer(broker.address, topic, sink) for _ in range(consumers)]
        for process in processes:
            stack.callback(process.close)
        for process in processes[:at_first]:
            process.start()
        agents = lab.Agents(broker.address, topic, RATE)
        agents.start()
        wait_for(lambda: len(sink.records()) > 50)
        change(broker, processes)
        begun = len(agents.truth)
        wait_for(lambda: len(agents.truth) > begun + 150)
        agents.finish()
        wait_for(lambda: lab.lag(broker.address, topic) == 0, 0.5)
        found = lab.found(sink, agents.truth)
        assert (found.wrong, found.unsure, found.missing, found.changed) == ([], [], [], [])
        assert found.right == len(agents.truth)
        assert found.distinct_spans == agents.spans
        if change is nothing:
            assert found.repeated <= len(agents.truth) // 10  # where the group had to settle first
        print(f"{change.__name__}: {lab.shown(found)}, {time.strftime('%H:%M:%S')}")
