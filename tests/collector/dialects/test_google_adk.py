"""Google's Agent Development Kit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Resource, Span
from collector.payloads.offered_tools import MAX_DEFINITIONS
from tests.builders import called, doubts, log, read_tool, run_of, span

ADK = "gcp.vertex.agent"
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay", "gen_ai.tool.call.id": "adk-1"}
JAVA = Resource({"telemetry.sdk.language": "java"})


def adk(name: str, number: int, parent: int = 0, at: float = 0, lasting: float = 10, **more: Any) -> Span:
    return span(name, number, parent, at, lasting, scope=ADK, **more)


@pytest.mark.parametrize(
    ("attributes", "arguments", "status"),
    [
        ({f"{ADK}.tool_call_args": '{"order": 7}', f"{ADK}.tool_response": '{"ok": true}'}, {"order": 7}, "unset"),
        ({f"{ADK}.tool_call_args": "{}", f"{ADK}.tool_response": '{"ok": true}'}, {}, "unset"),
        ({f"{ADK}.tool_call_args": "{}", f"{ADK}.tool_response": "{}"}, None, "unset"),  # content is not captured
        ({f"{ADK}.tool_call_args": "N/A"}, None, "unset"),
        ({"gen_ai.tool.call.arguments": '{"order": 7}'}, {"order": 7}, "unset"),
        (
            {f"{ADK}.tool_call_args": '{"order": 7}', f"{ADK}.tool_response": '{"error": "declined"}'},
            {"order": 7},
            "error",
        ),
        ({f"{ADK}.tool_call_args": "{}", f"{ADK}.tool_response": '{"status": "error"}'}, {}, "error"),
    ],
)
def test_a_tool_span(attributes: dict[str, str], arguments: Any, status: str) -> None:
    assert read_tool(adk("execute_tool pay", 2, 1, attributes={**TOOL, **attributes})) == (
        "pay",
        "adk-1",
        arguments,
        status,
    )


def test_a_span_with_nothing_but_a_name_is_a_failed_tool() -> None:
    assert read_tool(adk("execute_tool pay", 2, 1)) == ("pay", None, None, "error")


def model(number: int, at: float, *contents: dict[str, Any], answer: dict[str, Any] | None = None) -> Span:
    texts = ("{}", "{}") if answer is None else (json.dumps({"contents": contents}), json.dumps({"content": answer}))
    attributes = dict(zip((f"{ADK}.llm_request", f"{ADK}.llm_response"), texts, strict=True))
    return adk("call_llm", number, 1, at, 20, attributes=attributes)


@pytest.mark.parametrize(
    ("status", "told", "expected"),
    [
        (0, None, ["uncertain_execution"]),  # JavaScript: ADK may have refused the arguments, which no span says
        (2, None, []),  # Python: what the tool raised ended the span
        (0, "Error in tool 'pay': card declined", []),
    ],
)
def test_a_span_with_nothing_but_a_name_may_be_of_a_refused_call(
    status: int, told: str | None, expected: list[str]
) -> None:
    asked = {"role": "model", "parts": [{"functionCall": {"name": "pay", "args": {"order": 7}}}]}
    answered = {"role": "user", "parts": [{"functionResponse": {"name": "pay", "response": {"error": told}}}]}
    said = {"role": "model", "parts": [{"text": "Declined."}]}
    is_recorded = told is not None
    run = run_of(
        adk("invoke_agent helper", 1, lasting=100, attributes={"gen_ai.operation.name": "invoke_agent"}),
        model(2, 0, answer=asked if is_recorded else None),
        adk("execute_tool pay", 3, 2, 10, 5, status=status),
        model(4, 50, asked, answered, answer=said if is_recorded else None),
    )
    assert (called(run), doubts(run)) == (["pay"], expected)


def test_a_tool_that_does_not_exist_has_a_span_all_the_same() -> None:
    unknown = adk("execute_tool pay", 2, 1, attributes={**TOOL, "gen_ai.tool.description": "Tool not found"}, status=2)
    assert called(
        run_of(adk("invoke_agent helper", 1, attributes={"gen_ai.operation.name": "invoke_agent"}), unknown)
    ) == ["(pay)"]


@pytest.mark.parametrize(("missing", "is_open"), [("pay", False), ("refund", True)])
def test_a_tool_that_does_not_exist_ends_the_run(missing: str, *, is_open: bool) -> None:
    """ADK 1.28, which leaves no span of it, and two of each request."""
    failed: dict[str, Any] = {"status": 2, "message": f"ValueError: Tool '{missing}' not found.\nAvailable tools: get"}
    answer = {"content": {"role": "model", "parts": [{"functionCall": {"name": "pay", "args": {"n": 1}}}]}}
    told = {f"{ADK}.llm_request": '{"contents": []}', f"{ADK}.llm_response": json.dumps(answer)}
    request = {"gen_ai.operation.name": "generate_content", "gen_ai.response.finish_reasons": ["stop"]}
    run = run_of(
        adk("invocation", 1, lasting=100, **failed),
        adk("invoke_agent clerk", 2, 1, 1, 98, attributes={"gen_ai.operation.name": "invoke_agent"}, **failed),
        adk("call_llm", 3, 2, 2, 50, attributes={**told, "gen_ai.response.finish_reasons": ["stop"]}),
        adk("generate_content m", 4, 3, 3, 48, attributes=request),
    )
    assert called(run) == ["(pay)"]
    assert ("uncertain_execution" in doubts(run)) is is_open


def test_arguments_that_did_not_fit_are_told_in_the_response() -> None:
    response = {"error": "Invoking `pay()` failed as the following mandatory input parameters are not present:\ncents"}
    call = adk("execute_tool pay", 2, 1, attributes={**TOOL, f"{ADK}.tool_response": json.dumps(response)})
    agent = adk("invoke_agent helper", 1, attributes={"gen_ai.operation.name": "invoke_agent"})
    assert called(run_of(agent, call)) == ["(pay)"]


@pytest.mark.parametrize("status", ["failed", "FAILED"])
def test_a_status_of_the_tools_own_may_be_of_what_it_looked_at(status: str) -> None:
    answer = json.dumps({"status": status, "build": 7})
    call = adk("execute_tool pay", 2, 1, attributes={**TOOL, f"{ADK}.tool_response": answer})
    run = run_of(adk("invoke_agent helper", 1, attributes={"gen_ai.operation.name": "invoke_agent"}), call)
    assert (called(run), doubts(run)) == (["pay"], ["unobserved_results"])


@pytest.mark.parametrize("key", [f"{ADK}.tool_response", "gen_ai.tool.call.result"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("failed: the card has expired", ["unobserved_results"]),
        ("Failed to charge the card", ["unobserved_results"]),
        ("failed payments: none", []),
    ],
)
def test_what_a_callback_answers_for_a_tool_that_raised(words: str, expected: list[str], key: str) -> None:
    call = adk("execute_tool pay", 2, 1, attributes={**TOOL, key: json.dumps({"result": words})})
    run = run_of(adk("invoke_agent helper", 1, attributes={"gen_ai.operation.name": "invoke_agent"}), call)
    assert (called(run), doubts(run)) == (["pay"], expected)


@pytest.mark.parametrize("key", [f"{ADK}.tool_response", "gen_ai.tool.call.result"])
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"status": "denied by policy"}, ["uncertain_execution"]),
        ({"result": "Tool execution was blocked by before_tool_callback."}, ["uncertain_execution"]),
        ({"status": "error", "error_message": "Checks are disabled by a tool guardrail."}, ["uncertain_execution"]),
        ({"status": "blocked"}, []),
    ],
)
def test_what_a_callback_answers_in_place_of_the_tool(answer: Any, expected: list[str], key: str) -> None:
    call = adk("execute_tool pay", 2, 1, attributes={**TOOL, key: json.dumps(answer)})
    run = run_of(adk("invoke_agent helper", 1, attributes={"gen_ai.operation.name": "invoke_agent"}), call)
    assert (called(run), doubts(run)) == (["pay"], expected)


@pytest.mark.parametrize(
    ("tool", "more", "expected"),
    [
        ("pay", {}, ["other_traces", "uncertain_execution", "unobserved_results"]),
        (
            "pay",
            {f"{ADK}.tool_call_args": "{}", f"{ADK}.tool_response": "{}"},
            ["other_traces", "uncertain_execution", "unobserved_results"],
        ),
        ("pay", {"gen_ai.tool.call.result": '{"paid": true}'}, []),
        ("pay", {"gen_ai.tool.type": "LongRunningFunctionTool"}, ["other_traces", "unobserved_results"]),
        ("exit_loop", {}, []),
    ],
)
def test_without_content_a_call_that_ends_the_run_may_wait_for_a_confirmation(
    tool: str, more: dict[str, str], expected: list[str]
) -> None:
    attributes = {**TOOL, "gen_ai.tool.name": tool, "gen_ai.tool.type": "FunctionTool", **more}
    request = {"gen_ai.operation.name": "generate_content"}
    spans = [
        adk("invoke_agent till", 1, lasting=100, attributes={"gen_ai.operation.name": "invoke_agent"}),
        adk("generate_content gemini-2.5-pro", 2, 1, 1, 5, attributes=request),
        adk(f"execute_tool {tool}", 3, 1, 10, attributes=attributes),
    ]
    assert doubts(run_of(*spans)) == expected
    answered = run_of(*spans, adk("generate_content gemini-2.5-pro", 4, 1, 30, 5, attributes=request))
    assert (called(answered), doubts(answered)) == ([tool], [one for one in expected if one == "unobserved_results"])


@pytest.mark.parametrize(
    ("arguments", "words", "expected", "in_doubt"),
    [
        ({"order": "soon"}, 'validating /properties/order: type: soon has type "string", want "integer"', "(pay)", []),
        ({"order": True}, 'validating /properties/order: type: true has type "boolean", want "integer"', "(pay)", []),
        # what the tool returned may not fit, either
        ({}, 'required: missing properties: ["order"]', "pay", ["uncertain_execution"]),
        ({"order": 7}, 'validating /properties/order: type: 8 has type "integer"', "pay", ["uncertain_execution"]),
        ({"order": 7}, 'validating /properties/paid: type: 7 has type "integer"', "pay", ["uncertain_execution"]),
    ],
)
def test_in_go_a_value_that_does_not_fit_and_is_that_of_an_argument_is_the_arguments(
    arguments: dict[str, Any], words: str, expected: str, in_doubt: list[str]
) -> None:
    why = f"validating root: {words}"
    content = {f"{ADK}.tool_call_args": json.dumps(arguments), f"{ADK}.tool_response": json.dumps({"error": why})}
    failed = adk("execute_tool pay", 2, 1, attributes={**TOOL, **content}, status=2, message=why)
    run = run_of(adk("invoke_agent till", 1, lasting=100, attributes={"gen_ai.operation.name": "invoke_agent"}), failed)
    assert (called(run), doubts(run)) == ([expected], in_doubt)


@pytest.mark.parametrize(
    ("told", "more"),
    [
        ("This tool call requires confirmation, please approve or reject.", {}),
        (
            'error tool "pay" requires confirmation, please approve or reject',  # Go
            {"status": 2, "message": 'error tool "pay" requires confirmation, please approve or reject'},
        ),
    ],
)
def test_a_run_that_ends_with_a_call_that_waits_for_a_confirmation_goes_on_in_another_trace(
    told: str, more: dict[str, Any]
) -> None:
    content = {f"{ADK}.tool_call_args": '{"order": 7}', f"{ADK}.tool_response": json.dumps({"error": told})}
    request = {"gen_ai.operation.name": "generate_content"}
    spans = [
        adk("invoke_agent till", 1, lasting=100, attributes={"gen_ai.operation.name": "invoke_agent"}),
        adk("generate_content gemini-2.5-pro", 2, 1, 1, 5, attributes=request),
        adk("execute_tool pay", 3, 1, 10, attributes={**TOOL, **content}, **more),
    ]
    waits = run_of(*spans)
    assert (called(waits), doubts(waits)) == (["(pay)"], ["other_traces"])
    went_on = run_of(*spans, adk("generate_content gemini-2.5-pro", 4, 1, 30, 5, attributes=request))
    assert (called(went_on), doubts(went_on)) == (["(pay)"], [])


def test_in_java_a_run_that_asks_for_a_confirmation_asks_the_model_again() -> None:
    """Whatever that answers, what the human does begins another run (1.0)."""
    told = json.dumps({"error": "This tool call requires confirmation, please approve or reject."})
    content = {f"{ADK}.tool_call_args": '{"order": 7}', f"{ADK}.tool_response": told}
    asked = {"functionCall": {"id": "c1", "name": "pay", "args": {"order": 7}}}
    first, second = (
        adk("call_llm", number, 1, at, 15, resource=JAVA, attributes={
            "gen_ai.operation.name": "call_llm",
            f"{ADK}.llm_response": json.dumps({"content": {"role": "model", "parts": [part]}}),
        })
        for number, at, part in ((2, 1, asked), (4, 30, {"text": "Please confirm."}))
    )  # fmt: skip
    run = run_of(
        adk("invoke_agent till", 1, lasting=100, attributes={"gen_ai.operation.name": "invoke_agent"}, resource=JAVA),
        first,
        adk("execute_tool [pay]", 3, 2, 3, attributes={**TOOL, **content}, resource=JAVA),
        second,
    )
    assert (called(run), doubts(run)) == (["(pay)"], ["other_traces"])


@pytest.mark.parametrize(
    ("tool", "result", "expected"),
    [
        ("pay", {"result": "waiting for a manager"}, ["other_traces"]),
        ("pay", None, ["other_traces"]),  # of a long-running tool that returned nothing
        ("transfer_to_agent", {}, []),
    ],
)
@pytest.mark.parametrize("language", ["go", "python"])
def test_in_go_and_python_a_run_that_ends_with_a_call_may_go_on_in_another_trace(
    tool: str, result: dict[str, str] | None, expected: list[str], language: str
) -> None:
    """A tool that asks for a confirmation runs, answers what it likes, and ends the run (Go 2.2, Python 2.13)."""
    made_in = Resource({"telemetry.sdk.language": language})
    told = {} if result is None else {f"{ADK}.tool_response": json.dumps(result), "gen_ai.tool.call.id": "c1"}
    request = {"gen_ai.operation.name": "generate_content"}
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, f"{ADK}.tool_call_args": '{"order": 7}'}
    spans = [
        adk(
            "invoke_agent shop", 1, lasting=100, attributes={"gen_ai.operation.name": "invoke_agent"}, resource=made_in
        ),
        adk("generate_content m", 2, 1, 1, 5, attributes=request, resource=made_in),
        adk(f"execute_tool {tool}", 3, 1, 10, attributes={**call, **told}, resource=made_in),
    ]
    waits = run_of(*spans)
    assert (called(waits), doubts(waits)) == ([tool], expected)
    failed = run_of(
        replace(spans[0], status=2), *spans[1:]
    )  # it was beyond its limit of requests, or another tool raised
    assert (called(failed), doubts(failed)) == ([tool], [])
    went_on = run_of(*spans, adk("generate_content m", 4, 1, 30, 5, attributes=request, resource=made_in))
    assert (called(went_on), doubts(went_on)) == ([tool], [])


@pytest.mark.parametrize(("tool", "is_open"), [("pay", True), ("transfer_to_agent", False)])
def test_without_content_nothing_tells_that_a_callback_answered_for_a_tool_that_raised(
    tool: str, is_open: bool
) -> None:
    silent = adk(f"execute_tool {tool}", 2, 1, 10, attributes={**TOOL, "gen_ai.tool.name": tool})
    raised = adk("execute_tool ship", 3, 1, 30, attributes={**TOOL, "gen_ai.tool.name": "ship"}, status=2)
    asked = [
        adk("generate_content m", number, 1, at, 5, attributes={"gen_ai.operation.name": "generate_content"})
        for number, at in ((4, 1), (5, 22), (6, 50))
    ]
    run = run_of(
        adk("invoke_agent till", 1, lasting=90, attributes={"gen_ai.operation.name": "invoke_agent"}),
        silent,
        raised,
        *asked,
    )
    assert [call.status for call in run.trajectory.calls] == ["unset", "error"]
    assert doubts(run) == (["unobserved_results"] if is_open else [])


def test_the_span_of_a_turns_merged_results_is_not_a_call() -> None:
    merged = adk("execute_tool (merged)", 2, 1, attributes={**TOOL, "gen_ai.tool.name": "(merged tools)"})
    assert dialects.read_span(merged) is IGNORED


def test_a_run_of_1x_or_javascript() -> None:
    first_request = '{"contents": [{"role": "user", "parts": [{"text": "pay it"}]}], "config": {"tools": []}}'
    refusal = {"functionResponse": {"name": "get", "response": {"error": "Function get not found"}}}
    second_request = json.dumps({"contents": [{"role": "model", "parts": []}, {"role": "user", "parts": [refusal]}]})
    answer = '{"content": {"role": "model", "parts": [{"functionCall": {"name": "%s", "args": {"n": 1}}}]}}'
    run = run_of(
        adk("invocation", 1, lasting=200),
        adk("agent_run [travel]", 2, 1, lasting=190),
        adk(
            "call_llm",
            3,
            2,
            1,
            20,
            attributes={
                f"{ADK}.llm_request": first_request,
                f"{ADK}.llm_response": answer % "get",
                f"{ADK}.session_id": "s",
            },
        ),
        adk("execute_tool get", 4, 3, at=5, lasting=5),
        adk(
            "call_llm",
            5,
            2,
            30,
            20,
            attributes={f"{ADK}.llm_request": second_request, f"{ADK}.llm_response": answer % "pay"},
        ),
        adk("execute_tool pay", 6, 5, at=35, attributes={**TOOL, f"{ADK}.tool_call_args": '{"n": 1}'}),
    )
    assert (run.agent, run.user_input, run.conversation_id) == ("travel", "pay it", "s")
    assert called(run) == ["(get)", "pay"]
    assert [call.arguments for call in run.trajectory.calls] == [{"n": 1}, {"n": 1}]


@pytest.mark.parametrize(("language", "is_open"), [("nodejs", True), ("python", False)])
def test_a_call_without_a_span_may_have_been_answered_by_a_callback_in_javascript(language: str, is_open: bool) -> None:
    process = Resource({"telemetry.sdk.language": language})
    asked = {"role": "model", "parts": [{"functionCall": {"id": "call_3z", "name": "pay", "args": {"amount": 1}}}]}
    told = {"functionResponse": {"id": "call_3z", "name": "pay", "response": {"result": "blocked by policy"}}}
    first = {"content": asked, "finishReason": "STOP", "turnComplete": True}
    last = {"content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": "STOP", "turnComplete": True}
    hi = {"role": "user", "parts": [{"text": "hi"}]}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "travel"}

    def request(number: int, at: float, contents: list[Any], response: dict[str, Any]) -> Span:
        texts = {f"{ADK}.llm_request": json.dumps({"contents": contents}), f"{ADK}.llm_response": json.dumps(response)}
        return adk("call_llm", number, 2, at, attributes=texts, resource=process)

    run = run_of(
        adk("invocation", 1, lasting=100, resource=process),
        adk("invoke_agent travel", 2, 1, lasting=100, attributes=agent, resource=process),
        request(3, 1, [hi], first),
        request(4, 20, [hi, asked, {"role": "user", "parts": [told]}], last),
    )
    assert (called(run), "uncertain_execution" in doubts(run)) == (["pay"], is_open)


def test_what_follows_the_conventions_is_left_to_them() -> None:
    run = run_of(
        adk(
            "invoke_agent travel",
            1,
            attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "travel"},
        )
    )
    assert (run.agent, run.dialect) == ("travel", "otel_genai")


def test_the_id_of_a_call_in_java_and_the_one_that_says_that_there_is_none() -> None:
    java = {name: value for name, value in TOOL.items() if name != "gen_ai.tool.call.id"}
    assert read_tool(adk("execute_tool pay", 2, 1, attributes={**java, "gen_ai.tool_call.id": "c1"}))[1] == "c1"
    nothing = {"gen_ai.tool.call.id": "<not specified>"}
    assert read_tool(adk("execute_tool pay", 2, 1, attributes={**TOOL, **nothing}))[1] is None


def test_a_node_of_a_workflow_is_a_step() -> None:
    node = adk(
        "invoke_node review", 2, 1, attributes={"gen_ai.operation.name": "invoke_node", "gen_ai.node.name": "review"}
    )
    assert dialects.read_span(node) is IGNORED


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, ["uncertain_execution"]),
        ({f"{ADK}.tool_response": "{}"}, ["uncertain_execution"]),
        ({f"{ADK}.tool_response": '{"error": "card declined"}'}, []),
        ({"gen_ai.tool.call.arguments": '{"n": 1}', "gen_ai.tool.call.result": '{"error": "card declined"}'}, []),
    ],
)
def test_an_error_that_only_the_result_told_may_be_a_refusal(told: dict[str, str], expected: list[str]) -> None:
    # ADK 2.13 without content: a tool that answers with an error, and arguments that ADK refused, have the same type.
    failed = adk(
        "execute_tool pay",
        2,
        1,
        attributes={**TOOL, "error.type": "TOOL_ERROR", **told},
        status=2,
        message="TOOL_ERROR",
    )
    run = run_of(
        adk("invoke_agent helper", 1, attributes={"gen_ai.operation.name": "invoke_agent"}, lasting=50), failed
    )
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == (["pay"], "error", expected)


PAY = {
    "name": "pay",
    "parameters": {
        "properties": {"order": {"type": "INTEGER"}, "amount": {"type": "NUMBER"}},
        "required": ["order", "amount"],
        "type": "OBJECT",
    },
}
FAILED = {"status": "error", "message": "An internal error occurred."}


def requests(arguments: dict[str, Any], config: Any, name: str = "pay", **how: Any) -> list[Span]:
    """What ADK for Java sends of a call that failed: whatever went wrong, it says the same."""
    question = {"parts": [{"text": "Pay order 7."}], "role": "user"}
    call = {"parts": [{"functionCall": {"args": arguments, "name": name}}], "role": "model"}
    asked = {"parts": [{"functionCall": {"id": "adk-1", "args": arguments, "name": name}}], "role": "model"}
    told = {"parts": [{"functionResponse": {"id": "adk-1", "name": name, "response": FAILED}}], "role": "user"}
    said = {"parts": [{"text": "Done."}], "role": "model"}
    first = {"contents": [question], "model": "gemini-2.5-flash", "config": config}
    second = {**first, "contents": [question, asked, told]}
    return [
        adk("invoke_agent helper", 1, lasting=100, attributes={"gen_ai.operation.name": "invoke_agent"}),
        *(
            adk("call_llm", number, 1, at=at, attributes={
                "gen_ai.operation.name": "call_llm", f"{ADK}.llm_request": json.dumps(request, **how),
                f"{ADK}.llm_response": json.dumps({"content": answer}),
            })
            for number, at, request, answer in ((2, 0, first, call), (4, 50, second, said))
        ),
    ]  # fmt: skip


def failed_call(arguments: dict[str, Any]) -> Span:
    told = {f"{ADK}.tool_call_args": json.dumps(arguments), f"{ADK}.tool_response": json.dumps(FAILED)}
    return adk("execute_tool pay", 3, 2, at=20, attributes={**TOOL, **told})


@pytest.mark.parametrize("how", [{}, {"separators": (",", ":")}], ids=["Python", "Java"])
@pytest.mark.parametrize("key", ["functionDeclarations", "function_declarations"])
@pytest.mark.parametrize(
    ("arguments", "expected"), [({"order": 7, "amount": 10.5}, ["pay"]), ({"order": 7}, ["(pay)"])]
)
def test_the_tools_of_a_request_tell_whether_a_failed_call_was_refused(
    arguments: dict[str, Any], expected: list[str], key: str, how: dict[str, Any]
) -> None:
    run = run_of(*requests(arguments, {"tools": [{key: [PAY]}]}, **how), failed_call(arguments))
    assert (called(run), doubts(run)) == (expected, [])


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"tools": []},
        {"tools": [{"functionDeclarations": [PAY, {"name": "x", "description": "x" * MAX_DEFINITIONS}]}]},
    ],
    ids=["none", "empty", "too long"],
)
def test_without_the_tools_it_is_not_known(config: Any) -> None:
    arguments = {"order": 7}
    assert doubts(run_of(*requests(arguments, config), failed_call(arguments))) == ["uncertain_execution"]


def test_a_call_without_a_span_of_a_tool_that_was_not_offered_did_not_run() -> None:
    run = run_of(*requests({"order": 7}, {"tools": [{"functionDeclarations": [PAY]}]}, "settle"))
    assert called(run) == ["(settle)"]


def test_a_turn_whose_only_call_is_of_a_tool_that_was_not_offered_has_no_span_in_java() -> None:
    """It is left out and the model asked again, without a result."""
    invocation, first, second = requests({"to": "Mars"}, {"tools": [{"functionDeclarations": [PAY]}]}, "teleport")
    request = json.loads(second.attributes[f"{ADK}.llm_request"])
    request["contents"].pop()
    second.attributes[f"{ADK}.llm_request"] = json.dumps(request)
    run = run_of(invocation, first, second)
    assert (called(run), doubts(run)) == (["(teleport)"], [])


def test_a_call_of_an_offered_tool_that_no_span_shows_is_in_doubt() -> None:
    config = {"tools": [{"functionDeclarations": [PAY]}]}
    assert doubts(run_of(*requests({"order": 7, "amount": 1}, config))) == ["uncertain_execution"]


@pytest.mark.parametrize("asks_first", [False, True])
def test_without_content_a_run_that_begins_with_a_call_began_in_another_trace(asks_first: bool) -> None:
    run = run_of(
        adk("invocation", 9, lasting=100),
        adk("invoke_agent travel", 1, 9, lasting=100, attributes={"gen_ai.operation.name": "invoke_agent"}),
        *([model(4, 0)] if asks_first else []),
        adk("execute_tool pay", 2, 1, 12, 2, attributes={**TOOL, f"{ADK}.tool_call_args": "{}"}),
        model(3, 20),
    )
    assert (called(run), "other_traces" in doubts(run)) == (["pay"], not asks_first)


PLUGIN = "await invocation_context.plugin_manager.run_before_tool_callback("
ADK_FRAMES = {
    "callback": "\n    function_response = await _run_callbacks(\n                        ^^^^\n",
    "callback of 1.x": "\n      function_response = callback(\n",
    "plugin": f'\n    {PLUGIN}\n  File "p.py", line 2, in run_before_tool_callback\n',
    "later callback": "\n    altered_function_response = await _run_callbacks(\n",
    "tool": '\n    function_response = await tool_runner()\n  File "t.py", line 2, in pay\n',
}


@pytest.mark.parametrize(("raised", "runs"), [*zip(ADK_FRAMES, (False, False, False, True, True), strict=True)])
def test_the_stack_tells_whether_a_callback_ended_a_call_before_its_tool(raised: str, runs: bool) -> None:
    trace = f'Traceback:\n  File "c.py", line 516, in _run_with_trace{ADK_FRAMES[raised]}'
    events = [("exception", {"exception.type": "E", "exception.message": "off", "exception.stacktrace": trace})]
    call = adk("execute_tool pay", 3, 1, 20, attributes={**TOOL, f"{ADK}.tool_call_args": '{"n": 1}'}, events=events)
    call.status, call.status_message = 2, "off"
    asked = {"role": "model", "parts": [{"functionCall": {"id": "adk-1", "name": "pay", "args": {"n": 1}}}]}
    agent = adk("agent_run [shop]", 1, lasting=100, status=2, message="off")
    run = run_of(agent, model(2, 1, {"role": "user", "parts": [{"text": "Go"}]}, answer=asked), call)
    assert (called(run), doubts(run)) == (["pay" if runs else "(pay)"], [])


@pytest.mark.parametrize(
    ("kind", "expected"), [("FunctionTool", ["(pay)"]), ("AgentTool", ["pay", "uncertain_execution"])]
)
def test_in_java_what_a_callback_raised_inside_an_agent_ends_the_call_of_the_agent_too(
    kind: str, expected: list[str]
) -> None:
    """ADK for Java (1.6): both calls have the same stack trace."""
    frame = "com.google.adk.flows.llmflows.Functions.lambda$maybeInvokeBeforeToolCall$20(Functions.java:618)"
    raised = "java.lang.IllegalStateException"
    details = {
        "type": raised,
        "message": "off",
        "stacktrace": f"{raised}: off\n\tat x.App.main(App.java:76)\n\tat {frame}",
    }
    call = adk(
        "execute_tool pay", 2, 1, 20, resource=JAVA,
        attributes={**TOOL, f"{ADK}.tool_call_args": '{"n": 1}', f"{ADK}.tool_response": "{}", "gen_ai.tool.type": kind},
        events=[("exception", {f"exception.{key}": text for key, text in details.items()})], status=2, message="off",
    )  # fmt: skip
    run = run_of(adk("invoke_agent shop", 1, attributes={"gen_ai.operation.name": "invoke_agent"}, lasting=50), call)
    assert [*called(run), *doubts(run)] == expected


@pytest.mark.parametrize(
    ("resource", "asks", "expected"),
    [(JAVA, False, ["other_traces"]), (JAVA, True, []), (Resource({}), False, ["nothing_recorded"])],
)
def test_agents_that_run_in_parallel_have_traces_of_their_own_in_java(
    resource: Resource, expected: list[str], *, asks: bool
) -> None:
    """The span of a `ParallelAgent` (1.6) is alone in its trace."""
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "both", "gen_ai.conversation.id": "s1"}
    said = {f"{ADK}.llm_response": '{"content": {"role": "model", "parts": [{"text": "Done."}]}}'}
    run = run_of(
        adk("invocation", 1, lasting=100, resource=resource),
        adk("invoke_agent both", 2, 1, lasting=90, attributes=named, resource=resource),
        *([adk("call_llm", 3, 2, 5, attributes=said, resource=resource)] if asks else []),
    )
    assert (called(run), doubts(run)) == ([], expected)


def test_what_a_plugin_reflects_on_has_failed() -> None:
    reflected = '{"response_type": "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN", "error_details": "no money"}'
    attributes = {**TOOL, f"{ADK}.tool_call_args": '{"n": 1}', f"{ADK}.tool_response": reflected}
    assert read_tool(adk("execute_tool pay", 2, 1, attributes=attributes)) == ("pay", "adk-1", {"n": 1}, "error")


def test_with_content_a_run_that_begins_with_the_only_call_of_which_it_is_told_began_in_another_trace() -> None:
    """A human approved it: nothing else was called before."""
    recorded = {f"{ADK}.tool_call_args": '{"n": 1}', f"{ADK}.tool_response": '{"ok": 1}'}
    call = adk("execute_tool pay", 2, 1, 5, attributes={**TOOL, **recorded})
    told = [
        {"role": "user", "parts": [{"text": "Go"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "adk-1", "name": "pay", "args": {"n": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "adk-1", "name": "pay", "response": {"ok": 1}}}]},
    ]
    last = model(3, 20, *told, answer={"role": "model", "parts": [{"text": "Done."}]})
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
    agent = adk("invoke_agent shop", 1, lasting=100, attributes=named)
    run = run_of(agent, call, last)
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


def told(number: int, *parts: dict[str, Any], role: str = "user") -> Any:
    """One of the messages that a model is told: each is an event."""
    content = {"parts": [*parts], "role": role}
    return log("gen_ai.user.message", number, {"content": content}, scope=ADK)


ANSWERED = {"functionResponse": {"id": "c1", "name": "worker", "response": {"result": "found it"}}}
ASKED = {"functionCall": {"id": "c1", "name": "worker", "args": {"request": "find it"}}}


def run_with_events(*events: Any) -> Any:
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "boss"}
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay", f"{ADK}.tool_call_args": '{"x": 1}'}
    request = {"gen_ai.operation.name": "generate_content"}
    return run_of(
        adk("invoke_agent boss", 1, lasting=90, attributes=agent),
        adk("generate_content m", 2, 1, 1, 5, attributes=request),
        adk("execute_tool pay", 3, 1, 10, attributes={**call, f"{ADK}.tool_response": '{"out": "paid"}'}),
        adk("generate_content m", 4, 1, 30, 5, attributes=request),
        *events,
    )


@pytest.mark.parametrize(
    ("last", "expected", "asked"),
    [
        ([], ["other_traces"], "go"),
        ([{"text": "and now pay"}], [], "and now pay"),
        ([{"text": "For context:"}, {"text": "[w] said: it is there"}], [], "go"),
    ],
    ids=["a task that ended", "memory", "another agent"],
)
def test_in_events_what_is_told_last_tells_that_a_run_goes_on(
    last: list[dict[str, str]], expected: list[str], asked: str
) -> None:
    """So does an agent (Go 2.2) go on in a trace of its own when another has ended the task that it was given."""
    events = [told(2, {"text": "go"}), told(2, ASKED, role="model"), told(2, ANSWERED)]
    run = run_with_events(*events, *([told(2, *last)] if last else []))
    assert (called(run), doubts(run), run.user_input) == (["pay"], expected, asked)


def test_what_adk_says_in_the_users_place_is_none_of_the_users_words() -> None:
    instead = (
        "Continue processing previous requests as instructed. Exit or provide a summary if no more outputs are needed."
    )
    run = run_with_events(told(2, {"text": "go"}), told(2, {"text": instead}))
    assert (doubts(run), run.user_input) == ([], "go")


def test_what_events_leave_out_is_no_question() -> None:
    began_with_call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay", f"{ADK}.tool_response": "{}"}
    run = run_of(
        adk("invoke_agent boss", 1, lasting=90, attributes={"gen_ai.operation.name": "invoke_agent"}),
        adk("execute_tool pay", 3, 1, 1, attributes={**began_with_call, f"{ADK}.tool_call_args": '{"x": 1}'}),
        adk("generate_content m", 4, 1, 30, 5, attributes={"gen_ai.operation.name": "generate_content"}),
        log("gen_ai.user.message", 4, {"content": "<elided>"}, scope=ADK),
        log("gen_ai.choice", 4, {"content": "<elided>", "finish_reason": "STOP", "index": 0}, scope=ADK),
    )
    assert (called(run), doubts(run), run.user_input) == (["pay"], ["other_traces"], None)
