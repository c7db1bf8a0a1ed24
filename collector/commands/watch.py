"""``rightcall watch``: check and diff again as rule files change."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from collector.commands import SUCCESS, add_command, add_jobs, printable_lines, write_output

_INTERVAL = 0.5  # seconds


def add(commands: Any) -> None:
    """Declare the command."""
    watch = add_command(
        commands, "watch", "check rule files, and show which recorded runs change verdict, again whenever a file changes",
        "rightcall watch rules/",
        "rightcall watch rules/ traces/",
    )  # fmt: skip
    add_jobs(watch)
    watch.add_argument("rules", type=Path, metavar="RULES", help="rule file or folder")
    watch.add_argument(
        "paths", type=Path, nargs="*", metavar="PATH",
        help="recorded traces, whose verdicts are compared with those of the rules at the start",
    )  # fmt: skip
    watch.set_defaults(command=_watch)


def _watch(options: argparse.Namespace) -> int:
    from collector.offline.progress import Progress  # noqa: PLC0415
    from collector.offline.watch import watch  # noqa: PLC0415

    def write(text: str) -> None:
        if not write_output([printable_lines(text)]):
            sys.exit(SUCCESS)

    # Ended by a signal, or by its reader.
    watch([options.rules], options.paths, _wait, write, jobs=options.jobs, progress=Progress(sys.stderr))
    return SUCCESS


def _wait() -> bool:
    time.sleep(_INTERVAL)
    return True
