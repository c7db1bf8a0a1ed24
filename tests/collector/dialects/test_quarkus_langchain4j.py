"""Quarkus LangChain4j: the names of spans tell of AI services and of requests; calls follow the conventions."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span

SCOPE = "io.quarkus.opentelemetry"


def service(name: str, number: int, parent: int = 0, **more: Any) -> Span:
    return span(f"langchain4j.aiservices.{name}", number, parent, scope=SCOPE, **{"lasting": 100, **more})


def request(number: int, parent: int, at: float, finish: str, **more: Any) -> Span:
    attributes = {
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.response.model": "gpt-4o-mini",
        "gen_ai.response.finish_reasons": finish,
        "gen_ai.usage.prompt_tokens": 20,
        "gen_ai.usage.completion_tokens": 10,
    }
    return span("completion gpt-4o-mini", number, parent, at, scope=SCOPE, attributes=attributes, **more)


def tool(name: str, number: int, parent: int, at: float, result: str | None = '"done"', **more: Any) -> Span:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": f"call_{number}",
        "gen_ai.tool.call.arguments": "{}",
    }
    if result is not None:
        attributes["gen_ai.tool.call.result"] = result
    return span(f"langchain4j.tools.{name}", number, parent, at, scope=SCOPE, attributes=attributes, **more)


def test_a_service_inside_a_call_is_a_run_of_its_own() -> None:
    outer, inner = runs_of(
        service("Assistant.chat", 1),
        request(2, 1, 0, "TOOL_EXECUTION"),
        tool("ask_policy_agent", 3, 1, 15, lasting=60),
        service("Policy.ask", 4, 3, at=16, lasting=50),
        request(5, 4, 17, "TOOL_EXECUTION"),
        tool("lookup_policy", 6, 4, 30),
        request(7, 4, 45, "STOP"),
        request(8, 1, 80, "STOP"),
    )
    assert [(run.agent, called(run), doubts(run)) for run in (outer, inner)] == [
        ("Assistant", ["ask_policy_agent"], []),
        ("Policy", ["lookup_policy"], []),
    ]


def test_a_run_without_calls_is_known_to_have_none() -> None:
    run = run_of(service("Assistant.chat", 1), request(2, 1, 0, "STOP"))
    assert (run.agent, called(run), doubts(run)) == ("Assistant", [], [])


def test_a_request_that_asked_for_a_tool_that_nothing_shows_is_in_doubt() -> None:
    run = run_of(service("Assistant.chat", 1), request(2, 1, 0, "TOOL_EXECUTION"))
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls"])


@pytest.mark.parametrize(
    ("results", "statuses", "expected"),
    [
        (["no seat left", '"booked"'], ["error", "unset"], []),
        (["no seat left", "7"], ["error", "unset"], ["unobserved_results"]),  # a tool may have made it as it is
        (["Error: gone", "7"], ["error", "unset"], []),
        (["Success", "null", '{"seat": 1}'], ["unset"] * 3, []),
        ([None, None], ["unset"] * 2, ["unobserved_results"]),  # without content
    ],
)
def test_what_a_tool_threw_is_words_where_results_are_json(
    results: list[str | None], statuses: list[str], expected: list[str]
) -> None:
    tools = [tool("book", number, 1, 20 * number, result, lasting=4) for number, result in enumerate(results, 3)]
    asking = [request(20 + at, 1, 20 * at - 15, "TOOL_EXECUTION") for at in range(3, 3 + len(results))]
    run = run_of(service("Assistant.chat", 1, lasting=200), *tools, *asking, request(40, 1, 180, "STOP"))
    assert ([call.status for call in run.trajectory.calls], doubts(run)) == (statuses, expected)


def thrown(kind: str, words: str, *frames: str) -> list[tuple[str, dict[str, Any]]]:
    trace = "\n\tat ".join([f"{kind}: {words}", *frames])
    return [("exception", {"exception.type": kind, "exception.message": words, "exception.stacktrace": trace})]


def misfit(arguments: str, method: str) -> list[tuple[str, dict[str, Any]]]:
    words = (
        f"params '{arguments}' from request do not map onto the parameters needed by 'shop.Tools_ClientProxy#{method}'"
    )
    return thrown("dev.langchain4j.exception.ToolArgumentsException", words)


def guarded(guardrail: str, *frames: str) -> list[tuple[str, dict[str, Any]]]:
    kind = "io.quarkiverse.langchain4j.guardrails.ToolGuardrailException"
    service = "io.quarkiverse.langchain4j.runtime.tool.guardrails.ToolGuardrailService"
    return thrown(kind, "stop it", f"{service}.{guardrail}(ToolGuardrailService.java:142)", *frames)


WRAPPED = "io.quarkiverse.langchain4j.runtime.tool.ToolSpanWrapper.wrap(ToolSpanWrapper.java:50)"


@pytest.mark.parametrize(
    ("events", "has_content", "executed", "in_doubt"),
    [
        (misfit("{}", "bookTrip"), True, False, []),
        (misfit("{}", "book"), False, False, []),
        (misfit('{"of": "an inner call"}', "lookup"), True, True, []),  # of an agent inside the tool
        (misfit("{}", "lookup"), False, True, ["uncertain_execution"]),  # of that, or the tool has another name
        (guarded("executeInputGuardrails", WRAPPED), True, False, []),
        (
            guarded("executeInputGuardrails", WRAPPED, WRAPPED),
            True,
            True,
            ["uncertain_execution"],
        ),  # perhaps of a call inside
        (guarded("executeOutputGuardrails", WRAPPED), True, True, []),
        (thrown("java.lang.NumberFormatException", 'For input string: "abc"'), True, True, []),
    ],
)
def test_what_was_thrown_tells_whether_the_tool_began(
    events: Any, in_doubt: list[str], *, has_content: bool, executed: bool
) -> None:
    call = tool("book", 3, 1, 15, None, events=events)
    if not has_content:
        del call.attributes["gen_ai.tool.call.arguments"]
    run = run_of(service("Assistant.chat", 1), request(2, 1, 0, "TOOL_EXECUTION"), call, request(4, 1, 60, "STOP"))
    made = run.trajectory.calls[0]
    assert (made.executed, made.status, doubts(run)) == (executed, "error", in_doubt)


def test_a_guardrail_of_the_input_answers_in_place_of_the_tool() -> None:
    told = ["Input validation failed: not your order", '"Input validation failed: not your order"']
    calls = [tool("pay", number, 1, 15 * number - 30, result) for number, result in zip((3, 5), told, strict=True)]
    asking = [request(2, 1, 0, "TOOL_EXECUTION"), request(4, 1, 30, "TOOL_EXECUTION"), request(6, 1, 60, "STOP")]
    run = run_of(service("Assistant.chat", 1), *asking, *calls)
    assert ([call.executed for call in run.trajectory.calls], doubts(run)) == ([False, True], [])


@pytest.mark.parametrize(
    "words",
    [
        "The LLM is trying to execute the 'nosuch' tool, but no such tool exists. Most likely, it is a hallucination.",
        "Something is wrong, exceeded 10 sequential tool executions",
    ],
)
def test_a_run_that_ended_in_place_of_a_call(words: str) -> None:
    ended = service("Assistant.chat", 1, events=thrown("java.lang.RuntimeException", words))
    run = run_of(ended, request(2, 1, 0, "TOOL_EXECUTION"))
    assert (called(run), doubts(run)) == ([], [])


def test_what_a_service_does_that_streams_is_beside_it() -> None:
    web = span("POST /stream", 9, kind=2, scope=SCOPE, lasting=100, attributes={"http.route": "/stream"})
    streamed = [request(2, 9, 13, "TOOL_EXECUTION"), tool("pay", 3, 9, 20), request(4, 9, 60, "STOP")]
    run = run_of(web, service("Assistant.stream", 1, 9, at=3, lasting=9), *streamed)
    assert (run.agent, called(run), doubts(run)) == ("Assistant", ["pay"], [])


def test_whose_calls_they_are_is_open_where_two_services_stream_beside_one_another() -> None:
    web = span("POST /stream", 9, kind=2, scope=SCOPE, lasting=100, attributes={"http.route": "/stream"})
    streams = [
        service(f"{name}.stream", number, 9, at=3, lasting=9) for number, name in ((1, "Assistant"), (5, "Policy"))
    ]
    runs = runs_of(web, *streams, request(2, 9, 13, "TOOL_EXECUTION"), tool("pay", 3, 9, 20), request(4, 9, 60, "STOP"))
    assert [(run.agent, called(run)) for run in runs] == [("Assistant", []), ("Policy", []), (None, ["pay"])]
