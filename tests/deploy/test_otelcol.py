"""The shipped files for the OpenTelemetry Collector, checked by the Collector itself, and that sampling waits long enough.

The check is opt-in: ``RIGHTCALL_TEST_OTELCOL`` is the path of a Collector of 0.155 or later with the components named in the
files. The load-balancing exporter is left out, since the Go module proxy does not offer it in that version: what is checked of
``front.yaml`` is all but that.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from collector.config.model import TracesConfig
from scorers.score import Label
from tests.deploy.programs import DEPLOY, run

FILES = sorted((DEPLOY / "opentelemetry-collector").glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_collector_takes_the_file(file: Path, tmp_path: Path) -> None:
    exporters = yaml.safe_load(file.read_text("utf-8"))["exporters"]
    assert {name.partition("/")[0] for name in exporters}.isdisjoint({"otlp", "otlphttp"}), "deprecated since 0.155"
    binary = os.environ.get("RIGHTCALL_TEST_OTELCOL")
    if not binary:
        pytest.skip("RIGHTCALL_TEST_OTELCOL is not set to an OpenTelemetry Collector")
    text = re.sub(r"^  loadbalancing:\n(    .*\n)+", "  nop: {}\n", file.read_text("utf-8"), flags=re.MULTILINE)
    (tmp_path / "config.yaml").write_text(text.replace("[loadbalancing]", "[nop]"))
    done = run([binary, "validate", "--config", tmp_path / "config.yaml"])
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_sampling_waits_for_verdicts_and_keeps_all_but_pass() -> None:
    document = yaml.safe_load((DEPLOY / "opentelemetry-collector" / "behind.yaml").read_text("utf-8"))
    sampling, traces = document["processors"]["tail_sampling"], TracesConfig()
    late = 5  # seconds of an SDK's batch processor
    after_root, longest = (
        int(sampling[key].removesuffix("s")) for key in ("decision_wait_after_root_received", "decision_wait")
    )
    assert after_root > late + max(traces.confirm, traces.idle_timeout)
    assert longest > late + traces.max_duration + traces.idle_timeout
    kept = sampling["policies"][0]["string_attribute"]["values"]
    assert {*kept, "pass"} == set(get_args(Label))
