"""The table of what traces tell: up to date, and right about a few rows that are known from the recordings."""

from __future__ import annotations

import pytest

from tests import recorded
from tests.collector import capture_table
from tests.collector.capture_table import RecordedRun, recorded_runs, table


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[RecordedRun]:
    folder = tmp_path_factory.mktemp("recorded")
    recorded.unpack(folder)
    return list(recorded_runs(folder))


def test_the_readme_is_up_to_date(found: list[RecordedRun]) -> None:
    shown = capture_table.README.read_text()
    assert table(found) in shown, "run python -m tests.collector.capture_table"


def test_every_run_is_in_the_table_once(found: list[RecordedRun]) -> None:
    assert [run.name for run in found] == recorded.names()


@pytest.mark.parametrize(
    ("name", "facets"),
    [
        ("py-autogen-native-multi", {"names": True, "arguments": False, "concurrency": True, "call ids": True}),
        ("py-google-genai-oi-multi", {"order": True, "concurrency": True, "call ids": True}),
        ("py-langgraph-official-nocontent-multi", {"arguments": None, "user input": None, "names": True}),
        ("py-langgraph-splunk-nested", {"nesting": False, "arguments": True}),
        ("js-ai6-notools", {"names": None, "order": None, "user input": True, "final response": True, "tools": None}),
        ("py-autogen-oi-fail", {"final response": True, "tools": False}),
    ],
)
def test_a_run_shows_what_its_spans_hold(found: list[RecordedRun], name: str, facets: dict[str, bool | None]) -> None:
    (run,) = (run for run in found if run.name == name)
    assert {facet: run.facets[facet] for facet in facets} == facets


def test_a_cell_counts_only_the_runs_that_can_show_it() -> None:
    runs = [
        RecordedRun("a", "f 1", "i", True, True, dict.fromkeys(capture_table.FACETS, True)),
        RecordedRun("b", "f 1", "i", True, False, {**dict.fromkeys(capture_table.FACETS, None), "names": False}),
    ]
    row = table(runs).splitlines()[-1]
    assert row == "| f 1 | i | 1 of 2 | 1 of 2 | yes | yes | yes | yes | yes | yes | yes | yes | yes |  |"
