"""``rightcall score``: scores recorded traces, and gates on them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from collector.commands import (
    FAILED,
    SUCCESS,
    add_command,
    add_jobs,
    count,
    load_rules,
    share,
    tell,
    tell_judges,
    tell_left_out,
    write_output,
)

KINDS = ("fail", "forbidden", "error", "ambiguous", "incomplete", "no_rule")
"""What ``--fail-on`` takes: labels, runs with a call that their rule forbids, runs without a rule."""


def add(commands: Any) -> None:
    """Declare the command."""
    score = add_command(
        commands, "score", "score recorded traces from files or folders",
        "rightcall score --rules rules/ traces/",
        "rightcall score --rules rules/ --format junit --min-accuracy 0.9 --fail-on forbidden,error,no_rule traces/",
    )  # fmt: skip
    score.add_argument(
        "--rules", type=Path, action="append", default=[], metavar="R", help="rule file or folder; may be repeated"
    )
    score.add_argument("--format", choices=["table", "jsonl", "junit", "markdown"], default="table")
    score.add_argument(
        "--fail-on", type=_kinds, default=("forbidden",), metavar="KINDS",
        help=f"exit 1 when a run is one of these, separated by commas: {', '.join(KINDS)}, or none (default: forbidden)",
    )  # fmt: skip
    score.add_argument("--min-accuracy", type=share, metavar="X", help="exit 1 when pass / (pass + fail) is under X")
    score.add_argument("--fail-under", type=share, metavar="X", help="exit 1 when the mean score is under X")
    score.add_argument(
        "--min-runs", type=count, default=1, metavar="N",
        help="exit 1 when fewer than N are pass or fail; without rules, when fewer are found (default: 1)",
    )  # fmt: skip
    score.add_argument(
        "--verbose", action="store_true", help="also say, on stderr, what was not read or only by its shape, by scope"
    )
    add_jobs(score)
    score.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="recorded traces; - is standard input")
    score.set_defaults(command=_score)


def _kinds(text: str) -> tuple[str, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:  # as of a variable that is not set: a gate must not open by itself
        raise argparse.ArgumentTypeError(f"nothing is named; known are {', '.join(KINDS)}, none")
    kinds = tuple(part for part in parts if part != "none")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown kind {unknown[0]}; known are {', '.join(KINDS)}, none")
    return kinds


def _score(options: argparse.Namespace) -> int:
    from collector.offline import report  # noqa: PLC0415
    from collector.offline.gate import Gate, tally  # noqa: PLC0415
    from collector.offline.kept_rows import KeptRows  # noqa: PLC0415
    from collector.offline.progress import Progress  # noqa: PLC0415
    from collector.offline.score import rows_of  # noqa: PLC0415
    from collector.offline.scorer import Scorer  # noqa: PLC0415
    from collector.offline.stream import Evaluation  # noqa: PLC0415
    from collector.telemetry.blind_spots import blind_spots, sentences  # noqa: PLC0415
    from collector.telemetry.metrics import Telemetry  # noqa: PLC0415

    rules = load_rules(options.rules)
    telemetry = Telemetry()
    # Without rules nothing can be decided, so there --min-runs is about the runs that were found.
    gate = Gate(options.fail_on, options.min_runs, options.min_accuracy, options.fail_under, bool(options.rules))
    with KeptRows() as rows:
        with Progress(sys.stderr) as progress:
            evaluation = Evaluation([Scorer(rules)], rows_of, jobs=options.jobs, progress=progress, telemetry=telemetry)
            for found in evaluation.of_files(options.paths):
                rows.extend(found)
        objections = gate.objections(tally(rows))
        write_output(report.FORMATS[options.format](rows, objections))
        used = {row["rule"] for row in rows}
    tell_judges(rules, used)
    tell_left_out(evaluation.left_out)
    if options.verbose:
        tell("\n".join(sentences(blind_spots(telemetry), has_runs=bool(used))))
    # On stderr, as the table and JSON lines have no place for them; a pipe still shows why the exit code is 1.
    for objection in objections:
        tell(f"rightcall score: not met: {objection}")
    return FAILED if objections else SUCCESS
