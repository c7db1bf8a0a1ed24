"""Traces, logs and metrics to backends of their own, over real sockets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from collector.component import Signal
from collector.config.model import Config
from collector.errors import ConfigError
from tests import otlp_data as data
from tests.builders import load
from tests.collector_process import CollectorProcess, free_port, send
from tests.harness import WEATHER_RULES
from tests.sinks import OtlpSink
from tests.waiting import PATIENCE, wait_for

RUN = (data.tool(2, 1, "get_weather", at=0.1), data.tool(3, 1, "send_email", at=0.2), data.agent(1))
FAST = {"traces": {"settle": "100ms"}}
PLAIN = {"tls": {"insecure": True}}


def post(process: CollectorProcess, signal: str, payload: bytes) -> None:
    headers = {"content-type": "application/x-protobuf"}
    url = f"http://127.0.0.1:{process.http}/v1/{signal}"
    assert httpx.post(url, content=payload, headers=headers, trust_env=False, timeout=PATIENCE).status_code == 200


def metrics() -> bytes:
    request = ExportMetricsServiceRequest()
    request.resource_metrics.add().scope_metrics.add().metrics.add(name="m").gauge.data_points.add()
    return request.SerializeToString()


def test_each_signal_goes_to_its_own_backend_and_what_is_off_nowhere() -> None:
    with OtlpSink() as main, OtlpSink() as logs:
        otlp = {"endpoint": main.endpoint, **PLAIN, "logs": {"endpoint": logs.endpoint, **PLAIN}, "metrics": False}
        with CollectorProcess(WEATHER_RULES, otlp, **FAST) as process:
            post(process, "metrics", metrics())
            post(process, "logs", data.logs(LogRecord(severity_text="INFO")).SerializeToString())
            send(process, *RUN)
            wait_for(lambda: len(logs.records()) == 2 and len(main.spans()) == 3)
            assert process.metric('rightcall_exporter_sent_spans_total{exporter="otlp"}') == 3
            assert process.stop() == 0
        assert not main.requests["logs"] + main.requests["metrics"] + logs.requests["traces"] + logs.requests["metrics"]


def test_a_dead_backend_for_logs_holds_up_no_traces_and_gets_its_logs_after_a_restart() -> None:
    port = free_port()
    with OtlpSink() as main:
        logs = {"endpoint": f"127.0.0.1:{port}", **PLAIN, "sending_queue": {"num_consumers": 1}}
        otlp = {"endpoint": main.endpoint, **PLAIN, "logs": logs}
        with CollectorProcess(WEATHER_RULES, otlp, spool={"path": "spool"}, **FAST) as process:
            send(process, *RUN)
            wait_for(lambda: len(main.spans()) == 3)
            wait_for(lambda: process.metric('rightcall_exporter_queue_size{exporter="otlp/logs"}') == 1)
            process.kill()
            with OtlpSink(port=port) as late:
                process.start()
                wait_for(lambda: len(late.records()) == 1)
                assert process.stop() == 0
        assert len(main.spans()) == 3


class NoLogsForNow(OtlpSink):
    """A backend like a collector whose own way out for logs is blocked."""

    def _handler(self, signal: Signal) -> Callable[[bytes, grpc.ServicerContext], bytes]:
        def refuse(_: bytes, context: grpc.ServicerContext) -> bytes:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the queue for logs is full")
            raise AssertionError

        return refuse if signal == "logs" else super()._handler(signal)


def test_logs_that_a_backend_refuses_for_now_hold_up_none_of_its_traces() -> None:
    with NoLogsForNow() as sink:
        retry = {"initial_interval": "1h", "max_interval": "1h"}
        otlp = {"endpoint": sink.endpoint, **PLAIN, "retry_on_failure": retry, "sending_queue": {"num_consumers": 1}}
        with CollectorProcess(WEATHER_RULES, otlp, spool={"path": "spool"}, **FAST) as process:
            post(process, "logs", data.logs(LogRecord(severity_text="INFO")).SerializeToString())
            wait_for(lambda: "sending logs to" in process.log)
            send(process, *RUN)
            wait_for(lambda: len(sink.spans()) == 3)
            # That they wait shows while the queue has room: nothing else would, before senders are slowed down.
            wait_for(lambda: process.metric('rightcall_exporter_queue_log_requests{exporter="otlp"}') == 2)


def test_spans_that_are_not_exported_are_counted() -> None:
    with OtlpSink() as sink:
        otlp = {"traces": "off", "metrics": "off", "logs": {"endpoint": sink.endpoint, **PLAIN}}
        with CollectorProcess(WEATHER_RULES, otlp, **FAST) as process:
            send(process, *RUN)
            wait_for(lambda: len(sink.records()) == 1)
            wait_for(lambda: process.metric('rightcall_dropped_spans_total{reason="off",stage="exporter"}') == 3)
            assert process.stop() == 0


def destinations(**otlp: Any) -> list[tuple[str, str, tuple[str, ...]]]:
    config = Config.model_validate({"exporters": {"otlp": otlp}})
    return [(to.name, to.backend.endpoint, to.signals) for to in config.exporters.destinations()]


def test_a_backend_of_one_signal_inherits_nothing() -> None:
    otlp = {"endpoint": "a:1", "headers": {"authorization": "s3cret"}, **PLAIN, "logs": {"endpoint": "b:1"}}
    config = Config.model_validate({"exporters": {"otlp": otlp}})
    common, logs = config.exporters.destinations()
    assert (common.backend.headers, logs.backend.headers) == ({"authorization": "s3cret"}, {})
    assert (common.backend.tls.insecure, logs.backend.tls.insecure) == (True, False)
    assert config.model_dump(mode="json")["exporters"]["otlp"]["traces"] is None


def test_who_gets_what() -> None:
    assert destinations(endpoint="a:1") == [("otlp", "a:1", ("traces", "logs", "metrics"))]
    assert destinations(endpoint="a:1", logs=False) == [("otlp", "a:1", ("traces", "metrics"))]
    apart = destinations(traces={"endpoint": "a:1"}, logs={"endpoint": "b:1"}, metrics="off")
    assert apart == [("otlp/traces", "a:1", ("traces",)), ("otlp/logs", "b:1", ("logs",))]


@pytest.mark.parametrize(
    ("otlp", "words"),
    [
        ("{logs: off}", "exporters.otlp: set endpoint, such as endpoint: tempo:4317, or for traces and metrics an endpoint"),
        ("{endpoint: 'a:1', logs: on}", "exporters.otlp.logs: true is no backend: use off or {endpoint: ...}"),
        ("{endpoint: 'a:1', logs: {endpont: 'b:1'}}", "exporters.otlp.logs.endpont: unknown key; did you mean endpoint?"),
        ("{endpoint: 'a:1', logs: {endpoint: b}}", "exporters.otlp.logs.endpoint: 'b' has no port"),
        ("{endpoint: 'a:1', log: off}", "exporters.otlp.log: unknown key; did you mean logs?"),
    ],
)  # fmt: skip
def test_mistakes(tmp_path: Path, otlp: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"exporters: {{otlp: {otlp}}}\n")
    assert words in str(caught.value)
