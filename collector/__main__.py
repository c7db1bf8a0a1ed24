"""The ``rightcall`` command, also as ``python -m collector``: ends quietly at signals, as long as nobody else handles them."""

import os
import signal
import sys

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main() -> int:
    """Run one command. Returns its exit code."""
    for number in _SIGNALS:
        signal.signal(number, _end)
    from collector.cli import main as run  # noqa: PLC0415 - it takes a while, in which a signal may come

    try:
        return run()
    finally:  # all is done: a further signal must not change the exit code, nor show where the process was
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def _end(number: int, _: object) -> None:
    """End the process with the code that a shell gives."""
    os._exit(128 + number)  # an exception could be swallowed by whatever is being imported


if __name__ == "__main__":
    sys.exit(main())
