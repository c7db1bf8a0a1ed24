"""What the console asks of the store is limited, and a store that is slow delays pages and nothing else."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from collector.config.model import Config, ConsoleConfig, RedactionConfig
from collector.console import app, rule_tests, scratch
from collector.console.app import Console
from collector.console.context import Context
from collector.console.request import Request
from collector.console.rule_tests import exported
from collector.console.run_page import run_page
from collector.console.scratch import try_rules
from collector.errors import ConfigError
from collector.results.redaction import Redaction
from collector.runs import queries
from collector.runs.database import RunsDatabase
from collector.runs.record import Recorder, Submitted
from collector.runs.store import RunStore, build_store
from collector.runs.tally import DIMENSIONS
from collector.scoring.rule_files import LoadedRules, load_rules
from collector.telemetry.metrics import Telemetry
from tests.collector.verdicts import verdict_of
from tests.console import seed
from tests.sinks import ManualClock
from tests.waiting import until

LENIENT = 'rules: [{name: lenient, match: {}, expect: {allow_extra: ["*"]}}]'


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> LoadedRules:
    path = tmp_path_factory.mktemp("rules") / "rules.yaml"
    path.write_text(seed.RULES)
    return load_rules([path])


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunsDatabase]:
    folder = tmp_path_factory.mktemp("runs")
    seed.fill(folder, 1_700_000_000, 20, hours=1)
    opened = RunsDatabase(folder, 8 << 20)
    opened.open()
    yield opened
    opened.close()


def test_only_so_many_runs_become_tests_at_once(
    monkeypatch: pytest.MonkeyPatch, database: RunsDatabase, rules: LoadedRules
) -> None:
    monkeypatch.setattr(rule_tests, "MAX_TESTS", 2)
    request = Request("/console/tests", {"agent": "travel"})
    context = Context(request, database, DIMENSIONS, rules, ConsoleConfig(), (), {})
    assert exported(context).body.count(b"- name:") == 2


def test_the_page_of_a_trace_says_how_many_verdicts_it_does_not_show(
    monkeypatch: pytest.MonkeyPatch, rules: LoadedRules
) -> None:
    database, recorder = RunsDatabase(None, 8 << 20), Recorder(Redaction(RedactionConfig()))
    database.open()
    runs = [verdict_of("look", run={"span_id": bytes([number]) * 8}) for number in (1, 2, 3)]
    database.write([recorder.row(Submitted(run, 1.0, 1.0, cut=False), ()) for run in runs], {}, 1)
    request = Request(f"/console/runs/{runs[0].run.trace_id.hex()}")
    context, told = Context(request, database, DIMENSIONS, rules, ConsoleConfig(), (), {}), b"verdicts on this trace"
    assert told not in run_page(context).body
    monkeypatch.setattr(queries, "MAX_OF_TRACE", 2)
    assert b"The latest 2 of 3 " + told in run_page(context).body
    database.close()


def test_rules_are_tried_on_so_many_runs(monkeypatch: pytest.MonkeyPatch, database: RunsDatabase) -> None:
    monkeypatch.setattr(scratch, "MAX_RUNS", 3)
    assert try_rules(database, LENIENT).runs == 3


def test_rules_are_tried_for_so_long(monkeypatch: pytest.MonkeyPatch, database: RunsDatabase) -> None:
    assert not try_rules(database, LENIENT).cut_short
    monkeypatch.setattr(scratch, "MAX_SECONDS", -1.0)
    assert try_rules(database, LENIENT).cut_short


def test_rules_are_read_for_so_long(monkeypatch: pytest.MonkeyPatch, database: RunsDatabase) -> None:
    rule = (
        "- {name: r%d, match: {}, expect: {sequence: [{tool: t, arguments: {q: {regex: '([a-z]{1,100}){10}%d'}}}]}}\n"
    )
    many = "rules:\n" + "".join(rule % (at, at) for at in range(100))
    assert try_rules(database, many).runs
    monkeypatch.setattr(scratch, "MAX_READING", 0.01)
    with pytest.raises(ConfigError, match=r"take more than 0\.01 s to be read: try fewer at once"):
        try_rules(database, many)


def test_rules_cannot_be_tried_without_a_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, database: RunsDatabase, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(
        ConfigError, match="no temporary folder to try them in: No such file or directory; mount one at /tmp"
    ):
        try_rules(database, LENIENT)


class SlowDisk(RunsDatabase):
    """A store of which nothing is read or written until it is let go."""

    def __init__(self) -> None:
        super().__init__(None, 8 << 20)
        self.go, self.waiting, self.most = threading.Event(), 0, 0

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        self.go.wait(60)
        self.waiting -= 1
        return super().read(statement, values)

    def write(self, *rows: Any) -> None:
        self.go.wait(60)
        super().write(*rows)


def test_a_slow_disk_makes_pages_wait_for_their_turn_and_nothing_else(rules: LoadedRules) -> None:
    async def run() -> tuple[list[int], int, bool]:
        config, telemetry = Config.model_validate({"spool": "memory"}), Telemetry()
        built = build_store(config, telemetry, ManualClock())
        assert built is not None
        disk = SlowDisk()
        built.database = disk
        await built.start()
        console = Console(config, built, lambda: rules, list, dict)
        statuses: list[int] = []
        pages = [asyncio.create_task(asked(console, statuses)) for _ in range(2 * app.MAX_PAGES)]
        await until(lambda: disk.waiting == app.MAX_PAGES)
        # Verdicts are given meanwhile: as many as wait are kept, and the rest is dropped.
        for number in range(300):
            built.offer(verdict_of("look", run={"trace_id": number.to_bytes(16, "big")}))
        was_slow = not any(page.done() for page in pages)
        disk.go.set()
        await asyncio.gather(*pages)
        await built.shutdown()
        return statuses, disk.most, was_slow

    assert asyncio.run(run()) == ([200] * 2 * app.MAX_PAGES, app.MAX_PAGES, True)


async def asked(console: Console, statuses: list[int]) -> None:
    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {"type": "http", "method": "GET", "path": "/runs", "query_string": b"", "headers": []}
    await console.handle(scope, receive, send)


def test_the_dimensions_of_metrics_are_those_of_the_console() -> None:
    store = build_store(Config.model_validate({"spool": "memory"}), Telemetry(dimensions=["team"]), ManualClock())
    assert isinstance(store, RunStore)
    assert store.dimensions == (*DIMENSIONS, "team")
