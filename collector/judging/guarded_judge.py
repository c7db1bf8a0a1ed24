"""One question to one usable answer: from the cache, else from the judge, within budget, circuit, retries and one repair.

Every attempt is a request on the wire and counts as one: retries, repairs, and the same question put in words where an
endpoint refuses a schema. Only answers that were usable are cached.
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
from scorers.judged.judge import AnswerError, JudgeRequest, parse_answer

MAX_QUESTION_BYTES = 1 << 18
_ENVELOPE = 64  # tokens a chat template may add
_RETRYABLE: frozenset[JudgeReason] = frozenset({"timeout", "rate_limited", "server", "connection"})
_REPAIR = (
    "\n\nYour last answer could not be used: {problem}. Answer again: with exactly one JSON object that fits the schema, "
    "and nothing else."
)


class LimitError(Exception):
    """Not asked, and nobody failed: limits forbid it, or there is nothing to ask.

    ``reason`` is from a closed set: it becomes a metric label.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class GuardedJudge:
    """Asks one judge, for every rule."""

    def __init__(self, judge: Judge, config: JudgeConfig, telemetry: Telemetry, clock: Clock) -> None:
        self._judge, self._config, self._telemetry, self._clock = judge, config, telemetry, clock
        self._retry = config.retry_on_failure
        self._budget, self._cache = Budget(config.budget), Cache(config.cache)
        self._circuit = Circuit(config.circuit_breaker)

    @property
    def circuit_state(self) -> CircuitState:
        """Whether the judge is being left alone."""
        return self._circuit.state

    async def answer(self, request: JudgeRequest, rule: str) -> Any:
        """An object that fits the request's schema, text where it has none.

        Raises JudgeError where the judge failed, LimitError where it may not be asked.
        """
        key = digest(self._judge.identity, request)
        if (known := self._cache.get(key)) is not None:
            self._telemetry.child(self._telemetry.judge_cache_hits, rule).inc()
            return _read(known, request)
        try:
            return await self._asked(request, request, rule, key)
        except AnswerError as problem:
            repair = replace(request, user=request.user + _REPAIR.format(problem=problem))
            failure = JudgeError("invalid", str(problem))
        try:
            return await self._asked(repair, request, rule, key)
        except LimitError:
            raise failure from None
        except AnswerError as problem:
            raise JudgeError("invalid", f"{problem}, twice") from None

    async def _asked(self, put: JudgeRequest, meant: JudgeRequest, rule: str, key: bytes) -> Any:
        """Ask until there is an answer. Raises AnswerError where it is of no use."""
        answer = await self._insist(put, rule)
        try:
            found = _read(answer.text, meant)
        except AnswerError:
            self._count(rule, "invalid")
            raise
        self._count(rule, "ok")
        self._cache.put(key, answer.text)
        return found

    async def _insist(self, request: JudgeRequest, rule: str) -> JudgeAnswer:
        begun, wait, reworded = self._clock.now(), self._retry.initial_interval, False
        failure: JudgeError | None = None
        while True:
            reservation = self._admitted(request, failure)
            try:
                return await self._once(request, rule, reservation)
            except JudgeError as error:
                failure = error
                self._count(rule, error.reason)
            if failure.reason == "invalid":
                raise AnswerError(str(failure))
            if failure.reason == "unsupported" and not reworded:
                reworded = True
                continue
            asked_for = failure.retry_after
            pause = asked_for if asked_for is not None else wait * (0.5 + self._clock.random())
            patience = self._retry.max_elapsed_time - (self._clock.now() - begun)
            if failure.reason not in _RETRYABLE or not self._retry.enabled or pause > patience:
                raise failure
            await self._clock.sleep(pause)
            wait = min(wait * 2, self._retry.max_interval)

    def _admitted(self, request: JudgeRequest, failure: JudgeError | None) -> Reservation:
        """Room for one attempt. Without it a first attempt is a matter of limits, a further one a failure."""
        size = len(request.system.encode("utf-8", "replace")) + len(request.user.encode("utf-8", "replace"))
        if size > MAX_QUESTION_BYTES:
            raise LimitError("too_long")
        # A token is a byte at least, so this is the most the question can be.
        most = size + len(json.dumps(request.schema)) + _ENVELOPE + self._config.max_tokens
        reservation = self._budget.reserve(most, self._clock.wall_ns() / 1e9)
        if reservation is None:
            raise failure or LimitError("budget")
        if not self._circuit.admits(self._clock.now()):
            reservation.cancel()
            raise failure or JudgeError("circuit_open", "it failed too often of late; nobody was asked")
        return reservation

    async def _once(self, request: JudgeRequest, rule: str, reservation: Reservation) -> JudgeAnswer:
        """One request on the wire."""
        begun = self._clock.now()
        try:
            answer = await self._judge.ask(request)
        except JudgeError as error:
            if not error.charged:
                reservation.settle(0)
            if error.reason == "unsupported":
                self._circuit.released()
            else:
                self._circuit.failed(self._clock.now())
            raise
        finally:
            self._telemetry.judge_request_seconds.observe(self._clock.now() - begun)
        self._circuit.succeeded()
        if answer.tokens is not None:
            reservation.settle(answer.tokens)
        self._telemetry.child(self._telemetry.judge_tokens, rule).inc(reservation.tokens)
        return answer

    def _count(self, rule: str, outcome: str) -> None:
        self._telemetry.child(self._telemetry.judge_requests, rule, outcome).inc()


def _read(text: str, request: JudgeRequest) -> Any:
    """Raises AnswerError."""
    if request.schema is not None:
        return parse_answer(text, request.schema)
    if not text.strip():
        raise AnswerError("the judge answered nothing")
    return text
