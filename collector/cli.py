"""The ``rightcall`` command: parses arguments and chooses the exit code; nothing else.

Exit codes: 0 success, 1 a check failed (score under the threshold, invalid rules), 2 wrong usage, unreadable input,
output that cannot be written or no memory, 128 + n ended by signal n (130 for SIGINT, 143 for SIGTERM). A collector that
was ready drains at either signal and exits 0. That the reader of the output, such as `head`, is done changes none of this.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence

from collector import __version__
from collector.commands import (
    UNUSABLE,
    check,
    compare,
    demo,
    diff,
    explain,
    init,
    learn,
    record,
    rescore,
    run,
    schema,
    score,
    tell,
    watch,
)
from collector.config.machine import out_of_memory
from collector.errors import RightcallError
from collector.otlp import wire


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # whatever the locale: reports hold names in every language
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except RightcallError as error:
        tell(str(error))
        return UNUSABLE
    except MemoryError:
        pass  # what the command made is free only where the error, which refers to it, is gone
    tell(out_of_memory())
    return UNUSABLE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rightcall", description="Scores the tool calls of AI agents from their traces."
    )
    parser.add_argument("--version", action="version", version=f"rightcall {__version__}{_build()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    for command in (run, score, rescore, explain, init, check, diff, watch, learn, compare, record, schema, demo):
        command.add(commands)
    return parser


def _build() -> str:
    """Tells whether this is the compiled build (see `make wheel`): its modules have a source, and run without it."""
    return "" if str(wire.__file__).endswith(".py") else " (compiled)"
