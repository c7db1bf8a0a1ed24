"""Upsonic 0.77, by its own instrumentation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span, steps

PAUSE = "upsonic.tools.hitl."


def upsonic(name: str, number: int, parent: int, at: float = 0, **more: Any) -> Span:
    return span(name, number, parent, at, scope="upsonic", **{"status": 1, **more})


def run(number: int = 1, parent: int = 0, at: float = 0, *, agent: str = "shop", **attributes: Any) -> Span:
    values = {"upsonic.agent.name": agent, "upsonic.run_id": "e2d4", "upsonic.status": "COMPLETED"}
    more = {f"upsonic.{key.replace('__', '.')}": value for key, value in attributes.items()}
    return upsonic("agent.run", number, parent, at, lasting=100, kind=2, attributes={**values, **more})


def chat(number: int, at: float, *calls: str, content: bool = True, told: Any = (), parent: int = 1) -> Span:
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.finish_reasons": ["tool_call" if calls else "stop"],
    }
    if content:
        parts = [{"type": "tool_call", "id": f"c{name}", "name": name, "arguments": "{}"} for name in calls]
        answer = [{"role": "assistant", "parts": parts or [{"type": "text", "content": "Done."}]}]
        asked = [{"role": "user", "parts": [{"type": "text", "content": "Plan a trip"}]}, *told]
        attributes |= {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(answer)}
    return upsonic("chat gpt-4o", number, parent, at, kind=3, status=0, attributes=attributes)


def call(tool: str, number: int, at: float, result: str | None = "{'func': 'fine'}", parent: int = 1) -> Span:
    attributes = {"upsonic.tool.name": tool, "upsonic.tool.call_id": f"c{tool}", "upsonic.tool.success": True}
    if result is not None:
        attributes |= {"langfuse.observation.input": '{"n": 1}', "langfuse.observation.output": json.dumps(result)}
    return upsonic("tool.execute", number, parent, at, attributes=attributes)


def paused(tool: str, number: int, at: float, kind: str) -> Span:
    attributes = {
        "upsonic.tool.name": tool,
        "upsonic.tool.call_id": f"c{tool}",
        "langfuse.observation.input": '{"n": 1}',
    }
    words = "Paused for 0 tool(s) requiring confirmation"
    raised = ("exception", {"exception.type": PAUSE + kind, "exception.message": words})
    return upsonic(
        "tool.execute", number, 1, at, status=2, message=f"{kind}: {words}", events=[raised], attributes=attributes
    )


def steps_made(made: int, *statuses: str) -> dict[str, Any]:
    told = {f"step_{number}": status for number, status in enumerate(statuses)}
    return {"pipeline__executed_steps": made, "pipeline__step_statuses": json.dumps(told)}


def test_calls_of_a_run() -> None:
    found = run_of(run(), chat(2, 1, "look", "pay"), call("look", 3, 20), call("pay", 4, 21), chat(5, 60))
    assert (found.agent, found.dialect, called(found)) == ("shop", "upsonic", ["look", "pay"])
    assert (steps(found), doubts(found)) == ([0, 0], [])
    assert [(one.id, one.arguments, one.status) for one in found.trajectory.calls] == [
        ("clook", {"n": 1}, "ok"),
        ("cpay", {"n": 1}, "ok"),
    ]


@pytest.mark.parametrize(
    ("result", "expected", "status", "doubted"),
    [
        ("no money on card", ["pay"], "error", []),
        ("Missing required argument(s) for 'pay': n. This usually means that it was truncated", ["(pay)"], "error", []),
        ("blocked by policy", ["pay"], "error", ["uncertain_execution"]),
        ("{'func_cache': 'blocked by policy'}", ["pay"], "ok", []),
        (None, ["pay"], "unset", ["unobserved_results"]),
    ],
)
def test_a_failure_is_told_by_the_result_alone(
    result: str | None, expected: list[str], status: str, doubted: list[str]
) -> None:
    content = result is not None
    found = run_of(run(), chat(2, 1, "pay", content=content), call("pay", 3, 20, result), chat(4, 60, content=content))
    assert (called(found), doubts(found)) == (expected, doubted)
    assert found.trajectory.calls[0].status == status


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("ConfirmationPause", ["(pay)"]), ("UserInputPause", ["(pay)"]), ("ExternalExecutionPause", ["pay"])],
)
def test_a_run_that_is_paused_goes_on_in_another_trace(kind: str, expected: list[str]) -> None:
    """Where the application runs the call itself, it may have run by then."""
    found = run_of(
        run(status="PAUSED", **steps_made(2, "COMPLETED", "PAUSED")), chat(2, 1, "pay"), paused("pay", 3, 20, kind)
    )
    assert (called(found), doubts(found)) == (expected, ["other_traces", "uncertain_execution"])


@pytest.mark.parametrize(("made", "expected"), [(2, []), (3, ["other_traces"])])
def test_a_run_that_made_a_step_twice_began_in_another_trace(made: int, expected: list[str]) -> None:
    found = run_of(run(**steps_made(made, "COMPLETED", "COMPLETED")), chat(2, 1, content=False))
    assert (called(found), doubts(found)) == ([], expected)


def test_calls_beyond_the_limit_and_the_answer_in_the_form_of_a_call_leave_no_span() -> None:
    limited = run_of(run(tool_limit_reached=True), chat(2, 1, "look"), call("look", 3, 20), chat(4, 60, "pay"))
    assert (called(limited), doubts(limited)) == (["look", "(pay)"], [])
    answered = run_of(run(), chat(2, 1, "look"), call("look", 3, 20), chat(4, 60, "final_result"))
    assert (called(answered), doubts(answered)) == (["look", "(final_result)"], [])


def test_an_agent_as_a_tool() -> None:
    outer, inner = runs_of(
        run(), chat(2, 1, "ask_clerk"), call("ask_clerk", 3, 20), run(4, 3, 21, agent="clerk"),
        chat(5, 22, "look", parent=4), call("look", 6, 40, parent=4), chat(7, 60, parent=4), chat(8, 140),
    )  # fmt: skip
    assert [(one.agent, called(one), doubts(one)) for one in (outer, inner)] == [
        ("shop", ["ask_clerk"], []),
        ("clerk", ["look"], []),
    ]


def test_steps_are_ignored() -> None:
    assert dialects.read_span(upsonic("pipeline.step.model_execution", 2, 1)) is IGNORED
