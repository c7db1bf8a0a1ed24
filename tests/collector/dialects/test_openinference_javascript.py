"""OpenInference for JavaScript: OpenAI Agents (0.20), LangChain (1.5), and what agents of Claude (0.3) start."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, read_tool, run_of, runs_of, span, span_of_kind

KIND = "openinference.span.kind"
AGENTS = "@arizeai/openinference-instrumentation-openai-agents"
LANGCHAIN = "@arizeai/openinference-instrumentation-langchain"
CALL = "message.tool_calls.0.tool_call."
SENT: dict[str, Any] = {"name": "pay", "args": {"sum": 5}, "id": "call_0001Zqy5oa3susy9", "type": "tool_call"}


def oi(
    scope: str, kind: str, name: str, number: int, parent: int, at: float, lasting: float, **attributes: Any
) -> Span:
    dotted = {key.replace("__", "."): value for key, value in attributes.items()}
    return span_of_kind(KIND, kind, name, number, parent, at, lasting, scope=scope, status=1, attributes=dotted)


def asking(tool: str, given: str, number: int = 1, at: str = "llm.output_messages.0.") -> dict[str, str]:
    call = at + CALL
    return {
        f"{at}message.role": "assistant",
        f"{call}id": f"call_000{number}Zqy5oa3susy9",
        f"{call}function.name": tool,
        f"{call}function.arguments": given,
    }


def request(scope: str, number: int, parent: int, at: float, answer: dict[str, str], *, is_told: bool = False) -> Span:
    given = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "please do it"}
    if is_told:
        given |= asking("pay", '{"sum":5}', at="llm.input_messages.1.")
        given |= {
            "llm.input_messages.2.message.role": "tool",
            "llm.input_messages.2.message.tool_call_id": SENT["id"],
            "llm.input_messages.2.message.content": "paid",
        }
    attributes = {**given, **answer, "input.value": "[]", "output.value": "{}"}
    return span_of_kind(KIND, "LLM", "response", number, parent, at, 10, scope=scope, status=1, attributes=attributes)


DONE = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "done"}


def tool(
    scope: str, name: str, number: int, parent: int, at: float, given: str, returned: str = "done", lasting: float = 2
) -> Span:
    told = {"tool__name": name, "input__value": given, "output__value": returned}
    return oi(scope, "TOOL", name, number, parent, at, lasting, **told)


def agents() -> list[Span]:
    return [
        oi(AGENTS, "CHAIN", "Agent workflow", 1, 0, 0, 100),
        oi(AGENTS, "AGENT", "till", 2, 1, 1, 98, graph__node__id="till"),
    ]


@pytest.mark.parametrize("at", [5, 10], ids=["before", "in the same millisecond"])
def test_a_run_of_openai_agents_that_begins_with_an_approved_call_began_in_another_trace(at: float) -> None:
    approved = tool(AGENTS, "pay", 3, 2, at, '{"sum":5}')
    run = run_of(*agents(), approved, request(AGENTS, 4, 2, 10, DONE, is_told=True))
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


def test_a_run_of_openai_agents_that_ends_with_a_call_that_no_span_shows_waits_for_a_human() -> None:
    run = run_of(
        *agents(),
        request(AGENTS, 3, 2, 5, asking("find", '{"q":"a"}', 2)),
        tool(AGENTS, "find", 4, 2, 16, '{"q":"a"}'),
        request(AGENTS, 5, 2, 20, asking("pay", '{"sum":5}')),
    )
    assert (called(run), doubts(run)) == (["find", "(pay)"], ["other_traces"])


def graph(user_input: str, *messages: dict[str, Any]) -> Span:
    """The span of an agent, with the state in which it ended."""
    metadata = '{"ls_integration":"langchain_create_agent","lc_agent_name":"till","thread_id":"t1"}'
    state = {"messages": [{"lc": 1, "type": "constructor", "kwargs": message} for message in messages]}
    told = json.dumps(state, separators=(",", ":"))
    return oi(LANGCHAIN, "CHAIN", "till", 1, 0, 0, 100, metadata=metadata, input__value=user_input, output__value=told)


ASKED = {"content": "", "type": "ai", "tool_calls": [SENT], "invalid_tool_calls": []}
TOLD = {"content": "paid", "name": "pay", "tool_call_id": SENT["id"], "type": "tool"}
ANSWERED = {"content": "done", "type": "ai", "tool_calls": [], "invalid_tool_calls": []}
GO = '{"messages":[{"role":"user","content":"please do it"}]}'


@pytest.mark.parametrize(
    ("last", "waits"),
    [
        ([ASKED], True),
        # the structured response is a call, too, and the agent answers it
        ([ASKED, {**TOLD, "content": "Returning structured response"}], False),
        ([ASKED, TOLD, ANSWERED], False),
    ],
)
def test_a_run_of_langchain_that_ends_with_calls_waits_for_a_human(last: list[dict[str, Any]], *, waits: bool) -> None:
    run = run_of(graph(GO, *last), request(LANGCHAIN, 2, 1, 5, asking("pay", '{"sum":5}')))
    assert ("other_traces" in doubts(run)) is waits


@pytest.mark.parametrize(
    "state", ['{"messages":[{"lc":1,"type":"constructor"', '{"messages":[{"tool_calls":[{"name":"pay","args":{}}],"x']
)
@pytest.mark.parametrize("ran", [True, False])
def test_a_run_of_langchain_of_which_the_state_was_cut_off_waits_if_no_call_that_was_asked_for_last_has_a_span(
    state: str, *, ran: bool
) -> None:
    cut = graph(GO)
    cut.attributes["output.value"] = state
    asked = request(LANGCHAIN, 2, 1, 5, asking("pay", '{"sum":5}'))
    after = [tool(LANGCHAIN, "pay", 3, 1, 20, '{"sum":5}'), request(LANGCHAIN, 4, 1, 30, DONE)] if ran else []
    run = run_of(cut, asked, *after)
    assert (called(run), doubts(run)) == ((["pay"], []) if ran else (["(pay)"], ["other_traces"]))


@pytest.mark.parametrize(
    ("user_input", "is_resumed"), [('{"lg_name":"Command","resume":{"decisions":[]},"goto":[]}', True), (GO, False)]
)
def test_a_run_of_langchain_that_is_given_an_answer_began_in_another_trace(
    user_input: str, *, is_resumed: bool
) -> None:
    first = [] if is_resumed else [request(LANGCHAIN, 2, 1, 2, asking("pay", '{"sum":5}'))]
    run = run_of(
        graph(user_input, ASKED, TOLD, ANSWERED),
        *first,
        tool(LANGCHAIN, "pay", 3, 1, 14, '{"sum":5}'),
        request(LANGCHAIN, 4, 1, 20, DONE, is_told=True),
    )
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"] if is_resumed else [])


@pytest.mark.parametrize(
    ("result", "at", "expected"),
    [
        ({"status": "completed", "prompt": "p", "agentId": "a95a"}, 20, ["uncertain_owner"]),
        ({"status": "completed", "prompt": "p", "agentId": "a95a"}, 70, []),
        ({"isAsync": True, "status": "async_launched", "agentId": "ad3f"}, 70, ["uncertain_owner"]),
    ],
)
def test_an_agent_that_claudes_agent_started_may_have_made_calls(
    result: dict[str, Any], at: float, expected: list[str]
) -> None:
    """Claude's Agent SDK 0.3.332: all calls are below the agent that was asked first."""
    scope = "@arizeai/openinference-instrumentation-claude-agent-sdk"
    started = {"tool.name": "Agent", "input.value": "{}", "output.value": json.dumps(result, separators=(",", ":"))}
    pay = {"tool.name": "mcp__till__pay", "input.value": '{"q":"c"}', "output.value": '[{"type":"text","text":"paid"}]'}
    run = run_of(
        oi(scope, "AGENT", "ClaudeAgent.query", 1, 0, 0, 100),
        oi(scope, "TOOL", "Agent", 2, 1, 10, 50, **started),
        oi(scope, "TOOL", "mcp__till__pay", 3, 1, at, 5, **pay),
    )
    assert (called(run), doubts(run)) == (["Agent", "mcp__till__pay"], expected)


