"""Firebase Genkit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, read_tool, run_of, span


def genkit(
    subtype: str, name: str, number: int, parent: int = 0, at: float = 0, lasting: float = 10, **more: Any
) -> Span:
    attributes = {
        "genkit:type": "action",
        "genkit:metadata:subtype": subtype,
        "genkit:name": name,
        **more.pop("attributes", {}),
    }
    return span(name, number, parent, at, lasting, attributes=attributes, **more)


def test_a_tool_span() -> None:
    attributes = {"genkit:input": '{"city": "Oslo"}', "genkit:state": "error"}
    assert read_tool(genkit("tool", "get", 2, 1, attributes=attributes)) == ("get", None, {"city": "Oslo"}, "error")


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ('{"output": {"error": "card declined"}}', "error"),
        ('{"error": "card declined"}', "error"),
        ('{"output": {"paid": 7, "error": null}}', "unset"),
        ('{"output": "no error"}', "unset"),
        ('{"errors": 0}', "unset"),
    ],
)
@pytest.mark.parametrize("subtype", ["tool", "tool.v2"])
def test_what_a_tool_returned_may_be_an_error(subtype: str, output: str, status: str) -> None:
    attributes = {"genkit:input": "{}", "genkit:output": output, "genkit:state": "success"}
    assert read_tool(genkit(subtype, "pay", 2, 1, attributes=attributes))[3] == status


@pytest.mark.parametrize(("error", "expected"), [("ZodError", ["pay"]), ("McpError", ["(pay)"])])
def test_a_tool_that_did_not_understand_what_it_fetched_ran(error: str, expected: list[str]) -> None:
    issues = '[\n  {\n    "code": "invalid_type",\n    "expected": "number"\n  }\n]'
    words = issues if error == "ZodError" else f"MCP error -32602: Input validation error: {issues}"
    tool = genkit(
        "tool", "pay", 2, 1, attributes={"genkit:input": '{"order": 7}', "genkit:state": "error"}, status=2, message=words,
        events=[("exception", {"exception.type": error, "exception.message": words})],
    )  # fmt: skip
    assert called(run_of(genkit("flow", "chat", 1, lasting=100), tool)) == expected


def test_a_flow_is_a_run() -> None:
    answer = {
        "message": {
            "role": "model",
            "content": [{"toolRequest": {"name": "get", "ref": "c1", "input": {"city": "Oslo"}}}],
        },
        "request": {"messages": [{"content": [{"toolRequest": {"name": "old", "ref": "c0"}}]}]},
    }
    run = run_of(
        genkit("flow", "travelFlow", 1, attributes={"genkit:input": '"hi"', "genkit:sessionId": "s"}, lasting=100),
        span("generate", 2, 1, attributes={"genkit:type": "util", "genkit:output": json.dumps(answer)}),
        genkit(
            "model",
            "gpt",
            3,
            2,
            at=1,
            lasting=5,
            attributes={
                "genkit:output": json.dumps(answer),
                "genkit:input": '{"messages": [{"role": "user", "content": [{"text": "hi"}]}]}',
            },
        ),
        genkit("tool", "get", 4, 2, at=10, attributes={"genkit:input": '{"city": "Oslo"}'}),
    )
    assert (run.agent, run.user_input, run.conversation_id, called(run)) == ("travelFlow", "hi", "s", ["get"])
    assert run.trajectory.calls[0].id == "c1"


def test_helpers_are_ignored() -> None:
    assert dialects.read_span(span("generate", 2, 1, attributes={"genkit:type": "util"})) is IGNORED


RAISED = ("exception", {"exception.type": "ToolInterruptError"})


@pytest.mark.parametrize(
    ("told", "events"),
    [({"genkit:metadata:interrupt": '{"ask": "get"}'}, []), ({}, [RAISED])],  # the latter of `defineInterrupt`
)
def test_a_tool_that_interrupts_waits_for_an_answer(told: dict[str, str], events: list[Any]) -> None:
    """Its span has failed; approved, it is restarted in a span of its own."""
    waits = {"genkit:input": '{"city": "Oslo"}', "genkit:state": "error", **told}
    run = run_of(
        genkit("flow", "travelFlow", 1, lasting=100),
        genkit("tool", "get", 2, 1, 10, attributes=waits, events=events, status=2),
        genkit("tool", "get", 3, 1, 50, attributes={"genkit:input": '{"city": "Oslo"}', "genkit:state": "success"}),
    )
    assert (called(run), doubts(run)) == (["(get)", "get"], [])


ASKS = "tool execution interrupted: \n\n" + json.dumps({"ask": "May I? " * 80}, indent=2)  # Go


@pytest.mark.parametrize(
    ("raised", "message"),
    [({"exception.type": "*ai.toolInterruptError", "exception.message": ASKS}, ASKS), (RAISED[1], "")],
)
def test_a_run_that_ends_with_an_interrupt_goes_on_in_another_trace(raised: dict[str, str], message: str) -> None:
    call = {"toolRequest": {"name": "get", "ref": "c1", "input": {"city": "Oslo"}}}
    answer = {"genkit:output": json.dumps({"message": {"role": "model", "content": [call]}})}
    waits = {"genkit:input": '{"city": "Oslo"}', "genkit:state": "error"}
    run = run_of(
        genkit("flow", "travelFlow", 1, lasting=100),
        genkit("model", "gpt", 2, 1, 1, attributes=answer),
        genkit("tool.v2", "get", 3, 1, 20, attributes=waits, events=[("exception", raised)], status=2, message=message),
    )
    assert (called(run), doubts(run)) == (["(get)"], ["other_traces"])


def restarted() -> list[Span]:
    """What goes on when a human has agreed, in Genkit 1.42 for JavaScript: the call, and then a request to the model."""
    made = {"genkit:metadata:resumed": '{"ok":true}', "genkit:input": '{"sum":5}', "genkit:output": '"paid"'}
    answer = json.dumps({"message": {"role": "model", "content": [{"text": "done"}]}, "finishReason": "stop"})
    root = {"genkit:type": "util", "genkit:name": "generate"}
    return [
        span("generate", 1, 9, 50, 90, attributes=root),
        genkit("tool", "pay", 2, 1, 55, 4, attributes={**made, "genkit:state": "success"}),
        span("generate", 3, 1, 60, 50, attributes=root),
        genkit("model", "fake/gpt-4o", 4, 3, 65, 20, attributes={"genkit:output": answer}),
    ]


def test_a_run_that_restarts_a_call_goes_on_with_an_earlier_trace() -> None:
    run = run_of(span("POST /pay", 9, lasting=200), *restarted())
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


def test_a_run_that_restarts_a_call_of_its_own_is_whole() -> None:
    call = {"toolRequest": {"name": "pay", "ref": "c1", "input": {"sum": 5}}}
    asks = {"genkit:output": json.dumps({"message": {"role": "model", "content": [call]}})}
    waits = {"genkit:metadata:interrupt": '{"why":"sure?"}', "genkit:input": '{"sum":5}', "genkit:state": "error"}
    run = run_of(
        genkit("flow", "till", 9, lasting=200),
        genkit("model", "fake/gpt-4o", 11, 9, 1, 5, attributes=asks),
        genkit("tool", "pay", 12, 9, 10, 5, attributes=waits, status=2),
        *restarted(),
    )
    assert called(run) == ["(pay)", "pay"]
    assert "other_traces" not in doubts(run)


@pytest.mark.parametrize(
    ("after", "expected"),
    [([], ["other_traces"]), ([{"role": "user", "content": [{"text": "And now?"}]}], [])],
)
def test_what_a_model_is_told_first_tells_in_go_that_a_call_was_restarted(
    after: list[dict[str, Any]], expected: list[str]
) -> None:
    """1.10: the span of the call itself does not. In a conversation it may have been one of an earlier turn."""
    call = {"toolRequest": {"name": "pay", "ref": "c1", "input": {"sum": 5}}, "metadata": {"resolvedInterrupt": True}}
    paid = {"toolResponse": {"name": "pay", "ref": "c1", "output": "paid"}}
    messages = [
        {"content": [{"text": "Pay."}], "role": "user"},
        {"content": [call], "role": "model"},
        {"content": [paid], "metadata": {"resumed": True}, "role": "tool"},
        *([{"content": [{"text": "Paid."}], "role": "model"}, *after] if after else []),
    ]
    said = {"genkit:output": json.dumps({"message": {"role": "model", "content": [{"text": "Done."}]}})}
    given = {"genkit:input": json.dumps({"messages": messages, "tools": []}, separators=(",", ":"))}
    run = run_of(
        genkit("flow", "till", 1, lasting=100),
        *([] if after else [genkit("tool.v2", "pay", 2, 1, 5, 4, attributes={"genkit:input": '{"sum":5}'})]),
        genkit("model", "gpt", 3, 1, 20, attributes=given | said),
    )
    assert (called(run), doubts(run)) == ([] if after else ["pay"], expected)


def test_a_call_is_not_requested_twice_where_the_providers_answer_is_there_as_well() -> None:
    """Genkit for Go: each call has an id of Genkit's in the message, and none in what the provider sent."""
    sent = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "list"}}], "role": "model"}}]}
    message = {"role": "model", "content": [{"toolRequest": {"input": {}, "name": "list", "ref": "r1"}}]}
    answer = json.dumps({"custom": sent, "message": message}, separators=(",", ":"))
    told = [message, {"role": "tool", "content": [{"toolResponse": {"name": "list", "output": "none", "ref": "r1"}}]}]
    run = run_of(
        genkit("flow", "shop", 1, lasting=100),
        genkit("model", "gemini", 2, 1, at=1, attributes={"genkit:output": answer}),
        genkit("tool.v2", "list", 3, 1, at=20, attributes={"genkit:input": "{}"}),
        genkit("model", "gemini", 4, 1, at=40, attributes={"genkit:input": json.dumps({"messages": told})}),
    )
    assert (called(run), doubts(run)) == (["list"], [])


