"""Langroid (0.69), which has its model ask for calls in text: the client of the model is all that is traced."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, run_of, span

TOOLS = "You are a helpful assistant.\n\n=== ALL AVAILABLE TOOLS and THEIR FORMAT INSTRUCTIONS ===\nTOOL: pay\n"
SCHEMA = 'JSON FORMAT: {\n"properties": {\n"request": {\n"default": "pay"\n}, "n": {"type": "integer"}\n}\n}'
CALL = '{"request": "pay", "n": 1}'
XML = "<tool>\n  <request>pay</request>\n  <n>1</n>\n</tool>"


def messages(*told: tuple[str, str], system: str = TOOLS + SCHEMA) -> list[dict[str, Any]]:
    given = (("system", system), ("user", "Plan a trip"), *told)
    return [{"role": role, "content": content} for role, content in given]


def of_openinference(number: int, parent: int, given: list[dict[str, Any]], answer: str) -> Span:
    message = {"content": answer, "role": "assistant"}
    attributes = {
        "openinference.span.kind": "LLM",
        "input.value": json.dumps({"model": "gpt-4o", "messages": given}),
        "output.value": json.dumps({"choices": [{"finish_reason": "stop", "index": 0, "message": message}]}),
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": answer,
        "llm.finish_reason": "stop",
    }
    scope = "openinference.instrumentation.openai"
    return span("ChatCompletion", number, parent, number * 20, attributes=attributes, scope=scope, status=1)


def of_openllmetry(number: int, parent: int, given: list[dict[str, Any]], answer: str) -> Span:
    def in_parts(message: dict[str, Any]) -> dict[str, Any]:
        return {"role": message["role"], "parts": [{"type": "text", "content": message["content"]}]}

    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([in_parts(one) for one in given]),
        "gen_ai.output.messages": json.dumps([in_parts({"role": "assistant", "content": answer})]),
        "gen_ai.response.finish_reasons": ["stop"],
    }
    scope = "opentelemetry.instrumentation.openai.v1"
    return span("openai.chat", number, parent, number * 20, attributes=attributes, scope=scope, kind=3)


@pytest.mark.parametrize("request_of", [of_openinference, of_openllmetry])
@pytest.mark.parametrize("answer", [CALL, f"Let me pay.\n{CALL}", XML])
def test_an_answer_may_ask_for_a_call_in_text(request_of: Any, answer: str) -> None:
    asked = messages(("assistant", answer), ("user", "paid"))
    run = run_of(
        span("POST /plan", 1, lasting=100, attributes={"http.route": "/plan"}),
        request_of(2, 1, messages(), answer),
        request_of(3, 1, asked, "Done."),
    )
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls"])


@pytest.mark.parametrize("request_of", [of_openinference, of_openllmetry])
def test_a_request_that_is_told_of_calls_in_text_is_a_part_of_a_run(request_of: Any) -> None:
    told = messages(("assistant", CALL), ("user", "paid"))
    assert doubts(run_of(request_of(2, 0, told, "Done."))) == ["other_traces"]


@pytest.mark.parametrize("request_of", [of_openinference, of_openllmetry])
@pytest.mark.parametrize(
    ("given", "answer"),
    [(messages(), "Done."), (messages(system="Answer in JSON."), CALL)],
    ids=["no call", "another's JSON"],
)
def test_an_answer_that_asks_for_none(request_of: Any, given: Any, answer: str) -> None:
    run = run_of(request_of(2, 0, given, answer))
    assert (called(run), doubts(run)) == ([], [])


def test_a_list_of_models_is_no_request() -> None:
    attributes = {"openinference.span.kind": "LLM", "input.value": "{}", "output.value": '{"data":[{"id":"gpt-4o"}]}'}
    scope = "openinference.instrumentation.openai"
    assert dialects.read_span(span("SyncPage[Model]", 2, 1, attributes=attributes, scope=scope)) is IGNORED
