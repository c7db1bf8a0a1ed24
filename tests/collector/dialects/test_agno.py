"""Agno under releases of OpenInference's instrumentation that leave out which calls failed."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from collector.model.span import Scope, Span, SpanEvent
from tests.builders import called, doubts, model_span, run_of, runs_of, span, span_of_kind

kind = partial(span_of_kind, "openinference.span.kind", scope="openinference.instrumentation.agno", status=1)
CALLS = [
    {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": '{"n": 1}'}}
    for number, name in enumerate(("get", "pay"))
]


def of(release: str, *spans: Span) -> list[Span]:
    for one in spans:
        one.scope = Scope(one.scope.name, release)
    return list(spans)


def request(number: int, at: float, messages: Any, answer: Any) -> Span:
    attributes = {"input.value": json.dumps({"messages": messages}), "output.value": json.dumps(answer)}
    return kind("LLM", "OpenAIChat.invoke", number, 1, at, attributes=attributes)


def tool(name: str, number: int, at: float, output: str) -> Span:
    attributes = {"tool.name": name, "input.value": '{"n": 1}', "tool.parameters": '{"n": 1}', "output.value": output}
    return kind("TOOL", name, number, 1, at, attributes=attributes)


def told(*results: dict[str, Any]) -> list[dict[str, Any]]:
    asked = {"role": "assistant", "tool_calls": CALLS}
    results = tuple({"role": "tool", "tool_call_id": f"c{number}", **result} for number, result in enumerate(results))
    return [{"role": "user", "content": "Go"}, asked, *results]


AGENT = kind("AGENT", "shop.run", 1, lasting=100, attributes={"agno.agent": "shop"})
ASKING = {"role": "assistant", "tool_calls": CALLS}
DONE = [{"role": "assistant", "content": "Done."}]


@pytest.mark.parametrize(
    ("release", "expected"), [("0.1.8", ["uncertain_execution", "unobserved_results"]), ("0.1.9", []), ("1.0", [])]
)
def test_a_tool_without_a_result_may_have_failed_before_0_1_9(release: str, expected: list[str]) -> None:
    """Also one that Agno refused. What the model is told of either is a text, and nothing says that it is no result."""
    results = told({"content": "fine"}, {"content": "no money on card"})
    run = run_of(
        *of(
            release,
            AGENT,
            request(2, 1, [], ASKING),
            tool("get", 3, 20, "fine"),
            tool("pay", 4, 40, "None"),
            request(5, 60, results, DONE),
        )
    )
    assert (called(run), doubts(run)) == (["get", "pay"], expected)


@pytest.mark.parametrize(
    ("pay", "status", "expected"),
    [
        ({"content": "no money on card", "tool_call_error": True}, "error", []),
        ({"content": "no money on card"}, "unset", ["unobserved_results"]),
    ],
)
def test_a_call_that_failed_has_no_span_before_0_1_28(pay: Any, status: str, expected: list[str]) -> None:
    results = told({"content": "fine", **({"tool_call_error": False} if not expected else {})}, pay)
    # Streamed: the first piece of an answer has no arguments.
    empty = [{**call, "function": {"name": call["function"]["name"], "arguments": ""}} for call in CALLS]  # type: ignore[index]
    answer = {"messages": [{"role": "assistant", "tool_calls": empty}]}
    run = run_of(
        *of("0.1.25", AGENT, request(2, 1, [], answer), tool("get", 3, 20, "fine"), request(5, 60, results, DONE)),
    )
    assert sorted((call.name, call.status, call.arguments) for call in run.trajectory.calls if call.name == "pay") == [
        ("pay", status, {"n": 1})
    ]
    assert doubts(run) == expected


def test_a_call_of_which_nothing_was_told_may_have_been_refused() -> None:
    """Agno's limit of calls is reached, and the span of the next request lacks its input: the SDK dropped it."""
    again = {"role": "assistant", "tool_calls": [{**CALLS[1], "id": "c2"}]}
    last = kind("LLM", "OpenAIChat.invoke", 7, 1, 80, attributes={"output.value": json.dumps(DONE)})
    run = run_of(
        *of(
            "0.1.25",
            AGENT,
            request(2, 1, [], ASKING),
            tool("get", 3, 20, "fine"),
            tool("pay", 4, 40, "paid"),
            request(5, 60, told({"content": "fine"}, {"content": "paid"}), again),
            last,
        )
    )
    assert (called(run)[:2], doubts(run)) == (["get", "pay"], ["uncertain_execution", "unobserved_results"])


