"""Answers requests for the console and its JSON: who may see it, which page it is, and headers that keep it harmless.

Pages are made on threads, a few at a time, so that none delays a verdict.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from collector.config.model import Config
from collector.console import api, rendering, rule_tests
from collector.console.access import Access
from collector.console.compare import compare
from collector.console.config_page import config_page
from collector.console.context import Context, Fact
from collector.console.drift_page import drift_page
from collector.console.live import MAX_STREAMS, LiveEvents
from collector.console.overview import overview
from collector.console.request import BadQueryError, Reply, Request, parse_form, parse_query
from collector.console.rules_page import rules_page
from collector.console.run_list import run_list
from collector.console.run_page import run_page
from collector.console.scratch import MAX_BYTES, try_rules
from collector.drift.monitor import DriftMonitor
from collector.errors import ConfigError, UnauthenticatedError
from collector.runs.database import StoreUnreadableError
from collector.runs.store import RunStore
from collector.scoring.rule_files import LoadedRules
from collector.transport.http_server import Receive, Scope, Send, respond
from scorers.quoting import printable

_log = logging.getLogger(__name__)

MAX_PAGES: Final = 2
"""Pages made at the same time; further requests wait."""
MAX_FORM: Final = 3 * MAX_BYTES + 100
"""Bytes of a form: text as browsers encode it may be three times as long."""
_POLICY: Final = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; "
    b"base-uri 'none'; frame-ancestors 'none'"
)
_SAFE: Final = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_CHALLENGE: Final = ((b"www-authenticate", b'Basic realm="rightcall", charset="UTF-8"'),)
_PAGES: Final[Mapping[str, Callable[[Context], Reply]]] = {
    "/console": overview,
    "/console/": overview,
    "/console/runs": run_list,
    "/console/rules": rules_page,
    "/console/compare": compare,
    "/console/config": config_page,
    "/console/drift": drift_page,
    "/console/tests": rule_tests.exported,
    "/runs": api.runs,
}


class Console:
    """Answers what is below /console and /runs. Raises ConfigError where there is no token to compare with.

    ``rules`` are those in force, ``health`` the state of the collector, ``shown_config`` its configuration without secrets.
    """

    def __init__(
        self,
        config: Config,
        store: RunStore | None,
        rules: Callable[[], LoadedRules],
        health: Callable[[], Sequence[Fact]],
        shown_config: Callable[[], Mapping[str, Any]],
        drift: DriftMonitor | None = None,
    ) -> None:
        self._config, self._store, self._rules, self._drift = config, store, rules, drift
        self._health, self._shown_config = health, shown_config
        self._access, self._turns = Access(config.admin), asyncio.Semaphore(MAX_PAGES)
        self._live = LiveEvents(lambda: store.generation if store is not None else 0)

    def owns(self, path: str) -> bool:
        """Whether a request for this path is for the console."""
        return path in ("/console", "/runs") or path.startswith(("/console/", "/runs/"))

    def close(self) -> None:
        """End the streams of open pages."""
        self._live.close()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        # Before the path is looked at: without a token not even the static files are served.
        reply = self._refusal(scope, headers)
        if reply is None and scope["path"] == "/console/events":
            if self._live.streams < MAX_STREAMS:
                await self._live.stream(receive, send, _SAFE)
                return
            reply = _text(503, "too many pages are updated live", ((b"retry-after", b"30"),))
        if reply is None:
            reply = await self._answer(scope, receive)
        body = b"" if scope["method"] == "HEAD" else reply.body
        await respond(send, reply.status, body, reply.content_type, (*_SAFE, *reply.headers))

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> Reply | None:
        if not self._config.console.enabled:
            return _text(404, "the console is off (console.enabled)")
        if self._access.is_closed:
            return _text(403, "others can reach this address, so the console needs admin.auth; see the configuration")
        try:
            self._access.check(headers)
        except UnauthenticatedError as error:
            return _text(401, f"{error}: send a token of admin.auth, browsers as password", _CHALLENGE)
        allowed = ("GET", "HEAD", "POST") if scope["path"] == "/console/rules" else ("GET", "HEAD")
        if scope["method"] not in allowed:
            return _text(405, "this is answered to other methods", ((b"allow", ", ".join(allowed).encode()),))
        if scope["method"] == "POST" and not _is_own_form(headers):
            return _text(403, "a form of another site")
        return None

    async def _answer(self, scope: Scope, receive: Receive) -> Reply:
        path = scope["path"]
        if (name := path.removeprefix("/console/static/")) in rendering.STATIC:
            return rendering.asset(name)
        is_json = path.startswith("/runs")
        request = Request(path)
        try:
            request = Request(path, parse_query(scope["query_string"]))
            if scope["method"] == "POST":
                request = replace(request, form=await _form(receive))
            if self._store is None:
                return self._message(request, 404, "Runs are not stored", "The configuration says runs: off.", is_json)
            context = self._context(request, self._store)
            # On a thread, since SQLite and templates block; a few, since they share the interpreter with the scoring.
            async with self._turns:
                return await asyncio.to_thread(_page, context)
        except BadQueryError as error:
            return self._message(request, 400, "That cannot be understood", str(error), is_json)
        except StoreUnreadableError as error:
            _log.warning("%s", error)
            return self._message(request, 503, "The store of runs cannot be read", str(error), is_json)

    def _context(self, request: Request, store: RunStore) -> Context:
        return Context(
            request,
            store.database,
            store.dimensions,
            self._rules(),
            self._config.console,
            self._health(),
            self._shown_config(),
            self._drift.watched if self._drift is not None else None,
        )

    def _message(self, request: Request, status: int, heading: str, text: str, is_json: bool) -> Reply:
        if is_json:
            return api.json_reply({"error": text}, status)
        return rendering.page(
            "message.html", status, title=heading, heading=heading, text=text, request=request, health=self._health()
        )


def _page(context: Context) -> Reply:
    request = context.request
    if request.form:
        return _tried(context)
    if request.path in _PAGES:
        return _PAGES[request.path](context)
    if request.path.startswith("/runs/") and request.path.endswith("/spans"):
        return api.spans(context.database, request)
    if request.path.startswith("/runs/"):
        return api.trace(context.database, request)
    if request.path.startswith("/console/runs/"):
        return run_page(context)
    return rendering.page(
        "message.html", 404, heading="There is no such page", text="The links above lead to those there are.",
        **context.common("Not found"),
    )  # fmt: skip


def _tried(context: Context) -> Reply:
    edited = context.request.form.get("rules", "").replace("\r\n", "\n")
    try:
        return rules_page(context, edited, try_rules(context.database, edited))
    except ConfigError as error:
        return rules_page(context, edited, mistake=str(error))


def _is_own_form(headers: Mapping[str, str]) -> bool:
    """Whether a form comes from a page of ours: browsers send what they were told on any site along with it."""
    # Both headers, since older browsers send no Sec-Fetch-Site: a form of another site comes with the password that
    # the browser remembers.
    origin = headers.get("origin")
    return headers.get("sec-fetch-site", "same-origin") == "same-origin" and (
        origin is None or origin.partition("://")[2] == headers.get("host")
    )


async def _form(receive: Receive) -> dict[str, str]:
    """Read a form. Raises BadQueryError where it is too long."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
        if len(body) > MAX_FORM or message["type"] == "http.disconnect":
            raise BadQueryError(f"the form has more than {MAX_FORM} bytes")
    return parse_form(body)


def _text(status: int, text: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Reply:
    return Reply(status, printable(text).encode() + b"\n", "text/plain; charset=utf-8", headers)
