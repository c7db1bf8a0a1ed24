"""Runs a service as a process: SIGTERM and SIGINT stop it, SIGHUP reloads its rules."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Final

from collector.config.model import Config
from collector.service import garbage
from collector.service.announcement import announcement, hint_without_spans
from collector.service.service import Service

_log = logging.getLogger(__name__)
_SWITCH: Final = 0.0005
"""Seconds after which a thread gives the interpreter lock to another that asks for it; 5 ms by default. The spool asks for it a
dozen times in each transaction, and whoever waits for that would wait so often for a busy event loop."""


async def serve(config: Config) -> None:
    """Run a collector until a signal stops it. Raises ConfigError when it cannot start."""
    allow_open_files()
    service = Service(config)
    garbage.tune()  # recovery makes most of what is kept
    sys.setswitchinterval(_SWITCH)
    await start(service)
    for place, doubt in config.exporters.doubts():
        _log.warning("%s: %s", place, doubt)
    addresses = service.addresses()
    _log.info("%s", announcement(addresses, service.rules, config.exporters))
    hint = asyncio.create_task(_hint(service, addresses))
    await service.run()
    hint.cancel()
    _log.info("stopping")
    await service.shutdown()
    ignore_signals()


async def _hint(service: Service, addresses: list[str]) -> None:
    if hint := await hint_without_spans(service.telemetry, addresses):
        _log.warning("%s", hint)


async def start(service: Service) -> None:
    """Start ``service``; from then on SIGTERM and SIGINT make its ``run`` return.

    Either signal while it still starts undoes the start and exits with the code a shell gives: 128 + the signal's number.
    """
    loop = asyncio.get_running_loop()
    starting = loop.create_task(service.start())
    received: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        if starting.done():
            service.stop()
        elif not received:
            received.append(number)
            starting.cancel()

    # Before the start is over: recovery may take long, and a signal must be able to end it.
    for number in (signal.SIGTERM, signal.SIGINT):
        _on_signal(number, partial(stop, number))
    _on_signal(signal.SIGHUP, service.reload)
    try:
        await starting
    except asyncio.CancelledError:
        if received:
            raise SystemExit(128 + received[0]) from None
        raise


def _on_signal(number: signal.Signals, call: Callable[[], None]) -> None:
    """Have the running loop make this call for each such signal.

    Not by the loop's own handlers: to remove one is to let the next signal end the process, if only for microseconds.
    """
    loop = asyncio.get_running_loop()

    def handle(*_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(call)

    signal.signal(number, handle)


def ignore_signals() -> None:
    """Once all is done a further signal must not change the exit code."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def allow_open_files() -> None:
    """Raise the soft limit of open files to the hard one, as Go does: it is often 1,024, less than the listeners accept."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # where the hard limit is no number that the system takes
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
