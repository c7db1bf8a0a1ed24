"""OpenLLMetry / Traceloop, old and new."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import (
    agent_span,
    called,
    doubts,
    genai_spans,
    model_span,
    read_tool,
    reconstruct,
    run_of,
    runs_of,
    span,
    span_id,
    span_of_kind,
    tool_span,
)

TASK = {"traceloop.span.kind": "task"}
LLAMA_INDEX = "opentelemetry.instrumentation.llamaindex"


tl = partial(span_of_kind, "traceloop.span.kind")


ENVELOPE = {
    "input_str": "{'city': 'Paris'}",
    "tags": [],
    "metadata": {},
    "inputs": {"city": "Paris"},
    "kwargs": {"tool_call_id": "c1"},
}
WITHOUT_INPUTS = {"input_str": "{'city': 'Paris'}", "kwargs": {}}
MESSAGE = json.dumps({"lc": 1, "kwargs": {"name": "get", "tool_call_id": "c1", "status": "success"}})


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        (
            "get.tool",
            {"traceloop.entity.name": "get", "traceloop.entity.input": '{"args": [], "kwargs": {"city": "Paris"}}'},
            ("get", None, {"city": "Paris"}),
        ),
        (
            "get.tool",
            {"traceloop.entity.input": '{"args": [{"city": "Paris"}], "kwargs": {}}'},
            ("get", None, {"city": "Paris"}),
        ),
        (
            "get.tool",
            {"traceloop.entity.input": '{"args": ["{\\"city\\": \\"Paris\\"}"]}'},
            ("get", None, {"city": "Paris"}),
        ),
        ("get.tool", {"traceloop.entity.input": '{"args": [], "kwargs": {}}'}, ("get", None, {})),
        (
            "get.tool",
            {"traceloop.entity.input": '{"tool_name": "get", "arguments": {"city": "Paris"}}'},
            ("get", None, {"city": "Paris"}),
        ),
        ("get.tool", {"traceloop.entity.input": '{"city": "Paris"}'}, ("get", None, {"city": "Paris"})),
        (
            "execute_tool get",
            {"gen_ai.tool.name": "get", "gen_ai.tool.call.arguments": json.dumps(ENVELOPE)},
            ("get", "c1", {"city": "Paris"}),
        ),
        (
            "get.tool",
            {"traceloop.entity.name": "get", "traceloop.entity.input": json.dumps(WITHOUT_INPUTS)},
            ("get", None, {"city": "Paris"}),
        ),
        (
            "execute_tool X",
            {
                "traceloop.entity.name": "DynamicStructuredTool",
                "traceloop.entity.input": '{"args": ["{\\"city\\": \\"Paris\\"}"]}',
                "traceloop.entity.output": MESSAGE,
            },
            ("get", "c1", {"city": "Paris"}),
        ),
        ("get.tool", {"gen_ai.tool.name": "get"}, ("get", None, None)),
    ],
)
def test_a_tool_span(name: str, attributes: dict[str, Any], expected: Any) -> None:
    assert read_tool(tl("tool", name, 2, 1, attributes=attributes))[:3] == expected


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("status='failure' result=None error='declined'", "error"),
        ("status='success' result='ok' error=None", "ok"),
        ('{"result":"declined","is_error":true}', "error"),
        ('{"result":"fine"}', "ok"),
    ],
)
def test_a_failure_recorded_in_the_output_alone(output: str, status: str) -> None:
    assert (
        read_tool(tl("tool", "pay.tool", 2, 1, status=1, attributes={"traceloop.entity.output": output}))[3] == status
    )


def test_a_call_that_agno_refused_for_its_arguments_did_not_run() -> None:
    error = (
        "1 validation error for book_hotel\\nnights\\n  Missing required argument [type=missing_argument, "
        "input_value=ArgsKwargs((), {'city': 'Rome'}), input_type=ArgsKwargs]"
    )
    output = f"""status='failure' result=None error="{error}" updated_session_state=None images=None"""
    attributes = {"gen_ai.tool.name": "book_hotel", "traceloop.entity.input": '{"city": "Rome"}'}
    attributes["traceloop.entity.output"] = output
    refused = tl("tool", "book_hotel.tool", 2, 1, status=1, attributes=attributes)
    run = run_of(tl("agent", "travel.agent", 1, status=1), refused)
    assert (called(run), doubts(run)) == (["(book_hotel)"], [])


def of_agno(kind: str, name: str, number: int, parent: int, at: float, lasting: float) -> Span:
    attributes = {"gen_ai.agent.name" if kind == "agent" else "gen_ai.tool.name": name, "traceloop.entity.input": "{}"}
    scope = "opentelemetry.instrumentation.agno"
    return tl(kind, f"{name}.{kind}", number, parent, at, lasting, attributes=attributes, status=1, scope=scope)


def test_what_agno_does_while_it_streams_is_beside_its_agent() -> None:
    """OpenLLMetry 0.62: the span of an agent that streams is never the current one, so nothing is inside."""
    runs = runs_of(
        span("POST /chat", 1, lasting=300),
        of_agno("agent", "travel", 2, 1, 1, 100), of_agno("tool", "ask", 3, 1, 10, 60),
        of_agno("agent", "policy", 4, 3, 11, 50), of_agno("tool", "look", 5, 3, 20, 10), of_agno("tool", "mail", 6, 1, 80, 10),
        of_agno("agent", "billing", 7, 1, 150, 50), of_agno("tool", "pay", 8, 1, 160, 10), tool_span("log", {}, 9, 1, at=250),
    )  # fmt: skip
    found = {run.agent: (called(run), run.parent_span_id) for run in runs}
    agents = {"travel": (["ask", "mail"], None), "policy": (["look"], span_id(2)), "billing": (["pay"], None)}
    assert found == agents | {None: (["log"], None)}


def test_llamaindex_names_the_tool_in_its_output() -> None:
    output = {"blocks": [], "tool_name": "get", "raw_input": {}}
    attributes = {
        "traceloop.entity.name": "FunctionTool.task",
        "traceloop.entity.input": '{"kwargs": {"a": 1}}',
        "traceloop.entity.output": json.dumps(output),
    }
    assert read_tool(tl("task", "FunctionTool.task", 2, 1, attributes=attributes))[:3] == ("get", None, {"a": 1})


def test_agents_and_workflows() -> None:
    outer, inner = runs_of(
        tl(
            "workflow",
            "w.workflow",
            1,
            attributes={"traceloop.entity.name": "w", "traceloop.entity.input": '{"args": ["hi"], "kwargs": {}}'},
        ),
        tl(
            "agent",
            "travel.agent",
            2,
            1,
            attributes={"gen_ai.agent.name": "travel", "traceloop.association.properties.thread_id": "conv"},
        ),
        tl("tool", "ask.tool", 3, 2, at=1, lasting=50),
        tl("agent", "policy.agent", 4, 3, at=2),
        tl("tool", "look.tool", 5, 4, at=3),
    )
    assert (outer.agent, outer.user_input, outer.conversation_id, called(outer)) == ("travel", "hi", "conv", ["ask"])
    assert (inner.agent, called(inner), inner.parent_span_id) == ("policy", ["look"], outer.span_id)


def test_a_langchain_task_with_the_agents_name_is_its_run_and_the_empty_agent_span_beside_it_a_duplicate() -> None:
    named = {"traceloop.entity.name": "policy", "traceloop.association.properties.lc_agent_name": "policy"}
    outer, inner = runs_of(
        span(
            "invoke_agent travel",
            1,
            attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "travel"},
            lasting=100,
        ),
        tl("tool", "ask.tool", 2, 1, at=1, lasting=90),
        span(
            "invoke_agent policy",
            3,
            2,
            2,
            80,
            attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "policy"},
        ),
        tl("task", "execute_task policy", 4, 2, at=3, lasting=75, attributes=named),
        tl("tool", "look.tool", 5, 4, at=4),
    )
    assert (outer.agent, called(outer), inner.agent, called(inner)) == ("travel", ["ask"], "policy", ["look"])


INDEXED = {
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Help.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": "pay it",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.tool_calls.0.id": "c1",
    "gen_ai.completion.0.tool_calls.0.name": "pay",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"order": 7}',
    "gen_ai.completion.0.tool_calls.1.name": "mail",
    "gen_ai.completion.0.tool_calls.1.arguments": "{}",
}


def test_flattened_messages_of_old_releases() -> None:
    after = {
        **INDEXED,
        "gen_ai.prompt.2.role": "tool",
        "gen_ai.prompt.2.tool_call_id": "c1",
        "gen_ai.prompt.2.content": "Error: no",
    }
    after = {key: value for key, value in after.items() if "tool_calls" not in key}
    run = run_of(
        span("POST", 1, lasting=100),
        span("openai.chat", 2, 1, 1, 5, attributes=INDEXED),
        span("openai.chat", 3, 1, 20, 5, attributes=after),
    )
    assert [(call.id, call.name, call.arguments, call.status) for call in run.trajectory.calls] == [
        ("c1", "pay", {"order": 7}, "error"),
        (None, "mail", {}, "unset"),
    ]
    assert run.user_input == "pay it"


def test_a_langchain_js_step_has_the_calls_its_chat_span_lacks() -> None:
    update = {
        "output": [
            {
                "update": {
                    "messages": [
                        {"id": ["AIMessage"], "kwargs": {"tool_calls": [{"name": "pay", "args": {"n": 1}, "id": "c1"}]}}
                    ]
                }
            }
        ]
    }
    history = {
        "messages": [
            {"id": ["HumanMessage"], "kwargs": {}},
            {"kwargs": {"tool_calls": [{"name": "old", "args": {}, "id": "c0"}]}},
        ]
    }
    run = run_of(
        span("POST", 1, lasting=100),
        tl(
            "workflow",
            "workflow RunnableSequence",
            2,
            1,
            at=1,
            attributes={"gen_ai.operation.name": "workflow", "traceloop.entity.output": json.dumps(update)},
        ),
        tl(
            "workflow",
            "workflow RunnableLambda",
            3,
            1,
            at=2,
            attributes={"gen_ai.operation.name": "workflow", "traceloop.entity.output": json.dumps(history)},
        ),
        model_span(number=4, at=1),
        tl(
            "task",
            "execute_tool DynamicStructuredTool",
            5,
            1,
            at=20,
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "pay",
                "traceloop.entity.input": '{"args": ["{\\"n\\": 1}"]}',
            },
        ),
    )
    assert [(call.id, call.name, call.arguments) for call in run.trajectory.calls] == [("c1", "pay", {"n": 1})]


def test_a_call_that_a_graph_of_langchain_js_asked_for_and_no_span_shows_may_wait_for_a_human() -> None:
    asked = {"id": ["AIMessage"], "kwargs": {"tool_calls": [{"name": "pay", "args": {"n": 1}, "id": "c1"}]}}
    update = {"output": [{"update": {"messages": [asked]}}]}
    step = {"gen_ai.operation.name": "workflow", "traceloop.entity.output": json.dumps(update)}
    run = run_of(
        span("POST", 1, lasting=100),
        tl("workflow", "workflow RunnableSequence", 2, 1, at=1, attributes=step),
        model_span(number=4, at=2),
        tl("workflow", "workflow RunnableSequence", 5, 1, at=20, attributes={"gen_ai.operation.name": "workflow"}),
    )
    assert (called(run), doubts(run)) == (["(pay)"], ["uncertain_execution", "unobserved_results"])


def test_what_a_supervisor_of_langgraph_js_is_told_of_an_agent_that_is_done_is_no_call() -> None:
    """langgraph-supervisor 1.0 for JavaScript: no tool ran."""
    asked = {"content": "", "tool_calls": [{"name": "transfer_to_cook", "args": {}, "id": "c1"}]}
    back = {"name": "transfer_back_to_supervisor", "args": {}, "id": "5f0e"}
    done = {"content": "Transferring back to supervisor", "name": "cook", "tool_calls": [back]}
    told = {"content": "Successfully transferred back to supervisor", "name": back["name"], "tool_call_id": "5f0e"}
    state = {"messages": [
        {"lc": 1, "id": ["HumanMessage"], "kwargs": {"content": "hi"}},
        {"lc": 1, "id": ["AIMessage"], "kwargs": asked},
        {"lc": 1, "id": ["ToolMessage"], "kwargs": {"content": "done", "name": "transfer_to_cook", "tool_call_id": "c1"}},
        {"lc": 1, "id": ["AIMessage"], "kwargs": done},
        {"lc": 1, "id": ["ToolMessage"], "kwargs": told},
    ]}  # fmt: skip
    step = {"gen_ai.operation.name": "workflow", "traceloop.entity.input": json.dumps(state)}
    call = {"gen_ai.operation.name": "execute_tool", "traceloop.entity.input": '{"args": ["{}"]}'}
    run = run_of(
        span("POST", 1, lasting=100),
        tl("workflow", "workflow RunnableSequence", 2, 1, at=1, attributes={"gen_ai.operation.name": "workflow"}),
        tl("task", "execute_tool DynamicStructuredTool", 3, 1, at=20, attributes={
            **call, "gen_ai.tool.name": "transfer_to_cook",
        }),
        tl("workflow", "workflow RunnableSequence", 5, 1, at=40, attributes=step),
    )  # fmt: skip
    assert called(run) == ["transfer_to_cook"]


def test_a_chat_of_llamaindex_has_its_calls_in_the_entity() -> None:
    output = {
        "message": {
            "role": "assistant",
            "additional_kwargs": {"tool_calls": [{"id": "c1", "function": {"name": "get", "arguments": "{}"}}]},
        }
    }
    chat = {
        **TASK,
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": '[{"role": "assistant", "parts": []}]',
        "traceloop.entity.output": json.dumps(output),
    }
    assert called(run_of(span("POST", 1, lasting=100), span("OpenAILike.task", 2, 1, attributes=chat))) == ["get"]


def test_a_flattened_prompt_tells_of_a_call_whose_request_was_lost() -> None:
    told = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "pay it",
        "gen_ai.prompt.1.role": "assistant",
        "gen_ai.prompt.1.tool_calls.0.id": "c1",
        "gen_ai.prompt.1.tool_calls.0.name": "pay",
        "gen_ai.prompt.1.tool_calls.0.arguments": '{"n": 1}',
        "gen_ai.prompt.2.role": "tool",
        "gen_ai.prompt.2.tool_call_id": "c1",
        "gen_ai.prompt.2.content": "paid",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "Done.",
    }
    first = span("openai.chat", 2, 1, 5, attributes={"gen_ai.completion.0.role": "assistant"})
    run = run_of(span("POST", 1, lasting=100), first, span("openai.chat", 3, 1, 20, attributes=told))
    (call,) = run.trajectory.calls
    assert (call.id, call.arguments, call.known_by, call.executed) == ("c1", {"n": 1}, "result", True)


@pytest.mark.parametrize("agents", [1, 2])
def test_the_output_of_a_crew_tells_of_the_calls_of_its_only_agent(agents: int) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}
    messages = [{"role": "user", "content": "Pay!"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    messages.append({"role": "tool", "content": "paid", "tool_call_id": "c1", "name": "pay"})
    outputs = f"[TaskOutput(description='Pay!', agent='a', output_format=<F.RAW: 'raw'>, messages={messages!r})]"
    attributes = {"gen_ai.operation.name": "invoke_agent", "crewai.crew.tasks_output": outputs}
    crew = span("crewai.workflow", 1, lasting=500, attributes=attributes)
    kind = {"traceloop.span.kind": "agent"}
    inner = [span(f"a{number}.agent", number + 2, 1, 10, 50, attributes=kind) for number in range(agents)]
    told = [(c.name, c.arguments, c.known_by) for run in runs_of(crew, *inner) for c in run.trajectory.calls]
    assert told == ([("pay", {"n": 1}, "result")] if agents == 1 else [])
    assert [doubts(run) for run in runs_of(crew, *inner)] == [[] if agents == 1 else ["nothing_recorded"]] * agents


def test_what_a_human_says_of_an_answer_begins_no_other_conversation_of_a_crew() -> None:
    """CrewAI 1.15 with ``human_input``: the agent goes on with its task."""
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}
    messages = [{"role": "user", "content": "Pay!"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    messages.append({"role": "tool", "content": "paid", "tool_call_id": "c1", "name": "pay"})
    instructions = "Instructions: Use this feedback to enhance the next output iteration.\nNote: Do not respond."
    messages += [{"role": "user", "content": f"User feedback: be longer\n{instructions}"}]
    outputs = f"[TaskOutput(description='Pay!', agent='a', output_format=<F.RAW: 'raw'>, messages={messages!r})]"
    attributes = {"gen_ai.operation.name": "invoke_agent", "crewai.crew.tasks_output": outputs}
    crew = span("crewai.workflow", 1, lasting=500, attributes=attributes)
    run = run_of(crew, span("a.agent", 2, 1, 10, 50, attributes={"traceloop.span.kind": "agent"}))
    assert (called(run), doubts(run)) == (["pay"], [])


def test_a_failed_tool_of_langchain_js_in_a_trace_of_its_own_has_no_name() -> None:
    run = run_of(
        tl(
            "task",
            "execute_tool DynamicStructuredTool",
            1,
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "traceloop.entity.name": "DynamicStructuredTool",
                "traceloop.entity.input": '{"args": ["{\\"n\\": 1}"]}',
            },
            status=2,
        )
    )
    assert (called(run), doubts(run)) == ([], ["missing_anchor", "unrecorded_calls"])


def test_respan_has_calls_and_messages_in_the_entitys_attributes_alone() -> None:
    asked = [{"content": "Pay.", "role": "user"}]
    pay = {
        "content": None,
        "role": "assistant",
        "tool_calls": [{"id": "c1", "function": {"name": "pay", "arguments": "{}"}}],
    }
    told = [*asked, pay, {"content": "paid", "role": "tool", "tool_call_id": "c1"}]

    def model(number: int, at: float, given: list[Any], answer: object) -> Span:
        attributes = {
            "respan.entity.log_type": "chat", "gen_ai.request.model": "m", "gen_ai.prompt.0.role": "user",
            "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "",
            "traceloop.entity.input": json.dumps(given), "traceloop.entity.output": json.dumps(answer),
        }  # fmt: skip
        return span("llm.m", number, 1, at, 5, attributes=attributes, scope="")

    attributes = {"respan.entity.log_type": "agent", "traceloop.entity.name": "travel"}
    tool = {
        "respan.entity.log_type": "tool", "traceloop.entity.name": "pay", "traceloop.entity.output": '"paid"',
        "traceloop.entity.input": '{"arguments": {}, "name": "pay"}',
    }  # fmt: skip
    run = run_of(
        span("agent.travel", 1, attributes=attributes, lasting=100, scope=""),
        model(2, 1, asked, pay),
        span("tool.pay", 3, 1, 10, attributes=tool, scope=""),
        model(4, 20, told, {"content": "Done.", "role": "assistant"}),
    )
    assert (called(run), run.trajectory.calls[0].id, doubts(run)) == (["pay"], "c1", [])


@pytest.mark.parametrize("encode", [str, json.dumps])
def test_a_step_of_a_llamaindex_workflow_tells_of_a_call_whose_span_was_never_exported(encode: Any) -> None:
    def step(number: int, at: float, call: str, *, fails: bool) -> Span:
        result = {"blocks": [], "tool_name": "pay", "raw_output": "declined", "is_error": fails}
        record = {"tool_name": "pay", "tool_kwargs": {"n": number}, "tool_id": call, "tool_output": result, "more": 0}
        attributes = {**TASK, "traceloop.entity.output": encode(json.dumps(record))}
        return span("call_tool.task", number, 1, at, attributes=attributes, scope=LLAMA_INDEX)

    output = {"traceloop.entity.input": '{"kwargs": {"n": 3}}', "traceloop.entity.output": '{"tool_name": "pay"}'}
    inner = span("FunctionTool.task", 4, 3, 31, 1, attributes={**TASK, **output}, scope=LLAMA_INDEX)
    agent = tl("workflow", "FunctionAgent.workflow", 1, lasting=100, scope=LLAMA_INDEX)
    run = run_of(agent, step(2, 10, "c1", fails=True), step(3, 30, "c2", fails=False), inner)
    calls = [(call.id, call.arguments, call.status) for call in run.trajectory.calls]
    assert calls == [("c1", {"n": 2}, "error"), ("c2", {"n": 3}, "unset")]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("Tool pay not found. Please select a tool that is available.", (["(pay)"], [])),
        ("pay() got an unexpected keyword argument 'tip'", (["pay"], ["uncertain_execution"])),
        ("no money", (["pay"], [])),
    ],
)
def test_a_step_of_a_llamaindex_workflow_tells_why_a_call_failed(told: str, expected: Any) -> None:
    """LlamaIndex 0.14: the framework's own words, or what the tool raised."""
    result = {
        "blocks": [{"block_type": "text", "text": told}],
        "tool_name": "pay",
        "raw_output": None,
        "is_error": True,
    }
    record = {"tool_name": "pay", "tool_kwargs": {"tip": 1}, "tool_id": "c1", "tool_output": result}
    attributes = {**TASK, "traceloop.entity.output": json.dumps(record)}
    step = span("call_tool.task", 2, 1, 10, attributes=attributes, scope=LLAMA_INDEX)
    run = run_of(tl("workflow", "FunctionAgent.workflow", 1, lasting=100, scope=LLAMA_INDEX), step)
    assert (called(run), doubts(run)) == expected


