"""``rightcall explain``: one trace in full, from recordings or from a running collector."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from collector.commands import SUCCESS, UNUSABLE, InsteadOf, add_command, load_rules, tell, write_lines

TOKEN = "RIGHTCALL_ADMIN_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable with the token of ``admin.auth``."""


def add(commands: Any) -> None:
    """Declare the command."""
    explain = add_command(
        commands, "explain", "show one trace: its calls, doubts, rules, and what differs",
        "rightcall explain --rules rules/ TRACE_ID traces/",
        "rightcall explain --collector http://127.0.0.1:13133 TRACE_ID",
    )  # fmt: skip
    # What argparse makes of these says that PATH is needed beside --collector.
    explain.usage = (
        "rightcall explain [-h] [--rules R] TRACE_ID PATH [PATH ...]\n"
        "       rightcall explain [-h] --collector URL TRACE_ID"
    )
    explain.add_argument("trace_id", metavar="TRACE_ID", help="its hexadecimal id, or the beginning of it")
    explain.add_argument(
        "--rules", type=Path, action="append", default=[], metavar="R", help="rule file or folder; may be repeated"
    )
    paths = explain.add_argument(
        "paths", type=Path, nargs="+", metavar="PATH", help="recorded traces; - is standard input", default=[]
    )
    explain.add_argument(
        "--collector", metavar="URL", action=InsteadOf, paths=paths,
        help=f"the admin listener of a running collector, instead of PATHs; its token, if it has one, in {TOKEN}",
    )  # fmt: skip
    explain.set_defaults(command=_explain)


def _explain(options: argparse.Namespace) -> int:
    from collector.offline.explain import explain, explain_stored  # noqa: PLC0415
    from collector.offline.score import score_files  # noqa: PLC0415

    if mistake := _mistake(options):
        tell(f"rightcall explain: {mistake}")
        return UNUSABLE
    if options.collector:
        # The token comes from the environment: arguments are visible to all users of a machine.
        text = explain_stored(options.trace_id, options.collector, os.environ.get(TOKEN), TOKEN)
    else:
        rules = load_rules(options.rules)
        text = explain(options.trace_id, score_files(options.paths, rules), rules)
    write_lines(text)
    return SUCCESS


def _mistake(options: argparse.Namespace) -> str:
    if bool(options.collector) == bool(options.paths):
        return "name recorded traces, or a collector with --collector URL"
    if options.collector and options.rules:
        return "a collector explains by its own rules, so --rules goes with PATHs"
    return ""
