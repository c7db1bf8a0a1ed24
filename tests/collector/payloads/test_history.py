"""Tool calls in a model's input, with what became of each."""

from __future__ import annotations

import json

import pytest

from collector.payloads.history import calls_in_history
from collector.payloads.tool_results import ToolResult


def test_koogs_roles_begin_with_a_capital_and_its_results_are_followed_by_an_empty_message() -> None:
    asked = {"role": "Assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"n": 1}}]}
    told = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "Error: declined"}]}
    again = {"role": "User", "parts": [{"type": "text", "content": "Once more."}]}
    messages = [asked, told, {"role": "User", "parts": []}]
    assert [(call.id, call.status) for call in calls_in_history(messages)] == [("c1", "error")]
    assert calls_in_history([*messages, again]) == []


def test_koog_tells_a_refused_call_as_the_user_in_json() -> None:
    asked = {"role": "Assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "drop_all", "arguments": {}}]}
    words = "Tool with name 'drop_all' not found in the tool registry. Use one of the available tools."
    for told in (
        {"type": "tool_result", "id": "c1", "result": words},
        {"tool_result": {"id": "c1", "tool": "drop_all", "result": words}},
    ):
        answer = {"role": "User", "parts": [{"type": "text", "content": json.dumps(told)}]}
        assert [(call.name, call.status) for call in calls_in_history([asked, answer])] == [("drop_all", "refused")]


def test_json_of_the_user_that_is_no_result_begins_a_turn() -> None:
    asked = {"role": "Assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "pay", "arguments": {}}]}
    for text in ('{"tool_result": 7}', '{"tool_result": {"result": "x"}}', '{"about": "tool_result"}', "{tool_result"):
        assert calls_in_history([asked, {"role": "User", "parts": [{"type": "text", "content": text}]}]) == []


def test_what_a_human_decided_is_no_result_of_a_call() -> None:
    asked = [
        {"type": "tool-call", "toolCallId": "c1", "toolName": "pay", "input": {}},
        {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"},
    ]
    decided = {"type": "tool-approval-response", "approvalId": "a1", "approved": True}
    messages = [{"role": "assistant", "content": asked}, {"role": "tool", "content": [decided]}]
    assert [(call.id, call.status) for call in calls_in_history(messages)] == [("c1", None)]


@pytest.mark.parametrize(
    ("words", "tool", "expected"),
    [
        ("Transferring back to supervisor", "transfer_back_to_supervisor", []),
        ("Transferring back to supervisor", "transfer_money", [("transfer_money", "ok")]),
        ("", "transfer_back_to_supervisor", [("transfer_back_to_supervisor", "ok")]),
    ],
)
def test_what_a_supervisor_of_langgraph_writes_when_an_agent_is_done_is_no_call(
    words: str, tool: str, expected: list[tuple[str, str]]
) -> None:
    asked = {"content": words, "name": "cook", "tool_calls": [{"name": tool, "args": {}, "id": "c1"}]}
    told = {"content": "Successfully transferred back to supervisor", "name": tool, "tool_call_id": "c1"}
    messages = [{"lc": 1, "id": ["AIMessage"], "kwargs": asked}, {"lc": 1, "id": ["ToolMessage"], "kwargs": told}]
    unasked: list[ToolResult] = []
    found = calls_in_history({"messages": messages}, unasked=unasked)
    assert [(call.name, call.status) for call in found] == expected
    assert unasked == []


def test_the_instructions_of_gemini_are_no_new_message_of_the_user() -> None:
    request = {
        "contents": [
            {"role": "user", "parts": [{"text": "Pay it."}]},
            {"role": "model", "parts": [{"function_call": {"name": "pay", "args": {}}}]},
            {"role": "user", "parts": [{"function_response": {"name": "pay", "response": {"result": "paid"}}}]},
        ],
        "system_instruction": {"role": "user", "parts": [{"text": "You pay."}]},
    }
    assert [(call.name, call.status) for call in calls_in_history(request)] == [("pay", "ok")]


def test_what_langchain_makes_of_the_users_message_begins_a_turn() -> None:
    """LangGraph keeps a conversation and gives the model all of it; its JSON names the class of each message."""

    def made(kind: str, **kwargs: object) -> dict[str, object]:
        return {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", kind], "kwargs": kwargs}

    asked = made(
        "AIMessage", content="", tool_calls=[{"name": "pay", "args": {"n": 1}, "type": "tool_call", "id": "c1"}]
    )
    told = made("ToolMessage", content="paid", tool_call_id="c1", name="pay", status="success")
    observed = made("HumanMessage", content="Observation:\nnone")
    messages = [made("HumanMessage", content="Pay it."), asked, told]
    assert [(call.id, call.status) for call in calls_in_history([messages])] == [("c1", "ok")]
    assert [(call.id, call.status) for call in calls_in_history([[*messages, observed]])] == [("c1", "ok")]
    assert calls_in_history([[*messages, made("HumanMessage", content="Thanks.")]]) == []


def test_calls_and_results_may_be_the_text_of_messages() -> None:
    """OpenLLMetry for JavaScript, over Vercel's AI SDK 5."""
    asked = [{"type": "tool-call", "toolCallId": f"c{n}", "toolName": "pay", "input": {"n": n}} for n in (1, 2)]
    told = [
        {"type": "tool-result", "toolCallId": "c2", "toolName": "pay", "output": {"type": "error-text", "value": "no"}},
        {"type": "tool-result", "toolCallId": "c1", "toolName": "pay", "output": {"type": "text", "value": "paid"}},
    ]
    messages = [
        {"role": role, "parts": [{"type": "text", "content": json.dumps(parts)}]}
        for role, parts in (("assistant", asked), ("tool", told))
    ]
    assert [(call.id, call.status) for call in calls_in_history(messages)] == [("c1", "ok"), ("c2", "error")]


def test_a_wrapper_around_a_message_with_results_is_no_message_of_the_user() -> None:
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "pay", "input": {}}]}
    told = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "paid"}]}
    messages = [{"message": asked}, {"message": told}]
    assert [(call.id, call.status) for call in calls_in_history(messages)] == [("t1", "ok")]
