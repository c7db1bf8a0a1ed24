"""The store of runs: what it keeps, what it must not keep, and that nothing wrong with it reaches a verdict."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.config.model import Config, RedactionConfig
from collector.console.raw_spans import _spans
from collector.errors import ConfigError
from collector.otlp.lazy import span_id_of
from collector.otlp.structure import Envelope
from collector.results.redaction import Redaction
from collector.runs import database as databases
from collector.runs import queries
from collector.runs import store as stores
from collector.runs.database import NAME, RunsDatabase, StoreUnreadableError
from collector.runs.queries import (
    Counted,
    Filter,
    counted_by,
    dimensions_since,
    number_of_trace,
    of_trace,
    page_of,
    reasons,
    total_of,
    values_of,
)
from collector.runs.record import MAX_CALLS, MAX_COMPARED, MAX_SPANS, MAX_TEXT, Recorder, Submitted, bounded
from collector.runs.sampling import RateSample
from collector.runs.store import RunStore, build_store
from collector.runs.tally import MAX_SERIES, OTHER, Tally
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry
from scorers import CompiledRule, Outcome, ToolCall, Trajectory, parse_rules
from tests import otlp_data as data
from tests.collector.verdicts import evaluation, run_of, verdict_of
from tests.sinks import ManualClock
from tests.sqlite_files import TELLS_TEMPORARY_FILES, temporary_files
from tests.waiting import let_others_run, until

CHANCE = 0.5  # what the samples draw


def numbered(number: int) -> bytes:
    """A trace id as random as the sampling needs."""
    return (number * 0x9E3779B97F4A7C15F39CC0605CEDC834 % (1 << 128)).to_bytes(16, "big")


def verdicts(count: int, label: str = "pass", first: int = 0, **fields: Any) -> Iterable[Verdict]:
    for number in range(first, first + count):
        run = {"trace_id": numbered(number), **fields.pop("run", {})}
        yield verdict_of("look", "act", label=label, value=1.0 if label == "pass" else 0.0, run=run, **fields)


def store_of(clock: ManualClock, telemetry: Telemetry | None = None, **config: Any) -> RunStore:
    settings = Config.model_validate({"spool": "memory", **config})
    found = build_store(settings, telemetry or Telemetry(), clock)
    assert found is not None
    return found


def stored(offered: Iterable[Verdict], look: Callable[[RunStore], Any], **config: Any) -> Any:
    """What ``look`` finds once these verdicts are stored."""

    async def run() -> Any:
        clock = ManualClock()
        clock.seconds = 1_000_000.0
        store = store_of(clock, **config)
        await store.start()
        try:
            for verdict in offered:
                store.offer(verdict)
                store.advance()
                clock.seconds += 0.2
                if store._waiting.qsize() > 100:
                    await until(lambda: store._waiting.qsize() < 10)
            clock.seconds += 1
            before = store.generation
            store.advance()
            await until(lambda: store.generation > before and not store._waiting.qsize())
            return look(store)
        finally:
            await store.shutdown()

    return asyncio.run(run())


def execute(store: RunStore, statement: str) -> None:
    """Run a statement on the store's own connection, between what its thread does there."""
    with store.database._lock:
        store.database._connection.execute(statement).fetchall()


def metric(telemetry: Telemetry, reason: str) -> float:
    return float(telemetry.child(telemetry.runs_not_stored, reason)._value.get())


def test_a_run_is_found_by_everything_it_is_filtered_by() -> None:
    run = {"route": "/pay", "intent": "refund", "agent": "support", "attributes": {"service.version": "2.1"},
           "user_input": "My Card was charged twice"}  # fmt: skip
    offered = [*verdicts(1, "fail", run=run, doubts=["missing_span"]), *verdicts(2, first=1)]

    def look(store: RunStore) -> list[int]:
        def count(text: str = "", dimensions: dict[str, str] | None = None, **properties: str) -> int:
            return len(page_of(store.database, Filter(properties, dimensions or {}, text)).runs)

        return [
            count(route="/pay"), count(intent="refund"), count(agent="support"), count(label="fail"), count(label="wrong"),
            count(tool="look"), count(tool="loo"), count(doubt="missing_span"), count(rule="weather"), count("card was"),
            count(dimensions={"service.version": "2.1"}), count(dimensions={"service.version": "2"}), count("nothing"),
        ]  # fmt: skip

    assert stored(offered, look) == [1, 1, 1, 1, 1, 3, 0, 1, 3, 1, 1, 0, 0]


def test_many_tools_hide_neither_what_a_run_is_filtered_by_nor_the_tool_that_differs() -> None:
    many = [f"mcp__github_enterprise__list_pull_request_reviews_{number}" for number in range(20)]
    matched: list[Outcome] = ["matched"] * len(many)
    forbids = parse_rules(
        {"rules": [{"name": "weather", "match": {}, "expect": {"sequence": many, "forbid": ["drop"]}}]}
    )
    rule = CompiledRule(forbids.rules[0])
    run = verdict_of(
        *many, "drop", label="fail", outcomes=[*matched, "forbidden"], doubts=["missing_span"], compiled_rule=rule
    )
    wanted = [{"outcome": "forbidden"}, {"tool": "drop"}, {"doubt": "missing_span"}, {"release": "root"}]

    def look(store: RunStore) -> list[int]:
        return [len(page_of(store.database, Filter(one)).runs) for one in wanted]

    assert stored([run], look) == [1, 1, 1, 1]


