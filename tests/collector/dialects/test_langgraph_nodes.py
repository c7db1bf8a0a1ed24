"""Requests to models of a node of LangGraph, as tracers of LangChain record them: who calls the tools, nothing says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, span, tool_span

CALL = {"name": "pay", "args": {"amount": 5}, "id": "call_1", "type": "tool_call"}
ASKING = {"lc": 1, "id": ["langchain", "AIMessage"], "kwargs": {"content": "", "type": "ai", "tool_calls": [CALL]}}
TOLD = {"content": "Not today.", "type": "tool", "name": "pay", "tool_call_id": "call_1", "status": "success"}


def asked(tracer: str, node: str | None, integration: str | None) -> dict[str, Any]:
    """Returns the attributes of a request whose answer asks for a call."""
    config = {"langgraph_node": node, "ls_integration": integration}
    metadata = {key: value for key, value in config.items() if value is not None}
    generated = json.dumps({"generations": [[{"text": "", "message": ASKING}]]})
    call = "llm.output_messages.0.message.tool_calls.0.tool_call."
    return {
        "openinference": {
            "openinference.span.kind": "LLM", "metadata": json.dumps(metadata), "output.value": generated,
            call + "id": "call_1", call + "function.name": "pay", call + "function.arguments": '{"amount": 5}',
        },
        "openllmetry": {
            "llm.request.type": "chat", "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.tool_calls.0.id": "call_1",
            "gen_ai.completion.0.tool_calls.0.name": "pay", "gen_ai.completion.0.tool_calls.0.arguments": '{"amount": 5}',
            "traceloop.span.kind": "chat",
            **{"traceloop.association.properties." + key: value for key, value in metadata.items()},
        },
        "langsmith": {
            "langsmith.span.kind": "llm", "gen_ai.completion": generated,
            **{"langsmith.metadata." + key: value for key, value in metadata.items()},
        },
        "langfuse": {
            "langfuse.observation.type": "generation",
            "langfuse.observation.output": json.dumps({"role": "assistant", "content": "", "tool_calls": [CALL]}),
            **{"langfuse.observation.metadata." + key: value for key, value in metadata.items()},
        },
        "mlflow": {
            "mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanOutputs": generated, "metadata": json.dumps(metadata),
        },
    }[tracer]  # fmt: skip


def answered(tracer: str) -> dict[str, Any]:
    """Returns the attributes of the request after it, which is told the result."""
    said = [{"type": "human", "content": "hi"}, {"type": "ai", "content": "", "tool_calls": [CALL]}, TOLD]
    final = json.dumps({"generations": [[{"text": "Done."}]]})
    return {
        "openinference": {
            "openinference.span.kind": "LLM", "input.value": json.dumps({"messages": [said]}), "output.value": final,
        },
        "openllmetry": {
            "llm.request.type": "chat", "traceloop.span.kind": "chat", "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "Done.", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "hi",
            "gen_ai.prompt.1.role": "assistant", "gen_ai.prompt.1.tool_calls.0.id": "call_1",
            "gen_ai.prompt.1.tool_calls.0.name": "pay", "gen_ai.prompt.1.tool_calls.0.arguments": '{"amount": 5}',
            "gen_ai.prompt.2.role": "tool", "gen_ai.prompt.2.content": "Not today.", "gen_ai.prompt.2.tool_call_id": "call_1",
        },
        "langsmith": {
            "langsmith.span.kind": "llm", "gen_ai.prompt": json.dumps({"messages": [said]}), "gen_ai.completion": final,
        },
        "langfuse": {
            "langfuse.observation.type": "generation",
            "langfuse.observation.output": '{"role": "assistant", "content": "Done."}',
            "langfuse.observation.input": json.dumps([
                {"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": [CALL]},
                {"role": "tool", "content": "Not today.", "tool_call_id": "call_1"},
            ]),
        },
        "mlflow": {
            "mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanInputs": json.dumps([said]), "mlflow.spanOutputs": final,
        },
    }[tracer]  # fmt: skip


def root(tracer: str) -> Span:
    """Builds the graph's span as LangChain 1.0 to 1.2 leave it: nothing in it says whose graph it is."""
    attributes = {
        "openinference": {"openinference.span.kind": "CHAIN"},
        "openllmetry": {"traceloop.span.kind": "workflow", "traceloop.entity.name": "shop"},
        "langsmith": {"langsmith.span.kind": "chain"},
        "langfuse": {"langfuse.observation.type": "chain"},
        "mlflow": {"mlflow.spanType": '"CHAIN"'},
    }[tracer]
    return span("shop", 1, lasting=90, attributes=attributes)


