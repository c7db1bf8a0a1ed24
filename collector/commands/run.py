"""``rightcall run``: the collector."""

from __future__ import annotations

import argparse
import logging
import os
import signal
from pathlib import Path
from typing import Any

from collector.commands import SUCCESS, add_command


def add(commands: Any) -> None:
    """Declare the command."""
    run = add_command(
        commands, "run", "run the collector; SIGTERM drains and exits, SIGHUP reloads the rules",
        "rightcall run --config collector.yaml",
    )  # fmt: skip
    run.add_argument(
        "--config", type=Path, required=True, metavar="FILE",
        help="`rightcall init` writes one, and `rightcall schema config` prints every key with its default",
    )  # fmt: skip
    run.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    # The rules are not read yet, and to start takes seconds: who sends this as they change is not to end the process.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its core logs each malformed header
    import asyncio  # noqa: PLC0415

    from collector.config.loading import load_config  # noqa: PLC0415
    from collector.config.machine import doubt_about_address_space  # noqa: PLC0415
    from collector.service.log_config import configure_logging  # noqa: PLC0415

    config = load_config(options.config)
    configure_logging(config.service.telemetry.logs.level)
    if doubt := doubt_about_address_space(config.memory_limiter.limit_mib << 20):
        logging.getLogger(__name__).warning("%s", doubt)
    # Only now, since libraries that get no memory end the process without a word.
    from collector.service.serve import serve  # noqa: PLC0415

    asyncio.run(serve(config))
    return SUCCESS
