"""What open traces cost: ``python -m tests.bench.open_traces [COUNT...]``, each count in a process of its own.

Resident memory of a trace beyond the bytes of its held spans, memory that is left once all have been released and free
memory was given back, and the CPU time in which a spool brings them back after a crash.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from collector.clock import Clock
from collector.config.exporters import SendingQueueConfig
from collector.config.model import Config
from collector.delivery.sending_queue import SendingQueue
from collector.pipeline import Pipeline
from collector.scoring.rule_files import load_rules
from collector.service.garbage import YoungGarbage, give_back, kept, tune
from collector.service.memory_limiter import resident_bytes
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from tests.bench.load import EPOCH, RULES, SPANS_PER_REQUEST, SPANS_PER_TRACE, requests
from tests.harness import write_spool

_POOL = 40
_OPEN_FOR = 60.0  # seconds
_SETTINGS = {
    "traces": {"max_open": 1_000_000, "max_held_mib": 65536, "settle": 2 * _OPEN_FOR, "idle_timeout": 3 * _OPEN_FOR},
    "memory_limiter": {"limit_mib": 65536},
}


class OpenTraces(NamedTuple):
    """What so many open traces cost."""

    traces: int
    bytes_each: float
    """Of resident memory, beyond held spans."""
    mib_left: float
    """More than before the first, after they were released and free memory was given back."""
    recovery_seconds: float
    """Of CPU time."""


def measure(count: int) -> OpenTraces:
    """Measure in this process, which must be new: memory that is free already is not counted.

    Traces are open for a minute. So many arrive a second that ``count`` are open at once.
    """
    with TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "rules.yaml").write_text(RULES)
        clock = [0.0]
        pipeline, _ = _pipeline(folder, None, clock)
        _receive(pipeline, SPANS_PER_REQUEST // SPANS_PER_TRACE, clock, b"WARM0000")
        pipeline.drain("shutdown")
        tune()
        give_back()
        before = resident_bytes()
        _receive(pipeline, count, clock)
        taken, opened = resident_bytes() - before, pipeline.open_traces
        held = sum(len(raw) for trace in pipeline._assembler.open.all() for raw in trace.held.values())
        each, young = (taken - held) / opened, YoungGarbage()
        while pipeline.open_traces:
            clock[0] += _OPEN_FOR / 1000
            pipeline.advance(60.0)
            _discard(pipeline)
            young.advance(time.process_time())
        clock[0] += 60.0
        pipeline.advance(60.0)
        _discard(pipeline)
        give_back()
        left = (resident_bytes() - before) / (1 << 20)
        return OpenTraces(count, each, left, _recovery(folder, count))


def _recovery(folder: Path, count: int) -> float:
    pipeline, spool = _pipeline(folder, SpoolFile(folder / "spool", fsync=False))
    assert spool is not None
    _receive(pipeline, count, [0.0], spool=spool)
    spool._file.close()
    pipeline, spool = _pipeline(folder, SpoolFile(folder / "spool", fsync=False))
    began = time.process_time()
    with kept():
        for _ in pipeline.recover():
            pass
    taken = time.process_time() - began
    assert spool is not None
    spool._file.close()
    return taken


def _pipeline(folder: Path, file: SpoolFile | None, clock: Sequence[float] = (0.0,)) -> tuple[Pipeline, Spool | None]:
    telemetry = Telemetry()
    spool = Spool(file, 1 << 40, telemetry) if file is not None else None
    queue = SendingQueue(SendingQueueConfig(), spool)
    config, rules = Config.model_validate(_SETTINGS), load_rules([folder / "rules.yaml"])
    return Pipeline(config, rules, telemetry, queue, Clock(now=lambda: clock[0]), spool=spool), spool


def _receive(
    pipeline: Pipeline, count: int, clock: list[float], epoch: bytes = b"", spool: Spool | None = None
) -> None:
    """Open ``count`` traces, of the reference mix, in a minute of ``clock``."""
    pool, requests, young = _pool(), count * SPANS_PER_TRACE // SPANS_PER_REQUEST, YoungGarbage()
    for number in range(requests):
        clock[0] += _OPEN_FOR / requests
        pipeline.advance(60.0)
        fresh = epoch or (1 + number // _POOL).to_bytes(8, "big")
        pipeline.receive("traces", pool[number % _POOL].replace(EPOCH, fresh), "bench")
        if spool is not None:
            write_spool(spool)
        _discard(pipeline)
        young.advance(time.process_time())


@cache
def _pool() -> list[bytes]:
    return requests(_POOL)


def _discard(pipeline: Pipeline) -> None:
    """Acknowledge all that is to be sent."""
    queue = pipeline._queue
    assert isinstance(queue, SendingQueue)
    while queue._lanes["traces"].waiting:
        queue._sending.add(request := queue._lanes["traces"].waiting.popleft())
        queue.ack(request)


def table(measured: Sequence[OpenTraces]) -> str:
    """Returns the costs as a table, a row for each count."""
    lines = [f"{'open traces':>11}  {'bytes each':>10}  {'MiB left':>8}  {'recovery, CPU s':>15}"]
    lines += [
        f"{one.traces:>11,}  {one.bytes_each:>10,.0f}  {one.mib_left:>8,.1f}  {one.recovery_seconds:>15.2f}"
        for one in measured
    ]
    return "\n".join(lines)


def costs(counts: Sequence[int]) -> list[OpenTraces]:
    """Measure each count in a process of its own."""
    measured = []
    for count in counts:
        # Not a pool of `multiprocessing`, which waits forever for a process that the system has killed.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            measured.append(pool.submit(measure, count).result())
    return measured


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.open_traces", description=__doc__)
    parser.add_argument(
        "count", nargs="*", type=int, default=[1_000, 10_000, 100_000, 200_000], help="traces held open"
    )
    print(table(costs(parser.parse_args().count)))
