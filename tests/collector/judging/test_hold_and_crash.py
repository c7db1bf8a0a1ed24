"""A crash while spans are held for the judge: nothing is lost or duplicated, and the run is judged after the restart."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from collector.component import JudgeAnswer
from collector.config.judge import JudgeConfig
from collector.config.model import RedactionConfig
from collector.judging.queue import JudgeQueue
from collector.results.redaction import Redaction
from scorers.judged.judge import JudgeRequest
from tests import otlp_data as data
from tests.collector.judging.bench import RULES, bad_run, good_run
from tests.harness import Life

TRACE = (1).to_bytes(16, "big")
HELD = [data.span_id(number) for number in (1, 2, 3)]


class PatientJudge:
    """Answers once ``released`` is set."""

    identity = "patient"

    def __init__(self) -> None:
        self.released = asyncio.Event()

    async def ask(self, request: JudgeRequest) -> JudgeAnswer:
        await self.released.wait()
        approved = '{"evaluations": [{"toolCalled": "t", "wasAppropriate": true, "reasoning": "so"}]}'
        return JudgeAnswer(approved if request.schema is not None else "It did.", 10)

    async def close(self) -> None:
        """Has no connections."""


class JudgedLife(Life):
    """A life with ``hold``; its judge has to be started in each."""

    def build_judge_queue(self) -> JudgeQueue:
        config = JudgeConfig(endpoint="http://127.0.0.1:1/v1", model="m", hold=20.0)
        self.config["judge"] = config.model_dump()
        self.judge = PatientJudge()
        self.judge_queue = JudgeQueue(config, self.judge, Redaction(RedactionConfig()), self.telemetry, self.clock)
        return self.judge_queue

    async def judged(self) -> None:
        """Let the judge answer every question."""
        self.judge.released.set()
        await self.judge_queue.idle()
        self.settle(1)

    def names(self) -> list[str]:
        return [event["gen_ai.evaluation.name"] for event in self.events()]

    def anchors(self) -> list[float | None]:
        anchors = [span for span in self.spans() if span.span_id == data.span_id(1)]
        return [data.values_of(span).get("rightcall.mastra_llm.score") for span in anchors]


def live(folder: Path, story: Callable[[JudgedLife], Awaitable[None]]) -> None:
    async def run() -> None:
        life = JudgedLife(folder, RULES)
        await life.judge_queue.start()
        await story(life)
        await life.judge_queue.shutdown()
        life.close()

    asyncio.run(run())


def test_spans_and_events_are_sent_together_once_judged(tmp_path: Path) -> None:
    async def story(life: JudgedLife) -> None:
        life.send(*good_run())
        life.settle()
        assert life.sent == []
        assert life.rows() == (1, 0)
        await life.judged()
        assert sorted(span.span_id for span in life.spans()) == HELD
        assert life.anchors() == [1.0]
        assert life.names() == ["trajectory", "mastra_llm"]
        assert life.rows() == (0, 1)

    live(tmp_path, story)


def test_a_crash_while_they_are_held_loses_and_duplicates_nothing(tmp_path: Path) -> None:
    async def story(life: JudgedLife) -> None:
        life.send(*good_run())
        life.settle()
        await life.judge_queue.shutdown()
        life.crash()
        await life.judge_queue.start()
        assert life.resumed == 1
        life.settle()
        assert life.sent == []
        await life.judged()
        assert sorted(span.span_id for span in life.spans()) == HELD
        assert life.anchors() == [1.0]
        assert life.names() == ["trajectory", "mastra_llm"]
        await life.judge_queue.shutdown()
        life.crash()
        assert life.resumed == 0
        await life.judge_queue.start()
        life.send(*good_run())
        life.settle(60)
        assert sorted(span.span_id for span in life.spans()) == HELD

    live(tmp_path, story)


def test_a_late_span_while_they_are_held_and_then_a_crash(tmp_path: Path) -> None:
    """The late call reopens the trace while its first export is held; neither may drop what belongs to the other."""

    async def story(life: JudgedLife) -> None:
        life.send(*good_run())
        life.settle()
        life.send(data.tool(7, 1, "look_again", at=0.5, trace_id=TRACE))
        life.write()
        await life.judge_queue.shutdown()
        life.crash()
        await life.judge_queue.start()
        life.settle(4)
        await life.judged()
        life.settle(60)
        assert {span.span_id for span in life.spans()} >= set(HELD)
        assert len([span for span in life.spans() if span.span_id in HELD]) == 3
        assert life.rows() == (0, 1)

    live(tmp_path, story)


def test_a_late_span_releases_them_and_the_judgement_follows(tmp_path: Path) -> None:
    async def story(life: JudgedLife) -> None:
        life.send(*good_run())
        life.settle()
        life.send(data.tool(7, 1, "look_again", at=0.5, trace_id=TRACE))
        life.settle()
        assert sorted(span.span_id for span in life.spans()) == [*HELD, data.span_id(7)]
        await life.judged()
        assert life.names() == ["trajectory", "trajectory", "mastra_llm"]
        assert life.rows() == (0, 1)
        await life.judge_queue.shutdown()
        life.crash()
        assert life.resumed == 0

    live(tmp_path, story)


def test_after_hold_they_are_sent_and_the_judgement_follows(tmp_path: Path) -> None:
    async def story(life: JudgedLife) -> None:
        life.send(*bad_run())
        life.settle(25)
        assert life.anchors() == [None]
        assert life.names() == ["trajectory"]
        assert life.rows() == (0, 1)
        await life.judged()
        assert life.names() == ["trajectory", "mastra_llm"]

    live(tmp_path, story)