def test_a_call_is_not_requested_twice_in_the_candidates_of_googles_models() -> None:
    """Genkit for JavaScript (1.4x): no call has an id."""
    given = {"args": ["north", "south"]}
    sent = {
        "candidates": [{"content": {"parts": [{"functionCall": {"name": "water", "args": given}}], "role": "model"}}]
    }
    message = {"role": "model", "content": [{"toolRequest": {"name": "water", "input": given}}]}
    candidates = [{"index": 0, "message": message, "finishReason": "stop", "custom": {}}]
    answer = json.dumps({"candidates": candidates, "custom": sent}, separators=(",", ":"))
    said = {"role": "model", "content": [{"text": "Done."}]}
    final = json.dumps(
        {"candidates": [{"index": 0, "message": said, "custom": {}}], "custom": {}}, separators=(",", ":")
    )
    run = run_of(
        genkit("flow", "garden", 1, lasting=100),
        genkit("model", "gemini", 2, 1, at=1, attributes={"genkit:output": answer}),
        genkit("tool", "water", 3, 1, at=20, attributes={"genkit:input": json.dumps(given)}),
        genkit("model", "gemini", 4, 1, at=40, attributes={"genkit:output": final}),
    )
    assert (called(run), run.trajectory.calls[0].arguments, doubts(run)) == (["water"], given, [])


