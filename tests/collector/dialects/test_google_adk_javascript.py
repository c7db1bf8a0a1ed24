"""Google's Agent Development Kit for JavaScript (2.0): a request's span is around the calls that its answer asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Resource, Span
from tests.builders import called, doubts, run_of, span, steps

ADK = "gcp.vertex.agent"
NODE = Resource({"telemetry.sdk.language": "nodejs"})
GO = {"role": "user", "parts": [{"text": "please do it"}]}


def adk(name: str, number: int, parent: int, at: float, lasting: float, attributes: dict[str, Any]) -> Span:
    return span(name, number, parent, at, lasting, attributes=attributes, scope=ADK, resource=NODE, status=1)


def asked(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"role": "model", "parts": [{"functionCall": {"name": tool, "args": arguments}}]}


def told(tool: str, response: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": [{"functionResponse": {"name": tool, "response": response}}]}


def agent() -> list[Span]:
    invoked = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "till", "gen_ai.conversation.id": "c"}
    return [adk("invocation", 1, 0, 0, 90, {}), adk("invoke_agent till", 2, 1, 1, 88, invoked)]


def request(number: int, at: float, lasting: float, *contents: Any, answer: Any = None) -> Span:
    """Without an answer, one whose content was not captured."""
    texts = ("{}", "{}")
    if answer is not None:
        texts = (
            json.dumps({"model": "m", "contents": contents}),
            json.dumps({"content": answer, "finishReason": "STOP"}),
        )
    attributes = {"gen_ai.system": ADK, "gen_ai.agent.name": "till", "gen_ai.response.finish_reasons": ["stop"]}
    return adk(
        "call_llm", number, 2, at, lasting,
        {**attributes, **dict(zip((f"{ADK}.llm_request", f"{ADK}.llm_response"), texts, strict=True))},
    )  # fmt: skip


def call(
    number: int, parent: int, at: float, tool: str, given: str = "{}", response: str = "{}", kind: str = "FunctionTool"
) -> Span:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.type": kind}
    attributes |= {
        "gen_ai.tool.call.id": f"adk-{number}",
        f"{ADK}.tool_call_args": given,
        f"{ADK}.tool_response": response,
    }
    return adk(f"execute_tool {tool}", number, parent, at, 3, attributes)


DONE = {"role": "model", "parts": [{"text": "done"}]}
REJECTED = {"error": "This tool call is rejected."}


@pytest.mark.parametrize(("response", "expected"), [({"paid": 5}, "pay"), (REJECTED, "(pay)")])
@pytest.mark.parametrize("at", [4, 10], ids=["before", "in the same millisecond"])
def test_a_run_that_begins_with_what_a_human_answered_began_in_another_trace(
    response: dict[str, Any], expected: str, at: float
) -> None:
    approved = call(3, 2, at, "pay", '{"sum":5}', json.dumps(response))
    run = run_of(*agent(), approved, request(4, 10, 40, GO, asked("pay", sum=5), told("pay", response), answer=DONE))
    assert (called(run), doubts(run)) == ([expected], ["other_traces"])


@pytest.mark.parametrize("at", [4, 10], ids=["before", "in the same millisecond"])
def test_without_content_nothing_tells_what_a_human_answered(at: float) -> None:
    """A call that was approved and one that was denied leave the same spans."""
    run = run_of(*agent(), call(3, 2, at, "pay"), request(4, 10, 40))
    assert {"other_traces", "uncertain_execution"} <= set(doubts(run))


def test_a_run_whose_requests_are_around_all_calls_is_whole() -> None:
    first = request(3, 5, 20, GO, answer=asked("pay", sum=5))
    second = request(5, 26, 20, GO, asked("pay", sum=5), told("pay", {"paid": 5}), answer=DONE)
    run = run_of(*agent(), first, call(4, 3, 20, "pay", '{"sum":5}', '{"paid":5}'), second)
    assert (called(run), doubts(run)) == (["pay"], [])


def test_a_run_that_is_told_what_came_of_a_long_running_call_began_in_another_trace() -> None:
    first = request(3, 5, 20, GO, asked("ship", n=5), told("ship", {"status": "done"}), answer=asked("find", q="b"))
    asks = [
        GO,
        asked("ship", n=5),
        told("ship", {"status": "done"}),
        asked("find", q="b"),
        told("find", {"found": "b"}),
    ]
    run = run_of(
        *agent(), first, call(4, 3, 20, "find", '{"q":"b"}', '{"found":"b"}'), request(5, 30, 20, *asks, answer=DONE)
    )
    assert called(run) == ["find"]
    assert "other_traces" in doubts(run)


@pytest.mark.parametrize("at", [5, 20], ids=["in the same millisecond", "after"])
@pytest.mark.parametrize("is_asked_again", [True, False])
def test_a_run_that_ends_with_a_long_running_call_goes_on_in_another_trace(at: float, *, is_asked_again: bool) -> None:
    asks = asked("adk_request_input", message="which?")
    waits = call(4, 3, at, "adk_request_input", '{"message":"which?"}', '{"result":null}', "LongRunningFunctionTool")
    again = request(5, 26, 20, GO, asks, told("adk_request_input", {"result": "pending"}), answer=DONE)
    run = run_of(*agent(), request(3, 5, 20, GO, answer=asks), waits, *([again] if is_asked_again else []))
    assert doubts(run) == ([] if is_asked_again else ["other_traces"])


def test_without_content_calls_inside_one_request_are_of_one_turn() -> None:
    """They run one after the other, and the model asked for all of them at once."""
    turn = [
        request(3, 5, 30),
        call(4, 3, 20, "find"),
        call(5, 3, 28, "pay"),
        request(6, 36, 20),
        call(7, 6, 50, "mail"),
    ]
    run = run_of(*agent(), *turn, request(8, 57, 20))
    assert (called(run), steps(run)) == (["find", "pay", "mail"], [0, 0, 1])


@pytest.mark.parametrize(
    ("tool", "is_asked_again", "expected"),
    [("pay", False, ["other_traces"]), ("set_model_response", False, []), ("pay", True, [])],
    ids=["confirmed", "output", "denied"],
)
def test_a_run_that_ends_with_a_call_of_no_span_waits_for_a_human(
    tool: str, *, is_asked_again: bool, expected: list[str]
) -> None:
    """A plugin's policy (`SecurityPlugin`) asks for a confirmation before the call, or denies it, and it has no span."""
    denied = told(tool, {"error": "This tool call is rejected by policy engine. Reason: r"})
    again = request(4, 26, 20, GO, asked(tool, sum=5), denied, answer=DONE)
    run = run_of(*agent(), request(3, 5, 20, GO, answer=asked(tool, sum=5)), *([again] if is_asked_again else []))
    assert (called(run), [doubt for doubt in doubts(run) if doubt == "other_traces"]) == ([f"({tool})"], expected)
