"""ADK for Rust."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span

AGENT, TOOL = "adk_agent::llm_agent", "adk_tool::function_tool"


def _span(name: str, number: int, parent: int, at: float, target: str = AGENT, **attributes: Any) -> Span:
    about = {"target": target, "gcp.vertex.agent.invocation_id": "i1", "gen_ai.conversation.id": "s1", **attributes}
    events: list[tuple[str, dict[str, Any]]] = []
    if "tool.args" in about:
        events = [("tool_call", {"tool.name": about["tool.name"], "tool.args": about.pop("tool.args"), "attempt": "0"})]
    return span(name, number, parent, at, 100 if not parent else 5, attributes=about, events=events, scope="shop")


def _call(call_id: str) -> dict[str, Any]:
    return {"name": "pay", "args": {"order": 7}, "id": call_id}


def _model(number: int, at: float, told: list[dict[str, Any]], part: dict[str, Any], parent: int = 1) -> Span:
    request = {"model": "m", "contents": [{"role": "user", "parts": [{"text": "Pay."}]}, *told], "config": None}
    texts = [json.dumps(value, separators=(",", ":")) for value in (request, {"role": "model", "parts": [part]})]
    attributes = {"gcp.vertex.agent.llm_request": texts[0], "gcp.vertex.agent.llm_response": texts[1]}
    return _span("call_llm", number, parent, at, **attributes)


def _told(call_id: str, response: dict[str, Any], name: str = "pay") -> list[dict[str, Any]]:
    told = {"functionResponse": {"name": name, "response": response}, "id": call_id}
    return [{"role": "model", "parts": [_call(call_id) | {"name": name}]}, {"role": "function", "parts": [told]}]


def _tool(number: int, at: float, call_id: str) -> list[Span]:
    inner = span(
        "execute", number + 1, number, at + 1, 2, scope="shop",
        attributes={"target": TOOL, "tool.name": "pay", "function_call.id": call_id},
    )  # fmt: skip
    about = {"tool.name": "pay", "tool.args": '{"order":7}', "gcp.vertex.agent.event_id": "i1_pay"}
    return [_span("execute_tool pay", number, 1, at, **about), inner]


ROOT = _span("agent.execute", 1, 0, 0, "adk_runner::runner", **{"agent.name": "travel"})


@pytest.mark.parametrize(
    ("response", "expected", "in_doubt"),
    [
        ({"result": "paid"}, ("ok", True), []),
        ({"error": "tool.internal: card declined"}, ("error", True), []),
        ({"error": "tool.internal: missing field `price`"}, ("error", True), ["uncertain_execution"]),
    ],
)
def test_what_came_of_a_call_is_what_the_model_was_told(
    response: dict[str, Any], expected: tuple[str, bool], in_doubt: list[str]
) -> None:
    run = run_of(
        ROOT,
        _model(2, 1, [], _call("c1")),
        *_tool(3, 10, "c1"),
        _model(5, 20, _told("c1", response), {"text": "Done."}),
    )
    (call,) = run.trajectory.calls
    assert (call.name, call.id, call.arguments, call.status, call.executed) == ("pay", "c1", {"order": 7}, *expected)
    assert (run.agent, run.conversation_id, doubts(run)) == ("travel", "s1", in_doubt)


def test_a_call_of_which_the_model_was_told_nothing_may_have_failed() -> None:
    run = run_of(ROOT, _model(2, 1, [], _call("c1")), *_tool(3, 10, "c1"))
    assert (called(run), doubts(run)) == (["pay"], ["unobserved_results"])


def test_a_run_that_ended_without_the_calls_asked_for_last_goes_on_in_another_trace() -> None:
    """A call waits for a human; nothing else tells of that."""
    paid = _told("c1", {"result": "paid"})
    drop = _call("c2") | {"name": "drop"}
    run = run_of(ROOT, _model(2, 1, [], _call("c1")), *_tool(3, 10, "c1"), _model(5, 20, paid, drop))
    assert (called(run), doubts(run)) == (["pay", "(drop)"], ["other_traces"])


def test_an_agent_inside_a_tool_has_a_run() -> None:
    inner = span(
        "execute", 4, 3, 11, 60, scope="shop",
        attributes={"target": "adk_tool::agent_tool", "agent_tool.name": "till", "function_call.id": "c1"},
    )  # fmt: skip
    about = {"tool.name": "till", "tool.args": "{}", "gcp.vertex.agent.event_id": "i1_till"}
    pay = {"tool.name": "pay", "tool.args": '{"order":7}', "gcp.vertex.agent.event_id": "i2_pay"}
    outside, inside = runs_of(
        ROOT,
        _model(2, 1, [], {"name": "till", "args": {}, "id": "c1"}),
        _span("execute_tool till", 3, 1, 10, **about),
        inner,
        _model(5, 12, [], _call("c2"), parent=4),
        _span("execute_tool pay", 6, 4, 20, **pay),
        _model(7, 30, _told("c2", {"result": "paid"}), {"text": "Paid."}, parent=4),
        _model(8, 80, _told("c1", {"result": "Paid."}, "till"), {"text": "Done."}),
    )
    assert [(run.agent, called(run), doubts(run)) for run in (outside, inside)] == [
        ("travel", ["till"], []),
        ("till", ["pay"], []),
    ]


def test_a_tool_that_is_not_there_leaves_no_span() -> None:
    told = _told("c1", {"error": "Tool pay not found"})
    run = run_of(ROOT, _model(2, 1, [], _call("c1")), *_tool(7, 30, "c2"), _model(5, 20, told, _call("c2")))
    assert [(call.id, call.executed) for call in run.trajectory.calls] == [("c1", False), ("c2", True)]


def test_spans_of_another_adk_are_left_to_their_own_reader() -> None:
    python = span("call_llm", 2, 1, scope="other", attributes={"gcp.vertex.agent.invocation_id": "i1"})
    read = dialects.read_span(python)
    assert read is None or read.dialect != "adk_rust"
