"""A recorded conversation of two traces, sent to a running collector: scored as one, also with a restart in between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.cli import main
from tests import otlp_data as data
from tests import recorded
from tests.collector_process import CollectorProcess
from tests.sinks import OtlpSink
from tests.waiting import PATIENCE, wait_for

RULES = """
rules:
  - {name: turn, expect: {max_calls: 9}}
  - name: trip
    scope: conversation
    match: {agent: travel_agent}
    expect:
      sequence:
        - {tool: get_weather, arguments: {city: Paris}}
        - {tool: charge_card, arguments: {order_id: 42}}
        - {tool: charge_card, arguments: {order_id: 42}}
"""
RECORDED = "py-openai-agents-official-twoturn"
CONVERSATION = "conv-1234"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = tmp_path_factory.mktemp("corpus")
    recorded.unpack(corpus)
    return corpus / RECORDED


@pytest.fixture
def sink() -> Iterator[OtlpSink]:
    with OtlpSink() as sink:
        yield sink


def collector(sink: OtlpSink, **sections: Any) -> CollectorProcess:
    exporter = {"endpoint": sink.endpoint, "tls": {"insecure": True}}
    traces = {"settle": "200ms", "idle_timeout": "2s"}
    return CollectorProcess(RULES, exporter, traces=traces, conversations={"idle_timeout": "2s"}, **sections)


def turns(folder: Path) -> list[ExportTraceServiceRequest]:
    """What was recorded, a request for each trace, in order of time."""
    bodies = [ExportTraceServiceRequest.FromString(path.read_bytes()) for path in recorded.requests(folder)]
    spans = [span for body in bodies for span in data.all_spans(body.SerializeToString())]
    first: dict[bytes, int] = {}
    for span in spans:
        first[span.trace_id] = min(first.get(span.trace_id, span.start_time_unix_nano), span.start_time_unix_nano)
    return [_only(bodies, trace_id) for trace_id in sorted(first, key=first.__getitem__)]


def _only(bodies: list[ExportTraceServiceRequest], trace_id: bytes) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    for body in bodies:
        request.MergeFrom(body)
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            kept = [span for span in scope.spans if span.trace_id == trace_id]
            del scope.spans[:]
            scope.spans.extend(kept)
    return request


def export(collector: CollectorProcess, request: ExportTraceServiceRequest) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{collector.grpc}") as channel:
        method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
        channel.unary_unary(method, None, None)(request.SerializeToString(), timeout=PATIENCE)


def post(collector: CollectorProcess, request: ExportTraceServiceRequest) -> None:
    headers = {"content-type": "application/x-protobuf"}
    url = f"http://127.0.0.1:{collector.http}/v1/traces"
    httpx.post(url, content=request.SerializeToString(), headers=headers, timeout=PATIENCE).raise_for_status()


def verdicts(sink: OtlpSink) -> list[dict[str, Any]]:
    """What was said about conversations."""
    said = [(record, data.values_of(record)) for record in sink.records()]
    return [{**values, "trace": record.trace_id} for record, values in said if values["rightcall.rule"] == "trip"]


def check(sink: OtlpSink, first: ExportTraceServiceRequest) -> None:
    wait_for(lambda: verdicts(sink), 0.1)
    (verdict,) = verdicts(sink)
    assert (verdict["gen_ai.evaluation.score.value"], verdict["gen_ai.evaluation.score.label"]) == (1.0, "pass")
    assert (verdict["rightcall.complete"], verdict["rightcall.revision"]) == (True, 0)
    assert (verdict["gen_ai.conversation.id"], verdict["rightcall.scope"]) == (CONVERSATION, "conversation")
    assert verdict["trace"] == data.all_spans(first.SerializeToString())[0].trace_id


@pytest.mark.parametrize("send", [export, post], ids=["grpc", "http"])
def test_two_recorded_traces_are_scored_as_one(sink: OtlpSink, folder: Path, send: Any) -> None:
    first, second = turns(folder)
    with collector(sink) as process:
        send(process, second)
        send(process, first)
        check(sink, first)


def test_with_a_crash_between_the_two(sink: OtlpSink, folder: Path) -> None:
    first, second = turns(folder)
    with collector(sink, spool={"path": "spool"}) as process:
        export(process, first)
        wait_for(sink.records, 0.05)  # the verdict on the first run: the conversation has it
        process.kill()
        process.start()
        assert process.metric("rightcall_conversations_open") == 1
        export(process, second)
        check(sink, first)
        assert process.stop() == 0


def test_offline(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    assert main(["score", "--rules", str(tmp_path / "rules.yaml"), "--format", "jsonl", str(folder)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["rule"] for line in lines] == ["turn", "turn"], "one line an agent run"
    ((conversation,),) = [line["also"] for line in lines if "also" in line]
    assert (conversation["scope"], conversation["rule"]) == ("conversation", "trip")
    assert [call["name"] for call in conversation["tool_calls"]] == ["get_weather", "charge_card", "charge_card"]
    assert conversation["evaluations"][0]["value"] == 1.0
