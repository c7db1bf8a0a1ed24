"""The first lines of the log: what a newcomer needs to send a span and to find its score."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from collector.config.model import Config
from collector.scoring.rule_files import load_rules
from collector.service.announcement import announcement, hint_without_spans
from collector.telemetry.metrics import Telemetry
from tests.collector_process import CollectorProcess
from tests.harness import ROUTED_RULES

ADDRESSES = ["OTLP/gRPC at 127.0.0.1:4317", "OTLP/HTTP at http://127.0.0.1:4318"]


def test_a_collector_says_where_it_listens_what_it_scores_by_and_where_it_sends() -> None:
    exporter = {"endpoint": "http://me:s3cret@127.0.0.1:9", "logs": "off"}
    with CollectorProcess(ROUTED_RULES, exporter) as process:
        assert process.stop() == 0
        (line,) = [line for line in map(json.loads, process.log.splitlines()) if line["message"].startswith("ready")]
    assert line["message"] == (
        f"ready: OTLP/gRPC at 127.0.0.1:{process.grpc}, OTLP/HTTP at http://127.0.0.1:{process.http}, "
        f"metrics at http://127.0.0.1:{process.metrics_port}/metrics, health at http://127.0.0.1:{process.admin}/readyz, "
        f"console at http://127.0.0.1:{process.admin}/console; "
        "2 rules from rules.yaml; traces, metrics to http://127.0.0.1:9; logs off"
    )


@pytest.mark.parametrize(
    ("exporters", "words"),
    [
        ({}, "no backend, so results are in the metrics only (exporters.otlp)"),
        ({"file": {"path": "/x/a.jsonl"}, "debug": {}}, "everything to /x/a.jsonl; everything to this log"),
        ({"otlp": {"endpoint": "a:1", "logs": {"endpoint": "b:1"}}}, "traces, metrics to a:1; logs to b:1"),
        (
            {"kafka": {"brokers": ["k:9", "l:9"], "traces": {"topic": "scored"}, "logs": {"topic": "events"}}},
            "traces to topic scored, logs to topic events at k:9, l:9",
        ),
    ],
)
def test_backends(exporters: dict[str, Any], words: str) -> None:
    config = Config.model_validate({"exporters": exporters})
    said = announcement(ADDRESSES, load_rules([]), config.exporters)
    assert said == f"ready: {', '.join(ADDRESSES)}; no rules, so no run gets a score (rules: [rules/]); {words}"


def test_many_files_are_not_all_named(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.yaml" for number in range(7)]
    for path in paths:
        path.write_text(f"rules: [{{name: r{path.stem}, match: {{agent: a}}, expect: {{sequence: [b]}}}}]\n")
    said = announcement([], load_rules(paths), Config().exporters)
    assert "7 rules from 0.yaml, 1.yaml, 2.yaml, 3.yaml, 4.yaml and 2 more files" in said


def test_a_file_without_rules_is_named(tmp_path: Path) -> None:
    (file := tmp_path / "mine.yaml").write_text("rules: []\n")
    said = announcement([], load_rules([file]), Config().exporters)
    assert "; no rules in mine.yaml, so no run gets a score; " in said


def hint(telemetry: Telemetry, addresses: list[str]) -> str:
    return asyncio.run(hint_without_spans(telemetry, addresses, 0))


def test_who_gets_no_span_is_told_how_to_send_one() -> None:
    said = hint(Telemetry(), ADDRESSES)
    assert "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 and OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf" in said


def test_who_has_no_listener_for_http_is_told_the_other_way() -> None:
    said = hint(Telemetry(), ADDRESSES[:1])
    assert "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 and OTEL_EXPORTER_OTLP_PROTOCOL=grpc" in said


def test_who_reads_a_topic_alone_is_not_told_to_send_here() -> None:
    said = hint(Telemetry(), ["topic spans at k:9", "metrics at http://127.0.0.1:9464/metrics"])
    assert said == "no span in 0 s from topic spans at k:9"


def test_who_refuses_them_all_is_told_that() -> None:
    telemetry = Telemetry()
    telemetry.child(telemetry.receiver_refused_spans, "otlp", "http", "unauthenticated").inc(3)
    assert "3 requests were refused" in hint(telemetry, ADDRESSES)


def test_who_gets_spans_is_told_nothing() -> None:
    telemetry = Telemetry()
    telemetry.child(telemetry.receiver_accepted_spans, "otlp", "grpc").inc()
    assert hint(telemetry, ADDRESSES) == ""