@pytest.mark.parametrize(
    ("result", "arguments"),
    [
        ({"action": {"type": "search", "query": "q"}, "sources": []}, {"type": "search", "query": "q"}),
        (None, None),
    ],
)
def test_what_a_tool_that_openai_ran_was_given_is_in_its_result(result: Any, arguments: Any) -> None:
    """Vercel's AI SDK 7 under the processor for it (openinference-vercel 3.2)."""
    told = {} if result is None else {"output.value": json.dumps(result, separators=(",", ":"))}
    given = {"tool.name": "web_search", "tool_call.id": "ws_abc", "tool.parameters": "{}", "input.value": "{}", **told}
    assert read_tool(oi("gen_ai", "TOOL", "execute_tool web_search", 2, 1, 0, 1, **given))[2] == arguments


ASKED_OF_MCP = (
    '{"id":"resp_1","object":"response","output":[{"id":"mcpr_1","type":"mcp_approval_request","server_label":"s",'
    '"name":"erase","arguments":"{\\"n\\":1}"}],"output_text":""}'
)
ANSWERED_BY_MCP = (
    '{"id":"resp_2","object":"response","output":[{"id":"mcp_2","type":"mcp_call","server_label":"s","name":"erase",'
    '"arguments":"{\\"n\\":1}","output":"ok","status":"completed","error":null},{"id":"msg_2","type":"message",'
    '"status":"completed","role":"assistant","content":[{"type":"output_text","text":"done"}]}],"output_text":"done"}'
)
QUESTION = '{"type":"message","role":"user","content":"hi"}'
APPROVED = (
    '{"type":"hosted_tool_call","id":"mcpr_1","name":"mcp_approval_request","status":"completed","providerData":{"id":'
    '"mcpr_1","type":"mcp_approval_request","server_label":"s","name":"erase","arguments":"{\\"n\\":1}"}},{"type":'
    '"hosted_tool_call","name":"mcp_approval_response","providerData":{"approve":true,"approval_request_id":"mcpr_1"}}'
)


