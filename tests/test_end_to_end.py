"""The whole product as users run it: a real OpenTelemetry SDK, a collector process, a real OTLP backend."""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.protobuf import json_format
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind
from prometheus_client.parser import text_string_to_metric_families

from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.sinks import OtlpSink
from tests.waiting import PATIENCE, wait_for

RULES = """
rules:
  - name: refund
    match: {route: /chat/refund}
    expect: {sequence: [lookup_order, refund_card]}
    pass: 0.9
"""
TRACES = {"settle": "300ms", "idle_timeout": "2s"}
SPAN_STATES = (
    "exporter_sent_spans", "exporter_send_failed_spans", "exporter_queue_spans", "held_spans", "dropped_spans",
)  # fmt: skip
"""Where an accepted span can be: the right side of the equation in deploy/reference.md, "Metrics"."""
OURS = ("rightcall.", "gen_ai.evaluation.")


@pytest.fixture(scope="module")
def collector(sink: OtlpSink) -> Iterator[CollectorProcess]:
    exporter = {"endpoint": sink.endpoint, "tls": {"insecure": True}}
    with CollectorProcess(RULES, exporter, traces=TRACES) as process:
        yield process


class JsonExporter(SpanExporter):
    """OTLP/JSON, as the JavaScript SDK sends it: the Python SDK has no such exporter."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def export(self, spans: object) -> SpanExportResult:
        document = json_format.MessageToDict(encode_spans(spans))  # type: ignore[arg-type]
        for resource in document["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    for key in ("traceId", "spanId", "parentSpanId"):
                        if key in span:
                            span[key] = _hex(span[key])
        request = urllib.request.Request(
            self._endpoint, json.dumps(document).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            assert json.load(answer) == {}
        return SpanExportResult.SUCCESS


def _hex(base64_text: str) -> str:
    return base64.b64decode(base64_text).hex()


EXPORTERS: dict[str, Callable[[CollectorProcess], SpanExporter]] = {
    "grpc": lambda c: GrpcExporter(f"127.0.0.1:{c.grpc}", insecure=True),
    "grpc gzip": lambda c: GrpcExporter(f"127.0.0.1:{c.grpc}", insecure=True, compression=grpc.Compression.Gzip),
    "http": lambda c: HttpExporter(f"http://127.0.0.1:{c.http}/v1/traces"),
    "http gzip": lambda c: HttpExporter(f"http://127.0.0.1:{c.http}/v1/traces", compression=Compression.Gzip),
    "http json": lambda c: JsonExporter(f"http://127.0.0.1:{c.http}/v1/traces"),
}


class Recorder(SpanExporter):
    """Records the spans that an exporter is given, to compare them with those that arrive."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.sent: dict[bytes, bytes] = {}

    def export(self, spans: object) -> SpanExportResult:
        for span in data.all_spans(encode_spans(spans).SerializeToString()):  # type: ignore[arg-type]
            self.sent[span.span_id] = span.SerializeToString()
        return self._exporter.export(spans)  # type: ignore[arg-type]

    def shutdown(self) -> None:
        self._exporter.shutdown()


