"""A model at any endpoint with OpenAI's chat completions API (openai >= 2).

Configuration: ``judge``. Answers are constrained to their JSON Schema by ``response_format``; if an endpoint refuses that
for a schema, the schema is sent in words from then on. Nothing is retried here, no environment variable is read, no
redirect is followed. Of an answer at most `MAX_ANSWER_BYTES` are read, of an error nothing but its status and headers.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import openai

from collector.clock import SYSTEM_CLOCK, Clock
from collector.component import JudgeAnswer
from collector.config.judge import JudgeConfig
from collector.errors import ConfigError, JudgeError
from collector.judging.clients.schema import SchemaEvent, Schemas, strict, worded
from collector.otlp.status import retry_after
from collector.transport.credentials import WatchedFiles, load_pair, read_file
from collector.transport.proxies import proxy_for
from scorers.judged.judge import JudgeRequest
from scorers.unicode import JSONDecoder

MAX_ANSWER_BYTES = 1 << 20
"""The longest answer of a judge that is read."""
KEY_CHECK_INTERVAL = 30.0
"""Seconds between checks whether the key file changed."""
_NEVER_CONNECTED = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol")
_EVENTS = {
    (True, False): SchemaEvent.TAKEN,
    (False, False): SchemaEvent.REFUSED,
    (True, True): SchemaEvent.TAKEN_IN_WORDS,
    (False, True): SchemaEvent.REFUSED_IN_WORDS,
}


class OpenAIJudge:
    """A judge that is one model at one endpoint."""

    def __init__(self, config: JudgeConfig, clock: Clock = SYSTEM_CLOCK) -> None:
        """Raises ConfigError if a key or TLS file cannot be used."""
        self._config, self._clock = config, clock
        self._schemas = Schemas()
        self._key_file = WatchedFiles([config.api_key_file], KEY_CHECK_INTERVAL, clock.now)
        # A question holds what users said, and is for the configured endpoint alone: no redirects, and a proxy only where
        # it cannot read along.
        http = openai.DefaultAsyncHttpxClient(
            verify=_context(config),
            trust_env=False,
            proxy=proxy_for(config.endpoint) if config.endpoint.startswith("https://") else None,
            follow_redirects=False,
            event_hooks={"response": [_skip_error_body]},
        )
        key = _key(config)
        # The client requires a key; if there is none, the header is omitted.
        self._headers: dict[str, Any] = {} if key else {"Authorization": openai.Omit()}
        self._headers["Accept-Encoding"] = "identity"  # compressed, an answer could be larger than it looks
        self._headers.update({name.title(): value for name, value in config.headers.items()})
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=config.endpoint,
            timeout=config.timeout,
            max_retries=0,
            http_client=http,
        )
        self._client.organization = self._client.project = (
            None  # read from the environment, not meant for this endpoint
        )
        settings = {"model": config.model, "max_tokens": config.max_tokens, "extra_body": config.extra_body}
        self.identity = sha256(json.dumps([config.endpoint, settings], sort_keys=True).encode()).hexdigest()

    async def ask(self, request: JudgeRequest) -> JudgeAnswer:
        """Send one request, without retries. Raises JudgeError."""
        self._renew_key()
        in_words = request.schema is not None and self._schemas.in_words(request.schema)
        try:
            async with asyncio.timeout(
                self._config.timeout
            ):  # the client's own timeout is for each read, not for the whole
                body = await self._post(request, in_words=in_words)
        except openai.APIStatusError as error:
            if error.status_code in (400, 422) and self._learn(request, taken=False, in_words=in_words):
                raise JudgeError("unsupported", f"HTTP {error.status_code}", charged=False) from None
            raise _status_failure(error, self._clock.wall_ns() / 1e9) from None
        except (TimeoutError, openai.APITimeoutError) as error:
            # Sent is as good as charged: the endpoint may have answered, and nobody was there to read it.
            raise JudgeError("timeout", "no answer in time", charged=not _never_connected(error)) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise JudgeError("connection", type(cause).__name__, charged=not _never_connected(error)) from None
        except JudgeError:
            raise
        except Exception as error:  # noqa: BLE001 - the connection may break in many ways
            raise JudgeError("connection", f"the answer ended early: {type(error).__name__}") from None
        self._learn(request, taken=True, in_words=in_words)
        return _answer(body)

    def _learn(self, request: JudgeRequest, *, taken: bool, in_words: bool) -> bool:
        """Record how the endpoint reacted to the schema. Returns whether to send it in words."""
        return request.schema is not None and self._schemas.learn(request.schema, _EVENTS[taken, in_words])

    async def _post(self, request: JudgeRequest, *, in_words: bool) -> bytes:
        extra: dict[str, Any] = {"temperature": 0, **self._config.extra_body}
        if "max_completion_tokens" not in extra:  # newer OpenAI models require it and refuse max_tokens
            extra.setdefault("max_tokens", self._config.max_tokens)
        user = request.user
        if request.schema is not None and in_words:
            user = f"{user}\n\n{worded(request.schema)}"
        elif request.schema is not None:
            json_schema = {"name": "answer", "strict": True, "schema": strict(request.schema)}
            extra["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        body = bytearray()
        # Streamed, to stop at the limit: the client alone would read all of an answer, however long.
        async with self._client.chat.completions.with_streaming_response.create(
            model=self._config.model,
            messages=[{"role": "system", "content": request.system}, {"role": "user", "content": user}],
            extra_body=extra,
            extra_headers=self._headers,
        ) as response:
            # The client would expand it while it is read, before its size could be known.
            if response.headers.get("content-encoding", "identity") != "identity":
                raise JudgeError("invalid", "the answer is compressed, which was not asked for")
            async for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MAX_ANSWER_BYTES:
                    raise JudgeError("invalid", f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
        return bytes(body)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _renew_key(self) -> None:
        if self._config.api_key_file is not None and self._key_file.changed():
            try:
                self._client.api_key = _key(self._config)
            except ConfigError as error:
                raise JudgeError("refused", str(error), charged=False) from None


async def _skip_error_body(response: Any) -> None:
    """Close an answer that is an error before the client reads it: its text is not used, and may be of any size."""
    if not response.is_success:
        await response.aclose()


def _answer(body: bytes) -> JudgeAnswer:
    """Returns the text of a chat completion and its token count. Raises JudgeError if it is not one."""
    try:
        # Not the decoder of the standard library, which lets halves of characters through.
        completion = JSONDecoder().decode(body.decode())
        text = completion["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise JudgeError("invalid", "the response is not a chat completion") from None
    if not isinstance(text, str):
        raise JudgeError("invalid", "the response has no text")
    usage = completion.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return JudgeAnswer(text, tokens if type(tokens) is int and tokens >= 0 else None)


def _status_failure(error: openai.APIStatusError, now: float) -> JudgeError:
    status = error.status_code
    message = f"HTTP {status}"
    if status == 429:
        after = retry_after(error.response.headers.get("retry-after"), now)
        return JudgeError("rate_limited", message, retry_after=after, charged=False)
    if status == 408:
        return JudgeError("timeout", message)
    if status >= 500:
        after = retry_after(error.response.headers.get("retry-after"), now)
        return JudgeError("server", message, retry_after=after)
    return JudgeError("refused", message, charged=False)


def _never_connected(error: BaseException) -> bool:
    return type(error.__cause__).__name__ in _NEVER_CONNECTED


def _key(config: JudgeConfig) -> str:
    """Returns the configured API key, empty if there is none. Raises ConfigError."""
    if config.api_key is not None:
        return config.api_key.get_secret_value()
    if config.api_key_file is None:
        return ""
    key = read_file(config.api_key_file, "judge.api_key_file").decode("utf-8", "replace").strip()
    if not key:
        raise ConfigError(f"judge.api_key_file: {config.api_key_file} is empty")
    return key


def _context(config: JudgeConfig) -> ssl.SSLContext:
    tls = config.tls
    authorities = read_file(tls.ca_file, "judge.tls.ca_file").decode("ascii", "replace") if tls.ca_file else None
    try:
        context = ssl.create_default_context(cadata=authorities)
        if tls.cert_file is not None:
            load_pair(context, tls.cert_file, tls.key_file)
    except (ssl.SSLError, ValueError, OSError) as error:
        raise ConfigError(f"judge.tls: a certificate or key cannot be used: {error}") from None
    return context