def paused(returned: str, parent: int = 0) -> list[Span]:
    """Agno 3: a human has to confirm a call, or the application runs it, and the run goes on with ``continue_run``."""
    agent = {"agno.agent": "shop", "agent.name": "shop", "output.value": returned}
    answer = {"output.value": json.dumps([{"role": "assistant", "tool_calls": CALLS[1:]}])}
    asked = kind("LLM", "OpenAIChat.invoke", 12, 11, 5, attributes=answer)
    return of("", kind("AGENT", "shop.run", 11, parent, lasting=50, attributes=agent), asked)


def resumed(parent: int = 0) -> list[Span]:
    agent = {"agno.agent": "shop", "agent.name": "shop", "output.value": "Done."}
    made = kind("TOOL", "pay", 22, 21, 101, attributes={"tool.name": "pay", "input.value": '{"n": 1}'})
    last = request(23, 120, [{"role": "user"}, {"role": "assistant", "tool_calls": CALLS[1:]}], DONE)
    last.parent_span_id = made.parent_span_id
    return of("", kind("AGENT", "shop.continue_run", 21, parent, 100, 50, attributes=agent), made, last)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("I have tools to execute, but I need confirmation.", ["other_traces"]),
        ("Team run paused. The following require input:\n- shop: pay requires confirmation", ["other_traces"]),
        (
            "I have tools to execute, but it needs external execution.",
            ["other_traces", "uncertain_execution", "unobserved_results"],
        ),
        ("I have tools to execute.", []),
    ],
)
def test_a_run_that_is_paused_goes_on_in_another_trace(returned: str, expected: list[str]) -> None:
    run = run_of(*paused(returned))
    assert (called(run), doubts(run)) == (["(pay)"], expected)


def test_a_run_that_goes_on_began_in_another_trace() -> None:
    run = run_of(*resumed())
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


def test_a_run_may_be_paused_and_go_on_in_one_trace() -> None:
    around = kind("CHAIN", "chat", 1, lasting=200)
    runs = runs_of(around, *paused("I have tools to execute, but I need confirmation.", 1), *resumed(1))
    assert [(called(run), doubts(run)) for run in runs] == [(["(pay)"], []), (["pay"], [])]


HOOK = '  File "f.py", line 2187, in _safe_hook_call\n    return hook(**hook_args)\n'
AROUND = ", in wrapper\n    return self._safe_hook_call(hook, hook_args)\n" + HOOK
FRAMES = {
    "pre-hook": f', in _execute\n    self._handle_pre_hook()\n  File "f.py", line 2225, in _handle_pre_hook\n{HOOK}',
    "hook": AROUND,
    "tool in hook": AROUND + '  File "f.py", line 2500, in execute_entrypoint\n    return func(**args)\n',
    "tool": ", in _execute\n    result = self.function.entrypoint(**entrypoint_args, **self.arguments)\n",
    "post-hook": f', in _execute\n    self._handle_post_hook()\n  File "f.py", line 2255, in _handle_post_hook\n{HOOK}',
    "none": "",
}


@pytest.mark.parametrize(
    ("raised", "calls", "expected"),
    [
        ("pre-hook", ["(pay)"], []),
        ("hook", ["pay"], ["uncertain_execution"]),
        ("tool in hook", ["pay"], []),
        ("tool", ["pay"], []),
        ("post-hook", ["pay"], []),
        ("none", ["pay"], ["uncertain_execution"]),
    ],
)
def test_the_stack_tells_whether_a_hook_ended_a_call_before_its_tool(
    raised: str, calls: list[str], expected: list[str]
) -> None:
    """Agno 3: what has the agent stop, or try again, may be raised by a hook before the tool, by hooks around it, or by it."""
    exception = {"exception.type": "agno.exceptions.RetryAgentRun", "exception.message": "Pay less"}
    trace = {"exception.stacktrace": f'Traceback:\n  File "f.py", line 2603{FRAMES[raised]}'} if FRAMES[raised] else {}
    call = tool("pay", 3, 20, "")
    call.status, call.status_message = 2, "Pay less"
    call.events = [SpanEvent("exception", 0, {**exception, **trace})]
    told_less = [{"role": "user", "content": "Go"}, {"role": "assistant", "tool_calls": CALLS[1:]}]
    asked = {"role": "assistant", "tool_calls": CALLS[1:]}
    run = run_of(*of("", AGENT, request(2, 1, [], asked), call, request(5, 60, told_less, DONE)))
    assert (called(run), doubts(run)) == (calls, expected)


@pytest.mark.parametrize(
    ("output", "expected"),
    [("paid", []), ("Tool call blocked by policy", ["uncertain_execution"])],
)
def test_a_hook_may_have_answered_in_place_of_a_tool(output: str, expected: list[str]) -> None:
    asked = {"role": "assistant", "tool_calls": CALLS[1:]}
    results = [{"role": "user"}, asked, {"role": "tool", "tool_call_id": "c1", "content": output}]
    run = run_of(*of("", AGENT, request(2, 1, [], asked), tool("pay", 3, 20, output), request(5, 60, results, DONE)))
    assert (called(run), doubts(run)) == (["pay"], expected)