@pytest.mark.parametrize(("given", "read"), [("{}", ["get"]), ("Oslo", [])])
def test_a_call_asked_for_in_the_words_of_a_flattened_answer_is_not_overlooked(given: str, read: list[str]) -> None:
    words = f"Thought: I need a tool.\nAction: get\nAction Input: {given}"
    answers = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": words}
    run = run_of(span("POST", 1, lasting=100), span("openai.chat", 2, 1, attributes=answers))
    assert [call.name for call in run.trajectory.calls] == read
    assert doubts(run) == ["unobserved_results" if read else "unrecorded_calls"]


_LANGCHAIN = "opentelemetry.instrumentation.langchain"


def test_a_state_that_langgraph_injects_is_no_argument() -> None:
    """OpenLLMetry with LangGraph 0.6: ``state``, and ``log`` of an `InjectedState("messages")`."""
    message = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {}}
    inputs = {"city": "Paris", "state": {"messages": [message], "remaining_steps": 9}, "log": [message], "tags": ["a"]}
    given = {
        "traceloop.entity.name": "get",
        "traceloop.entity.input": json.dumps({"input_str": "{}", "inputs": inputs}),
    }
    assert read_tool(tl("tool", "get.tool", 2, 1, attributes=given))[2] == {"city": "Paris", "tags": ["a"]}


