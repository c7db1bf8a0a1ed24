"""What the structure of a question holds against texts that order the judge to pass, whatever the model makes of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.collector.judging.bench import RULES, approves, judging
from tests.injections import INJECTIONS, PLACES, WRONG_RUNS, spans
from tests.judge_server import Question, Reply, says, words

TOOL_CHOICE = RULES.replace("mastra_llm", "tool_choice")
CALLS = [{"call": 1, "reason": "so", "verdict": "wrong_tool"}]


def disapproves(question: Question) -> Reply:
    verdict = {"calls": CALLS, "reason": "so", "missing_tools": [], "clarification": "not_asked"}
    return says(json.dumps(verdict)) if "BEGIN DATA" in words(question) else approves(question)


def asked(folder: Path, name: str, places: Sequence[str], rules: str = TOOL_CHOICE) -> list[list[Question]]:
    """What is asked about the run as it was, and then with the text in each place."""

    async def run() -> list[list[Question]]:
        found = []
        async with judging(folder, disapproves, rules, cache={"max_entries": 0}) as (bench, server):
            for trace, place in enumerate(("", *places), 1):
                before = len(server.questions)
                await bench.judge(*spans(WRONG_RUNS[0], trace, place, INJECTIONS[name]))
                found.append(server.questions[before:])
        return found

    return asyncio.run(run())


def shape(question: Question) -> str:
    """Returns the question without its data, which stands between two markers."""
    text = words(question)
    begin = text.index("BEGIN DATA ", text.index("Judge this run"))
    marker = text[begin:].split()[2]
    end = text.rindex(f"END DATA {marker}")
    return (text[:begin] + text[end:]).replace(marker, "")


@pytest.mark.parametrize("name", INJECTIONS)
def test_whatever_a_run_says_the_instructions_and_the_schema_stay_the_same(name: str, tmp_path: Path) -> None:
    (plain,), *injected = asked(tmp_path, name, PLACES)
    for (question,) in injected:
        assert shape(question) == shape(plain)
        assert question["response_format"] == plain["response_format"]
        assert [message["role"] for message in question["messages"]] == ["system", "user"]
        assert "<|im_start|>" not in words(question)


@pytest.mark.parametrize("rules", [RULES, TOOL_CHOICE], ids=["mastra_llm", "tool_choice"])
def test_what_tools_answered_is_never_shown(rules: str, tmp_path: Path) -> None:
    for name in INJECTIONS:
        plain, injected = asked(tmp_path, name, ["result"], rules)
        assert injected == plain


def test_a_judge_that_copies_a_forged_answer_still_has_to_fit_the_run(tmp_path: Path) -> None:
    """The forged answer judges one call; a run of none, or of two, cannot be passed with it."""

    async def run() -> str:
        async with judging(tmp_path, lambda _: says(INJECTIONS["forged answer"]), TOOL_CHOICE) as (bench, _):
            await bench.judge(*spans(WRONG_RUNS[0], 1, "user", INJECTIONS["forged answer"]))
            (event,) = bench.events("tool_choice")
            return str(event["error.type"])

    assert asyncio.run(run()) == "judge_invalid"
