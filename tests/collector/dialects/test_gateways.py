"""Envoy AI Gateway (1.1), which sees an agent's requests to models, and none of its tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, span

SCOPE = "envoyproxy/ai-gateway"
ASKED = {"type": "tool_call", "id": "toolu_1", "name": "pay", "arguments": '{"order":7}'}


def request(number: int, parent: int, reason: str, *, given: Any = None, answered: Any = None, at: float = 0) -> Span:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m",
        "gen_ai.response.finish_reasons": [reason],
    }
    if given is not None:
        attributes["gen_ai.input.messages"] = json.dumps(given, separators=(",", ":"))
        output = [{"role": "assistant", "parts": [answered], "finish_reason": reason}]
        attributes["gen_ai.output.messages"] = json.dumps(output, separators=(",", ":"))
    return span("chat m", number, parent, at, attributes=attributes, scope=SCOPE, kind=3, status=1)


def of_openinference(**attributes: Any) -> Span:
    said = {"openinference.span.kind": "LLM", "llm.system": "openai", "llm.model_name": "m", **attributes}
    asked = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "pay order 7"}
    return span("ChatCompletion", 1, 0, attributes={**said, **asked}, scope=SCOPE, status=1)


TEXT = {"type": "text", "content": "Done."}
USER = {"role": "user", "parts": [{"type": "text", "content": "pay order 7"}]}


@pytest.mark.parametrize(
    ("alone", "expected"),
    [
        (request(1, 0, "tool_calls", given=[USER], answered=ASKED), ["other_traces", "uncertain_execution"]),
        (request(1, 0, "stop", given=[USER], answered=TEXT), []),
        (request(1, 0, "stop"), ["other_traces"]),  # content is not captured
    ],
)
def test_a_request_in_a_trace_of_its_own_is_part_of_a_run(alone: Span, expected: list[str]) -> None:
    found = doubts(run_of(alone))
    assert [one for one in found if one != "unobserved_results"] == expected


def test_in_the_words_of_openinference_likewise() -> None:
    call = "llm.output_messages.0.message.tool_calls.0.tool_call."
    asked = {f"{call}id": "call_1", f"{call}function.name": "pay", f"{call}function.arguments": '{"order": 7}'}
    run = run_of(of_openinference(**{"llm.output_messages.0.message.role": "assistant", **asked}))
    assert {"other_traces", "uncertain_execution"} <= set(doubts(run))
    answered = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Done."}
    assert doubts(run_of(of_openinference(**answered))) == []


def test_what_a_call_returned_is_not_told_of_requests_to_anthropic() -> None:
    told = [
        USER,
        {"role": "assistant", "parts": [ASKED]},
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "toolu_1"}]},
    ]
    run = run_of(
        span("POST /chat", 1, 0, lasting=100, kind=2),
        request(2, 1, "tool_use", given=[USER], answered=ASKED, at=10),
        request(3, 1, "end_turn", given=told, answered=TEXT, at=30),
    )
    assert (called(run), doubts(run)) == (["pay"], ["uncertain_execution", "unobserved_results"])


def test_what_a_model_was_told_is_not_recorded_of_requests_to_the_responses_api() -> None:
    """Nor is which tools were offered: the call may have been refused."""
    answers = [[{"role": "assistant", "parts": [part]}] for part in (ASKED, TEXT)]
    requests = [
        span("chat m", number, 1, at, attributes={
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.output.messages": json.dumps(answer),
        }, scope=SCOPE, kind=3, status=1)
        for number, at, answer in ((2, 10, answers[0]), (3, 30, answers[1]))
    ]  # fmt: skip
    run = run_of(span("POST /chat", 1, 0, lasting=100, kind=2), *requests)
    assert (called(run), doubts(run)) == (["pay"], ["uncertain_execution", "unobserved_results"])
