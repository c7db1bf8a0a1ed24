"""The pipeline without sockets: time moved by hand, the spool written when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.config.exporters import SendingQueueConfig
from collector.config.model import Config
from collector.delivery.sending_queue import SendingQueue
from collector.judging.queue import JudgeQueue
from collector.pipeline import Pipeline
from collector.scoring.rule_files import load_rules
from collector.scoring.verdict import Verdict
from collector.storage.compression import decompress
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.sinks import ManualClock

GIVEN_AT_ONCE = {"confirm": 0.0}
"""A fail does not wait for spans that could change it, except in tests of that."""

WEATHER_RULES = """
rules:
  - name: weather
    match: {agent: helper}
    expect: {sequence: [get_weather, send_email]}
    pass: 0.9
"""

ROUTED_RULES = """
rules:
  - {name: weather, match: {agent: helper}, expect: {sequence: [get_weather, send_email]}, pass: 0.9}
  - {name: routed, match: {route: /chat}, expect: {sequence: [get_weather]}, pass: 0.9}
"""


def value(telemetry: Telemetry, name: str, **labels: str) -> float:
    """The value of one of our own metrics; 0 if it has no such series."""
    return telemetry.registry.get_sample_value(f"rightcall_{name}", labels) or 0.0


class Driver:
    """Sends spans to a pipeline, and moves its clock."""

    clock: ManualClock
    telemetry: Telemetry
    queue: SendingQueue
    pipeline: Pipeline

    def send(self, *spans: Span) -> None:
        self.pipeline.receive("traces", data.traces(*spans).SerializeToString(), "grpc")

    def wait(self, seconds: float) -> None:
        """Let time pass, in the small steps in which a service advances."""
        until = self.clock.seconds + seconds
        while self.clock.seconds < until:
            self.clock.seconds += 0.25
            self.pipeline.advance()

    def out(self, signal: str = "traces") -> list[Any]:
        read: Callable[[bytes], list[Any]] = data.all_spans if signal == "traces" else data.all_records
        return [item for request in self.queue.pending() if request.signal == signal for item in read(request.payload)]

    def value(self, name: str, **labels: str) -> float:
        return value(self.telemetry, name, **labels)


class Bench(Driver):
    """A pipeline with everything around it in reach."""

    def __init__(
        self,
        folder: Path,
        rules: str = WEATHER_RULES,
        *,
        embed_ahead: Callable[[Iterable[str]], float] | None = None,
        **config: Any,
    ) -> None:
        path = folder / "rules.yaml"
        path.write_text(rules)
        config["traces"] = {**GIVEN_AT_ONCE, **config.get("traces", {})}
        settings = Config.model_validate(config)
        prometheus = settings.exporters.prometheus
        self.clock, self.telemetry = ManualClock(), Telemetry(prometheus.max_label_values, prometheus.dimensions)
        self.queue = SendingQueue(SendingQueueConfig())
        self.verdicts: list[Verdict] = []
        self.rules = load_rules([path])
        self.pipeline = Pipeline(
            settings, self.rules, self.telemetry, self.queue, self.clock, self.verdicts.append,
            embed_ahead=embed_ahead,
        )  # fmt: skip


def write_spool(spool: Spool) -> None:
    """Write what is pending, as the writer of a spool that was started does; nothing, where that is idle."""
    is_behind = True
    while is_behind:
        change, callbacks = spool._take()
        spool._file.apply(change)
        for callback in callbacks:
            callback()
        is_behind = spool.unwritten


class Life(Driver):
    """A pipeline over a spool, written when the test says so; ``crash`` forgets all that was not."""

    def __init__(
        self, folder: Path, rules: str = ROUTED_RULES, conversations: dict[str, Any] | None = None, **traces: Any
    ) -> None:
        self.folder, self.config = folder, {"traces": {**GIVEN_AT_ONCE, **traces}, "conversations": conversations or {}}
        (folder / "rules.yaml").write_text(rules)
        self.clock = ManualClock()
        self.sent: list[tuple[str, bytes]] = []
        self.file: SpoolFile | None = None
        self.begin()

    def begin(self) -> None:
        self.telemetry = Telemetry()
        self.file = SpoolFile(self.folder / "spool", fsync=False)
        self.spool = Spool(self.file, 1 << 30, self.telemetry)
        self.queue = SendingQueue(SendingQueueConfig(), self.spool)
        judge_queue = self.build_judge_queue()
        config = Config.model_validate(self.config)
        rules = load_rules([self.folder / "rules.yaml"])
        self.pipeline = Pipeline(
            config, rules, self.telemetry, self.queue, self.clock, spool=self.spool, judge_queue=judge_queue
        )
        self.pipeline.listens()
        self.clock.seconds += 0.001  # to recover takes time
        recover(self.pipeline)
        self.resumed = self.pipeline.open_traces

    def build_judge_queue(self) -> JudgeQueue | None:
        return None

    def write(self) -> None:
        """What the spool's writer does, and then the exporter, at once."""
        write_spool(self.spool)

    def deliver(self) -> None:
        while self.queue._lanes["traces"].waiting:
            request = self.queue._lanes["traces"].waiting.popleft()
            self.queue._sending.add(request)
            payload = request.payload if request.in_memory else self._file_payload(request.row)
            self.sent.append((request.signal, payload))
            self.queue.ack(request)
        self.write()

    def _file_payload(self, row: int) -> bytes:
        assert self.file is not None
        stored = self.file.payload(row)
        assert stored is not None
        payload = decompress(stored)
        assert payload is not None
        return payload

    def crash(self) -> None:
        assert self.file is not None
        self.file.close()
        self.begin()

    def close(self) -> None:
        assert self.file is not None
        self.file.close()

    def settle(self, seconds: float = 3.0) -> None:
        self.wait(seconds)
        self.write()
        self.deliver()

    def spans(self) -> list[Span]:
        return [span for signal, payload in self.sent if signal == "traces" for span in data.all_spans(payload)]

    def events(self) -> list[dict[str, Any]]:
        found = [record for signal, payload in self.sent if signal == "logs" for record in data.all_records(payload)]
        return [data.values_of(record) for record in found if record.event_name == "gen_ai.evaluation.result"]

    def rows(self) -> tuple[int, int]:
        """How many inbox records and tombstones there are."""
        assert self.file is not None
        return len(list(self.file.inbox())), len(list(self.file.finished()))


def recover(pipeline: Pipeline) -> None:
    """Take all steps of a recovery at once."""
    for _ in pipeline.recover():
        pass


def folder_in(parent: Path, name: str) -> Path:
    (parent / name).mkdir(parents=True)
    return parent / name


def listening() -> list[str]:
    """The addresses this process listens on, as /proc writes them."""
    own = {path.readlink().name for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
    rows = [
        line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/self/net/{table}").read_text().splitlines()
    ]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own]


def tasks() -> list[str]:
    """The coroutines of the tasks under way, but for the one that asks."""
    return [str(task.get_coro()) for task in asyncio.all_tasks() if task is not asyncio.current_task()]


def send_to_both(plain: Life, crashed: Life, spans: list[Span], choice: Random, most: int) -> None:
    """Send spans in requests of at most ``most``; ``crashed`` dies now and then, before a request was written or after."""
    while spans:
        batch, spans = spans[: (size := choice.randint(1, most))], spans[size:]
        for life in (plain, crashed):
            life.send(*batch)
            if life is crashed and choice.random() < 0.3:  # before it was durable: not acknowledged, so sent again
                life.crash()
                life.send(*batch)
            life.write()
            if life is crashed and choice.random() < 0.3:
                life.crash()
