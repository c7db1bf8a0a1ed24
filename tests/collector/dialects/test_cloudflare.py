"""Cloudflare's Agents (0.32), which wraps Vercel's AI SDK (6 and 7): spans as `agents/observability/ai` writes them."""

from __future__ import annotations

from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests import operations
from tests.builders import asked, called, doubts, read_tool, result, run_of, runs_of, span, user

OPERATION = "cloudflare.agents.operation.name"
Told = dict[str, Any]
NOTHING: Told = {}
PLATFORM = "cloudflare-workers"  # the scope is not the SDK's


def written(name: str, operation: str, number: int, parent: int, at: float, lasting: float, **more: Any) -> Span:
    attributes = {
        "cloudflare.agents.integration.name": "ai-sdk",
        OPERATION: operation,
        "gen_ai.agent.name": "shop_agent",
        "gen_ai.conversation.id": "conv-1",
        "gen_ai.operation.name": name.partition(" ")[0].replace("tool_approval", "execute_tool"),
        **more.pop("attributes", {}),
    }
    return span(name, number, parent, at, lasting=lasting, attributes=attributes, scope=PLATFORM, **more)


def agent(finish: str = "stop", number: int = 1, parent: int = 0, at: float = 0, told: Told = NOTHING) -> Span:
    attributes = {"cloudflare.agents.response.finish_reason": finish, **told}
    return written("invoke_agent shop_agent", "generateText", number, parent, at, 100, attributes=attributes)


def request(number: int, at: float, finish: str | None = "tool-calls", parent: int = 1, told: Told = NOTHING) -> Span:
    attributes = dict(told)
    if finish is not None:
        attributes["cloudflare.agents.response.finish_reason"] = finish
    return written("chat gpt-4o", "doGenerate", number, parent, at, 5, attributes=attributes)


def named(tool: str, call_id: str) -> Told:
    return {"gen_ai.tool.name": tool, "gen_ai.tool.call.id": call_id, "gen_ai.tool.type": "function"}


def call(tool: str, number: int, at: float, parent: int = 1, call_id: str = "", told: Told = NOTHING) -> Span:
    status = 2 if "error.type" in told else 0
    attributes = named(tool, call_id or tool) | told
    return written(f"execute_tool {tool}", "tool.execute", number, parent, at, 5, attributes=attributes, status=status)


def approval(state: str, number: int, at: float, parent: int = 1) -> tuple[Span, Span]:
    """The span that looks like that of a call, and what is inside."""
    ids = named("delete_account", "c2")
    told = ids | {"cloudflare.agents.tool.approval.state": state}
    return (
        written("execute_tool delete_account", "tool.approval", number, parent, at, 1, attributes=ids),
        written("tool_approval delete_account", "tool.approval", number + 1, number, at, 0.5, attributes=told),
    )


def test_a_run_without_content() -> None:
    run = run_of(agent(), request(2, 1), call("lookup_order", 3, 10), request(4, 20, "stop"))
    assert (run.agent, called(run), doubts(run)) == ("shop_agent", ["lookup_order"], [])
    assert run.conversation_id == "conv-1"


def test_a_run_of_no_calls() -> None:
    assert doubts(run_of(agent(), request(2, 1, "stop"))) == []


def test_what_its_answers_asked_for_and_no_span_shows_is_unrecorded() -> None:
    """Of a tool that does not exist, or of arguments that do not fit, there is no span."""
    run = run_of(agent(), request(2, 1), request(3, 10), call("send_email", 4, 20), request(5, 30, "stop"))
    assert (called(run), doubts(run)) == (["send_email"], ["unrecorded_calls"])


def test_a_tool_that_failed_had_begun() -> None:
    failed = call("charge_card", 3, 10, told={"error.type": "Error"})
    assert read_tool(failed) == ("charge_card", "charge_card", None, "error")
    run = run_of(agent(), request(2, 1), failed, request(4, 20, "stop"))
    assert (called(run), doubts(run)) == (["charge_card"], [])


@pytest.mark.parametrize("cut", ["cloudflare.agents.canceled", "cloudflare.agents.span.truncated"])
def test_whether_a_call_failed_that_was_cut_is_open(cut: str) -> None:
    run = run_of(agent(), request(2, 1), call("charge_card", 3, 10, told={cut: True}), request(4, 20, "stop"))
    assert (called(run), doubts(run)) == (["charge_card"], ["unobserved_results"])


def test_a_call_that_a_human_is_asked_for_did_not_run_and_waits() -> None:
    waiting = (agent("tool-calls"), request(2, 1), *approval("requested", 3, 10))
    run = run_of(*waiting)
    assert (called(run), doubts(run)) == (["(delete_account)"], ["other_traces"])


