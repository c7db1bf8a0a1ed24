"""Fuzzes the whole pipeline with mutated real requests; now and then it crashes and recovers from its spool.

``python -m tests.fuzz [COUNT] [SEED]`` prints the outcomes. A request may only succeed or raise CollectorError; any other
exception is a bug and stops the run, with the seed that reproduces it.
"""

from __future__ import annotations

import gzip
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from collector.clock import Clock
from collector.component import Signal
from collector.config.exporters import SendingQueueConfig
from collector.config.model import Config
from collector.delivery.sending_queue import SendingQueue
from collector.errors import CollectorError
from collector.otlp import json as otlp_json
from collector.pipeline import Pipeline
from collector.scoring.rule_files import load_rules
from collector.service.garbage import give_back
from collector.service.memory_limiter import resident_bytes
from collector.storage.rows import Change
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from collector.transport.gunzip import gunzip
from tests import recorded
from tests.harness import recover

_LIMIT = 64 << 20
_LARGEST = 40_000  # bytes of the largest request that is mutated, so that more fit into the same time
_WRITE, _CRASH = 50, 2_000  # requests between transactions, and between crashes
RULES = """
rules:
  - {name: any, match: {}, expect: {any_order: [get_weather], allow_extra: ["*"]}, pass: 0.9}
  - {name: all, match: {}, scope: trace, expect: {any_order: [get_weather], allow_extra: ["*"]}, pass: 0.9}
  - {name: talk, match: {}, scope: conversation, expect: {any_order: [get_weather], allow_extra: ["*"]}, pass: 0.9}
intents:
  - {name: weather, keywords: [weather], regex: "rain(s|ed)?"}
"""
Mutation = Callable[[random.Random, bytes], bytes]


def _flip(choice: random.Random, raw: bytes) -> bytes:
    changed = bytearray(raw)
    for _ in range(choice.randint(1, 8)):
        changed[choice.randrange(len(changed))] = choice.randrange(256)
    return bytes(changed)


def _cut(choice: random.Random, raw: bytes) -> bytes:
    return raw[: choice.randrange(len(raw))]


def _splice(choice: random.Random, raw: bytes) -> bytes:
    begin, end, at = (choice.randrange(len(raw)) for _ in range(3))
    return raw[:at] + raw[min(begin, end) : max(begin, end)][:5000] + raw[at:]


def _lengths(choice: random.Random, raw: bytes) -> bytes:
    """Corrupt the lengths of nested messages."""
    changed = bytearray(raw)
    for at in [at for at, byte in enumerate(raw[:-1]) if byte == 0x0A][: choice.randint(1, 50)]:
        if choice.random() < 0.1:
            changed[at + 1] = choice.choice((0, 1, 0x7F, 0x80, 0xFF))
    return bytes(changed)


def _texts(choice: random.Random, raw: bytes) -> bytes:
    """Replace texts, which may make the content malformed."""
    for old, new in choice.sample(_SWAPS, 3):
        raw = raw.replace(old, new)
    return raw


_SWAPS = [
    (b'{"', b"[["), (b'"}', b"\xff\xfe"), (b"execute_tool", b"invoke_agent"), (b"assistant", b"\0\0\0\0\0\0\0\0\0"),
    (b"call_", b"\xf0\x9f\x92\xa9_"), (b"tool", b"NaN,"), (b"gen_ai.", b"mcp\x00ai."), (b"1", b"-"), (b"role", b"1e99"),
    (b"function", b"Infinity"),
]  # fmt: skip
_MUTATIONS: tuple[Mutation, ...] = (_flip, _cut, _splice, _lengths, _texts, lambda _, raw: raw)


