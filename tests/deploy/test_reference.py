"""deploy/reference.md: complete, up to date, and asking only for what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from collector.model import semconv
from collector.telemetry.metrics import Telemetry
from tests.deploy import reference_table
from tests.deploy.programs import must_run, program

TEXT = reference_table.REFERENCE.read_text("utf-8")
QUERIES = [
    [cell.strip().strip("`").replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in TEXT.partition("## Queries")[2].splitlines()
    if line.startswith("| ") and "TraceQL" not in line
]


def test_the_tables_are_up_to_date() -> None:
    assert reference_table.reference() == TEXT, "run python -m tests.deploy.reference_table"


def test_every_attribute_of_ours_is_in_the_table() -> None:
    own = {value for name, value in vars(semconv).items() if name.startswith(("RIGHTCALL_", "EVALUATION_"))}
    assert own <= reference_table.WRITTEN.keys()


def test_queries_ask_for_attributes_and_values_that_are_written() -> None:
    known = {*reference_table.WRITTEN, semconv.TOOL_NAME}
    for _, traceql, _, phoenix in QUERIES:
        asked = {*re.findall(r"span\.([\w.]+)", traceql), *re.findall(r"attributes\['([^']+)'\]", phoenix)}
        assert asked <= known
        assert "none" in (traceql[:4], phoenix[:4]) or asked


@pytest.mark.parametrize("promql", [query[2] for query in QUERIES if not query[2].startswith("none")])
def test_promql_is_valid_and_about_our_metrics(promql: str, tmp_path: Path) -> None:
    families = {f"rightcall_{info.name}": info.labels for info in Telemetry().table}
    for name, matchers in re.findall(r"(rightcall_\w+)(?:\{([^}]*)\})?", promql):
        labels = families[re.sub(r"_(total|bucket)$", "", name)]
        assert set(re.findall(r'(\w+)=~?"', matchers)) <= {*labels, "le"}
    rule = {"groups": [{"name": "q", "rules": [{"record": "q", "expr": promql}]}]}
    (tmp_path / "rule.yaml").write_text(str(rule))
    must_run([program("promtool"), "check", "rules", tmp_path / "rule.yaml"])
