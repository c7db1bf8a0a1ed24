"""A model at any endpoint with OpenAI's chat completions API (openai >= 2), asked once for each request.

Configuration: ``judge``. An answer is held to its JSON Schema by ``response_format``; an endpoint that refuses that for a
schema gets the schema in words from then on. Nothing is retried here, no environment variable is read, no redirect is
followed, and of an answer at most `MAX_ANSWER_BYTES` are read.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import openai

from collector.component import JudgeAnswer
from collector.config.judge import JudgeConfig
from collector.errors import ConfigError, JudgeError
from collector.judging.clients.schema import SchemaEvent, Schemas, strict, worded
from collector.otlp.status import retry_after
from collector.transport.credentials import WatchedFiles, read_file
from scorers.judged.judge import JudgeRequest

MAX_ANSWER_BYTES = 1 << 20
_NEVER_CONNECTED = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol")
_EVENTS = {
    (True, False): SchemaEvent.TAKEN,
    (False, False): SchemaEvent.REFUSED,
    (True, True): SchemaEvent.TAKEN_IN_WORDS,
    (False, True): SchemaEvent.REFUSED_IN_WORDS,
}


class OpenAIJudge:
    """Asks one model."""

    def __init__(self, config: JudgeConfig, now: Callable[[], float] = time.monotonic) -> None:
        """Raises ConfigError where the key's or the authority's file cannot be used."""
        self._config = config
        self._schemas = Schemas()
        self._key_file = WatchedFiles([config.api_key_file], 30.0, now)
        http = openai.DefaultAsyncHttpxClient(verify=_context(config), trust_env=False, follow_redirects=False)
        key = _key(config)
        # Without a key none is sent, though the client insists on one.
        self._headers: dict[str, Any] = {} if key else {"Authorization": openai.Omit()}
        self._headers.update({name.title(): value for name, value in config.headers.items()})
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=config.endpoint,
            timeout=config.timeout,
            max_retries=0,
            http_client=http,
        )
        self._client.organization = self._client.project = None  # from the environment, meant for somebody else
        asked = {"model": config.model, "max_tokens": config.max_tokens, "extra_body": config.extra_body}
        self.identity = sha256(json.dumps([config.endpoint, asked], sort_keys=True).encode()).hexdigest()

    async def ask(self, request: JudgeRequest) -> JudgeAnswer:
        """Ask once. Raises JudgeError."""
        self._renew_key()
        in_words = request.schema is not None and self._schemas.in_words(request.schema)
        try:
            async with asyncio.timeout(self._config.timeout):  # the client's own bounds each read, not all of them
                body = await self._post(request, in_words=in_words)
        except openai.APIStatusError as error:
            if error.status_code in (400, 422) and self._learn(request, taken=False, in_words=in_words):
                raise JudgeError("unsupported", f"HTTP {error.status_code}", charged=False) from None
            raise _status_failure(error) from None
        except (TimeoutError, openai.APITimeoutError) as error:
            raise JudgeError("timeout", "no answer in time", charged=not _never_connected(error)) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise JudgeError("connection", type(cause).__name__, charged=not _never_connected(error)) from None
        except JudgeError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever breaks off in the middle of an answer
            raise JudgeError("connection", f"the answer broke off: {type(error).__name__}") from None
        self._learn(request, taken=True, in_words=in_words)
        return _answer(body)

    def _learn(self, request: JudgeRequest, *, taken: bool, in_words: bool) -> bool:
        """Take note of what became of the schema; whether to ask the same in words."""
        return request.schema is not None and self._schemas.learn(request.schema, _EVENTS[taken, in_words])

    async def _post(self, request: JudgeRequest, *, in_words: bool) -> bytes:
        extra: dict[str, Any] = {"temperature": 0, **self._config.extra_body}
        if "max_completion_tokens" not in extra:  # what newer models of OpenAI's want, who refuse the other
            extra.setdefault("max_tokens", self._config.max_tokens)
        user = request.user
        if request.schema is not None and in_words:
            user = f"{user}\n\n{worded(request.schema)}"
        elif request.schema is not None:
            wanted = {"name": "answer", "strict": True, "schema": strict(request.schema)}
            extra["response_format"] = {"type": "json_schema", "json_schema": wanted}
        body = bytearray()
        async with self._client.chat.completions.with_streaming_response.create(
            model=self._config.model,
            messages=[{"role": "system", "content": request.system}, {"role": "user", "content": user}],
            extra_body=extra,
            extra_headers=self._headers,
        ) as response:
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


def _answer(body: bytes) -> JudgeAnswer:
    """What a chat completion says. Raises JudgeError where it is none."""
    try:
        said = json.loads(body)
        text = said["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise JudgeError("invalid", "the endpoint answered something that is no chat completion") from None
    if not isinstance(text, str):
        raise JudgeError("invalid", "the model answered no text")
    usage = said.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return JudgeAnswer(text, tokens if type(tokens) is int and tokens >= 0 else None)


def _status_failure(error: openai.APIStatusError) -> JudgeError:
    status = error.status_code
    message = f"HTTP {status}"
    if status == 429:
        after = retry_after(error.response.headers.get("retry-after"), time.time())
        return JudgeError("rate_limited", message, retry_after=after, charged=False)
    if status == 408:
        return JudgeError("timeout", message)
    if status >= 500:
        after = retry_after(error.response.headers.get("retry-after"), time.time())
        return JudgeError("server", message, retry_after=after)
    return JudgeError("refused", message, charged=False)


def _never_connected(error: BaseException) -> bool:
    return type(error.__cause__).__name__ in _NEVER_CONNECTED


def _key(config: JudgeConfig) -> str:
    """The key in force, empty where there is none. Raises ConfigError."""
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
            context.load_cert_chain(tls.cert_file, tls.key_file)
    except (ssl.SSLError, ValueError, OSError) as error:
        raise ConfigError(f"judge.tls: a certificate or key cannot be used: {error}") from None
    return context
