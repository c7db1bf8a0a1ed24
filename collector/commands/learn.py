"""``rightcall learn``: candidate rules from recorded runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from collector.commands import FAILED, SUCCESS, UNUSABLE, add_command, add_jobs, share, tell, write_lines, write_output


def add(commands: Any) -> None:
    """Declare the command."""
    learn = add_command(
        commands, "learn", "propose rules from recorded traces; exit 1 if nothing can be learnt",
        "rightcall learn traces/",
        "rightcall learn -o learnt.yaml traces/",
    )  # fmt: skip
    learn.add_argument(
        "--noise", type=_noise, metavar="SHARE",
        help="what a smaller share of the runs does is taken for a mistake, from 0 to 0.4 (default: 0.1)",
    )  # fmt: skip
    learn.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to (default: standard output)")
    add_jobs(learn)
    learn.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="recorded traces")
    learn.set_defaults(command=_learn)


def _noise(text: str) -> float:
    return share(text, most=0.4)


def _learn(options: argparse.Namespace) -> int:
    from collector.learning.groups import Observations  # noqa: PLC0415
    from collector.learning.rule_text import rule_file  # noqa: PLC0415
    from collector.learning.rules import NOISE  # noqa: PLC0415
    from collector.offline.progress import Progress  # noqa: PLC0415
    from collector.offline.score import read_runs  # noqa: PLC0415
    from scorers.wording import quantity  # noqa: PLC0415

    # Before anything is read, which may take minutes.
    if options.output is not None and options.output.exists():
        tell(f"{options.output}: is already there, and stays as it is; name another file")
        return UNUSABLE
    observations = Observations()
    with Progress(sys.stderr) as progress:
        read_runs(options.paths, observations.add, jobs=options.jobs, progress=progress)
    text, count = rule_file(observations, NOISE if options.noise is None else options.noise)
    if not count:
        tell(f"{text}rightcall learn: there is no rule to propose")
        return FAILED
    if options.output is None:
        write_output([text])
        return SUCCESS
    try:
        options.output.write_text(text, encoding="utf-8")
    except OSError as error:
        tell(f"{options.output}: cannot be written: {error.strerror}")
        return UNUSABLE
    write_lines(f"wrote {options.output}: {quantity(count, 'rule')}; next: rightcall check {options.output}")
    return SUCCESS
