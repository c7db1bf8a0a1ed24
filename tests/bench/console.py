"""How long the pages of the console take with a full store: ``make bench-console`` prints it as a table.

``python -m tests.bench.console 1000000`` writes so many runs first: the store stays within its bounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from collector.config.model import ConsoleConfig, RedactionConfig, RunsConfig
from collector.console.app import _page
from collector.console.context import Context
from collector.console.request import Request, parse_query
from collector.results.redaction import Redaction
from collector.runs.database import HOUR, MAX_COUNTS, RunsDatabase
from collector.runs.record import Recorder, Submitted
from collector.runs.rows import Row
from collector.runs.tally import DIMENSIONS, Series
from collector.scoring.rule_files import load_rules
from tests.console import seed

RUNS = 130_000
_WEEK = 7 * 24 * HOUR
_SERIES = MAX_COUNTS // 210  # each has so many counts of a week
_BATCH = 500
_TIMES = 7
PAGES = (
    "/console?range=1h", "/console?range=24h", "/console?range=7d", "/console?range=30d",
    "/console/runs", "/console/runs?label=wrong", "/console/runs?label=undecided&range=7d",
    "/console/runs?rule=rule+3&agent=agent+3&range=7d", "/console/runs?route=/nowhere", "/console/runs?intent=none",
    "/console/runs?agent=nobody", "/console/runs?rule=none&label=fail&range=7d", "/console/runs?reason=none",
    "/console/runs?tool=lookup_order&outcome=wrong_arguments", "/console/runs?tool=none", "/console/runs?doubt=none",
    "/console/runs?service.version=2.4.0", "/console/runs?service.version=none", "/console/runs?q=order+7",
    "/console/runs?q=nowhere+to+be+found", "/console/runs?since=1000&until=2000", "/console/runs?after=300&limit=500",
    "/console/rules?range=24h", "/console/rules?range=7d", "/console/rules?range=30d",
    "/console/compare?range=24h", "/console/compare?range=7d", "/console/compare?range=7d&over=time",
    "/console/compare?range=7d&over=agent&by=rule", "/console/compare?range=7d&over=rule&by=route",
    "/console/compare?range=30d&over=service.version", "/console/config", "/console/tests?label=fail",
    "/runs?limit=500",
)  # fmt: skip
"""Every page, with the queries that look at the most."""


class Timed(NamedTuple):
    """A page, and how long it took in milliseconds."""

    path: str
    median: float
    longest: float


def fill(folder: Path, runs: int = RUNS, series: int = _SERIES) -> RunsDatabase:
    """Returns an open store of the default size with as many runs as fit, of a week, and as many counts as are kept."""
    random, now = Random(5), int(time.time())
    database = RunsDatabase(folder, RunsConfig().max_size_mib << 20)
    database.open()
    kinds = _rows(folder)
    for at in range(now - _WEEK, now - 3 * HOUR, HOUR):
        database.write((), dict(_counts(random, series, 60)), at)
    for at in range(now - 3 * HOUR, now, 60):
        database.write((), dict(_counts(random, series, 1)), at)
    for number in range(0, runs, _BATCH):
        at = now - _WEEK + _WEEK * number // runs
        database.write([_run(random, kinds, at) for _ in range(min(_BATCH, runs - number))], {}, at)
        if number % (20 * _BATCH) == 0:
            database.prune(now, _WEEK + HOUR)
    database.prune(now, _WEEK + HOUR)
    return database


def _rows(folder: Path) -> list[Row]:
    recorder, found = Recorder(Redaction(RedactionConfig())), list[Row]()
    for kinds in seed.verdicts(folder).values():
        rules = load_rules([folder / "seed.yaml"]).set.rules
        found += [recorder.row(Submitted(verdict, 0.0, 1.0, cut=False), rules) for verdict, _ in kinds]
    return found


def _run(random: Random, kinds: list[Row], at: float) -> Row:
    number = random.randrange(20)
    row = {
        **random.choice(kinds), "trace_id": random.randbytes(16).hex(), "at": at + random.random(),
        "agent": f"agent {number}", "route": f"/chat/{number}", "intent": f"intent {number % 7}",
        "user_input": f"where is my order {random.randrange(10_000)}, which I placed {random.randbytes(30).hex()}",
    }  # fmt: skip
    if row["rule"]:
        row["rule"] = f"rule {number}"
    if row["label"] not in ("pass", ""):
        row["reasons"] = [f"{row['reasons'][0]} {random.randrange(20)}"]
    return row


def _counts(random: Random, series: int, most: int) -> Iterator[tuple[Series, int]]:
    for number in range(series):
        agent, version = number // 2 % 20, ("2.3.1", seed.WORSE)[number % 2]
        label = ("pass", "fail", "pass", "incomplete", "no_rule", "pass", "fail")[number // 40 % 7]
        doubt = f"doubt {number // 280}" if label == "incomplete" else ""
        yield Series(
            f"rule {agent}" if label != "no_rule" else "", "d1" if label != "no_rule" else "", "run", False, label,
            f"/chat/{agent}", f"intent {number // 280 % 7}", f"agent {agent}", "otel", doubt,
            (("service.name", "shop"), ("service.version", version), ("gen_ai.request.model", "gpt")),
        ), random.randrange(1, most + 1)  # fmt: skip


def times(database: RunsDatabase, folder: Path) -> Iterator[Timed]:
    """Make every page, in the time of one thread, whatever else the machine does."""
    rules, config = load_rules([folder / "seed.yaml"]), ConsoleConfig()
    ((trace,),) = database.read("SELECT trace FROM runs WHERE usual = 0 LIMIT 1")
    for address in (*PAGES, f"/console/runs/{trace}", f"/runs/{trace}"):
        path, _, query = address.partition("?")
        took = []
        for _ in range(_TIMES):
            began = time.thread_time()
            request = Request(path, parse_query(query.encode()))
            reply = _page(Context(request, database, DIMENSIONS, rules, config, (), {"a": {"section": 1}}))
            took.append(1000 * (time.thread_time() - began))
            assert reply.status == 200, address
        yield Timed(address, median(took), max(took))


def main(runs: int) -> None:
    """Fill a store, and print a line for each page."""
    with TemporaryDirectory(prefix="rightcall-full-") as name:
        began, folder = time.monotonic(), Path(name)
        database = fill(folder, runs)
        ((kept,),), ((counts,),) = (database.read(f"SELECT count(*) FROM {table}") for table in ("runs", "counts"))
        print(f"{kept:,} runs, {counts:,} rows of counts, {database.used() >> 20} MiB, "
              f"written in {time.monotonic() - began:.0f} s")  # fmt: skip
        on_disk = sum(path.stat().st_size for path in folder.glob("runs.db*")) >> 20
        print(
            f"{on_disk} MiB on disk, of which none is given back; {getrusage(RUSAGE_SELF).ru_maxrss >> 10} MiB of memory"
        )
        for one in sorted(times(database, folder), key=lambda timed: -timed.median):
            print(f"{one.median:8.1f} ms  {one.longest:8.1f} ms at most  {one.path}")
        database.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.console", description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=RUNS, help="how many runs are written first")
    main(parser.parse_args().runs)
