"""``rightcall compare``: whether one version of an agent is worse than another."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from collector.commands import (
    FAILED,
    SUCCESS,
    UNUSABLE,
    InsteadOf,
    add_command,
    add_jobs,
    count,
    load_rules,
    share,
    tell,
    write_output,
)

WAIT = 3
"""Exit code: there are too few runs to decide."""
_CODES = {"no worse": SUCCESS, "worse": FAILED, "wait": WAIT}


def add(commands: Any) -> None:
    """Declare the command."""
    compare = add_command(
        commands, "compare", "tell whether version B is worse than A: exit 0 if it is not, 1 if it is, 3 to wait for more runs",
        "rightcall compare --rules rules/ 1.4.0 1.5.0 traces/",
        "rightcall compare --prometheus http://prometheus:9090 --window 30m 1.4.0 1.5.0",
    )  # fmt: skip
    compare.usage = (  # argparse's own would say that PATH is needed beside --prometheus
        "rightcall compare [OPTION ...] --rules R A B PATH [PATH ...]\n"
        "       rightcall compare [OPTION ...] --prometheus URL A B"
    )
    compare.add_argument("a", metavar="A", help="the version in use")
    compare.add_argument("b", metavar="B", help="the version on trial")
    compare.add_argument(
        "--by", type=_attribute, default="service.version", metavar="ATTRIBUTE",
        help="the attribute that A and B are values of (default: service.version)",
    )  # fmt: skip
    compare.add_argument(
        "--rules", type=Path, action="append", default=[], metavar="R", help="rule file or folder; may be repeated"
    )
    compare.add_argument(
        "--tolerance", type=_inner_share, default=0.05, metavar="X", help="accuracy that B may lose (default: 0.05)"
    )
    compare.add_argument(
        "--confidence", type=_inner_share, default=0.95, metavar="X", help="of all intervals (default: 0.95)"
    )
    compare.add_argument(
        "--min-runs", type=count, default=20, metavar="N", help="of each version before a rule decides (default: 20)"
    )
    compare.add_argument("--window", type=_window, default="1h", metavar="TIME", help="with --prometheus (default: 1h)")
    compare.add_argument("--format", choices=["table", "markdown"], default="table")
    add_jobs(compare)
    paths = compare.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="recorded traces", default=[])
    compare.add_argument(
        "--prometheus", metavar="URL", action=InsteadOf, paths=paths,
        help="the counters of running collectors, which have ATTRIBUTE among exporters.prometheus.dimensions, instead of PATHs",
    )  # fmt: skip
    compare.set_defaults(command=_compare)


def _inner_share(text: str) -> float:
    value = share(text)
    if value in (0, 1):  # nothing is sure of all runs, and no two versions can be shown to be equal
        raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1")
    return value


def _window(text: str) -> str:
    # It becomes a part of a PromQL query.
    if not re.fullmatch(r"[1-9][0-9]*[smhdw]", text):
        raise argparse.ArgumentTypeError(f"{text} is not a number and one of s, m, h, d, w")
    return text


def _attribute(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z][\w./-]{0,99}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text} is not the name of an attribute")
    return text


def _compare(options: argparse.Namespace) -> int:
    from collector.offline import compare  # noqa: PLC0415
    from collector.offline.progress import Progress  # noqa: PLC0415

    sides = (options.a, options.b)
    if options.prometheus:
        if options.paths or options.rules:
            tell("rightcall compare: --prometheus takes the place of PATHs and --rules")
            return UNUSABLE
        a, b = (compare.query_counts(options.prometheus, options.by, side, options.window) for side in sides)
    else:
        if not options.rules:  # no run would be pass or fail, so a pipeline would wait without end
            tell("rightcall compare: name the rules that score the recordings with --rules")
            return UNUSABLE
        rules = load_rules(options.rules)
        with Progress(sys.stderr) as progress:
            a, b = compare.count_files(options.paths, rules, options.by, sides, jobs=options.jobs, progress=progress)
    criteria = compare.Criteria(options.tolerance, options.confidence, options.min_runs)
    comparison = compare.compare(a, b, criteria)
    write_output([compare.FORMATS[options.format](comparison, *sides)])
    return _CODES[comparison.decision]
