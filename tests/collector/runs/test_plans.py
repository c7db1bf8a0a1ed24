"""No page looks at every stored run or count: each query is served by an index, whatever is filtered by."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from collector.config.model import RedactionConfig
from collector.results.redaction import Redaction
from collector.runs.database import RunsDatabase
from collector.runs.queries import (
    Filter,
    counted_by,
    dimensions_since,
    estimate_of,
    first_counted,
    latest,
    number_of_trace,
    of_trace,
    page_of,
    reasons,
    reasons_since,
    values_of,
)  # fmt: skip
from collector.runs.record import Recorder, Submitted
from tests.collector.verdicts import verdict_of


@pytest.fixture
def database() -> Iterator[RunsDatabase]:
    opened = RunsDatabase(None, 8 << 20)
    opened.open()
    verdict = verdict_of("look", label="fail", value=0.0, run={"agent": "a", "attributes": {"service.version": "2"}})
    opened.write([Recorder(Redaction(RedactionConfig())).row(Submitted(verdict, 1.5, 1.0, cut=False), ())], {}, 1)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "wanted",
    [
        Filter({"label": "wrong", "agent": "a"}), Filter({"rule": "r"}, since=1.0, until=2.0), Filter({"tool": "t"}),
        Filter(dimensions={"service.version": "2"}), Filter(text="words", since=5.0), Filter({"doubt": "d"}, text="words"),
        Filter(text="words"), Filter(text="0123456789abcdef"), Filter(),
    ],
)  # fmt: skip
def test_no_query_looks_at_every_row(database: RunsDatabase, wanted: Filter) -> None:
    statements: list[str] = []
    database._connection.set_trace_callback(statements.append)
    page_of(database, wanted)
    page_of(database, wanted, after=7)
    latest(database, wanted, 3)
    of_trace(database, "0123")
    number_of_trace(database, "0123")
    reasons(database, wanted, 5)
    reasons_since(database, wanted, 2.0)
    estimate_of(database, wanted)
    database.weight_of(("01", "02", "run", False))
    counted_by(database, ["agent"], Filter(since=1.0))
    counted_by(database, ["rule"], Filter({"agent": "a"}, {"service.name": "x"}, since=1.0), 60)
    values_of(database, ("rule", "agent"), 1.0)
    dimensions_since(database, 1.0)
    first_counted(database)
    database._connection.set_trace_callback(None)
    assert len(statements) > 10
    for statement in statements:
        plan = [row[3] for row in database.read(f"EXPLAIN QUERY PLAN {statement}")]
        whole = [step for step in plan if step in ("SCAN runs", "SCAN counts", "SCAN bodies")]
        # Without a condition the latest runs are the first ones read, and no more than the limit.
        assert not whole or "SELECT id FROM runs WHERE 1 ORDER BY id DESC LIMIT" in statement, (statement, plan)
