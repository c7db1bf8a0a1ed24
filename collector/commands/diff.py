"""``rightcall diff``: which recorded runs change verdict between two sets of rules."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from collector.commands import FAILED, SUCCESS, add_command, add_jobs, load_rules, write_output


def add(commands: Any) -> None:
    """Declare the command."""
    diff = add_command(
        commands, "diff", "show which recorded runs change verdict under other rules; exit 1 if any does",
        "rightcall diff old/ rules/ traces/",
        "rightcall diff --format markdown old/ rules/ traces/",
    )  # fmt: skip
    diff.add_argument("--format", choices=["table", "jsonl", "markdown"], default="table")
    add_jobs(diff)
    diff.add_argument("before", type=Path, metavar="RULES_A", help="rule file or folder")
    diff.add_argument("after", type=Path, metavar="RULES_B", help="rule file or folder to compare with it")
    diff.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="recorded traces")
    diff.set_defaults(command=_diff)


def _diff(options: argparse.Namespace) -> int:
    from collector.offline import diff_report  # noqa: PLC0415
    from collector.offline.diff import diff_files  # noqa: PLC0415
    from collector.offline.progress import Progress  # noqa: PLC0415

    before, after = (load_rules([path]) for path in (options.before, options.after))
    with Progress(sys.stderr) as progress:
        diff = diff_files(options.paths, before, after, jobs=options.jobs, progress=progress)
    write_output([diff_report.FORMATS[options.format](diff)])
    return FAILED if diff.changes else SUCCESS
