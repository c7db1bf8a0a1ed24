"""OpenInference as Pipecat's instrumentation and Google ADK's write it, and the processor that turns OpenLLMetry's spans into
its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, run_of, span, span_of_kind, tool_span

KIND = "openinference.span.kind"


def heard(number: int, tool: str, arguments: dict[str, Any], result: Any) -> Span:
    given, told = json.dumps(arguments), json.dumps(result)
    attributes = {"tool.name": tool, "tool_call.id": f"c{number}", "tool_call.function.arguments": given}
    attributes |= {"input.value": given, "tool.parameters": given} if arguments else {}
    return span_of_kind(
        KIND, "TOOL", f"pipecat.tool.{tool}", number, 1, number * 10, scope="openinference.instrumentation.pipecat",
        attributes={**attributes, "tool.result": told, "output.value": told}, status=1,
    )  # fmt: skip


TURN = span_of_kind(KIND, "CHAIN", "pipecat.conversation.turn", 1, lasting=500, status=1)


@pytest.mark.parametrize(
    ("result", "status", "executed"),
    [
        ("Paris: 18 degrees", "ok", True),
        ({"errors": []}, "ok", True),
        ({"error": "card declined"}, "error", True),
        ("The function `pay` failed and returned no result.", "error", True),
        ("The function `pay` is not currently available.", "error", False),
    ],
)
def test_pipecat_tells_what_came_of_a_call_in_its_result(result: Any, status: str, executed: bool) -> None:
    run = run_of(TURN, heard(2, "pay", {"sum": 5}, result), heard(3, "get", {}, "ok"))
    found = [(one.name, one.arguments, one.status, one.executed) for one in run.trajectory.calls]
    assert found == [("pay", {"sum": 5}, status, executed), ("get", {}, "ok", True)]
    assert doubts(run) == []


def test_a_status_in_the_answer_of_a_handler_may_be_of_something_else() -> None:
    run = run_of(TURN, heard(2, "pay", {"sum": 5}, {"status": "failed", "build": 7}), heard(3, "get", {}, "ok"))
    assert (run.trajectory.calls[0].status, doubts(run)) == ("unset", ["unobserved_results"])


def converted(name: str, number: int, parent: int, tool: str, given: str = "{}") -> Span:
    attributes = {"tool.name": tool, "input.value": given, "output.value": '{"outputs": null}'}
    scope = "opentelemetry.instrumentation.langchain"
    return span_of_kind(KIND, "TOOL", name, number, parent, number * 10, attributes=attributes, scope=scope)


def test_a_node_of_a_graph_is_no_tool() -> None:
    run = run_of(
        span_of_kind(KIND, "CHAIN", "travel.workflow", 1, lasting=500),
        converted("execute_task model", 2, 1, "model"),
        converted("execute_task tools", 3, 1, "tools", '[{"name": "get", "args": {"city": "Oslo"}, "id": "c1"}]'),
        converted("execute_tool get", 4, 3, "get", '{"city": "Oslo"}'),
    )
    assert called(run) == ["get"]
    assert run.trajectory.calls[0].arguments == {"city": "Oslo"}


ADK_SCOPE = "openinference.instrumentation.google_adk"
ASKED: dict[str, Any] = {"role": "model", "parts": [{"function_call": {"name": "refund", "args": {"n": 4}}}]}


def told_by_adk(answer: Any) -> dict[str, Any]:
    return {"role": "user", "parts": [{"function_response": {"name": "refund", "response": answer}}]}


def turn_of_adk(contents: list[dict[str, Any]], answer: Any) -> list[Span]:
    """ADK 2.13: all requests are on one span, of whose answers the calls are mixed (instrumentation 1.0)."""
    call = "llm.output_messages.0.message.tool_calls.0.tool_call.function."
    requests = {
        "gen_ai.operation.name": "generate_content",
        "input.value": json.dumps({"contents": contents}),
        "output.value": json.dumps({"content": {"role": "model", "parts": [{"text": "Done."}]}}),
        f"{call}name": "refund",
        f"{call}arguments": '{"n": 4}',
    }
    tool = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "tool.name": "refund", "tool.id": "adk-1",
        "input.value": '{"n": 4}', "tool.parameters": '{"n": 4}',
        "output.value": json.dumps({"id": "adk-1", "name": "refund", "response": answer}),
    }  # fmt: skip
    agent = span_of_kind(KIND, "AGENT", "agent_run [desk]", 1, attributes={"agent.name": "desk"}, scope=ADK_SCOPE)
    asking = ("LLM", "invoke_agent desk", 2, 1, 1, 90)
    return [
        agent,
        span_of_kind(KIND, *asking, attributes=requests, scope="gcp.vertex.agent", status=1),
        span_of_kind(KIND, "TOOL", "execute_tool refund", 3, 2, 20, attributes=tool, scope=ADK_SCOPE, status=1),
    ]


@pytest.mark.parametrize(
    ("answer", "status", "expected"),
    [
        ({"result": "paid back"}, "ok", []),
        ({"error": "order is closed"}, "error", []),
        ({"result": "failed: order is closed"}, "unset", ["unobserved_results"]),
    ],
)
def test_the_last_request_of_adk_tells_of_all_calls(answer: Any, status: str, expected: list[str]) -> None:
    question = {"role": "user", "parts": [{"text": "Refund order 4."}]}
    earlier = [question, ASKED, told_by_adk({"result": "no"}), {"role": "model", "parts": [{"text": "Sorry."}]}]
    run = run_of(*turn_of_adk([*earlier, question, ASKED, told_by_adk(answer)], answer))
    assert [(one.name, one.arguments, one.status) for one in run.trajectory.calls] == [("refund", {"n": 4}, status)]
    assert doubts(run) == expected


@pytest.mark.parametrize(
    ("parameters", "more", "expected"),
    [
        ('{"type": "object", "properties": {"city": {}}}', {}, ["unobserved_results"]),
        ('{"type": "object", "properties": {"city": {}}}', {"output.value": "None"}, []),
        (None, {}, []),  # written by hand, perhaps without what came of it
    ],
)
def test_a_decorated_function_that_was_cancelled_leaves_no_output_and_may_have_failed(
    parameters: str | None, more: dict[str, str], expected: list[str]
) -> None:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "get", "input.value": '{"city": "Oslo"}', **more}
    if parameters is not None:
        attributes["tool.parameters"] = parameters
    tool = span("get", 2, 1, 5, attributes=attributes)
    assert doubts(run_of(agent_span(), tool, model_span((), 3, at=40))) == expected


@pytest.mark.parametrize(
    ("choice", "is_open"),
    [
        ('{"type": "function", "function": {"name": "Weather"}}', True),
        ('{"type": "tool", "name": "Weather"}', True),
        ('{"type": "auto"}', False),
        ('"required"', False),
    ],
)
def test_the_only_answer_of_a_model_that_had_to_call_a_function_may_call_none(choice: str, is_open: bool) -> None:
    call = "llm.output_messages.0.message.tool_calls.0.tool_call.function."
    attributes = {f"{call}name": "Weather", f"{call}arguments": "{}", "output.value": "{}"}
    attributes["llm.invocation_parameters"] = '{"model": "m", "tool_choice": ' + choice + "}"
    scope = "openinference.instrumentation.openai"
    model = span_of_kind(KIND, "LLM", "ChatCompletion", 2, 1, 1, attributes=attributes, scope=scope)
    assert ("uncertain_execution" in doubts(run_of(span("POST", 1, lasting=50), model))) is is_open


def by_hand(number: int, at: float, conversation: dict[str, str], answer: dict[str, str]) -> Span:
    """A request to a model as an application writes it with openinference-core: messages alone, a part each."""
    attributes = {f"llm.input_messages.{key}": value for key, value in conversation.items()}
    attributes |= {f"llm.output_messages.0.message.{key}": value for key, value in answer.items()}
    return span_of_kind(KIND, "LLM", "ask", number, 1, at, 5, attributes=attributes)


CALL = {"id": "c1", "function.name": "pay", "function.arguments": '{"order": 7}'}
ASKS = {"role": "assistant", **{f"tool_calls.0.tool_call.{key}": value for key, value in CALL.items()}}
GIVEN = {"0.message.role": "user", "0.message.content": "pay my order"}


@pytest.mark.parametrize(
    ("told", "expected"), [('"paid"', ["pay"]), ("Error: Unknown tool pay", ["(pay)"]), ("Error: declined", ["pay"])]
)
def test_the_conversation_of_a_request_that_was_written_by_hand(told: str, expected: list[str]) -> None:
    conversation = {
        **GIVEN,
        **{f"1.message.{key}": value for key, value in ASKS.items()},
        "2.message.role": "tool",
        "2.message.content": told,
        "2.message.tool_call_id": "c1",
    }
    run = run_of(
        span_of_kind(KIND, "AGENT", "planner", 1, lasting=100, attributes={"agent.name": "planner"}),
        by_hand(2, 1, GIVEN, ASKS),
        by_hand(3, 20, conversation, {"role": "assistant", "content": "Done."}),
    )
    assert (called(run), doubts(run)) == (expected, [])
    assert expected == ["(pay)"] or run.trajectory.calls[0].status == ("error" if "declined" in told else "ok")


def test_a_request_that_was_written_by_hand_is_an_answer_without_calls() -> None:
    agent = span_of_kind(KIND, "AGENT", "planner", 1, lasting=100, attributes={"agent.name": "planner"})
    assert doubts(run_of(agent, by_hand(2, 1, GIVEN, {"role": "assistant", "content": "Hello."}))) == []


def test_the_messages_of_a_request_that_was_written_by_hand_are_asked_for() -> None:
    asked = by_hand(2, 1, {}, ASKS)
    asked.is_whole = False
    assert dialects.read_span(asked) is None


AUTOGEN = "openinference.instrumentation.autogen_agentchat"


@pytest.mark.parametrize("status", [1, 2])
def test_the_first_release_for_autogen_named_spans_after_the_class_of_the_tool(status: int) -> None:
    """0.1.0, around the spans of AutoGen itself, which have neither arguments nor results."""
    given = json.dumps(
        {"args": {"order": 7}, "cancellation_token": "<CancellationToken object at 0x7f>", "call_id": "c1"}
    )
    attributes = {"tool_name": "pay", "tool_description": "Pay.", "input.value": given, "output.value": "paid"}
    run = run_of(
        span_of_kind(
            KIND, "AGENT", "AssistantAgent.run", 1, lasting=100, attributes={"agent_name": "shop"}, scope=AUTOGEN
        ),
        agent_span("shop", 2, 1, lasting=90),
        span_of_kind(
            KIND, "TOOL", "FunctionTool.run_json", 3, 2, 10, 20, attributes=attributes, scope=AUTOGEN, status=status
        ),
        tool_span("pay", number=4, parent=3, at=11, lasting=18, call_id="c1", scope="autogen-core"),
    )
    (call,) = run.trajectory.calls
    expected = "ok" if status == 1 else "error"
    assert (call.name, call.id, call.arguments, call.status) == ("pay", "c1", {"order": 7}, expected)
    assert doubts(run) == []


@pytest.mark.parametrize("has_ended", [True, False])
def test_a_call_that_was_cancelled_in_autogen_has_no_output(has_ended: bool) -> None:
    attributes = {"tool.name": "pay", "tool.parameters": '{"order": 7}', "input.value": '{"order": 7}'}
    attributes |= {"output.value": "paid"} if has_ended else {}
    call = span_of_kind(
        KIND, "TOOL", "shop.pay", 2, 1, 10, 20, attributes=attributes, scope=AUTOGEN, status=1 if has_ended else 0
    )
    run = run_of(span_of_kind(KIND, "AGENT", "shop.on_messages_stream", 1, lasting=100, scope=AUTOGEN), call)
    assert (called(run), doubts(run)) == (["pay"], [] if has_ended else ["unobserved_results"])


def run_of_adk(tool: dict[str, Any], asked: list[str], *told: dict[str, Any], answer: dict[str, Any]) -> list[Span]:
    """One of ADK 2.13 that a human is asked in: ``asked`` are the tools that answers on the span asked for."""
    name = "llm.output_messages.0.message.tool_calls.{}.tool_call.function.name"
    messages: dict[str, Any] = {name.format(number): tool for number, tool in enumerate(asked)}
    for number, message in enumerate(told):
        for key, value in message.items():
            messages[f"llm.input_messages.{number}.message.{key}"] = value
    requests = {
        "gen_ai.operation.name": "generate_content", **messages,
        "input.value": json.dumps({"contents": [one["content"] for one in told]}),
        "output.value": json.dumps({"content": answer}),
    }  # fmt: skip
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "tool.name": "refund", **tool}
    return [
        span_of_kind(KIND, "AGENT", "agent_run [desk]", 1, attributes={"agent.name": "desk"}, scope=ADK_SCOPE),
        span_of_kind(
            KIND, "LLM", "invoke_agent desk", 2, 1, 1, 90, attributes=requests, scope="gcp.vertex.agent", status=1
        ),
        span_of_kind(KIND, "TOOL", "execute_tool refund", 3, 2, 20, attributes=attributes, scope=ADK_SCOPE, status=1),
    ]


def of_adk(answer: Any) -> dict[str, Any]:
    return {
        "input.value": '{"n": 4}', "tool.parameters": '{"n": 4}', "tool.id": "adk-1",
        "output.value": json.dumps({"id": "adk-1", "name": "refund", "response": answer}),
    }  # fmt: skip


QUESTION = {"role": "user", "content": {"role": "user", "parts": [{"text": "Refund order 4."}]}}
LOOKED_UP = {
    "role": "model",
    "content": {"role": "model", "parts": [{"function_call": {"name": "look_up", "args": {"n": 4}}}]},
}
FOUND = {
    "role": "tool",
    "content": {"role": "user", "parts": [{"function_response": {"name": "look_up", "response": {"n": 4}}}]},
}
DONE: dict[str, Any] = {"role": "model", "parts": [{"text": "Done."}]}
UNCONFIRMED = {"error": "This tool call requires confirmation, please approve or reject."}


BLOCKED = {"result": "Tool call blocked by policy"}
LONG_RUNNING = {**of_adk({"ticket": 7}), "gen_ai.tool.type": "LongRunningFunctionTool"}


def told_of_refund(answer: Any) -> list[dict[str, Any]]:
    return [{"role": "model", "content": ASKED}, {"role": "tool", "content": told_by_adk(answer)}]


@pytest.mark.parametrize(
    ("tool", "asked", "told", "answer", "calls", "expected"),
    [
        (of_adk(UNCONFIRMED), ["refund"], [QUESTION], ASKED, ["(refund)"], ["other_traces"]),
        (LONG_RUNNING, ["refund"], [QUESTION], ASKED, ["refund"], ["other_traces"]),
        # Its tool asked for a confirmation.
        (of_adk({"status": "waiting for a manager"}), ["refund"], [QUESTION], ASKED, ["refund"], ["other_traces"]),
        (LONG_RUNNING, ["refund"], [QUESTION, *told_of_refund({"ticket": 7})], DONE, ["refund"], []),
        # A human approved it in an earlier trace, which asked for it and, the first time, made another call.
        (
            of_adk({"ok": 1}),
            [],
            [QUESTION, LOOKED_UP, FOUND, *told_of_refund({"ok": 1})],
            DONE,
            ["refund"],
            ["other_traces"],
        ),
        (of_adk({"ok": 1}), [], [QUESTION, *told_of_refund({"ok": 1})], DONE, ["refund"], ["other_traces"]),
        (of_adk(BLOCKED), ["refund"], [QUESTION, *told_of_refund(BLOCKED)], DONE, ["refund"], ["uncertain_execution"]),
    ],
)
def test_a_run_of_adk_around_what_a_human_or_a_callback_answers(
    tool: Any, asked: list[str], told: list[Any], answer: Any, calls: list[str], expected: list[str]
) -> None:
    run = run_of(*run_of_adk(tool, asked, *told, answer=answer))
    assert (called(run), doubts(run)) == (calls, expected)


def test_the_form_of_an_output_is_no_call_of_llama_index() -> None:
    """0.14: a class that an agent is to answer with is offered as a tool; it has these words if it has none of its own."""
    words = "Out(*args: Any, **kwargs: Any) -> ~Model\nModel function."
    calls = [
        span_of_kind(
            "openinference.span.kind", "TOOL", "FunctionTool.acall", number, 1, number * 10, status=1,
            attributes={
                "tool.name": name, "tool.description": described, "input.value": '{"kwargs": {"x": 1}}',
                "output.value": '{"blocks":[{"text":"x=1"}],"is_error":false}',
            },
            scope="openinference.instrumentation.llama_index",
        )
        for number, (name, described) in enumerate([("get", "get(x: int) -> int\ng"), ("Out", words)], 2)
    ]  # fmt: skip
    agent = span_of_kind("openinference.span.kind", "AGENT", "FunctionAgent.run", 1, lasting=100, status=1)
    run = run_of(agent, *calls)
    assert called(run) == ["get", "(Out)"]