TRACERS = ("openinference", "openllmetry", "langsmith", "langfuse", "mlflow")
MODEL = "ChatOpenAI"


@pytest.mark.parametrize("integration", ["langchain_create_agent", "langgraph"])
def test_middleware_may_answer_where_an_agents_span_is_around_that_of_its_graph(integration: str) -> None:
    """OpenLLMetry 0.61: a span in the conventions is around that of the workflow, which alone tells whose graph it is."""
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
    of_graph = {"lc_agent_name": "shop", "ls_integration": integration}
    workflow = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.name": "shop",
        **{"traceloop.association.properties." + key: value for key, value in of_graph.items()},
    }
    run = run_of(
        span("invoke_agent shop", 1, lasting=90, attributes=agent),
        span("shop.workflow", 2, 1, lasting=90, attributes=workflow),
        span(MODEL, 3, 2, 10, 5, attributes=asked("openllmetry", "model", "langchain_chat_model")),
        span(
            "execute_tool get", 4, 2, 20, 5, attributes={"traceloop.span.kind": "tool", "traceloop.entity.name": "get"}
        ),
        span(MODEL, 5, 2, 40, 5, attributes=answered("openllmetry")),
    )
    assert "pay" in called(run)
    assert ("uncertain_execution" in doubts(run)) is (integration == "langchain_create_agent")


@pytest.mark.parametrize("tracer", TRACERS)
@pytest.mark.parametrize("node", [None, "model", "chatbot"])
def test_what_a_node_asked_for_last_may_wait_for_a_human(tracer: str, node: str | None) -> None:
    """LangChain 1.0 to 1.2 with `HumanInTheLoopMiddleware`, and graphs that stop before their tools."""
    run = run_of(root(tracer), span(MODEL, 2, 1, 10, attributes=asked(tracer, node, None)))
    assert called(run) == ["pay"]
    assert ("uncertain_execution" in doubts(run)) is (node is not None)


@pytest.mark.parametrize(("name", "is_open"), [("LangGraph", True), ("RunnableSequence", False)])
def test_what_a_graph_without_a_name_asked_for_last_may_wait_for_a_human(name: str, *, is_open: bool) -> None:
    """OpenLLMetry 0.40 does not record the nodes, and a graph that waits ends well (`interrupt`)."""
    workflow = {"traceloop.span.kind": "workflow", "traceloop.entity.name": name}
    run = run_of(
        span(f"{name}.workflow", 1, lasting=90, attributes=workflow),
        span(MODEL, 2, 1, 10, attributes=asked("openllmetry", None, None)),
    )
    assert called(run) == ["pay"]
    assert ("uncertain_execution" in doubts(run)) is is_open


@pytest.mark.parametrize("tracer", TRACERS)
@pytest.mark.parametrize(
    ("node", "integration", "is_open"),
    [
        ("model", None, True),
        ("model_request", None, True),
        ("model", "langchain_create_agent", True),
        ("model", "langgraph", False),
        ("model", "langchain_chat_model", False),
        ("chatbot", None, False),
        (None, None, False),
    ],
)
def test_middleware_may_answer_what_a_node_of_langchains_agents_asked_for(
    tracer: str, node: str | None, integration: str | None, *, is_open: bool
) -> None:
    """LangChain 1.0 to 1.2: `wrap_tool_call` returned what the model is told, and no tool ran."""
    run = run_of(
        root(tracer),
        span(MODEL, 2, 1, 10, 5, attributes=asked(tracer, node, integration)),
        span(MODEL, 3, 1, 40, 5, attributes=answered(tracer)),
    )
    assert called(run) == ["pay"]
    assert ("uncertain_execution" in doubts(run)) is is_open


