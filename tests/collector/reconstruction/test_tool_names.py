"""One tool under several names: as the model asked for it, as its span names it, and as the server of an MCP tool does."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, run_of, span, tool_span


def mcp_span(name: str, number: int, at: float, **more: Any) -> Span:
    attributes = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    return span(f"tools/call {name}", number, 1, at, attributes=attributes, scope="mcp", **more)


def test_a_call_that_only_its_mcp_client_records_has_the_name_that_the_model_asked_for() -> None:
    run = run_of(agent_span(), model_span([("c1", "mcp__github__search", {"q": 1})], at=0), mcp_span("search", 3, 20))
    assert (called(run), run.trajectory.calls[0].id) == (["mcp__github__search"], "c1")


def test_a_tool_of_another_server_is_another_tool() -> None:
    request = model_span([("c1", "mcp__github__research", {})], 2, at=0)
    run = run_of(agent_span(), request, mcp_span("search", 3, 20))
    assert sorted(call.name for call in run.trajectory.calls) == ["mcp__github__research", "search"]


def test_a_suffix_is_no_name_of_a_tool_without_a_server() -> None:
    run = run_of(agent_span(), model_span([("c1", "web_search", {})], 2, at=0), tool_span("search", {}, 3, at=20))
    assert sorted(call.name for call in run.trajectory.calls) == ["search", "web_search"]


@pytest.mark.parametrize("call_id", ["c1", ""])
def test_a_display_name_is_the_name_that_a_provider_accepts_instead(call_id: str) -> None:
    spans = [
        model_span([("c1", "Web_Search", {"q": 1})], 2, at=0),
        tool_span("Web Search", {"q": 1}, 3, at=20, call_id=call_id),
    ]
    assert called(run_of(agent_span(), *spans)) == ["Web_Search"]


@pytest.mark.parametrize(("shown", "asked"), [("Ask a coworker", "ask_a_coworker"), ("bookFlight", "book_flight")])
def test_a_name_in_other_words_is_the_one_that_the_model_was_offered(shown: str, asked: str) -> None:
    """CrewAI 1.x makes such names for models; its spans have the tool's own."""
    request = model_span([("c1", asked, {"q": 1})], 2, at=0)
    assert called(run_of(agent_span(), request, tool_span(shown, {"q": 1}, 3, at=20))) == [asked]
    two = (tool_span(shown, {"q": 1}, 3, at=20), tool_span(asked, {"q": 1}, 4, at=40))
    assert called(run_of(agent_span(), request, *two)) == [shown, asked]


def test_calls_of_like_names_that_disagree_in_everything_else_are_two() -> None:
    tool = tool_span("Web Search", {"q": 2}, 3, at=5, call_id="c2")
    run = run_of(agent_span(), model_span([("c1", "Web_Search", {"q": 1})], 2, at=20), tool)
    assert sorted(call.name for call in run.trajectory.calls) == ["Web Search", "Web_Search"]


def test_white_space_around_a_name_is_none_of_it() -> None:
    run = run_of(agent_span(), model_span([("c1", "search ", {})], 2, at=0), tool_span(" search", {}, 3, at=20))
    assert called(run) == ["search"]


def test_of_two_records_that_may_be_one_call_that_of_the_mcp_library_is_in_doubt() -> None:
    framework = tool_span("mcp__github__search", {}, 3, at=200, lasting=20)
    run = run_of(agent_span(), mcp_span("search", 2, 20), framework)
    assert [(d.name, [run.trajectory.calls[at].name for at in d.calls]) for d in run.trajectory.doubts] == [
        ("uncertain_duplicate", ["search"])
    ]


def transcript(*calls: tuple[str, str]) -> dict[str, str]:
    place = "llm.output_messages.{}.message.tool_calls.0.tool_call.{}"
    found = {"openinference.span.kind": "AGENT", "agent.name": "bot"}
    for number, (call_id, name) in enumerate(calls):
        found[place.format(number, "id")] = call_id
        found[place.format(number, "function.name")] = name
        found[place.format(number, "function.arguments")] = "{}"
    return found


