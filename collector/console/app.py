"""Answers requests for the console and its JSON: who may see it, which page it is, and headers that keep it harmless.

Pages are made on threads, a few at a time, so that none delays a verdict.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from collector.config.model import Config
from collector.console import api
from collector.console.access import Access
from collector.console.request import BadQueryError, Reply, Request, parse_query
from collector.errors import UnauthenticatedError
from collector.runs.database import StoreUnreadableError
from collector.runs.store import RunStore
from collector.transport.http_server import Receive, Scope, Send, respond
from scorers.quoting import printable

_log = logging.getLogger(__name__)

MAX_PAGES: Final = 2
"""Pages made at the same time; further requests wait."""
_POLICY: Final = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; "
    b"base-uri 'none'; frame-ancestors 'none'"
)
_SAFE: Final = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)  # fmt: skip
_CHALLENGE: Final = ((b"www-authenticate", b'Basic realm="rightcall", charset="UTF-8"'),)
Answer = Callable[[Request], Reply]


class Console:
    """Answers what is below /console and /runs. Raises ConfigError where there is no token to compare with."""

    def __init__(self, config: Config, store: RunStore | None) -> None:
        self._config, self._store = config, store
        self._access = Access(config.admin)
        self._turns = asyncio.Semaphore(MAX_PAGES)

    def owns(self, path: str) -> bool:
        """Whether a request for this path is for the console."""
        return path in ("/console", "/runs") or path.startswith(("/console/", "/runs/"))

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        reply = self._refusal(headers)
        if reply is None:
            reply = await self._answer(scope)
        await respond(send, reply.status, reply.body, reply.content_type, (*_SAFE, *reply.headers))

    def _refusal(self, headers: Mapping[str, str]) -> Reply | None:
        if not self._config.console.enabled:
            return _text(404, "the console is off (console.enabled)")
        if self._access.is_closed:
            return _text(403, "others can reach this address, so the console needs admin.auth; see the configuration")
        try:
            self._access.check(headers)
        except UnauthenticatedError as error:
            return _text(401, f"{error}: send a token of admin.auth, browsers as password", _CHALLENGE)
        return None

    async def _answer(self, scope: Scope) -> Reply:
        if scope["method"] not in ("GET", "HEAD"):
            return _text(405, "only GET is answered here", ((b"allow", b"GET, HEAD"),))
        try:
            request = Request(scope["path"], parse_query(scope["query_string"]))
            async with self._turns:
                return await asyncio.to_thread(self._page, request)
        except BadQueryError as error:
            return api.json_reply({"error": str(error)}, 400)
        except StoreUnreadableError as error:
            _log.warning("%s", error)
            return api.json_reply({"error": str(error)}, 503)

    def _page(self, request: Request) -> Reply:
        if self._store is None:
            return api.json_reply({"error": "runs are not stored (runs: off)"}, 404)
        if request.path == "/runs":
            return api.runs(self._store.database, request)
        if request.path.startswith("/runs/"):
            return api.trace(self._store.database, request)
        return _text(404, "there is no such page")


def _text(status: int, text: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Reply:
    return Reply(status, printable(text).encode() + b"\n", "text/plain; charset=utf-8", headers)
