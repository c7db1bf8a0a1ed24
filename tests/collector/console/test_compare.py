"""Reasons of two groups of runs side by side: what is said of a sample, and of runs that are no longer stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.config.model import ConsoleConfig, RedactionConfig
from collector.console.compare import Step, _compared
from collector.console.context import Context
from collector.console.overview import overview
from collector.console.rendering import timestamp
from collector.console.request import Request
from collector.results.redaction import Redaction
from collector.runs.database import RunsDatabase
from collector.runs.queries import Filter, reasons_since
from collector.runs.record import Recorder, Submitted
from collector.runs.tally import DIMENSIONS, Tally
from collector.scoring.rule_files import LoadedRules, load_rules
from tests.collector.verdicts import evaluation, verdict_of

HOUR = 3600
NOW = 500_000 * HOUR


@pytest.fixture
def database() -> Iterator[RunsDatabase]:
    opened = RunsDatabase(None, 64 << 20)
    opened.open()
    yield opened
    opened.close()


class History:
    """Writes runs: each call is of so many at once, of which one of ``weight`` is stored."""

    def __init__(self, database: RunsDatabase) -> None:
        self._database, self._number, self._recorder = database, 0, Recorder(Redaction(RedactionConfig()))

    def add(self, at: float, runs: int, reason: str | None, weight: int = 1, *, is_stored: bool = True) -> None:
        label = "pass" if reason is None else "fail"
        said = [evaluation(label, 0.5, explanation=reason or "")]
        tally, rows = Tally(), list[Any]()
        for number in range(runs):
            self._number += 1
            verdict = verdict_of("look", evaluations=said, run={"trace_id": self._number.to_bytes(16)})
            tally.add(verdict)
            if is_stored and number % weight == 0:
                rows.append(self._recorder.row(Submitted(verdict, at, weight, cut=False), ()))
        self._database.write(rows, tally.take(), int(at))


def steps(database: RunsDatabase) -> dict[str, Step]:
    """The steps that go wrong, by reason, of the last hour and the hour before."""
    sides = Filter(since=NOW - 2 * HOUR, until=NOW - HOUR), Filter(since=NOW - HOUR)
    return {step.reason: step for step in _compared(database, sides, "agent", NOW)["steps"]}


def shown(database: RunsDatabase, rules: LoadedRules, period: str) -> str:
    request = Request("/console", {"range": period}, now=NOW)
    return overview(Context(request, database, DIMENSIONS, rules, ConsoleConfig(), (), {})).body.decode()


def test_a_reason_has_no_share_of_a_time_of_which_runs_are_no_longer_stored(
    database: RunsDatabase, tmp_path: Path
) -> None:
    history = History(database)
    history.add(NOW - 1.5 * HOUR, 100, "x", is_stored=False)
    history.add(NOW - 0.5 * HOUR, 100, "x")
    step = steps(database)["x"]
    assert (step.before, step.change) == (None, None)
    assert step.after is not None
    assert step.after.value == 1.0
    (tmp_path / "rules.yaml").write_text("rules: []")
    rules = load_rules([tmp_path / "rules.yaml"])
    assert f"since {timestamp(NOW - 0.5 * HOUR)}: earlier runs are" in shown(database, rules, "24h")
    assert "earlier runs are" not in shown(database, rules, "1h")


def test_a_reason_that_came_up_only_now_had_no_run_before(database: RunsDatabase) -> None:
    history = History(database)
    history.add(NOW - 1.5 * HOUR, 100, None)
    history.add(NOW - 0.5 * HOUR, 60, None)
    history.add(NOW - 0.4 * HOUR, 40, "x")
    step = steps(database)["x"]
    assert step.before is not None
    assert step.after is not None
    assert step.change is not None
    assert (step.before.value, step.after.value) == (0.0, 0.4)
    assert step.change.low > 0


def test_where_no_run_is_stored_any_more_every_count_is_of_runs_that_are_gone(database: RunsDatabase) -> None:
    assert reasons_since(database, Filter(), NOW) is None
    History(database).add(NOW - HOUR, 1, "x", is_stored=False)
    assert reasons_since(database, Filter(), NOW) == NOW
    assert reasons_since(database, Filter(since=NOW - 0.5 * HOUR), NOW) is None
    assert reasons_since(database, Filter({"rule": "other"}), NOW) is None


def test_counts_that_were_gathered_with_those_of_stored_runs_are_not_of_runs_that_are_gone(
    database: RunsDatabase,
) -> None:
    at = NOW - NOW % (6 * HOUR) - 72 * HOUR + 5 * HOUR
    history = History(database)
    history.add(at, 10, "x")
    database.prune(NOW, 1e9)
    assert reasons_since(database, Filter(), NOW) is None
    history.add(at - 12 * HOUR, 10, "x", is_stored=False)
    assert reasons_since(database, Filter(), NOW) == at


@pytest.mark.parametrize(("weight", "is_sure"), [(1, True), (25, False)])
def test_a_share_is_as_sure_as_the_runs_that_are_stored_make_it(
    database: RunsDatabase, weight: int, is_sure: bool
) -> None:
    history = History(database)
    for ago, of_each in ((1.5, (250, 250)), (0.5, (300, 200))):
        for reason, runs in zip("xy", of_each, strict=True):
            history.add(NOW - ago * HOUR, runs, reason, weight)
    step = steps(database)["x"]
    assert step.before is not None
    assert step.after is not None
    assert step.change is not None
    assert [step.before.value, step.after.value] == pytest.approx([0.5, 0.6])
    assert (step.change.low > 0) is is_sure
    assert step.before.high - step.before.low == pytest.approx(0.087 if is_sure else 0.4, rel=0.05)


def test_passes_are_known_however_few_of_the_others_are_stored(database: RunsDatabase) -> None:
    history = History(database)
    for ago in (1.5, 0.5):
        history.add(NOW - ago * HOUR, 9_000, None, weight=9_000)
        history.add(NOW - ago * HOUR, 1_000, "x", weight=10)
    found = steps(database)["x"].before
    assert found is not None
    assert found.value == pytest.approx(0.1)
    # A tenth of the runs that fail: the interval is that of a hundred, not of a thousand.
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.1 / 100**0.5, rel=0.1)
