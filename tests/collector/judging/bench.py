"""A pipeline with a judge at a scripted server: real requests over real sockets, time moved by hand."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.config.exporters import SendingQueueConfig
from collector.config.model import Config
from collector.delivery.sending_queue import SendingQueue
from collector.judging import clients as judges
from collector.judging.queue import JudgeQueue
from collector.pipeline import Pipeline
from collector.results.redaction import Redaction
from collector.scoring.rule_files import load_rules
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.harness import Driver
from tests.judge_server import JudgeServer, Question, Reply, says
from tests.sinks import ManualClock

RULES = """
rules:
  - name: weather
    match: {agent: helper}
    expect: {sequence: [get_weather, send_email]}
    scorers: [trajectory, {system: mastra_llm, sample_rate: 1}]
"""
REASON = "It did what was asked."


def analysis(*appropriate: bool, missing: tuple[str, ...] = ()) -> Reply:
    """Mastra's first answer."""
    evaluations = [{"toolCalled": "t", "wasAppropriate": one, "reasoning": "so"} for one in appropriate]
    return says(json.dumps({"evaluations": evaluations, "missingTools": list(missing)}))


def approves(question: Question) -> Reply:
    """A judge that finds every run good."""
    return analysis(True, True) if asks_for_analysis(question) else says(REASON)


def asks_for_analysis(question: Question) -> bool:
    """Whether this is Mastra's first question."""
    return "ONE SENTENCE" not in question["messages"][1]["content"]


class JudgeBench(Driver):
    """Everything around one judge in reach. Sleeping advances the clock."""

    def __init__(self, folder: Path, endpoint: str, rules: str, judge: dict[str, Any], config: dict[str, Any]) -> None:
        path = folder / "rules.yaml"
        path.write_text(rules)
        section = {"endpoint": endpoint, "model": "small", "timeout": "5s", "max_concurrency": 1, **judge}
        settings = Config.model_validate({"judge": section, "traces": {"confirm": "0s"}, **config})
        assert settings.judge is not None
        self.clock, self.telemetry = ManualClock(), Telemetry()
        self.queue = SendingQueue(SendingQueueConfig())
        client = judges.build(settings.judge)
        self.judge_queue = JudgeQueue(settings.judge, client, Redaction(settings.redact), self.telemetry, self.clock)
        parts = self.telemetry, self.queue, self.clock
        self.pipeline = Pipeline(settings, load_rules([path]), *parts, judge_queue=self.judge_queue)

    async def judge(self, *spans: Span) -> None:
        """Send a run, let it settle, and have it judged."""
        self.send(*spans)
        self.wait(3)
        await self.judge_queue.idle()
        self.pipeline.flush()

    def events(self, scorer: str = "mastra_llm") -> list[dict[str, Any]]:
        """The attributes of one scorer's evaluation events."""
        events = [data.values_of(record) for record in self.out("logs")]
        return [event for event in events if event["gen_ai.evaluation.name"] == scorer]

    def outcomes(self) -> dict[str, float]:
        """Requests by outcome."""
        samples = [sample for metric in self.telemetry.judge_requests.collect() for sample in metric.samples]
        return {sample.labels["outcome"]: sample.value for sample in samples if sample.name.endswith("_total")}


@asynccontextmanager
async def judging(
    folder: Path, script: Callable[[Question], Reply] = approves, rules: str = RULES, **settings: Any
) -> AsyncIterator[tuple[JudgeBench, JudgeServer]]:
    """A bench at a server. ``settings`` are those of ``judge``, but for ``config``, the rest of the configuration."""
    config = settings.pop("config", {})
    with JudgeServer(script) as server:
        bench = JudgeBench(folder, settings.pop("endpoint", server.endpoint), rules, settings, config)
        await bench.judge_queue.start()
        try:
            yield bench, server
        finally:
            await bench.judge_queue.shutdown()


def good_run(trace: int = 1) -> tuple[Span, ...]:
    """A run that its rule passes."""
    return _run(trace, "get_weather", "send_email")


def bad_run(trace: int = 1) -> tuple[Span, ...]:
    """A run that its rule fails."""
    return _run(trace, "get_weather", "delete_all")


def _run(trace: int, *tools: str) -> tuple[Span, ...]:
    trace_id = trace.to_bytes(16, "big")
    words = '[{"role": "user", "parts": [{"type": "text", "content": "Mail me the weather, card 4111111111111111"}]}]'
    calls = [
        data.tool(
            2 + at, 1, tool, at=0.1 + at / 10, trace_id=trace_id, gen_ai__tool__call__arguments='{"to": "bob@x.y"}'
        )
        for at, tool in enumerate(tools)
    ]
    return (*calls, data.agent(1, trace_id=trace_id, gen_ai__input__messages=words))