def response(number: int, at: float, told: str, answer: str) -> Span:
    return oi(AGENTS, "LLM", "response", number, 2, at, 10, input__value=f"[{told}]", output__value=answer)


def test_a_call_of_a_server_of_mcp_that_waits_for_approval_is_made_in_another_trace() -> None:
    """The hosted tool of OpenAI Agents: an answer asks for the approval, and no span shows that the run waits."""
    workflow = oi(AGENTS, "CHAIN", "Agent workflow", 1, 0, 0, 100)
    agent = oi(AGENTS, "AGENT", "Helper", 2, 1, 1, 98, graph__node__id="Helper")
    asked = response(3, 5, QUESTION, ASKED_OF_MCP)
    assert doubts(run_of(workflow, agent, asked)) == ["other_traces"]
    goes_on = response(4, 20, f"{QUESTION},{APPROVED}", ANSWERED_BY_MCP)
    run = run_of(workflow, agent, goes_on)
    assert (called(run), doubts(run)) == (["erase"], ["other_traces"])
    run = run_of(workflow, agent, asked, goes_on)  # approved by a function of the application
    assert (called(run), doubts(run)) == (["erase"], [])


def test_an_approval_before_the_last_question_is_of_an_earlier_run() -> None:
    later = response(3, 5, f'{QUESTION},{APPROVED},{{"type":"message","role":"user","content":"thanks"}}', "{}")
    agent = oi(AGENTS, "AGENT", "Helper", 2, 0, 1, 98, graph__node__id="Helper")
    assert "other_traces" not in doubts(run_of(agent, later))


def agent_as_tool(answer: dict[str, str], *inside: Span) -> list[Span]:
    """The run of an agent that is given to another as a tool, and of that up to the call; the first number left is 8."""
    return [
        *agents(),
        request(AGENTS, 3, 2, 5, answer),
        tool(AGENTS, "ask_payer", 4, 2, 16, '{"input":"go"}', "", 40),
        oi(AGENTS, "CHAIN", "Agent workflow", 5, 4, 17, 38),
        oi(AGENTS, "AGENT", "payer", 6, 5, 18, 36, graph__node__id="payer"),
        *inside,
    ]


ASKS_PAYER = asking("ask_payer", '{"input":"go"}', 9)
WAITS_INSIDE = request(AGENTS, 7, 6, 20, asking("pay", '{"sum":5}'))


def test_a_run_around_one_that_waits_for_a_human_waits_as_well() -> None:
    outer, inner = runs_of(*agent_as_tool(ASKS_PAYER, WAITS_INSIDE))
    assert (called(outer), doubts(outer)) == (["ask_payer"], ["other_traces"])
    assert (called(inner), doubts(inner)) == (["(pay)"], ["other_traces"])


def test_a_run_that_asks_again_does_not_wait_with_one_inside() -> None:
    outer, inner = runs_of(*agent_as_tool(ASKS_PAYER, WAITS_INSIDE), request(AGENTS, 8, 2, 60, DONE))
    assert (doubts(outer), doubts(inner)) == ([], ["other_traces"])


def told_call(number: int, parent: int, at: float, name: str, given: str) -> Span:
    """The first request of a run that goes on, which was told of a call that no answer in the trace asked for."""
    call = {"type": "function_call", "id": "fc_1", "callId": "call_1", "name": name, "arguments": given}
    returned = {
        "type": "function_call_result",
        "name": name,
        "callId": "call_1",
        "output": {"type": "text", "text": "ok"},
    }
    told = json.dumps([{"type": "message", "role": "user", "content": "hi"}, call, returned])
    return oi(AGENTS, "LLM", "response", number, parent, at, 10, input__value=told, output__value="{}", **DONE)


