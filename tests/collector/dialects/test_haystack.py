"""Haystack's own tracing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from tests.builders import agent_span, called, doubts, read_tool, run_of, runs_of, span, steps

USER = {"messages": [{"role": "user", "content": [{"text": "pay it"}]}]}
REPLY = {
    "replies": [
        {"role": "assistant", "content": [{"tool_call": {"tool_name": "pay", "arguments": {"n": 1}, "id": "c1"}}]}
    ]
}
INPUT = {
    "messages": [
        {"role": "assistant"},
        {"role": "tool", "content": [{"tool_call_result": {"result": "no", "origin": {"id": "c1"}, "error": True}}]},
    ]
}


def component(kind: str, number: int, parent: int, at: float, lasting: float = 5, **values: Any) -> Any:
    attributes = {
        "haystack.component.type": kind,
        **{f"haystack.component.{key}": value for key, value in values.items()},
    }
    return span("haystack.component.run", number, parent, at, lasting, attributes=attributes)


@pytest.mark.parametrize("failed", [True, "true"])  # as text where the trace came through Zipkin's format
def test_a_tool_span_of_version_3(failed: object) -> None:
    attributes = {
        "haystack.tool.name": "pay",
        "haystack.agent.step.tool.input": '{"n": 1}',
        "haystack.tool.error": failed,
    }
    assert read_tool(span("haystack.agent.step.tool", 2, 1, attributes=attributes)) == ("pay", None, {"n": 1}, "error")


@pytest.mark.parametrize(
    ("error", "expected", "doubted"),
    [
        ("Failed to invoke Tool `pay`. Error: missing a required argument: 'n'", "pay", ["uncertain_execution"]),
        ("Failed to invoke Tool `pay`. Error: card declined", "pay", []),
        ("Tool pay not found", "(pay)", []),
    ],
)
def test_the_error_of_a_tool_span_of_version_3(error: str, expected: str, doubted: list[str]) -> None:
    attributes = {
        "haystack.tool.name": "pay",
        "haystack.tool.error": True,
        "haystack.agent.step.tool.output": json.dumps({"error": error}),
    }
    run = run_of(agent_span(), span("haystack.agent.step.tool", 2, 1, attributes=attributes))
    assert (called(run), doubts(run)) == ([expected], doubted)


def test_a_failure_without_content_may_be_a_refusal() -> None:
    attributes = {"haystack.tool.name": "pay", "haystack.tool.error": True}
    run = run_of(agent_span(), span("haystack.agent.step.tool", 2, 1, attributes=attributes))
    assert (called(run), doubts(run)) == (["pay"], ["uncertain_execution"])


def test_a_run_of_version_3() -> None:
    outer, inner = runs_of(
        span(
            "haystack.pipeline.run",
            1,
            lasting=200,
            attributes={"haystack.pipeline.metadata": "{}", "haystack.pipeline.input_data": "{}"},
        ),
        component("Agent", 2, 1, 1, 190, name="travel", input=json.dumps(USER)),
        span(
            "haystack.agent.run",
            3,
            2,
            2,
            180,
            attributes={"haystack.agent.max_steps": 5, "haystack.agent.input": json.dumps(USER)},
        ),
        span(
            "haystack.agent.step.llm",
            4,
            3,
            3,
            5,
            attributes={
                "haystack.agent.step.llm.input": json.dumps(USER),
                "haystack.agent.step.llm.output": json.dumps(REPLY),
            },
        ),
        span("haystack.agent.step.tool", 5, 3, 10, 50, attributes={"haystack.tool.name": "pay"}),
        span("haystack.agent.run", 6, 5, 11, 40, attributes={"haystack.agent.max_steps": 5}),
        span("haystack.agent.step.tool", 7, 6, 12, attributes={"haystack.tool.name": "look"}),
    )
    assert (outer.agent, outer.user_input, called(outer)) == ("travel", "pay it", ["pay"])
    assert (outer.trajectory.calls[0].id, outer.trajectory.calls[0].arguments) == ("c1", {"n": 1})
    assert (inner.agent, called(inner), inner.parent_span_id) == (None, ["look"], outer.span_id)


def test_calls_of_one_answer_of_which_no_content_was_recorded_may_be_in_any_order() -> None:
    """haystack-ai 3.4, whose tools run in threads: without content, the span of a request has no attributes."""
    run = run_of(
        span("haystack.agent.run", 1, lasting=90, attributes={"haystack.agent.max_steps": 100}),
        span("haystack.agent.step", 2, 1, at=1, lasting=30, attributes={"haystack.agent.step": 0}),
        span("haystack.agent.step.llm", 3, 2, at=2, lasting=10),
        *(
            span("haystack.agent.step.tool", number, 2, number * 5, 1, attributes={"haystack.tool.name": name})
            for number, name in ((4, "look"), (5, "pay"))
        ),
        span("haystack.agent.step", 6, 1, at=40, lasting=30, attributes={"haystack.agent.step": 1}),
        span("haystack.agent.step.llm", 7, 6, at=41, lasting=10),
        span("haystack.agent.step.tool", 8, 6, 60, 1, attributes={"haystack.tool.name": "drop"}),
    )
    assert (called(run), steps(run), doubts(run)) == (["look", "pay", "drop"], [0, 0, 1], ["uncertain_order"])


def test_a_run_of_version_2_takes_calls_from_the_generator() -> None:
    outer, inner = runs_of(
        component("Agent", 1, 0, 0, 200, name="travel", input=json.dumps(USER)),
        component("OpenAIChatGenerator", 2, 1, 1, output=json.dumps(REPLY), input=json.dumps(USER)),
        component("ToolInvoker", 3, 1, 10, 50),
        span("haystack.agent.run", 4, 3, 11, 40, attributes={"haystack.agent.max_steps": 5}),
        component("OpenAIChatGenerator", 5, 4, 12, output=json.dumps(REPLY).replace("pay", "look").replace("c1", "c2")),
        component("OpenAIChatGenerator", 6, 4, 30),
        component("OpenAIChatGenerator", 7, 1, 80, input=json.dumps(INPUT)),
    )
    assert [(call.name, call.status) for call in outer.trajectory.calls] == [("pay", "error")]
    assert (called(inner), inner.started_by is not None) == (["look"], True)


def confirmed_run(arguments: object, result: str, *, name: str = "pay", is_error: bool = False) -> Any:
    """A run of version 2 with a human in the loop, who was asked about the call of REPLY."""
    origin = {"tool_name": name, "arguments": arguments, "id": "c1", "extra": None}
    asked = json.dumps(REPLY).replace("pay", name)
    told = {"tool_call_result": {"result": result, "origin": origin, "error": is_error}}
    messages = [
        *USER["messages"],
        {"role": "assistant", "content": [{"tool_call": origin}]},
        {"role": "tool", "content": [told]},
    ]
    return run_of(
        component("Agent", 1, 0, 0, 200, name="travel", input=json.dumps(USER)),
        component("OpenAIChatGenerator", 2, 1, 1, output=asked, input=json.dumps(USER)),
        component("ToolInvoker", 3, 1, 10, 50),
        component("OpenAIChatGenerator", 4, 1, 80, input=json.dumps({"messages": messages})),
    )


def test_a_call_ran_with_the_arguments_to_which_a_human_changed_it() -> None:
    run = confirmed_run({"n": 2}, "paid")
    assert [(call.name, call.arguments, call.status) for call in run.trajectory.calls] == [("pay", {"n": 2}, "ok")]
    assert doubts(run) == []


def run_that_ends_with_tools(*results: dict[str, Any], state: str = "{}", asked: Any = REPLY) -> Any:
    """A run of version 2 with ``exit_conditions``: no model is told what came of its last calls."""
    messages: list[Any] = [{"role": "tool", "meta": {}, "content": [{"tool_call_result": one}]} for one in results]
    output = f'{{"tool_messages": {json.dumps(messages)}, "state": {state}}}'
    return run_of(
        component("Agent", 1, 0, 0, 200, name="travel", input=json.dumps(USER)),
        component("OpenAIChatGenerator", 2, 1, 1, output=json.dumps(asked), input=json.dumps(USER)),
        component("ToolInvoker", 3, 1, 10, 50, output=output),
    )


def result(text: str, call_id: str = "c1", *, is_error: bool = False, **arguments: Any) -> dict[str, Any]:
    origin = {"tool_name": "pay", "arguments": arguments or {"n": 1}, "id": call_id, "extra": None}
    return {"result": text, "origin": origin, "error": is_error}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (result("paid"), ("pay", "ok", {"n": 1})),
        (result("paid", n=2), ("pay", "ok", {"n": 2})),
        (result("Failed to invoke Tool `pay`. Error: card declined", is_error=True), ("pay", "error", {"n": 1})),
        (result("Tool pay not found in the list of tools", is_error=True), ("(pay)", "unset", {"n": 1})),
    ],
)
def test_the_calls_of_the_last_step_of_version_2(told: dict[str, Any], expected: tuple[str, str, Any]) -> None:
    run = run_that_ends_with_tools(told)
    [call] = run.trajectory.calls
    assert (called(run), call.status, call.arguments) == ([expected[0]], *expected[1:])
    assert doubts(run) == []


def test_a_call_of_the_last_step_without_a_result_is_in_doubt() -> None:
    two = [{"tool_call": {"tool_name": "pay", "arguments": {"n": n}, "id": f"c{n}"}} for n in (1, 2)]
    run = run_that_ends_with_tools(result("paid"), asked={"replies": [{"role": "assistant", "content": two}]})
    assert (called(run), doubts(run)) == (["pay", "(pay)"], ["uncertain_execution", "unobserved_results"])


def test_what_stands_behind_the_results_is_not_read() -> None:
    conversation = {"messages": [{"role": "tool", "content": [{"tool_call_result": result("no", is_error=True)}]}]}
    run = run_that_ends_with_tools(result("paid"), state=json.dumps(conversation) + '"cut')
    assert [(call.name, call.status) for call in run.trajectory.calls] == [("pay", "ok")]


@pytest.mark.parametrize(
    "output", ['{"tool_messages": [', '{"tool_messages": ' + "[" * 100_000, '{"tool_messages": {}}']
)
def test_results_that_cannot_be_read_leave_the_calls_in_doubt(output: str) -> None:
    run = run_of(
        component("Agent", 1, 0, 0, 200, name="travel", input=json.dumps(USER)),
        component("OpenAIChatGenerator", 2, 1, 1, output=json.dumps(REPLY), input=json.dumps(USER)),
        component("ToolInvoker", 3, 1, 10, 50, output=output),
    )
    assert doubts(run) != []


def test_openinference_records_no_id_of_a_call_that_a_human_changed() -> None:
    output = "llm.output_messages.0.message.tool_calls.0.tool_call.function."
    call = "ToolCall(tool_name='pay', arguments={'n': 2}, id='c1', extra=None)"
    asked = f"ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[{call}], _name=None, _meta={{}})"
    told = f"ToolCallResult(result='paid', origin={call}, error=False)"
    told = f"ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[{told}], _name=None, _meta={{}})"
    kind = {"openinference.span.kind": "LLM"}
    first = {**kind, f"{output}name": "pay", f"{output}arguments": '{"n": 1}'}
    second = {**kind, "input.value": json.dumps({"messages": [asked, told]}), "output.value": "Done."}
    run = run_of(
        agent_span("travel", 1, lasting=100),
        span("OpenAIChatGenerator.run", 2, 1, 1, 5, attributes=first, status=1),
        span("OpenAIChatGenerator.run", 3, 1, 20, 5, attributes=second, status=1),
    )
    assert [(call.name, call.arguments, call.status) for call in run.trajectory.calls] == [("pay", {"n": 2}, "ok")]


def test_a_call_that_a_human_rejected() -> None:
    words = "Tool execution for 'delete_account' was rejected by the user. With feedback: Not on Fridays."
    run = confirmed_run({"n": 1}, words, name="delete_account", is_error=True)
    assert (called(run), doubts(run)) == (["(delete_account)"], [])


def test_inputs_with_a_callback_are_no_json() -> None:
    call = "ToolCall(tool_name='pay', arguments={'n': 1}, id='c1', extra=None)"
    asked = f"ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[{call}], _name=None, _meta={{}})"
    told = f"ToolCallResult(result='paid', origin={call}, error=False)"
    told = f"ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[{told}], _name=None, _meta={{}})"
    callback = "<function stream.<locals>.<lambda> at 0x7fcd14faa660>"
    run = run_of(
        component("Agent", 1, 0, 0, 200, name="travel", input=json.dumps(USER)),
        component("OpenAIChatGenerator", 2, 1, 1, output=json.dumps(REPLY), input=json.dumps(USER)),
        component("ToolInvoker", 3, 1, 10, 50),
        component(
            "OpenAIChatGenerator",
            4,
            1,
            80,
            input=f"{{'messages': [{asked}, {told}], 'streaming_callback': {callback}}}",
        ),
    )
    assert [(call.name, call.status) for call in run.trajectory.calls] == [("pay", "ok")]
    assert doubts(run) == []


def test_other_components_are_ignored() -> None:
    assert dialects.read_span(component("PromptBuilder", 2, 1, 0)) is IGNORED
    assert run_of(component("Agent", 1, 0, 0, name="a")).dialect == "haystack"


def hook_of(point: str, number: int, parent: int, at: float) -> Any:
    attributes = {
        "haystack.agent.hook.point": point,
        "haystack.agent.hook.name": "cached",
        "haystack.agent.hook.type": "haystack.hooks.from_function.FunctionHook",
    }
    return span("haystack.agent.hook", number, parent, at, 1, attributes=attributes)


@pytest.mark.parametrize(
    ("point", "expected"),
    [("before_tool", ["uncertain_execution", "unobserved_results"]), ("after_tool", ["unobserved_results"])],
)
def test_a_hook_before_tools_may_answer_in_place_of_one(point: str, expected: list[str]) -> None:
    # haystack-ai 3.4: the hook put a result beside the call, so that no tool ran.
    told = {
        "role": "tool",
        "content": [{"tool_call_result": {"result": "cached", "origin": {"id": "c1"}, "error": False}}],
    }
    paid = {"haystack.tool.name": "pay", "haystack.agent.step.tool.input": '{"n": 2}'}
    again = json.dumps(REPLY).replace("c1", "c2").replace('"n": 1', '"n": 2')
    messages = [*USER["messages"], *REPLY["replies"], told]

    def llm(number: int, parent: int, at: float, output: str, *given: Any) -> Any:
        told = json.dumps({"messages": given})
        attributes = {"haystack.agent.step.llm.output": output, "haystack.agent.step.llm.input": told}
        return span("haystack.agent.step.llm", number, parent, at, 5, attributes=attributes)

    run = run_of(
        span("haystack.agent.run", 1, lasting=200, attributes={"haystack.agent.max_steps": 100}),
        span("haystack.agent.step", 2, 1, 1, 20),
        llm(3, 2, 2, json.dumps(REPLY), *USER["messages"]),
        hook_of(point, 4, 2, 10),
        span("haystack.agent.step", 5, 1, 30, 30),
        llm(6, 5, 31, again, *messages),
        hook_of(point, 7, 5, 40),
        span("haystack.agent.step.tool", 8, 5, 45, 5, attributes=paid),
        span("haystack.agent.step", 9, 1, 70, 20),
        llm(10, 9, 71, json.dumps({"replies": [{"role": "assistant", "content": [{"text": "done"}]}]}), *messages),
    )
    assert (called(run), doubts(run)) == (["pay", "pay"], expected)


@pytest.mark.parametrize(("kept", "expected"), [(70, ["unrecorded_calls"]), (1000, [])])
def test_an_answer_of_which_the_end_was_cut_off_may_have_asked_for_calls(kept: int, expected: list[str]) -> None:
    said = json.dumps(
        {"replies": [{"role": "assistant", "content": [{"text": "I shall look into that, and tell you."}]}]}
    )
    run = run_of(
        component("Agent", 1, 0, 0, 100, name="till"),
        component("OpenAIChatGenerator", 2, 1, 1, input=json.dumps(USER), output=said[:kept]),
    )
    assert (called(run), doubts(run)) == ([], expected)
