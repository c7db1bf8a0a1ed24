"""The judge behind its cache, budget, circuit breaker and retries, with one attempt to repair an unusable answer.

Every attempt is a request on the wire and counts as one: retries, repairs, and the same question with its schema in words
where an endpoint refuses schemas. Only usable answers are cached.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from collector.clock import Clock
from collector.component import Judge, JudgeAnswer
from collector.config.judge import JudgeConfig
from collector.errors import JudgeError, JudgeReason
from collector.judging.budget import Budget, Reservation
from collector.judging.cache import Cache, digest
from collector.judging.circuit import Circuit, CircuitState
from collector.telemetry.metrics import Telemetry
from collector.transport.backoff import Backoff
from scorers.judged.judge import AnswerError, JudgeRequest, parse_answer

MAX_QUESTION_BYTES = 1 << 18
"""A longer question is not asked, and its run counts as skipped."""
_TEMPLATE_TOKENS = 64  # what a chat template may add to a question
_RETRYABLE: frozenset[JudgeReason] = frozenset({"timeout", "rate_limited", "server", "connection"})
_REPAIR = (
    "\n\nYour last answer could not be used: {problem}. Answer again: with exactly one JSON object that fits the schema, "
    "and nothing else."
)


class LimitError(Exception):
    """The judge was not asked, and did not fail: a limit forbids it, or there is nothing to ask.

    ``reason`` is from a closed set: it becomes a metric label.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class GuardedJudge:
    """One judge, shared by every rule."""

    def __init__(self, judge: Judge, config: JudgeConfig, telemetry: Telemetry, clock: Clock) -> None:
        self._judge, self._config, self._telemetry, self._clock = judge, config, telemetry, clock
        self._budget, self._cache = Budget(config.budget), Cache(config.cache)
        self._circuit = Circuit(config.circuit_breaker)

    @property
    def circuit_state(self) -> CircuitState:
        """The state of the circuit breaker."""
        return self._circuit.state

    async def answer(self, request: JudgeRequest, rule: str) -> Any:
        """Returns an object that fits the request's schema, or text if the request has no schema.

        Raises JudgeError if the judge failed, LimitError if it may not be asked.
        """
        # Before budget and circuit: a known answer costs nothing, and a judge that is down takes nothing from it.
        key = digest(self._judge.identity, request)
        if (cached := self._cache.get(key)) is not None:
            self._telemetry.child(self._telemetry.judge_cache_hits, rule).inc()
            return _parse(cached, request)
        try:
            return await self._ask_and_parse(request, request, rule, key)
        except AnswerError as problem:
            repair = replace(request, user=request.user + _REPAIR.format(problem=problem))
            failure = JudgeError("invalid", str(problem))
        try:
            # Cached under the question as it was first asked: asked again, it gets the repaired answer at once.
            return await self._ask_and_parse(repair, request, rule, key)
        # What is over the limit is only the repair. The judge was asked, and its answer could not be used.
        except LimitError:
            raise failure from None
        except AnswerError as problem:
            raise JudgeError("invalid", f"{problem}, twice") from None

    async def _ask_and_parse(self, sent: JudgeRequest, original: JudgeRequest, rule: str, key: bytes) -> Any:
        """Returns the parsed answer to ``sent``, cached as that to ``original``. Raises AnswerError if it is unusable."""
        answer = await self._ask_with_retries(sent, rule)
        try:
            parsed = _parse(answer.text, original)
        except AnswerError:
            self._count(rule, "invalid")
            raise
        self._count(rule, "ok")
        self._cache.put(key, answer.text)
        return parsed

    async def _ask_with_retries(self, request: JudgeRequest, rule: str) -> JudgeAnswer:
        retry = self._config.retry_on_failure
        backoff = Backoff(retry, self._clock.random, retry.max_elapsed_time)
        started, reworded = self._clock.now(), False
        failure: JudgeError | None = None
        while True:
            reservation = self._reserve(request, failure)
            try:
                return await self._send(request, rule, reservation)
            except JudgeError as error:
                failure = error
                self._count(rule, error.reason)
            if failure.reason == "invalid":
                raise AnswerError(str(failure))
            if failure.reason == "unsupported" and not reworded:
                reworded = True
                continue
            elapsed = self._clock.now() - started
            pause = backoff.next_pause(elapsed, failure.retry_after) if failure.reason in _RETRYABLE else None
            if pause is None:
                raise failure
            await self._clock.sleep(pause)

    def _reserve(self, request: JudgeRequest, failure: JudgeError | None) -> Reservation:
        """Reserve budget for one attempt.

        Raises LimitError if the first attempt is over a limit; if a later one is, raises ``failure``, that of the one before.
        """
        size = len(request.system.encode("utf-8", "replace")) + len(request.user.encode("utf-8", "replace"))
        if size > MAX_QUESTION_BYTES:
            raise LimitError("too_long")
        # A token is at least one byte, so this is an upper bound.
        max_tokens = size + len(json.dumps(request.schema)) + _TEMPLATE_TOKENS + self._config.max_tokens
        reservation = self._budget.reserve(max_tokens, self._clock.wall_ns() / 1e9)
        if reservation is None:
            raise failure or LimitError("budget")
        # Last of all checks: it may choose this request as the probe, which then has to be sent.
        if not self._circuit.admits(self._clock.now()):
            reservation.cancel()
            raise failure or JudgeError("circuit_open", "too many failures in a row; the judge was not asked")
        return reservation

    async def _send(self, request: JudgeRequest, rule: str, reservation: Reservation) -> JudgeAnswer:
        """Send one request; record its duration, its tokens and what it means for the circuit breaker."""
        started = self._clock.now()
        try:
            answer = await self._judge.ask(request)
        except JudgeError as error:
            # Otherwise the reservation stays: a request that failed late may have used all of its tokens.
            if not error.charged:
                reservation.settle(0)
            # An endpoint that refuses a schema works: this is neither a success nor a failure.
            if error.reason == "unsupported":
                self._circuit.released()
            else:
                self._circuit.failed(self._clock.now())
            raise
        finally:
            self._telemetry.judge_request_seconds.observe(self._clock.now() - started)
        self._circuit.succeeded()
        if answer.tokens is not None:
            reservation.settle(answer.tokens)
        self._telemetry.child(self._telemetry.judge_tokens, rule).inc(reservation.tokens)
        return answer

    def _count(self, rule: str, outcome: str) -> None:
        self._telemetry.child(self._telemetry.judge_requests, rule, outcome).inc()


def _parse(text: str, request: JudgeRequest) -> Any:
    """Raises AnswerError."""
    if request.schema is not None:
        return parse_answer(text, request.schema)
    if not text.strip():
        raise AnswerError("the judge's answer is empty")
    return text