@pytest.mark.parametrize(("goes_on", "expected"), [(False, ["other_traces"]), (True, [])])
def test_a_run_whose_content_is_hidden_may_wait_if_it_ends_with_a_call(goes_on: bool, expected: list[str]) -> None:
    """That another call has to be confirmed was in the model's answer, and in what the run returned."""
    hidden = {"input.value": "__REDACTED__", "output.value": "__REDACTED__"}
    agent = kind("AGENT", "shop.run", 1, lasting=100, attributes={"agno.agent": "shop", **hidden})
    spans = [agent, kind("LLM", "OpenAIChat.invoke", 2, 1, 1, attributes=hidden), tool("get", 3, 20, "__REDACTED__")]
    spans += [kind("LLM", "OpenAIChat.invoke", 4, 1, 60, attributes=hidden)] if goes_on else []
    run = run_of(*of("", *spans))
    assert (called(run), doubts(run)) == (["get"], expected)


def official(number: int, output: str, given: str, tool_name: str, at: float = 0) -> list[Span]:
    """The official instrumentation records no requests to models."""
    scope = "opentelemetry.instrumentation.genai.agno"
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "shop",
        "gen_ai.input.messages": given,
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"content": output, "type": "text"}]}]),
    }
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool_name, "gen_ai.tool.call.arguments": "{}"}
    return [
        span("invoke_agent shop", number, 0, at, 50, attributes=agent, scope=scope),
        span(f"execute_tool {tool_name}", number + 1, number, at + 10, attributes=call, scope=scope),
    ]


def test_a_run_that_is_paused_and_goes_on_under_the_official_instrumentation() -> None:
    asked = json.dumps([{"role": "user", "parts": [{"content": "Go", "type": "text"}]}])
    answered = '[{"role":"tool","parts":[{"response":{"confirmed":true},"id":"c1","type":"tool_call_response"}]}]'
    waiting = run_of(*official(1, "I have tools to execute, but I need confirmation.", asked, "get"))
    going_on = run_of(*official(3, "Done.", answered, "pay"))
    whole = run_of(*official(5, "Done.", asked, "get"))
    assert [(called(run), doubts(run)) for run in (waiting, going_on, whole)] == [
        (["get"], ["other_traces"]),
        (["pay"], ["other_traces"]),
        (["get"], []),
    ]


@pytest.mark.parametrize(
    "scope", ["opentelemetry.instrumentation.genai.agno", "opentelemetry.instrumentation.ag2", "shop"]
)
@pytest.mark.parametrize("result", ["paid", "Tool call blocked by policy"])
def test_a_hook_may_have_answered_in_place_of_a_tool_in_the_conventions(scope: str, result: str) -> None:
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay", "gen_ai.tool.call.result": result}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
    run = run_of(
        span("invoke_agent shop", 1, lasting=50, attributes=agent, scope=scope),
        span("execute_tool pay", 2, 1, 10, attributes={**call, "gen_ai.tool.call.arguments": "{}"}, scope=scope),
    )
    assert ("uncertain_execution" in doubts(run)) is (scope != "shop" and result != "paid")


def openllmetry(kind: str, name: str, number: int, parent: int, at: float, lasting: float, **told: str) -> Span:
    attributes = {"traceloop.span.kind": kind, **{f"traceloop.entity.{key}": value for key, value in told.items()}}
    attributes |= {"gen_ai.agent.name": name} if kind == "agent" else {"gen_ai.tool.name": name}
    scope = "opentelemetry.instrumentation.agno"
    return span(f"{name}.{kind}", number, parent, at, lasting, attributes=attributes, scope=scope, status=1)


def test_a_run_that_is_paused_goes_on_in_another_trace_under_openllmetry() -> None:
    """Of the pause its spans have only what the agent said, which may be in any words."""
    said = "I have tools to execute, but I need confirmation."
    asking = model_span([("c1", "get", {}), ("c2", "pay", {})], 2, 1, at=1, lasting=5)
    got = openllmetry("tool", "get", 3, 1, 10, 5, input="{}", output="status='success' result='it' error=None")
    run = run_of(openllmetry("agent", "shop", 1, 0, 0, 100, input="go", output=said), asking, got)
    assert sorted(called(run)) == ["(pay)", "get"]
    assert "other_traces" in doubts(run)
    paid = openllmetry("tool", "pay", 4, 1, 20, 5, input="{}", output="status='success' result='it' error=None")
    run = run_of(openllmetry("agent", "shop", 1, 0, 0, 100, input="go", output="Done."), asking, got, paid)
    assert (called(run), doubts(run)) == (["get", "pay"], [])
