"""Pipecat's own traces: requests to models, and no tools."""

from __future__ import annotations

import json
from typing import Any

from collector.model.span import Span
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


WEATHER = call("c1", '"18 degrees"')


def test_the_last_request_tells_of_all_calls_before_it() -> None:
    last = asked(4, 210, *WEATHER, *CHARGED, output="Done.")
    spans = [CONVERSATION, asked(2, 10), asked(3, 110), last]  # the input of the third is not kept
    run = run_of(*spans)
    assert (called(run), doubts(run)) == (["charge_card", "charge_card"], [])
    silent = asked(5, 60)  # asked for something that no input tells of
    assert doubts(run_of(*spans, silent)) == ["unrecorded_calls"]