@pytest.mark.parametrize(
    "scope", ["openinference.instrumentation.langchain", "@arizeai/openinference-instrumentation-langchain"]
)
@pytest.mark.parametrize("integration", ["langchain_create_agent", "langgraph"])
def test_the_graph_tells_that_middleware_may_answer_in_both_languages(scope: str, integration: str) -> None:
    """LangChain 1.5 for JavaScript and 1.3 for Python: its models name an integration of their own."""
    of_graph = {"openinference.span.kind": "CHAIN", "metadata": json.dumps({"ls_integration": integration})}
    run = run_of(
        span("LangGraph", 1, lasting=90, attributes=of_graph, scope=scope),
        span(
            MODEL, 2, 1, 10, 5, attributes=asked("openinference", "model_request", "langchain_chat_model"), scope=scope
        ),
        span(MODEL, 3, 1, 40, 5, attributes=answered("openinference"), scope=scope),
    )
    assert called(run) == ["pay"]
    assert ("uncertain_execution" in doubts(run)) is (integration == "langchain_create_agent")


@pytest.mark.parametrize("tracer", ["openinference", "langsmith", "langfuse", "mlflow"])
@pytest.mark.parametrize("integration", ["langchain_create_agent", "langgraph"])
def test_the_graph_tells_so_below_the_span_of_a_server(tracer: str, integration: str) -> None:
    """An agent without a name is no run of its own then."""
    key = {"langsmith": "langsmith.metadata.", "langfuse": "langfuse.observation.metadata."}.get(tracer)
    metadata = {"ls_integration": integration}
    given = {"metadata": json.dumps(metadata)} if key is None else {key + "ls_integration": integration}
    of_graph = {**root(tracer).attributes, **given}
    scope = "openinference.instrumentation.langchain" if tracer == "openinference" else tracer
    run = run_of(
        span("POST /chat", 9, lasting=95),
        span("LangGraph", 1, 9, lasting=90, attributes=of_graph, scope=scope),
        span(MODEL, 2, 1, 10, 5, attributes=asked(tracer, "model_request", "langchain_chat_model"), scope=scope),
        span(MODEL, 3, 1, 40, 5, attributes=answered(tracer), scope=scope),
    )
    assert called(run) == ["pay"]
    assert ("uncertain_execution" in doubts(run)) is (integration == "langchain_create_agent")


@pytest.mark.parametrize(
    ("updates", "is_open"), [('{"output":[{"lg_name":"Command","update":%s}]}', True), ("%s", False)]
)
def test_middleware_may_answer_what_a_step_of_langchains_agents_for_js_asked_for(
    updates: str, *, is_open: bool
) -> None:
    """OpenLLMetry 0.27 has no metadata, and the calls in its steps alone; all steps are below the caller's span."""
    step = {"gen_ai.operation.name": "workflow", "traceloop.span.kind": "workflow"}
    said = updates % json.dumps({"messages": [ASKING]})
    told = [
        {"role": "user"},
        {"role": "assistant", "parts": []},
        {"role": "tool", "parts": [{"type": "text", "content": "x"}]},
    ]
    chat = {
        "gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(told),
        "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"ok"}]}]',
    }  # fmt: skip
    results = {"lc": 1, "id": ["ToolMessage"], "kwargs": TOLD}
    state = json.dumps({"messages": [{"type": "human", "content": "hi"}, ASKING, results]})
    run = run_of(
        span("POST /chat", 1, lasting=90),
        span("workflow RunnableSequence", 2, 1, 10, 5, attributes={**step, "traceloop.entity.output": said}),
        span("workflow RunnableSequence", 3, 1, 30, 15, attributes={**step, "traceloop.entity.input": state}),
        span("chat main", 4, 1, 35, 5, attributes=chat),
    )
    assert called(run) == ["pay"]
    assert ("uncertain_execution" in doubts(run)) is is_open


