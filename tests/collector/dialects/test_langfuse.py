"""Langfuse's SDK."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, read_tool, run_of, runs_of, span, span_of_kind

INPUT = "langfuse.observation.input"
OUTPUT = "langfuse.observation.output"


lf = partial(span_of_kind, "langfuse.observation.type")


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (
            {INPUT: '{"city": "Oslo"}', "langfuse.observation.metadata.tool_call_id": '"c1"'},
            ("c1", {"city": "Oslo"}, "unset"),
        ),
        (
            {INPUT: '{"city": "Oslo"}', "langfuse.observation.metadata.tool_call_id": "c1"},
            ("c1", {"city": "Oslo"}, "unset"),
        ),
        (
            {INPUT: '{"args": [], "kwargs": {"city": "Oslo"}}', "langfuse.observation.level": "ERROR"},
            (None, {"city": "Oslo"}, "error"),
        ),
        ({}, (None, None, "unset")),
        ({"langfuse.observation.output": '{"error": "taken"}'}, (None, None, "error")),
        (
            {"langfuse.observation.output": json.dumps({"content": '{"error": "taken"}', "type": "tool"})},
            (None, None, "error"),
        ),
    ],
)
def test_a_tool_span(attributes: dict[str, str], expected: Any) -> None:
    assert read_tool(lf("tool", "get", 2, 1, attributes=attributes)) == ("get", *expected)


def test_a_run_of_langchain() -> None:
    output = {
        "role": "assistant",
        "tool_calls": [{"name": "get", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}],
    }
    named = {"langfuse.observation.metadata.lc_agent_name": '"travel"'}
    run = run_of(
        lf(
            "agent",
            "travel",
            1,
            lasting=100,
            attributes={
                **named,
                INPUT: '{"messages": [{"role": "user", "content": "hi"}]}',
                "langfuse.trace.metadata.thread_id": '"t"',
            },
        ),
        lf("chain", "model", 2, 1, attributes=named),
        lf("generation", "ChatOpenAI", 3, 2, 1, 5, attributes={"langfuse.observation.output": json.dumps(output)}),
        lf("tool", "get", 4, 1, 10),
    )
    assert (run.agent, run.user_input, run.conversation_id) == ("travel", "hi", "t")
    assert (run.trajectory.calls[0].id, run.trajectory.calls[0].arguments) == ("c1", {"city": "Oslo"})


def test_decorated_functions_nest() -> None:
    outer, inner = runs_of(
        lf("agent", "travel", 1, lasting=100, attributes={INPUT: '{"args": ["hi"], "kwargs": {}}'}),
        lf("tool", "ask", 2, 1, 1, 50),
        lf("agent", "policy", 3, 2, 2, 40),
        lf("tool", "look", 4, 3, 3),
    )
    assert (outer.user_input, called(outer), called(inner)) == ("hi", ["ask"], ["look"])


@pytest.mark.parametrize("kind", ["span", "event", "retriever", "chain", "embedding", "guardrail"])
def test_other_observations_are_ignored(kind: str) -> None:
    assert dialects.read_span(lf(kind, "x", 2, 1)) is IGNORED


@pytest.mark.parametrize("key", ["gen_ai.tool.name", "tool.name"])
def test_an_attribute_names_the_tool_before_the_span_does(key: str) -> None:
    attributes = {"langfuse.observation.type": "tool", key: "pay", "langfuse.observation.input": '{"n": 1}'}
    assert read_tool(span("pay tool", 2, 1, attributes=attributes))[:3] == ("pay", None, {"n": 1})


@pytest.mark.parametrize("metadata", [{}, {"langfuse.observation.metadata.tool_name": "pay"}])
def test_a_tool_may_be_an_observation_without_a_type(metadata: dict[str, Any]) -> None:
    name = "tool-pay" if metadata else "tool:pay"
    assert read_tool(lf("span", name, 2, 1, attributes={INPUT: '{"n": 1}', **metadata}))[:3] == ("pay", None, {"n": 1})
    assert dialects.read_span(lf("span", "iteration-1", 2, 1, attributes=metadata)) is IGNORED


def test_the_names_of_arguments_are_not_the_arguments() -> None:
    run = run_of(lf("agent", "travel", 1), lf("tool", "pay", 2, 1, 1, attributes={INPUT: '{"argument_keys": ["n"]}'}))
    assert (called(run), doubts(run)) == (["pay"], ["unreadable_arguments"])


def test_a_hook_of_langchains_middleware_is_no_run() -> None:
    node = {"langfuse.observation.metadata.langgraph_node": '"PatchToolCallsMiddleware.before_agent"'}
    hook = lf("agent", "PatchToolCallsMiddleware.before_agent", 2, 1, attributes=node)
    assert dialects.read_span(hook) is IGNORED
    run = run_of(lf("chain", "LangGraph", 1, lasting=100), hook, lf("tool", "get", 3, 1, 20, attributes={INPUT: "{}"}))
    assert (called(run), "nothing_recorded" in doubts(run)) == (["get"], False)
    assert dialects.read_span(lf("agent", "get.before_agent", 2, 1)) is not IGNORED


def test_a_step_of_langgraph_is_no_run_for_the_word_agent_in_its_name() -> None:
    metadata = "langfuse.observation.metadata."
    answer = {"role": "assistant", "tool_calls": [{"name": "get", "args": {"a": 1}, "id": "c1"}]}
    tags = {f"{metadata}langgraph_node": "__start__", f"{metadata}tags": '["seq:step:2","langsmith:hidden"]'}
    node = {f"{metadata}langgraph_node": "agent"}
    spans = [
        lf("chain", "LangGraph", 1, lasting=100),
        lf("agent", "route_to_active_agent", 2, 1, 1, 1, attributes=tags),
        lf("agent", "agent", 3, 1, 10, attributes=node),
        lf("generation", "ChatOpenAI", 4, 3, 11, 5, attributes={"langfuse.observation.output": json.dumps(answer)}),
        lf("tool", "get", 5, 1, 30, attributes={INPUT: "{'a': 1}"}),
        lf("agent", "agent", 6, 1, 50, attributes=node),
    ]
    run = run_of(*spans)
    assert (run.agent, called(run), doubts(run)) == ("LangGraph", ["get"], [])
    # The node of another graph may be an agent of its own, whose tools are below it.
    inner = lf("tool", "look", 7, 6, 51, attributes={INPUT: "{}"})
    assert {run.agent: called(run) for run in runs_of(*spans, inner)} == {"LangGraph": ["get"], "agent": ["look"]}


@pytest.mark.parametrize(("more", "status"), [({}, "unset"), ({"error": "true"}, "error")])
def test_a_tool_of_haystack_has_its_name_and_its_failure_in_the_metadata(more: dict[str, str], status: str) -> None:
    told = {f"langfuse.observation.metadata.haystack.tool.{key}": value for key, value in more.items()}
    told["langfuse.observation.metadata.haystack.tool.name"] = '"pay"'
    tool = lf("tool", "tool - pay", 2, 1, attributes={INPUT: '{"order": 7}', **told})
    assert read_tool(tool) == ("pay", None, {"order": 7}, status)


@pytest.mark.parametrize("is_told", [True, False])
def test_the_component_that_runs_all_tools_of_haystack_is_none_of_them(is_told: bool) -> None:
    """Haystack 2.x under `langfuse-haystack`, which types it as a tool and names it after all calls of the turn."""
    call = {"type": "function", "function": {"name": "pay", "arguments": '{"order": 7}'}, "id": "c1"}
    asked = [{"role": "assistant", "tool_calls": [call]}]
    result = {"result": "paid", "origin": {"tool_name": "pay", "arguments": {"order": 7}, "id": "c1"}, "error": False}
    returned = {"tool_messages": [{"role": "tool", "content": [{"tool_call_result": result}]}]}
    ran = {
        "langfuse.observation.metadata.haystack.component.type": "ToolInvoker",
        INPUT: json.dumps(asked),
        "langfuse.observation.output": json.dumps(returned),
    }
    told = [{"role": "user", "content": "hi"}, *asked, {"role": "tool", "content": "paid", "tool_call_id": "c1"}]
    final = {INPUT: json.dumps(told), "langfuse.observation.output": '[{"role": "assistant", "content": "Done."}]'}
    run = run_of(
        lf("agent", "haystack.agent.run", 1, lasting=100),
        lf("generation", "chat_generator", 2, 1, 1, 5, attributes={"langfuse.observation.output": json.dumps(asked)}),
        lf("tool", "tool_invoker - ['pay']", 3, 1, 10, 5, attributes=ran),
        *([lf("generation", "chat_generator", 4, 1, 20, 5, attributes=final)] if is_told else []),
    )
    assert (called(run), doubts(run)) == (["pay"], [])


@pytest.mark.parametrize(("arguments", "expected"), [({"n": 1}, (["(book)"], [])), ({"room": 7}, (["book"], []))])
def test_the_tools_of_a_request_tell_whether_arguments_were_refused(arguments: Any, expected: Any) -> None:
    """The wrapper of OpenAI's client records them, and the decorator of a function a failure to call it."""
    parameters = {"type": "object", "properties": {"room": {"type": "integer"}}, "required": ["room"]}
    tools = [{"type": "function", "function": {"name": "book", "parameters": parameters}}]
    call = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": json.dumps(arguments)}}
    given = {INPUT: json.dumps({"tools": tools, "messages": [{"role": "user", "content": "book it"}]})}
    answer = {"langfuse.observation.output": json.dumps({"role": "assistant", "tool_calls": [call]})}
    failed = {
        INPUT: json.dumps({"args": [], "kwargs": arguments}),
        "langfuse.observation.status_message": "missing a required argument: 'room'",
    }
    run = run_of(
        lf("agent", "clerk", 1, lasting=100),
        lf("generation", "OpenAI-generation", 2, 1, 1, attributes=given | answer),
        lf("tool", "book", 3, 1, 20, attributes=failed, status=2, message="missing a required argument: 'room'"),
    )
    assert (called(run), doubts(run)) == expected


