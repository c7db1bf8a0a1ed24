"""Which runs are judged, and what a judgement does to events, spans and metrics."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from collector.component import Judge, JudgeAnswer
from collector.config.exporters import SendingQueueConfig
from collector.config.judge import JudgeConfig
from collector.config.model import Config, RedactionConfig
from collector.delivery.sending_queue import SendingQueue
from collector.judging.queue import MAX_QUESTIONS, JudgeQueue
from collector.pipeline import Pipeline
from collector.results.redaction import Redaction
from collector.scoring.rule_files import load_rules
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry
from scorers.evaluation import RuleJudge
from scorers.judged.judge import JudgedRun, JudgeRequest, JudgeRequests
from scorers.score import Score
from tests import otlp_data as data
from tests.builders import agent_span, run_of, tool_span
from tests.collector.judging.bench import (
    RULES,
    JudgeBench,
    analysis,
    approves,
    asks_for_analysis,
    bad_run,
    good_run,
    judging,
)
from tests.harness import value
from tests.judge_server import HANGS, JudgeServer, Question, Reply, says, words
from tests.sinks import ManualClock
from tests.waiting import let_others_run

SERIES = {"rule": "weather", "route": "", "intent": "", "scorer": "mastra_llm"}


def doubts(question: Question) -> Reply:
    return analysis(True, False) if asks_for_analysis(question) else approves(question)


def judged(folder: Path, *runs: Any, **settings: Any) -> tuple[JudgeBench, JudgeServer]:
    async def run() -> tuple[JudgeBench, JudgeServer]:
        async with judging(folder, **settings) as (bench, server):
            for spans in runs:
                await bench.judge(*spans)
        return bench, server

    return asyncio.run(run())


def test_a_judgement_is_an_event_and_counts_as_an_evaluation(tmp_path: Path) -> None:
    bench, _ = judged(tmp_path, good_run())
    (record,) = [item for item in bench.out("logs") if data.values_of(item)["gen_ai.evaluation.name"] == "mastra_llm"]
    assert (record.trace_id, record.span_id) == ((1).to_bytes(16, "big"), data.span_id(1))
    event = data.values_of(record)
    assert event["gen_ai.evaluation.score.value"] == 1.0
    assert event["rightcall.rule"] == "weather"
    assert event["rightcall.complete"] is True
    (own,) = bench.events("trajectory")
    assert event["log.record.uid"] != own["log.record.uid"]
    assert bench.value("runs_total", release="root") == 1
    assert bench.value("evaluations_total", **SERIES, label="pass") == 1
    assert bench.value("evaluations_total", **{**SERIES, "scorer": "trajectory"}, label="pass") == 1
    assert bench.value("tool_calls_total", rule="weather", tool="send_email", outcome="matched") == 1
    assert bench.value("judge_requests_total", rule="weather", outcome="ok") == 2
    assert bench.value("judge_queue_capacity") == 1001


def test_the_rules_threshold_decides_on_pass(tmp_path: Path) -> None:
    bench, _ = judged(tmp_path, good_run(), script=doubts)
    assert [event["gen_ai.evaluation.score.value"] for event in bench.events()] == [0.5]
    assert bench.value("evaluations_total", **SERIES, label="fail") == 1


def test_agreement_is_counted_both_ways(tmp_path: Path) -> None:
    bench, _ = judged(tmp_path, good_run(1), bad_run(2), bad_run(3))
    agreed = {"rule": "weather", "scorer": "mastra_llm"}
    assert bench.value("judge_agreement_total", **agreed, deterministic="pass", judge="pass") == 1
    assert bench.value("judge_agreement_total", **agreed, deterministic="fail", judge="pass") == 2
    bench, _ = judged(tmp_path, good_run(1), bad_run(2), script=doubts)
    assert bench.value("judge_agreement_total", **agreed, deterministic="pass", judge="fail") == 1
    assert bench.value("judge_agreement_total", **agreed, deterministic="fail", judge="fail") == 1


def test_failed_runs_are_judged_at_any_sample_rate(tmp_path: Path) -> None:
    rules = RULES.replace("sample_rate: 1", "sample_rate: 0")
    bench, _ = judged(tmp_path, good_run(1), bad_run(2), rules=rules)
    assert [item.trace_id[-1] for item in bench.out("logs") if b"mastra" in item.SerializeToString()] == [2]


def test_an_incomplete_run_is_not_judged(tmp_path: Path) -> None:
    async def run() -> JudgeBench:
        async with judging(tmp_path, rules=RULES.replace("{agent: helper}", "{}")) as (bench, _):
            bench.send(*good_run()[:2])
            bench.wait(40)
            await bench.judge_queue.idle()
        return bench

    bench = asyncio.run(run())
    assert bench.events() == []
    assert bench.value("judge_skipped_total", rule="weather", reason="incomplete") == 1


def test_a_run_is_judged_once_though_late_spans_revise_its_verdict(tmp_path: Path) -> None:
    late = data.tool(7, 1, "delete_all", at=0.5, trace_id=(1).to_bytes(16, "big"))
    bench, _ = judged(tmp_path, good_run(), (late,))
    assert [event["rightcall.revision"] for event in bench.events("trajectory")] == [0, 1]
    assert [event["rightcall.revision"] for event in bench.events()] == [0]
    assert bench.value("judge_skipped_total", rule="weather", reason="revised") == 1


def test_a_shadow_rule_is_judged_under_its_own_labels(tmp_path: Path) -> None:
    rules = RULES + "    shadow: true\n"
    bench, _ = judged(tmp_path, good_run(), rules=rules, hold="30s")
    assert len(bench.events()) == 1
    assert bench.value("evaluations_total", **SERIES, label="shadow_pass") == 1
    agreed = {"rule": "weather", "scorer": "mastra_llm"}
    assert bench.value("judge_agreement_total", **agreed, deterministic="shadow_pass", judge="shadow_pass") == 1
    assert not any(key.startswith("rightcall.mastra_llm") for span in bench.out() for key in data.values_of(span))


def test_runs_beyond_the_share_of_memory_are_skipped_and_counted(tmp_path: Path) -> None:
    async def run() -> JudgeBench:
        async with judging(tmp_path) as (bench, _):
            await bench.judge(*good_run(1))
            assert bench.judge_queue._bytes == 0, "what was judged takes nothing"
            bench.send(*good_run(2))
            bench.wait(3)
            bench.judge_queue._max_bytes = bench.judge_queue._bytes
            bench.send(*good_run(3))
            bench.wait(3)
            await bench.judge_queue.idle()
            bench.pipeline.flush()
            bench.send(*good_run(4))
            bench.wait(3)
            bench.judge_queue.shed()
            assert bench.judge_queue._bytes == 0, "nor does what was skipped"
        return bench

    bench = asyncio.run(run())
    assert len(bench.events()) == 2
    assert bench.value("judge_skipped_total", rule="weather", reason="memory") == 2


def test_the_same_question_is_asked_once(tmp_path: Path) -> None:
    bench, server = judged(tmp_path, good_run(1), good_run(2))
    assert len(bench.events()) == 2
    assert len(server.questions) == 2
    assert bench.value("judge_cache_hits_total", rule="weather") == 2


def test_runs_beyond_the_queue_size_are_skipped_and_counted(tmp_path: Path) -> None:
    async def run() -> JudgeBench:
        async with judging(tmp_path, queue_size=2) as (bench, _):
            for number in range(1, 6):
                bench.send(*good_run(number))
            bench.wait(3)
            assert bench.value("judge_queue_size") == 2
            await bench.judge_queue.idle()
            bench.pipeline.flush()
        return bench

    bench = asyncio.run(run())
    assert len(bench.events()) == 2
    assert bench.value("judge_skipped_total", rule="weather", reason="queue_full") == 3


class CountingScorer:
    """Asks ``count`` questions, then passes the run."""

    def __init__(self, count: int) -> None:
        self._count = count

    def judge(self, run: JudgedRun) -> JudgeRequests:
        for number in range(self._count):
            yield JudgeRequest("s", f"question {number} about {run.trajectory.calls[0].name}")
        return Score(1.0, "pass", "so")


class SlowJudge:
    """Answers after everything else had its turn on the event loop; ``most`` is how many requests were in flight at once."""

    identity = "slow"

    def __init__(self) -> None:
        self.in_flight = self.most = 0

    async def ask(self, request: JudgeRequest) -> JudgeAnswer:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        await let_others_run(10)
        self.in_flight -= 1
        return JudgeAnswer("yes", 1)

    async def close(self) -> None:
        """Has no connections."""


def submit(verdicts: Sequence[Verdict], judge: Judge, **config: Any) -> tuple[list[Verdict | None], Telemetry]:
    """Have runs judged without a pipeline. Returns the judgements, in the order in which they came."""

    async def run() -> tuple[list[Verdict | None], Telemetry]:
        settings = JudgeConfig.model_validate({"endpoint": "http://127.0.0.1:1/v1", "model": "m", **config})
        telemetry, judgements = Telemetry(), list[Verdict | None]()
        queue = JudgeQueue(settings, judge, Redaction(RedactionConfig()), telemetry, ManualClock())
        await queue.start()
        for one in verdicts:
            queue.submit(one, judgements.append)
        await queue.idle()
        await queue.shutdown()
        return judgements, telemetry

    return asyncio.run(run())


def to_judge(number: int, questions: int = 1) -> Verdict:
    run = run_of(agent_span(), tool_span(f"tool_{number}"))
    judge = RuleJudge("counting", CountingScorer(questions), "1", False, 1.0, 0.5)
    return Verdict(run, "root", rule="any", judges=[judge])


@pytest.mark.parametrize(("questions", "label"), [(MAX_QUESTIONS, "pass"), (MAX_QUESTIONS + 1, "error")])
def test_a_scorer_may_ask_so_many_questions(questions: int, label: str) -> None:
    (judgement,), telemetry = submit([to_judge(1, questions)], SlowJudge())
    assert judgement is not None
    assert [evaluation.score.label for evaluation in judgement.evaluations] == [label]
    value = telemetry.registry.get_sample_value
    assert value("rightcall_judge_requests_total", {"rule": "any", "outcome": "ok"}) == MAX_QUESTIONS


@pytest.mark.parametrize("concurrency", [1, 3])
def test_max_concurrency_bounds_the_requests_in_flight(concurrency: int) -> None:
    judge = SlowJudge()
    judgements, _ = submit([to_judge(number) for number in range(10)], judge, max_concurrency=concurrency)
    assert (len(judgements), judge.most) == (10, concurrency)


@pytest.mark.parametrize("size", [1, 4])
def test_queue_size_bounds_the_jobs_that_wait(size: int) -> None:
    judgements, telemetry = submit([to_judge(number) for number in range(6)], SlowJudge(), queue_size=size)
    value = telemetry.registry.get_sample_value
    assert len(judgements) == size
    assert value("rightcall_judge_skipped_total", {"rule": "any", "reason": "queue_full"}) == 6 - size
    assert value("rightcall_judge_queue_capacity") == size + JudgeConfig.model_fields["max_concurrency"].default


def test_when_the_memory_limit_is_reached_queued_jobs_are_skipped(tmp_path: Path) -> None:
    async def run() -> JudgeBench:
        async with judging(tmp_path, hold="60s") as (bench, server):
            for number in range(1, 4):
                bench.send(*good_run(number))
            bench.wait(3)
            bench.judge_queue.shed()
            await bench.judge_queue.idle()
            bench.pipeline.flush()
            assert len(bench.out()) == 9
            assert server.questions == []
        return bench

    assert asyncio.run(run()).value("judge_skipped_total", rule="weather", reason="memory") == 3


def test_jobs_not_finished_at_shutdown_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collector.judging.queue.DRAIN_TIMEOUT", 0.0)

    async def run() -> JudgeBench:
        loop, asked = asyncio.get_running_loop(), asyncio.Event()

        def hangs(_: Question) -> Reply:
            loop.call_soon_threadsafe(asked.set)
            return HANGS

        async with judging(tmp_path, hangs) as (bench, _):
            for number in range(1, 4):
                bench.send(*good_run(number))
            bench.wait(3)
            await asked.wait()
            await bench.judge_queue.shutdown()
            await bench.judge_queue.shutdown()
        return bench

    bench = asyncio.run(run())
    assert bench.events() == []
    assert bench.value("judge_skipped_total", rule="weather", reason="shutdown") == 3


def test_without_a_judge_its_runs_are_counted_as_skipped(tmp_path: Path) -> None:
    bench, _ = judged(tmp_path)
    telemetry, queue = Telemetry(), SendingQueue(SendingQueueConfig())
    judge_queue = JudgeQueue(None, None, Redaction(Config().redact), telemetry, bench.clock)
    rules = load_rules([tmp_path / "rules.yaml"])
    pipeline = Pipeline(Config(), rules, telemetry, queue, bench.clock, judge_queue=judge_queue)
    pipeline.receive("traces", data.traces(*good_run()).SerializeToString(), "grpc")
    pipeline.drain("shutdown")
    labels = {"rule": "weather", "reason": "unconfigured"}
    assert value(telemetry, "judge_skipped_total", **labels) == 1


# ---- redaction


def test_patterns_are_redacted_in_every_question(tmp_path: Path) -> None:
    redact = {"patterns": [r"\b[0-9]{13,16}\b", "bob@x.y"]}
    bench, server = judged(tmp_path, good_run(), config={"redact": redact})
    sent = "\n".join(words(question) for question in server.questions)
    assert "4111111111111111" not in sent
    assert "bob@x.y" not in sent
    assert "card \\u005bredacted" in sent  # as it is quoted
    assert "Mail me the weather" in sent
    assert len(bench.events()) == 1


def test_hidden_user_input_is_in_no_question(tmp_path: Path) -> None:
    _, server = judged(tmp_path, good_run(), config={"redact": {"attributes": ["gen_ai.*.messages"]}})
    assert "Mail me" not in "\n".join(words(question) for question in server.questions)


# ---- judge.hold


def held(folder: Path, rules: str = RULES, script: Any = approves, **settings: Any) -> tuple[list[int], JudgeBench]:
    """Returns how many spans were sent after the verdict, after the judgement, and in the end."""

    async def run() -> tuple[list[int], JudgeBench]:
        async with judging(folder, script, rules, **settings) as (bench, _):
            bench.send(*good_run())
            bench.wait(3)
            left = [len(bench.out())]
            await bench.judge_queue.idle()
            bench.wait(0.5)
            left.append(len(bench.out()))
            bench.wait(20)
            return [*left, len(bench.out())], bench

    return asyncio.run(run())


def anchor(bench: JudgeBench) -> dict[str, Any]:
    return next(data.values_of(span) for span in bench.out() if span.span_id == data.span_id(1))


def test_by_default_no_span_is_held(tmp_path: Path) -> None:
    left, bench = held(tmp_path)
    assert left == [3, 3, 3]
    assert "rightcall.mastra_llm.score" not in anchor(bench)


def test_with_hold_the_judgement_is_on_the_anchor(tmp_path: Path) -> None:
    left, bench = held(tmp_path, hold="10s")
    assert left == [0, 3, 3]
    attributes = anchor(bench)
    assert attributes["rightcall.mastra_llm.score"] == 1.0
    assert attributes["rightcall.mastra_llm.label"] == "pass"
    assert attributes["gen_ai.evaluation.name"] == "trajectory"
    assert attributes["rightcall.trajectory.score"] == 1.0
    assert len(bench.events()) == len(bench.events("trajectory")) == 1


def test_under_load_spans_are_held_no_longer(tmp_path: Path) -> None:
    """Whatever is due takes all the time there is."""

    async def run() -> list[int]:
        # Nobody advances the judge's queue, so that no answer comes.
        async with judging(tmp_path, lambda _: HANGS, hold="5s") as (bench, _):
            bench.send(*good_run())
            left = list[int]()
            for number in range(2, 8):
                bench.send(*good_run(number))
                bench.clock.seconds += 3
                assert bench.pipeline.advance(budget=-1.0) == 0.0
                left.append(sum(span.trace_id[-1] == 1 for span in bench.out()))
            bench.pipeline.flush()
            return left

    left = asyncio.run(run())
    assert left[0] == 0
    assert left[-1] == 3


def test_a_judge_as_first_scorer_is_the_evaluation(tmp_path: Path) -> None:
    rules = RULES.replace(
        "[trajectory, {system: mastra_llm, sample_rate: 1}]", "[{system: mastra_llm, sample_rate: 1}]"
    )
    _, bench = held(tmp_path, rules, hold="10s")
    attributes = anchor(bench)
    assert attributes["gen_ai.evaluation.name"] == "mastra_llm"
    assert attributes["gen_ai.evaluation.score.value"] == 1.0
    assert attributes["gen_ai.evaluation.score.label"] == "pass"


def test_no_span_is_held_longer_than_hold(tmp_path: Path) -> None:
    async def run() -> list[int]:
        release = threading.Event()

        def slow(question: Question) -> Reply:
            release.wait()
            return approves(question)

        async with judging(tmp_path, slow, hold="10s") as (bench, _):
            bench.send(*good_run())
            bench.wait(3)
            left = [len(bench.out())]
            bench.wait(8.5)
            left.append(len(bench.out()))
            bench.wait(1.5)
            left.append(len(bench.out()))
            release.set()
            await bench.judge_queue.idle()
            bench.wait(1)
            assert len(bench.events()) == 1
            return [*left, len(bench.out())]

    assert asyncio.run(run()) == [0, 0, 3, 3]


def test_a_run_that_is_not_judged_is_not_held(tmp_path: Path) -> None:
    left, _ = held(tmp_path, RULES.replace("sample_rate: 1", "sample_rate: 0"), hold="10s")
    assert left == [3, 3, 3]


def test_a_skipped_judgement_releases_its_spans(tmp_path: Path) -> None:
    left, bench = held(tmp_path, hold="10s", max_tokens=16, budget={"tokens_per_day": 20})
    assert left == [0, 3, 3]
    assert bench.events() == []


def test_a_late_span_releases_the_held_spans_of_its_trace(tmp_path: Path) -> None:
    async def run() -> tuple[int, int]:
        async with judging(tmp_path, hold="60s") as (bench, _):
            bench.send(*good_run())
            bench.wait(3)
            bench.send(data.tool(7, 1, "delete_all", at=0.5, trace_id=(1).to_bytes(16, "big")))
            before = len(bench.out())
            bench.wait(3)
            return before, len(bench.out())

    assert asyncio.run(run()) == (1, 4)


def test_held_spans_are_redacted_with_what_the_judge_wrote(tmp_path: Path) -> None:
    def quotes(question: Question) -> Reply:
        reason = "It is fine, s3cret."
        evaluations = [{"toolCalled": "s3cret", "wasAppropriate": True, "reasoning": reason}]
        return says(json.dumps({"evaluations": evaluations}) if asks_for_analysis(question) else reason)

    rules = RULES.replace(
        "[trajectory, {system: mastra_llm, sample_rate: 1}]", "[{system: mastra_llm, sample_rate: 1}]"
    )
    _, bench = held(tmp_path, rules, quotes, hold="10s", config={"redact": {"patterns": ["s3cret"]}})
    assert "s3cret" not in json.dumps(anchor(bench))
    assert "s3cret" not in json.dumps(bench.events())


def test_a_run_with_too_little_recorded_is_skipped(tmp_path: Path) -> None:
    rules = RULES.replace("mastra_llm", "tool_choice")
    silent = data.tool(2, 1, "get_weather"), data.agent(1)
    bench, server = judged(tmp_path, silent, rules=rules)
    assert bench.events("tool_choice") == []
    assert server.questions == []
    assert bench.value("judge_skipped_total", rule="weather", reason="unjudgeable") == 1


def test_an_inconsistent_answer_is_an_error(tmp_path: Path) -> None:
    """It fits the schema, and says of two calls that both are the first."""

    def confused(_: Question) -> Reply:
        calls = [{"call": 1, "reason": "so", "verdict": "appropriate"}] * 2
        return says(json.dumps({"calls": calls, "reason": "so", "missing_tools": [], "clarification": "not_asked"}))

    bench, _ = judged(tmp_path, good_run(), rules=RULES.replace("mastra_llm", "tool_choice"), script=confused)
    (event,) = bench.events("tool_choice")
    assert event["gen_ai.evaluation.score.label"] == "error"
    assert event["error.type"] == "ValueError"


def test_traces_and_conversations_are_judged_too(tmp_path: Path) -> None:
    judge = "scorers: [trajectory, {system: mastra_llm, sample_rate: 1}]"
    rules = f"""
rules:
  - {{name: whole, match: {{}}, scope: trace, expect: {{any_order: []}}, {judge}}}
  - {{name: talk, match: {{}}, scope: conversation, expect: {{max_calls: 9}}, {judge}}}
"""

    async def run() -> JudgeBench:
        config = {"conversations": {"idle_timeout": "5s"}}
        async with judging(tmp_path, rules=rules, hold="10s", config=config) as (bench, _):
            for trace in (1, 2):
                *tools, agent = good_run(trace)
                agent.attributes.extend(data.attributes({"gen_ai.conversation.id": "c"}))
                bench.send(*tools, agent)
            await bench.judge()
            bench.wait(10)
            await bench.judge_queue.idle()
            bench.pipeline.flush()
        return bench

    bench = asyncio.run(run())
    assert sorted(str(event["rightcall.rule"]) for event in bench.events()) == ["talk", "whole", "whole"]
    assert len(bench.out()) == 6
    assert bench.value("runs_total", release="root") == 2