def test_what_began_in_another_trace_is_a_part_inside_and_outside() -> None:
    """A human approved a call of the inner agent: the outer begins with the call that starts it."""
    resumed = [tool(AGENTS, "pay", 7, 6, 19, '{"sum":5}'), told_call(8, 6, 25, "pay", '{"sum":5}')]
    workflow, agent, _, *spans = agent_as_tool(ASKS_PAYER, *resumed)
    outer, inner = runs_of(workflow, agent, *spans, told_call(9, 2, 60, "ask_payer", '{"input":"go"}'))
    assert (called(outer), doubts(outer)) == (["ask_payer"], ["other_traces"])
    assert (called(inner), doubts(inner)) == (["pay"], ["other_traces"])


@pytest.mark.parametrize("is_over", [False, True])
def test_a_tool_that_is_an_agent_without_a_name_of_its_own_waits_with_what_it_called(*, is_over: bool) -> None:
    """The tool gave its agent its own configuration, and so the name of the agent around it (LangChain 1.5)."""
    question = (
        '[\n  {\n    "id": "e218a921a02437949a0cc39f62828ee3",\n    "value": {\n      "q": "sure?"\n    }\n  }\n]'
    )
    waiting = {"tool.name": "sub", "input.value": '{"n":1}'}
    sent = {"content": "", "type": "ai", "tool_calls": [SENT | {"name": "sub"}], "invalid_tool_calls": []}
    run = run_of(
        graph(GO, *([ANSWERED] if is_over else [sent])),
        request(LANGCHAIN, 2, 1, 5, asking("sub", '{"n":1}')),
        span_of_kind(
            KIND, "TOOL", "sub", 3, 1, 16, 40, scope=LANGCHAIN, status=2, attributes=waiting, message=question
        ),
        oi(LANGCHAIN, "CHAIN", "sub", 4, 3, 17, 38, metadata='{"lc_agent_name":"till"}'),
        request(LANGCHAIN, 5, 4, 20, asking("pay", '{"sum":5}', 2)),
        *([request(LANGCHAIN, 6, 1, 60, DONE)] if is_over else []),
    )
    assert called(run) == ["(sub)", "(pay)"]
    assert "uncertain_execution" in doubts(run)


@pytest.mark.parametrize(("is_answered", "expected"), [(True, ["(ask)", "ask"]), (False, ["(ask)"])])
def test_a_tool_that_waits_in_a_trace_of_several_graphs_is_begun_anew_when_it_is_answered(
    *, is_answered: bool, expected: list[str]
) -> None:
    """Graphs without a name, under one request of a client (LangGraph 1.7)."""
    question = (
        '[\n  {\n    "id": "537fb6f914589c9caf1f3ab35687b6ec",\n    "value": {\n      "q": "sure?"\n    }\n  }\n]'
    )
    asked = {"tool.name": "ask", "input.value": '{"n":1}'}
    run = run_of(
        span("POST /chat", 1, lasting=200, status=1),
        oi(LANGCHAIN, "CHAIN", "LangGraph", 2, 1, 1, 60),
        request(LANGCHAIN, 3, 2, 5, asking("ask", '{"n":1}')),
        span_of_kind(KIND, "TOOL", "ask", 4, 2, 20, 5, scope=LANGCHAIN, status=2, attributes=asked, message=question),
        oi(LANGCHAIN, "CHAIN", "LangGraph", 5, 1, 80, 60),
        *([tool(LANGCHAIN, "ask", 6, 5, 82, '{"n":1}')] if is_answered else []),
        request(LANGCHAIN, 7, 5, 90, DONE),
    )
    assert (called(run), doubts(run)) == (expected, [] if is_answered else ["uncertain_execution"])