@pytest.mark.parametrize(("output", "expected"), [(None, ["unobserved_results"]), ('{"output": "x"}', [])])
def test_a_tool_of_langchain_without_an_output_may_have_failed(output: str | None, expected: list[str]) -> None:
    """Release 0.33 does not hear of errors: its span ends with that of the node around it."""
    attributes = {"traceloop.entity.name": "get", "traceloop.entity.input": '{"input_str": "{}", "inputs": {}}'}
    if output is not None:
        attributes["traceloop.entity.output"] = output
    tool = tl("tool", "get.tool", 2, 1, at=5, attributes=attributes, scope=_LANGCHAIN)
    run = run_of(tl("workflow", "graph.workflow", 1, lasting=100), tool)
    assert doubts(run) == expected


def test_a_decorated_function_inside_another_has_its_own_name() -> None:
    local = "make_tools.<locals>.get"
    tool = tl("tool", f"{local}.tool", 2, 1, attributes={"traceloop.entity.name": local, "gen_ai.tool.name": local})
    agent = tl("agent", "main.<locals>.travel.agent", 1, attributes={"traceloop.entity.name": "main.<locals>.travel"})
    run = run_of(agent, tool)
    assert (run.agent, called(run)) == ("travel", ["get"])


@pytest.mark.parametrize("scope", ["traceloop.tracer", "opentelemetry.instrumentation.mcp.instrumentation"])
@pytest.mark.parametrize(("output", "expected"), [(None, ["unobserved_results"]), ("null", [])])
def test_a_function_that_was_cancelled_leaves_no_output_and_may_have_failed(
    output: str | None, expected: list[str], scope: str
) -> None:
    attributes = {"traceloop.entity.name": "get", "traceloop.entity.input": '{"args": [], "kwargs": {"city": "Rome"}}'}
    if output is not None:
        attributes["traceloop.entity.output"] = output
    tool = tl("tool", "get.tool", 2, 1, at=5, attributes=attributes, scope=scope)
    run = run_of(tl("workflow", "travel.workflow", 1, lasting=100), tool)
    assert (called(run), doubts(run)) == (["get"], expected)


