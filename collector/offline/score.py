"""Verdicts and runs of recorded traces, as lists or one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from collector.offline.parts import Request
from collector.offline.progress import Progress
from collector.offline.scorer import Scorer
from collector.offline.stream import Evaluation, Lists
from collector.reconstruction.run import Run
from collector.runs.explained import closest_rule
from collector.runs.rows import Row, row_of
from collector.scoring.rule_files import LoadedRules
from collector.scoring.select_and_score import RunningBelow, nothing_runs
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry
from scorers import RuleSet


def score_files(paths: Iterable[Path], rules: LoadedRules) -> list[Verdict]:
    """The verdicts of every agent run in the files, then of their conversations: for few runs. Raises InputError.

    Each folder is one set of traces.
    """
    found = Evaluation([Scorer(rules)], _only).of_files(paths)
    return [verdict for verdicts in found for verdict in verdicts]


def read_runs(
    paths: Iterable[Path], on_run: Callable[[Run], None], *, jobs: int = 1, progress: Progress | None = None
) -> None:
    """Call ``on_run`` with every agent run in the files, without keeping one. Raises InputError."""
    for runs in Evaluation([Scorer(LoadedRules(RuleSet()))], _runs, jobs=jobs, progress=progress).of_files(paths):
        for run in runs:
            on_run(run)


def score_requests(
    requests: Iterable[Request], rules: LoadedRules, running: RunningBelow = nothing_runs
) -> list[Verdict]:
    """The verdicts on one set of traces: OTLP requests as protobuf, each with its place for messages. Raises InputError.

    ``running`` tells of spans that are known to go on.
    """
    return Scorer(rules, running=running).all_of(requests, Telemetry())


def rows_of(lists: Lists) -> list[Row]:
    """Returns the rows of a report, each with the closest rule of a run that no rule matches."""
    rows = []
    for verdict in lists[0]:
        closest = closest_rule(verdict)
        rows.append(row_of(verdict) | ({"closest_rule": closest} if closest is not None else {}))
    return rows


def _only(lists: Lists) -> list[Verdict]:
    return lists[0]


def _runs(lists: Lists) -> list[Run]:
    return [verdict.run for verdict in lists[0]]
