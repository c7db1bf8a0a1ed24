"""The agent run that a call belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import (
    EPOCH,
    agent_span,
    called,
    doubts,
    log,
    model_span,
    run_of,
    runs_of,
    span,
    span_id,
    steps,
    tool_span,
)


def test_a_call_belongs_to_the_nearest_agent_however_far_above() -> None:
    outer, inner = runs_of(
        agent_span("travel", 1),
        span("chain", 2, 1),
        span("turn", 3, 2),
        tool_span("ask_policy", number=4, parent=3, at=1, lasting=50),
        agent_span("policy", 5, 4, at=2, lasting=40),
        span("cycle", 6, 5),
        tool_span("lookup", number=7, parent=6, at=3),
        tool_span("mail", number=8, parent=3, at=60),
    )
    assert (outer.agent, called(outer)) == ("travel", ["ask_policy", "mail"])
    assert (inner.agent, called(inner)) == ("policy", ["lookup"])
    assert inner.parent_span_id == outer.span_id
    assert inner.started_by == span_id(4)


def test_a_call_recorded_by_framework_client_and_server_is_one() -> None:
    run = run_of(
        agent_span(),
        tool_span("charge", {"order": 1}, 2, 1, at=1, lasting=30, call_id="c1"),
        span(
            "tools/call charge", 3, 2, 2, 25, attributes={"mcp.method.name": "tools/call", "gen_ai.tool.name": "charge"}
        ),
        span("MCP send tools/call charge", 4, 3, 3, 20, attributes={"mcp.method.name": "tools/call"}),
        span(
            "tools/call charge",
            5,
            4,
            4,
            15,
            status=2,
            attributes={"mcp.method.name": "tools/call", "error.type": "tool_error"},
        ),
    )
    (call,) = run.trajectory.calls
    assert (call.id, call.arguments, call.status, call.error_type) == ("c1", {"order": 1}, "error", "tool_error")
    assert run.call_span_ids == (span_id(2),)


def test_the_same_tool_below_another_agent_is_another_call() -> None:
    outer, inner = runs_of(
        agent_span("a", 1),
        tool_span("search", number=2, at=1, lasting=50),
        agent_span("b", 3, 2, at=2),
        tool_span("search", number=4, parent=3, at=3),
    )
    assert (called(outer), called(inner)) == (["search"], ["search"])


def test_another_tool_inside_a_tool_is_a_later_call_of_the_run() -> None:
    run = run_of(
        agent_span(), tool_span("plan", number=2, at=1, lasting=50), tool_span("search", number=3, parent=2, at=5)
    )
    assert (called(run), steps(run)) == (["plan", "search"], [0, 1])


def test_wrappers_of_one_agent_are_one_run() -> None:
    run = run_of(
        agent_span("travel", 1),
        span("invoke_agent", 2, 1, attributes={"gen_ai.operation.name": "invoke_agent"}),
        agent_span("travel", 3, 2, attributes={"gen_ai.conversation.id": "conv"}),
        tool_span("search", number=4, parent=3, at=1),
    )
    assert (run.span_id, run.conversation_id, called(run)) == (span_id(1), "conv", ["search"])


def test_an_agent_that_only_contains_agents_is_a_workflow() -> None:
    first, second = runs_of(
        agent_span("workflow", 1),
        agent_span("triage", 2, 1, at=1, lasting=10),
        tool_span("look", number=3, parent=2, at=2),
        agent_span("refund", 4, 1, at=20),
        tool_span("pay", number=5, parent=4, at=21),
    )
    assert (first.agent, second.agent) == ("triage", "refund")
    assert first.parent_span_id is None


def test_the_span_of_a_handoff_is_not_a_run() -> None:
    runs = runs_of(
        agent_span("triage", 1, lasting=100),
        model_span(number=2, parent=1, at=1),
        agent_span("refund", 3, 1, at=20, lasting=0.5),
        agent_span("refund", 4, 0, at=22, lasting=50),
        tool_span("pay", number=5, parent=4, at=30),
    )
    assert [run.agent for run in runs] == ["triage", "refund"]
    assert [called(run) for run in runs] == [[], ["pay"]]


def test_without_an_agent_the_root_is_the_run() -> None:
    run = run_of(
        span("POST /chat", 1, kind=2, lasting=100, attributes={"http.route": "/chat"}),
        span("handler", 2, 1),
        tool_span("search", number=3, parent=2, at=5),
    )
    assert (run.span_id, run.agent, run.route, doubts(run), called(run)) == (
        span_id(1),
        None,
        "/chat",
        [],
        ["search"],
    )


def test_without_agent_and_root_the_earliest_span_is_the_run() -> None:
    run = run_of(tool_span("b", number=3, parent=9, at=5), tool_span("a", number=2, parent=9, at=1))
    assert (run.span_id, called(run)) == (span_id(2), ["a", "b"])
    assert doubts(run) == ["missing_anchor", "unknown_route"]


def test_calls_without_an_agent_beside_agents_are_a_run_of_their_own() -> None:
    agent, rest = runs_of(
        span("POST", 1, lasting=100),
        agent_span("a", 2, 1, at=1, lasting=20),
        tool_span("inside", number=3, parent=2, at=2),
        tool_span("outside", number=4, parent=1, at=50),
        model_span(number=5, parent=1, at=60),
    )
    assert (called(agent), called(rest), rest.span_id) == (["inside"], ["outside"], span_id(1))


def test_a_model_request_beside_agents_is_not_a_run() -> None:
    assert len(runs_of(span("POST", 1), agent_span("a", 2, 1), model_span(number=3, parent=1))) == 1


def test_a_trace_without_agents_tools_and_models_has_no_runs() -> None:
    assert runs_of(span("GET /", 1, attributes={"http.route": "/"}), span("db", 2, 1)) == []


def test_an_open_mcp_session_is_not_a_run() -> None:
    session = span("mcp.client.session", 1, attributes={"traceloop.span.kind": "session"})
    call = span("pay.tool", 2, 1, attributes={"traceloop.span.kind": "tool", "traceloop.entity.name": "pay"})
    assert runs_of(session, call) == []
    (run,) = runs_of(agent_span("a", 3), span("s", 1, 3, attributes={"traceloop.span.kind": "session"}), call)
    assert called(run) == ["pay"]


def test_an_agent_without_calls_is_a_run_without_calls() -> None:
    assert called(run_of(agent_span(), model_span())) == []


def test_above_an_agent_a_missing_span_may_carry_the_route_and_was_no_call_of_its() -> None:
    tool = tool_span("a")
    assert doubts(run_of(agent_span(parent=9), tool)) == ["unknown_route"]
    assert doubts(run_of(agent_span(parent=9, remote=True), tool)) == ["missing_remote_parent"]
    assert doubts(run_of(agent_span(parent=9, attributes={"http.route": "/chat"}), tool)) == []


def test_log_events_are_part_of_their_model_request() -> None:
    run = run_of(
        agent_span(),
        model_span(number=3, at=1, lasting=10),
        log(
            "gen_ai.choice",
            3,
            {"message": {"tool_calls": [{"id": "c1", "function": {"name": "pay", "arguments": "{}"}}]}},
        ),
        log("gen_ai.user.message", 3, {"content": "hi"}),
        log("gen_ai.choice", 77, {"message": {"content": "of another trace's span"}}),
    )
    assert (called(run), run.user_input) == (["pay"], "hi")


def test_log_events_of_another_span_are_model_requests_themselves() -> None:
    choice = {"message": {"tool_calls": [{"id": "c1", "function": {"name": "pay", "arguments": "{}"}}]}}
    run = run_of(agent_span(), log("gen_ai.choice", 1, choice, at=5), log("gen_ai.choice", 1, choice, at=5))
    assert called(run) == ["pay"]
    assert run.trajectory.calls[0].start_ns == EPOCH + 5_000_000


def test_idle_agents_beside_a_busy_one_of_the_same_name_are_runs() -> None:
    runs = runs_of(
        span("POST", 9, lasting=600),
        *(agent_span("worker", number, 9, at=10, lasting=500) for number in (1, 2, 3, 4)),
        tool_span("a", {}, 5, 1, at=20),
        tool_span("a", {}, 6, 2, at=20),
    )
    assert sorted(called(run) for run in runs) == [[], [], ["a"], ["a"]]


def test_an_agent_that_calls_itself_is_several_runs() -> None:
    runs = runs_of(
        agent_span("research", 1),
        tool_span("a", {}, 2, 1, at=5),
        agent_span("research", 3, 1, at=100, lasting=400),
        tool_span("b", {}, 4, 3, at=120),
        agent_span("research", 5, 1, at=100, lasting=400),
        tool_span("c", {}, 6, 5, at=120),
    )
    assert [called(run) for run in runs] == [["a"], ["b"], ["c"]]
    assert [run.parent_span_id for run in runs] == [None, span_id(1), span_id(1)]


def test_an_unnamed_agent_inside_one_that_calls_tools_itself_is_a_run() -> None:
    unnamed = span("invoke_agent", 3, 1, 100, 300, attributes={"gen_ai.operation.name": "invoke_agent"})
    main, inner = runs_of(
        agent_span("main", 1), tool_span("a", {}, 2, 1, at=10), unnamed, tool_span("b", {}, 4, 3, at=150)
    )
    assert (main.agent, called(main), called(inner)) == ("main", ["a"], ["b"])


def test_a_step_that_its_framework_calls_an_agent_is_no_run() -> None:
    run = run_of(agent_span("bot", 1), agent_span("bot", 2, 1, at=1, lasting=1), tool_span("a", {}, 3, 1, at=5))
    assert called(run) == ["a"]


def test_many_spans_of_one_agent_inside_one_another_are_one_run() -> None:
    chain = [agent_span("bot", number, number - 1) for number in range(1, 2001)]
    run = run_of(*chain, tool_span("a", {}, 3000, 2000, at=5))
    assert (run.span_id, called(run)) == (span_id(1), ["a"])


def test_a_model_request_beside_an_agent_that_only_talks_of_tools_is_no_run() -> None:
    output = '[{"role": "assistant", "parts": [{"type": "text", "content": "A title for tool use"}]}]'
    title = model_span(number=3, parent=9, at=60, attributes={"gen_ai.output.messages": output})
    assert len(runs_of(span("POST", 9), agent_span("a", 1, 9), tool_span("x", {}, 2, 1), title)) == 1


def test_calls_outside_the_agent_that_requested_them_are_its_calls() -> None:
    run = run_of(
        span("POST", 9, lasting=1100),
        agent_span("bot", 1, 9),
        model_span([("c1", "a", {})], 2, at=10, lasting=50),
        tool_span("a", {}, 3, 9, at=100, call_id="c1"),
        model_span(number=4, at=200),
    )
    assert (run.agent, called(run), run.trajectory.doubts) == ("bot", ["a"], [])


def test_calls_below_several_missing_spans_may_be_of_several_runs() -> None:
    run = run_of(span("POST", 9, lasting=1100), tool_span("a", {}, 2, 7, at=100), tool_span("b", {}, 3, 8, at=100.5))
    assert called(run) == ["a", "b"]
    assert sorted((doubt.name, doubt.calls) for doubt in run.trajectory.doubts if doubt.calls[:1]) == [
        ("uncertain_owner", (0,)),
        ("uncertain_owner", (1,)),
    ]


def test_calls_that_only_messages_tell_of_below_a_missing_span_are_in_doubt() -> None:
    run = run_of(
        agent_span("bot", 1),
        tool_span("a", {}, 2, 1, at=10),
        model_span([("c2", "b", {})], 3, 7, at=100),
        model_span(number=4, parent=7, at=200),
    )
    assert [doubt.name for doubt in run.trajectory.doubts if doubt.calls] == ["uncertain_owner", "unobserved_results"]


def turn(number: int, at: float) -> Span:
    return span("invoke_agent", number, 1, at, 50, attributes={"gen_ai.operation.name": "invoke_agent"})


def test_unnamed_agents_one_after_the_other_are_turns_of_the_one_around_them() -> None:
    run = run_of(
        agent_span("bot", 1),
        turn(2, 10),
        tool_span("a", {}, 3, 2, at=20),
        turn(4, 60),
        tool_span("b", {}, 5, 4, at=70),
    )
    assert (run.agent, called(run)) == ("bot", ["a", "b"])


def test_unnamed_agents_at_once_are_runs() -> None:
    runs = runs_of(
        agent_span("bot", 1),
        turn(2, 10),
        tool_span("a", {}, 3, 2, at=20),
        turn(4, 30),
        tool_span("b", {}, 5, 4, at=70),
    )
    assert [called(run) for run in runs] == [["a"], ["b"]]


def test_a_tool_that_is_the_root_of_its_trace_is_not_all_of_a_run() -> None:
    assert doubts(run_of(tool_span("a", {}, 1, 0))) == ["missing_anchor"]


def served(number: int = 1, **more: Any) -> Span:
    """What a server of MCP recorded of a call."""
    attributes = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "pay", "gen_ai.operation.name": "execute_tool"}
    return span("tools/call pay", number, attributes=attributes, **{"kind": 2, "lasting": 20, **more})


def test_a_call_that_a_server_answers_in_a_trace_of_its_own_is_of_the_agent_of_another() -> None:
    assert runs_of(served()) == []
    assert runs_of(served(), tool_span("pay", {"n": 1}, 2, 1, at=1)) == []  # recorded inside once more


def test_what_a_server_does_to_answer_a_call_are_runs() -> None:
    assert [run.agent for run in runs_of(served(), agent_span("inner", 2, 1, at=1, lasting=10))] == ["inner"]
    assert called(run_of(served(), tool_span("charge", {}, 2, 1, at=1))) == ["pay", "charge"]
    assert called(run_of(served(), model_span([("c1", "charge", {})], 2, 1, at=1))) == ["pay", "charge"]


@pytest.mark.parametrize("more", [{"kind": 3}, {"parent": 9, "remote": True}])
def test_a_client_and_a_server_that_is_told_its_caller_show_a_call(more: dict[str, Any]) -> None:
    assert called(run_of(served(**more))) == ["pay"]


def test_where_only_their_names_said_that_spans_are_agents_and_none_did_anything_a_run_is_in_doubt() -> None:
    """Each may have made the call, which was made elsewhere."""
    elsewhere = [span("agent run", 1, 3, remote=True), span("execute_tool f", 2, 5, remote=True)]
    assert [doubts(run) for run in runs_of(*elsewhere, span("agent run", 4))] == [["nothing_recorded"]]
