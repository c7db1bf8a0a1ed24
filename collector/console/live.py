"""Server-sent events: one for each time something was stored, so that an open page fetches itself again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from collector.transport.http_server import Receive, Send

MAX_STREAMS: Final = 16
"""Open pages that are updated live; further ones are told to try later."""
_LOOK: Final = 0.5  # seconds between looks at the store
_SIGN_OF_LIFE: Final = 15.0  # seconds after which something is sent all the same, so that no proxy gives up
_LONGEST: Final = 900.0  # seconds after which the browser connects again


class LiveEvents:
    """The open streams. ``generation`` tells how often something was stored."""

    def __init__(self, generation: Callable[[], int]) -> None:
        self._generation, self._closing = generation, asyncio.Event()
        self.streams = 0

    def close(self) -> None:
        """End all streams."""
        self._closing.set()

    async def stream(self, receive: Receive, send: Send, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        """Answer one request, until the page is closed."""
        self.streams += 1
        gone = asyncio.create_task(_gone(receive))
        try:
            started = ((b"content-type", b"text/event-stream"), *headers)
            await send({"type": "http.response.start", "status": 200, "headers": list(started)})
            await send({"type": "http.response.body", "body": b"retry: 3000\n\n", "more_body": True})
            await self._send_events(gone, send)
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            self.streams -= 1

    async def _send_events(self, gone: asyncio.Task[None], send: Send) -> None:
        seen, loop = self._generation(), asyncio.get_running_loop()
        ends, quiet_since = loop.time() + _LONGEST, loop.time()
        while not (gone.done() or self._closing.is_set()) and loop.time() < ends:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), _LOOK)
            now, latest = loop.time(), self._generation()
            # Looked at, not told: the store's thread need not know of pages, and many writes are one event.
            if latest != seen or now - quiet_since > _SIGN_OF_LIFE:
                event = b"event: stored\ndata: %d\n\n" % latest if latest != seen else b": still here\n\n"
                seen, quiet_since = latest, now
                await send({"type": "http.response.body", "body": event, "more_body": True})


async def _gone(receive: Receive) -> None:
    """Returns when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
