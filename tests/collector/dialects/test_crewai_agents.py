"""CrewAI's agents without a crew (1.15, ``Agent.kickoff``), under OpenInference (1.1)."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from collector.model.span import Span
from tests.builders import called, doubts, run_of, span, span_of_kind, steps

kind = partial(span_of_kind, "openinference.span.kind", scope="openinference.instrumentation.crewai", status=1)


def kickoff(*messages: dict[str, Any]) -> Span:
    told = [
        {"role": "user", "content": "\nCurrent Task: Plan a trip"},
        *messages,
        {"role": "assistant", "content": "Done."},
    ]
    attributes = {
        "input.value": '{"messages": "Plan a trip"}',
        "agent.goal": "plan",
        "output.value": json.dumps({"raw": "Done.", "pydantic": None, "agent_role": "shop", "messages": told}),
    }
    return kind("AGENT", "shop.kickoff", 1, lasting=100, attributes=attributes)


def tool(name: str, number: int, at: float) -> Span:
    attributes = {"tool.name": name, "input.value": '{"n": 1}', "output.value": "fine"}
    return kind("TOOL", f"{name}.run", number, 1, at, lasting=1, attributes=attributes)


def asking(*tools: str) -> dict[str, Any]:
    calls = [
        {"id": f"c_{name}", "type": "function", "function": {"name": name, "arguments": '{"n": 1}'}} for name in tools
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def told(tool: str, content: str = "fine") -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": f"c_{tool}", "name": tool}


def test_calls_of_one_answer_are_made_at_once() -> None:
    """Threads make them, in any order."""
    run = run_of(kickoff(asking("look", "pay"), told("look"), told("pay")), tool("pay", 2, 20), tool("look", 3, 30))
    assert (called(run), steps(run), doubts(run)) == (["pay", "look"], [0, 0], [])
    assert [call.id for call in run.trajectory.calls] == ["c_pay", "c_look"]


def test_calls_of_two_answers_are_made_one_after_the_other() -> None:
    run = run_of(
        kickoff(asking("look"), told("look"), asking("pay"), told("pay")), tool("look", 2, 20), tool("pay", 3, 30)
    )
    assert (called(run), steps(run), doubts(run)) == (["look", "pay"], [0, 1], [])


def test_a_coworker_that_an_agent_asks_may_have_made_the_calls_inside() -> None:
    """Its work has no span of its own, in a crew: that of the delegation is around it."""
    calls = [
        kind(
            "TOOL", "Delegate work to coworker.run", 2, 1, 10, 50, attributes={"tool.name": "Delegate work to coworker"}
        ),
        kind("TOOL", "pay.run", 3, 2, 20, attributes={"tool.name": "pay", "input.value": '{"n": 1}'}),
        kind("TOOL", "get.run", 4, 1, 70, attributes={"tool.name": "get", "input.value": '{"n": 1}'}),
    ]
    run = run_of(kind("AGENT", "shop._execute_core", 1, lasting=100, attributes={"crew_key": "k"}), *calls)
    assert (called(run), doubts(run)) == (["Delegate work to coworker", "pay", "get"], ["uncertain_owner"])


def test_where_events_are_listened_to_an_agent_has_its_role_as_its_name() -> None:
    """The span is named after the role and the task (1.1)."""
    scope = "openinference.instrumentation.crewai._event_listener"
    attributes = {"openinference.span.kind": "AGENT", "graph.node.id": "helper", "agent.goal": "help"}
    run = run_of(span("helper.do it.execute", 1, lasting=100, attributes=attributes, scope=scope))
    assert run.agent == "helper"
