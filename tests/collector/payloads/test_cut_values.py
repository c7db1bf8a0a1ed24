"""Values that a limit on their length cut."""

from __future__ import annotations

import json

import pytest

from collector.payloads.cut_values import has_cut_result, is_cut
from tests.builders import agent_span, asked, called, doubts, model_span, result, run_of, tool_span, user

LIMIT = 128
LONG = (
    "It is eighteen degrees and cloudy in Paris, with light winds from the west, and rain is expected in the evening."
)


@pytest.mark.parametrize(
    "whole",
    [
        json.dumps([{"role": "user", "parts": [{"type": "text", "content": LONG}]}]),
        json.dumps({"result": LONG, "status": "error"}),
        repr({"result": LONG, "status": "error"}),
        json.dumps(f"ToolResponse(content=[{LONG!r}], state=error)"),
        json.dumps([[7, LONG]]),
    ],
)
def test_what_does_not_end_as_it_begins_was_cut(whole: str) -> None:
    assert is_cut(whole[:100])
    assert not is_cut(whole)
    assert not is_cut(f"{whole}\n")


@pytest.mark.parametrize("text", [LONG, f"[Paris] {LONG}", f'"Paris": {LONG}', f"{{city}} {LONG}", '["Paris', "", "["])
def test_a_text_with_a_bracket_or_a_quote_is_whole(text: str) -> None:
    assert not is_cut(text)


def test_arguments_and_definitions_are_no_results() -> None:
    cut = json.dumps({"text": LONG})[:100]
    assert not has_cut_result(
        {"tool.parameters": cut, "gen_ai.tool.call.arguments": cut, "gen_ai.tool.call.result": LONG}
    )
    assert has_cut_result({"tool.parameters": "{}", "gen_ai.tool.call.result": cut})


@pytest.mark.parametrize(("length", "expected"), [(None, "ok"), (LIMIT, "unset")])
def test_the_rest_of_a_result_may_tell_of_a_failure(length: int | None, expected: str) -> None:
    cut = json.dumps({"content": [{"type": "text", "text": LONG}], "isError": False})[:length]
    run = run_of(agent_span(), tool_span("get", {"n": 1}, status=1, attributes={"gen_ai.tool.call.result": cut}))
    assert [call.status for call in run.trajectory.calls] == [expected]
    assert doubts(run) == (["unobserved_results"] if length else [])


@pytest.mark.parametrize("length", [40, 70, 100])
def test_the_message_of_a_tool_as_langchain_prints_it_ends_with_whether_it_failed(length: int) -> None:
    whole = "content='card declined: try again with another card' name='charge_card' tool_call_id='c1' status='error'"
    assert not has_cut_result({"gen_ai.tool.call.result": whole})
    run = run_of(agent_span(), tool_span("charge_card", {}, attributes={"gen_ai.tool.call.result": whole[:length]}))
    assert doubts(run) == ["unobserved_results"]


@pytest.mark.parametrize(("length", "expected"), [(None, []), (LIMIT, ["other_traces"])])
def test_a_request_that_stands_alone_may_have_been_told_of_calls(length: int | None, expected: list[str]) -> None:
    answer = json.dumps(
        [{"role": "assistant", "parts": [{"type": "text", "content": "Rain."}], "finish_reason": "stop"}]
    )
    messages = {"gen_ai.input.messages": json.dumps([user(LONG)])[:length], "gen_ai.output.messages": answer}
    assert doubts(run_of(model_span(number=1, parent=0, attributes=messages))) == expected


@pytest.mark.parametrize(("length", "expected"), [(None, []), (-60, ["unobserved_results"])])
def test_that_no_call_failed_is_not_told_by_an_input_that_was_cut(length: int | None, expected: list[str]) -> None:
    pay = ("c2", "pay", {"n": 1})
    told = [user("Hi"), asked(("c1", "get", {"n": 1})), result("c1", "sunny"), asked(pay), result("c2", LONG)]
    messages = {"gen_ai.input.messages": json.dumps(told)[:length], "gen_ai.response.finish_reasons": ["stop"]}
    requests = [
        model_span([("c1", "get", {"n": 1})], number=2),
        model_span([pay], number=3, at=10, input_messages=told[:3]),
        model_span(number=4, at=20, attributes=messages),
    ]
    run = run_of(agent_span(), *requests)
    assert (called(run), doubts(run)) == (["get", "pay"], expected)
