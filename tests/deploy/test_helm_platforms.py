"""The chart under real Helm: what clusters, pipelines and habits of their owners ask of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.deploy.manifests import one, render

INDENTED = "  # of the support team\nrules: []\n"


def test_rules_are_mounted_as_they_are_written(tmp_path: Path) -> None:
    rules = {"indented.yaml": INDENTED, "tab.yaml": "\t\nrules: []\n", "ends.yaml": "rules: []  \n\n", "empty.yaml": ""}
    (tmp_path / "values.yaml").write_text(yaml.safe_dump({"rules": rules}))
    assert one(render("--values", tmp_path / "values.yaml"), "ConfigMap", "agents-rightcall-rules")["data"] == rules


@pytest.mark.parametrize(
    "section",
    [
        "exporters.otlp",
        "judge",
        "receivers.kafka",
        "service.handover",
        "console.public_url",
        "receivers.otlp.protocols.http",
    ],
)
def test_a_section_that_an_overlay_takes_away_is_not_there(section: str) -> None:
    """As ``--values base.yaml --values production.yaml`` gives it to Helm: a null stays in `config`."""
    items = render("--set", f"config.{section}=null", "--set", "dashboards.enabled=true,prometheusRule.enabled=true")
    assert one(items, "Deployment")
