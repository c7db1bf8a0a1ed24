"""The spans of Anthropic's own client (@anthropic-ai/sdk 1.14): of requests, of its tool runner, and of the calls of that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span

SCOPE = "com.anthropic.sdk.typescript"
PAY = {"type": "tool_call", "id": "toolu_100000000000000000", "name": "pay", "arguments": {"n": 1}}
MAIL = {"type": "tool_call", "id": "toolu_200000000000000000", "name": "mail", "arguments": {"n": 2}}
SEARCH = {"type": "tool_call", "id": "srvtoolu_100000000000000", "name": "web_search", "arguments": {"query": "x"}}
ECHO = {
    "type": "tool_call", "id": "mcptoolu_100000000000000", "name": "echo", "arguments": {"a": 1},
    "anthropic_mcp_server_name": "s",
}  # fmt: skip
DONE = {"type": "text", "content": "done"}


def runner(status: int, number: int = 1, parent: int = 0, at: float = 0, lasting: float = 100) -> Span:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "anthropic"}
    name = "anthropic.messages.tool_runner"
    return span(name, number, parent, at, lasting, attributes=attributes, scope=SCOPE, status=status)


def request(number: int, at: float, reason: str, *parts: Any, given: Any = None, parent: int = 1) -> Span:
    """A request, with content if the answer has ``parts``."""
    attributes = {
        "gen_ai.provider.name": "anthropic",
        "gen_ai.operation.name": "chat",
        "http.route": "/v1/messages",
        "gen_ai.response.id": f"msg_{number}",
        "anthropic.message.stop_reason": reason,
    }
    if parts:
        messages = given or [{"role": "user", "parts": [{"type": "text", "text": "go"}]}]
        attributes["gen_ai.input.messages"] = json.dumps(messages)
        attributes["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": parts}])
    return span(
        "anthropic.messages.create", number, parent, at, 5, attributes=attributes, scope=SCOPE, kind=3, status=1
    )


def call(number: int, at: float, asked: dict[str, Any], *, has_content: bool, parent: int = 1, status: int = 1) -> Span:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.tool.name": asked["name"],
        "gen_ai.tool.call.id": asked["id"],
        "gen_ai.tool.type": "function",
    }
    if has_content:
        attributes["gen_ai.tool.call.arguments"] = json.dumps(asked["arguments"])
        attributes["anthropic.tool_result.content"] = '[{"type":"text","text":"ok 1"}]'
    name = f"anthropic.custom_tool_use {asked['name']}"
    return span(name, number, parent, at, 2, attributes=attributes, scope=SCOPE, status=status)


def told(asked: dict[str, Any], words: str) -> dict[str, Any]:
    response = [{"type": "text", "text": words}]
    return {"role": "user", "parts": [{"type": "tool_call_response", "id": asked["id"], "response": response}]}


def answered(asked: dict[str, Any], response: list[dict[str, str]]) -> list[dict[str, Any]]:
    """What an answer holds of a call that the provider ran."""
    return [DONE, asked, {"type": "tool_call_response", "id": asked["id"], "response": response}]


def test_a_run_with_content() -> None:
    first = request(2, 1, "tool_use", PAY)
    last = request(4, 20, "end_turn", DONE, given=[told(PAY, "ok 1")])
    run = run_of(runner(1), first, call(3, 10, PAY, has_content=True), last)
    assert (called(run), run.trajectory.calls[0].arguments, doubts(run)) == (["pay"], {"n": 1}, [])


@pytest.mark.parametrize(
    ("words", "expected"),
    [(None, ("unset", ["other_traces", "unobserved_results"])), ("Error: context canceled", ("error", []))],
)
def test_a_call_without_a_status_was_cancelled(words: str | None, expected: tuple[str, list[str]]) -> None:
    """Also without content. As the SDK for Go writes it (2.15): the request that is told of it is cancelled as well."""
    first = request(2, 1, "tool_use", PAY) if words else request(2, 1, "tool_use")
    after = [request(4, 20, "", DONE, given=[told(PAY, words)])] if words else []
    run = run_of(runner(0), first, call(3, 10, PAY, has_content=False, status=0), *after)
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == (["pay"], *expected)


def test_messages_have_no_place_for_the_flag_of_a_failure() -> None:
    """In a loop of the application's own no span tells either."""
    asked = {"role": "assistant", "parts": [PAY]}
    first = request(2, 1, "tool_use", PAY)
    last = request(3, 20, "end_turn", DONE, given=[asked, told(PAY, "card declined")])
    run = run_of(span("POST /chat", 1, lasting=100), first, last)
    assert (called(run), doubts(run)) == (["pay"], ["unobserved_results"])