def step_of_js(number: int, at: float, given: str, said: str, name: str = "RunnableSequence") -> Span:
    """A step of LangChain for JavaScript, or a whole graph, below the span of what called it (OpenLLMetry 0.27)."""
    attributes = {"gen_ai.operation.name": "workflow", "traceloop.span.kind": "workflow"}
    attributes |= {"traceloop.entity.input": given, "traceloop.entity.output": said}
    return span(
        f"workflow {name}", number, 1, at, 9, attributes=attributes, scope="@traceloop/instrumentation-langchain"
    )


def state_of_js(*said: dict[str, Any]) -> str:
    user = {"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"content": "hi"}}
    return json.dumps({"messages": [user, *said]}, separators=(",", ":"))


@pytest.mark.parametrize(
    ("given", "said", "expected"),
    [
        ("{}", state_of_js(ASKING), ["other_traces"]),
        ('{"input":null}', state_of_js(), ["other_traces"]),
        ('{"lg_name":"Command","resume":{"decisions":[]},"goto":[]}', state_of_js(), ["other_traces"]),
        (state_of_js(), state_of_js(), []),
    ],
)
def test_a_graph_for_js_tells_whether_it_waits_or_goes_on(given: str, said: str, expected: list[str]) -> None:
    """It has no metadata under OpenLLMetry; all steps are beside it."""
    run = run_of(
        span("POST /chat", 1, lasting=90),
        step_of_js(2, 1, given, said, "CompiledStateGraph"),
        step_of_js(3, 2, state_of_js(), json.dumps({"messages": [ASKING]})),
        tool_span("pay", {"amount": 5}, 4, at=20, call_id="call_1"),
    )
    assert ([name for name in doubts(run) if name == "other_traces"], called(run)) == (expected, ["pay"])


def test_a_graph_for_js_that_goes_on_is_told_of_calls_of_an_earlier_trace() -> None:
    """Of the states of its steps, which repeat each other, a trace keeps the longest: that of the last, which has no answer."""
    looked = {"name": "look", "args": {}, "id": "call_0", "type": "tool_call"}
    asked = {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "", "type": "ai", "tool_calls": [looked]}}
    first, second = (
        {"lc": 1, "id": ["ToolMessage"], "kwargs": {"content": "done", "tool_call_id": call_id, "status": "success"}}
        for call_id in ("call_0", "call_1")
    )
    state = state_of_js(asked, first, ASKING, second)
    command = '{"lg_name":"Command","resume":{"decisions":[{"type":"approve"}]},"goto":[]}'
    run = run_of(
        span("POST /chat", 1, lasting=90),
        step_of_js(2, 1, command, state, "CompiledStateGraph"),
        step_of_js(3, 2, state_of_js(), json.dumps({"messages": [ASKING]})),
        tool_span("pay", {"amount": 5}, 4, at=20, call_id="call_1"),
        step_of_js(5, 40, state, "{}"),
    )
    assert (called(run), "other_traces" in doubts(run)) == (["pay"], True)


