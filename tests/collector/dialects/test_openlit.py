"""OpenLIT, where it departs from the conventions."""

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
    tool_span,
    user,
)


def test_decorated_functions_have_arguments_as_python_reprs() -> None:
    attributes = {"function.args": "()", "function.kwargs": "{'city': 'Oslo', 'again': True}"}
    assert read_tool(span("get", 2, 1, scope="openlit", attributes=attributes)) == (
        "get",
        None,
        {"city": "Oslo", "again": True},
        "unset",
    )


def test_positional_arguments_have_no_names() -> None:
    attributes = {"function.args": "('Oslo',)", "function.kwargs": "{}"}
    assert read_tool(span("get", 2, 1, scope="openlit", attributes=attributes))[2] is None


def test_a_run_of_functions() -> None:
    run = run_of(
        span(
            "travel", 1, scope="openlit", attributes={"function.args": "('hi',)", "function.kwargs": "{}"}, lasting=100
        ),
        span("get", 2, 1, 1, scope="openlit", attributes={"function.kwargs": "{}"}),
        span("pay", 3, 1, 20, scope="openlit", status=2),
    )
    assert (run.user_input, called(run), run.trajectory.calls[1].status) == ("hi", ["get", "pay"], "error")


def test_nodes_of_a_graph_are_not_agents() -> None:
    node = span(
        "invoke_agent model",
        2,
        1,
        scope="openlit.instrumentation.langgraph",
        attributes={"gen_ai.operation.name": "invoke_agent"},
    )
    assert dialects.read_span(node) is IGNORED


def test_a_handoff_of_openai_agents_is_no_run_of_the_agent_however_long_that_takes_to_begin() -> None:
    def openlit(name: str, number: int, parent: int, at: float, lasting: float, **more: str) -> Span:
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **more}
        scope = "@openlit/instrumentation-openai-agents"
        return span(f"invoke_agent {name}", number, parent, at, lasting, attributes=attributes, scope=scope, status=1)

    handed_over = {"gen_ai.agent.source": "travel"}
    runs = runs_of(
        span("invoke_workflow", 1, lasting=100, attributes={"gen_ai.operation.name": "invoke_workflow"}),
        openlit("travel", 2, 1, 0, 50),
        tool_span("get", {}, 3, 2, at=26),
        openlit("desk", 4, 2, 44, 0.7, **handed_over),
        openlit("desk", 5, 1, 54, 40),
        tool_span("pay", {}, 6, 5, at=68),
    )
    assert [(run.agent, called(run), doubts(run)) for run in runs] == [("travel", ["get"], []), ("desk", ["pay"], [])]


def test_arguments_of_instrumented_tools_are_python_reprs_too() -> None:
    tool = tool_span(
        "get",
        attributes={"gen_ai.tool.call.arguments": "{'city': 'Oslo'}"},
        scope="openlit.instrumentation.langchain",
        at=20,
    )
    chat = model_span([("c1", "get", '{"city": "Oslo"}')], attributes={"gen_ai.tool.name": "get"})
    assert read_tool(tool)[2] == {"city": "Oslo"}
    assert called(run_of(span("POST", 1, lasting=100), chat, tool)) == ["get"]


@pytest.mark.parametrize(("agent", "is_read"), [({"gen_ai.agent.name": "travel"}, True), ({}, False)])
def test_a_method_of_the_flow_by_which_crewai_runs_an_agent_is_none(agent: dict[str, str], is_read: bool) -> None:
    attributes = {"gen_ai.operation.name": "invoke_agent", **agent}
    method = span("invoke_agent generate_plan", 2, 1, scope="openlit.instrumentation.crewai", attributes=attributes)
    assert (dialects.read_span(method) is not IGNORED) is is_read


def test_a_function_that_no_model_asked_for_may_be_an_agents() -> None:
    # openlit 1.15 for JavaScript: its functions say of no tool that it is one.
    asking = {
        "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Within 30 days."}]}]'
    }
    inside = model_span((), 5, 4, at=40, lasting=10, attributes=asking)
    spans = [
        span("travel", 1, lasting=500, scope="openlit"),
        model_span([("c1", "ask", {"question": "Refunds?"})], 2, 1, at=5, lasting=10),
        span("ask", 3, 1, at=20, lasting=50, scope="openlit"),
        span("policy", 4, 3, at=30, lasting=30, scope="openlit"),
    ]
    run = run_of(*spans, inside)
    assert (called(run), doubts(run)) == (["ask", "policy"], ["uncertain_execution"])
    assert doubts(run_of(*spans)) == []  # a function inside a tool
    assert doubts(run_of(spans[0], *spans[2:], inside)) == []  # nothing tells for what a model asked


