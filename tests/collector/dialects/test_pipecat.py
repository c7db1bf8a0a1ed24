"""Pipecat's own traces: requests to models, and no tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.span import Span
from collector.reconstruction.run import Run
from tests.builders import called, doubts, run_of, span


def asked(number: int, at: float, *messages: dict[str, Any], **more: Any) -> Span:
    told = json.dumps([{"role": "user", "content": "go"}, *messages])
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "input": told, **more}
    return span("llm", number, 1, at, attributes=attributes, scope="pipecat")


def call(call_id: str, result: str) -> tuple[dict[str, Any], dict[str, Any]]:
    function = {"name": "charge_card", "arguments": '{"order_id": 42}'}
    asking = {"role": "assistant", "tool_calls": [{"id": call_id, "function": function, "type": "function"}]}
    return asking, {"role": "tool", "content": result, "tool_call_id": call_id}


CONVERSATION = span("conversation", 1, lasting=500, attributes={"conversation.id": "c"}, scope="pipecat.turn")
FAILED = call("c1", '{"error": "card declined"}')
CHARGED = call("c2", '"charged 10.5"')


def test_calls_are_known_from_the_next_request() -> None:
    spans = [
        CONVERSATION,
        asked(2, 10),
        asked(3, 110, *FAILED),
        asked(4, 210, *FAILED, *CHARGED, output="Charged."),
    ]
    run = run_of(*spans)
    found = [(one.name, one.arguments, one.status) for one in run.trajectory.calls]
    assert found == [("charge_card", {"order_id": 42}, "error"), ("charge_card", {"order_id": 42}, "ok")]
    assert (run.dialect, doubts(run)) == ("pipecat", [])


def test_an_answer_without_text_that_nothing_follows_leaves_open_what_was_called() -> None:
    run = run_of(CONVERSATION, asked(2, 10), asked(3, 110, *FAILED))
    assert (called(run), doubts(run)) == (["charge_card"], ["unrecorded_calls"])


def test_speech_is_no_request() -> None:
    spoken = span("tts", 3, 1, 210, attributes={"gen_ai.operation.name": "text_to_speech"}, scope="pipecat")
    run = run_of(CONVERSATION, asked(2, 10, output="Hello."), spoken)
    assert (called(run), doubts(run)) == ([], [])


WEATHER = call("call_efc2157dfb6c43aba4dc", '"18 degrees"')
PAID = call("call_79b21c0cb5474faba663", '"charged 10.5"')


def test_the_last_request_tells_of_all_calls_before_it() -> None:
    last = asked(4, 210, *WEATHER, *PAID, output="Done.")
    cut = asked(3, 110, *WEATHER)
    cut.attributes["input"] = cut.attributes["input"][:-9]  # so that it cannot be read
    spans = [CONVERSATION, asked(2, 10), cut, last]
    run = run_of(*spans)
    assert (called(run), doubts(run)) == (["charge_card", "charge_card"], [])
    silent = asked(5, 60)  # asked for something that no input tells of
    assert doubts(run_of(*spans, silent)) == ["unrecorded_calls"]


def told(run: Run) -> list[tuple[str, str, int]]:
    return [(one.name, one.status, one.step) for one in run.trajectory.calls]


def test_calls_that_one_input_tells_of_first_were_asked_for_at_once() -> None:
    # Pipecat writes each with a message of its own, and its result after it.
    last = asked(4, 210, *WEATHER, *PAID, *FAILED, output="Done.")
    run = run_of(CONVERSATION, asked(2, 10), asked(3, 110, *WEATHER, *PAID), last)
    assert told(run) == [("charge_card", "ok", 0), ("charge_card", "ok", 0), ("charge_card", "error", 1)]
    assert doubts(run) == []


def test_a_request_tells_of_the_calls_since_the_users_last_words() -> None:
    follow_up = {"role": "user", "content": "and then?"}
    earlier = [*WEATHER, {"role": "assistant", "content": "18 degrees."}, follow_up]
    spans = [
        CONVERSATION,
        asked(2, 10),
        asked(3, 60, *WEATHER, output="18 degrees."),
        asked(4, 110, *earlier),
        asked(5, 160, *earlier, *PAID, output="Done."),
    ]
    long = [
        {"role": "system", "content": "Be nice. " * 200}
    ]  # a trace keeps the longest of inputs that continue each other
    for one in spans[1:]:
        one.attributes["input"] = json.dumps([*long, *json.loads(one.attributes["input"])])
    genai_spans = [genai_span for one in spans[1:] if (genai_span := dialects.read_span(one)) is not None]
    assert [type(one.history) for one in genai_spans] == [type(None), list, type(None), list]
    run = run_of(*spans)
    assert (told(run), doubts(run)) == ([("charge_card", "ok", 0), ("charge_card", "ok", 1)], [])


@pytest.mark.parametrize(
    "words",
    [
        "CANCELLED",
        "IN_PROGRESS",
        json.dumps({"type": "async_tool", "status": "running", "tool_call_id": "c1", "description": "Do not call it again."}),
        json.dumps({
            "type": "async_tool",
            "status": "finished",
            "tool_call_id": "c1",
            "result": "CANCELLED: this tool call was cancelled before it returned a result",
        }),
    ],
)  # fmt: skip
def test_what_came_of_a_call_that_was_cancelled_or_goes_on_is_not_known(words: str) -> None:
    run = run_of(CONVERSATION, asked(2, 10), asked(3, 110, *call("c1", words), output="Wait."))
    assert (told(run), doubts(run)) == ([("charge_card", "unset", 0)], ["unobserved_results"])


def test_a_later_request_tells_how_a_call_ended_that_was_under_way() -> None:
    going_on = asked(3, 110, *call("c1", "IN_PROGRESS"), output="Wait.")
    run = run_of(CONVERSATION, asked(2, 10), going_on, asked(4, 210, *FAILED, output="It failed."))
    assert (told(run), doubts(run)) == ([("charge_card", "error", 0)], [])


def test_calls_during_which_the_user_spoke_are_told_with_what_came_of_them() -> None:
    slow = call("call_ae2a25c92157491b80a6", "CANCELLED")
    interrupted = [*WEATHER, *slow, {"role": "user", "content": "stop, pay first"}]
    run = run_of(
        CONVERSATION,
        asked(2, 10),
        asked(3, 60, *WEATHER),
        asked(4, 110, *interrupted),
        asked(5, 160, *interrupted, *PAID, output="Done."),
    )
    assert told(run) == [("charge_card", "ok", 0), ("charge_card", "unset", 1), ("charge_card", "ok", 2)]
    assert doubts(run) == ["unobserved_results"]


def realtime(number: int, at: float, operation: str, **more: Any) -> Span:
    return span(operation, number, 1, at, attributes={"gen_ai.operation.name": operation, **more}, scope="pipecat")


def answered(number: int, at: float, calls: int = 0) -> Span:
    counted = {"function_calls.count": calls, "function_calls.first_name": "charge_card"} if calls else {}
    return realtime(number, at, "llm_response", **{"response.status": "completed", **counted})


def test_a_model_that_speaks_itself_has_a_span_for_what_it_was_told_and_one_for_its_answer() -> None:
    first = realtime(2, 10, "llm_request", input=json.dumps([{"role": "user", "content": "go"}]))
    second = realtime(4, 110, "llm_request", input=json.dumps([{"role": "user", "content": "go"}, *WEATHER, *PAID]))
    run = run_of(CONVERSATION, first, answered(3, 30, calls=2), second, answered(5, 130))
    assert (told(run), run.dialect) == ([("charge_card", "ok", 0), ("charge_card", "ok", 0)], "pipecat")
    assert doubts(run) == []
    assert doubts(run_of(CONVERSATION, first, answered(3, 30))) == []
    assert doubts(run_of(CONVERSATION, first, answered(3, 30, calls=1))) == ["unrecorded_calls"]
