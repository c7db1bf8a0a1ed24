"""OpenLLMetry for Go."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, span, steps

SCOPE = "traceloop.tracer"


def workflow() -> Span:
    names = {"traceloop.workflow.name": "shop", "traceloop.span.kind": "workflow", "traceloop.entity.name": "shop"}
    return span("shop.workflow", 1, 0, attributes=names, scope=SCOPE, lasting=100)


def call(message: str, index: int, tool: str, arguments: str, call_id: str) -> dict[str, str]:
    prefix = f"llm.{message}.tool_calls.{index}."
    said = {"id": call_id, "type": "function", "name": tool, "arguments": arguments}
    return {prefix + key: value for key, value in said.items()}


def message(name: str, role: str, content: str = "") -> dict[str, str]:
    return {f"llm.{name}.content": content, f"llm.{name}.role": role}


def request(number: int, at: float, *parts: dict[str, Any], parent: int = 1) -> Span:
    attributes = {
        "llm.vendor": "openai",
        "llm.request.model": "m",
        "llm.request.type": "chat",
        "traceloop.workflow.name": "shop",
        **message("prompts.0", "user", "pay order 7"),
        "llm.request.functions.0.name": "pay",
        "llm.request.functions.0.description": "pay",
        "llm.request.functions.0.parameters": '{"properties":{"order":{"type":"integer"}},"type":"object"}',
    }
    for part in parts:
        attributes |= part
    return span("openai.chat", number, parent, at, attributes=attributes, scope=SCOPE)


PAY = '{"order": 7}'
ASKED = (message("completions.0", "assistant"), call("completions.0", 0, "pay", PAY, "call_1"))
TOLD = (message("prompts.1", "assistant"), call("prompts.1", 0, "pay", PAY, "call_1"))
DONE = message("completions.0", "assistant", "Done.")


def test_calls_are_read_from_answers_and_what_came_of_them_from_the_next_request() -> None:
    more = call("completions.0", 1, "pay", '{"order": 8}', "call_2")
    told = (*TOLD, call("prompts.1", 1, "pay", '{"order": 8}', "call_2"))
    results = (message("prompts.2", "tool", "paid"), message("prompts.3", "tool", "Error: no such order"))
    run = run_of(workflow(), request(2, 10, *ASKED, more), request(3, 30, *told, *results, DONE))
    assert (called(run), steps(run), doubts(run), run.dialect) == (["pay", "pay"], [0, 0], [], "openllmetry_go")
    assert [(one.id, one.arguments, one.status) for one in run.trajectory.calls] == [
        ("call_1", {"order": 7}, "ok"),
        ("call_2", {"order": 8}, "error"),
    ]


@pytest.mark.parametrize("result", ["unknown tool: pay", "invalid arguments for tool pay"])
def test_a_call_that_the_application_refused(result: str) -> None:
    told = (*TOLD, message("prompts.2", "tool", result), DONE)
    run = run_of(workflow(), request(2, 10, *ASKED), request(3, 30, *told))
    assert (called(run), doubts(run)) == (["(pay)"], [])


def test_a_run_without_calls_and_one_whose_last_answer_asks_for_some() -> None:
    assert (called(run := run_of(workflow(), request(2, 10, DONE))), doubts(run)) == ([], [])
    again = (message("completions.0", "assistant"), call("completions.0", 0, "pay", PAY, "call_2"))
    run = run_of(
        workflow(), request(2, 10, *ASKED), request(3, 30, *TOLD, message("prompts.2", "tool", "paid"), *again)
    )
    assert "uncertain_execution" in doubts(run)


def test_a_request_without_a_workflow_that_tells_of_earlier_calls_is_part_of_a_run() -> None:
    assert doubts(run_of(request(1, 0, *TOLD, message("prompts.2", "tool", "paid"), DONE, parent=0))) == [
        "other_traces"
    ]