@pytest.mark.parametrize("ids", [("c1", "c2"), ("", "")])
def test_tools_that_are_named_by_langchains_class_have_the_names_that_the_model_used(ids: tuple[str, str]) -> None:
    requests = [(ids[0] or None, "get", {"city": "Paris"}), (ids[1] or None, "list", {})]
    scope = "@openlit/instrumentation-langchain"
    run = run_of(
        agent_span(),
        model_span(requests, 2, at=1, scope=scope),
        tool_span("DynamicStructuredTool", {"city": "Paris"}, 3, at=20, call_id=ids[0], scope=scope),
        tool_span("DynamicStructuredTool", {}, 4, at=21, call_id=ids[1], scope=scope),
    )
    assert (called(run), doubts(run)) == (["get", "list"], [])


@pytest.mark.parametrize(
    ("arguments", "calls"),
    [
        ('{"city": "Oslo, Norway"}, {"city": "Rome"}', [("c1", {"city": "Oslo, Norway"}), ("c2", {"city": "Rome"})]),
        ('{"city": "Oslo"}', []),
        ("no JSON, {}", []),
    ],
)
def test_old_releases_join_the_calls_of_an_answer(arguments: str, calls: list[tuple[str, object]]) -> None:
    answer = {
        "gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.tool.name": "get, get", "gen_ai.tool.call.id": "c1, c2", "gen_ai.tool.args": arguments,
    }  # fmt: skip
    run = run_of(span("POST", 1, lasting=100), span("chat", 2, 1, attributes=answer, scope="openlit.otel.tracing"))
    assert [(call.id, call.arguments) for call in run.trajectory.calls] == calls
    assert ("unrecorded_calls" in doubts(run)) is not bool(calls)


def test_what_a_vector_database_is_asked_is_no_call() -> None:
    """It has no operation of the conventions, nor anything but a scope in common with the decorated functions."""
    attributes = {"db.system.name": "chroma", "db.operation.name": "get", "gen_ai.sdk.version": "1.36.2"}
    query = span("get policies", 3, 2, 12, 2, scope="openlit.otel.tracing", attributes=attributes)
    assert called(run_of(agent_span(), tool_span("ask", {}, 2, at=10), query)) == ["ask"]


