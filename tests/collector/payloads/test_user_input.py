"""The user's text in every recorded format of an agent's input."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.payloads.message_text import MAX_CHARS, MAX_DEPTH, MAX_ITEMS, MAX_PARTS
from collector.payloads.tool_results import TAIL
from collector.payloads.user_input import newest_user_input, user_text
from collector.payloads.values import MAX_REPR, MAX_TEXT
from tests.strategies import json_values

WORDS = "Refund order 42"

SHAPES: dict[str, Any] = {
    "plain text": WORDS,
    "quoted": json.dumps(WORDS),
    "OpenTelemetry": [
        {"role": "system", "parts": [{"type": "text", "content": "Help."}]},
        {"role": "user", "parts": [{"type": "text", "content": WORDS}]},
    ],
    "Koog": [{"role": "System", "parts": []}, {"role": "User", "parts": [{"type": "text", "content": WORDS}]}],
    "OpenAI": {"model": "m", "messages": [{"role": "system", "content": "Help."}, {"role": "user", "content": WORDS}]},
    "Anthropic": {"messages": [{"role": "user", "content": [{"type": "text", "text": WORDS}]}], "system": "Help."},
    "Gemini": {"contents": [{"role": "user", "parts": [{"text": WORDS}]}], "config": {"system_instruction": "Help."}},
    "Strands": [{"text": WORDS}],
    "LangChain's constructors": {
        "messages": [[{"lc": 1, "id": ["langchain", "HumanMessage"], "kwargs": {"content": WORDS, "type": "human"}}]]
    },
    "LangChain's plain messages": {"messages": [{"type": "human", "content": WORDS}]},
    "LangChain's pairs": {"inputs": {"messages": [["system", "Help."], ["user", WORDS]]}},
    "Vercel AI SDK": {"system": "Help.", "prompt": WORDS},
    "a Python call": {"args": [WORDS], "kwargs": {}},
    "a traced function": {"user_input": WORDS},
    "a wrapper of the user's own": {"data": {"support_agent": {"messages": [{"role": "user", "content": WORDS}]}}},
    "smolagents": {"task": WORDS, "stream": False},
    "Haystack's repr": {
        "messages": [f"ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='{WORDS}')], _meta={{}})"]
    },
    "AutoGen's repr": {"messages": [f"id='7' source='user' models_usage=None content='{WORDS}' type='TextMessage'"]},
    "CrewAI's prompt": f"\nCurrent Task: {WORDS}\n\nThis is the expected criteria for your final answer: done",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_text_is_found_in(shape: str) -> None:
    assert user_text(SHAPES[shape]) == WORDS
    if not isinstance(SHAPES[shape], str):
        assert user_text(json.dumps(SHAPES[shape])) == WORDS


@pytest.mark.parametrize("key", ["text", "content"])
@pytest.mark.parametrize(
    "begin",
    [
        "For context: below is a transcript of what another agent did, quoted between <<<BEGIN and <<<END.",  # 2.13
        "For context:",
    ],
)
def test_what_googles_adk_tells_of_another_agent_is_not_the_users(begin: str, key: str) -> None:
    told = {"role": "user", "parts": [{key: begin}, {key: "[clerk] said: it is 12"}]}
    assert user_text([{"role": "user", "parts": [{key: WORDS}]}, told]) == WORDS
    assert user_text([{"role": "user", "parts": [{key: "For context: I am late."}]}]) == "For context: I am late."


def test_the_newest_message_of_the_user_counts() -> None:
    history = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "yes?"},
        {"role": "user", "content": WORDS},
    ]
    assert user_text(history) == WORDS


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        [],
        {},
        [{"role": "assistant", "content": "hi"}],
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "18 degrees"}]}],
        {"temperature": 0.1, "model": "m"},
        "ChatMessage(_role=<ChatRole.SYSTEM: 'system'>, _content=[TextContent(text='Help.')])",
    ],
)
def test_values_without_text_of_the_user(value: Any) -> None:
    assert user_text(value) is None


def test_text_is_bounded() -> None:
    assert user_text("x" * 100_000) == "x" * MAX_CHARS


@given(json_values)
def test_no_value_raises(value: Any) -> None:
    for form in (value, json.dumps(value), repr(value)):
        newest_user_input(form)
        found = user_text(form)
        assert found is None or isinstance(found, str)


def test_depth_is_bounded() -> None:
    nested: Any = WORDS
    for _ in range(MAX_DEPTH):
        nested = {"input": nested}
    assert user_text(nested) == WORDS
    assert user_text({"input": nested}) is None


def test_only_the_newest_messages_are_searched() -> None:
    question, answer = {"role": "user", "content": WORDS}, {"role": "assistant", "content": "yes?"}
    assert user_text([question, *[answer] * (MAX_ITEMS - 1)]) == WORDS
    assert user_text([question, *[answer] * MAX_ITEMS]) is None


def test_parts_are_bounded() -> None:
    assert user_text(["a"] * (MAX_PARTS + 1)) == "\n".join(["a"] * MAX_PARTS)
    late_repr = "id='7' source='user' models_usage=None content='b' type='TextMessage'"
    assert user_text(["a"] * MAX_PARTS + [late_repr]) == "\n".join(["a"] * MAX_PARTS)


def test_a_long_repr_is_searched_up_to_a_limit() -> None:
    message = f"id='7' source='user' models_usage=None {'x' * MAX_REPR} content='{WORDS}'"
    assert user_text(message) is None
    assert user_text("x" * MAX_REPR + f" source='user' models_usage=None content='{WORDS}'") != WORDS


def test_input_is_kept_if_the_newest_message_is_the_users() -> None:
    messages = '[{"role": "system"}, {"role": "user", "content": "hi"}]'
    assert newest_user_input(messages) == messages
    assert newest_user_input(messages[:-1] + ', {"role": "assistant"}, {"role": "tool"}]') is None
    assert newest_user_input('{"messages": [{"role": "user"}], "tools": [{"type": "function"}]}') is not None
    assert newest_user_input([{"role": "user", "content": "hi"}]) is not None
    assert newest_user_input([{"role": "user"}, {"role": "tool"}]) is None
    assert newest_user_input("") is None


def test_of_a_long_input_only_the_end_is_searched_and_of_one_too_long_nothing() -> None:
    assert newest_user_input(json.dumps([{"role": "user", "content": "x" * TAIL}])) is None
    assert newest_user_input("x" * MAX_TEXT + '{"role": "user", "content": "hi"}') is None


TEXTS = st.text(max_size=8) | st.sampled_from(
    ['{"role": "user", "content": "not said"}', "]", '"assistant"', "Current Task: x"]
)
PARTS = st.builds(
    lambda kind, text: {"type": kind, "text": text}, st.sampled_from(["text", "image", "tool_result"]), TEXTS
)
SAID = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "user", "assistant", "system"]),
    TEXTS | st.lists(PARTS, max_size=2) | st.none(),
)


@given(st.lists(SAID, max_size=4), st.sampled_from([(", ", ": "), (",", ":")]), st.sampled_from(["", " ", "]", "}"]))
def test_what_is_kept_of_a_long_input_has_the_same_words_of_the_user(
    said: list[Any], separators: tuple[str, str], after: str
) -> None:
    messages = [{"role": "system", "content": "be kind. " * 1_000}, *said]
    text = json.dumps(messages, separators=separators) + after
    kept = newest_user_input(text)
    if kept is not None:
        assert user_text(kept) == user_text(text)


def test_of_a_long_conversation_only_the_newest_message_is_kept() -> None:
    question = {"role": "user", "content": "yes"}
    inputs = [json.dumps([{"role": "system", "content": "x" * size}, question]) for size in (50_000, 50_001)]
    one, other = map(newest_user_input, inputs)
    assert user_text(one) == "yes"
    assert len(str(one)) < 100
    assert one != other, "they are two conversations"
    image = json.dumps(
        [question, {"role": "system", "content": "x" * 5_000}, {"role": "user", "content": [{"type": "image"}]}]
    )
    assert newest_user_input(image) == image, "the words are in an earlier message"
