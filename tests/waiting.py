"""Waiting for what another process, thread or task does: always for a condition, never for a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds until a test gives up. Far more than anything takes, since machines that run tests are busy."""


def wait_for(condition: Callable[..., object], pause: float = 0.05, patience: float = PATIENCE) -> None:
    """Poll ``condition`` until it returns something true. Raises TimeoutError after ``patience`` seconds."""
    until = time.monotonic() + patience
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"still waiting after {patience:g} s")
        time.sleep(pause)


async def until(condition: Callable[..., object], pause: float = 0.001) -> None:
    """Poll ``condition`` while other tasks run, as ``wait_for`` does."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(pause)


async def let_others_run(times: int = 1) -> None:
    """Give every task that is ready its turn on the event loop, as often as this."""
    for _ in range(times):
        await asyncio.sleep(0)


async def drip(send: Callable[[], object], pause: float = 0.01) -> None:
    """Call ``send`` again and again until cancelled, as a sender does that never finishes."""
    while True:
        send()
        await asyncio.sleep(pause)