def test_tools_that_a_model_was_offered_are_no_results() -> None:
    """Langfuse 5.0's callback for LangChain has them among the messages."""
    offered = {"type": "function", "function": {"name": "get", "description": "Weather", "parameters": {}}}
    given = [{"role": "user", "content": "hi"}, {"role": "tool", "content": offered}]
    told = {INPUT: json.dumps(given), "langfuse.observation.output": '{"role": "assistant", "content": "Hello."}'}
    run = run_of(lf("agent", "travel", 1, lasting=90), lf("generation", "ChatOpenAI", 2, 1, at=5, attributes=told))
    assert (called(run), doubts(run)) == ([], [])


@pytest.mark.parametrize(
    ("level", "words"),
    [
        ("DEFAULT", "(Interrupt(value={'q': 'x'}, id='7f', response_schema=None),)"),
        ("ERROR", 'GraphInterrupt: [\n  {\n    "id": "6ea7",\n    "value": 1\n  }\n]'),  # JavaScript
    ],
)
def test_a_tool_of_langgraph_that_waits_for_a_human_has_not_run(level: str, words: str) -> None:
    """Langfuse 5.0 for Python: its level is that of a success."""
    interrupted = {
        INPUT: '{"q": "x"}',
        "langfuse.observation.metadata.tool_call_id": '"c1"',
        "langfuse.observation.level": level,
        "langfuse.observation.status_message": words,
    }
    asked = {"role": "assistant", "tool_calls": [{"name": "ask", "args": {"q": "x"}, "id": "c1", "type": "tool_call"}]}
    run = run_of(
        lf("agent", "travel", 1, lasting=90),
        lf("generation", "ChatOpenAI", 2, 1, at=5, attributes={"langfuse.observation.output": json.dumps(asked)}),
        lf("tool", "ask", 3, 1, at=20, attributes=interrupted),
    )
    assert (called(run), doubts(run)) == (["(ask)"], ["other_traces", "uncertain_execution"])


