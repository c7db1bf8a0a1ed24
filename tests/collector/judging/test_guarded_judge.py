"""The bounds of one question: its size, the budget it reserves, and how often it is repaired."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from collector.component import JudgeAnswer
from collector.config.judge import JudgeConfig
from collector.errors import JudgeError
from collector.judging.guarded_judge import MAX_QUESTION_BYTES, GuardedJudge, LimitError
from collector.telemetry.metrics import Telemetry
from scorers.judged.judge import JudgeRequest
from tests.sinks import ManualClock

SCHEMA = {"type": "object", "required": ["ok"]}
TEMPLATE_TOKENS = 64


class ScriptedJudge:
    """A judge that gives its answers, or raises its errors, in turn; ``asked`` are the requests it got."""

    identity = "scripted"

    def __init__(self, *answers: str | JudgeError, tokens: int | None = None) -> None:
        self.asked: list[JudgeRequest] = []
        self._answers, self._tokens = list(answers), tokens

    async def ask(self, request: JudgeRequest) -> JudgeAnswer:
        self.asked.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, JudgeError):
            raise answer
        return JudgeAnswer(answer, self._tokens)

    async def close(self) -> None:
        """Has no connections."""


def guarded(judge: ScriptedJudge, clock: ManualClock | None = None, **config: Any) -> GuardedJudge:
    settings = JudgeConfig.model_validate({"endpoint": "http://127.0.0.1:1/v1", "model": "m", **config})
    return GuardedJudge(judge, settings, Telemetry(), clock or ManualClock())


def answers(subject: GuardedJudge, *requests: JudgeRequest) -> list[Any]:
    """The answer to each question, or the reason why there is none."""

    async def answer(request: JudgeRequest) -> Any:
        try:
            return await subject.answer(request, "rule")
        except (LimitError, JudgeError) as error:
            return error.reason

    async def run() -> list[Any]:
        return [await answer(request) for request in requests]

    return asyncio.run(run())


@pytest.mark.parametrize("letter", ["x", "é"])
def test_the_size_of_a_question_is_bounded_in_bytes(letter: str) -> None:
    question = letter * (MAX_QUESTION_BYTES // len(letter.encode()))
    judge = ScriptedJudge("yes")
    subject = guarded(judge, budget={"tokens_per_minute": 2 * MAX_QUESTION_BYTES})
    assert answers(subject, JudgeRequest("", question), JudgeRequest(".", question)) == ["yes", "too_long"]
    assert len(judge.asked) == 1


@pytest.mark.parametrize("schema", [None, SCHEMA])
@pytest.mark.parametrize("missing", [0, 1])
def test_a_question_reserves_the_most_tokens_it_can_take(schema: dict[str, Any] | None, missing: int) -> None:
    request = JudgeRequest("be fair", "é?", schema)
    most = len("be fair") + 3 + len(json.dumps(schema)) + TEMPLATE_TOKENS + 100
    judge = ScriptedJudge('{"ok": 1}')
    subject = guarded(judge, max_tokens=100, budget={"tokens_per_minute": most - missing})
    (answer,) = answers(subject, request)
    assert (answer == "budget", len(judge.asked)) == ((True, 0) if missing else (False, 1))


@pytest.mark.parametrize(("used", "answer"), [(None, "budget"), (1, "yes")])
def test_unused_tokens_are_given_back_if_the_judge_reports_them(used: int | None, answer: str) -> None:
    judge = ScriptedJudge("yes", "yes", tokens=used)
    subject = guarded(judge, max_tokens=100, budget={"tokens_per_day": 250})
    assert answers(subject, JudgeRequest("", "a?"), JudgeRequest("", "b?")) == ["yes", answer]


def test_an_unusable_answer_is_repaired_once_and_only_the_repaired_one_is_cached() -> None:
    judge = ScriptedJudge("no JSON", '{"ok": 1}', "no JSON", "[]")
    request, other = JudgeRequest("s", "u", SCHEMA), JudgeRequest("s", "other", SCHEMA)
    assert answers(guarded(judge), request, request, other) == [{"ok": 1}, {"ok": 1}, "invalid"]
    assert [question.user.startswith("u\n\nYour last answer could not be used: ") for question in judge.asked] == [
        False,
        True,
        False,
        False,
    ]
    assert len(judge.asked) == 4


def test_a_question_that_cannot_be_repaired_within_the_limits_is_invalid() -> None:
    judge = ScriptedJudge("no JSON")
    subject = guarded(judge, budget={"requests_per_minute": 1})
    assert answers(subject, JudgeRequest("s", "u", SCHEMA)) == ["invalid"]


def test_a_refused_schema_is_asked_again_at_once_but_once() -> None:
    refusals: Sequence[JudgeError] = [JudgeError("unsupported", "HTTP 400", charged=False) for _ in range(2)]
    clock, judge = ManualClock(), ScriptedJudge(*refusals)
    assert answers(guarded(judge, clock), JudgeRequest("s", "u", SCHEMA)) == ["unsupported"]
    assert (len(judge.asked), clock.slept) == (2, [])


@pytest.mark.parametrize(
    ("retry", "slept"),
    [
        ({"max_elapsed_time": "10s"}, [1.0, 2.0, 4.0]),
        ({}, [1.0, 2.0, 4.0, 8.0, 16.0]),
        ({"initial_interval": "20s", "max_interval": "20s"}, [20.0, 20.0, 20.0]),  # by default 60 s
        ({"max_elapsed_time": 0}, []),
        ({"enabled": False}, []),
    ],
    ids=str,
)
def test_a_failing_question_is_retried_for_max_elapsed_time(retry: dict[str, Any], slept: list[float]) -> None:
    clock, judge = ManualClock(), ScriptedJudge(*[JudgeError("server", "HTTP 500")] * 20)
    subject = guarded(judge, clock, retry_on_failure=retry, circuit_breaker={"failures": 100})
    assert answers(subject, JudgeRequest("s", "u")) == ["server"]
    assert (clock.slept, len(judge.asked)) == (slept, len(slept) + 1)


@pytest.mark.parametrize("reason", ["refused", "unsupported"])
def test_what_a_retry_cannot_mend_does_not_wait(reason: Any) -> None:
    clock, judge = ManualClock(), ScriptedJudge(*[JudgeError(reason, "no")] * 3)
    assert answers(guarded(judge, clock), JudgeRequest("s", "u")) == [reason]
    assert clock.slept == []
