"""``rightcall demo``: replays recorded agents into a collector."""

from __future__ import annotations

import argparse
from typing import Any


def add(commands: Any) -> None:
    """Declare the command."""
    demo = commands.add_parser("demo", help="replay recorded agent traffic into a collector and show its scores")
    demo.add_argument("--seconds", type=float, metavar="N", help="stop after N seconds; without it, at Ctrl-C")
    demo.set_defaults(command=_demo)


def _demo(options: argparse.Namespace) -> int:
    from collector.demo import demo  # noqa: PLC0415

    return demo(options.seconds)