@pytest.mark.parametrize(
    ("features", "parts", "expected"),
    [
        (["mcp-client-2025-11-20", "message-threads-2026-08-12"], [], ["unrecorded_calls"]),
        (["message-threads-2026-08-12"], [], []),
        (["mcp-client-2025-11-20"], [DONE], []),
    ],
)
def test_without_content_what_the_provider_ran_is_hidden_where_its_tools_are_asked_for(
    features: list[str], parts: list[Any], expected: list[str]
) -> None:
    """As the SDK for Go (2.15) tells which features were: those of MCP servers, of containers."""
    only = request(2, 1, "end_turn", *parts)
    only.attributes["anthropic.beta"] = features
    run = run_of(runner(1), only)
    assert (called(run), doubts(run)) == ([], expected)


ERROR = [{"type": "web_search_tool_result_error", "error_code": "unavailable"}]
BEYOND_LIMIT = [{"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}]


@pytest.mark.parametrize(
    ("asked", "response", "expected"),
    [
        (SEARCH, [], (["web_search"], "ok", [])),
        (SEARCH, ERROR, (["web_search"], "error", [])),
        (SEARCH, BEYOND_LIMIT, (["(web_search)"], "unset", [])),
        (ECHO, [{"type": "text", "text": "no such city"}], (["echo"], "unset", ["unobserved_results"])),
    ],
)
def test_whether_a_call_failed_that_the_provider_ran(
    asked: dict[str, Any], response: list[dict[str, str]], expected: tuple[list[str], str, list[str]]
) -> None:
    """The type of an error tells so, and of a server of MCP nothing."""
    run = run_of(runner(1), request(2, 1, "end_turn", *answered(asked, response)))
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == expected


@pytest.mark.parametrize(("asked", "expected"), [(SEARCH, ["unrecorded_calls"]), (DONE, [])])
def test_an_answer_that_was_cut_may_lack_what_the_provider_ran(asked: dict[str, Any], expected: list[str]) -> None:
    """`OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`: a text alone is no call, whatever its end is."""
    answer = request(2, 1, "end_turn", asked, {"type": "text", "content": "The tool says: " + "rain " * 40})
    answer.attributes["gen_ai.output.messages"] = answer.attributes["gen_ai.output.messages"][:200]
    assert doubts(run_of(runner(1), answer)) == expected


@pytest.mark.parametrize(
    ("status", "expected"), [(0, ["other_traces", "uncertain_execution", "unobserved_results"]), (1, [])]
)
def test_a_loop_that_was_left_when_a_call_was_held_may_go_on_elsewhere(status: int, expected: list[str]) -> None:
    """It has no status then. The application held the call of `pay`, and `mail` ran. A runner that ends well is told of all."""
    first = request(2, 1, "tool_use", PAY, MAIL)
    after = [request(4, 20, "end_turn", DONE, given=[told(PAY, "Error: Tool 'pay' not found")])] * status
    run = run_of(runner(status), first, call(3, 10, MAIL, has_content=True), *after)
    assert ("mail" in called(run), doubts(run)) == (True, expected)


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [(0, "tool_use", ["other_traces"]), (1, "tool_use", []), (0, "end_turn", [])],
)
def test_without_content_a_call_may_be_held_beside_those_that_ran(
    status: int, reason: str, expected: list[str]
) -> None:
    """A runner that ends well has run what it could, also where it may ask no more (`max_iterations`)."""
    run = run_of(runner(status), request(2, 1, reason), call(3, 10, MAIL, has_content=False))
    assert (called(run), doubts(run)) == (["mail"], expected)


def test_a_loop_inside_a_call_that_was_left_has_its_answer() -> None:
    outer = {"type": "tool_call", "id": "toolu_300000000000000000", "name": "ask", "arguments": {}}
    runs = runs_of(
        runner(1), request(2, 1, "tool_use"), call(3, 10, outer, has_content=False),
        runner(0, 4, 3, 11, 20), request(5, 11, "tool_use", parent=4), request(6, 40, "end_turn"),
    )  # fmt: skip
    assert [(called(run), "other_traces" in doubts(run)) for run in runs] == [(["ask"], False), ([], False)]


@pytest.mark.parametrize(("has_next", "expected"), [(False, True), (True, False)])
def test_a_loop_that_was_left_goes_on_in_its_trace(has_next: bool, expected: bool) -> None:
    root = span("POST /chat", 9, lasting=300)
    left = [runner(0, 1, 9), request(2, 1, "tool_use"), call(3, 10, MAIL, has_content=False)]
    after = [runner(1, 4, 9, 150), request(5, 151, "end_turn", parent=4)] * has_next
    run = runs_of(root, *left, *after)[0]
    assert (called(run), "other_traces" in doubts(run)) == (["mail"], expected)


def test_a_request_inside_that_of_openinference_has_the_same_answer() -> None:
    """Here it is the last of a run in which the provider searched: nothing else may have been searched for."""
    search = {"type": "server_tool_use", "id": SEARCH["id"], "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": SEARCH["id"], "content": []}
    message = "llm.output_messages.0.message."
    key = f"{message}tool_calls.0.tool_call."
    asked: dict[str, Any] = {f"{key}id": PAY["id"], f"{key}function.name": "pay", f"{key}function.arguments": '{"n":1}'}
    wanted = {"type": "tool_use", "id": PAY["id"], "name": "pay", "input": {"n": 1}}
    run = run_of(
        runner(1),
        openinference(2, 1, "tool_use", asked | {"output.value": json.dumps({"content": [search, found, wanted]})}),
        own_request(3, 2, 2),
        call(4, 10, PAY, has_content=False),
        openinference(5, 20, "end_turn", {f"{message}content": "done"}),
        own_request(6, 5, 21),
    )
    assert (called(run), doubts(run)) == (["web_search", "pay"], [])


def openinference(number: int, at: float, reason: str, answer: dict[str, Any]) -> Span:
    given = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    attributes = {"openinference.span.kind": "LLM", "llm.finish_reason": reason, **given, **answer}
    attributes["llm.output_messages.0.message.role"] = "assistant"
    scope = "@arizeai/openinference-instrumentation-anthropic"
    return span("Anthropic Messages", number, 1, at, 6, attributes=attributes, scope=scope, status=1)


def own_request(number: int, parent: int, at: float) -> Span:
    """The span of the client itself, which without content has neither an answer nor why it ended."""
    attributes = {"gen_ai.provider.name": "anthropic", "gen_ai.operation.name": "chat", "http.route": "/v1/messages"}
    return span(
        "anthropic.messages.create", number, parent, at, 4, attributes=attributes, scope=SCOPE, kind=3, status=1
    )


OPENINFERENCE, OPENLLMETRY = "openinference.instrumentation.anthropic", "opentelemetry.instrumentation.anthropic"
MCP_RESULT = {"type": "mcp_tool_result", "tool_use_id": ECHO["id"], "is_error": False, "content": []}
MCP_ANSWER = [{"type": "mcp_tool_use", "id": ECHO["id"], "name": "echo", "input": {"a": 1}}, MCP_RESULT]


def with_beta(sent: Span, *features: str) -> Span:
    sent.attributes["anthropic.beta"] = list(features)
    return sent


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (["message-threads-2026-08-12"], []),
        (["mcp-client-2025-11-20", "message-threads-2026-08-12"], ["unrecorded_calls"]),
        (["code-execution-2025-05-22"], ["unrecorded_calls"]),
    ],
)
def test_without_content_the_features_of_a_request_tell_that_anthropic_may_have_called_tools(
    features: list[str], expected: list[str]
) -> None:
    requests = [with_beta(request(2, 1, "tool_use"), *features), with_beta(request(4, 20, "end_turn"), *features)]
    run = run_of(runner(1), requests[0], call(3, 10, MAIL, has_content=False), requests[1])
    assert (called(run), doubts(run)) == (["mail"], expected)


