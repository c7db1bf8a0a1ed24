"""What OpenAI's models ask before they call a server of MCP, what they are told of it, and calls that are left open."""

from __future__ import annotations

import pytest

from collector.payloads.pauses import asks_for_approval, is_told_of_approval, leaves_calls_open

ASKED = '{"type":"mcp_approval_request","id":"mcpr_1","name":"erase"}'
APPROVED = '{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true}'
QUESTION = '{"role":"user","content":"thanks"}'


@pytest.mark.parametrize(
    ("answer", "asks"),
    [
        (f"[{ASKED}]", True),
        (f"[{ASKED}]".replace(":", ": "), True),
        (f"[{ASKED},{APPROVED}]", False),
        ('[{"type":"message","content":"{\\"type\\":\\"mcp_approval_request\\"}"}]', False),
        (None, False),
    ],
)
def test_an_item_of_the_answer_asks_and_a_text_that_quotes_one_does_not(answer: object, asks: bool) -> None:
    assert asks_for_approval(answer) is asks


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (f"[{QUESTION},{ASKED},{APPROVED}]", True),
        (f"[{QUESTION * 10_000},{ASKED},{APPROVED}]", True),
        (f"[{ASKED},{APPROVED},{QUESTION}]", False),
        (f"[{ASKED},{APPROVED}{',{}' * 10_000}]", False),
        (None, False),
    ],
)
def test_only_what_was_told_last_is_an_answer_to_the_run_before(messages: object, told: bool) -> None:
    assert is_told_of_approval(messages) is told


CALL = '{"type": "tool_call", "id": "c1", "name": "locate"}'
RESULT = '{"type": "tool_call_response", "id": "c1", "response": "here"}'
MODEL = '{"role": "assistant", "parts": ['


@pytest.mark.parametrize(
    ("conversation", "are_open"),
    [
        (f"[{MODEL}{CALL}]}}]", True),
        (f'[{MODEL}{CALL}]}}, {{"role": "tool", "parts": [{RESULT}]}}]', False),
        (f'[{MODEL}{CALL}]}}, {{"role": "tool", "parts": [{RESULT.replace("c1", "c2")}]}}]', True),
        (f"[{MODEL}{CALL}]}}, {MODEL}]}}]", False),
        ("[" + MODEL + '{"type": "text", "content": "' + CALL.replace('"', '\\"') + '"}]}]', False),
        (None, False),
    ],
)
def test_calls_without_a_result_at_the_end_of_a_run_are_open(conversation: object, are_open: bool) -> None:
    assert leaves_calls_open(conversation) is are_open