@pytest.mark.parametrize("is_waited_for", [True, False])
def test_an_agent_of_langgraph_that_a_human_answered_began_in_another_trace(is_waited_for: bool) -> None:
    """Langfuse 5.0 with LangChain 1.x, where no call came before the one that was edited: all that is told ran in this trace,
    unless the run that waited is in it, too.
    """
    command: dict[str, Any] = {"graph": None, "update": None, "resume": {"decisions": [{"type": "edit"}]}, "goto": []}
    asked = {"role": "assistant", "tool_calls": [{"name": "pay", "args": {"n": 1}, "id": "c1", "type": "tool_call"}]}
    before = [
        lf("agent", "travel", 5, 9, lasting=9),
        lf("generation", "ChatOpenAI", 6, 5, at=1, lasting=2, attributes={OUTPUT: json.dumps(asked)}),
    ]
    *_, run = runs_of(
        lf("span", "POST /chat", 9, lasting=200),
        *(before if is_waited_for else []),
        lf("agent", "travel", 1, 9, at=10, lasting=90, attributes={INPUT: json.dumps(command)}),
        lf(
            "tool",
            "pay",
            2,
            1,
            at=20,
            attributes={INPUT: '{"n": 9}', "langfuse.observation.metadata.tool_call_id": '"c1"'},
        ),
        lf("generation", "ChatOpenAI", 3, 1, at=50, attributes={OUTPUT: '{"role": "assistant", "content": "done"}'}),
    )
    assert (called(run), "other_traces" in doubts(run)) == (["pay"], not is_waited_for)