def test_what_is_written_in_place_of_any_answer_leaves_open_what_was_called() -> None:
    """1.33, where a request offers tools."""
    events = [("gen_ai.content.completion", {"gen_ai.completion": "Function called with tools"})]
    chat = model_span((), 1, 0, scope="openlit.otel.tracing", events=events)
    assert doubts(run_of(chat)) == ["unrecorded_calls"]
    events = [("gen_ai.content.completion", {"gen_ai.completion": "Functions have no side effects"})]
    assert doubts(run_of(model_span((), 1, 0, scope="openlit.otel.tracing", events=events))) == []


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize("has_spans", [True, False])
def test_an_answer_of_the_responses_api_that_was_not_streamed_may_lack_calls(
    is_streamed: bool, has_spans: bool
) -> None:
    """Of several calls only the last is kept, or none where there is a text, and no request holds those before."""
    scope = "openlit.instrumentation.openai"
    given: dict[str, Any] = {"openai.api.type": "responses", "gen_ai.request.stream": is_streamed}
    given["gen_ai.response.finish_reasons"] = ["completed"]
    text = [{"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "completed"}]
    answered = given | {"gen_ai.output.messages": json.dumps(text)}
    asking = model_span([("fc_1", "get", {"city": "Oslo"})], 2, at=1, lasting=5, attributes=given, scope=scope)
    answering = model_span((), 3, at=20, lasting=5, attributes=answered, scope=scope)
    tool = [tool_span("get", {"city": "Oslo"}, 4, at=10, lasting=5)] if has_spans else []
    is_open = not is_streamed and not has_spans
    assert ("unrecorded_calls" in doubts(run_of(agent_span(), asking, *tool, answering))) is is_open
    assert ("unrecorded_calls" in doubts(run_of(agent_span(), answering))) is not is_streamed


@pytest.mark.parametrize(
    ("answers", "tools", "has_spans", "is_open"),
    [
        (["", "done"], True, False, True),
        (["let me see", "done"], True, False, True),
        (["done"], True, False, True),
        (["done"], False, False, False),
        (["", "done"], True, True, False),
    ],
    ids=["calls alone", "a text and a call", "perhaps hosted", "no tools", "spans of calls"],
)
def test_in_javascript_an_answer_of_the_responses_api_is_its_text_alone(
    answers: list[str], *, tools: bool, has_spans: bool, is_open: bool
) -> None:
    """1.15, streamed or not; the input that tells of the results is what the user said."""
    told = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    given: dict[str, Any] = {"gen_ai.operation.name": "chat", "openai.api.type": "responses"}
    given |= {"gen_ai.input.messages": json.dumps(told), "gen_ai.response.finish_reasons": ["completed"]}
    if tools:
        given["gen_ai.tool.name"] = "pay, find"
        given["gen_ai.tool.definitions"] = '[{"type":"function","name":"pay"},{"type":"function","name":"find"}]'
    spans = [span("agent-loop", 1, lasting=100)]
    for at, text in enumerate(answers):
        parts = [{"type": "text", "content": text}] if text else []
        said = json.dumps([{"role": "assistant", "parts": parts, "finish_reason": "completed"}])
        attributes = given | {"gen_ai.output.messages": said}
        spans.append(
            span("chat", 2 + at, 1, 1 + at * 40, 5, attributes=attributes, scope="@openlit/instrumentation-openai")
        )
    run = run_of(*spans, *([tool_span("pay", {"sum": 5}, 9, 1, at=10, lasting=5)] if has_spans else []))
    assert ("unrecorded_calls" in doubts(run)) is is_open


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize("asks", [True, False])
def test_before_1_37_an_answer_of_the_responses_api_that_was_not_streamed_may_lack_calls(
    is_streamed: bool, asks: bool
) -> None:
    """Its only signs are a status in place of a reason to end."""
    answer: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["completed"]}
    answer |= {"gen_ai.request.is_stream": is_streamed, "gen_ai.completion": "" if asks else "Done."}
    if asks:
        answer |= {"gen_ai.tool.name": "get", "gen_ai.tool.call.id": "c1", "gen_ai.tool.args": '{"city": "Oslo"}'}
    run = run_of(span("POST", 1, lasting=100), span("chat", 2, 1, attributes=answer, scope="openlit.otel.tracing"))
    assert called(run) == (["get"] if asks else [])
    assert ("unrecorded_calls" in doubts(run)) is not is_streamed


def test_what_agents_of_ag2_send_to_each_other_is_no_request_to_a_model() -> None:
    """openlit 1.42: the messages are the names of agents. It could not read the answer to the request inside."""

    def sent(kind: str, agent: str, number: int, parent: int, messages: dict[str, str]) -> Span:
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.agent.name": agent, "gen_ai.agent.message_type": kind}
        return span(
            f"execute_task {agent}", number, parent, number, 90 - 2 * number, status=1, scope="openlit.instrumentation.ag2",
            attributes=attributes | messages,
        )  # fmt: skip

    asked = {"error.type": "AttributeError"}
    run = run_of(
        sent("send", "user", 1, 0, {"gen_ai.output.messages": "shop"}),
        sent("receive", "shop", 2, 1, {"gen_ai.input.messages": "user"}),
        sent("generate_reply", "shop", 3, 2, {}),
        model_span((), 4, 3, at=5, lasting=5, attributes=asked, scope="openlit.instrumentation.openai", status=2),
    )
    assert (called(run), doubts(run)) == ([], ["nothing_recorded"])


@pytest.mark.parametrize(
    ("scope", "given"),
    [
        ("openlit.otel.tracing", {"gen_ai.system": "gemini", "gen_ai.prompt": "hi", "gen_ai.completion": "Sunny."}),
        (
            "openlit.instrumentation.google_ai_studio",
            {"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Sunny."}]}]'},
        ),
    ],
)
def test_what_google_genai_called_itself_is_inside_one_span_that_tells_nothing_of_it(
    scope: str, given: dict[str, Any]
) -> None:
    answer = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["FinishReason.STOP"], **given}
    run = run_of(span("POST", 1, lasting=100), span("chat", 2, 1, attributes=answer, scope=scope))
    assert doubts(run) == ["unrecorded_calls"]


def _begun(name: str, number: int, at: float, kwargs: str) -> Span:
    returned = f"<coroutine object {name} at 0x7effb62d65e0>"
    attributes = {"gen_ai.output.messages": returned, "function.args": "()", "function.kwargs": kwargs}
    return span(name, number, 1, at, 0.1, attributes=attributes, scope="openlit", status=1)


