"""Consumers of a real Kafka that come, go and crash under load: every run is scored, none by half, none lost.

Opt-in: see tests/kafka_broker.py.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from confluent_kafka import Consumer

from tests import kafka_lab as lab
from tests import otlp_data as data
from tests.collector_process import CollectorProcess
from tests.kafka_broker import Broker
from tests.sinks import OtlpSink
from tests.waiting import wait_for

RATE = 20.0
"""Runs a second."""
SHORTER = """
rules:
  - {name: shorter, match: {agent: support}, expect: {sequence: [lookup_order, refund_card]}, shadow: true, pass: 0.99}
"""
Change = Callable[[Broker, Sequence[CollectorProcess]], None]
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


def read(broker: Broker, topic: str, items: Callable[[bytes], list[Any]], count: int) -> list[Any]:
    """The first ``count`` items of a topic, or more; each message is keyed by the trace of all that is in it."""
    settings = {"bootstrap.servers": broker.address, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer, found = Consumer(settings), list[Any]()
    try:
        consumer.subscribe([topic])
        while len(found) < count:
            for message in consumer.consume(count, 0.5):
                read = items(message.value() or b"")
                assert {item.trace_id.hex() for item in read} == {(message.key() or b"").decode()}
                found += read
    finally:
        consumer.close()
    return found


def test_clients_prove_who_they_are_and_so_do_brokers(broker: Broker) -> None:
    spans, events = lab.new_topic(broker.address), lab.new_topic(broker.address)
    topic = lab.new_topic(broker.address)
    exporter = {"kafka": {**broker.secured, "traces": {"topic": spans}, "logs": {"topic": events}}}
    stranger = {**broker.secured, "auth": {"sasl": {**broker.secured["auth"]["sasl"], "password": "wrong-horse"}}}
    with OtlpSink() as sink, contextlib.ExitStack() as stack:
        stack.enter_context(lab.consumer(broker.address, topic, sink, exporters=exporter, **broker.secured))
        outside = stack.enter_context(lab.consumer(broker.address, topic, sink, **stranger))
        agents = lab.Agents(broker.address, topic, RATE, lasting=(0.2, 0.4))
        agents.start()
        wait_for(lambda: len(agents.truth) > 10)
        agents.finish()
        records = read(broker, events, data.all_records, len(agents.truth))
        labels = {record.trace_id: data.values_of(record)["gen_ai.evaluation.score.label"] for record in records}
        assert labels == agents.truth
        assert len(read(broker, spans, data.all_spans, agents.spans)) == agents.spans
        wait_for(lambda: "Authentication failed" in outside.log)
        assert "horse" not in outside.log


def test_a_topic_is_scored_again_from_its_beginning_by_rules_under_trial(broker: Broker) -> None:
    topic, series = lab.new_topic(broker.address), "rightcall_evaluations_total"
    labels = 'intent="",label="{}",route="/chat/refund",rule="shorter",scorer="trajectory"'
    with OtlpSink() as sink, OtlpSink() as trial, contextlib.ExitStack() as stack:
        stack.enter_context(lab.consumer(broker.address, topic, sink))
        agents = lab.Agents(broker.address, topic, RATE)
        agents.start()
        wait_for(lambda: len(agents.truth) > 60)
        agents.finish()
        wait_for(lambda: len(sink.records()) == len(agents.truth))
        only_events = {"endpoint": trial.endpoint, "tls": {"insecure": True}, "traces": "off", "metrics": "off"}
        again = stack.enter_context(
            lab.consumer(broker.address, topic, trial, rules=SHORTER, exporters={"otlp": only_events}, group_id="trial")
        )
        wait_for(lambda: len(trial.records()) == len(agents.truth))
        given = {record.trace_id: data.values_of(record)["gen_ai.evaluation.score.label"] for record in trial.records()}
        # The other way round: what the rules in force take for a lost call is what these expect.
        other = {"pass": "fail", "fail": "pass"}
        assert given == {trace_id: other[label] for trace_id, label in agents.truth.items()}
        counted = {label: again.metric(f"{series}{{{labels.format(f'shadow_{label}')}}}") for label in other}
        assert counted == {label: list(agents.truth.values()).count(other[label]) for label in other}
        assert trial.spans() == []
        assert len(sink.records()) == len(agents.truth), "the group that scores live does not notice"


def test_no_run_is_judged_without_what_its_topic_deleted_unread(broker: Broker) -> None:
    topic = lab.new_topic(broker.address)
    with OtlpSink() as sink, lab.consumer(broker.address, topic, sink) as consumer:
        agents = lab.Agents(broker.address, topic, RATE)
        agents.start()
        wait_for(lambda: len(sink.records()) > 20)
        assert consumer.stop() == 0
        begun = len(agents.truth)
        wait_for(lambda: len(agents.truth) > begun + 60)
        lab.delete_all(broker.address, topic)
        consumer.start()
        before = len(sink.records())
        wait_for(lambda: len(sink.records()) > before + 60)
        agents.finish()
        wait_for(lambda: lab.lag(broker.address, topic) == 0)
        found = lab.found(sink, agents.truth)
        assert found.wrong == []
        assert found.changed == []
        assert found.unsure
        assert found.missing
        assert found.right > 60
        assert consumer.metric("rightcall_kafka_deleted_messages_total") > 60


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