@pytest.mark.parametrize(("outcome", "expected"), [("OUTCOME_OK", "ok"), ("OUTCOME_FAILED", "error")])
def test_code_that_googles_models_had_run_is_a_call(outcome: str, expected: str) -> None:
    """1.10 for Go. It stands beside the calls that the model asks for, and in what Google sent, which is read no more."""
    code, result = {"code": "print(1)", "language": "PYTHON"}, {"outcome": outcome, "output": "1"}
    asks = {"toolRequest": {"input": {"city": "Oslo"}, "name": "get"}}
    content = [{"custom": {"executableCode": code}}, {"custom": {"codeExecutionResult": result}}, asks]
    sent = {"candidates": [{"content": {"parts": [{"executableCode": code}, {"codeExecutionResult": result}]}}]}
    answer = {"custom": sent, "message": {"content": content, "role": "model"}}
    said = {"genkit:output": json.dumps({"message": {"role": "model", "content": [{"text": "Done."}]}})}
    run = run_of(
        genkit("flow", "travelFlow", 1, lasting=100),
        genkit("model", "gemini", 2, 1, 1, attributes={"genkit:output": json.dumps(answer, separators=(",", ":"))}),
        genkit("tool.v2", "get", 3, 1, 20, attributes={"genkit:input": '{"city":"Oslo"}'}),
        genkit("model", "gemini", 4, 1, 40, attributes=said),
    )
    assert (called(run), doubts(run)) == (["code_execution", "get"], [])
    assert (run.trajectory.calls[0].arguments, run.trajectory.calls[0].status) == (code, expected)


