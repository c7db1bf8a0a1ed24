"""Braintrust's SDK for Java, around LangChain4j."""

from __future__ import annotations

import json
from typing import Any

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span

PAY = json.dumps({"n": 1})


def braintrust(name: str, number: int, parent: int, at: float, kind: str = "", **more: Any) -> Span:
    attributes = {"braintrust.parent": "project_name:shop"}
    attributes |= {"braintrust.span_attributes": json.dumps({"type": kind})} if kind else {}
    attributes |= {f"braintrust.{key}": value for key, value in more.pop("attributes", {}).items()}
    scope = "braintrust-java" if kind == "llm" else "braintrust-langchain4j"
    return span(name, number, parent, at, attributes=attributes, scope=scope, **more)


def answer(number: int, at: float, *calls: tuple[str, str], parent: int = 1) -> Span:
    tool_calls = [{"id": id_, "type": "function", "function": {"name": name, "arguments": PAY}} for id_, name in calls]
    message = {"role": "assistant", "content": None if calls else "Done.", "tool_calls": tool_calls}
    output = json.dumps([{"index": 0, "message": message}])
    asked = json.dumps([{"role": "user", "content": "pay"}])
    return braintrust(
        "Chat Completion", number, parent, at, "llm", attributes={"output_json": output, "input_json": asked}
    )


def tool(name: str, number: int, at: float, parent: int = 1, **more: Any) -> Span:
    given = {"input_json": PAY, "output": '{"status": "error"}'}  # what a tool answers is no failure
    return braintrust(name, number, parent, at, "tool", attributes=given, **more)


def failed(name: str, number: int, at: float, kind: str, *, parent: int = 1) -> Span:
    raised = {
        "exception.type": kind,
        "exception.stacktrace": f"{kind}: declined\n\tat dev.braintrust.TracingToolExecutor",
    }
    return braintrust(name, number, parent, at, status=2, message="declined", events=[("exception", raised)])


def test_a_run() -> None:
    run = run_of(
        braintrust("chat", 1, 0, 0, lasting=200),
        answer(2, 1, ("c1", "pay")),
        failed("pay", 3, 20, "dev.langchain4j.exception.ToolExecutionException"),
        answer(4, 40, ("c2", "pay")),
        tool("pay", 5, 60),
        answer(6, 80),
    )
    assert (run.agent, run.dialect, called(run), doubts(run)) == ("chat", "braintrust", ["pay", "pay"], [])
    assert [(call.id, call.status, call.arguments) for call in run.trajectory.calls] == [
        ("c1", "error", {"n": 1}),
        ("c2", "unset", {"n": 1}),
    ]


def test_arguments_that_were_refused() -> None:
    run = run_of(
        braintrust("chat", 1, 0, 0, lasting=200, status=2),
        answer(2, 1, ("c1", "pay")),
        failed("pay", 3, 20, "dev.langchain4j.exception.ToolArgumentsException"),
    )
    assert (called(run), doubts(run)) == (["(pay)"], [])


def test_a_tool_that_does_not_exist() -> None:
    words = "The LLM is trying to execute the 'pay' tool, but no such tool exists. Most likely, it is a hallucination."
    run = run_of(braintrust("chat", 1, 0, 0, lasting=200, status=2, message=words), answer(2, 1, ("c1", "pay")))
    assert (called(run), doubts(run)) == (["(pay)"], [])


def test_an_ai_service_inside_a_tool_is_a_run_of_its_own() -> None:
    outer, inner = runs_of(
        braintrust("chat", 1, 0, 0, lasting=200),
        answer(2, 1, ("c1", "ask")),
        tool("ask", 3, 20, lasting=100),
        braintrust("policy", 4, 3, 21, lasting=90),
        answer(5, 25, ("c2", "pay"), parent=4),
        tool("pay", 6, 40, parent=4),
        answer(7, 60, parent=4),
        answer(8, 130),
    )
    assert [(run.agent, called(run), doubts(run)) for run in (outer, inner)] == [
        ("chat", ["ask"], []),
        ("policy", ["pay"], []),
    ]


def test_steps_are_left_out_and_other_types_are_left_to_others() -> None:
    assert dialects.read_span(braintrust("step", 2, 1, 0, "task")) is IGNORED
    other = dialects.read_span(braintrust("pay", 2, 1, 0, "function", attributes={"input_json": PAY}))
    assert (other is None, other is not None and other.dialect) == (False, "generic")


def unreflected(*frames: str) -> Span:
    """A failed call of LangChain4j 1.14, whose executor leaves it to Java's reflection to find that an argument is missing."""
    trace = "java.lang.IllegalArgumentException\n" + "".join(f"\tat {frame}\n" for frame in frames)
    raised = {"exception.type": "java.lang.IllegalArgumentException", "exception.stacktrace": trace}
    return braintrust("pay", 3, 1, 20, status=2, events=[("exception", raised)])


def test_a_call_whose_method_java_could_not_call_did_not_run() -> None:
    reflection = "java.base/java.lang.reflect.Method.invoke(Method.java:569)"
    executor = "dev.langchain4j.service.tool.DefaultToolExecutor.execute(DefaultToolExecutor.java:157)"
    around = [braintrust("chat", 1, 0, 0, lasting=200), answer(2, 1, ("c1", "pay")), answer(4, 40)]
    run = run_of(*around, unreflected(reflection, executor))
    assert (called(run), doubts(run)) == (["(pay)"], [])
    service = unreflected("shop.Assistant.chat(Assistant.java:7)", reflection, executor)
    assert [run.agent for run in runs_of(*around, service)] == ["chat", "pay"]


def test_a_run_beyond_its_limit_made_none_of_the_calls_asked_for_last() -> None:
    for limit, is_known in (
        ("tool calling round trips", True),
        ("sequential tool invocations", True),
        ("tokens", False),
    ):
        words = f"Something is wrong, exceeded 1 {limit} (maxToolCallingRoundTrips)"
        run = run_of(
            braintrust("chat", 1, 0, 0, lasting=200, status=2, message=words),
            answer(2, 1, ("c1", "pay")),
            tool("pay", 3, 20),
            answer(4, 40, ("c2", "book")),
        )
        assert called(run) == ["pay", "(book)"]
        assert doubts(run) == ([] if is_known else ["uncertain_execution", "unobserved_results"])
