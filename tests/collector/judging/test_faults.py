"""The fault table: what a failing judge costs, what is exported, and what is counted.

Every case: one run that its rule passes, judged at a rate of 1 with Mastra's two questions.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.collector.judging.bench import REASON, JudgeBench, analysis, good_run, judging
from tests.judge_server import HANGS, HANGS_MID_BODY, TOKENS, JudgeServer, Question, Reply, fails, says

GARBAGE = says("I think that it did very well!")
OUT_OF_SCHEMA = says('{"evaluations": [{"toolCalled": "t", "wasAppropriate": 7, "reasoning": "so"}]}')
CUT_SHORT = says('{"evaluations": [{"toolCalled": "t", "wasAppr')


@dataclass
class Case:
    """``replies`` in turn, the last one repeatedly; then the expected result."""

    replies: list[Reply]
    error: str | None
    outcomes: dict[str, int]
    slept: list[float] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        return sum(self.outcomes.values())


SOON = {"timeout": "300ms", "retry_on_failure": {"max_elapsed_time": "4s"}}
GOOD = [analysis(True, True), says(REASON)]
CASES = {
    "answers": Case(GOOD, None, {"ok": 2}),
    "times out": Case([HANGS], "judge_timeout", {"timeout": 3}, [1, 2], SOON),
    "hangs mid-body": Case([HANGS_MID_BODY], "judge_timeout", {"timeout": 3}, [1, 2], SOON),
    "times out once": Case([HANGS, *GOOD], None, {"timeout": 1, "ok": 2}, [1], {"timeout": "3s"}),
    "garbage twice": Case([GARBAGE], "judge_invalid", {"invalid": 2}),
    "garbage, then repaired": Case([GARBAGE, *GOOD], None, {"invalid": 1, "ok": 2}),
    "broken schema, then repaired": Case([OUT_OF_SCHEMA, *GOOD], None, {"invalid": 1, "ok": 2}),
    "out of range twice": Case([OUT_OF_SCHEMA], "judge_invalid", {"invalid": 2}),
    "cut short, then garbage": Case([CUT_SHORT, GARBAGE], "judge_invalid", {"invalid": 2}),
    "an empty answer, then a sentence": Case([GOOD[0], says(" "), says(REASON)], None, {"invalid": 1, "ok": 2}),
    "no chat completion": Case([Reply(b"<html>")], "judge_invalid", {"invalid": 2}),
    "429 with Retry-After": Case([fails(429, retry_after="7"), *GOOD], None, {"rate_limited": 1, "ok": 2}, [7]),
    "429 with Retry-After beyond max_elapsed_time": Case(
        [fails(429, retry_after="3600")], "judge_rate_limited", {"rate_limited": 1}
    ),
    "500 once": Case([fails(500), *GOOD], None, {"server": 1, "ok": 2}, [1]),
    "500 forever": Case([fails(500)], "judge_server", {"server": 6}, [1, 2, 4, 8, 16], {"circuit_breaker": {"failures": 9}}),
    "500 until the circuit opens": Case([fails(500)], "judge_server", {"server": 5}, [1, 2, 4, 8, 16]),
    "no retries": Case([fails(500)], "judge_server", {"server": 1}, [], {"retry_on_failure": {"enabled": False}}),
    "wrong key": Case([fails(401)], "judge_refused", {"refused": 1}),
    "refuses the format": Case([fails(400), *GOOD], None, {"unsupported": 1, "ok": 2}),
    "refuses everything": Case([fails(400)], "judge_refused", {"unsupported": 1, "refused": 1}),
}  # fmt: skip


def in_turn(replies: list[Reply]) -> Callable[[Question], Reply]:
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def judged(case: Case, folder: Path) -> tuple[JudgeBench, JudgeServer]:
    async def run() -> tuple[JudgeBench, JudgeServer]:
        async with judging(folder, in_turn(case.replies), **case.settings) as (bench, server):
            await bench.judge(*good_run())
        return bench, server

    return asyncio.run(run())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_fault_table(case: Case, tmp_path: Path) -> None:
    bench, server = judged(case, tmp_path)
    (event,) = bench.events()
    assert event["gen_ai.evaluation.score.label"] == ("error" if case.error else "pass")
    assert event.get("error.type") == case.error
    assert event.get("gen_ai.evaluation.score.value") == (None if case.error else 1.0)
    assert event["rightcall.scorer.version"].startswith("@mastra/evals@")
    # On a busy machine a request may time out before it arrives.
    assert case.requests - case.outcomes.get("timeout", 0) <= len(server.questions) <= case.requests
    assert bench.outcomes() == case.outcomes
    assert bench.clock.slept == case.slept
    labels = {"rule": "weather", "route": "", "intent": "", "scorer": "mastra_llm"}
    assert bench.value("evaluations_total", **labels, label="error" if case.error else "pass") == 1
    assert bench.value("evaluation_score_count", **labels) == (0 if case.error else 1)
    assert bench.value("judge_request_seconds_count") == case.requests
    # Every answer reports its tokens, even an unusable one.
    answered = case.outcomes.get("ok", 0) + case.outcomes.get("invalid", 0) * (case.replies[0].body != b"<html>")
    assert bench.value("judge_tokens_total", rule="weather") == TOKENS * answered


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_spans_and_deterministic_verdicts_are_sent_whatever_the_judge_does(case: Case, tmp_path: Path) -> None:
    async def run() -> None:
        async with judging(tmp_path, in_turn(case.replies), **case.settings) as (bench, server):
            bench.send(*good_run())
            bench.wait(3)
            # Nothing has run on the event loop since: the judge was not asked, and everything else was sent.
            assert len(bench.out()) == 3
            assert server.questions == []
            (own,) = bench.events("trajectory")
            assert own["gen_ai.evaluation.score.label"] == "pass"
            await bench.judge_queue.idle()

    asyncio.run(run())


def test_a_judge_that_is_unreachable_all_the_time(tmp_path: Path) -> None:
    """Connections are refused until the circuit opens; every run gets an error evaluation."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        endpoint = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"

    async def run() -> JudgeBench:
        settings: dict[str, Any] = {"retry_on_failure": {"enabled": False}, "circuit_breaker": {"failures": 3}}
        async with judging(tmp_path, endpoint=endpoint, **settings) as (bench, _):
            for number in range(1, 11):
                bench.send(*good_run(number))
            await bench.judge()
            assert bench.value("judge_circuit", state="open") == 1
        return bench

    bench = asyncio.run(run())
    kinds = [event["error.type"] for event in bench.events()]
    assert kinds == ["judge_connection"] * 3 + ["judge_circuit_open"] * 7
    assert bench.outcomes() == {"connection": 3}
    assert len(bench.out()) == 30
    assert bench.value("runs_total", release="root") == 10


