"""Times the stages of the pipeline in this process, and measures the memory of open traces."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from collector import dialects, trace_evaluation
from collector.clock import Clock
from collector.config.exporters import SendingQueueConfig
from collector.config.model import Config
from collector.delivery.sending_queue import SendingQueue
from collector.otlp import lazy
from collector.otlp.annotate import Annotation
from collector.otlp.span_forms import SpanForms
from collector.pipeline import Pipeline
from collector.results import results
from collector.results.verdict_counter import VerdictCounter
from collector.scoring.rule_files import LoadedRules, load_rules
from collector.scoring.select_and_score import Scoring
from collector.telemetry.metrics import Telemetry
from tests.bench.load import RULES, SPANS_PER_REQUEST, requests

REST = "decode, assemble and other"
_REQUESTS = 60

# Name of the stage, and its functions in the module that calls them.
_STAGES: tuple[tuple[str, Any, str], ...] = (
    ("split", lazy, "split"),
    ("join", lazy, "join_fields"),
    ("known forms", SpanForms, "read"),
    ("dialects", dialects, "read_span"),
    ("reconstruct", trace_evaluation, "plain_run"),
    ("reconstruct", trace_evaluation, "rebuild"),
    ("score", Scoring, "verdicts_of"),
    ("annotate", results, "annotations_of"),
    ("annotate", Annotation, "on"),
    ("events", results, "evaluation_events"),
    ("count", VerdictCounter, "count"),
)


def shares(requests_sent: int = _REQUESTS) -> dict[str, float]:
    """Returns the share of each stage in the time of the pipeline, without gRPC; the timing itself is in ``other``."""
    spent: dict[str, float] = {}
    with _timed(spent):
        total = _run(requests_sent)
    named = {name: seconds / total for name, seconds in spent.items()}
    return {**named, REST: 1 - sum(named.values())}


def microseconds_per_span() -> float:
    """Returns the CPU time of the pipeline, without gRPC."""
    return _run(_REQUESTS) / (_REQUESTS * SPANS_PER_REQUEST) * 1e6


def bytes_per_open_trace() -> float:
    """Returns the memory of an open trace without the bytes of its held spans."""
    raw = requests(_REQUESTS)
    target = _pipeline(lambda: 0.0)
    for request in raw[:5]:
        target.receive("traces", request, "bench")
    target.drain("shutdown")
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for request in raw[5:]:
        target.receive("traces", request, "bench")
        _discard(target)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    traces = list(target._assembler.open.all())
    held = sum(len(raw) for trace in traces for raw in trace.held.values())
    return (after - before - held) / len(traces)


def _run(count: int) -> float:
    raw, clock = requests(count), [0.0]
    target = _pipeline(lambda: clock[0])
    started = time.process_time()
    for request in raw:
        target.receive("traces", request, "bench")
        clock[0] += 0.01
        target.advance(budget=1.0)
        _discard(target)
    clock[0] += 10
    target.advance(budget=60.0)
    spent = time.process_time() - started
    assert len(target._assembler) <= 1  # the last trace may be incomplete
    return spent


def _discard(target: Pipeline) -> None:
    assert isinstance(target._queue, SendingQueue)
    target._queue._lanes["traces"].waiting.clear()
    target._queue._bytes = 0


def _pipeline(now: Callable[[], float]) -> Pipeline:
    config = Config.model_validate({"traces": {"settle": "1s"}})
    return Pipeline(config, _rules(), Telemetry(), SendingQueue(SendingQueueConfig()), Clock(now=now))


def _rules() -> LoadedRules:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rules.yaml"
        path.write_text(RULES)
        return load_rules([path])


@contextmanager
def _timed(spent: dict[str, float]) -> Iterator[None]:
    """Wrap each stage in a stopwatch."""
    originals = [(module, name, getattr(module, name)) for _, module, name in _STAGES]
    for stage, module, name in _STAGES:
        setattr(module, name, _stopwatch(stage, getattr(module, name), spent))
    try:
        yield
    finally:
        for module, name, original in originals:
            setattr(module, name, original)


def _stopwatch(stage: str, work: Callable[..., Any], spent: dict[str, float]) -> Callable[..., Any]:
    def timed(*arguments: Any, **options: Any) -> Any:
        started = time.process_time()
        result = work(*arguments, **options)
        if stage == "events":
            result = list(result)
        spent[stage] = spent.get(stage, 0.0) + time.process_time() - started
        return result

    return timed
