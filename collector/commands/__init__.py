"""Commands that `collector.cli` adds to ``rightcall``, one module each, and what all commands share.

A module has ``add``, which declares arguments and imports nothing heavy: the rest is imported when the command runs.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from collector.errors import RightcallError

if TYPE_CHECKING:
    from collector.scoring.rule_files import LoadedRules

SUCCESS, FAILED, UNUSABLE = 0, 1, 2
"""Exit codes: success, a check failed, wrong usage, unreadable input or output that cannot be written."""

MAX_JOBS = 64
"""Processes of ``--jobs``: a recording has as many parts."""


class OutputError(RightcallError):
    """What a command is asked for cannot be written."""


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
    value = count(text)
    if not 1 <= value <= MAX_JOBS:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to {MAX_JOBS}")
    return value


def write_output(pieces: Iterable[str]) -> bool:
    """Print what a command is asked for. Returns False where its reader, such as `head`, is done. Raises OutputError."""
    if sys.stdout is None:
        raise OutputError("standard output: cannot be written: it is closed")
    try:
        sys.stdout.writelines(pieces)
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        if isinstance(error, BrokenPipeError):
            return False
        raise OutputError(f"standard output: cannot be written: {error.strerror}") from None
    return True


def write_lines(text: str) -> None:
    """Print lines that may quote files and traces. Raises OutputError."""
    write_output([f"{printable_lines(text)}\n"])


def tell(text: str) -> None:
    """Print lines on stderr that may quote files and traces. Whether anybody reads them changes nothing."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{printable_lines(text)}\n")
    except OSError:
        _discard(sys.stderr)


def printable_lines(text: str) -> str:
    """Returns the text with each of its lines printable."""
    from scorers.quoting import printable  # noqa: PLC0415 - with it comes the whole package

    return "\n".join(map(printable, text.split("\n")))


def _discard(stream: TextIO) -> None:
    """What could not be written would be tried again when the process ends, and change its exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def load_rules(paths: Sequence[Path]) -> LoadedRules:
    """Load rules to score recordings by, and tell what is hardly meant. Raises ConfigError."""
    import logging  # noqa: PLC0415

    from collector.config.yaml_documents import named_rule_paths  # noqa: PLC0415
    from collector.scoring import rule_files  # noqa: PLC0415
    from collector.service.log_config import RepeatLimit  # noqa: PLC0415

    # Without a configured log Python writes warnings to stderr: one for each bad span of a large recording.
    if logging.lastResort is not None:
        logging.lastResort.addFilter(RepeatLimit())
    rules = rule_files.load_rules(named_rule_paths(paths))
    for remark in rules.remarks:
        if remark.is_mistake:
            tell(f"warning: {remark.text}")
    return rules


def tell_judges(rules: LoadedRules, names: Container[str]) -> None:
    """Tell which scorers of the named rules were left out, since they need a judge."""
    for rule, scorer in rules.judges(names):
        tell(f"skipped: {scorer} of rule {rule} needs a judge, which only `rightcall run` has")


def tell_left_out(files: Sequence[Path]) -> None:
    """Tell which files hold no traces: somebody may take them for recordings that were scored."""
    if files:
        others = f" and {len(files) - 1} more" if len(files) > 1 else ""
        tell(f"skipped: {files[0]}{others}: not traces")


def count(text: str) -> int:
    """Returns the value of an option that is a number of things. Raises ArgumentTypeError."""
    with contextlib.suppress(ValueError):  # of which argparse would tell with the name of this function
        if (value := int(text)) >= 0:
            return value
    raise argparse.ArgumentTypeError(f"{text} is not a whole number, 0 or more")


def share(text: str, most: float = 1.0) -> float:
    """Returns the value of an option that is a share. Raises ArgumentTypeError."""
    with contextlib.suppress(ValueError):
        if 0 <= (value := float(text)) <= most:
            return value
    raise argparse.ArgumentTypeError(f"{text} is not a share from 0 to {most:g}")


class InsteadOf(argparse.Action):
    """An option in whose presence the paths may be left out: as optional from the start, argparse takes none after it."""

    def __init__(self, *arguments: Any, paths: argparse.Action, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._paths = paths

    def __call__(self, _: Any, options: argparse.Namespace, value: Any, __: Any = None) -> None:
        """Take the value, and require no paths."""
        self._paths.nargs, self._paths.required = "*", False
        setattr(options, self.dest, value)
