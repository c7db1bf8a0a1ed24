"""What the store of runs costs, in instructions, which nothing else on the machine changes. Needs valgrind.

    python -m tests.bench.store_cost

prints a table: instructions a trace of the pipeline without gRPC and spool, with ``runs: off``, with verdicts that are counted
and not in the sample, and with all of them stored; those of the store's own thread included.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.clock import Clock
from collector.config.exporters import SendingQueueConfig
from collector.config.model import Config
from collector.delivery.sending_queue import SendingQueue
from collector.pipeline import Pipeline
from collector.runs import store as store_of_runs
from collector.runs.store import RunStore, build_store
from collector.scoring.rule_files import load_rules
from collector.telemetry.metrics import Telemetry
from collector.verdict_output import Archive
from tests.bench.load import RULES, SPANS_PER_TRACE, request, trace
from tests.waiting import wait_for

KINDS: Final = ("off", "counted", "stored")
FAILING: Final = (0, 100)
"""Percent of the traces."""
_REQUESTS, _WARM, _TRACES = 20, 4, 39
_STEP, _STEPS = 0.04, 200  # seconds; all traces have their verdict after these


def requests(failing: int) -> list[bytes]:
    """Returns requests of traces of which so many in a hundred fail, for an argument."""
    random, made = Random(1), list[bytes]()
    for number in range(_WARM + _REQUESTS):
        spans = list[Span]()
        for at in range(_TRACES):
            spans += trace(random, 1_700_000_000_000_000_000 + number * 1_000_000_000 + at)
            if random.random() * 100 < failing:
                _break(spans[-SPANS_PER_TRACE:])
        made.append(request(spans))
    return made


def _break(spans: list[Span]) -> None:
    for one in (attribute for span in spans for attribute in span.attributes):
        if one.key == "gen_ai.tool.call.arguments":
            one.value.string_value = one.value.string_value.replace("ord_", "no_")


def play(kind: str, failing: int) -> None:
    """Send the requests through a pipeline in this process, which runs in callgrind and counts all but the first."""
    now, waiting = [0.0], requests(failing)
    with TemporaryDirectory() as folder:
        path = Path(folder, "rules.yaml")
        path.write_text(RULES)
        config = Config.model_validate({"runs": "off" if kind == "off" else {"path": folder}, "spool": "memory"})
        rules, telemetry, clock = load_rules([path]), Telemetry(), Clock(lambda: now[0], lambda: int(now[0] * 1e9))
        if kind == "counted":
            store_of_runs.USUAL_PER_SECOND = store_of_runs.UNUSUAL_PER_SECOND = 0.0  # type: ignore[misc]
        store, archive = build_store(config, telemetry, clock), None
        if store is not None:
            store.rules, archive = rules.set.rules, Archive(store.offer, store.add_judgement)
            asyncio.run(store.start())
        pipeline = Pipeline(config, rules, telemetry, SendingQueue(SendingQueueConfig()), clock, archive=archive)
        _send(pipeline, store, waiting[:_WARM], now)
        _count("on")
        _send(pipeline, store, waiting[_WARM:], now)
        if store is not None:
            asyncio.run(store.shutdown())
        _count("off")


def _count(switch: str) -> None:
    subprocess.run(["callgrind_control", f"--instr={switch}", str(os.getpid())], check=True, capture_output=True)


def _send(pipeline: Pipeline, store: RunStore | None, waiting: list[bytes], now: list[float]) -> None:
    for step in range(_STEPS):
        if step < len(waiting):
            pipeline.receive("traces", waiting[step], "bench")
        now[0] += _STEP
        pipeline.advance(budget=60.0)
        if store is not None:
            store.advance()
            # What waits when the queue is full is not stored, and valgrind is slower than any disk.
            wait_for(lambda: not store._is_time.is_set(), 0.01)


def counted(kind: str, failing: int) -> int:
    """Returns instructions a trace."""
    valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*valgrind, sys.executable, "-m", "tests.bench.store_cost", kind, str(failing)], check=True, capture_output=True,
        text=True, env={**os.environ, "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise SystemExit(done.stderr)
    return int(found[1]) // (_REQUESTS * _TRACES)


def main() -> None:
    """Print the table; with a kind and a percentage only play the requests, which is what is counted."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.store_cost", description=__doc__)
    parser.add_argument("kind", nargs="?", choices=KINDS, help="play the requests once, and print nothing")
    parser.add_argument(
        "failing", nargs="?", type=int, choices=FAILING, default=FAILING[0], help="per cent of the runs"
    )
    arguments = parser.parse_args()
    if arguments.kind:
        play(arguments.kind, arguments.failing)
        return
    print("| failing |", " | ".join(KINDS), "|")
    print("|--:|", "--:|" * len(KINDS), sep="")
    for failing in FAILING:
        print(f"| {failing} % |", " | ".join(f"{counted(kind, failing):,}" for kind in KINDS), "|", flush=True)


if __name__ == "__main__":
    main()
