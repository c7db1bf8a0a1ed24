"""Replayed runs are recorded runs with new ids and times; the rules of the demo detect the faults."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from collector import demo
from collector.clock import Clock
from collector.config.model import Config
from collector.demo.replay import FAULTS, Recording, recordings, replay
from collector.pipeline import Pipeline
from collector.scoring.rule_files import check_rules, load_rules
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry

RULES = Path(demo.__file__).parent / "rules.yaml"
NOW = 1_800_000_000_000_000_000


def verdicts_of(recording: Recording, fault: tuple[str, str] | None) -> list[Verdict]:
    found: list[Verdict] = []
    pipeline = Pipeline(
        Config(), load_rules([RULES]), Telemetry(), None, Clock(now=lambda: 0.0, wall_ns=lambda: NOW), found.append
    )
    request = encode_spans(replay(recording, NOW, Random(1), fault)).SerializeToString()
    pipeline.receive("traces", request, "grpc")
    pipeline.drain("end_of_input")
    return found


def test_the_rules_pass_their_own_tests() -> None:
    assert check_rules([RULES])[1]


@pytest.mark.parametrize("recording", recordings(), ids=lambda recording: recording.name)
def test_recorded_runs_pass_and_every_fault_fails(recording: Recording) -> None:
    assert [verdict.evaluations[0].score.label for verdict in verdicts_of(recording, None)] == ["pass"]
    for fault in FAULTS[recording.route]:
        is_affected = any(fault[0] in str(span) for _, _, span in recording.spans)
        labels = [verdict.evaluations[0].score.label for verdict in verdicts_of(recording, fault)]
        assert labels == (["fail"] if is_affected else ["pass"]), fault


def test_ids_and_times_are_new() -> None:
    recording = recordings()[0]
    first, second = replay(recording, NOW, Random(1)), replay(recording, NOW, Random(2))
    assert {span.context.trace_id for span in first}.isdisjoint(span.context.trace_id for span in second)
    assert max(span.end_time or 0 for span in first) == NOW
    assert len({span.context.span_id for span in first}) == len(recording.spans)
    ids = {span.context.span_id for span in first}
    assert all(span.parent is None or span.parent.span_id in ids for span in first)
