"""The agent's final response in every recorded format of its output."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from collector.payloads.message_text import MAX_CHARS
from collector.payloads.response import response_text
from collector.payloads.values import MAX_REPR
from tests.strategies import json_values

WORDS = "Refunded order 42."
CALL = {"type": "tool_call", "id": "1", "name": "refund", "arguments": {"text": "no words"}}

SHAPES: dict[str, Any] = {
    "plain text": WORDS,
    "quoted": json.dumps(WORDS),
    "OpenTelemetry": [{"role": "assistant", "parts": [{"type": "text", "content": WORDS}], "finish_reason": "stop"}],
    "the whole run in one message": [{"role": "assistant", "parts": [{"type": "text", "content": WORDS}, CALL]}],
    "a transcript": [
        {"role": "user", "content": "Refund 42"},
        {"role": "assistant", "parts": [CALL]},
        {"role": "tool", "content": "done"},
        {"role": "assistant", "content": WORDS},
    ],
    "OpenAI chat": {"choices": [{"index": 0, "message": {"role": "assistant", "content": WORDS}}]},
    "OpenAI responses": {"output": [
        {"type": "reasoning", "summary": [{"text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": WORDS}]},
    ]},
    "Anthropic": {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": WORDS}]},
    "Gemini": {"content": {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": WORDS}]}},
    "Genkit": {"finishReason": "stop", "message": {"role": "model", "content": [{"text": WORDS}]}},
    "LangChain's constructors": {"messages": [
        {"lc": 1, "id": ["langchain", "HumanMessage"], "kwargs": {"content": "Refund 42"}},
        {"lc": 1, "id": ["langchain", "AIMessage"], "kwargs": {"content": WORDS}},
    ]},
    "LangChain's plain messages": {"messages": [{"type": "human", "content": "Hi"}, {"type": "ai", "content": WORDS}]},
    "LangChain's reprs": {"messages": ["content='Refund 42' additional_kwargs={}", f"content='{WORDS}' id='7'"]},
    "LangChain's generations": {"generations": [[{"text": WORDS, "message": {"lc": 1}}]]},
    "a traced function": {"output": WORDS},
    "CrewAI": {"raw": WORDS, "pydantic": None},
    "Mastra": {"text": WORDS, "files": []},
    "Agno's repr": f"RunOutput(content='{WORDS}', status='COMPLETED')",
    "OpenInference": {"llm": {"output_messages": [{"message": {
        "role": "assistant", "contents": [{"message_content": {"type": "text", "text": WORDS}}],
    }}]}},
    "old OpenLLMetry": {"gen_ai": {"completion": [{"role": "assistant", "content": WORDS}]}},
    "a wrapper of the user's own": {"data": {"support_agent": {"messages": [{"role": "assistant", "content": WORDS}]}}},
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_text_is_found_in(shape: str) -> None:
    assert response_text(SHAPES[shape]) == WORDS
    if not isinstance(SHAPES[shape], str):
        assert response_text(json.dumps(SHAPES[shape])) == WORDS


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "  ",
        [],
        {},
        7,
        [{"role": "user", "content": "Refund 42"}],
        [{"role": "assistant", "parts": [CALL]}],
        [{"role": "tool", "content": "done"}],
        {"toolCallId": "1", "result": "done"},
        "content='done' tool_call_id='1'",
        "__end__",
        {"role": "assistant", "content": ""},
    ],
)
def test_values_without_a_response(value: Any) -> None:
    assert response_text(value) is None


def test_the_newest_text_counts_even_if_it_precedes_a_call() -> None:
    first, last = {"role": "assistant", "content": "Let me see."}, {"role": "assistant", "content": WORDS}
    assert response_text([first, last]) == WORDS
    assert response_text([first, {"role": "assistant", "parts": [CALL]}]) == "Let me see."


def test_a_response_in_json_is_text_and_an_envelope_without_text_is_none() -> None:
    answer = '{"city": "Rome", "degrees": 4}'
    assert response_text([{"role": "assistant", "content": answer}]) == answer
    assert response_text([{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]) == answer
    assert response_text('{"finishReason": "stop", "usage": {"tokens": 4}}') is None
    assert response_text([{"role": "assistant", "content": "[]"}]) is None


def test_parts_are_joined_and_long_responses_cut() -> None:
    assert response_text([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]) == "a\nb"
    assert response_text("x" * 100_000) == "x" * MAX_CHARS


@given(json_values)
def test_any_value_gives_text_or_none(value: Any) -> None:
    for given_value in (value, json.dumps(value)):
        text = response_text(given_value)
        assert text is None or (text and len(text) <= MAX_CHARS)


@pytest.mark.parametrize("value", ["[" * 100_000, "content='" * 5_000, {"a": {"b": {"c": {}}}}])
def test_hostile_values_terminate(value: Any) -> None:
    response_text(value)


def test_a_long_repr_is_searched_up_to_a_limit() -> None:
    assert response_text(f"RunOutput({'x' * MAX_REPR}, content='{WORDS}')") is None