class Target:
    """A pipeline with a spool, and a clock that advances a little with each request."""

    def __init__(self, folder: Path) -> None:
        (folder / "rules.yaml").write_text(RULES)
        self.seconds, self.outcomes, self.telemetry = 0.0, Counter[str](), Telemetry()
        traces = {"settle": "1s", "idle_timeout": "2s", "max_open": 500, "remember": 200, "max_spans": 300}
        limits = {"idle_timeout": "3s", "max_open": 100}
        self._config = Config.model_validate({"traces": traces, "conversations": limits})
        self._rules, self._folder = load_rules([folder / "rules.yaml"]), folder / "spool"
        self._begin()

    def _begin(self) -> None:
        self._file = SpoolFile(self._folder, fsync=False)
        self._spool = Spool(self._file, 1 << 40, self.telemetry)
        self._queue = SendingQueue(SendingQueueConfig(), self._spool)
        clock = Clock(now=lambda: self.seconds, wall_ns=lambda: int(self.seconds * 1e9))
        parts = self._config, self._rules, self.telemetry, self._queue, clock
        self.pipeline = Pipeline(*parts, user_input=True, spool=self._spool)

    def write(self) -> None:
        """Do what the writer of the spool and an exporter with a fast backend do."""
        change, callbacks = self._spool._pending, self._spool._callbacks
        self._spool._pending, self._spool._callbacks = Change(), []
        self._file.apply(change)
        for callback in callbacks:
            callback()
        self._spool.delete("outbox", [request.row for request in self._queue._lanes["traces"].waiting])
        self._queue._lanes["traces"].waiting.clear()
        self._queue._bytes = 0

    def crash(self) -> None:
        """Crash and recover from the spool: every record can be read, and every open trace is still known, open or closed."""
        self.write()
        before = list(self.pipeline._assembler.open.all())
        self._file.close()
        self._begin()
        recover(self.pipeline)
        after = self.pipeline._assembler
        assert all(after.is_open(trace.trace_id) or after.is_closed(trace.trace_id) for trace in before)
        assert not self._value("rightcall_dropped_spans_total", stage="spool", reason="unreadable")

    def _value(self, series: str, **labels: str) -> float:
        return self.telemetry.registry.get_sample_value(series, labels) or 0.0

    def take(self, signal: Signal, body: bytes, as_json: bool, zipped: bool) -> None:
        """Do what a receiver does with a body."""
        self.seconds += 0.01
        try:
            plain = gunzip(body, _LIMIT, lambda _: None) if zipped else body
            self.pipeline.receive(signal, otlp_json.to_protobuf(signal, plain) if as_json else plain, "http")
        except CollectorError as error:
            self.outcomes[type(error).__name__] += 1
        else:
            self.outcomes["accepted"] += 1
        self.pipeline.advance(budget=60.0)

    def internal(self) -> float:
        """Returns the number of runs that could not be reconstructed because of an exception: bugs."""
        return self._value("rightcall_runs_unscored_total", reason="internal", route="", agent="")


def corpus(folder: Path) -> list[tuple[Signal, bytes, bool]]:
    """Returns the recorded requests: signal, body, whether it is JSON."""
    recorded.unpack(folder)
    found: list[tuple[Signal, bytes, bool]] = []
    for path in sorted(folder.rglob("request-*")):
        body = path.read_bytes()
        body = gzip.decompress(body) if path.suffix == ".gz" else body
        if body and len(body) <= _LARGEST:
            found.append(("logs" if "logs" in path.name else "traces", body, ".json" in path.name))
    return found


def fuzz(count: int, seed: int, folder: Path) -> Target:
    """Send ``count`` mutated requests. Raises any unexpected exception of the pipeline."""
    target, bodies = Target(folder), corpus(folder)
    for number in range(count):
        choice = random.Random(seed * 1_000_003 + number)
        signal, body, as_json = choice.choice(bodies)
        zipped = choice.random() < 0.02
        if choice.random() < 0.02:
            signal, as_json = "metrics", False  # a body of another signal than the path
        mutated = choice.choice(_MUTATIONS)(choice, gzip.compress(body, 1) if zipped else body)
        try:
            target.take(signal, mutated, as_json, zipped)
        except Exception:
            print(f"request {number} of seed {seed}")
            raise
        if number % _WRITE == _WRITE - 1:
            target.write()
        if number % _CRASH == _CRASH - 1:
            target.crash()
        if number % 50_000 == 0:
            give_back()
            print(f"{number:>9,}  {resident_bytes() >> 20} MiB  {dict(target.outcomes)}", flush=True)
    return target


def main() -> None:
    """Run from the command line."""
    count, seed = (int(sys.argv[at]) if len(sys.argv) > at else default for at, default in ((1, 100_000), (2, 1)))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        target = fuzz(count, seed, Path(folder))
    seconds = time.monotonic() - started
    print(f"{count:,} requests in {seconds:.0f} s, {dict(target.outcomes)}, {target.internal():.0f} internal errors")
    sys.exit(1 if target.internal() else 0)


if __name__ == "__main__":
    main()
