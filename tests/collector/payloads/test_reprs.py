"""Reprs of messages are read as messages, and nothing in them is evaluated."""

from __future__ import annotations

from typing import Any

import pytest

from collector.payloads.history import calls_in_history
from collector.payloads.messages import tool_call_parts
from collector.payloads.reprs import parse_message

CALL = "ToolCall(tool_name='pay', arguments={'n': -1, 'note': \"it's <A.B: 'c'>\"}, id='c1', extra=None)"
ASKED = f"ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[{CALL}], _name=None, _meta={{}})"


def told(is_error: str, result: str = "r") -> str:
    result = f"ToolCallResult(result={result!r}, origin={CALL}, error={is_error})"
    return f"ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[{result}], _name=None, _meta={{}})"


@pytest.mark.parametrize(("is_error", "status"), [("True", "error"), ("False", "ok")])
def test_the_transcript_of_haystacks_agent(is_error: str, status: str) -> None:
    unread: list[str] = []
    (call,) = calls_in_history({"messages": [ASKED, told(is_error)]}, unread)
    assert (call.id, call.name, call.status, unread) == ("c1", "pay", status, [])
    assert call.arguments == {"n": -1, "note": "it's <A.B: 'c'>"}  # a member of an enumeration only outside of texts


@pytest.mark.parametrize(
    "result", ['{"a": [1, 2, 3], "b": "\\\\ é\\n"}, ' * 3_000, "\\x00" * 50_000, "\\\\" * 50_000, "'\"" * 9_000]
)
def test_a_long_result_does_not_hide_the_call(result: str) -> None:
    unread: list[str] = []
    (call,) = calls_in_history({"messages": [ASKED, told("False", result)]}, unread)
    assert (call.id, call.status, unread) == ("c1", "ok", [])


@pytest.mark.parametrize(
    "thing",
    [
        "<function stream.<locals>.<lambda> at 0x7fcd14faa660>",
        "<haystack.components.agents.state.state.State object at 0x7fcd14f96f50>",
        "<bound method Shop.show of <shop.Shop object at 0x7f>>",
    ],
)
def test_the_whole_input_of_haystacks_generator(thing: str) -> None:
    tools = f"[Tool(name='pay', parameters={{'type': 'object'}}, function={thing})]"
    text = f"{{'messages': [{ASKED}, {told('False', f'{thing} is paid')}], 'tools': {tools}, 'streaming_callback': {thing}}}"
    unread: list[str] = []
    calls = calls_in_history(text, unread)
    is_plain = not thing.startswith("<bound")
    assert [(call.id, call.name, call.status) for call in calls] == ([("c1", "pay", "ok")] if is_plain else [])
    assert unread == ([] if is_plain else [text])


@pytest.mark.parametrize("part", ["<", "<a", "<a ", "<a.<b>", "<a at 0x", "<" + "a" * 128])
def test_what_begins_like_an_object_is_looked_at_once(part: str) -> None:
    text = "{'messages': [ChatMessage(" + part * (400_000 // len(part))
    assert parse_message(text) == text


@pytest.mark.parametrize("end", ["", "\\"])
def test_texts_without_an_end_are_read_once(end: str) -> None:
    text = "ChatMessage(" + "\\'" * 100_000 + end
    assert parse_message(text) == text


def test_a_text_named_result_among_the_arguments_is_kept() -> None:
    text = "x" * 9_000
    message = ASKED.replace("'n': -1", f"'result': {text!r}, 'note': \"result='{text}'\"")
    (part,) = tool_call_parts([message])
    assert part.arguments["result"] == text


def test_llama_index_tells_a_refusal_in_a_block() -> None:
    call = "ToolCallBlock(block_type='tool_call', tool_call_id='c1', tool_name='pay', tool_kwargs='{}')"
    asked = f"ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, additional_kwargs={{}}, blocks=[{call}])"
    block = "TextBlock(block_type='text', text='Tool pay not found. Please select a tool that is available.')"
    told = f"ChatMessage(role=<MessageRole.TOOL: 'tool'>, additional_kwargs={{'tool_call_id': 'c1'}}, blocks=[{block}])"
    assert [call.status for call in calls_in_history({"messages": [asked, told]})] == ["refused"]


def test_llama_index_tells_in_any_order_what_became_of_calls() -> None:
    calls = ", ".join(
        f"ToolCallBlock(block_type='tool_call', tool_call_id='{name}1', tool_name='{name}', tool_kwargs='{{}}')"
        for name in ("ask", "pay")
    )
    asked = f"ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, additional_kwargs={{}}, blocks=[{calls}])"
    told = [
        f"ChatMessage(role=<MessageRole.TOOL: 'tool'>, additional_kwargs={{'tool_call_id': '{name}1'}}, "
        f"blocks=[TextBlock(block_type='text', text='{text}')])"
        for name, text in (("pay", "Tool pay not found."), ("ask", "yes"))
    ]
    found = calls_in_history({"messages": [asked, *told]})
    assert [(call.name, call.status) for call in found] == [("ask", "ok"), ("pay", "refused")]


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
