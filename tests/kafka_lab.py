"""Agents that write their runs to a topic as the OpenTelemetry Collector would, and what consumers made of them."""

from __future__ import annotations

import collections
import json
import random
import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it is documented there
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import otlp_data as data
from tests.collector_process import CollectorProcess
from tests.sinks import OtlpSink

RULES = """
rules:
  - name: refund
    match: {agent: support}
    expect: {sequence: [lookup_order, check_policy, refund_card], forbid: ["delete_*"]}
    pass: 0.99
"""
PLANS: Mapping[str, Sequence[str]] = {
    "pass": ("lookup_order", "check_policy", "refund_card"),
    "fail": ("lookup_order", "refund_card"),
}
PARTITIONS = 6


def new_topic(broker: str, partitions: int = PARTITIONS) -> str:
    """Returns the name of a topic that was created."""
    name = f"spans-{uuid.uuid4().hex[:8]}"
    client = AdminClient({"bootstrap.servers": broker})
    client.create_topics([NewTopic(name, partitions, 1)])[name].result(60)
    return name


def delete_all(broker: str, topic: str, partitions: int = PARTITIONS) -> None:
    """Delete what has been written to a topic so far, as its retention does."""
    client = AdminClient({"bootstrap.servers": broker})
    ends = [TopicPartition(topic, number, OFFSET_END) for number in range(partitions)]
    for deleted in client.delete_records(ends).values():
        deleted.result(60)


def run_of(trace_id: bytes, label: str, began: float, lasting: float) -> list[tuple[float, list[Span]]]:
    """The messages of one run, and when each is written: its calls one by one, then the agent and the server span."""
    base = began - data.EPOCH_NS / 1e9
    plan, messages = PLANS[label], []
    for number, tool in enumerate(plan):
        at = lasting * number / len(plan)
        messages.append((began + at, [data.tool(10 + number, 2, tool, base + at, trace_id)]))
    agent = data.agent(2, 1, "support", base, trace_id)
    root = data.span(1, 0, "POST /chat/refund", base, trace_id, http__route="/chat/refund")
    for span in (agent, root):
        span.end_time_unix_nano = span.start_time_unix_nano + int(lasting * 1e9)
    return [*messages, (began + lasting, [agent, root])]


class Agents(threading.Thread):
    """Begins ``rate`` runs a second until ``finish``; ``truth`` has the label of every run whose messages are written."""

    def __init__(self, broker: str, topic: str, rate: float, lasting: tuple[float, float] = (0.5, 3.0)) -> None:
        super().__init__(name="agents")
        self._producer, self._topic = Producer({"bootstrap.servers": broker, "linger.ms": 5}), topic
        self._rate, self._lasting, self._random = rate, lasting, random.Random(1)
        self._finishing = threading.Event()
        self.truth: dict[bytes, str] = {}
        self.spans = 0

    def run(self) -> None:
        due: list[tuple[float, bytes, list[Span]]] = []
        next_run = time.time()
        while due or not self._finishing.is_set():
            now = time.time()
            while now >= next_run and not self._finishing.is_set():
                next_run += self._random.expovariate(self._rate)
                self._begin(now, due)
            due.sort(key=lambda item: item[0], reverse=True)
            while due and due[-1][0] <= now:
                _, trace_id, spans = due.pop()
                self._producer.produce(self._topic, data.traces(*spans).SerializeToString(), trace_id.hex())
                self.spans += len(spans)
            self._producer.poll(0.01)
        self._producer.flush()

    def _begin(self, now: float, due: list[tuple[float, bytes, list[Span]]]) -> None:
        trace_id, label = self._random.randbytes(16), self._random.choice(list(PLANS))
        self.truth[trace_id] = label
        messages = run_of(trace_id, label, now, self._random.uniform(*self._lasting))
        due.extend((at, trace_id, spans) for at, spans in messages)

    def finish(self) -> None:
        """End the runs that have begun."""
        self._finishing.set()
        self.join()


def consumer(
    broker: str, topic: str, sink: OtlpSink, rules: str = RULES, exporters: dict[str, Any] | None = None, **more: Any
) -> CollectorProcess:
    """One collector of the group, not started."""
    traces = {"settle": "500ms", "confirm": "1s", "idle_timeout": "5s"}
    kafka = {
        "brokers": [broker], "group_id": f"group-{topic}", "traces": {"topic": topic},
        "properties": {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500}, **more,
    }  # fmt: skip
    backend = {"endpoint": sink.endpoint, "tls": {"insecure": True}}
    return CollectorProcess(
        rules, None, receivers={"kafka": kafka}, traces=traces, exporters=exporters or {"otlp": backend}
    )


def lag(broker: str, topic: str, partitions: int = PARTITIONS) -> int:
    """Messages of the topic beyond what the group has committed."""
    client = Consumer({"bootstrap.servers": broker, "group.id": f"group-{topic}"})
    try:
        positions = client.committed([TopicPartition(topic, number) for number in range(partitions)], timeout=30)
        return sum(
            client.get_watermark_offsets(position, timeout=30)[1] - max(0, position.offset) for position in positions
        )
    finally:
        client.close()


@dataclass
class Found:
    """What became of runs. ``wrong`` have a sure verdict that is not the truth's; ``changed`` have two under one uid."""

    right: int = 0
    wrong: list[tuple[str, list[str]]] = field(default_factory=list)
    unsure: list[tuple[str, list[str]]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    repeated: int = 0
    spans: int = 0
    distinct_spans: int = 0


def found(sink: OtlpSink, truth: Mapping[bytes, str]) -> Found:
    """Compares what the sink has with the truth."""
    labels: dict[bytes, list[str]] = collections.defaultdict(list)
    uids: dict[str, set[str]] = collections.defaultdict(set)
    result = Found()
    for record in sink.records():
        values = attributes_of(record)
        label = values["gen_ai.evaluation.score.label"].string_value
        uid = values["log.record.uid"].string_value
        result.repeated += uid in uids
        uids[uid].add(label)
        labels[record.trace_id].append(label)
    result.changed = [uid for uid, given in uids.items() if len(given) > 1]
    for trace_id, label in truth.items():
        given = labels.get(trace_id, [])
        if not given:
            result.missing.append(trace_id.hex())
        elif {"pass", "fail"} & set(given) - {label}:
            result.wrong.append((trace_id.hex(), given))
        elif label not in given:
            result.unsure.append((trace_id.hex(), given))
        else:
            result.right += 1
    spans = [(span.trace_id, span.span_id) for span in sink.spans()]
    result.spans, result.distinct_spans = len(spans), len(set(spans))
    return result


def attributes_of(item: LogRecord | Span) -> dict[str, Any]:
    """The attributes by name."""
    return {attribute.key: attribute.value for attribute in item.attributes}


def metrics(processes: Iterable[CollectorProcess], series: str) -> float:
    """The sum of a series over processes."""
    return sum(process.metric(series) for process in processes)


def shown(result: Found) -> str:
    """For people."""
    return json.dumps({name: value if isinstance(value, int) else len(value) for name, value in vars(result).items()})
