"""The scripted model: each shape of answer, whole and streamed, as an OpenAI client reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.record.model_server import EVENTS, ScriptedModel
from tests.record.scenarios import Answer, RequestedCall

SCRIPT = (
    Answer(
        (RequestedCall("call_1", "lookup", {"order": 7}), RequestedCall("call_2", "lookup", {"order": 8})), "looking"
    ),
    Answer(text="two orders"),
)
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


def ask(model: ScriptedModel, path: str, **request: Any) -> Any:
    status, _, body = model.answer(path, json.dumps({"model": "m-1", **request}).encode())
    assert status == 200
    return json.loads(body)


def stream(model: ScriptedModel, path: str) -> list[Any]:
    status, content_type, body = model.answer(path, b'{"model": "m-1", "stream": true}')
    assert (status, content_type) == (200, EVENTS)
    data = [line.removeprefix("data: ") for line in body.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(item) for item in data if item != "[DONE]"]


def test_a_chat_completion_asks_for_calls_and_then_ends() -> None:
    model = ScriptedModel(SCRIPT)
    first = ask(model, CHAT)["choices"][0]
    assert first["finish_reason"] == "tool_calls"
    assert first["message"]["content"] == "looking"
    calls = [
        (call["id"], call["function"]["name"], call["function"]["arguments"]) for call in first["message"]["tool_calls"]
    ]
    assert calls == [("call_1", "lookup", '{"order": 7}'), ("call_2", "lookup", '{"order": 8}')]
    last = ask(model, CHAT)["choices"][0]
    assert (last["finish_reason"], last["message"]) == ("stop", {"role": "assistant", "content": "two orders"})


def test_a_response_asks_for_calls_and_then_ends() -> None:
    model = ScriptedModel(SCRIPT)
    first = ask(model, RESPONSES)["output"]
    assert [item["type"] for item in first] == ["message", "function_call", "function_call"]
    assert [item["call_id"] for item in first[1:]] == ["call_1", "call_2"]
    (last,) = ask(model, RESPONSES)["output"]
    assert last["content"][0]["text"] == "two orders"


def test_a_streamed_completion_adds_up_to_the_whole_one() -> None:
    text, *calls, end, usage = stream(ScriptedModel(SCRIPT), CHAT)
    assert text["choices"][0]["delta"] == {"role": "assistant", "content": "looking"}
    added = [call for chunk in calls for call in chunk["choices"][0]["delta"]["tool_calls"]]
    assert [(call["index"], call["id"]) for call in added] == [(0, "call_1"), (1, "call_2")]
    assert end["choices"][0] == {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
    assert usage["usage"]["total_tokens"] == 30


def test_a_streamed_response_ends_with_the_whole_one() -> None:
    events = stream(ScriptedModel(SCRIPT), RESPONSES)
    assert [event["type"] for event in events[::7]] == ["response.created", "response.completed"]
    assert [event["sequence_number"] for event in events] == list(range(8))
    assert events[-1]["response"] == ask(ScriptedModel(SCRIPT), RESPONSES)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/embeddings", b"{}", 404),
        (CHAT, b"{", 400),
        (CHAT, b"[]", 400),
        (CHAT, b'{"messages": []}', 400),
    ],
)
def test_what_the_script_cannot_answer_is_refused(path: str, body: bytes, status: int) -> None:
    model = ScriptedModel(SCRIPT)
    assert model.answer(path, body)[0] == status
    assert model.requests == []


def test_a_request_beyond_the_script_is_refused() -> None:
    model = ScriptedModel(SCRIPT[1:])
    ask(model, CHAT)
    status, _, body = model.answer(CHAT, b'{"model": "m-1"}')
    assert status == 409
    assert "the script has 1 answers, this is request 2" in json.loads(body)["error"]["message"]