def test_a_call_that_only_the_agents_own_span_requests_is_in_doubt() -> None:
    agent = span("bot", 1, attributes=transcript(("c1", "find"), ("c2", "pay")), lasting=1000)
    run = run_of(agent, tool_span("find", {}, 2, at=20, call_id="c1"))
    assert sorted(called(run)) == ["find", "pay"]
    assert "uncertain_execution" in doubts(run)


def test_calls_that_spans_show_are_ordered_by_them_not_by_the_agents_own_span() -> None:
    agent = span("bot", 1, attributes=transcript(("c1", "find"), ("c2", "pay")), lasting=1000)
    run = run_of(agent, tool_span("find", {}, 2, at=20, call_id="c1"), tool_span("pay", {}, 3, at=60, call_id="c2"))
    assert [(call.name, call.step) for call in run.trajectory.calls] == [("find", 0), ("pay", 1)]
    assert doubts(run) == []


def test_a_title_is_no_name_where_the_model_asked_for_the_call_by_its_id() -> None:
    request = model_span([("c1", "read", {"path": "a.py"})], 2, at=0)
    run = run_of(agent_span(), request, tool_span("Read a.py", {"path": "./a.py"}, 3, at=20, call_id="c1"))
    assert (called(run), doubts(run)) == (["read"], [])


@pytest.mark.parametrize(("arguments", "expected"), [({"q": 1}, ["search"]), ({"q": 2}, ["acme.search", "search"])])
def test_a_tracers_prefix_is_no_part_of_a_name_where_the_arguments_agree(arguments: Any, expected: list[str]) -> None:
    request = model_span([("c1", "search", {"q": 1})], 2, at=0)
    run = run_of(agent_span(), request, tool_span("acme.search", arguments, 3, at=20, call_id=""))
    assert sorted(call.name for call in run.trajectory.calls) == expected


@pytest.mark.parametrize(
    ("call_id", "arguments", "expected"),
    [
        ("c1", {"n": 1}, ["pay"]),
        ("c1", {"n": 2}, ["(pay)", "Shop-pay"]),
        ("c2", {"n": 1}, ["(pay)", "Shop-pay"]),
    ],
)
def test_a_prefix_that_the_model_leaves_out_is_one_where_id_and_arguments_agree(
    call_id: str, arguments: Any, expected: list[str]
) -> None:
    run = run_of(
        agent_span(), model_span([("c1", "pay", {"n": 1})], 3), tool_span("Shop-pay", arguments, call_id=call_id, at=20)
    )
    assert called(run) == expected


@pytest.mark.parametrize(
    ("name", "call_id", "expected"),
    [
        ("PayAction", "c1", ["pay"]),
        ("PayAction", "c2", ["PayAction", "pay"]),
        ("check_limits", "c1", ["check_limits", "pay"]),  # a step beside the call has its id, too
    ],
)
def test_a_span_with_the_name_of_an_action_is_the_call_of_its_id(name: str, call_id: str, expected: list[str]) -> None:
    """OpenHands under Laminar: the class of the action, of which the input is an object."""
    attributes = {
        "lmnr.span.type": "TOOL",
        "lmnr.association.properties.metadata.tool_call_id": call_id,
        "lmnr.span.input": '{"action": {"n": 1, "kind": "PayAction"}}',
        "lmnr.span.output": '{"content": [{"type": "text", "text": "paid"}]}',
    }
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", {"n": 1})], 2, at=1),
        span(name, 3, 1, 20, attributes=attributes),
        model_span((), 4, at=40),
    )
    assert sorted(call.name for call in run.trajectory.calls) == expected
    if expected == ["pay"]:
        assert run.trajectory.calls[0].arguments == {"n": 1}
