"""One question to a server over HTTP, with a deadline for the whole exchange and a limit of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

from collector.errors import RightcallError
from collector.transport.proxies import proxy_for

TIMEOUT: Final = 30.0
"""Seconds until the answer is complete."""
MAX_ANSWER_BYTES: Final = 16 << 20
"""The longest answer that is read."""


class NoAnswerError(RightcallError):
    """There is no answer, or one that is too long or does not end. The message says why."""


class Answer(NamedTuple):
    """Whatever the server says."""

    status: int
    content_type: str
    body: bytes


def ask(url: str, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None) -> Answer:
    """Returns the answer to GET, or with ``form`` to POST. Raises NoAnswerError."""
    import httpx  # noqa: PLC0415 - takes as long to import as all else takes

    # With the authorities of the environment, but its proxies by our rule: by httpx's, loopback would be behind them.
    client = httpx.AsyncClient(
        timeout=TIMEOUT, verify=httpx.create_ssl_context(), proxy=proxy_for(url), trust_env=False
    )

    async def exchange() -> Answer:
        # The client's own timeout is for each read: a server that drips would never reach it.
        async with asyncio.timeout(TIMEOUT), client:
            method = "GET" if form is None else "POST"
            sent = {**(headers or {}), "accept-encoding": "identity"}
            async with client.stream(method, url, data=form, headers=sent) as response:
                body = b""
                # Raw, so that an answer that is compressed all the same is not expanded.
                async for part in response.aiter_raw():
                    body += part
                    if len(body) > MAX_ANSWER_BYTES:
                        raise NoAnswerError(f"the answer is longer than {MAX_ANSWER_BYTES >> 20} MiB")
                return Answer(response.status_code, response.headers.get("content-type", ""), body)

    async def exchange_and_tidy() -> Answer:
        try:
            return await exchange()
        finally:  # what an answer that was given up leaves behind would be ended only after the loop
            await asyncio.get_running_loop().shutdown_asyncgens()

    try:
        return asyncio.run(exchange_and_tidy())
    except TimeoutError:
        raise NoAnswerError(f"no answer in {TIMEOUT:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NoAnswerError(str(error) or type(error).__name__) from None
