"""Spring AI's observations."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, model_span, read_tool, run_of, runs_of, span

SCOPE = "org.springframework.boot"
NO_NUMBER = 'Character s is neither a decimal digit number, decimal point, nor "e" notation exponential mark.'


def framework(kind: str, name: str, number: int, parent: int, **attributes: Any) -> Span:
    common = {"gen_ai.operation.name": "framework", "gen_ai.system": "spring_ai", "spring.ai.kind": kind}
    return span(name, number, parent, attributes={**common, **attributes}, scope=SCOPE, lasting=100, status=1)


def tool(result: str | None, **more: str) -> Span:
    attributes = {
        "spring.ai.tool.definition.name": "pay",
        "spring.ai.tool.call.arguments": '{"order": 7}',
        "spring.ai.tool.definition.schema": '{"type": "object", "properties": {"order": {"type": "integer"}}}',
        **more,
    }
    if result is not None:
        attributes["spring.ai.tool.call.result"] = result
    return framework("tool_call", "tool_call pay", 3, 2, **attributes)


@pytest.mark.parametrize(
    ("result", "status"), [('"paid"', "ok"), ("null", "ok"), ("7", "ok"), ("card declined", "error"), (None, "ok")]
)
def test_a_tools_exception_is_text_where_results_are_json(result: str | None, status: str) -> None:
    assert read_tool(tool(result)) == ("pay", None, {"order": 7}, status)


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ("30 days", "ok"),
        ("null was paid", "ok"),
        ('{"order": 7} is paid', "ok"),
        ("30th is full", "error"),
        ("no card", "error"),
    ],
)
def test_since_2_0_a_result_may_be_a_text_that_begins_with_json(result: str, status: str) -> None:
    assert read_tool(tool(result, **{"spring.ai.tool.call.id": "c1"})) == ("pay", "c1", {"order": 7}, status)
    assert read_tool(tool(result))[3] == "error"


@pytest.mark.parametrize(
    ("others", "told", "expected"),
    [
        ([], "3.5 degrees", ["unobserved_results"]),
        (["[7]", "paid"], "3.5 degrees", ["unobserved_results"]),
        (['"paid"'], "card declined", []),
        ([], "Error calling tool: card declined", []),
        ([], "No tool named pay", []),
    ],
)
def test_where_no_text_was_made_json_one_may_be_a_result(others: list[str], told: str, expected: list[str]) -> None:
    tools = [
        span(f"tool_call {number}", number, 2, at=number, attributes=tool(result).attributes, scope=SCOPE, lasting=0.5)
        for number, result in enumerate([told, *others], 3)
    ]
    run = run_of(framework("chat_client", "spring_ai chat_client", 2, 0), *tools)
    assert (run.trajectory.calls[0].status, doubts(run)) == ("error", expected)


@pytest.mark.parametrize("has_content", [True, False])
@pytest.mark.parametrize("status", [0, 1])  # with OpenTelemetry's starter all that return are a success
def test_without_content_nothing_tells_whether_a_tool_threw(status: int, *, has_content: bool) -> None:
    attributes = dict(tool(None).attributes)
    if not has_content:
        del attributes["spring.ai.tool.call.arguments"]
    ended = span("tool_call pay", 3, 2, attributes=attributes, scope=SCOPE, status=status)
    run = run_of(framework("chat_client", "spring_ai chat_client", 2, 0), ended)
    assert called(run) == ["pay"]
    assert doubts(run) == ([] if has_content else ["unobserved_results"])


@pytest.mark.parametrize(("order", "expected"), [('"soon"', ["(pay)"]), ("7", ["pay"])])
def test_the_tools_parameters_tell_whether_jackson_refused_the_arguments(order: str, expected: list[str]) -> None:
    failed = tool("Cannot deserialize value of type `java.lang.Integer` from String", **{
        "spring.ai.tool.call.arguments": f'{{"order": {order}}}',
    })  # fmt: skip
    run = run_of(framework("chat_client", "spring_ai chat_client", 2, 0), failed)
    assert (called(run), doubts(run)) == (expected, [])


@pytest.mark.parametrize(
    ("told", "order", "expected"),
    [
        (NO_NUMBER, '"soon"', (["(pay)"], [])),
        (NO_NUMBER, "7", (["pay"], [])),
        ("card declined", '"soon"', (["pay"], ["uncertain_execution"])),
        ("card declined", "7", (["pay"], [])),
    ],
)
def test_java_may_have_refused_arguments_that_do_not_fit(told: str, order: str, expected: Any) -> None:
    failed = tool(told, **{"spring.ai.tool.call.arguments": f'{{"order": {order}}}'})
    paid = span("tool_call pay", 4, 2, at=20, attributes=tool('"paid"').attributes, scope=SCOPE)
    run = run_of(framework("chat_client", "spring_ai chat_client", 2, 0), failed, paid)
    assert (called(run)[:1], doubts(run)) == expected


MCP = "Error calling tool: [TextContent[annotations=null, text={}, meta=null]]"
NO_INTEGER = "Validation failed: JSON schema validation errors: [/order: string found, integer expected]"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (f"Tool (pay) input validation failed: {NO_INTEGER}", ["(pay)"]),
        (NO_NUMBER, ["(pay)"]),  # it converts them itself (1.1)
        (f"Tool (pay) output validation failed: {NO_INTEGER}", ["pay"]),
        ("card declined", ["pay"]),
    ],
)
def test_a_server_of_mcp_for_java_refuses_arguments_that_do_not_fit(told: str, expected: list[str]) -> None:
    order = "7" if expected == ["pay"] else '"seven"'
    attributes = tool(MCP.format(told), **{"spring.ai.tool.call.arguments": f'{{"order": {order}}}'}).attributes
    failed = span("execute_tool pay", 3, 2, attributes=attributes, scope=SCOPE, status=1)
    paid = span("execute_tool pay", 4, 2, at=20, attributes=tool('"paid"').attributes, scope=SCOPE, status=1)
    run = run_of(framework("chat_client", "spring_ai chat_client", 2, 0), failed, paid)
    assert (called(run)[:1], doubts(run)) == (expected, [])


@pytest.mark.parametrize(
    ("raised", "arguments", "expected"),
    [
        ("java.lang.IllegalArgumentException", "{}", (["(pay)"], [])),
        ("java.lang.IllegalArgumentException", '{"order": 7}', (["pay"], [])),
        ("org.springframework.ai.tool.execution.ToolExecutionException", "{}", (["pay"], [])),
        ("java.lang.IllegalArgumentException", None, (["pay"], ["uncertain_execution"])),
    ],
)
def test_javas_reflection_refuses_arguments_that_are_missing(raised: str, arguments: str | None, expected: Any) -> None:
    schema = '{"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}'
    attributes = {
        "spring.ai.tool.definition.name": "pay",
        "spring.ai.tool.definition.schema": schema,
        "spring.ai.tool.call.id": "c1",
        **({} if arguments is None else {"spring.ai.tool.call.arguments": arguments}),
    }
    failed = span(
        "execute_tool pay", 3, 2, attributes={"spring.ai.kind": "tool_call", **attributes}, scope=SCOPE, status=2,
        events=[("exception", {"exception.type": raised})],
    )  # fmt: skip
    run = run_of(framework("chat_client", "spring_ai chat_client", 2, 0), failed)
    assert (called(run), doubts(run)) == expected


def test_a_run_with_its_advisor_and_requests() -> None:
    client = framework("chat_client", "spring_ai chat_client", 1, 0, **{"spring.ai.chat.client.conversation.id": "c"})
    advisor = framework("advisor", "call", 2, 1)
    run = run_of(client, advisor, model_span(number=4, parent=2), tool('"paid"'))
    assert (run.dialect, run.conversation_id, called(run)) == ("spring_ai", "c", ["pay"])


def request(number: int, parent: int, reason: str, at: float = 0, lasting: float = 90) -> Span:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.system": "openai",
        "gen_ai.response.finish_reasons": f'["{reason}"]',
        "spring.ai.model.request.tool.names": '["pay"]',
    }
    return span("chat gpt", number, parent, at, lasting, attributes=attributes, scope=SCOPE, status=1)


@pytest.mark.parametrize(
    ("stream", "message", "expected"),
    [
        ("false", "No ToolCallback found for tool name: pay_all", []),
        ("true", "No ToolCallback found for tool name: pay_all", ["unrecorded_calls"]),
        ("false", "timed out", ["unrecorded_calls"]),
    ],
)
def test_a_tool_that_nobody_has_ends_the_run_in_place_of_its_call(
    stream: str, message: str, expected: list[str]
) -> None:
    attributes = {**framework("chat_client", "", 1, 0).attributes, "spring.ai.chat.client.stream": stream}
    client = span(
        "spring_ai chat_client", 1, attributes=attributes, scope=SCOPE, lasting=100, status=2,
        events=[("exception", {"exception.type": "java.lang.IllegalStateException", "exception.message": message})],
    )  # fmt: skip
    paid = span("tool_call pay", 4, 1, 20, 10, attributes=tool('"paid"').attributes, scope=SCOPE, status=1)
    run = run_of(client, request(3, 1, "TOOL_CALLS", 0, 15), paid, request(5, 1, "TOOL_CALLS", 40, 15))
    assert (called(run), doubts(run)) == (["pay"], expected)


def test_a_request_inside_a_streamed_one_tells_that_calls_were_made_in_other_traces() -> None:
    client = framework("chat_client", "spring_ai chat_client", 1, 0)
    streamed = [client, framework("advisor", "stream", 2, 1), request(3, 2, "STOP"), request(4, 3, "STOP", 50, 40)]
    assert doubts(run_of(*streamed)) == ["unrecorded_calls"]
    paid = span("tool_call pay", 5, 3, 20, 10, attributes=tool('"paid"').attributes, scope=SCOPE, status=1)
    run = run_of(*streamed, paid)
    assert (called(run), doubts(run)) == (["pay"], [])


@pytest.mark.parametrize(("reason", "expected"), [("STOP", []), ("returnDirect", ["unrecorded_calls"])])
def test_a_streamed_request_that_ended_with_what_a_tool_returned(reason: str, expected: list[str]) -> None:
    run = run_of(framework("chat_client", "spring_ai chat_client", 1, 0), request(3, 1, reason))
    assert (called(run), doubts(run)) == ([], expected)


@pytest.mark.parametrize(
    ("reason", "expected"), [("STOP", ["other_traces"]), ("TOOL_CALLS", ["unrecorded_calls", "other_traces"])]
)
def test_without_a_span_around_them_each_request_and_call_has_a_trace_of_its_own(
    reason: str, expected: list[str]
) -> None:
    """A model without a client, as the documentation has it for tools that the application runs itself."""
    run = run_of(request(1, 0, reason))
    assert (called(run), doubts(run)) == ([], expected)


def test_a_request_that_offers_no_tool_is_all_there_is() -> None:
    alone = request(1, 0, "STOP")
    del alone.attributes["spring.ai.model.request.tool.names"]
    run = run_of(alone)
    assert (called(run), doubts(run)) == ([], [])


@pytest.mark.parametrize(
    ("told", "is_refused"),
    [
        ("Unexpected character ('n' (code 110)): was expecting double-quote to start field name", True),
        ("Unexpected end-of-input in field name", True),
        ("card declined", False),
    ],
)
def test_a_call_whose_arguments_jackson_could_not_parse_did_not_run(told: str, *, is_refused: bool) -> None:
    failed = tool(told, **{"spring.ai.tool.call.arguments": "{nojson", "spring.ai.tool.call.id": "c1"})
    run = run_of(framework("chat_client", "spring_ai chat_client", 2, 0), failed)
    assert called(run) == (["(pay)"] if is_refused else ["pay"])
    assert ("uncertain_execution" in doubts(run)) != is_refused


@pytest.mark.parametrize(
    ("second_offers", "is_shown", "expected"),
    [
        ('["pay"]', False, [["unrecorded_calls"], ["unrecorded_calls"]]),
        ('["pay"]', True, [[], []]),
        ('["ship"]', False, [["unrecorded_calls"], []]),
    ],
)
def test_clients_that_go_on_with_calls_which_no_span_shows(
    second_offers: str, expected: list[list[str]], *, is_shown: bool
) -> None:
    def client(number: int, at: float, offers: str) -> Span:
        attributes = {**framework("chat_client", "", 1, 0).attributes, "spring.ai.chat.client.tool.names": offers}
        return span("spring_ai chat_client", number, 1, at, 40, attributes=attributes, scope=SCOPE, status=1)

    web = span("http post /chat", 1, kind=2, scope=SCOPE, lasting=100)
    paid = span("tool_call pay", 4, 2, 25, 10, attributes=tool('"paid"').attributes, scope=SCOPE, status=1)
    first = [client(2, 0, '["pay"]'), request(3, 2, "TOOL_CALLS", 1, 20), *([paid] if is_shown else [])]
    runs = runs_of(web, *first, client(5, 50, second_offers), request(6, 5, "STOP", 51, 30))
    assert [doubts(run) for run in runs] == expected
