"""rig's spans of calls, which have no status: what came of a call is in attributes of its own."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, read_tool, result, run_of, span

PARSED = "failed to parse tool arguments: missing field `price` at line 1 column 81"


def tool(outcome: str, error: str | None = None, result: str | None = None, arguments: str | None = "{}") -> Span:
    found = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.name": "book_flight",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.outcome": outcome,
        "gen_ai.tool.error.type": error,
        "gen_ai.tool.call.result": result,
    }
    attributes: dict[str, Any] = {key: value for key, value in found.items() if value is not None}
    return span("execute_tool", 2, 1, attributes=attributes)


@pytest.mark.parametrize(("arguments", "result"), [("{}", "done"), (None, None)], ids=["content", "no content"])
def test_a_call_that_succeeded(arguments: str | None, result: str | None) -> None:
    call = tool("success", result=result, arguments=arguments)
    assert read_tool(call) == ("book_flight", "c1", {} if arguments else None, "ok")


@pytest.mark.parametrize("result", ["card declined: try again", None], ids=["content", "no content"])
def test_a_call_that_failed(result: str | None) -> None:
    run = run_of(agent_span(), tool("error", "provider", result))
    (call,) = run.trajectory.calls
    assert (call.executed, call.status, call.error_type, doubts(run)) == (True, "error", "provider", [])


@pytest.mark.parametrize("outcome", ["skipped", "denied"])
def test_a_call_that_a_hook_stopped_did_not_run(outcome: str) -> None:
    run = run_of(agent_span(), tool(outcome, result="a human must do this"))
    assert (called(run), doubts(run)) == (["(book_flight)"], [])


def test_arguments_that_rig_could_not_parse() -> None:
    run = run_of(agent_span(), tool("error", "invalid_args", PARSED))
    assert (called(run), doubts(run)) == (["(book_flight)"], [])


@pytest.mark.parametrize("error", ["invalid_args", "not_found", "permission_denied", "cancelled"])
def test_without_words_the_type_of_an_error_may_be_rigs_or_the_tools(error: str) -> None:
    assert doubts(run_of(agent_span(), tool("error", error))) == ["uncertain_execution"]


@pytest.mark.parametrize(
    "told",
    [
        'The arguments for tool `pay` are not a JSON object: {"order": "Par. Call the tool again with a JSON object',
        "Tool not executed because another tool call in the same assistant turn was invalid.",
    ],
)
def test_arguments_that_are_no_json_leave_a_span_without_attributes(told: str) -> None:
    """rig repairs what it can of them for its record."""
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", {"order": "Par"})], 3, at=1, lasting=5),
        span("execute_tool", 2, 1, at=10, attributes={"gen_ai.operation.name": "execute_tool"}),
        model_span(number=4, at=30, input_messages=[{"role": "assistant"}, result("c1", told)]),
    )
    assert (called(run), doubts(run)) == (["(pay)"], [])
