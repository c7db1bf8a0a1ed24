"""``rightcall init``: a first rule file and a configuration."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from collector.commands import SUCCESS, UNUSABLE, add_command, tell, write_lines


def add(commands: Any) -> None:
    """Declare the command."""
    init = add_command(
        commands, "init", "write a first rule file with a test, and a configuration",
        "rightcall init first/",
        "rightcall init --from traces/ learned/",
    )  # fmt: skip
    init.add_argument("folder", type=Path, nargs="?", default=Path(), metavar="DIR", help="where to (default: here)")
    init.add_argument(
        "--from", type=Path, action="append", default=[], dest="recordings", metavar="PATH",
        help="recorded traces that the rules are made from; may be repeated",
    )  # fmt: skip
    init.set_defaults(command=_init)


def _init(options: argparse.Namespace) -> int:
    from collector.offline.init import init  # noqa: PLC0415
    from collector.offline.score import score_files  # noqa: PLC0415
    from collector.scoring.rule_files import load_rules  # noqa: PLC0415

    try:
        written = init(options.folder, [verdict.run for verdict in score_files(options.recordings, load_rules([]))])
    except OSError as error:
        tell(f"{error.filename}: cannot be written: {error.strerror}")
        return UNUSABLE
    rules, config = written
    recordings = " ".join(map(str, options.recordings)) or "traces/"
    following = {
        f"rightcall check {rules.parent}": "validate the rules and run their tests",
        f"rightcall score --rules {rules.parent} {recordings}": "score recorded runs",
        f"rightcall run --config {config}": "score what your agents send",
    }
    width = max(map(len, following))
    lines = [f"  {command:{width}}    # {purpose}" for command, purpose in following.items()]
    write_lines("\n".join([*(f"wrote {path}" for path in written), "next:", *lines]))
    return SUCCESS
