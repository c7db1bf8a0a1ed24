"""The traffic from which a C compiler learns which paths are hot: runs of the demo, one after another, at a time of its own.

The build of the compiled wheel runs it once (``hatch_build.py``). It is the same each time, so that a build can be repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from random import Random

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.clock import Clock
from collector.component import ExportRequest
from collector.config.model import Config
from collector.demo.replay import FAULTS, recordings, replay
from collector.drift.monitor import build_monitor
from collector.pipeline import Pipeline
from collector.scoring.rule_files import load_rules
from collector.telemetry.metrics import Telemetry

_REQUESTS, _RUNS_A_REQUEST, _FAULTY = 100, 20, 0.2
_RULES = Path(str(files("collector.demo") / "rules.yaml"))
_START_NS = 1_700_000_000_000_000_000
_HTTP = {
    "http.request.method": "GET",
    "url.full": "https://inventory.example.com/items/4711?fields=price,stock",
    "server.address": "inventory.example.com",
    "user_agent.original": "python-httpx/0.28.1",
    "network.protocol.version": "1.1",
}


def train() -> None:
    """Receive, score, annotate and count; what would be exported goes nowhere."""
    elapsed = [0.0]
    clock = Clock(now=lambda: elapsed[0], wall_ns=lambda: _START_NS + int(elapsed[0] * 1e9))
    config, telemetry = Config.model_validate({"rules": [_RULES], "traces": {"settle": "1s"}}), Telemetry()
    drift = build_monitor(config, telemetry, clock)
    pipeline = Pipeline(config, load_rules([_RULES]), telemetry, _Nowhere(), clock, drift.offer if drift else None)
    for request in _requests(clock):
        pipeline.receive("traces", request, "training")
        elapsed[0] += 0.1
        pipeline.advance(budget=60.0)
    pipeline.drain("end_of_input")


class _Nowhere:
    """Takes all that leaves, and keeps none of it."""

    full, used_bytes = False, 0

    def put(self, request: ExportRequest, *, ahead: bool = False) -> None:
        pass

    def recover(self) -> Iterator[int | None]:
        return iter(())


def _requests(clock: Clock) -> Iterator[bytes]:
    """Yields runs as an agent's service sends them: beside each span of the agent one of an instrumented HTTP client."""
    random, recorded = Random(1), recordings()  # noqa: S311 - ids and faults
    for _ in range(_REQUESTS):
        spans = []
        for _ in range(_RUNS_A_REQUEST):
            recording = random.choice(recorded)
            fault = random.choice(FAULTS[recording.route]) if random.random() < _FAULTY else None
            spans += replay(recording, clock.wall_ns(), random, fault)
        request = encode_spans(spans)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                scope.spans.extend([_http_call(span, random) for span in scope.spans])
        yield request.SerializeToString()


def _http_call(parent: Span, random: Random) -> Span:
    attributes = [KeyValue(key=key, value=AnyValue(string_value=value)) for key, value in _HTTP.items()]
    return Span(
        trace_id=parent.trace_id, span_id=random.randbytes(8), parent_span_id=parent.span_id, name="GET",
        kind=Span.SPAN_KIND_CLIENT, start_time_unix_nano=parent.start_time_unix_nano,
        end_time_unix_nano=parent.end_time_unix_nano, attributes=attributes,
    )  # fmt: skip


if __name__ == "__main__":
    train()