@pytest.mark.parametrize(("error", "expected"), [("KeyError", ["get"]), ("GraphInterrupt", ["(get)"])])
def test_a_call_whose_failure_ended_the_run_has_run_and_one_that_was_interrupted_waits(
    error: str, expected: list[str]
) -> None:
    given = '{"input_str": "{}", "inputs": {"city": "Rome"}, "kwargs": {"tool_call_id": "c1"}}'
    attributes = {
        "traceloop.entity.name": "get",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get",
        "gen_ai.tool.call.arguments": given,
        "error.type": error,
    }
    graph = tl("workflow", "graph.workflow", 1, lasting=100, status=2)
    asked = model_span([("c1", "get", {"city": "Rome"})], 3, at=1, lasting=2)
    tool = tl("tool", "execute_tool get", 2, 1, at=5, attributes=attributes, scope=_LANGCHAIN, status=2, message="gone")
    assert called(run_of(graph, asked, tool)) == expected


@pytest.mark.parametrize(
    ("told", "status", "expected"),
    [
        ('{"type": "text", "text": "Error executing tool pay: declined"}', "error", []),
        ("This is against our policy.", "ok", ["uncertain_execution"]),
        ("paid", "ok", []),
    ],
)
def test_openai_agents_ends_the_span_well_whatever_a_server_or_a_guardrail_answers(
    told: str, status: str, expected: list[str]
) -> None:
    values = {"gen_ai.tool.name": "pay", "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": told}
    pay = tl("tool", "pay.tool", 2, 1, attributes=values, status=1, scope="opentelemetry.instrumentation.openai_agents")
    run = run_of(tl("agent", "shop.agent", 1), pay)
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == (["pay"], status, expected)