def _asked_openlit(number: int, at: float, calls: list[tuple[str, str, str]], told: str | None = None) -> Span:
    messages: list[dict[str, Any]] = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
    if told is not None:
        result = {"type": "tool_call_response", "id": "c1", "response": told}
        messages.append({"role": "tool", "parts": [result]})
    attributes = {"gen_ai.input.messages": json.dumps(messages)}
    return model_span(calls, number=number, parent=1, at=at, lasting=5, attributes=attributes)


@pytest.mark.parametrize(
    ("told", "expected", "status"),
    [("sunny", [], "ok"), ("Error: no money", [], "error"), (None, ["unobserved_results"], "unset")],
)
def test_the_span_of_an_asynchronous_function_ends_before_the_function_runs(
    told: str | None, expected: list[str], status: str
) -> None:
    root = span("agent", 1, scope="openlit", lasting=100)
    asked = _asked_openlit(2, 1, [("c1", "get", '{"city": "Oslo"}')])
    spans = [root, asked, _begun("get", 3, 10, "{'city': 'Oslo'}")]
    if told is not None:
        spans.append(_asked_openlit(4, 20, [], told))
    run = run_of(*spans)
    assert (called(run), doubts(run)) == (["get"], expected)
    assert run.trajectory.calls[0].status == status


def test_an_asynchronous_function_that_no_model_asked_for_may_be_an_agent() -> None:
    root = span("agent", 1, scope="openlit", lasting=100)
    run = run_of(root, _begun("plan", 2, 1, "{}"), _asked_openlit(3, 10, []))
    assert "uncertain_execution" in doubts(run)


def _asked_google(number: int, told: list[tuple[str, str]], asks: str | None) -> Span:
    """A request of openlit 1.45, which was told of calls and their results: no call has an id, or its result a name."""
    messages: list[dict[str, Any]] = [{"role": "user", "parts": [{"type": "text", "content": "Help Ada"}]}]
    for city, returned in told:
        call = {"type": "tool_call", "id": "", "name": "get", "arguments": {"city": city}}
        answer = {"type": "tool_call_response", "id": "", "response": str({"result": returned})}
        messages += [{"role": "assistant", "parts": [call]}, {"role": "user", "parts": [answer]}]
    parts: list[dict[str, Any]] = [{"type": "text", "content": "None" if asks else "Done."}]
    if asks:
        parts.append({"type": "tool_call", "id": "", "name": "get", "arguments": {"city": asks}})
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.finish_reasons": ["FinishReason.STOP"],
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}]),
    }
    scope = "openlit.instrumentation.google_ai_studio"
    return span("chat", number, 1, number, 0.5, attributes=attributes, scope=scope)


def test_a_loop_that_makes_the_calls_itself_which_google_genai_could_make_is_decided() -> None:
    rome, oslo = ("Rome", "sunny"), ("Oslo", "rain")
    asked = [_asked_google(2, [], "Rome"), _asked_google(3, [rome], "Oslo"), _asked_google(4, [rome, oslo], None)]
    run = run_of(span("POST", 1, lasting=100), *asked)
    assert (called(run), doubts(run)) == (["get", "get"], [])


@pytest.mark.parametrize("asks", [None, "Oslo"])
def test_what_google_genai_was_told_of_calls_that_no_answer_asked_for_may_be_its_own(asks: str | None) -> None:
    """The history of automatic calling, which a chat goes on with: the answer at its limit asks for a call."""
    told = [("Rome", "sunny"), ("Oslo", "rain")]
    run = run_of(span("POST", 1, lasting=100), _asked_google(2, [], asks), _asked_google(3, told, None))
    assert doubts(run) == ["unrecorded_calls"]


@pytest.mark.parametrize(
    ("scope", "given"),
    [
        ("openlit.otel.tracing", {"gen_ai.system": "ollama", "gen_ai.prompt": "user: hi", "gen_ai.completion": ""}),
        (
            "openlit.instrumentation.ollama",
            {"gen_ai.request.stream": False, "gen_ai.output.messages": '[{"role": "assistant", "parts": []}]'},
        ),
    ],
)
def test_calls_that_a_model_of_ollama_asks_for_are_not_recorded(scope: str, given: dict[str, Any]) -> None:
    answer = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["stop"], **given}
    run = run_of(span("POST", 1, lasting=100), span("chat", 2, 1, attributes=answer, scope=scope))
    assert doubts(run) == ["unrecorded_calls"]


def test_a_streamed_answer_of_ollama_without_calls_asked_for_none() -> None:
    answer = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.stream": True,
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Hello."}]}]',
    }
    scope = "openlit.instrumentation.ollama"
    run = run_of(span("POST", 1, lasting=100), span("chat", 2, 1, attributes=answer, scope=scope))
    assert doubts(run) == []