def test_each_call_that_an_agent_of_langchain_for_js_asks_for_leaves_a_span() -> None:
    """The span of its run does not tell whose it is; those of its steps do. One that waits for a human has no span."""
    asked = {"role": "assistant", "tool_calls": [{"name": "pay", "args": {"n": 1}, "id": "c1", "type": "tool_call"}]}
    request = {
        "langfuse.observation.output": json.dumps(asked),
        "langfuse.observation.metadata.lc_agent_name": "travel",
        "langfuse.observation.metadata.langgraph_node": "model_request",
    }
    run = run_of(lf("span", "travel", 1, lasting=90), lf("generation", "ChatOpenAI", 2, 1, at=5, attributes=request))
    assert (called(run), doubts(run)) == (["(pay)"], [])


def test_tools_of_langchain_have_no_type_before_3_3() -> None:
    """Nor do spans that failed have a status. An agent whose tool raises (`AgentExecutor`) leaves out the other calls."""
    asked = [{"id": f"c{n}", "type": "tool_call", "name": "pay", "args": {"n": n}} for n in (1, 2)]
    answer = {"langfuse.observation.output": json.dumps({"role": "assistant", "content": "", "tool_calls": asked})}
    failed = {"langfuse.observation.level": "ERROR", "langfuse.observation.status_message": "no money on card"}
    tool = {
        INPUT: json.dumps("{'n': 1}"),
        "langfuse.observation.metadata.color": '"green"',
        "langfuse.observation.metadata.inputs": '{"n": 1}',
    }
    run = run_of(
        lf("span", "AgentExecutor", 1, lasting=10),
        lf("generation", "ChatOpenAI", 2, 1, at=5, attributes=answer),
        lf("span", "pay", 3, 1, at=20, attributes=tool | failed),
    )
    assert {(call.arguments or {})["n"]: call.status if call.executed else None for call in run.trajectory.calls} == {
        1: "error",
        2: None,
    }
    assert doubts(run) == ["uncertain_execution", "unobserved_results"]


def test_a_run_that_failed_may_have_done_so_with_its_last_call() -> None:
    """LangGraph cancels a tool without a span for it. Before 3.6 the level alone says of a chain that it failed."""
    asked = [{"id": "c1", "type": "tool_call", "name": "pay", "args": {"n": 1}}]
    answer = {"langfuse.observation.output": json.dumps({"role": "assistant", "content": "", "tool_calls": asked})}
    tool = {INPUT: json.dumps("{'n': 1}"), "langfuse.observation.metadata.color": '"green"'}
    run = run_of(
        lf("span", "shop", 1, lasting=90, attributes={"langfuse.observation.level": "ERROR"}),
        lf("span", "get", 2, 1, at=2, attributes=tool),
        lf("generation", "ChatOpenAI", 3, 1, at=5, attributes=answer),
    )
    assert called(run) == ["get", "(pay)"]
    assert "uncertain_execution" in doubts(run)


def test_a_result_that_langchain_for_js_told_has_its_tool_as_the_role() -> None:
    """Langfuse 5.11: a run that goes on after a human's answer was told of a call of an earlier trace."""
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n":1}'}}
    messages = [
        {"content": "hi", "role": "user"},
        {"content": "", "role": "assistant", "tool_calls": [call]},
        {"content": "Not today.", "additional_kwargs": {}, "role": "pay"},
    ]
    told = {
        INPUT: json.dumps({"messages": messages, "tools": []}, separators=(",", ":")),
        "langfuse.observation.output": '{"content":"Fine.","role":"assistant"}',
    }
    run = run_of(lf("generation", "ChatOpenAI", 1, attributes=told))
    assert (called(run), doubts(run)) == ([], ["other_traces"])


def test_a_result_for_which_an_application_named_no_tool_has_no_role() -> None:
    """A node of LangGraph's that calls functions itself: its run does not wait for a human."""
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n":1}'}}
    asked = {"content": "", "role": "assistant", "tool_calls": [call]}
    told = {"content": "paid", "additional_kwargs": {}}
    done = {"content": "done", "role": "assistant"}
    state = [{"content": "hi", "role": "user"}, asked, told, done]

    def record(given: Any, said: Any) -> dict[str, Any]:
        texts = (json.dumps(one, separators=(",", ":")) for one in (given, said))
        return dict(zip((INPUT, "langfuse.observation.output"), texts, strict=True))

    graph = {"langfuse.observation.metadata.ls_integration": "langgraph", **record(state[:1], {"messages": state})}
    run = run_of(
        span("POST /chat", 1, lasting=100),
        lf("span", "LangGraph", 2, 1, at=1, lasting=90, attributes=graph),
        lf("generation", "ChatOpenAI", 3, 2, at=5, lasting=9, attributes=record(state[:1], asked)),
        lf("generation", "ChatOpenAI", 4, 2, at=50, lasting=9, attributes=record(state[:3], done)),
    )
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == (["pay"], "ok", [])


