"""AutoGen's runtime, which begins a trace for each message."""

from __future__ import annotations

from tests.builders import agent_span, called, doubts, other_doubts, run_of, span, tool_span

RUNTIME = "autogen SingleThreadedAgentRuntime"
CALL = {"tool_name": "pay", "tool_args": '{"order": 7}'}


def test_the_calls_of_one_message_are_a_part_of_a_run() -> None:
    """Otherwise a rule passes on the first half of what an agent did, and on the second."""
    run = run_of(
        span("autogen publish shop", 1, lasting=60, scope=RUNTIME, kind=4),
        span("autogen process shop", 2, 1, 1, 50, scope=RUNTIME, kind=5),
        span("pay", 3, 2, 5, attributes=CALL, scope="base_tool"),
    )
    assert (called(run), other_doubts(run)) == (["pay"], ["other_traces"])


def test_an_agent_with_a_span_of_its_own_is_a_run() -> None:
    run = run_of(
        span("autogen process shop", 1, lasting=60, scope=RUNTIME, kind=5),
        agent_span("shop", 2, 1),
        tool_span("pay", {"order": 7}, 3, 2),
    )
    assert (run.agent, called(run), other_doubts(run)) == ("shop", ["pay"], [])


def test_openinference_records_the_handoffs_alone_of_what_a_model_was_offered() -> None:
    call = "llm.output_messages.0.message.tool_calls.0.tool_call."
    asked = {
        "openinference.span.kind": "LLM",
        "llm.tools.1.tool.json_schema": '{"name": "transfer_to_two", "parameters": {"type": "object", "properties": {}}}',
        f"{call}id": "c1",
        f"{call}function.name": "pay",
        f"{call}function.arguments": '{"order": 7}',
    }
    scope = "openinference.instrumentation.autogen_agentchat"
    run = run_of(
        agent_span("one", 1, lasting=100),
        span("OpenAIChatCompletionClient.create", 2, 1, 1, 5, attributes=asked, scope=scope, status=1),
        tool_span("pay", {"order": 7}, 3, call_id="c1", at=10),
    )
    assert (called(run), doubts(run)) == (["pay"], [])