def _streamed(number: int, at: float, told: list[str], asks: str | None, scope: str) -> Span:
    """A request of openlit, which keeps the last of the calls of a stream, and of those told all."""
    calls = [{"type": "tool_call", "id": f"toolu_0{city}", "name": "get", "arguments": {"city": city}} for city in told]
    results = [{"type": "tool_call_response", "id": f"toolu_0{city}", "response": "sunny"} for city in told]
    messages: list[dict[str, Any]] = [{"role": "user", "parts": [{"type": "text", "content": "Help Ada"}]}]
    if told:
        messages += [{"role": "assistant", "parts": calls}, {"role": "user", "parts": results}]
    part = {"type": "text", "content": "Done."} if asks is None else _call_of(asks)
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.is_stream": True,
        "gen_ai.response.finish_reasons": ["stop" if asks is None else "tool_call"],
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [part]}]),
    }
    return span("chat", number, 1, at, 5, attributes=attributes, scope=scope)


def _call_of(city: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": f"toolu_0{city}", "name": "get", "arguments": {"city": city}}


STREAMING = ["@openlit/instrumentation-anthropic", "@openlit/instrumentation-ollama"]


@pytest.mark.parametrize("scope", STREAMING)
def test_of_the_calls_of_a_stream_the_last_alone_is_kept_and_the_next_request_tells_all(scope: str) -> None:
    asked, told = _streamed(2, 1, [], "Oslo", scope), _streamed(3, 20, ["Rome", "Oslo"], None, scope)
    inside = [
        span("messages", number, parent, at, 3, attributes={"gen_ai.operation.name": "chat", **reason}, scope="client")
        for number, parent, at, reason in [
            (4, 2, 2, {"gen_ai.response.finish_reasons": ["tool_use"]}),
            (5, 3, 21, {"gen_ai.response.finish_reasons": ["end_turn"]}),
        ]
    ]
    root = span("POST", 1, lasting=100)
    run = run_of(root, asked, told, *inside)
    assert [call.arguments for call in run.trajectory.calls] == [{"city": "Rome"}, {"city": "Oslo"}]
    assert doubts(run) == []
    assert doubts(run_of(root, asked)) == ["unrecorded_calls"]
    again = _streamed(3, 20, ["Rome", "Oslo"], "Bern", scope)
    around = span("messages", 5, 1, 19, 9, attributes={"gen_ai.operation.name": "chat"}, scope="client")
    assert doubts(run_of(root, asked, again, around)) == ["unrecorded_calls"]
    last = _streamed(6, 40, ["Rome", "Oslo", "Bern"], None, scope)
    assert doubts(run_of(root, asked, again, last)) == []


@pytest.mark.parametrize("scope", ["@openlit/instrumentation-google-ai", "@openlit/instrumentation-vertexai"])
def test_of_the_calls_of_a_model_of_google_one_is_kept_in_javascript(scope: str) -> None:
    run = run_of(span("POST", 1, lasting=100), _streamed(2, 1, [], "Oslo", scope), _streamed(3, 20, [], None, scope))
    assert (called(run), "unrecorded_calls" in doubts(run)) == (["get"], True)
    assert doubts(run_of(span("POST", 1, lasting=100), _streamed(2, 1, [], None, scope))) == []


def test_what_came_of_a_call_of_agno_is_not_told_by_its_span() -> None:
    """openlit 1.36.3 under agno 2.3: the span ends well at once, and the model is told the bare words of an error."""
    agno: dict[str, Any] = {"gen_ai.operation.name": "execute_task", "gen_ai.system": "agno", "gen_ai.tool.name": "pay"}
    asked = {"gen_ai.tool.name": "pay", "gen_ai.tool.call.id": "c1", "gen_ai.tool.args": '{"n": 1}'}
    call = {"id": "c1", "function": {"arguments": '{"n": 1}', "name": "pay"}, "type": "function"}
    messages = [
        {"role": "user", "content": "pay"},
        {"role": "assistant", "tool_calls": [call], "content": ""},
        {"role": "tool", "content": "no stock", "tool_call_id": "c1"},
    ]

    def request(number: int, at: float, attributes: dict[str, Any], prompt: str) -> Span:
        about = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", **attributes}
        events = [("gen_ai.content.prompt", {"gen_ai.prompt": prompt})]
        return span("chat gpt-4o", number, 1, at, 5, attributes=about, events=events, scope="openlit.otel.tracing")

    def step(name: str, number: int, at: float, attributes: dict[str, Any]) -> Span:
        return span(name, number, 1, at, 0.1, attributes=attributes, status=1, scope="openlit.otel.tracing")

    run = run_of(
        span(
            "agent shop", 1, lasting=90, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.system": "agno"}
        ),
        request(2, 1, {**asked, "gen_ai.response.finish_reasons": "['tool_calls']"}, "user: pay"),
        step("tool pay", 3, 10, {**agno, "gen_ai.tool.parameters": "{'n': 1}"}),
        step("agent run tool unknown_tool", 4, 11, {**agno, "gen_ai.tool.name": "unknown_tool"}),
        request(5, 20, {"gen_ai.response.finish_reasons": "['stop']"}, f"user: {messages}"),
    )
    assert (called(run), run.trajectory.calls[0].status) == (["pay"], "unset")
    assert doubts(run) == ["unobserved_results"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('[[ ## next_tool_name ## ]]\npay\n\n[[ ## next_tool_args ## ]]\n{"n": 1}\n\n[[ ## completed ## ]]', ["pay"]),
        ('{"next_thought": "t", "next_tool_name": "pay", "next_tool_args": {"n": 1}}', ["pay"]),
        ('{"next_thought": "t", "next_tool_name": "finish", "next_tool_args": {}}', []),
    ],
)
def test_a_step_of_dspy_in_a_trace_of_its_own_is_a_part_of_a_run(answer: str, expected: list[str]) -> None:
    """OpenLIT sees LiteLLM's requests, and neither DSPy's agent nor its tools. What names no tool of it is asked for anew."""
    said = [{"role": "assistant", "parts": [{"type": "text", "content": answer}], "finish_reason": "stop"}]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "litellm",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.output.messages": json.dumps(said),
    }
    spans = [span("chat openai/gpt-4o", 1, scope="openlit.instrumentation.litellm", status=1, attributes=attributes)]
    run = run_of(*spans)
    assert [call.name for call in run.trajectory.calls] == expected
    uncertain = ["uncertain_execution", "unobserved_results"] if expected else []
    assert doubts(run) == ["other_traces", *uncertain]


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("I have tools to execute, but I need confirmation.", ["other_traces"]),
        (
            "I have tools to execute, but it needs external execution.",
            ["other_traces", "uncertain_execution", "unobserved_results"],
        ),
    ],
)
def test_a_run_of_agno_that_is_paused_goes_on_in_another_trace(returned: str, expected: list[str]) -> None:
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": returned}]}])
    scope = "openlit.instrumentation.agno"
    run = run_of(
        agent_span("trip", lasting=50, scope=scope, attributes={"gen_ai.output.messages": said}),
        model_span([("c1", "pay", {})], 2, 1, at=5, scope="openlit.instrumentation.openai"),
    )
    assert (called(run), doubts(run)) == (["(pay)"], expected)