def test_a_run_that_begins_with_what_a_human_approved_began_elsewhere() -> None:
    """Version 7 of the SDK asks its policy once more, so what was approved is requested again."""
    approved = call("delete_account", 4, 3, call_id="c2")
    inside = written(
        "tool_approval delete_account", "tool.approval", 5, 4, 3, 0.5,
        attributes=named("delete_account", "c2") | {"cloudflare.agents.tool.approval.state": "approved"},
    )  # fmt: skip
    run = run_of(agent(), *approval("requested", 2, 1), approved, inside, request(6, 20, "stop"))
    assert (called(run), doubts(run)) == (["(delete_account)", "delete_account"], ["other_traces"])


def test_a_run_that_begins_with_a_denial_began_elsewhere() -> None:
    run = run_of(agent(), *approval("denied", 2, 1), request(4, 10, "stop"))
    assert (called(run), doubts(run)) == (["(delete_account)"], ["other_traces"])


def test_a_call_that_a_policy_denied_did_not_run() -> None:
    run = run_of(agent(), request(2, 1), *approval("denied", 3, 10), request(5, 20, "stop"))
    assert (called(run), doubts(run)) == (["(delete_account)"], [])


def test_a_run_that_ends_with_a_call_of_the_applications_own_goes_on_elsewhere() -> None:
    told = {"gen_ai.output.messages": [asked(("c1", "pick_seat", {}))]}
    run = run_of(agent("tool-calls"), request(2, 1, told=told))
    assert (called(run), doubts(run)) == (["(pick_seat)"], ["other_traces"])
    assert "other_traces" in doubts(run_of(agent("tool-calls"), request(2, 1)))


def test_a_run_that_was_told_results_first_began_elsewhere() -> None:
    told = [user("a seat"), asked(("c1", "pick_seat", {})), result("c1", "12A")]
    run = run_of(agent(), request(2, 1, "stop", told={"gen_ai.input.messages": told}))
    assert doubts(run) == ["other_traces"]


def test_an_agent_whose_span_was_cut_goes_on() -> None:
    cut = agent(told={"cloudflare.agents.span.truncated": True})
    assert doubts(run_of(cut, request(2, 1), call("lookup_order", 3, 10))) == ["other_traces"]


def test_an_answer_that_was_cut_may_have_asked_for_calls() -> None:
    cut = {"cloudflare.agents.span.truncated": True}
    assert doubts(run_of(agent(), request(2, 1, None, told=cut))) == ["unrecorded_calls"]


def test_an_agent_inside_a_tool_has_a_run() -> None:
    outer, inner = runs_of(
        agent(),
        request(2, 1),
        call("ask_policy", 3, 10),
        agent(number=4, parent=3, at=11),
        request(5, 11, parent=4),
        call("lookup_policy", 6, 12, parent=4),
        request(7, 13, "stop", parent=4),
        request(8, 30, "stop"),
    )
    assert [(called(run), doubts(run)) for run in (outer, inner)] == [(["ask_policy"], []), (["lookup_policy"], [])]


def test_what_the_platform_does_for_agents_is_no_part_of_a_run() -> None:
    started = {OPERATION: "agent_initialization", "gen_ai.agent.name": "ShopAgent"}
    assert dialects.read_span(span("agent_initialization", 2, 1, attributes=started, scope=PLATFORM)) is IGNORED


def waiting(number: int, at: float, parent: int = 1) -> Span:
    told = named("delete_account", f"c{number}") | {"cloudflare.agents.tool.approval.state": "requested"}
    return written("tool_approval delete_account", "tool.approval", number, parent, at, 0.5, attributes=told)


def test_the_cost_of_calls_that_wait_is_linear() -> None:
    def work(count: int) -> int:
        asked_for = [waiting(10 + at, 20 + at) for at in range(count)]
        return operations.calls(lambda: run_of(agent("tool-calls"), request(2, 1), *asked_for))

    assert work(600) < 2.3 * work(300)


def test_the_cost_of_agents_inside_each_other_that_wait_is_linear() -> None:
    def work(depth: int) -> int:
        spans = []
        for at in range(0, 3 * depth, 3):
            told = {"cloudflare.agents.span.truncated": True}
            spans += [agent("tool-calls", at + 1, max(0, at - 2), told=told), request(at + 2, 1, parent=at + 1)]
            spans.append(waiting(at + 3, 20, parent=at + 1))
        return operations.calls(lambda: runs_of(*spans))

    assert work(1200) < 2.4 * work(600)
