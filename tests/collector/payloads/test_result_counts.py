"""How many results a conversation seems to hold, in the forms in which frameworks write it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.payloads.result_counts import count_results, may_tell_of_more


def openai(number: int) -> list[dict[str, Any]]:
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
    told = {"role": "tool", "tool_call_id": f"call_{number}", "content": "paid"}
    return [{"role": "assistant", "content": None, "tool_calls": [call]}, told]


def anthropic(number: int) -> list[dict[str, Any]]:
    """The results are the user's words, for the provider."""
    used = {"type": "tool_use", "id": f"toolu_{number}", "name": "pay", "input": {}}
    told = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "paid"}
    return [{"role": "assistant", "content": [used]}, {"role": "user", "content": [told]}]


def conventions(number: int) -> list[dict[str, Any]]:
    used = {"type": "tool_call", "id": f"call_{number}", "name": "pay", "arguments": {}}
    told = {"type": "tool_call_response", "id": f"call_{number}", "response": "paid"}
    return [{"role": "assistant", "parts": [used]}, {"role": "user", "parts": [told]}]


def langchain(number: int) -> list[dict[str, Any]]:
    call = {"name": "pay", "args": {}, "id": f"call_{number}", "type": "tool_call"}
    told = {"content": "paid", "type": "tool", "name": "pay", "tool_call_id": f"call_{number}"}
    return [{"content": "", "type": "ai", "tool_calls": [call]}, told]


FORMS = pytest.mark.parametrize("turn", [openai, anthropic, conventions, langchain])
ASKED = {"role": "user", "content": "Pay, please."}
ANSWERED = {"role": "assistant", "content": "Done."}


@FORMS
def test_results_are_counted_since_the_users_last_message(turn: Any) -> None:
    earlier = [ASKED, *turn(1), *turn(2), ANSWERED]
    told = json.dumps([*earlier, ASKED, *turn(3), *turn(4), *turn(5)])
    assert count_results(told) == 3
    assert (may_tell_of_more(told, 2), may_tell_of_more(told, 3)) == (True, False)


@FORMS
def test_where_no_message_is_the_users_all_are_counted(turn: Any) -> None:
    assert count_results(json.dumps([*turn(1), *turn(2)])) == 2


def test_a_conversation_without_results_has_none() -> None:
    assert count_results(json.dumps([ASKED, ANSWERED])) == 0
    assert not may_tell_of_more("", 0)


def test_an_answer_in_the_form_of_a_call_is_no_result() -> None:
    told = conventions(2)
    told[1]["parts"][0]["response"] = "Final result processed."
    assert count_results(json.dumps([ASKED, *conventions(1), *told])) == 1
