"""``rightcall rescore``: scores recorded traces by other rules, in a way that can be resumed."""

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
    load_rules,
    tell,
    tell_judges,
    tell_left_out,
    write_lines,
)


def add(commands: Any) -> None:
    """Declare the command."""
    rescore = add_command(
        commands, "rescore", "score recorded traces into a folder, and go on there when interrupted",
        "rightcall rescore --rules rules/ -o results traces/",
        "rightcall rescore --rules rules/ --jobs 2 -o results traces/",
    )  # fmt: skip
    rescore.description = (
        "score recorded traces into a folder, and go on there when interrupted; exit 1 if no run is pass or fail.\n"
        "A topic of Kafka is scored again by a collector with a group_id of its own: collector/receivers/README.md"
    )
    rescore.add_argument(
        "--rules", type=Path, action="append", required=True, metavar="R", help="rule file or folder; may be repeated"
    )
    rescore.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR",
        help="a new folder, or one of earlier results: those by other rules are removed",
    )  # fmt: skip
    add_jobs(rescore)
    rescore.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="recorded traces")
    rescore.set_defaults(command=_rescore)


def _rescore(options: argparse.Namespace) -> int:
    from collector.offline.progress import Progress  # noqa: PLC0415
    from collector.offline.rescore import rescore  # noqa: PLC0415

    rules = load_rules(options.rules)
    with Progress(sys.stderr) as progress:
        done = rescore(options.paths, rules, options.output, jobs=options.jobs, progress=progress)
    if done.resumed:
        write_lines(f"{done.resumed} of {done.sets} sets of traces were scored before, and are skipped")
    write_lines(done.figures.sentence())
    tell_left_out(done.left_out)
    tell_judges(rules, {rule.rule.name for rule in rules.set.rules})
    if not done.figures.decided:
        tell("rightcall rescore: no run is pass or fail by these rules")
        return FAILED
    return SUCCESS
