"""Attributes of a run as labels of its metrics, and on its events: from the request to /metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from collector.config.model import Config
from tests import otlp_data as data
from tests.harness import Bench

NAMES = ["service.version", "gen_ai.request.model"]
SERIES = {"rule": "weather", "route": "", "intent": ""}


def bench(folder: Path, *names: str, **settings: Any) -> Bench:
    return Bench(folder, exporters={"prometheus": {"dimensions": list(names), **settings}})


def send(target: Bench, number: int = 1, version: str | None = "1.2", **agent: Any) -> None:
    trace = number.to_bytes(16, "big")
    spans = [
        data.agent(1, trace_id=trace, **agent),
        data.tool(2, 1, "get_weather", at=0.1, trace_id=trace),
        data.tool(3, 1, "send_email", at=0.2, trace_id=trace),
        data.span(4, 1, "chat", trace_id=trace, gen_ai__operation__name="chat", gen_ai__request__model="small-1"),
    ]
    request = data.traces(*spans)
    if version is not None:
        request.resource_spans[0].resource.attributes.extend(data.attributes({"service.version": version}))
    target.pipeline.receive("traces", request.SerializeToString(), "grpc")
    target.wait(5)


def value(target: Bench, metric: str, **labels: str) -> float | None:
    return target.telemetry.registry.get_sample_value(f"rightcall_{metric}", labels)


def test_evaluations_scores_and_calls_have_the_attributes_of_resource_and_model_as_labels(tmp_path: Path) -> None:
    target = bench(tmp_path, *NAMES)
    send(target)
    own = {"service_version": "1.2", "gen_ai_request_model": "small-1"}
    assert value(target, "evaluations_total", **SERIES, scorer="trajectory", label="pass", **own) == 1
    assert value(target, "evaluations_total", **SERIES, scorer="trajectory", label="fail", **own) == 0
    assert value(target, "evaluation_score_count", **SERIES, scorer="trajectory", **own) == 1
    assert value(target, "tool_calls_total", rule="weather", tool="get_weather", outcome="matched", **own) == 1


def test_the_anchor_comes_before_the_resource_and_the_resource_before_the_model(tmp_path: Path) -> None:
    target = bench(tmp_path, *NAMES)
    send(target, service__version="1.3", gen_ai__request__model="large-2")
    own = {"service_version": "1.3", "gen_ai_request_model": "large-2"}
    assert value(target, "evaluations_total", **SERIES, scorer="trajectory", label="pass", **own) == 1


def test_events_have_them_too(tmp_path: Path) -> None:
    target = bench(tmp_path, *NAMES)
    send(target)
    target.pipeline.flush()
    (event,) = [data.values_of(record) for record in target.out("logs")]
    assert (event["service.version"], event["gen_ai.request.model"]) == ("1.2", "small-1")


def test_a_run_without_the_attribute_has_an_empty_label_and_its_event_none(tmp_path: Path) -> None:
    target = bench(tmp_path, "service.version")
    send(target, version=None)
    target.pipeline.flush()
    assert value(target, "evaluations_total", **SERIES, scorer="trajectory", label="pass", service_version="") == 1
    (event,) = [data.values_of(record) for record in target.out("logs")]
    assert "service.version" not in event


def test_without_dimensions_nothing_is_read_or_labelled(tmp_path: Path) -> None:
    target = bench(tmp_path)
    send(target)
    assert value(target, "evaluations_total", **SERIES, scorer="trajectory", label="pass") == 1
    assert "gen_ai.request.model" not in target.verdicts[0].run.attributes


def test_values_and_their_combinations_are_bounded(tmp_path: Path) -> None:
    target = bench(tmp_path, "service.version", "stage", max_label_values=3)
    for number in range(1, 8):
        send(target, number, version=f"1.{number % 3}", stage=f"s{number // 3}")
    (family,) = [one for one in target.telemetry.registry.collect() if one.name == "rightcall_evaluations"]
    seen = {
        (s.labels["service_version"], s.labels["stage"]): s.value for s in family.samples if s.labels["label"] == "pass"
    }
    assert len(seen) == 4
    assert seen["__other__", "__other__"] == 4
    assert value(target, "label_overflow_total", label="dimensions") == 8  # once for the run, once for its calls


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["rule"], "rule is the label rule"),
        (["le"], "le is the label le"),
        (["a.b", "a_b"], "a_b and a.b are both the label a_b"),
        (["1x"], "pattern"),
        (["x y"], "pattern"),
        ([f"a{n}" for n in range(9)], "at most 8"),
    ],
)
def test_names_that_cannot_be_labels_are_refused(names: list[str], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Config.model_validate({"exporters": {"prometheus": {"dimensions": names}}})
