"""MLflow Tracing over OTLP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import (
    agent_span,
    asked,
    called,
    doubts,
    model_span,
    read_tool,
    result,
    run_of,
    runs_of,
    span,
    span_of_kind,
    tool_span,
    user,
)


def ml(kind: str, *place: Any, **more: Any) -> Span:
    return span_of_kind("mlflow.spanType", json.dumps(kind), *place, **more)


def test_a_tool_span() -> None:
    attributes = {
        "mlflow.spanInputs": '{"city": "Oslo"}',
        "mlflow.spanOutputs": '"sunny"',
        "tool_call_id": '"c1"',
        "mlflow.spanFunctionName": '"get"',
    }
    assert read_tool(ml("TOOL", "get_1", 2, 1, attributes=attributes, status=1)) == (
        "get",
        "c1",
        {"city": "Oslo"},
        "ok",
    )


def test_a_run() -> None:
    choices = {
        "choices": [
            {"message": {"tool_calls": [{"id": "c1", "function": {"name": "get", "arguments": '{"city": "Oslo"}'}}]}}
        ]
    }
    metadata = json.dumps({"lc_agent_name": "travel", "thread_id": "t"})
    run = run_of(
        ml(
            "CHAIN",
            "travel",
            1,
            lasting=100,
            attributes={"metadata": metadata, "mlflow.spanInputs": '{"messages": [{"role": "user", "content": "hi"}]}'},
        ),
        ml(
            "CHAT_MODEL",
            "ChatOpenAI",
            2,
            1,
            1,
            5,
            attributes={"mlflow.spanOutputs": json.dumps(choices), "metadata": metadata},
        ),
        ml("TOOL", "get", 3, 1, 10),
    )
    assert (run.agent, run.user_input, run.conversation_id, called(run)) == ("travel", "hi", "t", ["get"])
    assert run.trajectory.calls[0].arguments == {"city": "Oslo"}


def test_a_decorated_agent() -> None:
    run = run_of(
        ml("AGENT", "travel", 1, attributes={"mlflow.spanInputs": '{"user_input": "hi"}'}), ml("TOOL", "get", 2, 1)
    )
    assert (run.agent, run.user_input) == ("travel", "hi")


def test_steps_are_ignored() -> None:
    assert dialects.read_span(ml("CHAIN", "tools", 2, 1)) is IGNORED
    assert dialects.read_span(ml("RETRIEVER", "search", 2, 1)) is IGNORED


@pytest.mark.parametrize("key", ["gen_ai.tool.name", "tool.name"])
def test_an_attribute_names_the_tool_before_the_span_does(key: str) -> None:
    attributes = {"mlflow.spanType": "TOOL", key: "pay", "mlflow.spanInputs": '{"n": 1}'}
    assert read_tool(span("pay tool", 2, 1, attributes=attributes))[:3] == ("pay", None, {"n": 1})


def test_a_span_named_after_the_class_of_its_tool_does_not_name_the_tool() -> None:
    run = run_of(ml("AGENT", "travel", 1), ml("TOOL", "SimpleTool.__call__", 2, 1))  # smolagents
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls", "nothing_recorded"])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"kwargs": {"city": "Oslo"}}, {"city": "Oslo"}),
        ({}, {}),
        ({"args": [], "kwargs": {}}, {}),
    ],
)
def test_llama_index_names_the_span_after_the_class_and_the_tool_in_an_attribute(given: Any, expected: Any) -> None:
    attributes = {"name": '"get"', "mlflow.spanInputs": json.dumps(given)}
    assert read_tool(ml("TOOL", "FunctionTool.acall", 2, 1, attributes=attributes)) == ("get", None, expected, "unset")


def test_arguments_by_position_are_not_taken_for_the_call_without_any() -> None:
    attributes = {"name": '"get"', "mlflow.spanInputs": json.dumps({"args": ["Oslo"], "kwargs": {}})}
    assert read_tool(ml("TOOL", "FunctionTool.call", 2, 1, attributes=attributes))[2] != {}


def test_dspy_names_a_span_after_its_tool() -> None:
    asked = {
        "mlflow.spanOutputs": json.dumps(['[[ ## next_tool_name ## ]]\nget\n\n[[ ## next_tool_args ## ]]\n{"n": 1}'])
    }
    attributes = {"name": '"get"', "mlflow.spanInputs": '{"n": 1}', "mlflow.spanOutputs": '"18"'}
    run = run_of(
        ml("AGENT", "ReAct.forward", 1, lasting=100),
        ml("CHAT_MODEL", "LM.__call__", 2, 1, 1, attributes=asked),
        ml("TOOL", "Tool.get", 3, 1, 20, attributes=attributes),
    )
    assert (called(run), doubts(run)) == (["get"], [])
    assert read_tool(ml("TOOL", "Tool.set", 2, 1, attributes=attributes))[0] == "Tool.set"  # a name like any other


@pytest.mark.parametrize(
    ("output", "told", "expected"),
    [
        ({"mlflow.spanOutputs": "null", "mlflow.spanFunctionName": '"get"'}, None, ("ok", [])),
        ({}, None, ("unset", ["unobserved_results"])),
        ({}, "sunny", ("ok", [])),
        ({}, "Error: the tool timed out", ("error", [])),
    ],
)
def test_a_function_that_was_cancelled_leaves_no_output_and_may_have_failed(
    output: dict[str, str], told: str | None, expected: tuple[str, list[str]]
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    asked = {"mlflow.spanOutputs": json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]})}
    spans = [
        ml("AGENT", "travel", 1, lasting=100),
        ml("CHAT_MODEL", "AsyncCompletions", 2, 1, 1, attributes=asked, status=1),
        ml("TOOL", "get", 3, 1, 20, attributes={"mlflow.spanInputs": "{}"} | output, status=1),
    ]
    if told is not None:
        messages = [message, {"role": "tool", "tool_call_id": "c1", "content": told}]
        answered = {
            "mlflow.spanInputs": json.dumps({"messages": messages}),
            "mlflow.spanOutputs": json.dumps({"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}),
        }
        spans.append(ml("CHAT_MODEL", "AsyncCompletions", 4, 1, 40, attributes=answered, status=1))
    run = run_of(*spans)
    assert (run.trajectory.calls[0].status, doubts(run)) == expected


def chunk(piece: dict[str, Any] | None, finish: str | None = None) -> dict[str, str]:
    delta = {"content": None, "tool_calls": None if piece is None else [piece]}
    return {"mlflow.chunk.value": json.dumps({"choices": [{"delta": delta, "finish_reason": finish}]})}


STREAMED = [
    chunk({"index": 0, "id": "c1", "function": {"arguments": "", "name": "get"}, "type": "function"}),
    chunk({"index": 0, "id": None, "function": {"arguments": '{"city":', "name": None}, "type": None}),
    chunk({"index": 0, "id": None, "function": {"arguments": ' "Oslo"}', "name": None}, "type": None}),
    chunk({"index": 1, "id": "c2", "function": {"arguments": "{}", "name": "pay"}, "type": "function"}),
    chunk(None, "tool_calls"),
]


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("conventions", [False, True])
def test_the_calls_of_a_streamed_answer_are_in_its_chunks_alone(first: int, conventions: bool) -> None:
    """Of a longer stream the SDK keeps the last events, and nothing tells what the others asked for."""
    if conventions:
        parts = [{"type": "text", "content": ""}]
        answer = [{"role": "assistant", "parts": parts, "finish_reason": "stop"}]
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(answer)}
    else:
        message = {"content": "", "role": "assistant", "tool_calls": None}
        answered = json.dumps({"choices": [{"finish_reason": "stop", "message": message}]})
        attributes = {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanOutputs": answered}
    events = [(f"mlflow.chunk.item.{at}", values) for at, values in enumerate(STREAMED)][first:]
    scope = "mlflow.tracing.provider"
    model = span("Completions", 2, 1, 1, attributes=attributes, events=events, scope=scope, status=1)
    run = run_of(ml("AGENT", "travel", 1, lasting=100), model)
    if first:
        assert (called(run), doubts(run)) == ([], ["unrecorded_calls"])
    else:
        assert [(call.name, call.id, call.arguments) for call in run.trajectory.calls] == [
            ("get", "c1", {"city": "Oslo"}),
            ("pay", "c2", {}),
        ]


def test_the_repr_of_a_stream_is_no_answer() -> None:
    attributes = {"mlflow.spanOutputs": '"<anthropic.Stream object at 0x7f8da3dbf5d0>"'}
    run = run_of(
        ml("AGENT", "travel", 1, lasting=100), ml("CHAT_MODEL", "Messages.create", 2, 1, 1, attributes=attributes)
    )
    assert doubts(run) == ["nothing_recorded"]


@pytest.mark.parametrize(
    ("result", "expected"), [({}, ["unobserved_results"]), ({"gen_ai.tool.call.result": '"x"'}, [])]
)
def test_in_the_conventions_a_function_that_was_cancelled_leaves_no_result(
    result: dict[str, str], expected: list[str]
) -> None:
    tool = tool_span("get", {}, 2, 1, attributes=result, scope="mlflow.tracing.provider", status=1)
    assert doubts(run_of(agent_span(), tool)) == expected


@pytest.mark.parametrize(
    ("goes_on", "executed", "expected"),
    [
        (False, False, ["other_traces", "uncertain_execution", "unobserved_results"]),
        (True, True, ["unobserved_results"]),
    ],
)
def test_in_the_conventions_a_call_that_waits_for_an_approval_leaves_no_result_either(
    goes_on: bool, executed: bool, expected: list[str]
) -> None:
    """OpenAI Agents 0.24 under MLflow 3.18."""
    scope = "mlflow.tracing.provider"
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "ok"}]}])
    asked = model_span([("c1", "drop", {})], 2, at=1, scope=scope, status=1)
    tool = tool_span("drop", {}, 3, at=5, scope=scope, status=1)
    answer = model_span(number=4, at=9, attributes={"gen_ai.output.messages": said}, scope=scope, status=1)
    run = run_of(agent_span(), asked, tool, *([answer] if goes_on else []))
    assert [call.executed for call in run.trajectory.calls] == [executed]
    assert doubts(run) == expected


def test_in_the_conventions_words_in_place_of_a_result_are_quoted() -> None:
    result = {"gen_ai.tool.call.result": "\"Tool 'pay' timed out after 0.05 seconds.\""}
    tool = tool_span("pay", {}, 2, 1, attributes=result, scope="mlflow.tracing.provider", status=1)
    assert [call.status for call in run_of(agent_span(), tool).trajectory.calls] == ["error"]


def test_a_message_of_the_user_with_an_empty_place_for_the_id_of_a_call_is_no_result() -> None:
    nothing = {"tool_calls": None, "refusal": None, "tool_call_id": None}
    given = {"messages": [{"role": "user", "content": "hi", **nothing}]}
    answer = {"choices": [{"message": {"role": "assistant", "content": "Hello.", **nothing}, "finish_reason": None}]}
    attributes = {"mlflow.spanInputs": json.dumps(given), "mlflow.spanOutputs": json.dumps(answer)}
    run = run_of(ml("CHAIN", "shop", 1), ml("CHAT_MODEL", "ChatOpenAI", 2, 1, 1, 5, attributes=attributes, status=1))
    assert (called(run), doubts(run)) == ([], [])


def _autogen(number: int, at: float, messages: list[dict[str, Any]], content: Any, finish: str) -> Span:
    attributes = {
        "mlflow.message.format": '"autogen"',
        "mlflow.spanInputs": json.dumps({"messages": messages}),
        "mlflow.spanOutputs": json.dumps({"finish_reason": finish, "content": content, "thought": None}),
    }
    name = "OpenAIChatCompletionClient.create"
    return ml("LLM", name, number, 1, at, 5, attributes=attributes, status=1)


def test_the_messages_of_autogen_have_calls_without_a_word_that_says_so() -> None:
    calls = [
        {"id": "c1", "arguments": '{"city": "Oslo"}', "name": "get"},
        {"id": "c2", "arguments": '{"order": 7}', "name": "pay"},
        {"id": "c3", "arguments": "{}", "name": "fly"},
    ]
    results = [
        {"content": "sunny", "name": "get", "call_id": "c1", "is_error": False},
        {"content": "no money on card", "name": "pay", "call_id": "c2", "is_error": True},
        {"content": "Error: tool 'fly' not found in any workbench", "name": "fly", "call_id": "c3", "is_error": True},
    ]
    asked: list[dict[str, Any]] = [
        {"content": "You are helpful.", "type": "SystemMessage"},
        {"content": "hi", "source": "user", "type": "UserMessage"},
    ]
    told: list[dict[str, Any]] = [
        {"content": calls, "thought": None, "source": "shop", "type": "AssistantMessage"},
        {"content": results, "type": "FunctionExecutionResultMessage"},
    ]
    run = run_of(
        ml("AGENT", "shop.run", 1, lasting=100, attributes={"mlflow.spanInputs": '{"task": "hi"}'}),
        _autogen(2, 1, asked, calls, "function_calls"),
        _autogen(3, 20, asked + told, "Done.", "stop"),
    )
    assert (called(run), doubts(run)) == (["get", "pay", "(fly)"], [])
    assert [(call.arguments, call.status) for call in run.trajectory.calls][:2] == [
        ({"city": "Oslo"}, "ok"),
        ({"order": 7}, "error"),
    ]


def test_a_span_in_which_llama_index_puts_a_request_together_is_no_request() -> None:
    messages = [
        {"role": "user", "blocks": [{"block_type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "additional_kwargs": {"tool_calls": [{"id": "c1", "function": {"name": "get", "arguments": "{}"}}]},
        },
        {"role": "tool", "additional_kwargs": {"tool_call_id": "c1"}, "blocks": [{"text": "sunny"}]},
    ]
    given = {"mlflow.spanInputs": "{}", "mlflow.spanOutputs": json.dumps({"messages": messages, "tools": []})}
    prepared = ml("LLM", "OpenAILike._prepare_chat_with_tools", 2, 1, 1, 5, attributes=given)
    assert dialects.read_span(prepared) is IGNORED


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("sunny", ("get", "ok")),
        (
            "\nI encountered an error while trying to use the tool. This was the error: no weather.\n Tool get",
            ("get", "error"),
        ),
        (
            "I encountered an error: Action 'get' don't exist, these are the only available Actions:\n",
            ("(get)", "error"),
        ),
        (
            "I tried reusing the same input, I must stop using this action input. I'll try another.\n",
            ("(get)", "error"),
        ),
    ],
)
def test_the_input_of_a_call_of_crewai_is_what_the_model_said(result: str, expected: tuple[str, str]) -> None:
    """CrewAI 1.7 under 3.8: all calls end well, also those that CrewAI did not make."""
    said = 'Thought: Look\nAction: get\nAction Input: {"city": "Oslo"}'
    action = {"thought": "Look", "tool": "get", "tool_input": '{"city": "Oslo"}', "text": said, "result": None}
    given = {
        "agent_action": action,
        "tools": ["CrewStructuredTool(name='get')"],
        "agent_key": "k",
        "agent_role": "shop",
    }
    returned = {"result": result, "result_as_answer": False}
    attributes = {"mlflow.spanInputs": json.dumps(given), "mlflow.spanOutputs": json.dumps(returned)}
    run = run_of(
        ml("AGENT", "shop", 1, lasting=100, attributes={"mlflow.spanInputs": "{}"}, status=1),
        ml("TOOL", "get", 2, 1, 10, attributes=attributes, status=1),
    )
    (call,) = run.trajectory.calls
    assert (*called(run), call.status) == expected
    assert (call.arguments, doubts(run)) == ({"city": "Oslo"}, [])


def test_the_runner_of_openai_agents_is_no_agent_in_the_words_of_the_conventions() -> None:
    """Where a human approved a call it is made before the agent goes on, in another trace (3.18)."""
    told = [user("go"), asked(("c1", "drop", {"user": "u"})), result("c1", "dropped")]
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "done"}]}])
    given = {"gen_ai.tool.call.result": '"dropped"'}
    place: dict[str, Any] = {"scope": "mlflow.tracing.provider", "status": 1}
    answer = {"gen_ai.output.messages": said, "gen_ai.response.finish_reasons": ("completed",)}
    runs = runs_of(
        agent_span("AgentRunner.run", lasting=100, **place),
        span("CHAIN", 2, 1, lasting=100, attributes={"gen_ai.operation.name": "CHAIN"}, **place),
        tool_span("drop", {"user": "u"}, 3, 2, at=10, attributes=given, **place),
        agent_span("travel", 4, 2, at=20, lasting=70, **place),
        model_span((), 5, 4, at=30, lasting=20, **place),
        model_span((), 6, 5, input_messages=told, at=31, attributes=answer, **place),
    )
    assert [(run.agent, called(run)) for run in runs] == [("travel", []), (None, ["drop"])]
    assert doubts(runs[1]) == ["other_traces"]


def openai_agents(*items: Span, output: object = None) -> list[Span]:
    """The spans around those of an agent of OpenAI Agents, whose own has no input (3.17)."""
    runner = {
        "mlflow.openai.agent_run_root": "true",
        "mlflow.spanInputs": '"go"',
        "mlflow.spanOutputs": json.dumps(output),
    }
    own = {"mlflow.spanInputs": "null", "mlflow.spanOutputs": '{"output_type": "str"}'}
    return [
        ml("AGENT", "AgentRunner.run", 1, at=0, lasting=100, attributes=runner, status=1),
        ml("CHAIN", "Agent workflow", 2, 1, at=0, lasting=100, status=1),
        ml("AGENT", "trip", 3, 2, at=0, lasting=100, attributes=own, status=1),
        *items,
    ]


def openai_function(name: str, arguments: object, output: object, *place: Any, **more: Any) -> Span:
    attributes = {"mlflow.spanInputs": json.dumps(arguments), "mlflow.spanOutputs": json.dumps(output)}
    return ml("TOOL", name, *place, attributes=attributes, **more)


def openai_turn(number: int, at: float, messages: list[Any], *asked: tuple[str, str, Any]) -> list[Span]:
    """A request as OpenAI Agents tells of it, and inside as the client does, with the tools that were offered."""
    calls: list[Any] = [
        {"type": "function_call", "call_id": one, "name": name, "arguments": json.dumps(a)} for one, name, a in asked
    ]
    answer = calls or [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
        "additionalProperties": False,
    }
    tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name in ("get", "pay")]
    outer = {"mlflow.spanInputs": json.dumps(messages), "mlflow.spanOutputs": json.dumps(answer)}
    inner = {
        "mlflow.spanInputs": json.dumps({"input": messages}),
        "mlflow.spanOutputs": json.dumps({"output": answer}),
        "mlflow.chat.tools": json.dumps(tools),
    }
    return [
        ml("CHAT_MODEL", "Response", number, 3, at, 5, attributes=outer, status=1),
        ml("CHAT_MODEL", "AsyncResponses", number + 1, number, at + 1, 3, attributes=inner, status=1),
    ]


GO = [{"role": "user", "content": "go"}]
PAY = {"type": "function_call", "call_id": "call_of_the_payment", "name": "pay", "arguments": '{"x": 7}'}


def told_of(call: Any, output: str) -> Any:
    return {"type": "function_call_output", "call_id": call["call_id"], "output": output}


def test_a_call_of_openai_agents_that_waits_for_an_approval_may_not_have_run() -> None:
    asked = [("call_of_the_question", "get", {"x": 1}), ("call_of_the_payment", "pay", {"x": 7})]
    run = run_of(
        *openai_agents(
            *openai_turn(4, 1, GO, *asked),
            openai_function("get", {"x": 1}, "18", 6, 3, 10, status=1),
            openai_function("pay", {"x": 7}, None, 7, 3, 11, status=1),
        )
    )
    assert (run.agent, run.user_input) == ("trip", "go")
    assert (called(run), doubts(run)) == (["get", "(pay)"], ["other_traces", "uncertain_execution"])


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("Tool 'pay' timed out after 0.05 seconds.", ("error", [])),
        ("This payment is not allowed.", ("ok", ["uncertain_execution"])),
    ],
)
def test_what_openai_agents_tells_the_model_in_place_of_a_result(told: str, expected: tuple[str, list[str]]) -> None:
    """OpenAI Agents 0.24 under MLflow 3.18: the span ends well where the tool timed out, or a guardrail answered."""
    run = run_of(
        *openai_agents(
            *openai_turn(4, 1, GO, ("call_of_the_payment", "pay", {"x": 7})),
            openai_function("pay", {"x": 7}, told, 6, 3, 10, status=1),
            output="done",
        )
    )
    assert (run.trajectory.calls[0].status, doubts(run)) == expected


def test_a_denial_in_an_earlier_trace_is_not_that_of_a_call_asked_for_next() -> None:
    denied = [*GO, PAY, told_of(PAY, "Tool execution was not approved.")]
    run = run_of(
        *openai_agents(
            *openai_turn(4, 1, denied, ("call_of_the_question", "get", {"x": 1})),
            openai_function("get", {"x": 1}, "18", 6, 3, 10, status=1),
            output="done",
        )
    )
    assert (called(run), doubts(run)) == (["get"], ["other_traces"])


@pytest.mark.parametrize(("arguments", "expected"), [({"x": 1}, (["get"], [])), ({"y": 1}, (["(get)"], []))])
def test_the_client_inside_tells_whether_a_call_fits_its_tool(arguments: Any, expected: Any) -> None:
    failed = "An error occurred while running the tool. Please try again."
    call = {
        "type": "function_call",
        "call_id": "call_of_the_question",
        "name": "get",
        "arguments": json.dumps(arguments),
    }
    run = run_of(
        *openai_agents(
            *openai_turn(4, 1, GO, ("call_of_the_question", "get", arguments)),
            openai_function("get", arguments, failed, 6, 3, 10, status=2, message="Error running tool (non-fatal)"),
            *openai_turn(7, 30, [*GO, call, told_of(call, failed)]),
            output="done",
        )
    )
    assert (called(run), doubts(run)) == expected


def test_an_agent_of_openai_agents_inside_a_tool_is_one_run() -> None:
    inner = {"mlflow.openai.agent_run_root": "true", "mlflow.spanInputs": '"go on"', "mlflow.spanOutputs": '"done"'}
    runs = runs_of(
        *openai_agents(
            *openai_turn(4, 1, GO, ("call_of_the_question", "get", {"x": 1})),
            openai_function("get", {"x": 1}, "18", 6, 3, 10, lasting=40, status=1),
            ml("AGENT", "AgentRunner.run", 7, 6, at=11, lasting=30, attributes=inner, status=1),
            ml("AGENT", "inner", 8, 6, at=12, lasting=29, status=1),
            openai_function("pay", {"x": 7}, "paid", 9, 8, 20, status=1),
            output="done",
        )
    )
    assert [(run.agent, called(run), doubts(run)) for run in runs] == [("trip", ["get"], []), ("inner", ["pay"], [])]


def pydantic_ai(kind: str, number: int, parent: int, at: float, given: object, output: object, **more: Any) -> Span:
    told = {"mlflow.spanInputs": json.dumps(given), "mlflow.spanOutputs": json.dumps(output)}
    attributes = {**told, "mlflow.message.format": '"pydantic_ai"', "name": '"travel"'}
    return ml(
        kind, "Agent.run" if kind == "AGENT" else "Model.request", number, parent, at, attributes=attributes, **more
    )


def part(kind: str, call_id: str, name: str, **more: Any) -> dict[str, Any]:
    return {"part_kind": kind, "tool_call_id": call_id, "tool_name": name, **more}


ASKS_GET, ASKS_PAY = part("tool-call", "c1", "get", args="{}"), part("tool-call", "c2", "pay", args='{"sum": 5}')
GOT = part("tool-return", "c1", "get", content="it", outcome="success")


@pytest.mark.parametrize("calls", [{"calls": [], "approvals": [ASKS_PAY]}, {"calls": [ASKS_PAY], "approvals": []}])
def test_a_run_of_pydantic_ai_that_ends_with_calls_for_others_waits(calls: dict[str, Any]) -> None:
    run = run_of(
        pydantic_ai("AGENT", 1, 0, 0, {"user_prompt": "go"}, {"output": calls, "_state": {}}, lasting=100),
        pydantic_ai("LLM", 2, 1, 1, {"messages": []}, {"parts": [ASKS_GET]}),
        ml("TOOL", "get", 3, 1, 20, attributes={"mlflow.spanInputs": "{}", "mlflow.spanOutputs": '"it"'}, status=1),
        pydantic_ai("LLM", 4, 1, 40, {"messages": [{"parts": [ASKS_GET]}, {"parts": [GOT]}]}, {"parts": [ASKS_PAY]}),
    )
    assert (run.agent, sorted(called(run)), doubts(run)) == ("travel", ["(pay)", "get"], ["other_traces"])


@pytest.mark.parametrize(
    ("answers", "expected"), [({"deferred_tool_results": {"approvals": {"c2": True}}}, True), ({}, False)]
)
def test_a_run_of_pydantic_ai_that_begins_with_answers_began_elsewhere(
    answers: dict[str, Any], *, expected: bool
) -> None:
    told = {
        "messages": [{"parts": [ASKS_GET, ASKS_PAY]}, {"parts": [part("tool-return", "c2", "pay", content="paid")]}]
    }
    run = run_of(
        pydantic_ai("AGENT", 1, 0, 0, {"message_history": [], **answers}, {"output": "Done."}, lasting=100),
        ml("TOOL", "pay", 2, 1, 5, attributes={"mlflow.spanInputs": '{"sum": 5}', "mlflow.spanOutputs": '"paid"'}),
        pydantic_ai("LLM", 3, 1, 20, told, {"parts": [{"part_kind": "text", "content": "Done."}]}),
    )
    assert "pay" in called(run)
    assert ("other_traces" in doubts(run)) is expected


def test_calls_of_pydantic_ai_that_no_tool_takes_are_refused() -> None:
    words = "Unknown tool name: 'delete'. Available tools: 'get'"
    refused = part("tool-return", "c3", "delete", content=words, outcome="retried")
    delete = part("tool-call", "c3", "delete", args="{}")
    run = run_of(
        pydantic_ai("AGENT", 1, 0, 0, {"user_prompt": "go"}, {"output": "Done."}, lasting=100),
        pydantic_ai("LLM", 2, 1, 1, {"messages": []}, {"parts": [delete, ASKS_GET]}),
        ml("TOOL", "get", 3, 1, 20, attributes={"mlflow.spanInputs": "{}", "mlflow.spanOutputs": '"it"'}),
        pydantic_ai(
            "LLM", 4, 1, 40, {"messages": [{"parts": [delete, ASKS_GET]}, {"parts": [refused, GOT]}]}, {"parts": []}
        ),
    )
    assert (sorted(called(run)), doubts(run)) == (["(delete)", "get"], [])


@pytest.mark.parametrize("key", ["gen_ai.agent.name", "haystack.component.name"])
def test_an_agent_whose_span_another_tracer_began_has_the_name_that_it_has_there(key: str) -> None:
    """Strands', and Haystack's: a rule for the agent had not matched its runs."""
    attributes = {key: "travel"}
    assert run_of(ml("AGENT", "invoke_agent travel", 1, attributes=attributes), tool_span("get", {})).agent == "travel"


def test_the_span_of_another_tracer_of_which_mlflow_says_nothing_is_what_that_tracer_says() -> None:
    """Haystack's, with a hook that a human answers: the hook had been an agent inside one of another name."""
    unknown = {"mlflow.spanType": "null"}
    tool = {"haystack.tool.name": "get", "haystack.agent.step.tool.input": "{}", **unknown}
    runs = runs_of(
        span("haystack.agent.run", 1, lasting=100, attributes={"haystack.agent.max_steps": 6, **unknown}),
        span("haystack.agent.step", 2, 1, 1, 90, attributes=unknown),
        span("haystack.agent.hook", 3, 2, 2, 5, attributes={"haystack.agent.hook.point": "before_tool", **unknown}),
        span("haystack.agent.step.tool", 4, 2, 20, 5, attributes=tool),
    )
    assert [(run.agent, called(run), doubts(run)) for run in runs] == [(None, ["get"], [])]


@pytest.mark.parametrize("status", [1, 2])
def test_a_call_asked_for_last_may_have_run_where_a_span_of_a_call_has_no_name(status: int) -> None:
    """smolagents, with OpenAI's client traced as well: the span of a call has the class of its tool for a name."""
    function = {"name": "pay", "arguments": '{"sum": 5}'}
    message = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    answer = {"choices": [{"finish_reason": "tool_calls", "message": message}]}
    asks = {"mlflow.spanInputs": '{"messages": []}', "mlflow.spanOutputs": json.dumps(answer)}
    given = {"mlflow.spanInputs": '{"sanitize_inputs_outputs": true, "kwargs": {"sum": 5}}'}
    run = run_of(
        ml("AGENT", "ToolCallingAgent.run", 1, lasting=100, status=1),
        ml("CHAT_MODEL", "Completions", 2, 1, 1, 9, attributes=asks, status=1),
        ml("TOOL", "SimpleTool.__call__", 3, 1, 20, 9, attributes=given, status=status),
    )
    assert (called(run), "uncertain_execution" in doubts(run)) == (["(pay)"], True)
