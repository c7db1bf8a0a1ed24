"""Tool calls in a model's input, with what became of each."""

from __future__ import annotations

from collector.payloads.history import calls_in_history


def test_koogs_roles_begin_with_a_capital_and_its_results_are_followed_by_an_empty_message() -> None:
    asked = {"role": "Assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"n": 1}}]}
    told = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "Error: declined"}]}
    again = {"role": "User", "parts": [{"type": "text", "content": "Once more."}]}
    messages = [asked, told, {"role": "User", "parts": []}]
    assert [(call.id, call.status) for call in calls_in_history(messages)] == [("c1", "error")]
    assert calls_in_history([*messages, again]) == []
