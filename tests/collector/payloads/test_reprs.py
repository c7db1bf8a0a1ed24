"""Reprs of messages are read as messages, and nothing in them is evaluated."""

from __future__ import annotations

from typing import Any

import pytest

from collector.payloads.history import calls_in_history
from collector.payloads.messages import tool_call_parts
from collector.payloads.reprs import parse_message

CALL = "ToolCall(tool_name='pay', arguments={'n': -1, 'note': \"it's <A.B: 'c'>\"}, id='c1', extra=None)"
ASKED = f"ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[{CALL}], _name=None, _meta={{}})"


def told(is_error: str) -> str:
    result = f"ToolCallResult(result='r', origin={CALL}, error={is_error})"
    return f"ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[{result}], _name=None, _meta={{}})"


@pytest.mark.parametrize(("is_error", "status"), [("True", "error"), ("False", "ok")])
def test_the_transcript_of_haystacks_agent(is_error: str, status: str) -> None:
    unread: list[str] = []
    (call,) = calls_in_history({"messages": [ASKED, told(is_error)]}, unread)
    assert (call.id, call.name, call.status, unread) == ("c1", "pay", status, [])
    assert call.arguments == {"n": -1, "note": "it's <A.B: 'c'>"}  # a member of an enumeration only outside of texts


@pytest.mark.parametrize(
    "text",
    [
        "ChatMessage(_role=open('/etc/passwd'))",
        "ChatMessage(_role=os.system)",
        "ChatMessage(_role=a.b())",
        "ChatMessage(_role=[x for x in y])",
        "ChatMessage(_role='user'",
        "ChatMessage(_role='" + "a" * 40_000 + "')",
        "Other(_role='user')",
    ],
)
def test_anything_else_stays_text(text: str) -> None:
    assert parse_message(text) == text


@pytest.mark.parametrize("message", [ASKED[:-9], told("True")[:-9]])
def test_messages_that_could_not_be_parsed_are_told(message: str) -> None:
    unread: list[str] = []
    calls_in_history([message], unread)
    assert unread == [message]


def test_what_is_no_repr_is_not_unread() -> None:
    unread: list[Any] = []
    assert calls_in_history(["{", "hello", '{"a": 1}'], unread) == []
    assert unread == []


def test_a_request_in_the_words_of_openais_sdk() -> None:
    text = "ResponseFunctionToolCall(arguments='{\"n\": 1}', call_id='c1', name='pay', type='function_call', id='fc-1', x=None)"
    (call,) = tool_call_parts([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])
    assert (call.id, call.name, call.arguments) == ("c1", "pay", '{"n": 1}')
