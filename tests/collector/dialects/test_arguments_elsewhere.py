"""Arguments under names that the span's own dialect does not know: read where the words tell, in doubt where they may be."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import agent_span, other_doubts, run_of, span

PAY = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
MCP = {"mcp.method.name": "tools/call", "mcp.tool.name": "pay"}


Event = tuple[str, dict[str, Any]]


def of_call(attributes: dict[str, Any], *events: Event, name: str = "execute_tool pay") -> tuple[Any, list[str]]:
    run = run_of(agent_span(), span(name, 2, 1, attributes=attributes, events=list(events)))
    (call,) = run.trajectory.calls
    assert call.name == "pay"
    return call.arguments, other_doubts(run)


def event(name: str, **attributes: Any) -> Event:
    return name, {key.replace("__", "."): value for key, value in attributes.items()}


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({**MCP, "mcp.request.argument.to": '"Ada"', "mcp.request.argument.sum": "5"}, {"to": "Ada", "sum": 5}),
        ({**MCP, "mcp.request.argument.to": "Ada", "mcp.request.argument.sum": 5}, {"to": "Ada", "sum": 5}),
        ({**MCP, "mcp.request.argument.of": '["a"]', "mcp.request.argument.to": "null"}, None),
        ({**PAY, "acme.tool.param.to": "Ada"}, {"to": "Ada"}),
        ({"span.type": "tool", "tool.name": "pay", "tool.param.sum": 5}, {"sum": 5}),
        ({**PAY, "gen_ai.tool.input": '{"name": "pay", "description": "", "parameters": {"sum": 5}}'}, {"sum": 5}),
    ],
)
def test_what_names_each_argument_is_read(attributes: dict[str, Any], expected: Any) -> None:
    assert of_call(attributes) == (expected, [] if expected else ["unreadable_arguments"])


@pytest.mark.parametrize("key", ["acme.payload", "tool.request", "x.body", "acme.tool.call"])
@pytest.mark.parametrize("value", ['{"sum": 5}', {"sum": 5}])
@pytest.mark.parametrize(
    "kind",
    [PAY, MCP, {"langfuse.observation.type": "tool", "tool.name": "pay"}, {"span.type": "tool", "tool.name": "pay"}],
)
def test_an_object_under_any_name_may_be_the_arguments(kind: dict[str, str], key: str, value: Any) -> None:
    assert of_call({**kind, key: value}) == (None, ["unreadable_arguments"])


@pytest.mark.parametrize(
    "attributes",
    [
        {**PAY, "tool.args.sum": 5},
        {**PAY, "tool.arguments": "[5]"},
        {"tool.name": "pay", "openinference.span.kind": "TOOL", "input.value": "[5]"},
        {"span.type": "tool", "tool.name": "pay", "tool.input": '["Ada", 5]'},
    ],
)
def test_arguments_without_their_names_are_unreadable(attributes: dict[str, Any]) -> None:
    assert of_call(attributes) == (None, ["unreadable_arguments"])


@pytest.mark.parametrize(
    "attributes",
    [
        {"acme.metadata": '{"run": 1}', "tool.response": '{"ok": true}', "tool.definition": '{"name": "pay"}'},
        {"tool.argument_count": 3, "tool.argument_keys": "to,sum", "tool.args.keys": "to,sum", "tool.args.count": 2},
        {"tool.params_hash": "8f2a", "acme.payload": "{}", "acme.mode": "fast"},
    ],
)
def test_what_is_about_a_call_is_no_input_of_it(attributes: dict[str, Any]) -> None:
    assert of_call({**PAY, **attributes}) == (None, [])


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        (event("gen_ai.tool.input", gen_ai__tool__input='{"sum": 5}'), ({"sum": 5}, [])),
        (event("tool.input", sum=5), (None, ["unreadable_arguments"])),
        (event("request", body='{"sum": 5}'), (None, ["unreadable_arguments"])),
        (event("tool.output", body='{"sum": 5}'), (None, [])),
        (event("exception", body='{"sum": 5}'), (None, [])),
    ],
)
def test_an_event_may_hold_them(recorded: Event, expected: Any) -> None:
    assert of_call(PAY, recorded) == expected


def test_a_request_of_the_model_tells_what_the_span_leaves_open() -> None:
    output = '{"tool_calls": [{"id": "c1", "function": {"name": "pay", "arguments": "{\\"sum\\": 5}"}}]}'
    chat: Span = span("chat", 2, 1, attributes={"gen_ai.operation.name": "chat", "gen_ai.output.messages": output})
    run = run_of(agent_span(), chat, span("execute_tool pay", 3, 1, 20, attributes={**PAY, "x.payload": '{"a": 1}'}))
    assert ([call.arguments for call in run.trajectory.calls], other_doubts(run)) == ([{"sum": 5}], [])


def test_the_name_and_the_id_may_be_elsewhere_too() -> None:
    """A loop that follows the conventions but for their keys."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool": "pay",
        "gen_ai.tool.input": '{"sum": 5}',
        "gen_ai.tool_call_id": "c1",
    }
    (call,) = run_of(agent_span(), span("execute_tool", 3, 1, 20, attributes=attributes)).trajectory.calls
    assert (call.name, call.id, call.arguments) == ("pay", "c1", {"sum": 5})


def adk_call(arguments: str, result: str) -> Any:
    """Returns the call of a span of @iqai/adk 0.9, which has the conventions' names but for arguments and result."""
    attributes = {**PAY, "adk.tool_call_args": arguments, "adk.tool_response": result, "adk.llm_request": "{}"}
    run = run_of(agent_span(), span("execute_tool pay", 2, 1, attributes=attributes, scope="iqai-adk", status=1))
    (call,) = run.trajectory.calls
    return call


@pytest.mark.parametrize(
    ("result", "status", "executed"),
    [
        (r'"{\"result\":\"paid\"}"', "ok", True),
        (r'"{\"error\":\"Error executing pay: card declined\"}"', "error", True),
        ({"error": "card declined"}, "error", True),
        (r'"{\"result\":\"Error: what the tool says\"}"', "ok", True),
        (
            r'"{\"error\":\"Invalid arguments for pay: [\\n {\\n \\\"code\\\": \\\"invalid_type\\\" }]\"}"',
            "error",
            False,
        ),
    ],
)
def test_a_result_beside_the_arguments_tells_what_came_of_the_call(result: Any, status: str, executed: bool) -> None:
    call = adk_call('{"sum": 5}', result)
    assert (call.arguments, call.status, call.executed) == ({"sum": 5}, status, executed)


@pytest.mark.parametrize(("result", "expected"), [('"paid"', {}), ("{}", None), ("", None)])
def test_an_empty_object_is_no_arguments_where_a_result_was_recorded(result: str, expected: Any) -> None:
    assert adk_call("{}", result).arguments == expected
