"""What is committed of a topic: whoever reads on judges every run that has no verdict yet, and none by half."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.otlp.by_trace import trace_ids
from collector.otlp.structure import Structure
from collector.storage.offsets import Checkpoint, Origin, Partition, checkpoint_of
from tests import otlp_data as data
from tests.harness import WEATHER_RULES, Bench

KAFKA: dict[str, Any] = {"receivers": {"kafka": {"brokers": ["nowhere:9092"], "traces": {"topic": "spans"}}}}
CALLS = ("get_weather", "send_email")


class Reader:
    """A consumer of one partition, without Kafka: ``log`` is the topic, and ``bench`` one process."""

    def __init__(
        self, folder: Path, log: Sequence[bytes], committed: tuple[int, str] | None = None, **traces: Any
    ) -> None:
        self.log, self.bench = log, Bench(folder, WEATHER_RULES, traces=traces, **KAFKA)
        self.begin(committed)

    def begin(self, committed: tuple[int, str] | None) -> None:
        """The partition comes to this process, for the first time or again."""
        begun = checkpoint_of(*committed) if committed is not None else Checkpoint(0, 0, 0)
        self.partition = Partition("spans", 0, begun, 30.0)
        assert self.bench.pipeline.offsets is not None
        self.bench.pipeline.offsets.partitions.append(self.partition)
        self.at = begun.begin

    def read(self, count: int = 1) -> None:
        """Take messages as the receiver does."""
        for _ in range(count):
            message, begun = self.log[self.at], self.partition.begun
            if self.at < begun.offset:
                self.partition.finished |= trace_ids("traces", message)
            if self.at < begun.taken and trace_ids("traces", message) <= self.partition.finished:
                self.partition.passed(trace_ids("traces", message), self.at, self.bench.clock.seconds)
            else:
                for _ in self.bench.pipeline.receive_in_steps(
                    "traces", Structure(message), "kafka", Origin(self.partition, self.at)
                ):
                    pass
            self.partition.done(self.at)
            self.at += 1

    def committed(self) -> tuple[int, str]:
        checkpoint = self.partition.checkpoint(self.bench.clock.seconds)
        return checkpoint.offset, checkpoint.metadata()

    def labels(self) -> list[tuple[bytes, str]]:
        return [(verdict.run.trace_id, verdict.label) for verdict in self.bench.verdicts]


def messages_of(number: int) -> list[bytes]:
    """A right run of ``number`` as three messages: two calls and the agent."""
    trace_id = number.to_bytes(16, "big")
    spans = [data.tool(at + 2, 1, name, at, trace_id) for at, name in enumerate(CALLS)]
    return [data.traces(span).SerializeToString() for span in [*spans, data.agent(1, trace_id=trace_id)]]


def test_only_the_first_message_after_others_that_are_missing_says_from_when_on_runs_are_whole() -> None:
    partition = Partition("spans", 0, Checkpoint(5, 5, 5), 30.0)
    partition.written(1_000)
    assert partition.seen_from.latest_ns == 0
    partition.misses(100)
    for written in (1_000, 500, 2_000):
        partition.written(written)
        assert partition.seen_from.latest_ns == 900
    partition.interrupted()
    assert partition.seen_from.latest_ns > 1 << 62
    partition.written(3_000)
    assert partition.seen_from.latest_ns == 3_000


def test_an_open_trace_is_read_again_and_what_is_finished_is_not(tmp_path: Path) -> None:
    reader = Reader(tmp_path, [*messages_of(1), *messages_of(2)])
    reader.read(3)
    assert reader.committed()[0] == 0
    reader.bench.wait(3)
    assert reader.committed() == (3, "rightcall/1 3 3")
    reader.read(2)
    assert reader.committed() == (3, "rightcall/1 3 5")
    other = Reader(tmp_path, reader.log, reader.committed())
    other.read(3)
    other.bench.wait(40)
    assert other.labels() == [((2).to_bytes(16, "big"), "pass")]


def test_a_finished_trace_with_messages_on_both_sides_of_the_offset_is_not_judged_by_the_second_half(
    tmp_path: Path,
) -> None:
    one, two = messages_of(1), messages_of(2)
    reader = Reader(tmp_path, [one[0], two[0], one[1], one[2], two[1], two[2]])
    reader.read(4)
    reader.bench.wait(3)
    assert reader.labels() == [((1).to_bytes(16, "big"), "pass")]
    assert reader.committed() == (1, "rightcall/1 0 4")
    other = Reader(tmp_path, reader.log, reader.committed())
    other.read(6)
    other.bench.wait(40)
    assert other.labels() == [((2).to_bytes(16, "big"), "pass")]


def test_a_trace_that_a_consumer_finished_before_its_partition_came_back_is_not_judged_by_the_second_half(
    tmp_path: Path,
) -> None:
    """The brokers were away: the partition was lost without a commit, came back, and moved on in the middle of the trace."""
    one = messages_of(1)
    reader = Reader(tmp_path, one)
    reader.read(3)
    reader.bench.wait(3)
    assert reader.labels() == [((1).to_bytes(16, "big"), "pass")]
    reader.bench.pipeline.leave(reader.partition)
    reader.begin(None)
    reader.read(2)
    other = Reader(tmp_path, one, reader.committed())
    other.read(3)
    other.bench.wait(40)
    assert other.labels() == []


@pytest.mark.parametrize("moves", [1, 2])
def test_a_trace_that_was_evicted_is_not_judged_by_its_rest_by_another_consumer(tmp_path: Path, moves: int) -> None:
    one, two = messages_of(1), messages_of(2)
    reader = Reader(tmp_path, [one[0], two[0], two[1], two[2], one[1], one[2]], max_open=1)
    reader.read(4)
    reader.bench.wait(3)
    assert reader.labels() == [((1).to_bytes(16, "big"), ""), ((2).to_bytes(16, "big"), "pass")], "the first is evicted"
    for _ in range(moves):
        assert reader.committed() == (4, "rightcall/1 0 4")
        reader = Reader(tmp_path, reader.log, reader.committed())
        reader.read(4)
    reader.read(2)
    reader.bench.wait(40)
    assert reader.labels() == []
    assert reader.committed() == (6, "rightcall/1 6 6"), "in the end nothing is read again for it"


def test_a_trace_without_an_agent_is_read_again_for_a_while(tmp_path: Path) -> None:
    plain = data.traces(data.span(4, 1)).SerializeToString()
    reader = Reader(tmp_path, [plain])
    reader.read()
    reader.bench.wait(29)
    assert reader.committed()[0] == 0
    reader.bench.wait(2)
    assert reader.committed()[0] == 1


def test_results_that_are_not_queued_yet_are_made_again(tmp_path: Path) -> None:
    reader = Reader(tmp_path, messages_of(1))
    reader.read(3)
    reader.bench.clock.seconds += 2.1
    reader.bench.pipeline.advance()
    assert reader.labels()  # and batched, for another moment
    assert reader.committed()[0] == 0


def test_a_partition_that_moves_takes_its_open_traces_with_it(tmp_path: Path) -> None:
    reader = Reader(tmp_path, messages_of(1))
    reader.read(2)
    reader.bench.pipeline.leave(reader.partition)
    reader.bench.wait(60)
    assert reader.labels() == []
    assert reader.bench.value("traces_open") == reader.bench.value("held_spans") == 0
    assert reader.bench.value("dropped_spans_total", stage="assembly", reason="moved") == 2
    assert reader.bench.value("kafka_moved_traces_total") == 1


@pytest.mark.parametrize(
    "metadata", [None, "", "x", "rightcall/1", "rightcall/1 a b", "rightcall/2 0 9", "rightcall/1 -1 ²"]
)
def test_what_others_committed_is_an_offset(metadata: str | None) -> None:
    assert checkpoint_of(7, metadata) == Checkpoint(7, 7, 7)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_wherever_consumers_change_every_run_has_the_verdict_of_all_of_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Messages of runs are mixed; consumers die at any moment, and the next one has what was committed last."""
    choose, folder = random.Random(seed), tmp_path_factory.mktemp("runs")
    waiting, log = [messages_of(number) for number in range(1, 13)], list[bytes]()
    while waiting:
        run = choose.choice(waiting[:4])
        log.append(run.pop(0))
        if not run:
            waiting.remove(run)
    labels: dict[bytes, set[str]] = {}
    committed: tuple[int, str] | None = None
    while True:
        reader = Reader(folder, log, committed)
        crash_at = choose.choice([len(log), choose.randrange(len(log) + 1)])
        while reader.at < max(crash_at, reader.partition.begun.offset):
            reader.read()
            reader.bench.wait(choose.choice([0, 0.25, 1]))
            if choose.random() < 0.5:
                committed = reader.committed()
        if crash_at == len(log):
            reader.bench.wait(60)
        for trace_id, label in reader.labels():
            labels.setdefault(trace_id, set()).add(label)
        if crash_at == len(log):
            break
    assert labels == {number.to_bytes(16, "big"): {"pass"} for number in range(1, 13)}
