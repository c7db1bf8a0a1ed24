"""What a judge receives of a run, tested above all with recorded ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.model.genai_span import Content
from collector.offline.score import score_files
from collector.payloads.flattened_attributes import FlattenedAttributes
from collector.reconstruction.judged_run import judged_run
from collector.reconstruction.run import Run
from collector.scoring.rule_files import LoadedRules
from scorers import load_rules
from scorers.judged.judge import JudgedRun
from scorers.judged.tool_choice import create_judge
from tests import recorded
from tests.builders import agent_span, no_rules, run_of, tool_span, user
from tests.strategies import json_values

JUDGED = LoadedRules(load_rules({"rules": [{"name": "r", "match": {}, "scorers": ["tool_choice"]}]}))

# What the scripted models of the recordings answer last.
ANSWERS = {
    "Done: BK-77 is confirmed.",
    "Charged after one retry.",
    "The policy was mailed.",
    "Refunds within 30 days, full amount.",
    "Mailed: Rome is warmer.",
    "Your flight AF1204 is booked, Ada.",
    "Paid with your second card.",
    "Refund issued for order 17.",
    "It is 4C in Oslo.",
    "Cloudy, 18 degrees.",
    "Hello there.",
    "Done, AF123 is booked.",
    "The dice are rolled.",
    "The policy is mailed.",
    "Refunds within 30 days.",
    "Refunded; the account stays.",
    "Done.",
}
# Recorded so: all texts, joined; one model request a trace; answers as JSON (Gemini CLI); no end; a tool's words as the last.
OTHERWISE = {
    "cli-gemini-0.61-seq",
    "js-mastra-arize-seq", "js-mastra-bridge-seq", "js-mastra-otelexp-seq", "py-agno-official-multi",
    "py-agno-official+openai-multi", "py-agno-tl-multi", "js-openai-otel-noroot-seq",
    "py-openai-sdk-official-chat-noparent-multi", "js-mastra0-otelexp-badcall", "py-llama-index-official-handoff",
    "py-pydantic-ai-native-v5-hang",
    "py-agno-official+openinference-multi", "py-langchain-apart-openinference+official-multi",
    "py-langchain-openinference+official-multi", "py-langchain-openinference+openllmetry-multi",
}  # fmt: skip

# The first found of each: dialect by dialect, the last words and the tools.
EXAMPLES: Mapping[str, tuple[str | None, list[str] | None]] = {
    "js-adk-seq": ("Your flight AF1204 is booked, Ada.", ["search_flights", "book_flight", "send_email"]),
    "js-ai6-seq": ("Your flight AF1204 is booked, Ada.", ["search_flights", "book_flight", "send_email"]),
    "js-genkit-parallel": ("Mailed: Rome is warmer.", ["get_weather", "get_time", "send_email"]),
    "js-langchain-oi-fail": ("Paid with your second card.", ["charge_card", "send_email"]),
    "js-mastra-otelexp-fail": ("Paid with your second card.", ["charge_card", "send_email"]),
    "js-openai-otel-parallel": ("Mailed: Rome is warmer.", None),
    "py-agent-framework-native-fail": ("Charged after one retry.", ["charge_card"]),
    "py-anthropic-sdk-oi-fail": ("Charged after one retry.", ["charge_card"]),
    "py-crewai-tl-fail": ("Charged after one retry.", ["charge_card"]),
    "py-google-adk-native-fail": ("Charged after one retry.", ["charge_card"]),
    "py-google-adk-schema1-fail": ("Charged after one retry.", ["charge_card"]),
    "py-haystack-native-fail": ("Charged after one retry.", ["charge_card"]),
    "py-langgraph-langsmith-multi": ("Done: BK-77 is confirmed.", ["get_weather", "book_flight"]),
    "py-langgraph-mlflow-multi": ("Done: BK-77 is confirmed.", ["get_weather", "book_flight"]),
    "py-langgraph-official-multi": ("Done: BK-77 is confirmed.", ["get_weather", "book_flight"]),
    "py-litellm-otel-multi": ("Done: BK-77 is confirmed.", ["get_weather", "book_flight"]),
    "py-openai-sdk-legacy-tl-chat-fail": ("Charged after one retry.", ["charge_card"]),
    "py-pydantic-ai-native-v6-fail": ("Charged after one retry.", ["charge_card"]),
    "py-strands-native-fail": ("Charged after one retry.", ["charge_card"]),
    "py-pydantic-ai-nocontent-multi": (None, ["get_weather", "book_flight"]),
}


def test_calls_and_user_input() -> None:
    run = run_of(
        agent_span(attributes={"gen_ai.input.messages": [user("Rome?")]}), tool_span("weather", {"city": "Rome"})
    )
    judged = judged_run(run)
    assert judged.trajectory is run.trajectory
    assert judged.user_input == "Rome?"


def test_what_was_not_recorded_is_none() -> None:
    judged = judged_run(run_of(agent_span(), tool_span("weather")))
    assert (judged.user_input, judged.response, judged.tools) == (None, None, None)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[tuple[Run, JudgedRun]]]:
    """The outermost runs of each recording."""
    folder = tmp_path_factory.mktemp("corpus")
    recorded.unpack(folder)
    return {name: outermost(folder / name, JUDGED) for name in recorded.names()}


def outermost(folder: Path, rules: LoadedRules) -> list[tuple[Run, JudgedRun]]:
    found = [verdict.run for verdict in score_files([folder], rules) if verdict.run.parent_span_id is None]
    return [(run, judged_run(run)) for run in found]


def test_how_much_of_the_recorded_runs_is_known(runs: Mapping[str, list[tuple[Run, JudgedRun]]]) -> None:
    known: Counter[str] = Counter()
    for found in runs.values():
        for _, judged in found:
            known["runs"] += 1
            known["user_input"] += judged.user_input is not None
            known["response"] += judged.response is not None
            known["tools"] += judged.tools is not None
    # 18 recordings have no content, the one of Gemini CLI has seven parts of a run, 17 runs of js-langchain-traceloop
    # are single steps, and some instrumentations write no definitions (decorators, CrewAI, Haystack and the
    # OpenAI Agents SDK by OpenInference, Mastra's exporters for others).
    assert known == {"runs": 402, "user_input": 343, "response": 327, "tools": 254}


def test_the_final_responses_are_the_recorded_ones(runs: Mapping[str, list[tuple[Run, JudgedRun]]]) -> None:
    responses = {
        name: [judged.response for _, judged in found if judged.response is not None] for name, found in runs.items()
    }
    assert {name for name, texts in responses.items() if not ANSWERS.issuperset(texts)} == OTHERWISE


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_recorded_run(runs: Mapping[str, list[tuple[Run, JudgedRun]]], name: str) -> None:
    _, judged = runs[name][-1]
    names = None if judged.tools is None else [tool.name for tool in judged.tools]
    assert (judged.response, names) == EXAMPLES[name]


def test_definitions_have_descriptions_and_parameters(runs: Mapping[str, list[tuple[Run, JudgedRun]]]) -> None:
    (tool,) = runs["py-pydantic-ai-native-v6-fail"][0][1].tools or ()
    assert tool.description.startswith("Charge the card on file")
    assert (tool.parameters or {})["required"] == ["order_id", "amount"]


def test_without_a_judge_no_content_is_kept(tmp_path: Path) -> None:
    recorded.unpack(tmp_path)
    for name in EXAMPLES:
        for run, judged in outermost(tmp_path / name, no_rules()):
            assert (run.contents, judged.response, judged.tools) == ((), None, None)


def test_a_judge_changes_no_trajectory(runs: Mapping[str, list[tuple[Run, JudgedRun]]], tmp_path: Path) -> None:
    recorded.unpack(tmp_path)
    for name in EXAMPLES:
        plain = [run.trajectory for run, _ in outermost(tmp_path / name, no_rules())]
        assert [run.trajectory for run, _ in runs[name]] == plain


def test_every_recorded_run_makes_a_judge_request(runs: Mapping[str, list[tuple[Run, JudgedRun]]]) -> None:
    longest = 0
    for found in runs.values():
        for _, judged in found:
            if judged.user_input is None:
                continue
            questions = create_judge().judge(judged)
            request = next(questions)
            numbers = range(1, len(judged.trajectory.calls) + 1)
            calls = {"calls": [{"call": at, "reason": "", "verdict": "appropriate"} for at in numbers]}
            answer = {"reason": "", "missing_tools": [], "clarification": "not_asked"}
            with pytest.raises(StopIteration) as done:
                questions.send({**(calls if numbers else {}), **answer})
            assert done.value.value.value == 1.0
            longest = max(longest, len(request.user))
    assert longest < 12_000  # of the limit of about 110,000


@given(
    json_values, json_values, st.sampled_from(["gen_ai.output.messages", "output.value", "gen_ai.completion.0.content"])
)
def test_any_content_makes_a_judge_request(answer: Any, offered: Any, name: str) -> None:
    contents = [
        Content(answer, offered),
        Content(FlattenedAttributes({name: answer}), FlattenedAttributes({"llm.tools.0.tool": offered})),
    ]
    judged = judged_run(replace(run_of(agent_span(), tool_span("weather")), contents=contents, user_input="Rome?"))
    assert next(create_judge().judge(judged)).schema