def langchain_agent(given: Any, *, results: int) -> list[Span]:
    """A run of LangChain's agents for JavaScript, as Langfuse 5.11 records it: results have no ids."""
    asked = [{"id": f"c{n}", "type": "function", "function": {"name": f"t{n}", "arguments": "{}"}} for n in range(2)]
    told = [{"content": "ok", "additional_kwargs": {}, "role": f"t{n}"} for n in range(results)]
    answer = {"content": "", "role": "assistant", "tool_calls": asked}
    state = [
        {"content": "hi", "role": "user"},
        answer,
        *told,
        *([{"content": "done", "role": "assistant"}] if told else []),
    ]
    agent = {
        "langfuse.observation.metadata.lc_agent_name": "till",
        "langfuse.observation.metadata.ls_integration": "langchain_create_agent",
    }
    node = {**agent, "langfuse.observation.metadata.langgraph_node": "model_request"}

    def as_json(value: object) -> str:
        return json.dumps(value, separators=(",", ":"))

    ended = {INPUT: as_json(given), "langfuse.observation.output": as_json({"messages": state})}
    asks, ends = ({INPUT: as_json({"messages": state[:n]}), "langfuse.observation.output": as_json(said)}
                  for n, said in ((1, answer), (2 + len(told), state[-1])))  # fmt: skip
    models = [lf("generation", "ChatOpenAI", 3, 1, at=60, lasting=9, attributes=node | ends)] if told else []
    if "messages" in given:
        models.append(lf("generation", "ChatOpenAI", 2, 1, at=5, lasting=9, attributes=node | asks))
    tools = [
        lf("tool", f"t{n}", 10 + n, 1, at=20, attributes={INPUT: "{}", "langfuse.observation.output": as_json(told[n])})
        for n in range(results)
    ]
    agent_span = lf("span", "till", 1, lasting=100, attributes=agent | ended, scope="langfuse-sdk")
    return [agent_span, *models, *tools]


@pytest.mark.parametrize(("results", "expected"), [(2, []), (0, ["other_traces"])])
def test_a_run_of_langchain_for_js_that_ends_with_calls_waits(results: int, expected: list[str]) -> None:
    given = {"messages": [{"role": "user", "content": "hi"}]}
    assert doubts(run_of(*langchain_agent(given, results=results))) == expected


def test_one_that_answered_after_fewer_results_than_calls_has_ended() -> None:
    """A call whose arguments are no JSON has no result."""
    given = {"messages": [{"role": "user", "content": "hi"}]}
    assert "other_traces" not in doubts(run_of(*langchain_agent(given, results=1)))


def test_one_that_is_given_what_a_human_answered_began_in_another_trace() -> None:
    given = {"lg_name": "Command", "resume": {"decisions": [{"type": "approve"}]}, "goto": []}
    run = run_of(*langchain_agent(given, results=2))
    assert (sorted(called(run)), doubts(run)) == (["t0", "t1"], ["other_traces"])


LOOK = (
    '{"type":"function","name":"look","description":"d","parameters":{"type":"object","properties":{}},"strict":true}'
)
SEARCH = '{"type":"web_search","filters":null,"user_location":null,"search_context_size":"medium"}'
SEARCHED = (
    '[{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"w"}},{"id":"msg_1",'
    '"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"found"}]}]'
)


@pytest.mark.parametrize(
    ("offered", "answer", "expected"),
    [
        (SEARCH, "found", ([], ["unrecorded_calls"])),
        (LOOK, "found", ([], [])),
        (f"{LOOK},{SEARCH}", SEARCHED, (["web_search"], [])),
    ],
    ids=["a text", "no hosted tool", "a stream"],
)
def test_a_text_of_openais_responses_may_have_come_after_a_search(
    offered: str, answer: str, expected: tuple[list[str], list[str]]
) -> None:
    """`observeOpenAI` for JavaScript (5.11) leaves out what is beside a text, unless it was streamed."""
    given = {INPUT: '[{"role":"user","content":"hi"}]', "langfuse.observation.metadata.tools": f"[{offered}]"}
    run = run_of(
        lf("agent", "agent", 1, 0, 0, 100),
        lf("tool", "look", 2, 1, 5, 5, attributes={INPUT: '{"q":"x"}', OUTPUT: "seen"}),
        lf("generation", "OpenAI.responses", 3, 1, 20, 10, attributes={**given, OUTPUT: answer}),
    )
    names, found = expected
    assert (called(run), doubts(run)) == (["look", *names], found)