@pytest.mark.parametrize("is_handed_over", [True, False])
def test_a_run_of_openai_agents_that_is_told_results_first_began_in_another_trace(is_handed_over: bool) -> None:
    """OpenLLMetry 0.62: of a call that a human denied. What was asked for has the ids of the items of the answer, and results
    have those of calls. An agent to which another hands over is told of that one's.
    """
    scope = "opentelemetry.instrumentation.openai_agents"
    parts: list[dict[str, Any]] = [
        {"type": "tool_call", "name": "drop", "id": "fc_1", "arguments": {"user": "u"}},
        {"type": "tool_call_response", "id": "call_1", "response": "Tool execution was not approved."},
    ]
    told = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    told += [{"role": role, "parts": [part]} for role, part in zip(("assistant", "tool"), parts, strict=True)]
    asked = [{"type": "tool_call", "name": "pay", "id": "fc_2", "arguments": {"order": 2}}]
    values = {
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.call.arguments": '{"order": 2}',
        "gen_ai.tool.call.result": "paid",
    }
    request = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(told),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": asked, "finish_reason": "tool_call"}]),
    }
    before = [tl("agent", "desk.agent", 7, 9, 1, 5, attributes={"gen_ai.agent.name": "desk"}, scope=scope)]
    *_, run = runs_of(
        tl("workflow", "Agent Workflow", 9, lasting=100, scope=scope),
        *(before if is_handed_over else []),
        tl("agent", "shop.agent", 1, 9, 10, 80, attributes={"gen_ai.agent.name": "shop"}, scope=scope),
        span("openai.response", 2, 1, 11, 5, attributes=request, scope=scope),
        tl("tool", "pay.tool", 3, 1, 20, 5, attributes=values, status=1, scope=scope),
    )
    assert (called(run), "other_traces" in doubts(run)) == (["pay"], not is_handed_over)