def test_a_page_looks_for_words_in_so_many_runs_and_the_next_one_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MAX_SEARCHED", 3)
    inputs = ["needle"] + ["hay"] * 7

    def look(store: RunStore) -> list[int]:
        found, after = [], None
        while True:
            page = page_of(store.database, Filter(text="needle"), after)
            found.append(len(page.runs))
            if (after := page.next) is None:
                return found

    offered = [next(iter(verdicts(1, first=at, run={"user_input": one}))) for at, one in enumerate(inputs)]
    assert stored(offered, look) == [0, 0, 1]


def test_so_many_kinds_of_runs_are_filtered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MAX_KINDS", 3)
    offered = [one for at in range(5) for one in verdicts(1, "fail", first=at, run={"route": f"/{at}"})]

    def look(store: RunStore) -> tuple[int, int, int]:
        database = store.database
        return (
            len(page_of(database, Filter({"label": "fail"})).runs), len(page_of(database, Filter()).runs),
            len(reasons(database, Filter(), 10)),
        )  # fmt: skip

    assert stored(offered, look) == (3, 5, 1)


def test_a_trace_is_found_by_the_beginning_of_its_id() -> None:
    def look(store: RunStore) -> list[int]:
        texts = [numbered(1).hex(), numbered(1).hex()[:8].upper(), "0123456789abcdef"]
        return [len(page_of(store.database, Filter(text=text)).runs) for text in texts]

    assert stored(verdicts(3), look) == [1, 1, 0]


def test_what_looks_like_the_beginning_of_a_trace_id_is_a_word_where_no_trace_has_it() -> None:
    conversation = "3f2a9c4e5b6d7f8091a2b3c4d5e6f708"
    run = {"user_input": "refund order 10048823 please", "conversation_id": conversation}

    def look(store: RunStore) -> list[list[str]]:
        texts = ["10048823", "order 10048823", conversation.upper(), numbered(0).hex()[:8], "deadbeef"]
        pages = [page_of(store.database, Filter({"agent": "helper"}, text=text)) for text in texts]
        return [[found["trace"] for found in page.runs] for page in pages]

    told, other = numbered(1).hex(), numbered(0).hex()
    assert stored([*verdicts(1), *verdicts(1, first=1, run=run)], look) == [[told], [told], [told], [other], []]


def test_counts_of_a_minute_are_one_row_and_a_full_table_loses_whole_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "MAX_COUNTS", 20)
    tally = Tally()
    for verdict in [*verdicts(2), *verdicts(1, "fail", first=2)]:
        tally.add(verdict)
    counts = tally.take()
    database = RunsDatabase(None, 8 << 20)
    database.open()
    for hour in range(15):
        for _ in range(3):
            database.write([], counts, hour * 3600)
    assert database.read("SELECT count(*) FROM counts") == [(30,)]
    database.prune(15 * 3600, 1e9)
    kept = counted_by(database, ["rule"], Filter(), 3600)
    assert {at for at, _ in kept} == {3600 * hour for hour in range(6, 15)}
    assert set(kept.values()) == {Counted(passed=6, failed=3)}
    database.close()


@TELLS_TEMPORARY_FILES
def test_no_temporary_file_is_opened_however_much_is_pruned(tmp_path: Path) -> None:
    database, found = RunsDatabase(tmp_path, 256 << 20), list[str]()
    database.open()
    numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
    columns = "i, i, '', 'run', 0, 0.0, 1, 1, 1.0, 1.0, 0, 1, ''"
    database._connection.execute(f"INSERT INTO runs {numbers} SELECT {columns} FROM n")
    database._connection.set_progress_handler(lambda: found.extend(temporary_files()), 1_000_000)
    database.prune(1e9, 1.0)
    assert database.read("SELECT count(*) FROM runs") == [(0,)]
    assert found == []
    database.close()


def test_pages_of_runs_have_each_run_once() -> None:
    def look(store: RunStore) -> list[str]:
        found, after = [], None
        while True:
            page = page_of(store.database, Filter(), after, 3)
            found += [run["trace"] for run in page.runs]
            if (after := page.next) is None:
                return found

    assert stored(verdicts(8), look) == [numbered(number).hex() for number in reversed(range(8))]


def test_all_runs_are_counted_and_a_fair_sample_of_many_is_stored() -> None:
    seconds = 40

    async def run() -> tuple[Any, list[dict[str, Any]]]:
        clock = ManualClock()
        store = store_of(clock)
        await store.start()
        for second in range(seconds):
            for verdict in verdicts(400, first=400 * second):
                store.offer(verdict)
                clock.seconds += 1 / 400
            store.advance()
            await until(lambda: not store._waiting.qsize())
        await store.stored()
        found = counted_by(store.database, ["rule"], Filter()), page_of(store.database, Filter(), size=5_000).runs
        store.database.close()
        return found

    counts, runs = asyncio.run(run())
    assert counts == {("weather",): Counted(passed=400 * seconds)}
    sampled = [one for one in runs if one["weight"] > 1]
    assert 2 * seconds < len(sampled) < 40 * seconds
    assert sum(one["weight"] for one in runs) == pytest.approx(400 * seconds, rel=0.35)


