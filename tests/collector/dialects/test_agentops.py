"""AgentOps: a tool's span, and the span of what a model asked for."""

from __future__ import annotations

import pytest

from collector import dialects
from collector.model.span import Span
from tests.builders import called, doubts, run_of, span

SCOPE = "agentops.instrumentation.providers.openai.wrappers.chat"


def test_a_call_that_a_model_asked_for_is_not_one_that_ran() -> None:
    asked = {
        "agentops.span.kind": "AgentOpsSpanKindValues.TOOL",
        "tool.name": "get",
        "tool.parameters": '{"city": "Oslo"}',
    }
    answered = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": "tool_calls"}
    told = {
        "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "hi", "gen_ai.prompt.1.role": "assistant",
        "gen_ai.prompt.1.tool_calls.0.id": "c1", "gen_ai.prompt.1.tool_calls.0.name": "get",
        "gen_ai.prompt.1.tool_calls.0.arguments": '{"city": "Oslo"}', "gen_ai.prompt.2.role": "tool",
        "gen_ai.prompt.2.content": "rain", "gen_ai.prompt.2.tool_call_id": "c1",
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Rain.",
        "gen_ai.completion.0.finish_reason": "stop",
    }  # fmt: skip
    ran = {"agentops.span.kind": "tool", "agentops.tool.input": '{"args": [], "kwargs": {"city": "Oslo"}}'}
    spans = (
        span("travel.agent", 1, attributes={"agentops.span.kind": "agent", "operation.name": "travel"}, lasting=90),
        span("openai.chat.completion", 2, 1, 1, 5, attributes=answered, scope="openai"),
        span("tool_call.get", 3, 2, 5, 1, attributes=asked, scope=SCOPE),
        span("openai.chat.completion", 5, 1, 20, 5, attributes=told, scope="openai"),
    )
    assert (called(run_of(*spans)), doubts(run_of(*spans))) == (["get"], [])
    tool = span("get.tool", 4, 1, 10, 5, attributes={**ran, "operation.name": "get"}, scope="agentops")
    run = run_of(*spans[:3], tool, spans[3])
    assert [(call.name, call.arguments, call.known_by) for call in run.trajectory.calls] == [
        ("get", {"city": "Oslo"}, "span")
    ]


def _asked(number: int, below: int, call_id: str, at: float, city: str) -> Span:
    attributes = {
        "agentops.span.kind": "AgentOpsSpanKindValues.TOOL",
        "tool.name": "get",
        "tool.parameters": f'{{"city": "{city}"}}',
        "tool.call.id": call_id,
    }
    return span("tool_call.get", number, below, at, 0.1, attributes=attributes, scope=SCOPE, status=1)


@pytest.mark.parametrize("is_streamed", [True, False])
def test_the_calls_of_an_answer_are_in_the_spans_below_its_request(is_streamed: bool) -> None:
    user = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "hi"}
    asking = {"gen_ai.completion.0.finish_reason": "tool_calls"}
    if not is_streamed:
        asking["gen_ai.completion.0.role"] = "assistant"
    told = {"gen_ai.prompt.1.role": "assistant"}
    for index, city in enumerate(("Oslo", "Rome")):
        told |= {
            f"gen_ai.prompt.1.tool_calls.{index}.id": f"c{index}",
            f"gen_ai.prompt.1.tool_calls.{index}.name": "get",
            f"gen_ai.prompt.1.tool_calls.{index}.arguments": f'{{"city": "{city}"}}',
            f"gen_ai.prompt.{index + 2}.role": "tool",
            f"gen_ai.prompt.{index + 2}.content": "rain",
            f"gen_ai.prompt.{index + 2}.tool_call_id": f"c{index}",
        }
    session = {"agentops.span.kind": "session", "operation.name": "default"}
    asked = (
        span("default.session", 1, attributes=session, lasting=90, scope="agentops"),
        span("openai.chat.completion", 2, 1, 1, 5, attributes=user | asking, scope="openai", status=1),
        _asked(3, 2, "c0", 5, "Oslo"),
        _asked(4, 2, "c1", 5.5, "Rome"),
    )
    done = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Rain."}
    for answer, status in ((done, 1), ({}, 2)):  # nothing is kept of the answer to a request that failed
        run = run_of(
            *asked,
            span("openai.chat.completion", 5, 1, 20, 5, attributes=user | told | answer, scope="openai", status=status),
        )
        assert [(call.name, call.arguments) for call in run.trajectory.calls] == [
            ("get", {"city": "Oslo"}),
            ("get", {"city": "Rome"}),
        ]
        assert (called(run), doubts(run)) == (["get", "get"], [])