def test_an_agent_to_which_another_handed_over_did_not_make_the_calls_of_that_one() -> None:
    """OpenLLMetry 0.62 with chat completions: no answer is recorded, and both agents are told of the calls of the first."""
    scope = "opentelemetry.instrumentation.openai_agents"
    arguments = {"c1": {"city": "a"}, "c2": {"city": "z"}, "c3": {"order": 3}, "h1": {}}
    names = {"c1": "get", "c2": "get", "c3": "pay", "h1": "transfer_to_shop"}

    def turn(*ids: str) -> list[dict[str, Any]]:
        asked = [{"type": "tool_call", "id": i, "name": names[i], "arguments": arguments[i]} for i in ids]
        parts = [{"type": "tool_call_response", "id": i, "response": "done"} for i in reversed(ids)]
        return [{"role": "assistant", "parts": asked}, *({"role": "tool", "parts": [part]} for part in parts)]

    def request(number: int, parent: int, at: float, *turns: tuple[str, ...]) -> Span:
        messages = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
        told = json.dumps([*messages, *(message for ids in turns for message in turn(*ids))])
        given = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.input.messages": told}
        return span("openai.response", number, parent, at, 2, attributes=given, scope=scope)

    def call(call_id: str, number: int, parent: int, at: float) -> Span:
        values = {"gen_ai.tool.call.arguments": json.dumps(arguments[call_id]), "gen_ai.tool.call.result": "done"}
        values["gen_ai.tool.name"] = name = names[call_id]
        return tl("tool", f"{name}.tool", number, parent, at, 5, attributes=values, scope=scope)

    spans = [
        tl("workflow", "Agent Workflow", 9, lasting=200, scope=scope),
        tl("agent", "desk.agent", 1, 9, 1, 40, attributes={"gen_ai.agent.name": "desk"}, scope=scope),
        request(2, 1, 2),
        call("c1", 3, 1, 10),
        request(8, 1, 20, ("c1",)),
        call("c2", 10, 1, 30),
        tl("agent", "shop.agent", 4, 9, 50, 90, attributes={"gen_ai.agent.name": "shop"}, scope=scope),
        request(5, 4, 51, ("c1",), ("h1", "c2")),
        call("c3", 6, 4, 60),
        request(7, 4, 80, ("c1",), ("h1", "c2"), ("c3",)),
    ]
    read = genai_spans(spans)
    read[7].history = None  # of inputs that continue each other a trace keeps the longest
    desk, shop = reconstruct(read, {one.span_id: one.parent_span_id for one in spans})
    assert (called(desk), called(shop), doubts(shop)) == (["get", "get"], ["pay"], ["unrecorded_calls"])


def test_the_name_of_a_generators_output_is_no_answer_of_its_model() -> None:
    """OpenLLMetry 0.62 with Haystack 2, whose own spans have no content by default."""
    tool_invoker = {"haystack.component.type": "ToolInvoker", "haystack.component.name": "tool_invoker"}
    answer = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "replies"}
    scope = "opentelemetry.instrumentation.haystack"
    run = run_of(
        span("haystack.agent.run", 1, lasting=100, attributes={"haystack.agent.max_steps": 5}),
        span("haystack.openai.chat", 2, 1, 1, 5, attributes=answer, scope=scope, kind=3, status=1),
        span("haystack.component.run", 3, 1, 10, 5, attributes=tool_invoker),
        span("haystack.openai.chat", 4, 1, 20, 5, attributes=answer, scope=scope, kind=3, status=1),
    )
    assert (called(run), doubts(run)) == ([], ["nothing_recorded"])


@pytest.mark.parametrize(
    ("integration", "expected"), [("langchain_create_agent", []), ("langgraph", ["uncertain_execution"])]
)
def test_a_call_that_a_run_of_langchains_agents_had_asked_for_last_has_not_run(
    integration: str, expected: list[str]
) -> None:
    """0.62: the run ends well to wait for a human, and the inner one of the agent's two spans tells whose graph it is."""
    known = {
        "traceloop.entity.name": "helper",
        "traceloop.association.properties.lc_agent_name": "helper",
        "traceloop.association.properties.ls_integration": integration,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "helper",
    }
    run = run_of(
        agent_span(lasting=100, scope=_LANGCHAIN),
        tl("workflow", "helper.workflow", 2, 1, 1, 90, attributes=known, scope=_LANGCHAIN),
        model_span([("c1", "drop", {"user": "u7"})], 3, 2, at=5, lasting=5, scope=_LANGCHAIN),
    )
    assert [name for name in doubts(run) if name == "uncertain_execution"] == expected
    assert bool(expected) or called(run) == ["(drop)"]