def test_a_sample_takes_all_runs_of_a_trace_or_none() -> None:
    sample = RateSample(5, CHANCE)
    for number in range(1000):
        sample.takes(numbered(number), number / 500)
    assert sample.weight > 10
    taken = {number: sample.takes(numbered(number), 2.0) for number in range(200)}
    assert taken == {number: sample.takes(numbered(number), 2.0) for number in range(200)}
    assert 0 < sum(taken.values()) < 40


def test_ids_that_were_chosen_are_taken_no_more_often_than_others() -> None:
    sample = RateSample(5, CHANCE)
    for number in range(1000):
        sample.takes(number.to_bytes(16), number / 500)
    assert sum(sample.takes(number.to_bytes(16), 2.0) for number in range(200)) < 40


def test_of_a_burst_no_more_than_a_fair_sample_is_taken() -> None:
    offered, bursts, weights = 4000, 25, list[float]()
    for burst in range(bursts):
        sample, before = RateSample(10, CHANCE), len(weights)
        for number in range(offered):
            if sample.takes(numbered(burst * offered + number), 10.0 + number / offered):
                weights.append(sample.weight)
        assert len(weights) - before < 300, "and not all 4,000"
    assert sum(weights) == pytest.approx(offered * bursts, rel=0.25)


@pytest.mark.parametrize("per_second", [10, 25])
def test_a_hundred_runs_at_once_are_taken_whole_at_any_rate(per_second: float) -> None:
    sample = RateSample(per_second, CHANCE)
    taken = [sample.takes(numbered(number), 10.0) for number in range(200)]
    assert all(taken[:100])
    assert sum(taken) <= stores.MAX_WAITING, "with those of the other kind they fit into what waits"
    assert not all(taken[100:])