def test_decorated_functions() -> None:
    def decorated(kind: str, name: str, number: int, parent: int, at: float, given: str = "{}") -> Span:
        attributes = {"agentops.span.kind": kind, "operation.name": name, "agentops.tool.input": given}
        lasting = 10 if kind == "tool" else 100 - 2 * at
        return span(f"{name}.{kind}", number, parent, at, lasting, attributes=attributes, scope="agentops")

    run = run_of(
        decorated("session", "handle", 1, 0, 0),
        decorated("agent", "shop", 2, 1, 1),
        decorated("operation", "plan", 3, 2, 2),
        decorated("tool", "pay", 4, 3, 15, '{"args": [], "kwargs": {"order": 7}}'),
        decorated("tool", "refund", 5, 3, 30, '{"args": [7], "kwargs": {}}'),
    )
    assert (run.agent, run.dialect, called(run)) == ("shop", "agentops", ["pay", "refund"])
    assert run.trajectory.calls[0].arguments == {"order": 7}
    assert run.trajectory.calls[1].arguments != {}


@pytest.mark.parametrize(("output", "expected"), [({}, ["unobserved_results"]), ({"agentops.tool.output": "null"}, [])])
def test_a_function_that_was_cancelled_leaves_no_output_and_may_have_failed(
    output: dict[str, str], expected: list[str]
) -> None:
    ran = {"agentops.span.kind": "tool", "operation.name": "get", "agentops.tool.input": '{"args": [], "kwargs": {}}'}
    agent = span("travel.agent", 1, attributes={"agentops.span.kind": "agent"}, lasting=90, scope="agentops")
    run = run_of(agent, span("get.tool", 2, 1, 10, 5, attributes=ran | output, scope="agentops"))
    assert (called(run), doubts(run)) == (["get"], expected)


def test_other_spans_of_agentops_are_not_understood() -> None:
    assert dialects.read_span(span("x", 2, 1, attributes={"agentops.span.kind": "http"}, scope="agentops")) is None


def test_agnos_calls_have_their_outcome_beside_the_status_of_the_span() -> None:
    def call(number: int, at: float, **told: str) -> Span:
        attributes = {"agentops.span.kind": "tool", "tool.name": "pay", "tool.status": "success"}
        attributes |= {f"tool.{key}": value for key, value in told.items()}
        scope = "agentops.instrumentation.agno"
        return span("agno.tool.execute.tool_usage", number, 2, at, attributes=attributes, scope=scope, status=1)

    agent = {"agentops.span.kind": "agent", "agent.name": "travel_agent", "agent.session_id": "s1"}
    refused = "1 validation error for pay\nn\n  Missing required argument"
    run = run_of(
        span("default.session", 1, lasting=200, attributes={"agentops.span.kind": "session"}, scope="agentops"),
        span("a.agno.agent.run.agent", 2, 1, 1, 190, attributes=agent, scope="agentops.instrumentation.agno"),
        call(3, 10, execution_result_status="failure", error=refused, parameters="{}"),
        call(4, 30, execution_result_status="failure", error="card declined", parameters='{"n": 1}'),
        call(5, 50, execution_result_status="success", result="paid"),
    )
    assert (run.agent, run.conversation_id, run.dialect) == ("travel_agent", "s1", "agentops")
    assert (called(run), doubts(run)) == (["(pay)", "pay", "pay"], [])
    assert [(one.status, one.arguments) for one in run.trajectory.calls] == [
        ("error", {}),
        ("error", {"n": 1}),
        ("ok", {}),
    ]