@pytest.mark.parametrize("parent", [1, 2])
def test_what_anthropic_called_is_whole_in_the_span_of_openinference_around_or_beside_that_of_the_client(
    parent: int,
) -> None:
    """Beside it, where the answer is a stream."""
    answer = json.dumps({"content": [*MCP_ANSWER, {"type": "text", "text": "done"}], "stop_reason": "end_turn"})
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.finish_reason": "end_turn",
        "input.value": '{"messages": [{"role": "user", "content": "hi"}]}',
        "output.value": answer,
    }
    around = span("beta.messages.create", 2, 1, 1, 8, attributes=attributes, scope=OPENINFERENCE, status=1)
    own = with_beta(request(3, 2, "end_turn", parent=parent), "mcp-client-2025-11-20")
    run = run_of(span("POST /chat", 1, lasting=100), around, own)
    assert (called(run), doubts(run)) == (["echo"], [])


MCP_TOOL, MAIL_TOOL = {"name": None}, {"name": "mail", "description": "sends", "input_schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("offered", "features", "expected"),
    [
        ([MAIL_TOOL], [], []),
        ([MAIL_TOOL, MCP_TOOL], [], ["unrecorded_calls"]),
        ([MAIL_TOOL], ["mcp-client-2025-04-04"], ["unrecorded_calls"]),
    ],
)
def test_openllmetry_leaves_out_what_anthropic_called_beside_calls_that_the_model_asked_for(
    offered: list[dict[str, Any]], features: list[str], expected: list[str]
) -> None:
    """The client goes on without the tools, in a thread that Anthropic keeps (2.14)."""

    def seen(number: int, at: float, reason: str, *parts: Any, given: Any, definitions: Any = None) -> Span:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.response.id": f"msg_{number + 1}",
            "gen_ai.response.finish_reasons": [reason],
            "gen_ai.input.messages": json.dumps(given),
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts, "finish_reason": reason}]),
        }
        if definitions is not None:
            attributes["gen_ai.tool.definitions"] = json.dumps(definitions)
        return span("anthropic.chat", number, 1, at, 8, attributes=attributes, scope=OPENLLMETRY, kind=3, status=1)

    question = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
    run = run_of(
        runner(1),
        seen(2, 1, "tool_call", MAIL, given=question, definitions=offered),
        with_beta(request(3, 2, "tool_use"), *features),
        call(4, 10, MAIL, has_content=False),
        seen(5, 20, "stop", DONE, given=[told(MAIL, "sent")]),
        with_beta(request(6, 21, "end_turn"), *features),
    )
    assert (called(run), doubts(run)) == (["mail"], expected)


