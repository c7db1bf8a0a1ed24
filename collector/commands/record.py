"""``rightcall record``: runs a command, and keeps the telemetry it sends."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from collector.commands import UNUSABLE, add_command, tell


def add(commands: Any) -> None:
    """Declare the command."""
    record = add_command(
        commands, "record", "run a command and keep the telemetry it sends, for score",
        "rightcall record -- python agent.py", "rightcall record -o traces -- npm start",
    )  # fmt: skip
    record.add_argument("-o", "--output", type=Path, default=Path("traces"), metavar="DIR", help="default: traces")
    record.add_argument("program", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="with its arguments")
    record.set_defaults(command=_record)


def _record(options: argparse.Namespace) -> int:
    from collector.offline.record import record  # noqa: PLC0415

    command = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not command:
        tell("rightcall record: name the command after --, such as: rightcall record -- python agent.py")
        return UNUSABLE
    return record(command, options.output, tell)