def test_the_runs_of_one_trace_stay_together_in_a_burst() -> None:
    sample = RateSample(10, CHANCE)
    taken = [sample.takes(numbered(number // 40), 10.0) for number in range(4000)]
    assert all(len(set(taken[at : at + 40])) == 1 for at in range(0, 4000, 40))
    assert 40 < sum(taken) < 1000


def test_wrong_runs_outlive_right_ones_and_the_size_is_kept(tmp_path: Path) -> None:
    database = RunsDatabase(tmp_path, 2 << 20)
    database.open()
    row = stored(verdicts(1, "fail"), lambda store: of_trace(store.database, numbered(0).hex()))[0]
    for batch in range(60):
        rows = []
        for number in range(100):
            label = "fail" if number < 10 else "pass"
            padding = {"noise": numbered(batch * 100 + number).hex() * 20}
            rows.append(
                {**row, **padding, "label": label, "trace_id": numbered(batch * 100 + number).hex(), "at": batch + 1.0}
            )
        database.write(rows, {}, batch)
        database.prune(batch + 1.0, 1e9)
        assert database.used() <= 2 << 20
    kept = dict(database.read("SELECT label, count(*) FROM runs JOIN kinds ON kinds.id = kind GROUP BY label"))
    assert kept["fail"] == 600, "none of them has to go yet"
    assert 0 < kept["pass"] < 5400
    assert database.read("SELECT min(at) FROM runs WHERE usual = 0") == [(1.0,)]
    assert database.read("SELECT count(*) FROM bodies") == database.read("SELECT count(*) FROM runs")
    database.prune(100.0, 50.0)
    assert database.read("SELECT count(*) FROM runs WHERE at < 50") == [(0,)]
    database.close()


def test_old_counts_are_gathered_by_the_hour(tmp_path: Path) -> None:
    tally = Tally()
    for verdict in verdicts(3):
        tally.add(verdict)
    counts = tally.take()
    database = RunsDatabase(None, 8 << 20)
    database.open()
    for minute in range(600):
        database.write([], counts, minute * 60)
    before = counted_by(database, ["rule"], Filter(), 3600)
    database.prune(600 * 60, 1e9)
    assert database.read("SELECT count(*) FROM counts")[0][0] < 300
    database.prune(600 * 60, 1e9)
    assert counted_by(database, ["rule"], Filter(), 3600) == before
    assert before[0, "weather"] == Counted(passed=180)
    database.close()


def test_the_version_that_came_up_last_is_the_first_offered_whichever_ran_last() -> None:
    database = RunsDatabase(None, 8 << 20)
    database.open()
    runs = [("1.3.0", "helper"), ("1.4.0", "helper"), ("1.5.0", "helper"), ("1.4.0", "helper"), ("1.4.0", "another")]
    for minute, (version, agent) in enumerate(runs):
        tally = Tally()
        tally.add(verdict_of("look", run={"agent": agent, "attributes": {"service.version": version}}))
        database.write([], tally.take(), minute * 60)
    assert dimensions_since(database, 60)["service.version"] == ["1.5.0", "1.4.0"]
    database.close()


def test_shadow_rules_are_counted_apart() -> None:
    offered = [*verdicts(1), *verdicts(2, first=1, shadow=True)]
    both = [["rule"], ["rule", "shadow"]]
    alone, apart = stored(offered, lambda store: [counted_by(store.database, keys, Filter()) for keys in both])
    assert alone == {("weather",): Counted(passed=1)}
    assert apart == {("weather", 0): Counted(passed=1), ("weather", 1): Counted(passed=2)}


def test_series_beyond_the_limit_are_counted_together() -> None:
    tally = Tally()
    for number in range(MAX_SERIES + 5):
        tally.add(verdict_of("look", run={"agent": f"agent {number}"}))
    counts = tally.take()
    assert len(counts) == MAX_SERIES + 1
    assert sum(count for series, count in counts.items() if series.agent == OTHER) == 5


def test_what_redact_hides_is_in_no_byte_of_the_store(tmp_path: Path) -> None:
    calls = [ToolCall("pay", {"card": "4111111111111111", "to": ["s3cret-one"]}, step=0)]
    run = run_of(trace_id=numbered(1), trajectory=Trajectory(calls), user_input="card 4111111111111111 please",
                 attributes={"user.email": "s3cret@x"}, call_span_ids=(None,))  # fmt: skip
    config = {
        "redact": {"patterns": [r"\b[0-9]{16}\b", "s3cret-[a-z]+"], "attributes": ["user.*"]},
        "runs": {"path": str(tmp_path)},
    }
    (row,) = stored([Verdict(run, "root")], lambda store: of_trace(store.database, numbered(1).hex()), **config)
    assert "4111" not in json.dumps(row)
    assert "s3cret" not in json.dumps(row)
    assert row["tool_calls"][0]["arguments"] is not None
    assert row["trace_id"] == numbered(1).hex()
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"4111" not in files
    assert b"s3cret" not in files


def test_what_redact_hides_is_in_nothing_that_runs_are_counted_and_filtered_by(tmp_path: Path) -> None:
    attributes = {"service.version": "2 of ada@example.com", "deployment.environment": "s3cret", "service.name": "shop"}
    run = {"route": "/chat/ada@example.com", "intent": "mail bob@example.com", "agent": "helper of eve@example.com"}
    config = {
        "redact": {"patterns": ["[a-z]+@[a-z.]+"], "attributes": ["deployment.*"]},
        "runs": {"path": str(tmp_path)},
    }

    def look(store: RunStore) -> Any:
        found = values_of(store.database, ("route", "intent", "agent"), 0.0)
        dimensions = dimensions_since(store.database, 0.0)
        links = [Filter({name: value}) for name, (value,) in found.items()]
        links += [Filter(dimensions={name: value}) for name, (value,) in dimensions.items()]
        return found | dimensions, [len(page_of(store.database, link).runs) for link in links], store.dimensions

    offered = verdicts(1, "fail", run={**run, "attributes": attributes})
    found, linked, dimensions = stored(offered, look, **config)
    assert found == {
        "route": ["/chat/[redacted]"], "intent": ["mail [redacted]"], "agent": ["helper of [redacted]"],
        "service.version": ["2 of [redacted]"], "service.name": ["shop"],
    }  # fmt: skip
    assert linked == [1] * 5
    assert "deployment.environment.name" not in dimensions
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"example.com" not in files
    assert b"s3cret" not in files


def test_a_long_name_leads_to_its_runs() -> None:
    run = {"route": "/r" * 90, "agent": "a" * 150, "attributes": {"service.version": "v" * 150}}

    def look(store: RunStore) -> list[int]:
        ((route, agent),) = counted_by(store.database, ["route", "agent"], Filter())
        (version,) = dimensions_since(store.database, 0.0)["service.version"]
        links = Filter({"route": route}), Filter({"agent": agent}), Filter(dimensions={"service.version": version})
        return [len(page_of(store.database, link).runs) for link in links]

    assert stored(verdicts(1, run=run), look) == [1, 1, 1]


@pytest.mark.parametrize("length", [180, 128])  # in full, and as labels of metrics and the page about drift have it
def test_a_long_name_finds_its_runs_however_much_of_it_is_told(length: int) -> None:
    long = "n" * 180

    def look(store: RunStore) -> list[int]:
        wanted = [Filter({name: long[:length]}) for name in ("route", "intent", "agent")]
        wanted.append(Filter(dimensions={"service.version": long[:length]}))
        assert [total_of(counted_by(store.database, ["rule"], one).values()).passed for one in wanted] == [1] * 4
        return [len(page_of(store.database, one).runs) for one in wanted]

    run = {"route": long, "intent": long, "agent": long, "attributes": {"service.version": long}}
    assert stored(verdicts(1, run=run), look) == [1] * 4


def test_hidden_arguments_and_inputs_are_left_out() -> None:
    calls = [ToolCall("pay", {"card": "1"})]
    hidden = frozenset({"arguments", "input"})
    run = run_of(trajectory=Trajectory(calls), user_input="hello", call_span_ids=(None,), hidden=hidden)
    config = {"redact": {"attributes": ["acme.*"]}}
    (row,) = stored([Verdict(run, "root")], lambda store: of_trace(store.database, run.trace_id.hex()), **config)
    assert (row["tool_calls"][0]["arguments"], row["user_input"]) == (None, None)


def test_a_huge_run_is_cut_before_it_waits() -> None:
    calls = [ToolCall("call", {"text": "x" * 1000, "deep": [[[1]]]}, step=at) for at in range(MAX_CALLS + 50)]
    verdict = verdict_of(run={"trajectory": Trajectory(calls), "call_span_ids": (), "user_input": "y" * 100_000})
    kept, cut = bounded(verdict)
    shown = [call for call in kept.run.trajectory.calls if call.arguments is not None]
    assert cut
    assert len(kept.run.trajectory.calls) == len(kept.outcomes) == MAX_CALLS
    assert 100 < len(shown) <= MAX_TEXT // 1000
    assert len(kept.run.user_input or "") == 2000
    wide = verdict_of(
        run={"trajectory": Trajectory([ToolCall("wide", {"all": list(range(100_000))})]), "call_span_ids": (None,)}
    )
    assert bounded(wide)[0].run.trajectory.calls[0].arguments is None
    assert not bounded(verdict_of("look"))[1]


def raw(number: int, size: int = 0) -> tuple[Envelope, bytes]:
    """A span of a trace, as it leaves."""
    span = data.tool(number, 1, "look", trace_id=numbered(1), note="x" * size)
    return Envelope(b"", b""), span.SerializeToString()


def kept_spans(*offered: tuple[Verdict, list[tuple[Envelope, bytes]]]) -> list[int]:
    async def run() -> list[bytes]:
        store = store_of(ManualClock())
        await store.start()
        for verdict, spans in offered:
            store.offer(verdict, spans)
        await store.stored()
        found = [span for _, group in _spans(store.database, numbered(1).hex()) for span in group]
        store.database.close()
        return found

    return [int.from_bytes(span_id_of(span), "big") for span in asyncio.run(run())]


def test_the_spans_of_a_run_and_its_calls_are_stored_each_once() -> None:
    own = verdict_of("look", run={"trace_id": numbered(1)})  # spans 1 and 2
    shadow = verdict_of("look", run={"trace_id": numbered(1)}, shadow=True)
    spans = [raw(2), raw(7), raw(1)]
    assert kept_spans((own, spans), (shadow, spans)) == [2, 1]


def test_spans_of_late_calls_are_added() -> None:
    first = verdict_of("look", run={"trace_id": numbered(1)})
    late = verdict_of("look", "look", run={"trace_id": numbered(1)}, revision=1)
    assert kept_spans((first, [raw(2), raw(1)]), (late, [raw(3)])) == [2, 1, 3]


def test_spans_stored_of_a_run_are_limited_in_bytes() -> None:
    own = verdict_of("look", "look", run={"trace_id": numbered(1)})
    assert kept_spans((own, [raw(2, 50_000), raw(3, MAX_SPANS), raw(1)])) == [2, 1]


class LookedAt(list[tuple[Envelope, bytes]]):
    """Spans that count how often all of them were looked at."""

    times = 0

    def __iter__(self) -> Iterator[tuple[Envelope, bytes]]:
        self.times += 1
        return super().__iter__()


def test_the_spans_of_a_trace_are_looked_at_once_however_many_runs_it_has() -> None:
    spans = LookedAt(raw(number) for number in range(1, 50))
    store = store_of(ManualClock())
    for number in range(1, 40):
        store.advance()
        store.offer(
            verdict_of("look", label="fail", run={"trace_id": numbered(1), "span_id": data.span_id(number)}), spans
        )
    assert spans.times == 1
    assert store._waiting.qsize() == 39


def test_what_a_judge_says_is_put_beside_the_rule() -> None:
    async def run() -> list[list[str]]:
        store = store_of(ManualClock(), redact={"patterns": ["s3cret"]})
        await store.start()
        run = {"trace_id": numbered(1)}
        store.offer(verdict_of("look", label="fail", run=run))
        for value in (0.0, 1.0):
            said = evaluation(value=value, name="judge", explanation="it had s3cret reasons")
            store.add_judgement(verdict_of("look", evaluations=[said], judged=True, run=run))
        store.add_judgement(verdict_of(evaluations=[said], judged=True, run={"trace_id": numbered(2)}))
        await store.stored()
        (row,) = of_trace(store.database, numbered(1).hex())
        store.database.close()
        return [[one["name"], one["value"], one["explanation"]] for one in row["evaluations"]]

    assert asyncio.run(run()) == [["trajectory", 1.0, "because"], ["judge", 1.0, "it had [redacted] reasons"]]


def test_only_so_many_verdicts_on_a_trace_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MAX_OF_TRACE", 2)
    run = {"trace_id": numbered(1)}
    offered = [verdict_of("look", run={**run, "span_id": bytes([at]) * 8}) for at in range(1, 5)]

    def look(store: RunStore) -> tuple[list[str], int]:
        trace = numbered(1).hex()
        return [row["span_id"] for row in of_trace(store.database, trace)], number_of_trace(store.database, trace)

    assert stored(offered, look) == (["03" * 8, "04" * 8], 4)


def test_a_search_for_a_trace_has_all_of_its_runs_on_its_pages() -> None:
    offered = [verdict_of("look", run={"trace_id": numbered(1), "span_id": bytes([at]) * 8}) for at in range(1, 6)]

    def look(store: RunStore) -> list[list[str]]:
        pages, after = [], None
        while True:
            page = page_of(store.database, Filter(text=numbered(1).hex()[:12]), after, 2)
            pages.append([run["span"][:2] for run in page.runs])
            if (after := page.next) is None:
                return pages

    assert stored(offered, look) == [["05", "04"], ["03", "02"], ["01"]]


def test_a_run_of_many_calls_is_not_compared_again() -> None:
    rules = parse_rules({"rules": [{"name": "weather", "match": {}, "expect": {"sequence": ["look"]}}]}).rules
    rule = CompiledRule(rules[0])
    recorder = Recorder(Redaction(RedactionConfig()))
    compared = []
    for count in (MAX_COMPARED, MAX_COMPARED + 1):
        verdict = verdict_of(*["look"] * count, label="fail", compiled_rule=rule)
        compared.append(bool(recorder.row(Submitted(verdict, 1.0, 1.0, cut=False), [rule])["difference"]))
    assert compared == [True, False]


def test_a_store_in_memory_is_small() -> None:
    store = store_of(ManualClock(), runs={"max_size_mib": 4096})
    store.database.open()
    ((pages,),), ((size,),) = (store.database.read(f"PRAGMA {name}") for name in ("max_page_count", "page_size"))
    store.database.close()
    assert pages * size == stores.MAX_MEMORY_MIB << 20


def test_a_start_that_is_given_up_leaves_nothing_open(tmp_path: Path) -> None:
    async def run() -> RunStore:
        store = store_of(ManualClock(), runs={"path": str(tmp_path)})
        with store.database._lock, sqlite3.connect(tmp_path / NAME) as busy:
            busy.execute("BEGIN EXCLUSIVE")  # opening waits for it, on its thread
            starting = asyncio.create_task(store.start())
            await let_others_run()
            starting.cancel()
            busy.rollback()
        busy.close()
        with pytest.raises(asyncio.CancelledError):
            await starting
        return store

    store = asyncio.run(run())
    assert store.database._opened is None
    assert store._worker is None


@pytest.mark.parametrize("damage", ["no database", "torn", "older"])
def test_a_damaged_store_is_begun_anew(tmp_path: Path, damage: str) -> None:
    path, config = tmp_path / NAME, {"runs": {"path": str(tmp_path)}}
    stored(verdicts(200, "fail"), lambda store: None, **config)
    if damage == "no database":
        path.write_bytes(b"not SQLite at all" * 1000)
    elif damage == "torn":
        content = path.read_bytes()
        path.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
    else:
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version = 99")
        connection.close()
    found = stored(verdicts(1), lambda store: len(page_of(store.database, Filter()).runs), **config)
    assert found == 1


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / NAME)
    connection.execute("CREATE TABLE runs (id TEXT)")
    connection.close()
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(ConfigError, match="another program; name another folder"):
        RunsDatabase(tmp_path, 1 << 20).open()
    assert (tmp_path / NAME).read_bytes() == before


def test_a_store_that_another_process_holds_is_not_begun_anew_but_opened_later(tmp_path: Path) -> None:
    config = {"runs": {"path": str(tmp_path)}}
    stored(verdicts(3, "fail"), lambda store: None, **config)

    async def run() -> tuple[float, int, Counted]:
        telemetry = Telemetry()
        store = store_of(ManualClock(), telemetry, **config)
        holder = sqlite3.connect(tmp_path / NAME)
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        await store.start()
        for number in (10, 11):
            for verdict in verdicts(1, "fail", first=number):
                store.offer(verdict)
            store._is_time.set()
            await until(lambda: metric(telemetry, "not_writable") == 1)
            holder.close()
        await store.stored()
        found = (
            len(page_of(store.database, Filter()).runs),
            total_of(counted_by(store.database, ["rule"], Filter()).values()),
        )
        store.database.close()
        return metric(telemetry, "not_writable"), *found

    assert asyncio.run(run()) == (1.0, 4, Counted(failed=5))


async def damaged(clock: ManualClock, telemetry: Telemetry, folder: Path) -> RunStore:
    """An open store with 50 runs, all but the first page of which is overwritten."""
    store = store_of(clock, telemetry, runs={"path": str(folder)})
    await store.start()
    for verdict in verdicts(50, "fail", run={"user_input": "x" * 500}):
        store.offer(verdict)
    store.advance()
    await until(lambda: store.generation)  # also pruned: that would find the damage, too
    execute(store, "PRAGMA wal_checkpoint(TRUNCATE)")
    size = (folder / NAME).stat().st_size
    with (folder / NAME).open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    execute(store, "PRAGMA cache_size = 0")
    clock.seconds += 10
    return store


def test_a_store_that_is_damaged_while_it_is_open_is_begun_anew_and_no_verdict_is_lost_to_it(tmp_path: Path) -> None:
    async def run() -> tuple[int, float]:
        telemetry = Telemetry()
        store = await damaged(ManualClock(), telemetry, tmp_path)
        for verdict in verdicts(20, "fail", first=60):
            store.offer(verdict)
        await store.stored()
        kept = len(page_of(store.database, Filter()).runs)
        store.database.close()
        return kept, metric(telemetry, "not_writable")

    assert asyncio.run(run()) == (20, 0.0)


def test_a_damaged_store_that_cannot_be_begun_anew_at_once_is_opened_later(tmp_path: Path) -> None:
    async def run() -> tuple[int, float]:
        telemetry, folder = Telemetry(), tmp_path / "runs"
        store = await damaged(ManualClock(), telemetry, folder)
        folder.rename(tmp_path / "away")
        for verdict in verdicts(3, "fail", first=60):
            store.offer(verdict)
        store.advance()
        await until(lambda: metric(telemetry, "not_writable") == 3)
        for verdict in verdicts(2, "fail", first=70):
            store.offer(verdict)
        await store.stored()
        kept = len(page_of(store.database, Filter()).runs)
        store.database.close()
        return kept, metric(telemetry, "not_writable")

    assert asyncio.run(run()) == (2, 3.0)


def test_what_waits_for_a_disk_that_does_not_answer_is_bounded_and_counts_are_exact_after_it(tmp_path: Path) -> None:
    async def run() -> tuple[int, Counted]:
        clock = ManualClock()
        store = store_of(clock, runs={"path": str(tmp_path)})
        await store.start()
        with store.database._lock:  # as long as its thread waits for the disk
            for verdict in verdicts(1_000, "fail"):
                store.offer(verdict)
                clock.seconds += 1
                store.advance()
            waiting = store._waiting.qsize()
        await store.stored()
        found = total_of(counted_by(store.database, ["rule"], Filter()).values())
        store.database.close()
        return waiting, found

    waiting, found = asyncio.run(run())
    assert waiting <= stores.MAX_WAITING
    assert found == Counted(failed=1_000)


def test_old_runs_go_though_the_clock_was_set_back_by_a_year(tmp_path: Path) -> None:
    class SetBack(ManualClock):
        back_ns = 0

        def _wall_ns(self) -> int:
            return super()._wall_ns() - self.back_ns

    async def run() -> bool:
        clock = SetBack()
        store = store_of(clock, runs={"path": str(tmp_path), "keep": "1h"})
        await store.start()
        for number in range(3):
            for verdict in verdicts(1, "fail", first=number):
                store.offer(verdict)
            before = store.generation
            store.advance()
            await until(lambda before=before: store.generation > before)
            clock.back_ns = 365 * 86_400 * 1_000_000_000
            clock.seconds += 7_200
        runs = store.database.read("SELECT trace FROM runs")
        await store.shutdown()
        return sorted(runs) == sorted([(numbered(0).hex(),), (numbered(2).hex(),)])

    assert asyncio.run(run())  # the first is of a time that is still to come


def test_a_damaged_run_is_told_as_such() -> None:
    def look(store: RunStore) -> str:
        execute(store, "UPDATE bodies SET body = x'00', spans = x'00'")
        told = []
        for ask in (
            lambda: of_trace(store.database, numbered(0).hex()),
            lambda: [*store.database.spans(numbered(0).hex())],
        ):
            with pytest.raises(StoreUnreadableError) as caught:
                ask()
            told.append(str(caught.value).partition(":")[0])
        return " and ".join(told)

    assert stored(verdicts(1), look) == "a stored run is damaged and spans of a stored run are damaged"


def test_a_damaged_run_ends_neither_the_thread_nor_what_follows_it() -> None:
    async def run() -> list[list[Any]]:
        store = store_of(ManualClock())
        await store.start()
        for number in (1, 2):
            store.offer(verdict_of("look", label="fail", run={"trace_id": numbered(number)}))
        store._is_time.set()
        await until(lambda: store.database.read("SELECT count(*) FROM runs") == [(2,)])
        execute(store, "UPDATE bodies SET body = x'00', spans = x'00'")
        said = [evaluation("fail", 0.0, "judge")]
        store.add_judgement(verdict_of(evaluations=said, judged=True, run={"trace_id": numbered(2)}))
        store.offer(verdict_of("look", "act", label="pass", revision=1, run={"trace_id": numbered(1)}))
        store.offer(verdict_of("look", label="fail", run={"trace_id": numbered(3)}))
        await store.stored()
        rows = [of_trace(store.database, numbered(number).hex())[0] for number in (1, 3)]
        assert list(store.database.spans(numbered(1).hex()))
        store.database.close()
        return [[one["label"] for one in row["evaluations"]] for row in rows]

    assert asyncio.run(run()) == [["pass"], ["fail"]]


def test_a_judgement_that_cannot_be_stored_ends_neither_the_thread_nor_what_follows_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]

    async def run() -> list[Any]:
        store = store_of(ManualClock(), redact={"patterns": ["[0-9]{16}"]})
        await store.start()
        said = [evaluation("fail", 0.0, "judge", details={"steps": deep})]
        store.add_judgement(verdict_of(evaluations=said, judged=True, run={"trace_id": numbered(1)}))
        store._is_time.set()
        await until(lambda: "could not be stored" in caplog.text)
        store.offer(verdict_of("look", label="fail", run={"trace_id": numbered(2)}))
        await store.stored()
        found = of_trace(store.database, numbered(2).hex())
        store.database.close()
        return [row["label"] for row in found]

    assert asyncio.run(run()) == ["fail"]


def test_runs_survive_a_restart_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    config = {"runs": {"path": str(tmp_path / "new")}}
    stored(verdicts(2, "fail"), lambda store: None, **config)
    assert (tmp_path / "new" / NAME).stat().st_mode & 0o077 == 0
    assert stored(verdicts(1, first=9), lambda store: len(page_of(store.database, Filter()).runs), **config) == 3


def test_a_full_disk_is_counted_and_delays_nobody(tmp_path: Path) -> None:
    async def run() -> Telemetry:
        clock, telemetry = ManualClock(), Telemetry()
        store = store_of(clock, telemetry, runs={"path": str(tmp_path)})
        await store.start()
        execute(store, "PRAGMA max_page_count = 20")
        for verdict in verdicts(150, "fail", run={"user_input": "x" * 2000}):
            store.offer(verdict)
        store.advance()
        await until(lambda: metric(telemetry, "not_writable") > 0)
        await store.shutdown()
        return telemetry

    assert metric(asyncio.run(run()), "not_writable") > 0


def test_what_is_offered_is_stored_together_each_second_and_at_once_where_much_waits() -> None:
    async def run() -> list[Any]:
        clock, found = ManualClock(), list[Any]()
        clock.seconds = 10.0
        store = store_of(clock)
        await store.start()
        store.advance()
        for count in (3, stores._URGENT - 2):
            for verdict in verdicts(count, "fail", first=1000 * count):
                store.offer(verdict)
                clock.seconds += 0.1 if count > 3 else 0.0  # more than are taken in a burst
            if count == 3:
                store.advance()
                found.append(store.database.read("SELECT count(*) FROM runs"))
        await until(lambda: not store._waiting.qsize())
        await store.stored()
        found.append(store.database.read("SELECT count(*) FROM runs"))
        store.database.close()
        return found

    assert asyncio.run(run()) == [[(0,)], [(1 + stores._URGENT,)]]


def test_a_store_that_writes_nothing_takes_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, telemetry = ManualClock(), Telemetry()
    store = store_of(clock, telemetry)  # its thread is never started
    for verdict in verdicts(stores.MAX_WAITING + 7, "fail"):
        store.offer(verdict)
        clock.seconds += 0.1
    assert (store._waiting.qsize(), metric(telemetry, "queue_full")) == (stores.MAX_WAITING, 7)


def test_reasons_group_what_failed_alike() -> None:
    offered = [
        *verdicts(3, "fail"),
        *verdicts(2, "incomplete", first=3, doubts=["missing_span"]),
        *verdicts(4, first=5),
    ]
    groups = stored(offered, lambda store: reasons(store.database, Filter(), 10))
    assert [(group.label, round(group.runs)) for group in groups] == [("fail", 3), ("incomplete", 2)]


def test_a_revised_verdict_replaces_the_earlier_one_and_is_counted_once() -> None:
    first, second = verdict_of("look", label="pass"), verdict_of("look", "act", label="fail", value=0.0, revision=1)

    def look(store: RunStore) -> Any:
        runs = page_of(store.database, Filter()).runs
        return [run["label"] for run in runs], counted_by(store.database, ["rule"], Filter())

    assert stored([first, second], look) == (["fail"], {("weather",): Counted(passed=1)})


def revised_under_load(fails: int, revised: int) -> tuple[list[Any], float]:
    """Fails, and passes that revise verdicts, while far more runs pass than are stored.

    Returns label, revision and weight of what is stored of the fails, and how many of the passes had no room.
    """

    async def run() -> tuple[list[Any], float]:
        clock, telemetry = ManualClock(), Telemetry()
        store = store_of(clock, telemetry)
        await store.start()
        for _ in range(2):  # the share that is stored follows the second before
            for verdict in verdicts(4_000, first=10_000):
                store.offer(verdict)
            clock.seconds += 1
            store.advance()
            await until(lambda: not store._waiting.qsize())
        dropped = metric(telemetry, "queue_full")
        for verdict in [*verdicts(fails, "fail"), *verdicts(revised, "pass", revision=1)]:
            store.offer(verdict)
        await store.stored()
        rows = [row for number in range(fails) for row in of_trace(store.database, numbered(number).hex())]
        store.database.close()
        return [(row["label"], row["revision"], row["weight"]) for row in rows], metric(
            telemetry, "queue_full"
        ) - dropped

    return asyncio.run(run())


def test_a_verdict_that_is_stored_is_revised_whatever_the_sample_takes() -> None:
    found, dropped = revised_under_load(50, 50)
    assert len(found) == 50
    assert {(label, revision) for label, revision, _ in found} == {("pass", 1)}
    assert [weight for *_, weight in found].count(1.0) > 40, "and stands for as many as before"
    assert dropped == 0


def test_only_so_many_revised_verdicts_that_no_sample_takes_are_handed_over() -> None:
    _, dropped = revised_under_load(0, 2 * stores.MAX_REVISED)
    assert 0.8 * stores.MAX_REVISED < dropped <= stores.MAX_REVISED


def test_a_revised_verdict_on_a_run_that_is_not_stored_is_left_out_like_the_first() -> None:
    async def run() -> list[Any]:
        clock = ManualClock()
        store = store_of(clock)
        await store.start()
        for revision in (0, 0, 1):
            for verdict in verdicts(1_000, revision=revision):
                store.offer(verdict)
            clock.seconds += 1
            store.advance()
            await until(lambda: not store._waiting.qsize())
        await store.stored()
        found = store.database.read("SELECT count(*) FROM runs")
        store.database.close()
        return found

    ((count,),) = asyncio.run(run())
    assert 100 <= count < 300


def test_what_a_judge_said_of_a_run_stays_when_it_is_revised() -> None:
    async def run() -> list[list[Any]]:
        store = store_of(ManualClock())
        await store.start()
        store.offer(verdict_of("look", label="fail"))
        store.add_judgement(verdict_of("look", evaluations=[evaluation("fail", 0.0, "judge")], judged=True))
        store._is_time.set()
        await until(lambda: not store._waiting.qsize())
        store.offer(verdict_of("look", "act", label="pass", revision=1))
        await store.stored()
        (row,) = of_trace(store.database, run_of().trace_id.hex())
        store.database.close()
        return [[one["name"], one["label"]] for one in row["evaluations"]]

    assert asyncio.run(run()) == [["trajectory", "pass"], ["judge", "fail"]]