GOOGLE = "opentelemetry.instrumentation.google_generativeai"
STOP = {"gen_ai.operation.name": "generate_content", "gen_ai.response.finish_reasons": ["stop"]}


def test_without_content_nothing_tells_whether_geminis_models_asked_for_calls() -> None:
    """Gemini gives the same reason for the end of an answer that asks for functions and of one that does not."""
    model = span("generate_content gemini", 2, 1, 1, attributes=STOP, scope=GOOGLE)
    assert doubts(run_of(agent_span(), model)) == ["nothing_recorded"]


@pytest.mark.parametrize(
    ("answer", "offered", "expected"),
    [
        ({}, {}, ["unrecorded_calls"]),
        ({"gen_ai.completion.0.content": "It rains."}, {}, []),
        (
            {"gen_ai.completion.0.content": "I look."},
            {"llm.request.functions.0.name": "get_weather"},
            ["unrecorded_calls"],
        ),
    ],
)
def test_an_answer_of_ollama_lacks_its_calls(answer: Any, offered: Any, expected: list[str]) -> None:
    """Of `ollama` 0.6 (0.62.4): only the next request tells what an answer asked for."""
    attributes = {
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "Weather?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.system": "Ollama",
        **answer,
        **offered,
    }
    asked = span("ollama.chat", 2, 1, 1, attributes=attributes, scope="opentelemetry.instrumentation.ollama")
    assert doubts(run_of(span("POST /chat", 1, lasting=9), asked)) == expected


@pytest.mark.parametrize(
    ("has_next", "expected"), [(True, (["pay", "pay"], [])), (False, (["pay"], ["unrecorded_calls"]))]
)
def test_of_the_responses_api_in_javascript_only_the_next_request_tells_what_an_answer_asked_for(
    *, has_next: bool, expected: tuple[list[str], list[str]]
) -> None:
    """OpenLLMetry 0.27, whose SDK writes no span of a function that raises."""
    call = {"type": "function_call", "name": "pay", "status": "completed"}
    first, second = (
        [{**call, "call_id": f"call_{n}", "id": f"fc_{n}", "arguments": json.dumps({"amount": amount})},
         {"type": "function_call_output", "call_id": f"call_{n}", "output": output}]
        for n, amount, output in ((1, 500, "Error: Card declined"), (2, 5, "paid"))
    )  # fmt: skip

    def chat(number: int, at: float, given: list[dict[str, Any]], text: str) -> Span:
        said = json.dumps([{"role": "user", "content": "hi"}, *given], separators=(",", ":"))
        messages = [{"role": "user", "parts": [{"type": "text", "content": said}]}]
        answer = [{"role": "assistant", "finish_reason": "stop", "parts": [{"type": "text", "content": text}]}]
        return span("chat main", number, 1, at, 5, scope="@traceloop/instrumentation-openai", attributes={
            "gen_ai.operation.name": "chat", "gen_ai.response.id": f"resp_{number}", "traceloop.workflow.name": "travel",
            "gen_ai.response.finish_reasons": ["stop"],
            "gen_ai.input.messages": json.dumps(messages, separators=(",", ":")),
            "gen_ai.output.messages": json.dumps(answer, separators=(",", ":")),
        })  # fmt: skip

    paid = {"traceloop.entity.name": "pay", "traceloop.entity.input": '{"args":[],"kwargs":{"amount":5}}'}
    tool = tl("tool", "pay.tool", 4, 1, 40, 5, attributes=paid, scope="@traceloop/node-server-sdk")
    later = [chat(3, 30, first, ""), tool, chat(5, 60, [*first, *second], "Done.")]
    run = run_of(
        tl("agent", "travel.agent", 1, lasting=100, attributes={"traceloop.entity.name": "travel"}),
        chat(2, 10, [], ""),
        *(later if has_next else [tool]),
    )
    assert (called(run), doubts(run)) == expected


EMPTY = "function_call=None function_response=None inline_data=None text='' thought=None tool_call=None"


@pytest.mark.parametrize("content", ["", EMPTY])
@pytest.mark.parametrize("has_span", [True, False])
def test_an_empty_answer_of_geminis_is_the_last_chunk_of_a_stream_of_which_no_other_was_kept(
    content: str, has_span: bool
) -> None:
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": content}], "finish_reason": "stop"}]
    attributes = STOP | {"gen_ai.output.messages": json.dumps(answer)}
    models = [span("generate_content gemini", at, 1, at * 10, 5, attributes=attributes, scope=GOOGLE) for at in (2, 4)]
    tool = [tl("tool", "get.tool", 3, 1, 30, 5, attributes={"traceloop.entity.name": "get"})] if has_span else []
    assert ("unrecorded_calls" in doubts(run_of(agent_span(), *models, *tool))) is not has_span


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([], ["unrecorded_calls"]),
        ([{"gen_ai.response.finish_reasons": ["tool_call"]}], ["unrecorded_calls"]),
        ([{}], ["unrecorded_calls"]),
        ([{"gen_ai.response.finish_reasons": ["stop"]}], []),
    ],
    ids=["no requests", "no content", "no reason", "asked for nothing"],
)
def test_without_messages_a_call_that_failed_may_have_left_no_span(requests: list[Any], expected: list[str]) -> None:
    scope = "@traceloop/node-server-sdk"
    kept = {"traceloop.span.kind": "tool", "traceloop.entity.name": "pay"}
    run = run_of(
        span("travel.agent", 1, attributes={"traceloop.span.kind": "agent"}, lasting=200, scope=scope),
        *[model_span(number=3, at=1, lasting=5, attributes=attributes) for attributes in requests],
        span("pay.tool", 4, 1, 10, attributes=kept, scope=scope),
    )
    assert (called(run), doubts(run)) == (["pay"], expected)


