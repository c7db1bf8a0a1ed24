"""No span is unaccounted for: what was accepted is sent, given up, queued, held or dropped, after every step."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.delivery.sending_queue import SendingQueue
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.harness import Bench, Life


def spans_of(choice: random.Random) -> list[Span]:
    """Spans of a few traces, so that they repeat, come late and reopen traces."""
    trace_id = bytes([choice.randint(1, 4)]) * 16
    candidates = [
        data.span(9, parent=2, trace_id=trace_id),
        data.span(7, http__route="/chat", trace_id=trace_id),
        data.tool(2, 1, "get_weather", trace_id=trace_id),
        data.tool(3, 1, "send_email", trace_id=trace_id),
        data.agent(1, trace_id=trace_id),
        data.agent(11, trace_id=trace_id),
    ]
    return choice.sample(candidates, choice.randint(1, len(candidates)))


def value(telemetry: Telemetry, name: str) -> float:
    """A metric summed over its series; of dropped spans those of stage ``spool`` are left out."""
    families = (family for family in telemetry.registry.collect() if family.name == f"rightcall_{name}")
    samples = (sample for family in families for sample in family.samples)
    return sum(s.value for s in samples if s.labels.get("stage") != "spool")


def unaccounted(telemetry: Telemetry, queue: SendingQueue, sent: int) -> float:
    brought = value(telemetry, "receiver_accepted_spans") + value(telemetry, "resumed_spans")
    return brought - sent - queue.spans - value(telemetry, "held_spans") - value(telemetry, "dropped_spans")


def deliver_one(queue: SendingQueue, choice: random.Random) -> int:
    """Send the oldest request; the backend may refuse it for now. Returns how many spans were delivered."""
    if not queue._lanes["traces"].waiting:
        return 0
    request = queue._lanes["traces"].waiting.popleft()
    queue._sending.add(request)
    if choice.random() < 0.3:
        queue.requeue(request)
        return 0
    queue.ack(request)
    return request.spans


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_in_memory(tmp_path_factory: pytest.TempPathFactory, choice: random.Random) -> None:
    bench, sent = Bench(tmp_path_factory.getbasetemp(), traces={"max_open": 3, "remember": 2}), 0
    for _ in range(30):
        step = choice.randint(0, 9)
        if step < 5:
            bench.send(*spans_of(choice))
        elif step < 7:
            bench.wait(choice.choice([0.25, 2.0, 31.0]))
        elif step < 8:
            bench.pipeline.evict(1)
        else:
            sent += deliver_one(bench.queue, choice)
        assert unaccounted(bench.telemetry, bench.queue, sent) == 0
    bench.pipeline.drain("shutdown")
    assert (bench.value("held_spans"), unaccounted(bench.telemetry, bench.queue, sent)) == (0, 0)


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False))
def test_with_a_spool_and_restarts(tmp_path_factory: pytest.TempPathFactory, choice: random.Random) -> None:
    sent = 0
    # Closed also where hypothesis ends an example early.
    with closing(Life(tmp_path_factory.mktemp("life"), remember=2)) as life:
        for _ in range(30):
            step = choice.randint(0, 9)
            if step < 5:
                life.send(*spans_of(choice))
            elif step < 7:
                life.wait(choice.choice([0.25, 2.0, 31.0]))
            elif step < 8:
                sent += deliver_one(life.queue, choice)
            elif step < 9:
                life.write()
            else:
                life.crash()
                sent = 0
            assert unaccounted(life.telemetry, life.queue, sent) == 0


def test_what_a_restart_brings_back_is_counted(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.send(data.tool(2, 1, "get_weather"), data.span(9, parent=2))
    life.write()
    life.crash()
    assert value(life.telemetry, "resumed_spans") == 2, "one held, one queued"
    life.close()
