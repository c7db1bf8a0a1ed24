"""Commands that `collector.cli` adds to ``rightcall``, one module each, and what all commands share.

A module has ``add``, which declares arguments and imports nothing heavy: the rest is imported when the command runs.
"""

from __future__ import annotations

import argparse
from typing import Any, TextIO

SUCCESS, FAILED, UNUSABLE = 0, 1, 2
"""Exit codes: success, a check failed, wrong usage or unreadable input."""

MAX_JOBS = 64
"""Processes of ``--jobs``: a recording has as many parts."""


def add_command(commands: Any, name: str, summary: str, *examples: str) -> argparse.ArgumentParser:
    """Add a command whose help ends with examples."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=summary, epilog="\n  ".join(["examples:", *examples]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    return parser


def add_jobs(command: argparse.ArgumentParser) -> None:
    """Declare ``--jobs`` of a command that scores recordings."""
    command.add_argument(
        "--jobs", type=_jobs, default=1, metavar="N", help="processes for recordings of more than 16 MiB (default: 1)"
    )


def _jobs(text: str) -> int:
    value = int(text)
    if not 1 <= value <= MAX_JOBS:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to {MAX_JOBS}")
    return value


def write_lines(text: str, stream: TextIO) -> None:
    """Print lines that may quote files and traces."""
    from scorers.quoting import printable  # noqa: PLC0415 - with it comes the whole package

    print("\n".join(map(printable, text.split("\n"))), file=stream)


def share(text: str, most: float = 1.0) -> float:
    """Returns the value of an option that is a share. Raises ArgumentTypeError."""
    value = float(text)
    if not 0 <= value <= most:
        raise argparse.ArgumentTypeError(f"{text} is not a share from 0 to {most:g}")
    return value


class InsteadOf(argparse.Action):
    """An option in whose presence the paths may be left out: as optional from the start, argparse takes none after it."""

    def __init__(self, *arguments: Any, paths: argparse.Action, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._paths = paths

    def __call__(self, _: Any, options: argparse.Namespace, value: Any, __: Any = None) -> None:
        """Take the value, and require no paths."""
        self._paths.nargs, self._paths.required = "*", False
        setattr(options, self.dest, value)
