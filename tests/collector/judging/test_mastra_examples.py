"""Mastra's documented examples, end to end: recorded as spans, judged by a server that answers as Mastra says it would."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import otlp_data as data
from tests.collector.judging.bench import asks_for_analysis, judging
from tests.judge_server import Question, Reply, says, words
from tests.scorers.systems.mastra_examples import EXAMPLES, Example


def recorded(example: Example) -> list[Span]:
    """The run as an instrumentation of the GenAI conventions writes it."""
    calls = example.run.trajectory.calls
    asked = [{"role": "user", "parts": [{"type": "text", "content": example.run.user_input}]}]
    answered = [{"role": "assistant", "parts": [{"type": "text", "content": example.run.response}]}]
    tools = [
        data.tool(2 + at, 1, call.name, at=0.1, gen_ai__tool__call__arguments=json.dumps(call.arguments))
        for at, call in enumerate(calls)
    ]
    attributes: dict[str, Any] = {
        "gen_ai__input__messages": json.dumps(asked),
        "gen_ai__output__messages": json.dumps(answered),
    }
    return [*tools, data.answer(9, 1, at=0.9), data.agent(1, **attributes)]


def rules(example: Example) -> str:
    judge = {"system": "mastra_llm", "sample_rate": 1, **example.options}
    return yaml.safe_dump({"rules": [{"name": "weather", "match": {}, "scorers": [judge]}]})


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_documented_examples(example: Example, tmp_path: Path) -> None:
    def script(question: Question) -> Reply:
        return says(json.dumps(example.analysis) if asks_for_analysis(question) else example.reason)

    async def run() -> None:
        async with judging(tmp_path, script, rules(example)) as (bench, server):
            await bench.judge(*recorded(example))
            (event,) = bench.events()
            assert event["gen_ai.evaluation.score.value"] == example.score
            analysis, _ = map(words, server.questions)
            assert example.run.user_input is not None
            assert example.run.user_input in analysis
            assert example.run.response is not None
            assert example.run.response in analysis
            assert all(call.name in analysis for call in example.run.trajectory.calls)
            assert all(tool["description"] in analysis for tool in example.available_tools)

    asyncio.run(run())