@pytest.mark.parametrize(("later", "expected"), [([], ["other_traces"]), ([request(LANGCHAIN, 8, 2, 80, DONE)], [])])
def test_the_graph_around_an_agent_that_waits_for_a_human_waits_as_well(later: list[Span], expected: list[str]) -> None:
    """An agent to which one of langgraph-supervisor 1.1 hands over."""
    question = (
        '[\n  {\n    "id": "c1c1130b6f5e285645aa0a8ed5f5712c",\n    "value": {\n      "q": "sure?"\n    }\n  }\n]'
    )
    of_graph, of_payer = '{"ls_integration":"langgraph"}', '{"ls_integration":"langgraph","lc_agent_name":"payer"}'
    payer = span_of_kind(
        KIND, "CHAIN", "payer", 5, 2, 40, 30, scope=LANGCHAIN, status=2, message=question,
        attributes={"metadata": of_payer}, events=[("exception", {"exception.message": question})],
    )  # fmt: skip
    inner, outer = runs_of(
        span("POST /chat", 1, lasting=200, status=1),
        oi(LANGCHAIN, "CHAIN", "LangGraph", 2, 1, 1, 90, metadata=of_graph),
        request(LANGCHAIN, 3, 2, 5, asking("transfer_to_payer", "{}")),
        tool(LANGCHAIN, "transfer_to_payer", 4, 2, 20, "{}"),
        payer,
        request(LANGCHAIN, 6, 5, 45, asking("pay", '{"sum":5}', 2)),
        *later,
    )
    assert (called(outer), doubts(outer)) == (["transfer_to_payer"], expected)
    assert called(inner) == ["(pay)"]
    assert "other_traces" in doubts(inner)


def test_a_tool_that_hands_the_conversation_over_has_the_id_of_the_last_result() -> None:
    """A command of langgraph-supervisor 1.1: all messages so far, and its own result."""
    told = [{"lc": 1, "id": ["ToolMessage"], "kwargs": {"tool_call_id": one}} for one in ("call_1", "call_2")]
    command = json.dumps({"output": {"lg_name": "Command", "update": {"messages": told}, "goto": ["payer"]}})
    _, call_id, _, _ = read_tool(tool(LANGCHAIN, "transfer_to_payer", 3, 1, 5, "{}", command))
    assert call_id == "call_2"


def beeai(kind: str, target: str, number: int, at: float, **attributes: str) -> Span:
    """An event of BeeAI 0.1.13 as a span: those of tools name none, and of an answer only its text is flattened."""
    told = {
        "openinference.span.kind": kind,
        "target": target,
        "llm.output_messages.0.message.content": "",
        **attributes,
    }
    scope = "@arizeai/openinference-instrumentation-beeai"
    return span(f"{target}-{number}", number, 1, at, 0.1, attributes=told, scope=scope, status=1)


@pytest.mark.parametrize(
    ("asked", "status", "expected"),
    [
        ("send_email", 2, (["(send_email)"], ["uncertain_execution", "unobserved_results"])),
        ("final_answer", 1, ([], [])),
    ],
)
def test_beeai_for_javascript_has_what_an_answer_asks_for_in_its_own_form_alone(
    asked: str, status: int, expected: tuple[list[str], list[str]]
) -> None:
    part = {"type": "tool-call", "toolCallId": "call_e7g0qq67", "toolName": asked, "args": {"to": "a"}}
    said = json.dumps([{"meta": {}, "content": [part], "role": "assistant"}], separators=(",", ":"))
    agent = {"openinference.span.kind": "AGENT", "source": "ToolCallingAgent", "input.value": "go"}
    run = run_of(
        span("beeai-framework-main", 1, lasting=400, attributes=agent, status=status),
        beeai("LLM", "backend.openai.chat.success", 2, 5, **{"output.value": said}),
        beeai("TOOL", "tool.dynamic.sendEmail.start", 3, 9),
    )
    assert (called(run), doubts(run)) == expected


@pytest.mark.parametrize(
    ("trigger", "expected"), [("__pregel_push", ["other_traces"]), ("branch:to:model_request", [])]
)
def test_a_hook_of_langchains_agents_sends_back_to_the_model_what_a_human_denied(
    trigger: str, expected: list[str]
) -> None:
    """Without content nothing else tells that the run began in another trace, where it waited."""
    graph = '{"ls_integration":"langchain_create_agent","lc_agent_name":"travel","thread_id":"2"'
    hook = graph + ',"langgraph_step":2,"langgraph_node":"HumanInTheLoopMiddleware.after_model"}'
    node = graph + f',"langgraph_step":3,"langgraph_node":"model_request","langgraph_triggers":["{trigger}"]}}'
    hidden = {"input__value": "__REDACTED__", "output__value": "__REDACTED__"}
    told = {**hidden, "llm__finish_reason": "stop", "metadata": node.replace("create_agent", "chat_model", 1)}
    run = run_of(
        oi(LANGCHAIN, "CHAIN", "travel", 1, 0, 0, 90, metadata=graph + "}", **hidden),
        oi(LANGCHAIN, "CHAIN", "HumanInTheLoopMiddleware.after_model", 2, 1, 2, 2, metadata=hook, **hidden),
        oi(LANGCHAIN, "LLM", "ChatOpenAI", 3, 1, 8, 6, **told),
    )
    assert (called(run), doubts(run)) == ([], expected)
