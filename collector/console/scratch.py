"""The scratch pad: stored runs scored by rules that somebody edits in a browser. Nothing is saved, all is limited."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from collector.errors import ConfigError
from collector.runs.database import RunsDatabase
from collector.runs.queries import Filter, latest
from collector.runs.restored import run_of
from collector.scoring.rule_files import LoadedRules, load_rules
from collector.scoring.select_and_score import verdict_of_run

MAX_BYTES: Final = 65_536
"""Size of rules that are tried."""
MAX_RUNS: Final = 300
"""Stored runs on which they are tried, the latest."""
MAX_SECONDS: Final = 2.0
"""After which no further run is tried."""
MAX_READING: Final = 2.0
"""Seconds that rules may take to be read."""


class Changed(NamedTuple):
    """A run whose verdict is another one by the rules that are tried."""

    trace_id: str
    agent: str
    before: str
    after: str
    rule_before: str
    rule_after: str
    why: str


class Tried(NamedTuple):
    """What came of it."""

    runs: int
    changed: Sequence[Changed]
    cut_short: bool


def try_rules(database: RunsDatabase, text: str) -> Tried:
    """Score the latest stored runs by these rules. Raises ConfigError where they are none."""
    if len(text.encode()) > MAX_BYTES:
        raise ConfigError(f"more than {MAX_BYTES} bytes")
    due = time.monotonic() + MAX_READING

    def stop_when_due() -> None:
        if time.monotonic() > due:
            raise ConfigError(
                f"these rules take more than {MAX_READING:g} s to be read: try fewer at once, or shorter regexes"
            )

    try:
        rules = _load(text, stop_when_due)
    except OSError as error:
        raise ConfigError(f"no temporary folder to try them in: {error.strerror}; mount one at /tmp") from None
    until, tried, changed = time.monotonic() + MAX_SECONDS, 0, list[Changed]()
    for row in latest(database, Filter({"scope": "run"}), MAX_RUNS):
        # Between runs: one evaluation is limited by its work.
        if time.monotonic() > until:
            return Tried(tried, changed, cut_short=True)
        # Of a run that was cut any verdict would be one on its beginning.
        if row["cut"] or row["shadow"]:
            continue
        tried += 1
        verdict = verdict_of_run(run_of(row), rules.set)
        before, after = row["label"] or "no_rule", verdict.label or "no_rule"
        if before != after:
            why = next((one.score.explanation for one in verdict.evaluations if one.primary), "no rule matches")
            changed.append(
                Changed(row["trace_id"], row["agent"] or "", before, after, row["rule"] or "", verdict.rule or "", why)
            )
    return Tried(tried, changed, cut_short=False)


def _load(text: str, pause: Callable[[], None]) -> LoadedRules:
    """Read the rules as a reload does. Raises ConfigError, and OSError if there is no folder for temporary files."""
    # A file, so that the pad refuses what a reload refuses, in the same words and with the same lines.
    with tempfile.TemporaryDirectory(prefix="rightcall-pad-") as folder:
        path = Path(folder) / "rules.yaml"
        path.write_text(text, "utf-8")
        try:
            return load_rules([path], pause=pause)
        except ConfigError as error:
            raise ConfigError(str(error).replace(f"{folder}/", "")) from None
