"""BeeAI under OpenInference (0.1.8 and later), which records the events of a tool in its span."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span_of_kind

kind = partial(span_of_kind, "openinference.span.kind", scope="openinference.instrumentation.beeai", status=1)
AGENT = kind(
    "AGENT", "shop", 1, lasting=100, attributes={"agent.name": "shop", "metadata.class_name": "RequirementAgent"}
)
DENIED = '"This tool is not allowed to be used."'


def request(number: int, at: float, tool: str) -> Span:
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    attributes = {f"{call}.id": f"c{number}", f"{call}.function.name": tool, f"{call}.function.arguments": '{"n": 1}'}
    return kind("LLM", "OpenAIChatModel", number, 1, at, attributes=attributes)


def tool(name: str, number: int, at: float, output: str, *events: str, **more: Any) -> Span:
    attributes = {"tool.name": name, "input.value": '{"input": {"n": 1}, "options": null}', "output.value": output}
    told: list[tuple[str, dict[str, Any]]] = [(f"{event} (tool.custom.{name}.{event})", {}) for event in events]
    return kind("TOOL", name, number, 1, at, attributes=attributes, events=told, **more)


@pytest.mark.parametrize(
    ("output", "events", "expected"),
    [
        (DENIED, (), ["(pay)", "final_answer"]),
        ("__REDACTED__", (), ["(pay)", "final_answer"]),
        (DENIED, ("start", "success", "finish"), ["pay", "final_answer"]),
    ],
)
def test_a_call_that_was_denied_did_not_start(output: str, events: tuple[str, ...], expected: list[str]) -> None:
    run = run_of(
        AGENT, request(2, 1, "pay"), tool("pay", 3, 20, output, *events), request(4, 40, "final_answer"),
        tool("final_answer", 5, 60, "Message has been sent", "start", "success", "finish"),
    )  # fmt: skip
    assert (called(run), doubts(run)) == (expected, [])


def test_a_requirement_that_is_prepared_is_no_agent() -> None:
    prepared = kind("AGENT", "init", 2, 1, 1, 0, attributes={"metadata.path": "agent.requirement.requirement.init"})
    assert [run.agent for run in runs_of(AGENT, prepared, request(3, 10, "pay"))] == ["shop"]