def test_after_the_cool_down_one_request_probes(tmp_path: Path) -> None:
    replies = [fails(500), fails(500), *GOOD, *GOOD]
    settings: dict[str, Any] = {"retry_on_failure": {"enabled": False}, "cache": {"max_entries": 0}}

    async def run() -> list[str | None]:
        async with judging(tmp_path, in_turn(replies), circuit_breaker={"failures": 1}, **settings) as (bench, _):
            for number, pause in ((1, 0), (2, 0), (3, 31), (4, 31), (5, 0)):
                bench.wait(pause)
                await bench.judge(*good_run(number))
            return [event.get("error.type") for event in bench.events()]

    assert asyncio.run(run()) == ["judge_server", "judge_circuit_open", "judge_server", None, None]


@pytest.mark.parametrize(
    ("budget", "requests", "judgements"),
    [
        ({"requests_per_minute": 7}, 7, 3),
        ({"requests_per_day": 8}, 8, 4),
        ({"requests_per_minute": 1}, 1, 0),
    ],
    ids=str,
)
def test_the_budget_of_requests_is_exact(
    budget: dict[str, int], requests: int, judgements: int, tmp_path: Path
) -> None:
    async def run() -> tuple[JudgeBench, JudgeServer]:
        settings: dict[str, Any] = {"cache": {"max_entries": 0}, "max_concurrency": 4}
        async with judging(tmp_path, budget=budget, **settings) as (bench, server):
            bench.clock.seconds = 1_000_060.0  # a minute has just begun on the wall clock, and it is noon
            for number in range(1, 21):
                bench.send(*good_run(number))
            await bench.judge()
        return bench, server

    bench, server = asyncio.run(run())
    assert len(server.questions) == requests
    assert len(bench.events()) <= judgements
    assert all(event["gen_ai.evaluation.score.label"] == "pass" for event in bench.events())
    assert bench.value("judge_skipped_total", rule="weather", reason="budget") == 20 - len(bench.events())