def test_a_run_of_agno_that_goes_on_began_in_another_trace() -> None:
    scope = "openlit.instrumentation.agno"
    given = {"gen_ai.input.messages": json.dumps([user("pay")])}
    response = {"type": "tool_call_response", "id": "c1", "response": "paid"}
    told = [user("pay"), {"role": "tool", "parts": [response]}]  # OpenLIT leaves out the request
    run = run_of(
        agent_span("trip", lasting=50, scope=scope, attributes=given),
        tool_span("pay", {}, 3, call_id="c1", at=5, lasting=5, scope=scope),
        model_span((), 2, 1, at=20, scope="openlit.instrumentation.openai", input_messages=told),
    )
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


OPENAI_AGENTS = "openlit.instrumentation.openai_agents"
AWAITED = "FunctionToolResult(tool=FunctionTool(name='pay', description='d', params_json_schema={'properties': {}}))"


def of_agents(name: str, number: int, parent: int, at: float, lasting: float) -> Span:
    attributes = {"gen_ai.operation.name": "invoke_agent", **({"gen_ai.agent.name": name} if name else {})}
    return span(
        f"invoke_agent {name}".strip(),
        number,
        parent,
        at,
        lasting,
        attributes=attributes,
        scope=OPENAI_AGENTS,
        status=1,
    )


def made(result: str, number: int, parent: int, at: float) -> Span:
    more = {"gen_ai.tool.call.result": result}
    return tool_span("pay", {"n": 1}, number, parent, at=at, lasting=5, scope=OPENAI_AGENTS, status=1, attributes=more)