def test_a_request_that_the_application_is_to_run_leaves_no_span() -> None:
    """`returnToolRequests`, outside of a flow: Genkit runs no tool."""
    call = {"toolRequest": {"name": "pay", "ref": "c1", "input": {"sum": 1}}}
    answer = {"genkit:output": json.dumps({"message": {"role": "model", "content": [call]}, "finishReason": "stop"})}
    run = run_of(
        span("generate", 1, lasting=90, attributes={"genkit:type": "util", "genkit:isRoot": True}),
        genkit("model", "gpt-4o", 2, 1, attributes=answer),
    )
    assert (called(run), doubts(run)) == (["(pay)"], [])


RETURNED: dict[str, Any] = {"role": "model", "content": [{"toolRequest": {"input": {}, "name": "pay", "ref": "c1"}}]}
BLOCKED: dict[str, Any] = {"role": "model", "content": [{"text": "blocked"}]}


@pytest.mark.parametrize(
    ("message", "expected"),
    [(RETURNED, ["other_traces"]), (BLOCKED, []), ({**RETURNED, "content": None}, []), (None, [])],
)
def test_a_run_that_returned_calls_to_the_application_goes_on_in_another_trace(
    message: Any, expected: list[str]
) -> None:
    """Genkit 1.4 for Go. What was generated holds what the model was told, too; a middleware may have taken the calls away."""
    told = {"messages": [{"role": "user", "content": [{"text": "Go."}]}, RETURNED]}
    generated = {"genkit:output": json.dumps({"finishReason": "stop", "message": message, "request": told})}
    attributes = {"genkit:type": "util", "genkit:metadata:subtype": "util", "genkit:isRoot": True, **generated}
    run = run_of(span("generate", 1, lasting=90, attributes=attributes), asked("pay", 2, 1, at=1))
    assert (called(run), doubts(run)) == (["(pay)"], expected)


@pytest.mark.parametrize(("status", "is_answered", "is_part"), [(0, False, True), (2, False, False), (0, True, False)])
def test_a_flow_that_returned_calls_to_the_client_goes_on_in_another_trace(
    status: int, *, is_answered: bool, is_part: bool
) -> None:
    said = {"genkit:output": json.dumps({"message": {"role": "model", "content": [{"text": "Done."}]}})}
    run = run_of(
        genkit("flow", "trip", 1, lasting=100, status=status),
        asked("pay", 2, 1, at=1),
        *([genkit("model", "gpt", 3, 1, 20, attributes=said)] if is_answered else []),
    )
    assert (called(run), "other_traces" in doubts(run)) == (["(pay)"], is_part)


def test_what_a_human_answered_in_a_tools_place_is_no_call_of_the_run_that_goes_on() -> None:
    """What ran beside it, before the interrupt, may be of an earlier trace."""
    looked, asked = (
        {"toolRequest": {"name": name, "ref": ref, "input": {}}} for name, ref in (("look", "c1"), ("ask", "c2"))
    )
    seen = {"toolResponse": {"name": "look", "ref": "c1", "output": 7}, "metadata": {"source": "pending"}}
    said = {"toolResponse": {"name": "ask", "ref": "c2", "output": "no"}, "metadata": {"interruptResponse": True}}
    messages = [
        {"role": "user", "content": [{"text": "Go."}]},
        {"role": "model", "content": [looked, asked]},
        {"role": "tool", "content": [seen, said], "metadata": {"resumed": True}},
    ]
    answer = {"message": {"role": "model", "content": [{"text": "Done."}]}, "finishReason": "stop"}
    given = json.dumps({"messages": messages}, separators=(",", ":"))
    run = run_of(
        genkit("flow", "travelFlow", 1, lasting=90, attributes={"genkit:input": '"go on"'}),
        genkit("model", "gpt-4o", 2, 1, 5, attributes={"genkit:input": given, "genkit:output": json.dumps(answer)}),
    )
    assert (called(run), doubts(run)) == (["look", "(ask)"], ["other_traces", "uncertain_execution"])


