"""rig's spans of calls, which have no status: what came of a call is in attributes of its own."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, read_tool, result, run_of, runs_of, span, tool_span

RIG = {"target": "rig_agent::agent::telemetry"}
PARSED = "failed to parse tool arguments: missing field `price` at line 1 column 81"


def tool(outcome: str, error: str | None = None, result: str | None = None, arguments: str | None = "{}") -> Span:
    found = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.name": "book_flight",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.outcome": outcome,
        "gen_ai.tool.error.type": error,
        "gen_ai.tool.call.result": result,
    }
    attributes: dict[str, Any] = {key: value for key, value in found.items() if value is not None}
    return span("execute_tool", 2, 1, attributes=attributes)


@pytest.mark.parametrize(("arguments", "result"), [("{}", "done"), (None, None)], ids=["content", "no content"])
def test_a_call_that_succeeded(arguments: str | None, result: str | None) -> None:
    call = tool("success", result=result, arguments=arguments)
    assert read_tool(call) == ("book_flight", "c1", {} if arguments else None, "ok")


@pytest.mark.parametrize("result", ["card declined: try again", None], ids=["content", "no content"])
def test_a_call_that_failed(result: str | None) -> None:
    run = run_of(agent_span(), tool("error", "provider", result))
    (call,) = run.trajectory.calls
    assert (call.executed, call.status, call.error_type, doubts(run)) == (True, "error", "provider", [])


@pytest.mark.parametrize("outcome", ["skipped", "denied"])
def test_a_call_that_a_hook_stopped_did_not_run(outcome: str) -> None:
    run = run_of(agent_span(), tool(outcome, result="a human must do this"))
    assert (called(run), doubts(run)) == (["(book_flight)"], [])


@pytest.mark.parametrize("told", [PARSED, "failed to parse agent tool arguments: missing field `prompt`"])
def test_arguments_that_rig_could_not_parse(told: str) -> None:
    run = run_of(agent_span(), tool("error", "invalid_args", told))
    assert (called(run), doubts(run)) == (["(book_flight)"], [])


@pytest.mark.parametrize("error", ["invalid_args", "not_found", "permission_denied", "cancelled"])
def test_without_words_the_type_of_an_error_may_be_rigs_or_the_tools(error: str) -> None:
    assert doubts(run_of(agent_span(), tool("error", error))) == ["uncertain_execution"]


@pytest.mark.parametrize(
    "told",
    [
        'The arguments for tool `pay` are not a JSON object: {"order": "Par. Call the tool again with a JSON object',
        "Tool not executed because another tool call in the same assistant turn was invalid.",
    ],
)
def test_arguments_that_are_no_json_leave_a_span_without_attributes(told: str) -> None:
    """rig repairs what it can of them for its record."""
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", {"order": "Par"})], 3, at=1, lasting=5),
        span("execute_tool", 2, 1, at=10, attributes={"gen_ai.operation.name": "execute_tool"}),
        model_span(number=4, at=30, input_messages=[{"role": "assistant"}, result("c1", told)]),
    )
    assert (called(run), doubts(run)) == (["(pay)"], [])


@pytest.mark.parametrize("arguments", [{"order": 7}, None], ids=["content", "no content"])
def test_whether_a_call_ran_that_ended_with_its_run_is_open(arguments: dict[str, int] | None) -> None:
    """A time limit drops the run, a panic ends it, or a hook does, in place of the call: none leaves an outcome."""
    cancelled = tool_span(
        "pay", arguments, 2, 1, call_id="c1", at=10, attributes={"gen_ai.tool.type": "function", **RIG}
    )
    run = run_of(agent_span(), model_span([("c1", "pay", {"order": 7})], 3, at=1, lasting=5), cancelled)
    assert (called(run), doubts(run)) == (["pay"], ["uncertain_execution", "unobserved_results"])


def asking(agent: str | None, name: str, number: int, parent: int, at: float, call_id: str = "") -> Span:
    """A request of an agent that asks for a tool."""
    attributes = {} if agent is None else {"gen_ai.agent.name": agent}
    return model_span([(call_id or name, name, {})], number, parent, at=at, lasting=5, attributes=attributes)


def answering(agent: str | None, number: int, parent: int, at: float) -> Span:
    attributes = {"gen_ai.output.messages": '[{"role": "assistant"}]'}
    attributes |= {} if agent is None else {"gen_ai.agent.name": agent}
    return model_span([], number, parent, at=at, lasting=5, attributes=attributes)


def running(name: str, number: int, parent: int, at: float, lasting: float = 5) -> Span:
    done = {"gen_ai.tool.call.outcome": "success"}
    return tool_span(name, {}, number, parent, call_id=name, at=at, lasting=lasting, attributes=done)


def test_an_agent_inside_a_tool_has_a_run_though_it_has_no_span() -> None:
    """rig opens one only where no span is around the agent; each request names the agent that made it."""
    outer, middle, inner = runs_of(
        agent_span("planner"),
        asking("planner", "research", 2, 1, at=1),
        running("research", 3, 1, at=10, lasting=200),
        asking("searcher", "browse", 4, 3, at=20),
        running("browse", 5, 3, at=30, lasting=50),
        asking("browser", "fetch", 6, 5, at=40),
        running("fetch", 7, 5, at=50),
        answering("browser", 8, 5, at=60),
        answering("searcher", 9, 3, at=100),
        answering("planner", 10, 1, at=300),
    )
    assert [(run.agent, called(run), doubts(run)) for run in (outer, middle, inner)] == [
        ("planner", ["research"], []),
        ("searcher", ["browse"], []),
        ("browser", ["fetch"], []),
    ]
    assert (middle.parent_span_id, inner.parent_span_id) == (outer.span_id, middle.span_id)


@pytest.mark.parametrize("agents", [("planner", "planner"), (None, None), ("searcher", None), ("searcher", "writer")])
def test_whose_calls_they_are_stays_open_where_the_requests_in_a_tool_do_not_name_one_other_agent(
    agents: tuple[str | None, str | None],
) -> None:
    run = run_of(
        agent_span("planner"),
        asking("planner", "research", 2, 1, at=1),
        running("research", 3, 1, at=10, lasting=100),
        asking(agents[0], "browse", 4, 3, at=20),
        running("browse", 5, 3, at=30),
        answering(agents[1], 6, 3, at=40),
        answering("planner", 7, 1, at=200),
    )
    assert (called(run), doubts(run)) == (["research", "browse"], ["uncertain_owner"])


def test_a_call_that_another_tracer_saw_in_the_tool_may_be_the_tools_own() -> None:
    run = run_of(
        agent_span("planner"),
        asking("planner", "research", 2, 1, at=1),
        running("research", 3, 1, at=10, lasting=100),
        asking("searcher", "browse", 4, 3, at=20),
        tool_span("browse", {}, 5, 3, call_id="browse", at=30),
        answering("searcher", 6, 3, at=40),
        answering("planner", 7, 1, at=200),
    )
    assert (called(run), doubts(run)) == (["research", "browse"], ["uncertain_owner"])