def test_failing_attempts_use_the_budget_too(tmp_path: Path) -> None:
    async def run() -> tuple[JudgeBench, JudgeServer]:
        breaker = {"failures": 100}
        settings: dict[str, Any] = {"budget": {"requests_per_day": 4}, "circuit_breaker": breaker}
        async with judging(tmp_path, lambda _: fails(500), **settings) as (bench, server):
            for number in range(1, 4):
                bench.send(*good_run(number))
            await bench.judge()
        return bench, server

    bench, server = asyncio.run(run())
    assert len(server.questions) == 4
    assert [event["error.type"] for event in bench.events()] == ["judge_server"]
    assert bench.value("judge_skipped_total", rule="weather", reason="budget") == 2


def test_each_minute_has_its_own_budget(tmp_path: Path) -> None:
    async def run() -> list[float]:
        settings: dict[str, Any] = {"budget": {"requests_per_minute": 2}, "cache": {"max_entries": 0}}
        async with judging(tmp_path, **settings) as (bench, server):
            asked = []
            for number in range(1, 4):
                bench.clock.seconds = 40.0 + 60.0 * (number // 3)  # two in one minute, one in the next
                await bench.judge(*good_run(number))
                asked.append(len(server.questions))
            return [*asked, bench.value("judge_skipped_total", rule="weather", reason="budget")]

    assert asyncio.run(run()) == [2, 2, 4, 1]


def test_tokens_are_reserved_before_and_settled_after(tmp_path: Path) -> None:
    """Each question could be some 3,000 tokens, and is 70: as many are asked as leave room for one such reservation."""

    async def asked(tokens: int) -> int:
        budget = {"tokens_per_day": tokens, "requests_per_minute": 1000}
        async with judging(tmp_path, budget=budget, max_tokens=16, cache={"max_entries": 0}) as (bench, server):
            for number in range(1, 21):
                await bench.judge(*good_run(number))
            used = bench.value("judge_tokens_total", rule="weather")
            assert used == TOKENS * len(server.questions) <= tokens
            return len(server.questions)

    assert asyncio.run(asked(100)) == 0
    assert 1 < asyncio.run(asked(4_000)) < 40
    assert asyncio.run(asked(20_000)) == 40


def test_tokens_that_may_have_been_used_stay_reserved(tmp_path: Path) -> None:
    """A request that failed may have used all its tokens; one that was refused used none."""

    async def asked(reply: Reply) -> int:
        settings: dict[str, Any] = {"retry_on_failure": {"enabled": False}, "circuit_breaker": {"failures": 100}}
        budget = {"tokens_per_day": 9_000}
        async with judging(tmp_path, lambda _: reply, budget=budget, **settings) as (bench, server):
            for number in range(1, 13):
                await bench.judge(*good_run(number))
            return len(server.questions)

    assert asyncio.run(asked(fails(500))) < 6
    assert asyncio.run(asked(fails(429))) == 12