def test_a_call_in_the_form_of_an_output_is_no_call_for_js() -> None:
    """The state tells a result for it, and what the agent ends with."""
    output = {"name": "extract-1", "args": {"a": 1}, "id": "call_2", "type": "tool_call"}
    asking = {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "", "type": "ai", "tool_calls": [output]}}
    result = {
        "lc": 1,
        "id": ["ToolMessage"],
        "kwargs": {"content": '{"a":1}', "tool_call_id": "call_2", "name": "extract-1"},
    }
    ended = {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": 'Returning structured response: {"a":1}'}}
    state = state_of_js(asking, result, ended)
    run = run_of(
        span("POST /chat", 1, lasting=90),
        step_of_js(2, 1, state_of_js(), state, "CompiledStateGraph"),
        tool_span("pay", None, 3, at=5),
        step_of_js(4, 10, state_of_js(), state),
        step_of_js(5, 40, state, '{"output":"__end__"}', "RunnableLambda"),
    )
    assert (called(run), doubts(run)) == (["pay", "(extract-1)"], [])


OVER = {**TOLD, "content": "Tool call limit exceeded. Do not make additional tool calls.", "status": "error"}
ENDED = {"content": "Tool call limit reached: run limit exceeded (2/1 calls).", "type": "ai", "tool_calls": []}


def ended(tracer: str, told: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the attributes of a run of LangChain's own agent that ended with these results of what was asked for last."""
    calls = [{**CALL, "id": one["tool_call_id"]} for one in told]
    return in_state(tracer, {"type": "ai", "content": "", "tool_calls": calls}, *told, ENDED)


def in_state(tracer: str, *said: dict[str, Any]) -> dict[str, Any]:
    """Returns the attributes of a run of LangChain's own agent that ended with these messages after the user's."""
    state = json.dumps({"messages": [{"type": "human", "content": "hi"}, *said]})
    integration = {"ls_integration": "langchain_create_agent"}
    return {
        "openinference": {"metadata": json.dumps(integration), "output.value": state},
        "openllmetry": {
            "traceloop.association.properties.ls_integration": "langchain_create_agent", "traceloop.entity.output": state,
        },
        "langsmith": {"langsmith.metadata.ls_integration": "langchain_create_agent", "gen_ai.completion": state},
        "langfuse": {
            "langfuse.observation.metadata.ls_integration": "langchain_create_agent", "langfuse.observation.output": state,
        },
        "mlflow": {"metadata": json.dumps(integration), "mlflow.spanOutputs": state},
    }[tracer]  # fmt: skip


@pytest.mark.parametrize("tracer", TRACERS)
@pytest.mark.parametrize(
    ("told", "has_ids", "is_open"),
    [
        ([OVER], True, False),
        ([OVER], False, False),  # OpenInference for JavaScript records none
        ([{**OVER, "tool_call_id": "call_2"}], True, True),
        ([OVER, {**TOLD, "tool_call_id": "call_2"}], False, True),
        ([{**TOLD, "content": "Do not make additional tool calls."}], True, True),
    ],
)
def test_a_call_beyond_a_limit_of_langchains_agents_did_not_run_though_no_model_is_asked_again(
    tracer: str, told: list[dict[str, Any]], *, has_ids: bool, is_open: bool
) -> None:
    """`ToolCallLimitMiddleware`: the state with which the run ended is all that tells."""
    attributes = {**root(tracer).attributes, **ended(tracer, told)}
    graph = span("shop", 1, lasting=90, attributes=attributes, scope="openinference.instrumentation.langchain")
    made = tool_span("pay", {"amount": 9}, 3, 1, at=2, lasting=1, call_id="call_0")
    request = json.dumps(asked(tracer, "model", "langchain_chat_model"))
    attributes = json.loads(request if has_ids else request.replace("call_1", "").replace("call_id", "gone"))
    run = run_of(graph, made, span(MODEL, 2, 1, 10, 5, attributes=attributes))
    assert called(run) == ["pay", "(pay)"]
    assert ("uncertain_execution" in doubts(run)) is is_open


GATED = {**CALL, "id": "call_2"}
"""Of the answer that asks for it and for another, which runs before a human is asked about this one (`per_call`)."""


@pytest.mark.parametrize("tracer", TRACERS)
@pytest.mark.parametrize(("told", "waits"), [([], True), (["call_1"], True), (["call_1", "call_2"], False)])
def test_a_run_of_langchains_agents_waits_for_a_human_if_its_state_lacks_results(
    tracer: str, told: list[str], *, waits: bool
) -> None:
    """`HumanInTheLoopMiddleware`: the state with which the run ended is all that tells, and no result is in it by then."""
    asking = {"content": "", "type": "ai", "tool_calls": [CALL, GATED], "invalid_tool_calls": []}
    results = [{**TOLD, "tool_call_id": call_id} for call_id in told]
    attributes = {**root(tracer).attributes, **in_state(tracer, asking, *results)}
    graph = span("shop", 1, lasting=90, attributes=attributes, scope="openinference.instrumentation.langchain")
    made = [tool_span("pay", {"amount": 5}, 3 + n, 1, at=20 + n, call_id=one) for n, one in enumerate(told)]
    run = run_of(graph, span(MODEL, 2, 1, 10, 5, attributes=asked(tracer, "model", "langchain_chat_model")), *made)
    assert ("other_traces" in doubts(run)) is waits


@pytest.mark.parametrize(("lasting", "waits"), [(90, True), (8, False)])
def test_a_run_waits_if_the_second_of_its_spans_tells(lasting: int, *, waits: bool) -> None:
    """OpenLLMetry 0.62: `invoke_agent` around the workflow, which alone holds the state. A model may be asked after that."""
    asking = {"content": "", "type": "ai", "tool_calls": [CALL], "invalid_tool_calls": []}
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
    inner = {**attributes, **root("openllmetry").attributes, **in_state("openllmetry", asking)}
    inner["traceloop.association.properties.lc_agent_name"] = "shop"
    run = run_of(
        span("invoke_agent shop", 1, lasting=95, attributes=attributes),
        span("shop.workflow", 2, 1, 1, lasting, attributes=inner),
        span(MODEL, 3, 2, 10, 5, attributes=asked("openllmetry", "model", "langchain_chat_model")),
    )
    assert ("other_traces" in doubts(run)) is waits


@pytest.mark.parametrize(("offered", "expected"), [('{"name": null}', ["unrecorded_calls"]), ('{"name": "pay"}', [])])
def test_without_content_a_tool_of_no_name_is_one_that_the_provider_runs(offered: str, expected: list[str]) -> None:
    """OpenLLMetry 0.62, of a `web_search` of OpenAI's."""
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
    definitions = f'[{{"name": "get", "description": "Gets.", "parameters": {{}}}}, {offered}]'
    asks = {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.tool.definitions": definitions,
        "traceloop.association.properties.lc_agent_name": "shop",
    }  # fmt: skip
    made = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get", "traceloop.span.kind": "tool"}
    scope = "opentelemetry.instrumentation.langchain"
    run = run_of(
        span("invoke_agent shop", 1, lasting=90, attributes=agent, scope=scope),
        span("ChatOpenAI.chat", 2, 1, 5, attributes=asks, scope=scope),
        span("execute_tool get", 3, 1, 20, attributes=made, scope=scope),
        span("ChatOpenAI.chat", 4, 1, 40, attributes=asks, scope=scope),
    )
    assert (called(run), doubts(run)) == (["get"], expected)


MAIL = '{"name": "mail", "description": "Sends.", "parameters": {}}'


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (MAIL, []),
        ('{"name": null}', ["unrecorded_calls"]),
        ('{"name": "web_search"}', ["unrecorded_calls"]),
        ('{"name": "bash"}', []),
    ],
)
def test_openllmetry_leaves_out_of_an_answer_what_the_provider_ran(offered: str, expected: list[str]) -> None:
    """0.62: a tool of OpenAI's or Anthropic's has its name at most. The application runs some of these."""
    asks = {
        "gen_ai.operation.name": "chat",
        "gen_ai.tool.definitions": f"[{MAIL}, {offered}]",
        "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]',
        "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "done"}]}]',
        "traceloop.association.properties.lc_agent_name": "shop",
    }
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
    scope = "opentelemetry.instrumentation.langchain"
    run = run_of(
        span("invoke_agent shop", 1, lasting=90, attributes=agent, scope=scope),
        span("ChatAnthropic.chat", 2, 1, 5, attributes=asks, scope=scope),
    )
    assert (called(run), doubts(run)) == ([], expected)
