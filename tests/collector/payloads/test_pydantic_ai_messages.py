"""Pydantic AI's own messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.payloads.pydantic_ai_messages import answer_of_pydantic_ai, conversation_of_pydantic_ai

CALL = {"tool_name": "get", "args": '{"city": "Oslo"}', "tool_call_id": "c1", "part_kind": "tool-call"}
CONVERTED = {"type": "tool_call", "id": "c1", "name": "get", "arguments": '{"city": "Oslo"}'}


def test_an_answer_is_one_message_without_what_the_model_thinks() -> None:
    thought = {"content": "hm", "part_kind": "thinking"}
    said = {"content": "Let me see.", "part_kind": "text"}
    answer = answer_of_pydantic_ai(json.dumps({"parts": [thought, said, CALL], "kind": "response"}))
    assert answer == [{"role": "assistant", "parts": [{"type": "text", "content": "Let me see."}, CONVERTED]}]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"content": "sunny", "outcome": "success"}, {"response": "sunny"}),
        ({"content": "sunny"}, {"response": "sunny"}),  # 1.x
        ({"content": "again", "outcome": "retried"}, {"response": "again", "is_error": True}),
        ({"content": "again", "part_kind": "retry-prompt"}, {"response": "again", "is_error": True}),
        ({"content": "no", "outcome": "denied"}, {"response": "The tool call was denied.", "is_error": True}),
        (
            {"content": [{"type": "missing"}], "outcome": "retried"},
            {"response": '1 validation errors:\n[{"type": "missing"}]', "is_error": True},
        ),
    ],
)
def test_a_result_has_what_became_of_the_call(told: dict[str, Any], expected: dict[str, Any]) -> None:
    part = {"tool_name": "get", "tool_call_id": "c1", "part_kind": "tool-return", **told}
    asked = {"content": "Weather?", "part_kind": "user-prompt"}
    given = {"messages": [{"parts": [asked]}, {"parts": [CALL]}, {"parts": [part]}]}
    messages: Any = conversation_of_pydantic_ai(given)
    question, answer, result = messages
    assert (question["role"], question["parts"][0]["content"], answer["parts"]) == ("user", "Weather?", [CONVERTED])
    assert result == {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "name": "get", **expected}]}


@pytest.mark.parametrize("other", ["text", '{"output": "x"}', None, {"parts": "x"}, {"messages": 1}])
def test_anything_else_stays_as_it_is(other: object) -> None:
    assert answer_of_pydantic_ai(other) is other
    assert conversation_of_pydantic_ai(other) is other