@pytest.mark.parametrize(("has_content", "parent", "expected"), [(False, 0, True), (True, 0, False), (False, 9, False)])
def test_a_request_without_content_that_begins_its_trace_is_a_part_of_a_run(
    has_content: bool, parent: int, expected: bool
) -> None:
    """So it is where callbacks trace a framework (LangChain): its spans are around none of the client's."""
    asked = request(2, 1, "end_turn", *([DONE] * has_content), parent=parent)
    run = run_of(*([span("POST /chat", 9, lasting=50)] * bool(parent)), asked)
    assert (called(run), "other_traces" in doubts(run)) == ([], expected)


def of_session(number: int, at: float, tool: str, status: int, words: str | None) -> Span:
    """A call that the SDK for Go (2.15) makes for an agent that Anthropic runs (`Sessions.Events.NewToolRunner`)."""
    attributes = {
        "gen_ai.provider.name": "anthropic",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": f"evt_{number}",
        "gen_ai.tool.type": "function",
        "anthropic.session.id": "session_1",
    }
    if words is not None:
        attributes["gen_ai.tool.call.arguments"] = '{"n":1}'
        attributes["anthropic.tool_result.content"] = json.dumps([{"text": words, "type": "text"}] if words else [])
    if status == 2:
        attributes["error.type"] = "tool_error"
    name = f"anthropic.custom_tool_use {tool}"
    return span(name, number, 1, at, 2, attributes=attributes, scope="com.anthropic.sdk.go", status=status)


@pytest.mark.parametrize(
    ("status", "words", "expected"),
    [
        (1, "paid", ["unrecorded_calls"]),
        (2, "card declined", ["unrecorded_calls"]),
        (2, None, ["unrecorded_calls", "uncertain_execution"]),
        (2, "", ["unrecorded_calls", "uncertain_execution"]),  # over the limit
    ],
)
def test_what_else_an_agent_called_that_anthropic_runs_is_not_recorded(
    status: int, words: str | None, expected: list[str]
) -> None:
    """Tools that it has itself, those of MCP servers and of other clients, and what a human denied."""
    run = run_of(span("work on a session", 1, lasting=100), of_session(2, 10, "pay", status, words))
    assert (called(run), doubts(run)) == (["pay"], expected)


@pytest.mark.parametrize(("asked", "expected"), [(PAY | {"id": "evt_2"}, []), (MAIL, ["unrecorded_calls"])])
def test_calls_of_an_agent_whose_requests_are_recorded_are_known(asked: dict[str, Any], expected: list[str]) -> None:
    """Not where they are those of another agent, around it."""
    last = request(4, 20, "end_turn", DONE, given=[told(asked, "ok")])
    made = of_session(2, 10, "pay", 1, "paid")
    run = run_of(span("work", 1, lasting=100), request(3, 1, "tool_use", asked), made, last)
    assert [one for one in doubts(run) if one == "unrecorded_calls"] == expected
