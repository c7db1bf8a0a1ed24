"""The chart under real Helm: what clusters, pipelines and habits of their owners ask of it."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.deploy.manifests import one, render

INDENTED = "  # of the support team\nrules: []\n"


def test_rules_are_mounted_as_they_are_written(tmp_path: Path) -> None:
    rules = {"indented.yaml": INDENTED, "tab.yaml": "\t\nrules: []\n", "ends.yaml": "rules: []  \n\n", "empty.yaml": ""}
    (tmp_path / "values.yaml").write_text(yaml.safe_dump({"rules": rules}))
    assert one(render("--values", tmp_path / "values.yaml"), "ConfigMap", "agents-rightcall-rules")["data"] == rules