@pytest.mark.parametrize(
    ("parts", "agent", "expected"),
    [
        ([], {"traceloop.association.properties.lc_agent_name": "shop"}, []),
        ([{"type": "text", "content": "I pay."}], {"traceloop.association.properties.lc_agent_name": "shop"}, []),
        ([], {}, ["unrecorded_calls"]),  # a loop of one's own may run what LangChain could not parse
    ],
)
def test_langchains_agents_run_no_call_whose_arguments_are_no_json(
    parts: list[Any], agent: dict[str, str], expected: list[str]
) -> None:
    """OpenLLMetry 0.62 leaves such a call out of the answer, but not the reason for which that ended."""
    answer = [{"role": "assistant", "parts": parts, "finish_reason": "tool_call"}]
    attributes = {
        **agent,
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": json.dumps(answer),
        "gen_ai.response.finish_reasons": ["tool_call"],
    }
    run = run_of(
        agent_span("shop", 1, lasting=100, scope=_LANGCHAIN),
        span("ChatOpenAI.chat", 2, 1, 5, attributes=attributes, scope=_LANGCHAIN),
    )
    assert (called(run), doubts(run)) == ([], expected)


@pytest.mark.parametrize(
    ("reason", "inner", "expected"),
    [
        ([], [], ["unrecorded_calls", "nothing_recorded"]),  # the usage of tokens was read in place of the reason
        (["stop"], [], []),
        (["tool_call"], [], ["unrecorded_calls"]),
        ([], ["stop"], []),  # OpenAI's client was traced, too
    ],
)
def test_an_answer_of_llama_index_in_javascript_lacks_its_calls(
    reason: list[str], inner: list[str], expected: list[str]
) -> None:
    """OpenLLMetry 0.27 keeps the text of LlamaIndex.TS's answers alone."""
    answer = [{"role": "assistant", "finish_reason": "", "parts": [{"type": "text", "content": "Let me look."}]}]
    told = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(answer)}
    attributes = {**told, "gen_ai.response.finish_reasons": reason} if reason else told
    requests = [span("chat gpt", 2, 1, 5, 20, attributes=attributes, scope="@traceloop/instrumentation-llamaindex")]
    if inner:
        whole = {**told, "gen_ai.response.finish_reasons": inner}
        requests.append(span("chat gpt", 3, 2, 6, 15, attributes=whole, scope="@traceloop/instrumentation-openai"))
    run = run_of(span("POST /chat", 1, lasting=100), *requests)
    assert (called(run), doubts(run)) == ([], expected)


DECLARED = {"functionDeclarations": [{"name": "pay"}]}


@pytest.mark.parametrize(
    ("tools", "output", "expected"),
    [
        ([{}], True, ["unrecorded_calls"]),
        ([{"mcpTools": [], "functionNameToMcpClient": {}, "mcpClients": [{}]}], True, ["unrecorded_calls"]),
        ([DECLARED, {"googleSearch": {}}], True, []),
        (None, True, []),
        (None, False, ["nothing_recorded"]),
    ],
)
def test_googles_client_for_javascript_may_have_called_functions_before_the_answer_that_is_recorded(
    tools: Any, output: bool, expected: list[str]
) -> None:
    """OpenLLMetry for JavaScript 0.27 has one span for all turns in which @google/genai 2.32 calls them itself."""
    attributes: dict[str, Any] = {
        "gen_ai.provider.name": "gcp.gen_ai",
        "gen_ai.operation.name": "generate_content",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.response.id": "r2",
    }
    if tools is not None:
        attributes["gen_ai.tool.definitions"] = json.dumps(tools)
    if output:
        attributes["gen_ai.input.messages"] = '[{"role":"user","parts":[{"type":"text","content":"go"}]}]'
        parts = '[{"role":"assistant","finish_reason":"stop","parts":[{"type":"text","content":"done"}]}]'
        attributes["gen_ai.output.messages"] = parts
    scope = "@traceloop/instrumentation-google-generativeai"
    model = span("generate_content gemini-2.5-flash", 2, 1, 1, attributes=attributes, scope=scope)
    assert doubts(run_of(span("POST /chat", 1, lasting=100), model)) == expected


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ("[]", True),
        ('[{"role": "assistant", "parts": [{"type": "text", "content": "done"}], "finish_reason": "stop"}]', False),
    ],
)
def test_an_answer_without_a_message_asked_for_what_is_left_out(messages: str, expected: bool) -> None:
    """Of OpenAI's Responses API (0.62): the approval of a call of MCP, a command or a patch that the application runs."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.id": "resp_1",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]',
        "gen_ai.output.messages": messages,
    }
    scope = "opentelemetry.instrumentation.openai.v1"
    run = run_of(span("POST /chat", 1), span("openai.response", 2, 1, attributes=attributes, scope=scope, kind=3))
    assert (called(run), "unrecorded_calls" in doubts(run)) == ([], expected)
