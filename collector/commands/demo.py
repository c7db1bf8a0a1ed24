"""``rightcall demo``: replays recorded agents into a collector."""

from __future__ import annotations

import argparse
import contextlib
from math import inf
from typing import Any

from collector.commands import add_command


def add(commands: Any) -> None:
    """Declare the command."""
    demo = add_command(
        commands, "demo", "replay recorded agent traffic into a collector and show its scores",
        "rightcall demo", "rightcall demo --seconds 60",
    )  # fmt: skip
    demo.add_argument("--seconds", type=_seconds, metavar="N", help="stop after N seconds; without it, at Ctrl-C")
    demo.set_defaults(command=_demo)


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (value := float(text)) < inf:  # no timer of the event loop ends otherwise
            return value
    raise argparse.ArgumentTypeError(f"{text} is not a number of seconds")


def _demo(options: argparse.Namespace) -> int:
    from collector.demo import demo  # noqa: PLC0415

    return demo(options.seconds)