def asked(name: str, number: int, parent: int, at: float) -> Span:
    """A request to a model, which asks for a tool."""
    answer = {
        "message": {"role": "model", "content": [{"toolRequest": {"name": name, "ref": f"c{number}", "input": {}}}]}
    }
    attributes = {"genkit:output": json.dumps(answer), "genkit:input": '{"messages": [{"content": [{"text": "hi"}]}]}'}
    return genkit("model", "gpt", number, parent, at, 5, attributes=attributes)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("exceeded maximum tool call iterations (1)", []),  # Go
        ("ABORTED: Exceeded maximum tool call iterations (1)", []),
        (
            'tool "ask" failed: error calling tool ask: exceeded maximum tool call iterations (1)',
            ["uncertain_execution"],
        ),
    ],
)
@pytest.mark.parametrize("subtype", ["util", "flow"])
def test_a_run_that_ended_at_its_limit_made_none_of_its_last_calls(
    subtype: str, error: str, expected: list[str]
) -> None:
    run = run_of(
        genkit(subtype, "generate", 1, lasting=100, status=2, message=error),
        asked("get", 2, 1, at=1),
        genkit("tool", "get", 3, 1, at=10, attributes={"genkit:input": "{}", "genkit:output": "7"}),
        asked("get", 4, 1, at=30),
    )
    assert (called(run), doubts(run)[: len(expected)]) == (["get", "(get)"], expected)
    assert bool(doubts(run)) == bool(expected)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("", []),
        ('invalid input to action "/tool.v2/get": ', []),  # 1.10
        ('invalid input to action "/tool.v2/inner": ', ["uncertain_execution", "unobserved_results"]),  # it ran this
    ],
)
def test_a_run_that_failed_with_arguments_which_its_tool_does_not_take(where: str, expected: list[str]) -> None:
    error = (
        f'tool "get" failed: error calling tool get: {where}data did not match expected schema:\n- price: Invalid type.'
    )
    run = run_of(genkit("util", "generate", 1, lasting=100, status=2, message=error), asked("get", 2, 1, at=1))
    assert (called(run), doubts(run)) == (["(get)"], expected)


REQUESTED: dict[str, Any] = {"toolRequest": {"name": "find", "ref": "a1", "input": {"n": 1}}}


def returned(*content: dict[str, Any], reason: str = "stop") -> str:
    """What `generate` returns, as 1.42 for JavaScript writes it."""
    request = {"messages": [{"role": "user", "content": [{"text": "hi"}]}, {"role": "model", "content": [REQUESTED]}]}
    message = {"role": "model", "content": [*content]}
    return json.dumps({"message": message, "finishReason": reason, "request": request}, separators=(",", ":"))


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (returned(REQUESTED), ["other_traces"]),  # `returnToolRequests`
        (returned(REQUESTED | {"metadata": {"interrupt": {"why": "?"}}}, reason="interrupted"), ["other_traces"]),
        (returned({"text": "no tools today"}), []),  # middleware answered in place of the model
        ("broken", []),
    ],
    ids=["returned", "interrupted by middleware", "another answer", "broken"],
)
def test_a_generation_that_returns_requests_goes_on_in_another_trace(output: str, expected: list[str]) -> None:
    run = run_of(
        genkit("util", "generate", 1, lasting=100, attributes={"genkit:output": output}),
        genkit("model", "gpt", 2, 1, 5, 50, attributes={"genkit:output": returned(REQUESTED)}),
    )
    assert (called(run), doubts(run)) == (["(find)"], expected)


def test_a_flow_that_ends_with_a_request_goes_on_in_another_trace() -> None:
    """What interrupted the call, or was to make it, left no span: middleware, or the application."""
    run = run_of(
        genkit("flow", "myflow", 1, lasting=100),
        genkit("util", "generate", 2, 1, 1, 90, attributes={"genkit:output": returned(REQUESTED)}),
        genkit("model", "gpt", 3, 2, 5, 50, attributes={"genkit:output": returned(REQUESTED)}),
    )
    assert (called(run), doubts(run)) == (["(find)"], ["other_traces"])


def test_middleware_may_have_answered_in_place_of_a_tool_of_which_there_is_no_span() -> None:
    """1.42 for JavaScript, `use`; a flow, as the span of `generate` alone is none of the run's."""
    answered = {"toolResponse": {"name": "find", "ref": "a1", "output": {"cached": True}}}
    user = {"role": "user", "content": [{"text": "hi"}]}
    messages = [user, {"role": "model", "content": [REQUESTED]}, {"role": "tool", "content": [answered]}]
    given = {"genkit:input": json.dumps({"messages": messages}, separators=(",", ":"))}
    run = run_of(
        genkit("flow", "myflow", 1, lasting=100),
        genkit("model", "gpt", 2, 1, 5, 10, attributes={"genkit:output": returned(REQUESTED)}),
        genkit("model", "gpt", 3, 1, 20, 10, attributes=given | {"genkit:output": returned({"text": "done"})}),
    )
    assert "uncertain_execution" in doubts(run)
