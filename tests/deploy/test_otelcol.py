"""The shipped files for the OpenTelemetry Collector, checked by the Collector itself.

Opt-in: ``RIGHTCALL_TEST_OTELCOL`` is the path of a Collector of 0.155 or later with the components named in the files. The
load-balancing exporter is left out, since the Go module proxy does not offer it in that version: what is checked of
``front.yaml`` is all but that.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

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
