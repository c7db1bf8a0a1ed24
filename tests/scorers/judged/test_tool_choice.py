"""``tool_choice``: from a model's answer to a score, and answers that are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.judged.judge import AnswerError, JudgedRun, JudgeRequest, ToolDefinition
from scorers.judged.tool_choice import MAX_CALLS, MAX_REASON, create_judge, score_answer
from scorers.judged.tool_choice_prompt import VERDICTS
from scorers.score import Score
from scorers.systems import mastra_llm
from scorers.trajectory import ToolCall, Trajectory

WEATHER = ToolDefinition("get_weather", "Tells the weather of a place", {"type": "object"})
MAIL = ToolDefinition("send_mail", "Sends a mail")


def judged_run(*calls: ToolCall, tools: Sequence[ToolDefinition] | None = (WEATHER, MAIL)) -> JudgedRun:
    return JudgedRun(Trajectory(calls), "Weather in Rome?", "Sunny.", tools)


def answer(*verdicts: str, missing: Sequence[str] = (), clarification: str = "not_asked") -> dict[str, Any]:
    calls = [{"call": at, "reason": f"because {at}", "verdict": verdict} for at, verdict in enumerate(verdicts, 1)]
    given = {"calls": calls} if calls else {}
    return {**given, "reason": "so it is", "missing_tools": list(missing), "clarification": clarification}


def ask(run: JudgedRun, **options: Any) -> JudgeRequest:
    return next(create_judge(**options).judge(run))


def judge(run: JudgedRun, model_answer: str | Mapping[str, Any], **options: Any) -> Score:
    requests = create_judge(**options).judge(run)
    next(requests)
    with pytest.raises(StopIteration) as done:
        requests.send(model_answer)
    score = done.value.value
    assert isinstance(score, Score)
    return score


def calls(count: int) -> list[ToolCall]:
    return [ToolCall("get_weather", {"city": "Rome"}, step=at) for at in range(count)]


VALUES = [
    (answer(), 1.0),
    (answer("appropriate"), 1.0),
    (answer("wrong_arguments"), 0.5),
    (answer("wrong_tool"), 0.0),
    (answer("unnecessary"), 0.0),
    (answer("appropriate", "wrong_arguments", "unnecessary"), 0.5),
    (answer(missing=["send_mail"]), 0.0),
    (answer("appropriate", missing=["send_mail"]), 0.5),
    (answer("appropriate", missing=["send_mail", "send_mail"]), 0.5),
    (answer(clarification="right"), 1.0),
    (answer(clarification="wrong"), 0.0),
    (answer("unnecessary", clarification="right"), 0.5),
    (answer("appropriate", clarification="wrong"), 0.5),
    (answer("appropriate", missing=["send_mail"], clarification="wrong"), 1 / 3),
]


@pytest.mark.parametrize(("model_answer", "value"), VALUES)
def test_the_value_is_computed_from_the_verdicts(model_answer: dict[str, Any], value: float) -> None:
    score = judge(judged_run(*calls(len(model_answer.get("calls", ())))), model_answer)
    assert score.value == pytest.approx(value)
    assert score.label == ("pass" if value == 1 else "fail")


def test_the_parts_of_a_score() -> None:
    run = judged_run(ToolCall("get_weather", {"city": "Rime"}), ToolCall("search", {"q": "secret"}, step=1))
    score = judge(run, answer("wrong_arguments", "wrong_tool", missing=["send_mail"], clarification="wrong"))

    assert score.explanation == (
        "score 0.125 = (0 + 1/2 + 0)/(2 + 1 + 1): wrong arguments get_weather (call 1), wrong tool search (call 2), "
        "missing send_mail, asked the user, which was wrong; 0 appropriate"
    )
    assert score.outcomes == ("wrong_arguments", "extra")
    assert score.missing == ["send_mail"]
    assert score.details == {
        "calls": [
            {"call": 1, "tool": "get_weather", "verdict": "wrong_arguments", "reason": "because 1"},
            {"call": 2, "tool": "search", "verdict": "wrong_tool", "reason": "because 2"},
        ],
        "clarification": "wrong",
        "reason": "so it is",
    }


def test_verdicts_may_come_in_any_order_and_as_fenced_text() -> None:
    run = judged_run(ToolCall("a", {}), ToolCall("b", {}, step=1))
    model_answer = answer("appropriate", "unnecessary")
    model_answer["calls"].reverse()
    assert judge(run, model_answer).outcomes == ("matched", "extra")
    text = (
        '```json\n{"calls": [{"call": 2, "reason": "", "verdict": "unnecessary"}, {"call": 1, "reason": "", "verdict":'
    )
    text += ' "appropriate"}], "reason": "", "missing_tools": [], "clarification": "not_asked"}\n```'
    assert judge(run, text).outcomes == ("matched", "extra")


def test_a_run_without_calls_and_without_missing_tools() -> None:
    assert judge(judged_run(), answer()).explanation == "score 1.000: nothing called, nothing missing"
    assert judge(judged_run(), answer(clarification="right")).explanation == (
        "score 1.000 = (0 + 0/2 + 1)/(0 + 0 + 1): asked the user, which was right; 0 appropriate"
    )


def test_the_explanation_of_many_calls_is_short() -> None:
    explanation = judge(judged_run(*calls(100)), answer(*["unnecessary"] * 100)).explanation
    assert "(call 12), 88 more; 0 appropriate" in explanation


@given(st.lists(st.sampled_from(VERDICTS), max_size=20), st.integers(0, 3), st.sampled_from(["not_asked", "wrong"]))
def test_the_value_can_be_recomputed_from_the_explanation(
    verdicts: list[str], missing: int, clarification: str
) -> None:
    tools = [ToolDefinition(f"t{at}") for at in range(3)]
    model_answer = answer(*verdicts, missing=[tool.name for tool in tools[:missing]], clarification=clarification)
    score = judge(judged_run(*calls(len(verdicts)), tools=tools), model_answer)
    if "=" in score.explanation:
        formula = score.explanation.partition(" = ")[2].partition(":")[0]
        assert eval(formula) == pytest.approx(score.value)
    assert "Rome" not in score.explanation


# --- what the published one gets wrong ---------------------------------------------------------------------------------


def test_the_model_sees_arguments_and_outcomes() -> None:
    run = judged_run(ToolCall("get_weather", {"city": "Rime"}, status="error", error_type="NotFound"))
    assert '"arguments": {"city": "Rime"}, "outcome": "error", "error": "NotFound"' in ask(run).user
    assert "Rime" not in next(mastra_llm.create_judge().judge(run)).user


def test_missing_tools_count_in_addition_to_calls() -> None:
    assert judge(judged_run(*calls(1)), answer("appropriate", missing=["send_mail"])).value == 0.5
    evaluated = {"evaluations": [{"toolCalled": "t", "wasAppropriate": True, "reasoning": ""}], "missingTools": ["x"]}
    assert mastra_llm.analysis_score(evaluated) == 1.0


def test_calls_that_were_not_evaluated_do_not_score_1() -> None:
    with pytest.raises(AnswerError, match="required fails"):
        judge(judged_run(*calls(1)), answer())
    with pytest.raises(AnswerError, match="calls: minItems fails"):
        judge(judged_run(*calls(1)), {**answer(), "calls": []})
    assert mastra_llm.analysis_score({"evaluations": []}) == 1.0


# --- answers without sense ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model_answer", "message"),
    [
        (answer("appropriate"), "calls: minItems fails"),
        (answer("appropriate", "appropriate", "appropriate"), "calls: maxItems fails"),
        (answer("appropriate", "perfect"), "calls/1/verdict: enum fails"),
        ({**answer("appropriate", "appropriate"), "score": 1}, "the answer: additionalProperties fails"),
        (answer("appropriate", "appropriate", missing=["rm_rf"]), "missing_tools/0: enum fails"),
        (answer("appropriate", "appropriate", missing=["send_mail"] * 11), "missing_tools: maxItems fails"),
        (answer("appropriate", "appropriate", clarification="maybe"), "clarification: enum fails"),
        ("I am sure this run passes.", "not JSON"),
    ],
)
def test_an_answer_that_does_not_fit_the_schema_is_refused(model_answer: Any, message: str) -> None:
    with pytest.raises(AnswerError, match=message):
        judge(judged_run(*calls(2)), model_answer)


def test_a_call_judged_twice_is_a_contradiction() -> None:
    model_answer = answer("appropriate", "appropriate")
    model_answer["calls"][1]["call"] = 1
    with pytest.raises(ValueError, match=r"each of 2 calls exactly once; it judged \[1, 1\]"):
        judge(judged_run(*calls(2)), model_answer)


def test_arguments_that_were_not_recorded_cannot_be_wrong() -> None:
    known, unknown = ToolCall("a", {"x": 1}), ToolCall("b", step=1)
    with pytest.raises(ValueError, match="wrong arguments in call 2, whose arguments were not recorded"):
        judge(judged_run(known, unknown), answer("wrong_arguments", "wrong_arguments"))
    with pytest.raises(AnswerError, match="calls/0/verdict: enum fails"):
        judge(judged_run(unknown), answer("wrong_arguments"))
    assert judge(judged_run(ToolCall("a", arguments_text="Paris")), answer("wrong_arguments")).value == 0.5


def test_asking_is_not_right_if_tools_were_missing() -> None:
    with pytest.raises(ValueError, match="both that asking the user was right and that tools were missing"):
        judge(judged_run(), answer(missing=["send_mail"], clarification="right"))


def test_an_answer_that_was_not_recorded_cannot_be_a_question() -> None:
    with pytest.raises(AnswerError, match="clarification: enum fails"):
        judge(JudgedRun(Trajectory(), "Weather?", None, [WEATHER]), answer(clarification="right"))


@pytest.mark.parametrize("words", [None, ""])
def test_a_run_without_a_recorded_request_is_not_judged(words: str | None) -> None:
    with pytest.raises(ValueError, match="the user's request was not recorded"):
        ask(JudgedRun(Trajectory(calls(1)), words))


def test_a_run_that_is_too_long_is_an_error() -> None:
    assert ask(judged_run(*calls(MAX_CALLS)))
    with pytest.raises(ValueError, match="101 calls; at most 100 are judged"):
        ask(judged_run(*calls(MAX_CALLS + 1)))


def test_reasons_are_shortened_and_valid_utf_8() -> None:
    model_answer = {**answer(), "reason": "\ud800" + "x" * 1000}
    reason = score_answer(model_answer, [])
    assert reason.details["reason"] == "?" + "x" * (MAX_REASON - 1)


# --- options -----------------------------------------------------------------------------------------------------------


def test_the_tools_of_the_rule_are_used_if_none_were_captured() -> None:
    option = [{"name": "get_time", "description": "Tells the time", "parameters": {"type": "object"}}]
    assert (
        '"name": "get_time", "description": "Tells the time"'
        in ask(judged_run(tools=None), available_tools=option).user
    )
    assert "get_time" not in ask(judged_run(), available_tools=option).user
    assert '"tools": null' in ask(judged_run(tools=None)).user


def test_the_rule_defines_tools_captured_by_name_only() -> None:
    run = judged_run(tools=[ToolDefinition("get_weather"), MAIL])
    option = [{"name": "get_weather", "description": "Asks the sky"}, {"name": "send_mail", "description": "unused"}]
    user = ask(run, available_tools=option).user
    assert "Asks the sky" in user
    assert "Sends a mail" in user
    assert "unused" not in user


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rubrik": "x"}, "tool_choice has no option 'rubrik'; it has available_tools, rubric"),
        ({"rubric": "x" * 4001}, "at most 4000 characters"),
        ({"available_tools": [{"description": "nameless"}]}, r"available_tools\.0\.name"),
        ({"available_tools": [{"name": ""}]}, r"available_tools\.0\.name"),
        ({"available_tools": [{"name": "a", "schema": {}}]}, "has no option 'available_tools.0.schema'"),
        ({"available_tools": [{"name": "a"}] * 129}, "at most 128 entries"),
        ({"available_tools": "get_weather"}, "available_tools"),
    ],
)
def test_the_error_names_invalid_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        create_judge(**options)
