"""The ``rightcall`` command, also as ``python -m collector``: ends quietly at signals, as long as nobody else handles them."""

import os
import signal
import sys


def main() -> int:
    """Run one command. Returns its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    from collector.cli import main as run  # noqa: PLC0415 - it takes a while, in which a signal may come

    return run()


def _end(number: int, _: object) -> None:
    """End the process with the code that a shell gives."""
    os._exit(128 + number)  # an exception could be swallowed by whatever is being imported


if __name__ == "__main__":
    sys.exit(main())