@pytest.mark.parametrize("result", [AWAITED, "paid"])
def test_a_call_of_openai_agents_that_waits_for_an_approval_has_not_run(result: str) -> None:
    """1.45, openai-agents 0.20: its span ends well, and holds the SDK's own object in place of a result."""
    run = run_of(
        span("invoke_workflow", 1, lasting=200, attributes={"gen_ai.operation.name": "invoke_workflow"}),
        of_agents("", 2, 1, 1, 190),
        of_agents("travel", 3, 2, 2, 180),
        of_agents("", 4, 3, 3, 170),
        model_span([("c1", "pay", '{"n": 1}')], 5, 4, at=5, lasting=50, scope="openlit.instrumentation.openai"),
        made(result, 6, 4, 60),
    )
    expected = (["pay"], []) if result == "paid" else (["(pay)"], ["other_traces", "uncertain_execution"])
    assert (called(run), doubts(run)) == expected


def test_a_run_of_openai_agents_that_goes_on_with_an_approved_call_began_in_another_trace() -> None:
    """1.45: the call is beside the agent, in the span around it."""
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "done"}]}]
    going_on, agent = runs_of(
        of_agents("", 1, 0, 0, 200),
        made("paid", 2, 1, 30),
        of_agents("travel", 3, 1, 60, 120),
        of_agents("", 4, 3, 61, 110),
        model_span((), 5, 4, at=65, lasting=50, scope="openlit.instrumentation.openai",
            attributes={"gen_ai.output.messages": json.dumps(answer)}),
    )  # fmt: skip
    assert (called(going_on), doubts(going_on), called(agent)) == (["pay"], ["other_traces"], [])


def call_of_claude(name: str, number: int, at: float, lasting: float, given: str, **more: Any) -> Span:
    attributes = {"gen_ai.tool.call.id": f"toolu_{number}", "gen_ai.tool.call.arguments": given}
    more = {"status": 1, "scope": "@openlit/instrumentation-claude-agent-sdk", **more}
    return tool_span(name, None, number, at=at, lasting=lasting, attributes=attributes, **more)


@pytest.mark.parametrize(
    ("words", "expected", "open_ones"),
    [
        ("not today", ["pay"], ["uncertain_execution"]),
        ("Exit code 3", ["pay"], []),
        ("PreToolUse:pay hook error: policy", ["(pay)"], []),
    ],
)
def test_a_call_of_claudes_agent_that_failed_may_have_been_denied_in_words_of_ones_own(
    words: str, expected: list[str], open_ones: list[str]
) -> None:
    """OpenLIT 1.15 for JavaScript with @anthropic-ai/claude-agent-sdk 0.3.332."""
    denied = call_of_claude("pay", 2, 10, 20, '{"sum":5}', status=2, message=words)
    run = run_of(agent_span(scope="@openlit/instrumentation-claude-agent-sdk", lasting=100), denied)
    assert (called(run), doubts(run)) == (expected, open_ones)


@pytest.mark.parametrize(
    ("given", "at", "expected"),
    [
        ('{"prompt":"pay it","run_in_background":false}', 20, ["uncertain_owner"]),
        ('{"prompt":"pay it","run_in_background":false}', 60, []),
        ('{"prompt":"pay it"}', 60, ["uncertain_owner"]),
    ],
)
def test_an_agent_that_claudes_agent_started_may_have_made_the_calls_beside_it(
    given: str, at: float, expected: list[str]
) -> None:
    run = run_of(
        agent_span(scope="@openlit/instrumentation-claude-agent-sdk", lasting=100),
        call_of_claude("Agent", 2, 10, 40, given),
        call_of_claude("pay", 3, at, 5, '{"sum":5}'),
    )
    assert (called(run), doubts(run)) == (["Agent", "pay"], expected)


def test_the_form_of_an_output_of_claudes_agent_is_no_tool_that_ran() -> None:
    run = run_of(
        agent_span(scope="@openlit/instrumentation-claude-agent-sdk", lasting=100),
        call_of_claude("StructuredOutput", 2, 10, 20, '{"sum":5}'),
    )
    assert (called(run), doubts(run)) == (["(StructuredOutput)"], [])


def smolagents(name: str, number: int, parent: int, at: float, lasting: float, **more: Any) -> Span:
    """A span of smolagents (1.26), of which one that ended with an exception has nothing but its name and what was raised."""
    return span(name, number, parent, at, lasting, scope="openlit.instrumentation.smolagents", **more)


def step_of_smolagents(number: int, at: float, step: int) -> Span:
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "travel"}
    attributes = {**named, "gen_ai.smolagents.step_number": step}
    return smolagents(f"invoke_agent travel step_{step}", number, 1, at, 40, attributes=attributes, status=1)