def agent_run(exporter: SpanExporter, tools: tuple[str, ...]) -> bytes:
    """Make an agent run behind an HTTP route with the SDK. Returns its trace id."""
    provider = TracerProvider(resource=Resource({"service.name": "shop"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("agents", "1.0")
    with tracer.start_as_current_span(
        "POST /chat/refund", kind=SpanKind.SERVER, attributes={"http.route": "/chat/refund"}
    ) as server:
        agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support"}
        with tracer.start_as_current_span("invoke_agent support", attributes=agent):
            for tool in tools:
                attributes = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": tool,
                    "gen_ai.tool.call.arguments": "{}",
                }
                with tracer.start_as_current_span(f"execute_tool {tool}", attributes=attributes):
                    tracer.start_span("GET", kind=SpanKind.CLIENT, attributes={"http.response.status_code": 200}).end()
    provider.shutdown()
    return server.get_span_context().trace_id.to_bytes(16, "big")


@pytest.mark.parametrize("kind", list(EXPORTERS))
def test_every_span_arrives_once_scored_and_otherwise_unchanged(
    kind: str, sink: OtlpSink, collector: CollectorProcess
) -> None:
    recorder = Recorder(EXPORTERS[kind](collector))
    trace_id = agent_run(recorder, ("lookup_order", "refund_card"))

    def arrived() -> list[Span]:
        return [span for span in sink.spans() if span.trace_id == trace_id]

    wait_for(lambda: len(arrived()) >= len(recorder.sent) and any(r.trace_id == trace_id for r in sink.records()))
    spans = arrived()
    assert sorted(span.span_id for span in spans) == sorted(recorder.sent)
    changed = {span.name for span in spans if span.SerializeToString() != recorder.sent[span.span_id]}
    assert changed == {"invoke_agent support", "execute_tool lookup_order", "execute_tool refund_card"}
    for span in spans:
        kept = [item for item in span.attributes if not item.key.startswith(OURS)]
        del span.attributes[:]
        span.attributes.extend(kept)
        assert span.SerializeToString() == recorder.sent[span.span_id]
    (event,) = [record for record in sink.records() if record.trace_id == trace_id]
    (anchor,) = [span for span in spans if span.name == "invoke_agent support"]
    assert event.span_id == anchor.span_id
    assert data.values_of(event)["gen_ai.evaluation.score.value"] == 1.0


def test_metrics_count_failures_with_exemplars(sink: OtlpSink, collector: CollectorProcess) -> None:
    trace_id = agent_run(EXPORTERS["grpc"](collector), ("refund_card", "delete_order"))
    series = (
        'rightcall_evaluations_total{intent="",label="fail",route="/chat/refund",rule="refund",scorer="trajectory"}'
    )
    wait_for(lambda: collector.metric(series) == 1)
    openmetrics = collector.get("/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert f'# {{trace_id="{trace_id.hex()}"}}' in openmetrics
    assert openmetrics.endswith("# EOF\n")


def post(collector: CollectorProcess, body: bytes, content_type: str = "application/x-protobuf", **headers: str) -> int:
    request = urllib.request.Request(
        f"http://127.0.0.1:{collector.http}/v1/traces", body, {"content-type": content_type, **headers}
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_garbage_is_refused_and_counted_and_the_next_valid_request_works(collector: CollectorProcess) -> None:
    noise = random.Random(3)
    good = data.traces(data.span(1)).SerializeToString()
    answers = {
        "random": post(collector, noise.randbytes(5000)),
        "truncated": post(collector, good[:-5]),
        "type": post(collector, good, "text/html"),
        "gzip bomb": post(collector, gzip.compress(bytes(100 << 20)), **{"content-encoding": "gzip"}),
        "deep json": post(
            collector, b'{"resourceSpans":' + b'[{"a":' * 1000 + b"1" + b"}]" * 1000 + b"}", "application/json"
        ),
    }
    assert answers == {"random": 400, "truncated": 400, "type": 415, "gzip bomb": 413, "deep json": 400}
    with socket.create_connection(("127.0.0.1", collector.http)) as raw:  # 100 MB: refused before they are read
        raw.sendall(
            b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\ncontent-length: 104857600\r\n\r\n"
        )
        assert b" 413 " in raw.recv(200)
    with grpc.insecure_channel(f"127.0.0.1:{collector.grpc}") as channel:
        export = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export", None, None)
        for body, code in ((noise.randbytes(5000), "INVALID_ARGUMENT"), (bytes(100 << 20), "RESOURCE_EXHAUSTED")):
            with pytest.raises(grpc.RpcError) as caught:
                export(body, timeout=PATIENCE)
            assert caught.value.code().name == code
        assert export(good, timeout=PATIENCE) == b""
    assert post(collector, good) == 200
    for reason, count in (("decode", 3), ("unsupported", 1), ("too_large", 2)):
        series = f'rightcall_receiver_refused_spans_total{{reason="{reason}",receiver="otlp",transport="http"}}'
        assert collector.metric(series) == count


def refuse(code: grpc.StatusCode) -> Callable[[grpc.ServicerContext], bytes]:
    def answer(context: grpc.ServicerContext) -> bytes:
        context.abort(code, "scripted")
        raise AssertionError

    return answer


def test_metrics_account_for_every_accepted_span() -> None:
    answers = [lambda _: b"", refuse(grpc.StatusCode.INVALID_ARGUMENT), refuse(grpc.StatusCode.UNAVAILABLE)]
    open_for_long = {"settle": "1h", "idle_timeout": "1h"}
    with OtlpSink(answers) as sink:
        exporter = {
            "endpoint": sink.endpoint,
            "tls": {"insecure": True},
            "sending_queue": {"num_consumers": 1},
            "retry_on_failure": {"initial_interval": "1h", "max_interval": "1h", "max_elapsed_time": 0},
        }
        with CollectorProcess(RULES, exporter, traces=open_for_long) as collector:

            def counts() -> dict[str, float]:
                families = text_string_to_metric_families(collector.get("/metrics"))
                samples = [sample for family in families for sample in family.samples]
                return {
                    name: sum(s.value for s in samples if s.name.removesuffix("_total") == f"rightcall_{name}")
                    for name in ("receiver_accepted_spans", "resumed_spans", *SPAN_STATES)
                }

            passed_through = [data.span(number, parent=99) for number in range(1, 7)]
            held = [data.tool(7, 1, "lookup_order"), data.tool(8, 1, "refund_card")]
            send(collector, *passed_through[:1])
            wait_for(lambda: counts()["exporter_sent_spans"] == 1)
            send(collector, *passed_through[1:3])
            wait_for(lambda: counts()["exporter_send_failed_spans"] == 2)
            send(collector, *passed_through[3:], *held)
            send(collector, *held[:1])
            wait_for(lambda: sink.calls == 3 and counts()["dropped_spans"] == 1)

            quiet = counts()
            assert [quiet[name] for name in SPAN_STATES] == [1, 2, 3, 2, 1]
            assert (
                quiet["receiver_accepted_spans"] + quiet["resumed_spans"]
                == sum(quiet[name] for name in SPAN_STATES)
                == 9
            )


def test_rules_are_reloaded_while_it_runs_and_invalid_ones_rejected(sink: OtlpSink) -> None:
    with CollectorProcess(RULES, {"endpoint": sink.endpoint, "tls": {"insecure": True}}, traces=TRACES) as collector:
        collector.rules.write_text(RULES.replace("expect:", "expct:"))
        collector.signal(signal.SIGHUP)
        wait_for(lambda: collector.metric("rightcall_rules_reload_failures_total") >= 1)
        assert "rules.yaml:5" in collector.log
        collector.rules.write_text(RULES.replace("name: refund", "name: renamed"))
        collector.signal(signal.SIGHUP)
        wait_for(lambda: "rules reloaded" in collector.log)
        agent_run(EXPORTERS["grpc"](collector), ("lookup_order", "refund_card"))
        wait_for(lambda: 'rule="renamed"' in collector.get("/metrics"))


def test_a_sighup_before_it_is_ready_does_not_end_it(sink: OtlpSink) -> None:
    process = CollectorProcess(RULES, {"endpoint": sink.endpoint, "tls": {"insecure": True}})
    # A pipe, which it waits for while it starts.
    config = process.folder / "collector.yaml"
    text = config.read_text()
    config.unlink()
    os.mkfifo(config)
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(process.start)
        try:
            with config.open("w") as pipe:  # once it reads
                process.signal(signal.SIGHUP)
                pipe.write(text)
            starting.result()
            assert process.stop() == 0
        finally:
            process.close()


def test_sigterm_drains_and_exits_0(sink: OtlpSink) -> None:
    with CollectorProcess(
        RULES, {"endpoint": sink.endpoint, "tls": {"insecure": True}}, traces={"settle": "1h"}
    ) as collector:
        trace_id = agent_run(EXPORTERS["grpc"](collector), ("lookup_order",))
        assert collector.stop() == 0
        assert sum(span.trace_id == trace_id for span in sink.spans()) == 4
        assert any(record.trace_id == trace_id for record in sink.records())


def test_a_port_in_use_is_one_error_message_and_exit_code_2(collector: CollectorProcess) -> None:
    listener = {"protocols": {"http": {"endpoint": f"127.0.0.1:{collector.http}"}}}
    second = CollectorProcess(RULES, None, receivers={"otlp": listener})
    with pytest.raises(RuntimeError, match=f"cannot listen on 127.0.0.1:{collector.http}: Address already in use"):
        second.start()
    assert second.stop() == 2
    second.close()