@pytest.mark.parametrize(
    ("error", "message", "shown"),
    [
        ("AgentToolExecutionError", "Error executing tool 'pay' with arguments {}: Declined: no funds", "pay"),
        ("AgentToolCallError", "Argument amount is required", "(pay)"),
        ("AgentToolExecutionError", "Unknown tool pay, should be one of: get, final_answer.", "(pay)"),
    ],
)
def test_the_steps_of_an_agent_of_smolagents_are_one_run(error: str, message: str, shown: str) -> None:
    scope = "openlit.instrumentation.smolagents"
    failed = {"status": 2, "message": f"{error}: {message}", "attributes": {"error.type": error}}
    run = run_of(
        agent_span("travel", lasting=200, scope=scope),
        step_of_smolagents(2, 1, 1),
        model_span([("c1", "pay", {})], 3, 2, at=2, scope="openlit.instrumentation.openai"),
        smolagents("execute_tool pay", 4, 2, 20, 5, **failed),
        step_of_smolagents(5, 50, 2),
        model_span([("c2", "get", {"city": "Oslo"})], 6, 5, at=51, scope="openlit.instrumentation.openai"),
        tool_span("get", {"city": "Oslo"}, 7, 5, at=70, call_id="7e1", scope=scope, status=1),
    )
    assert (run.agent, called(run), doubts(run)) == ("travel", [shown, "get"], [])
    assert (run.trajectory.calls[0].status, run.trajectory.calls[0].arguments) == ("error", {})


def test_an_agent_of_smolagents_that_failed_is_named_by_its_span() -> None:
    failed = smolagents("invoke_agent travel", 1, 0, 0, 90, status=2, attributes={"error.type": "AgentError"})
    planning = {"gen_ai.operation.name": "invoke_agent", "gen_ai.smolagents.planning": True}
    runs = runs_of(
        failed,
        smolagents("invoke_agent travel planning", 2, 1, 1, 5, attributes=planning),
        step_of_smolagents(3, 10, 1),
        tool_span("get", {}, 4, 3, at=20, scope="openlit.instrumentation.smolagents"),
    )
    assert [(run.agent, called(run)) for run in runs] == [("travel", ["get"])]


@pytest.mark.parametrize(
    ("answer", "expected"), [("<code>get('Oslo')\nget('Rome')</code>", []), ("", ["uncertain_order"])]
)
def test_the_code_of_an_agent_of_smolagents_calls_one_tool_after_the_other(answer: str, expected: list[str]) -> None:
    scope = "openlit.instrumentation.smolagents"
    parts = [{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]
    told = {"gen_ai.output.messages": json.dumps(parts)} if answer else {}
    run = run_of(
        agent_span("travel", lasting=200, scope=scope),
        step_of_smolagents(2, 1, 1),
        model_span((), 3, 2, at=2, lasting=5, attributes=told, scope="openlit.instrumentation.openai"),
        tool_span("get", {"city": "Oslo"}, 4, 2, at=10, lasting=2, scope=scope),
        tool_span("get", {"city": "Rome"}, 5, 2, at=14, lasting=2, scope=scope),
    )
    assert (called(run), [doubt for doubt in doubts(run) if doubt == "uncertain_order"]) == (["get", "get"], expected)


@pytest.mark.parametrize(
    ("calls", "told", "expected"),
    [
        ([("c1", "get", {})], (), ["other_traces", "unobserved_results"]),
        ((), (), []),
        ([("c2", "pay", {})], (user("go"), asked(("c1", "get", {})), result("c1", "fine")), ["other_traces"]),
    ],
)
def test_a_request_of_haystacks_agent_has_a_trace_of_its_own_below_that_of_its_component(
    calls: list[tuple[str, str, Any]], told: tuple[dict[str, Any], ...], expected: list[str]
) -> None:
    """An agent leaves no span, unless it is in a pipeline."""
    component = {"gen_ai.operation.name": "chat", "gen_ai.framework.component.type": "generator"}
    scope = "openlit.instrumentation.haystack"
    request = model_span(calls, 2, 1, at=1, lasting=5, input_messages=told, scope="openlit.instrumentation.openai")
    alone = run_of(span("chat llm", attributes=component, scope=scope), request)
    assert doubts(alone)[: len(expected)] == expected
    pipeline = {"gen_ai.operation.name": "invoke_workflow"}
    inside = run_of(
        span("invoke_workflow pipeline", 9, attributes=pipeline, scope=scope, lasting=50),
        span("chat llm", 1, 9, attributes=component, scope=scope),
        request,
    )
    assert "other_traces" not in doubts(inside)
