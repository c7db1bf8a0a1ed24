"""The GenAI conventions, current and deprecated, wherever they put messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED, Role
from collector.model.span import Span
from tests.builders import (
    agent_span,
    asked,
    called,
    doubts,
    log,
    model_span,
    read_tool,
    result,
    run_of,
    runs_of,
    span,
    tool_span,
    user,
)

CALL = {"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"order": 7}}
OUTPUT = [{"role": "assistant", "parts": [CALL]}]


def test_a_tool_span() -> None:
    assert read_tool(tool_span("pay", {"order": 7}, call_id="c1")) == ("pay", "c1", {"order": 7}, "unset")


def test_arguments_as_a_structured_value() -> None:
    assert read_tool(tool_span("pay", attributes={"gen_ai.tool.call.arguments": {"order": 7}}))[2] == {"order": 7}


@pytest.mark.parametrize(
    ("more", "status", "error_type"),
    [
        ({}, "unset", None),
        ({"status": 1}, "ok", None),
        ({"status": 2}, "error", None),
        ({"status": 2, "attributes": {"error.type": "Declined"}}, "error", "Declined"),
        ({"attributes": {"error.type": "tool_error"}}, "error", "tool_error"),
        ({"status": 2, "events": [("exception", {"exception.type": "shop.Declined"})]}, "error", "shop.Declined"),
        ({"events": [("exception", {"exception.type": "shop.Declined"})]}, "error", "shop.Declined"),
        ({"status": 1, "events": [("exception", {"exception.type": "shop.Slow"})]}, "ok", None),
        (
            {
                "attributes": {"gen_ai.tool.call.result": "paid"},
                "events": [("exception", {"exception.type": "x.Slow"})],
            },
            "unset",
            None,
        ),
    ],
)
def test_how_a_tool_fails(more: dict[str, Any], status: str, error_type: str | None) -> None:
    (call,) = run_of(agent_span(), tool_span("pay", **more)).trajectory.calls
    assert (call.status, call.error_type) == (status, error_type)


def test_a_tool_without_a_name_attribute_has_the_name_of_its_span() -> None:
    assert read_tool(span("execute_tool pay", 2, 1, attributes={"gen_ai.operation.name": "execute_tool"}))[0] == "pay"


@pytest.mark.parametrize("encode", [json.dumps, lambda value: value], ids=["json", "structured"])
def test_requests_in_attributes(encode: Any) -> None:
    model = model_span(attributes={"gen_ai.output.messages": encode(OUTPUT)})
    (call,) = run_of(agent_span(), model).trajectory.calls
    assert (call.id, call.name, call.arguments) == ("c1", "pay", {"order": 7})


def test_a_response_that_is_fetched_is_the_answer_of_a_model_however_often_it_is() -> None:
    fetched = {
        "gen_ai.operation.name": "fetch_response",
        "gen_ai.response.id": "r1",
        "gen_ai.output.messages": json.dumps(OUTPUT),
    }
    queued = model_span(number=2, attributes={"gen_ai.response.id": "r1", "gen_ai.response.status": "queued"})
    run = run_of(agent_span(), queued, *(span("fetch_response", number, 1, attributes=fetched) for number in (3, 4)))
    assert (called(run), "unconfirmed_reading" in doubts(run)) == (["pay"], False)


@pytest.mark.parametrize(
    "event",
    [
        (
            "gen_ai.choice",
            {"message": json.dumps([{"toolUse": {"toolUseId": "c1", "name": "pay", "input": {"order": 7}}}])},
        ),
        ("gen_ai.client.inference.operation.details", {"gen_ai.output.messages": json.dumps(OUTPUT)}),
    ],
    ids=["Strands", "details"],
)
def test_requests_in_span_events(event: Any) -> None:
    model = model_span(events=[("gen_ai.user.message", {"content": '[{"text": "pay it"}]'}), event])
    run = run_of(agent_span(), model)
    assert (called(run), run.user_input) == (["pay"], "pay it")


@pytest.mark.parametrize(
    "record",
    [
        log(
            "gen_ai.choice",
            3,
            {
                "index": 0,
                "message": {"tool_calls": [{"id": "c1", "function": {"name": "pay", "arguments": '{"order": 7}'}}]},
            },
        ),
        log(
            "",
            3,
            json.dumps(
                {"message": {"tool_calls": [{"id": "c1", "function": {"name": "pay", "arguments": '{"order": 7}'}}]}}
            ),
            {"event.name": "gen_ai.choice"},
        ),
        log("gen_ai.client.inference.operation.details", 3, None, {"gen_ai.output.messages": OUTPUT}),
        log("gen_ai.client.inference.operation.details", 3, None, {"gen_ai.output.messages": json.dumps(OUTPUT)}),
    ],
    ids=["choice", "Semantic Kernel", "details", "details as text"],
)
def test_requests_in_log_events(record: Any) -> None:
    (call,) = run_of(agent_span(), model_span(number=3), record).trajectory.calls
    assert (call.id, call.name, call.arguments) == ("c1", "pay", {"order": 7})


def test_results_and_questions_in_log_events() -> None:
    run = run_of(
        span("POST", 1, lasting=100),
        model_span([("c1", "pay", {})], 3, at=1, lasting=5),
        model_span(number=4, at=20),
        log("gen_ai.user.message", 3, {"content": "pay it"}),
        log("gen_ai.tool.message", 4, {"id": "c1", "content": "Error: declined"}),
    )
    assert (run.trajectory.calls[0].status, run.user_input) == ("error", "pay it")


STRANDS_STATUS = pytest.mark.parametrize("key", ["gen_ai.tool.status", "tool.status"], ids=["1.x", "0.x"])


@STRANDS_STATUS
def test_strands_records_arguments_in_an_event_and_failure_in_an_attribute(key: str) -> None:
    event = ("gen_ai.tool.message", {"role": "tool", "content": '{"order": 7}', "id": "c1"})
    assert read_tool(tool_span("pay", events=[event], status=1, attributes={key: "error"}))[2:] == (
        {"order": 7},
        "error",
    )


@STRANDS_STATUS
def test_strands_under_openinference_records_the_failure_in_the_same_attribute(key: str) -> None:
    attributes = {key: "error", "openinference.span.kind": "TOOL", "tool.name": "pay"}
    assert read_tool(tool_span("pay", status=1, attributes=attributes))[3] == "error"


@STRANDS_STATUS
def test_strands_records_an_unknown_tool_like_one_that_ran(key: str) -> None:
    event = ("gen_ai.choice", {"message": '[{"text":"Tool \'x\' not found in registry"}]'})
    assert called(run_of(agent_span(), tool_span("x", events=[event], status=1, attributes={key: "error"}))) == ["(x)"]


def test_strands_tells_in_an_event_that_arguments_did_not_fit() -> None:
    text = "Error: Validation failed for input parameters: 1 validation error for PayTool\n  Field required"
    event = ("gen_ai.choice", {"message": json.dumps([{"text": text}])})
    call = tool_span("pay", events=[event], status=1, attributes={"tool.status": "error"})
    assert called(run_of(agent_span(), call)) == ["(pay)"]


STRANDS_DETAILS = "gen_ai.client.inference.operation.details"


def strands_messages(key: str, part: dict[str, Any]) -> Any:
    return STRANDS_DETAILS, {key: json.dumps([{"role": "tool", "parts": [part]}])}


def test_strands_records_arguments_and_words_of_a_failure_in_two_events_of_one_name() -> None:
    part = {"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"order": 7}}
    asked = strands_messages("gen_ai.input.messages", part)
    told = strands_messages(
        "gen_ai.output.messages",
        {"type": "tool_call_response", "id": "c1", "response": [{"text": "Unknown tool: pay"}]},
    )
    call = tool_span("pay", events=[asked, told], status=1, attributes={"gen_ai.tool.status": "error"})
    assert read_tool(call)[2:] == ({"order": 7}, "error")
    assert called(run_of(agent_span(), call)) == ["(pay)"]


RAISED = ("exception", {"exception.type": "shop.Declined", "exception.message": "declined"})


@pytest.mark.parametrize(
    ("words", "raised", "calls", "expected"),
    [
        ("after office hours", [], ["pay"], ["uncertain_execution"]),
        ("tool cancelled by user", [], ["(pay)"], []),
        ("Error: ValueError - declined", [], ["pay"], []),
        ("declined", [RAISED], ["pay"], []),
    ],
    ids=["words of one's own", "no words", "raised", "raised in 1.62"],
)
def test_strands_tells_of_a_call_that_a_hook_cancelled_like_of_one_that_failed(
    words: str, raised: list[Any], calls: list[str], expected: list[str]
) -> None:
    told = {"type": "tool_call_response", "id": "c1", "response": [{"text": words}]}
    under_openinference = {"openinference.span.kind": "TOOL", "tool.name": "pay", "output.value": words}
    recorded: list[dict[str, Any]] = [
        {"events": [*raised, ("gen_ai.choice", {"message": json.dumps([{"text": words}])})], "status": 1},
        {"events": [*raised, strands_messages("gen_ai.output.messages", told)], "status": 1},
        {"events": raised, "status": 1, "attributes": under_openinference},
        {"events": raised, "status": 2, "message": words},  # 1.62, where nothing else is captured
    ]
    for more in recorded:
        attributes = {"gen_ai.tool.status": "error", **more.pop("attributes", {})}
        call = tool_span("pay", {"order": 7}, attributes=attributes, **more)
        run = run_of(agent_span(), call)
        assert (called(run), doubts(run)) == (calls, expected)


@pytest.mark.parametrize(
    ("words", "calls", "expected"),
    [("Tool cancelled by hook", ["(pay)"], []), ("not by our policy", ["pay"], ["uncertain_execution"])],
)
def test_strands_for_javascript_has_no_span_for_a_call_that_a_hook_cancelled(
    words: str, calls: list[str], expected: list[str]
) -> None:
    asked = json.dumps([{"type": "toolUse", "name": "pay", "toolUseId": "c1", "input": {"order": 7}}])
    used = json.dumps([{"toolUse": {"name": "pay", "toolUseId": "c1", "input": {"order": 7}}}])
    told = {"toolUseId": "c1", "status": "error", "content": [{"text": words}]}
    history = [("gen_ai.assistant.message", {"content": used})]
    history.append(("gen_ai.tool.message", {"content": json.dumps([{"toolResult": told}])}))
    answer = ("gen_ai.choice", {"finish_reason": "endTurn", "message": '[{"text":"ok"}]'})
    choice = ("gen_ai.choice", {"finish_reason": "toolUse", "message": asked})
    run = run_of(
        agent_span(scope="strands-agents"),
        model_span(number=2, at=5, events=[choice], scope="strands-agents", status=1),
        model_span(number=3, at=20, events=[*history, answer], scope="strands-agents", status=1),
    )
    assert (called(run), doubts(run)) == (calls, expected)


def test_what_a_hook_of_strands_answered_may_not_have_run() -> None:
    """Such a call has no span (1.62), and the messages of the newest conventions do not tell a failure from a success."""
    asked = {"type": "tool_call", "name": "pay", "id": "c1", "arguments": {"order": 7}}
    told = {"type": "tool_call_response", "id": "c1", "response": [{"text": "not today"}]}
    history = [{"role": "assistant", "parts": [asked]}, {"role": "user", "parts": [told]}]
    output = [{"role": "assistant", "parts": [asked], "finish_reason": "tool_use"}]
    for scope, expected in (("strands.telemetry.tracer", ["uncertain_execution", "unobserved_results"]), ("other", [])):
        chat = {"gen_ai.operation.name": "chat"}
        run = run_of(
            agent_span(scope=scope, lasting=100),
            span("chat", 2, 1, 5, 5, attributes={**chat, "gen_ai.output.messages": json.dumps(output)}, scope=scope),
            span("chat", 3, 1, 20, 5, attributes={**chat, "gen_ai.input.messages": json.dumps(history)}, scope=scope),
        )
        assert (called(run), doubts(run)) == (["pay"], expected)


def test_strands_records_no_status_of_a_call_that_waits_for_an_answer() -> None:
    call = tool_span("pay", {"order": 7}, 4, at=20, status=1, call_id="c1", scope="strands")
    run = run_of(agent_span(), model_span([("c1", "pay", {"order": 7})], 3, at=0), call)
    assert (called(run), doubts(run)) == (["(pay)"], ["other_traces", "uncertain_execution"])


@pytest.mark.parametrize(
    ("scope", "kind", "more", "expected"),
    [
        (
            "opentelemetry.instrumentation.genai.openai_agents",
            "function",
            {},
            (["(pay)"], ["other_traces", "uncertain_execution"]),
        ),
        (
            "opentelemetry.instrumentation.genai.openai_agents",
            "function",
            {"gen_ai.tool.call.result": ""},
            (["pay"], []),
        ),
        ("gen_ai", "extension", {}, (["(pay)"], ["other_traces", "uncertain_execution"])),
        ("gen_ai", "extension", {"gen_ai.tool.call.result": "paid"}, (["pay"], [])),
        ("gen_ai", "function", {}, (["pay"], ["unobserved_results"])),
    ],
)
def test_a_call_of_which_the_result_would_be_recorded_and_is_not_waits_for_an_approval(
    scope: str, kind: str, more: dict[str, str], expected: Any
) -> None:
    attributes = {"gen_ai.tool.type": kind, **more}
    call = tool_span("pay", {"order": 7}, 4, at=20, call_id="c1", scope=scope, attributes=attributes)
    run = run_of(agent_span(), model_span([("c1", "pay", {"order": 7})], 3, at=0), call)
    assert (called(run), doubts(run)) == expected


def test_the_span_of_a_call_of_openai_agents_that_waits_may_end_well() -> None:
    """opentelemetry-instrumentation-openai-agents-v2 0.1."""
    scope = "opentelemetry.instrumentation.openai_agents"
    made = {"gen_ai.tool.call.result": "18"}
    run = run_of(
        agent_span(),
        model_span([("c1", "get", {}), ("c2", "pay", {"order": 7})], 3, at=0),
        tool_span("get", {}, 4, at=20, status=1, attributes=made, scope=scope),
        tool_span("pay", {"order": 7}, 5, at=21, status=1, scope=scope),
    )
    assert (called(run), doubts(run)) == (["get", "(pay)"], ["other_traces", "uncertain_execution"])


LLAMA_INDEX = "opentelemetry.instrumentation.genai.llama_index"


SEMANTIC_KERNEL = "semantic_kernel.functions.kernel_function"


@pytest.mark.parametrize(
    "scope", ["gen_ai", "agent_framework", "opentelemetry.instrumentation.ag2", LLAMA_INDEX, SEMANTIC_KERNEL]
)
@pytest.mark.parametrize(("more", "expected"), [({}, ["unobserved_results"]), ({"gen_ai.tool.call.result": ""}, [])])
def test_nothing_tells_what_came_of_a_call_that_was_cancelled(
    scope: str, more: dict[str, str], expected: list[str]
) -> None:
    cancelled = tool_span("pay", {"order": 7}, 4, at=20, call_id="c1", scope=scope, attributes=more)
    run = run_of(agent_span(scope=scope), model_span([("c1", "pay", {"order": 7})], 3, at=0, scope=scope), cancelled)
    assert (called(run), doubts(run)) == (["pay"], expected)


def test_a_filter_of_semantic_kernel_may_have_raised_in_place_of_a_function() -> None:
    """1.45: it is inside the span of the call, and what raised is in the stack trace."""
    around = (
        'Traceback (most recent call last):\n  File "/k.py", line 278, in invoke\n    await stack(function_context)\n'
    )
    inner = '  File "/f.py", line 103, in _invoke_internal\n    result = self.method(**function_arguments)\n'
    calls = [
        tool_span(
            "pay", {"order": number}, number, at=number * 10, scope=SEMANTIC_KERNEL, status=2, message="ValueError: no",
            events=[("exception", {"exception.type": "ValueError", "exception.stacktrace": f"{trace}ValueError: no\n"})],
        )
        for number, trace in ((2, around), (3, around + inner))
    ]  # fmt: skip
    run = run_of(agent_span(scope=SEMANTIC_KERNEL), *calls)
    assert [(doubt.name, doubt.calls) for doubt in run.trajectory.doubts] == [("uncertain_execution", (0,))]


def test_a_filter_of_semantic_kernel_may_have_answered_in_place_of_a_function() -> None:
    answers = ["booked", "Blocked by policy"]
    calls = [
        tool_span(
            "pay", {"order": number}, number, at=number * 10, scope=SEMANTIC_KERNEL,
            attributes={"gen_ai.tool.call.result": answer},
        )
        for number, answer in enumerate(answers, 2)
    ]  # fmt: skip
    run = run_of(agent_span(scope=SEMANTIC_KERNEL), *calls)
    assert [(doubt.name, doubt.calls) for doubt in run.trajectory.doubts] == [("uncertain_execution", (1,))]


def test_an_agent_of_vercels_sdk_7_without_a_name_is_not_named_after_its_model() -> None:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "gpt-4o"}
    (run,) = runs_of(span("invoke_agent gpt-4o", 1, attributes=attributes))
    assert run.agent is None
    (run,) = runs_of(span("invoke_agent gpt-4o", 1, attributes={"gen_ai.operation.name": "invoke_agent"}))
    assert run.agent == "gpt-4o"


def test_each_call_of_vercels_sdk_7_that_ran_leaves_a_span() -> None:
    """What the application's client is to do, and what waits for an approval, leaves none."""
    reason = {"gen_ai.response.finish_reasons": ["tool-calls"]}
    asked = model_span([("c1", "ask_user", {"q": "Which?"})], 2, scope="gen_ai", attributes=reason)
    run = run_of(agent_span(scope="gen_ai"), asked)
    assert (called(run), doubts(run)) == (["(ask_user)"], ["other_traces"])


APPROVAL_ASKED: dict[str, Any] = {"type": "tool-approval-request"}
APPROVAL_GIVEN: dict[str, Any] = {"role": "tool", "parts": [{"type": "tool-approval-response"}]}


@pytest.mark.parametrize(
    ("decided", "has_span", "expected"),
    [
        ([APPROVAL_GIVEN], False, (["(pay)"], [])),
        ([], False, (["pay"], ["uncertain_execution"])),  # a tool may answer so
        ([APPROVAL_GIVEN], True, (["pay"], [])),
    ],
)
def test_vercels_sdk_7_tells_by_its_result_that_a_call_was_denied_where_somebody_was_asked(
    decided: list[dict[str, Any]], has_span: bool, expected: tuple[list[str], list[str]]
) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"sum": 7}}
    asked = {"role": "assistant", "parts": [call, *([APPROVAL_ASKED] if decided else [])]}
    told = [user("Pay."), asked, *decided, result("c1", {"denied": True, "reason": "too much"})]
    spans = [tool_span("pay", {"sum": 7}, 4, at=20, call_id="c1", scope="gen_ai", attributes={
        "gen_ai.tool.call.result": json.dumps({"denied": True, "reason": "too much"}),
    })]  # fmt: skip
    run = run_of(
        agent_span(scope="gen_ai"),
        model_span([("c1", "pay", {"sum": 7})], 2, scope="gen_ai"),
        *spans[: int(has_span)],
        model_span((), 3, at=40, scope="gen_ai", input_messages=told, attributes={
            "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Done."}]}]',
        }),
    )  # fmt: skip
    assert (called(run), doubts(run)) == expected


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("Tool 'pay' has reached its usage limit of 1 times and cannot be used anymore.", "(pay)"),
        ("I tried reusing the same input, I must stop using this action input. I'll try something else.", "(pay)"),
        ("Tool 'till' has reached its usage limit of 1 times and cannot be used anymore.", "pay"),
        ("paid", "pay"),
    ],
)
def test_crewai_tells_that_it_did_not_let_a_call_run_in_place_of_a_result(told: str, expected: str) -> None:
    """loongsuite-instrumentation-crewai 0.9.0 with CrewAI 1.15: the span of such a call ends well."""
    attributes = {"gen_ai.crewai.component": "tool", "gen_ai.tool.call.result": told}
    scope = "opentelemetry.util.genai.handler"
    call = tool_span("pay", {"order": 7}, 2, at=5, call_id="pay", scope=scope, attributes=attributes, status=1)
    run = run_of(agent_span(scope=scope), call)
    assert (called(run), doubts(run)) == ([expected], [])


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"gen_ai.evaluation.sampled": True}, ["unobserved_results"]),
        ({"gen_ai.evaluation.sampled": True, "gen_ai.tool.call.result": "paid"}, []),
        ({}, []),
    ],
)
def test_splunk_does_not_tell_whether_a_call_of_llamaindex_failed(more: dict[str, Any], expected: list[str]) -> None:
    """splunk-otel-instrumentation-llamaindex 0.1.2: the span of any call ends alike."""
    scope = "opentelemetry.util.genai.handler"
    call = tool_span("pay", {"order": 7}, 2, at=5, call_id="c1", scope=scope, attributes=more)
    run = run_of(agent_span(scope=scope), call)
    assert (called(run), doubts(run)) == (["pay"], expected)


@pytest.mark.parametrize("has_models", [False, True])
@pytest.mark.parametrize(
    ("first_id", "first", "expected"),
    [
        ("c1", {}, ["uncertain_execution", "unobserved_results"]),
        ("c1", {"gen_ai.tool.call.result": "deleted"}, []),
        ("c0", {}, ["unobserved_results"]),
    ],
)
def test_a_tool_of_llamaindex_that_waits_for_a_human_has_two_spans_of_one_id(
    first_id: str, first: dict[str, str], expected: list[str], has_models: bool
) -> None:
    """opentelemetry-instrumentation-genai-llama-index 1.3b0: the span of a wait ends like any other, without a result."""
    told = {"gen_ai.tool.call.result": "deleted"}
    waits = tool_span("delete", {"order": "1"}, 2, at=5, call_id=first_id, scope=LLAMA_INDEX, attributes=first)
    runs = tool_span("delete", {"order": "1"}, 3, at=40, call_id="c1", scope=LLAMA_INDEX, attributes=told)
    asked = model_span([("c1", "delete", {"order": "1"})], 4, at=0, scope="opentelemetry.instrumentation.genai.openai")
    run = run_of(agent_span(scope=LLAMA_INDEX), waits, runs, *([asked] if has_models else []))
    assert (called(run), doubts(run)) == (["delete", "delete"], expected)


def test_a_tool_of_langgraph_that_was_interrupted_waits_for_a_human() -> None:
    """opentelemetry-instrumentation-genai-langchain 1.3b0: the span fails, and the tool runs anew with the answer."""
    scope = "opentelemetry.instrumentation.genai.langchain"
    asked = model_span([("c1", "get", {"city": "Oslo"}), ("c2", "pay", {"order": 7})], 3, at=0, scope=scope)
    got = tool_span("get", {"city": "Oslo"}, 4, at=20, call_id="c1", scope=scope)
    waits = tool_span(
        "pay", {"order": 7}, 5, at=21, call_id="c2", scope=scope, status=2, message="(Interrupt(value={'order': 7}),)",
        attributes={"error.type": "langgraph.errors.GraphInterrupt"},
    )  # fmt: skip
    run = run_of(agent_span(scope=scope), asked, got, waits)
    assert (called(run), doubts(run)) == (["get", "(pay)"], ["other_traces", "uncertain_execution"])


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"attributes": {"error.type": "tool_error"}}, ["uncertain_execution"]),
        ({"attributes": {"error.type": "tool_error"}, "scope": "mcp"}, ["uncertain_execution"]),
        ({"attributes": {"error.type": "tool_error"}, "message": "declined"}, []),
        ({"attributes": {"error.type": "CardDeclined"}}, []),
    ],
)
def test_a_failure_of_which_nothing_is_told_may_be_a_refusal(more: dict[str, Any], expected: list[str]) -> None:
    """Anthropic's SDK for JavaScript gives what it refuses the type of what fails."""
    assert doubts(run_of(agent_span(), tool_span("pay", {"order": 7}, status=2, **more))) == expected


SEARCH = asked(("srvtoolu_01abd", "web_search", {"query": "x"}))


@pytest.mark.parametrize(
    ("reason", "output", "expected"),
    [
        ("pause_turn", {}, ["unrecorded_calls"]),
        ("pause_turn", {"gen_ai.output.messages": json.dumps([SEARCH])}, ["unobserved_results"]),
        ("end_turn", {}, []),
    ],
)
def test_an_answer_that_paused_among_calls_of_the_provider_made_some(
    reason: str, output: dict[str, str], expected: list[str]
) -> None:
    """Anthropic's SDK for JavaScript (1.14), which records no content by default."""
    scope = "com.anthropic.sdk.typescript"
    paused = model_span(
        (), 2, at=1, lasting=5, scope=scope, attributes={"anthropic.message.stop_reason": reason, **output}
    )
    ended = model_span((), 3, at=20, lasting=5, scope=scope, attributes={"anthropic.message.stop_reason": "end_turn"})
    assert doubts(run_of(agent_span(scope=scope), paused, ended)) == expected


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"error.message": "no stock"}, "error"),
        ({"tool.error": "no stock"}, "error"),
        ({"tool.success": False}, "error"),
        ({"tool.is_error": True}, "error"),
        ({"error": False, "error.message": "", "success": True}, "unset"),
    ],
)
def test_a_failure_may_be_told_beside_a_call_with_neither_status_nor_type(more: dict[str, Any], status: str) -> None:
    run = run_of(agent_span(), tool_span("pay", attributes=more))
    assert [call.status for call in run.trajectory.calls] == [status]


def test_the_words_of_a_failure_may_be_those_of_a_refusal() -> None:
    call = dialects.read_span(tool_span("pay", attributes={"error.message": "Unknown tool: pay"}))
    assert call is not None
    assert call.refusal is not None


@pytest.mark.parametrize("status", [0, 1])
def test_the_whole_answer_of_an_mcp_server_tells_that_its_tool_failed(status: int) -> None:
    """Vercel's AI SDK 7 with its client for MCP."""
    words = ("seat 12A is taken", "Input validation error: 'seat' is a required property")
    calls = [
        tool_span("book", {"seat": "12A"}, number, at=20 * number, status=status, attributes={
            "gen_ai.tool.call.result": json.dumps({"content": [{"type": "text", "text": text}], "isError": number < 4})
        })
        for number, text in enumerate((*words, "booked"), 2)
    ]  # fmt: skip
    first, second, third = run_of(agent_span(), *calls).trajectory.calls
    assert [first.status, second.status, third.status] == ["error", "error", ["unset", "ok"][status]]
    assert [first.executed, second.executed, third.executed] == [True, False, True]


def test_google_adk_tells_in_the_result_that_arguments_did_not_fit() -> None:
    result = {"error": "Invoking `pay()` failed as the following mandatory input parameters are not present:\ncents"}
    call = tool_span("pay", status=2, attributes={"gen_ai.tool.call.result": json.dumps(result)})
    assert called(run_of(agent_span(), call)) == ["(pay)"]


@pytest.mark.parametrize(
    ("names", "ids", "arguments", "expected"),
    [
        ("pay", "c1", '{"eur": 9}', [("pay", {"eur": 9})]),
        (
            "pay, pay, ask",
            "c1, c2, c3",
            '{"eur": 9}, {"eur": 1}, {}',
            [("pay", {"eur": 9}), ("pay", {"eur": 1}), ("ask", {})],
        ),
        ("pay, ask", "c1", '{"eur": 9}', []),
        ("pay", "c1", '{"eur": ', []),
    ],
)
def test_openlit_joins_the_calls_of_an_answer_in_the_attributes_of_a_tools_span(
    names: str, ids: str, arguments: str, expected: list[Any]
) -> None:
    attributes = {"gen_ai.tool.name": names, "gen_ai.tool.call.id": ids, "gen_ai.tool.call.arguments": arguments}
    asked = model_span(attributes={**attributes, "gen_ai.response.finish_reasons": ["tool_calls"]})
    ran = [tool_span(name, number=7 + at, at=20 + at, lasting=1) for at, (name, _) in enumerate(expected)]
    run = run_of(agent_span(lasting=50), asked, *ran)
    assert [(call.name, call.arguments) for call in run.trajectory.calls] == expected
    assert doubts(run) == ([] if expected else ["unrecorded_calls"])


def test_tool_definitions_on_a_chat_span_are_not_calls() -> None:
    chat = model_span(attributes={"gen_ai.tool.name": "pay, mail", "gen_ai.tool.definitions": "[]"})
    assert called(run_of(agent_span(), chat)) == []


def test_an_operation_in_capitals_is_that_operation() -> None:
    """As Microsoft Agent 365 writes it."""
    read = dialects.read_span(span("Chat gpt", 3, 1, attributes={"gen_ai.operation.name": "Chat"}))
    assert read is not None
    assert (read.role, read.dialect) == (Role.MODEL, "otel_genai")


def test_an_agents_output_is_history() -> None:
    assert called(run_of(agent_span(attributes={"gen_ai.output.messages": json.dumps(OUTPUT)}), model_span())) == []


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("embeddings", IGNORED),
        ("retrieval", IGNORED),
        ("create_agent", IGNORED),
        ("search_memory", IGNORED),
        ("plan", IGNORED),
        ("handoff", IGNORED),
        ("agent_step", None),
        ("something_new", None),
    ],
)
def test_other_operations_of_the_conventions_are_ignored_and_unknown_ones_unread(operation: str, expected: Any) -> None:
    assert dialects.read_span(span("x", 2, 1, attributes={"gen_ai.operation.name": operation})) is expected


def test_a_workflow_is_context() -> None:
    genai_span = dialects.read_span(
        span(
            "invoke_workflow",
            1,
            attributes={"gen_ai.operation.name": "invoke_workflow", "gen_ai.input.messages": [user("hi")]},
        )
    )
    assert genai_span is not None
    assert (genai_span.role, genai_span.annotatable) == (Role.OTHER, False)


def test_agents_and_tools_are_annotatable() -> None:
    held = [dialects.read_span(made) for made in (agent_span(), tool_span("a"), model_span())]
    assert [genai_span is not None and genai_span.annotatable for genai_span in held] == [True, True, False]


def test_other_log_records_are_none() -> None:
    assert dialects.read_log(log("", 3, "Function pay invoking.")) is None
    assert dialects.read_log(log("gen_ai.choice", 0, {})) is None
    assert dialects.read_log(log("gen_ai.evaluation.result", 3, {})) is None


def test_a_tool_span_that_names_its_tool_in_the_words_of_openinference() -> None:
    opencode = {"gen_ai.operation.name": "execute_tool", "tool.name": "pay"}
    assert read_tool(span("execute_tool", 2, 1, attributes=opencode))[0] == "pay"


def test_a_tool_span_without_a_name_is_no_call_of_a_tool_of_that_name() -> None:
    run = run_of(agent_span(), span("execute_tool", 2, 1, attributes={"gen_ai.operation.name": "execute_tool"}))
    assert called(run) == []
    assert "unrecorded_calls" in [doubt.name for doubt in run.trajectory.doubts]


def test_arguments_one_by_one() -> None:
    each = {"order": ("int", 7), "note": ("str", "[1]"), "tags": ("list", '["a"]')}
    attributes: dict[str, Any] = {f"code.function.parameters.{name}.type": kind for name, (kind, _) in each.items()}
    attributes |= {f"code.function.parameters.{name}.value": value for name, (_, value) in each.items()}
    assert read_tool(tool_span("pay", attributes=attributes))[2] == {"order": 7, "note": "[1]", "tags": ["a"]}


def test_a_span_for_merged_results_is_no_call() -> None:
    assert dialects.read_span(tool_span("(merged tools)")) is IGNORED


@pytest.mark.parametrize(
    ("key", "value", "arguments"),
    [
        ("gen_ai.tool.args", '{"order": 7}', {"order": 7}),
        ("gen_ai.tool.input", {"order": 7}, {"order": 7}),
        ("gen_ai.tool.call.parameters", '{"order": 7}', {"order": 7}),
        ("gen_ai.tool.parameters", '{"type": "object", "properties": {"order": {"type": "integer"}}}', None),
    ],
)
def test_arguments_under_a_name_that_is_nearly_the_conventions(key: str, value: Any, arguments: Any) -> None:
    assert read_tool(tool_span("pay", attributes={key: value}))[2] == arguments
    both = {key: value, "gen_ai.tool.call.arguments": '{"order": 8}'}
    assert read_tool(tool_span("pay", attributes=both))[2] == {"order": 8}


def test_a_span_without_an_operation_is_what_its_name_begins_with() -> None:
    """The calls of an agent inside another would else be the other's."""
    runs = runs_of(
        span("invoke_agent", 1, lasting=100, attributes={"gen_ai.conversation.id": "c"}),
        span("execute_tool ask", 2, 1, 10, 60, attributes={"gen_ai.tool.name": "ask"}),
        span("invoke_agent clerk", 3, 2, 20, 40, attributes={"gen_ai.agent.name": "clerk"}),
        span("execute_tool pay", 4, 3, 30, attributes={"gen_ai.tool.name": "pay"}),
    )
    assert [(run.agent, run.dialect, called(run)) for run in runs] == [
        (None, "otel_genai", ["ask"]),
        ("clerk", "otel_genai", ["pay"]),
    ]


def test_such_a_name_alone_tells_nothing_of_a_request() -> None:
    assert dialects.read_span(span("chat", 2, 1, attributes={"gen_ai.system": "openai"})) is None


EXCHANGE: list[tuple[str, dict[str, Any]]] = [
    ("gen_ai.user.message", {"content": "hi"}),
    ("gen_ai.assistant.message", {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "pay"}}]}),
    ("gen_ai.tool.message", {"content": "Error: no funds", "id": "c1"}),
    ("gen_ai.choice", {"message": {"tool_calls": [{"id": "c2", "type": "function", "function": {"name": "beg"}}]}}),
]


@pytest.mark.parametrize("encode", [
    lambda body: {key: value if type(value) is str else json.dumps(value) for key, value in body.items()},
    lambda body: {"gen_ai.event.content": json.dumps(body)},
])  # fmt: skip
def test_events_of_a_request_tell_of_the_calls_before_it(encode: Any) -> None:
    first = span("chat", 2, 1, 1, attributes={"gen_ai.operation.name": "chat"})
    events = [(name, encode(body)) for name, body in EXCHANGE]
    chat = span("chat", 3, 1, 20, attributes={"gen_ai.operation.name": "chat"}, events=events)
    run = run_of(agent_span(), first, chat)
    assert [(call.name, call.id, call.status) for call in run.trajectory.calls] == [
        ("pay", "c1", "error"),
        ("beg", "c2", "unset"),
    ]


def test_a_request_alone_that_tells_of_calls_is_in_doubt() -> None:
    """Each request may be a trace of its own; if not, a rule that forbids one of the calls must not pass."""
    events = [*EXCHANGE[:3], ("gen_ai.choice", {"message": '{"content": "done"}'})]
    run = run_of(span("chat", 1, attributes={"gen_ai.operation.name": "chat"}, events=events))
    assert (called(run), doubts(run)) == ([], ["other_traces"])


def test_an_event_may_hold_the_call_as_the_model_requested_it() -> None:
    request = [{"toolUse": {"toolUseId": "c1", "name": "pay", "input": {"order": 7}}}]
    events = [("gen_ai.tool.message", {"content": json.dumps(request)})]
    assert read_tool(tool_span("pay", events=events))[2] == {"order": 7}


def test_events_of_the_first_conventions_hold_what_a_model_was_told_and_answered() -> None:
    def request(number: int, at: float, told: list[Any], answer: dict[str, Any]) -> Span:
        events = [
            ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(told)}),
            ("gen_ai.content.completion", {"gen_ai.completion": json.dumps([{"role": "assistant", **answer}])}),
        ]
        chat = {"gen_ai.operation.name": "chat"}
        return span("openai.chat.completions.create", number, 1, at, attributes=chat, events=events)

    question = {"role": "user", "content": "Pay order 7."}
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"order": 7}'}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "Error: no funds"}
    run = run_of(
        span("shop", 1, lasting=100),
        request(2, 5, [question], {"content": [call]}),
        request(3, 30, [question, result], {"content": "Declined."}),
    )
    calls = [(call.name, call.arguments, call.status, call.known_by) for call in run.trajectory.calls]
    assert (calls, run.user_input) == ([("pay", {"order": 7}, "error", "result")], "Pay order 7.")


def test_sentry_has_each_call_of_a_stream_of_googles_models_twice() -> None:
    calls = [
        {"name": "weather", "args": {"city": "Oslo"}},
        {"name": "weather", "args": {"city": "Rome"}},
        {"type": "function", "name": "weather", "arguments": {"city": "Oslo"}},
        {"type": "function", "name": "weather", "arguments": {"city": "Rome"}},
    ]
    told = [
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "weather", "args": {"city": city}}} for city in ("Oslo", "Rome")],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "weather", "response": {"output": 4}}} for _ in range(2)],
        },
    ]
    common = {"gen_ai.operation.name": "generate_content", "gen_ai.system": "google_genai"}
    asked = {**common, "gen_ai.response.tool_calls": json.dumps(calls), "gen_ai.response.finish_reasons": '["STOP"]'}
    answered = {**common, "gen_ai.response.text": "4", "gen_ai.input.messages": json.dumps(told)}
    run = run_of(
        span("POST /chat", 1, lasting=100),
        span("generate_content gemini", 2, 1, 0, 10, attributes=asked, scope="@sentry/node"),
        span("generate_content gemini", 3, 1, 20, 10, attributes=answered, scope="@sentry/node"),
    )
    assert (called(run), doubts(run)) == (["weather", "weather"], [])


def test_what_a_model_generates_in_a_realtime_session_is_an_answer() -> None:
    live = {"gen_ai.operation.name": "realtime_inference"}
    call = ("c1", "pay", {"order": 7})
    run = run_of(
        agent_span(lasting=100),
        model_span([call], 2, at=10, attributes=live, input_messages=[user("Pay!")]),
        model_span((), 3, at=30, attributes=live, input_messages=[user("Pay!"), asked(call), result("c1", "paid")]),
    )
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == (["pay"], "ok", [])


def test_sentry_has_the_calls_of_an_answer_in_an_attribute_of_their_own() -> None:
    def request(number: int, at: float, calls: list[Any], messages: list[Any]) -> Span:
        asked = {"gen_ai.response.tool_calls": json.dumps(calls)} if calls else {"gen_ai.response.text": '["Done."]'}
        return model_span((), number, at=at, attributes=asked, input_messages=messages)

    refused = {"role": "tool", "content": "Error: Received tool input did not match expected schema"}
    question = {"role": "user", "content": "Pay!"}
    plain = {"name": "pay", "args": {"n": "one"}, "type": "tool_call", "id": "c1"}
    nested = {"id": "c2", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}
    run = run_of(
        agent_span(lasting=100),
        request(2, 0, [plain], [question]),
        tool_span("pay", {"n": "one"}, 3, at=15, lasting=2, call_id="c1", status=2),
        request(4, 20, [nested], [question, {"role": "assistant", "content": ""}, refused]),
        tool_span("pay", None, 5, at=35, lasting=2),
        request(6, 40, [], [question]),
    )
    assert (called(run), run.trajectory.calls[1].id, doubts(run)) == (["(pay)", "pay"], "c2", [])


CALL = {"id": "c1", "name": "pay", "arguments": {"n": 1}}


@pytest.mark.parametrize("calls", [json.dumps([CALL]), [json.dumps(CALL)]])
def test_the_calls_of_an_answer_may_be_a_list_in_an_attribute(calls: Any) -> None:
    run = run_of(agent_span(lasting=100), model_span((), 2, attributes={"gen_ai.tool_calls": calls}))
    assert [(call.id, call.name, call.arguments) for call in run.trajectory.calls] == [("c1", "pay", {"n": 1})]


@pytest.mark.parametrize("key", ["gen_ai.response.tool_calls", "gen_ai.tool_calls"])
@pytest.mark.parametrize("calls", ['[{"id": "c1", "na', '[{"tool.name": "pay"}]', ['{"tool.name": "pay"}'], "pay"])
def test_calls_that_cannot_be_read_are_not_none(key: str, calls: Any) -> None:
    """Read as none, they would be a run without calls, for sure."""
    run = run_of(agent_span(lasting=100), model_span((), 2, attributes={key: calls}))
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls"])


def test_a_handoff_with_the_operation_of_a_call_is_none() -> None:
    handoff = span("handoff to billing", 2, 1, attributes={"gen_ai.operation.name": "execute_tool"})
    assert dialects.read_span(handoff) is IGNORED


@pytest.mark.parametrize(
    ("scope", "expected"), [("github.copilot", (["(pay)"], [])), ("acme", (["pay"], ["uncertain_execution"]))]
)
def test_an_error_of_the_type_of_a_denial_may_mean_that_the_tool_did_not_run(scope: str, expected: Any) -> None:
    denied = tool_span("pay", {}, status=2, attributes={"error.type": "denied"}, scope=scope)
    run = run_of(agent_span(), denied)
    assert (called(run), doubts(run)) == expected


@pytest.mark.parametrize(
    ("arguments", "status", "expected"), [("", 2, ["uncertain_execution"]), ("{}", 2, []), ("", 1, [])]
)
def test_a_failed_call_with_a_result_and_without_arguments_may_never_have_begun(
    arguments: str, status: int, expected: list[str]
) -> None:
    # OpenLIT for OpenAI Agents in JavaScript, which parses the arguments inside the span.
    recorded = {"gen_ai.tool.call.arguments": arguments, "gen_ai.tool.call.result": "An error occurred."}
    assert doubts(run_of(agent_span(), tool_span("pay", status=status, attributes=recorded))) == expected


@pytest.mark.parametrize("inputs", [{"inputs": {"city": "Oslo"}}, {}])
def test_arguments_in_the_record_of_a_callback(inputs: dict[str, Any]) -> None:
    # Netra writes OpenLLMetry's records of LangChain's callbacks under attributes of its own.
    record = {"input_str": "{'city': 'Oslo'}", "tags": [], **inputs, "kwargs": {"tool_call_id": "c1"}}
    assert read_tool(tool_span("get", record))[:3] == ("get", "c1", {"city": "Oslo"})


def test_the_words_of_a_refusal_may_be_in_place_of_the_type_of_an_error() -> None:
    # OpenLIT where it may not record content: Agno
    words = "1 validation error for pay\nprice\n  Missing required argument [type=missing_argument]"
    failed = tool_span("pay", status=2, message="Tool execution failed", attributes={"error.type": words})
    assert [call.executed for call in run_of(agent_span(), failed).trajectory.calls] == [False]


@pytest.mark.parametrize(
    ("scope", "arguments", "expected"),
    [
        ("livekit-agents", None, ["uncertain_execution"]),
        ("livekit-agents", {"n": 1}, []),
    ],
)
def test_a_failed_call_of_livekit_without_content_may_never_have_begun(
    scope: str, arguments: dict[str, Any] | None, expected: list[str]
) -> None:
    failed = tool_span("pay", arguments, scope=scope, attributes={"error.type": "tool_error"})
    assert doubts(run_of(agent_span(), failed)) == expected


def test_the_name_of_a_tool_that_was_not_found_is_in_the_spans_name() -> None:
    # tRPC-Agent-Go
    missing = span("execute_tool pay", 2, 1, status=2, message="executeToolCall: Error: tool not found: pay", attributes={
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "<not found>",
    })  # fmt: skip
    assert called(run_of(agent_span(), missing)) == ["(pay)"]


def test_the_definitions_of_a_request_under_another_name() -> None:
    # tRPC-Agent-Go
    pay = {"name": "pay", "inputSchema": {"type": "object", "properties": {"order": {"type": "integer"}}}}
    asking = model_span(
        [("c1", "pay", {"order": "soon"})], 3, attributes={"gen_ai.request.tool.definitions": json.dumps([pay])}
    )
    why = "Error: callable tool execution failed: json: cannot unmarshal string into Go struct field Pay.order of type int"
    failed = tool_span("pay", {"order": "soon"}, call_id="c1", number=4, parent=1, at=20, status=2, message=why)
    assert called(run_of(agent_span(), asking, failed)) == ["(pay)"]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("CardDeclinedError: try again\nTraceback:\n", ("error", True)),
        ("ValidationError: 'n' is a required property\n\nFailed validating 'required' in schema:\n", ("error", False)),
        ("ValueError: Parameters must be formatted as a valid JSON!\nTraceback:\n", ("error", False)),
    ],
)
def test_what_qwen_agent_says_in_place_of_a_result(told: str, expected: tuple[str, bool]) -> None:
    """Its spans (loongsuite) have no status, whatever happened."""
    words = f"An error occurred when calling tool `pay`:\n{told}"
    parameters = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    offered = json.dumps([{"type": "function", "name": "pay", "parameters": parameters}])
    given = {} if "ValidationError" in told else {"n": 1}
    run = run_of(
        agent_span(),
        model_span([(None, "pay", given)], 2, at=1, attributes={"gen_ai.tool.definitions": offered}),
        tool_span("pay", given, 3, at=20, attributes={"gen_ai.tool.call.result": words}),
        tool_span(
            "ask", {}, 4, at=30, attributes={"gen_ai.tool.call.result": "An error occurred when calling the shop"}
        ),
    )
    first, second = run.trajectory.calls
    assert (first.status, first.executed) == expected
    assert second.status == "unset"
    assert doubts(run) == []


@pytest.mark.parametrize(
    ("told", "status"),
    [("Tool 'pay' timed out after 30ms.", "error"), ("Tool 'pay' timed out after 30ms. So says the log.", "ok")],
)
def test_openai_agents_for_javascript_tells_a_timeout_like_a_result(told: str, status: str) -> None:
    scope = "@openlit/instrumentation-openai-agents"
    pay = tool_span("pay", {}, attributes={"gen_ai.tool.call.result": told}, status=1, scope=scope)
    (call,) = run_of(agent_span(), pay).trajectory.calls
    assert (call.status, call.executed) == (status, True)


@pytest.mark.parametrize(
    ("returned", "status"), [('{"error": "taken"}', "error"), ('{"seat": "12A", "error": null}', "unset")]
)
def test_what_google_documents_as_a_failure_is_one(returned: str, status: str) -> None:
    attributes = {"code.function.return.type": "dict", "code.function.return.value": returned}
    assert read_tool(tool_span("book", attributes=attributes))[3] == status
    # With the conventions of 1.37 and later. Of another tracer's tool such a result may be what it had to tell.
    current = {"gen_ai.tool.call.result": returned}
    assert (
        read_tool(tool_span("book", attributes=current, scope="opentelemetry.instrumentation.google_genai"))[3]
        == status
    )
    assert read_tool(tool_span("book", attributes=current))[3] == "unset"


@pytest.mark.parametrize(
    ("offered", "told", "expected"),
    [
        ([{"name": "pay"}], [], ["unrecorded_calls"]),
        ([{"name": "pay"}], [*OUTPUT, result("c1", "paid")], []),  # it asks once for each turn
        ([{"function_declarations": [{"name": "pay"}]}], [], []),  # the application calls what it declares
        ([{"code_execution": {}}], [], []),
    ],
)
def test_openllmetry_hides_what_googles_client_called_itself(
    offered: list[Any], told: list[dict[str, Any]], expected: list[str]
) -> None:
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "done"}], "finish_reason": "stop"}]
    asked = span(
        "generate_content m", 2, 1, at=20, scope="opentelemetry.instrumentation.google_generativeai", status=1,
        attributes={
            "gen_ai.operation.name": "generate_content",
            "gen_ai.input.messages": json.dumps([user("Pay."), *told]),
            "gen_ai.tool.definitions": json.dumps(offered),
            "gen_ai.output.messages": json.dumps(answer),
            "gen_ai.response.finish_reasons": ["stop"],
        },
    )  # fmt: skip
    before = [model_span([("c1", "pay", {"order": 7})], 3, at=1, lasting=5, scope=asked.scope.name)] if told else []
    assert doubts(run_of(agent_span(), *before, asked)) == expected


@pytest.mark.parametrize(
    ("offered", "goes_on", "expected"),
    [
        ([{"name": "pay"}], False, ["unrecorded_calls", "uncertain_execution", "unobserved_results"]),
        ([{"name": "pay"}], True, []),  # the application calls it, and tells the result
        ([{"function_declarations": [{"name": "pay"}]}], False, ["unobserved_results"]),
    ],
)
def test_a_call_that_googles_client_left_when_it_had_reached_its_limit_may_not_be_all(
    offered: list[Any], goes_on: bool, expected: list[str]
) -> None:
    """google-genai 3.6 with ``maximum_remote_calls``, under OpenLLMetry 0.62: the one span holds the last answer alone."""
    scope = "opentelemetry.instrumentation.google_generativeai"
    told = {"gen_ai.tool.definitions": json.dumps(offered), "gen_ai.response.finish_reasons": ["stop"]}
    asked = model_span(
        [("", "pay", {"order": 7})], 2, at=1, input_messages=[user("Pay.")], attributes=told, scope=scope
    )
    history = [user("Pay."), *OUTPUT, result("c1", "paid")]
    later = [model_span((), 3, at=20, input_messages=history, attributes=told, scope=scope)] if goes_on else []
    root = span("POST /chat", 1, lasting=100, attributes={"http.route": "/chat"})
    assert doubts(run_of(root, asked, *later)) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("outcome=<Outcome.OUTCOME_OK: 'OUTCOME_OK'> output='1' id=None", ["unrecorded_calls"]),
        (
            "text=None tool_call=ToolCall(\n  id='t1',\n  tool_type=<ToolType.URL_CONTEXT: 'URL_CONTEXT'>\n)",
            ["unrecorded_calls"],
        ),
        ("The outcome=<Outcome.OUTCOME_OK: 'OUTCOME_OK'>", []),
    ],
)
def test_openllmetry_has_what_googles_provider_ran_in_words(words: str, expected: list[str]) -> None:
    parts = [{"type": "text", "content": words}, {"type": "text", "content": "done"}]
    told = {
        "gen_ai.tool.definitions": json.dumps([{"code_execution": {}}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts, "finish_reason": "stop"}]),
        "gen_ai.response.finish_reasons": ["stop"],
    }
    scope = "opentelemetry.instrumentation.google_generativeai"
    assert doubts(run_of(agent_span(), model_span((), 2, attributes=told, scope=scope))) == expected


@pytest.mark.parametrize(
    ("scope", "expected"),
    [("opentelemetry.instrumentation.google_genai", ["nothing_recorded"]), ("test", [])],
)
def test_why_gemini_ended_its_answer_does_not_tell_whether_it_asked_for_functions(
    scope: str, expected: list[str]
) -> None:
    """A chat of google-genai without content (2.34 under 1.3b0): its functions leave no spans either."""
    reason = {"gen_ai.response.finish_reasons": ["stop"]}
    asked = span(
        "generate_content m", 2, 1, scope=scope, attributes={"gen_ai.operation.name": "generate_content", **reason}
    )
    assert doubts(run_of(agent_span(), asked)) == expected


PAY_OFFERED = {"name": "pay", "description": "Pay.", "input_schema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        ([PAY_OFFERED, {"name": "web_search"}], ["unrecorded_calls"]),
        ([{"name": None}], ["unrecorded_calls"]),  # a server of MCP
        ([PAY_OFFERED, {"name": "bash"}], []),  # the application runs it
        ([PAY_OFFERED], []),
    ],
)
def test_openllmetry_leaves_out_what_anthropics_provider_ran(offered: list[Any], expected: list[str]) -> None:
    told = [user("Pay."), *OUTPUT, result("c1", "paid")]
    scope = "opentelemetry.instrumentation.anthropic"
    attributes = {"gen_ai.tool.definitions": json.dumps(offered), "gen_ai.response.finish_reasons": ["stop"]}
    before = model_span([("c1", "pay", {"order": 7})], 3, at=1, lasting=5, scope=scope)
    asked = model_span((), 2, at=20, input_messages=told, attributes=attributes, scope=scope)
    run = run_of(agent_span(), before, tool_span("pay", {"order": 7}, 4, at=10, call_id="c1", status=1), asked)
    assert (called(run), doubts(run)) == (["pay"], expected)


@pytest.mark.parametrize(("reasons", "expected"), [(["stop"] * 3, [0, 1]), (["stop"], [0, 0])])
def test_a_stream_of_automatic_calling_joins_answers_that_followed_one_another(
    reasons: list[str], expected: list[int]
) -> None:
    scope = "opentelemetry.instrumentation.google_genai"
    parts = [
        {"type": "tool_call", "id": "get_0", "name": "get", "arguments": {"order": 7}},
        {"type": "tool_call", "id": "pay_1", "name": "pay", "arguments": {"amount": 4}},
        {"type": "text", "content": "done"},
    ]
    told = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts, "finish_reason": "stop"}])}
    run = run_of(
        agent_span(),
        model_span((), 2, lasting=90, scope=scope, attributes={"gen_ai.response.finish_reasons": reasons, **told}),
        tool_span("get", {"order": 7}, 3, 2, at=20, lasting=5, scope=scope),
        tool_span("pay", {"amount": 4}, 4, 2, at=60, lasting=5, scope=scope),
    )
    assert ([call.step for call in run.trajectory.calls], called(run), doubts(run)) == (expected, ["get", "pay"], [])


def test_what_automatic_calling_left_is_none_of_the_calls_inside() -> None:
    """With `maximum_remote_calls` google-genai (3.6) returns the last answer as it is: nobody may have called the function."""
    scope = "opentelemetry.instrumentation.google_genai"
    part = {"type": "tool_call", "id": "get_0", "name": "get", "arguments": {"order": 8}}
    told = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [part], "finish_reason": "stop"}])}
    run = run_of(
        model_span((), 1, 0, lasting=90, scope=scope, attributes={"gen_ai.response.finish_reasons": ["stop"], **told}),
        tool_span("get", {"order": 7}, 2, 1, at=20, lasting=5, scope=scope),
    )
    assert [call.arguments for call in run.trajectory.calls] == [{"order": 7}, {"order": 8}]
    assert (called(run), doubts(run)) == (["get", "(get)"], ["uncertain_execution", "unobserved_results"])


@pytest.mark.parametrize(("role", "expected"), [("provider", []), ("application", ["other_traces"])])
def test_a_trace_of_one_request_whose_tools_the_provider_ran_may_be_all_there_is(
    role: str, expected: list[str]
) -> None:
    call = {"type": "server_tool_call", "id": "t1", "name": "search", "server_tool_call": {"query": "x"}}
    answer = {"type": "server_tool_call_response", "id": "t1", "server_tool_call_response": {"type": "search", "r": 1}}
    parts: list[Any] = [call, answer, {"type": "text", "content": "found"}]
    if role == "application":
        parts.append({"type": "tool_call", "id": "c1", "name": "pay", "arguments": {}})
    told = {
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts, "finish_reason": "stop"}]),
        "gen_ai.response.finish_reasons": ["stop"],
    }
    run = run_of(model_span((), 1, 0, lasting=90, scope="opentelemetry.instrumentation.google_genai", attributes=told))
    assert [doubt for doubt in doubts(run) if doubt == "other_traces"] == expected


def streamed(*calls: str, number: int, at: float, told: Sequence[Any] = ()) -> Span:
    """A streamed request of Anthropic's client under OpenLLMetry for JavaScript: of its calls the arguments are lost."""
    parts = [{"type": "tool_call", "id": call, "name": "pay", "arguments": {}} for call in calls]
    text = json.dumps([{"role": "assistant", "finish_reason": "", "parts": parts}], separators=(",", ":"))
    return model_span(
        number=number, at=at, input_messages=told, scope="@traceloop/instrumentation-anthropic",
        attributes={"gen_ai.output.messages": text},
    )  # fmt: skip


def test_what_openllmetry_loses_of_a_stream_is_in_the_next_request() -> None:
    told = [*OUTPUT, {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "response": "paid"}]}]
    run = run_of(agent_span(), streamed("c1", number=2, at=1), streamed("c2", number=3, at=20, told=told))
    assert [call.arguments for call in run.trajectory.calls] == [{"order": 7}, None]  # of the last nothing tells


@pytest.mark.parametrize(
    ("scope", "response", "status"),
    [
        ("@traceloop/instrumentation-anthropic", "no reply within 2 s", "unset"),
        ("opentelemetry.instrumentation.anthropic", "no reply within 2 s", "unset"),
        ("opentelemetry.instrumentation.anthropic", "Error: no reply", "error"),
        ("opentelemetry.instrumentation.genai.anthropic", "no reply within 2 s", "unset"),
        ("opentelemetry.instrumentation.openai", "no reply within 2 s", "ok"),
    ],
)
def test_the_conventions_leave_out_which_results_of_anthropic_are_failures(
    scope: str, response: str, status: str
) -> None:
    told = [*OUTPUT, result("c1", response)]
    asking = model_span([("c1", "pay", {"order": 7})], 2, at=1, scope=scope)
    run = run_of(agent_span(), asking, model_span(number=3, at=20, input_messages=told, scope=scope))
    assert [call.status for call in run.trajectory.calls] == [status]
    assert doubts(run) == (["unobserved_results"] if status == "unset" else [])


def test_nodes_of_a_graph_are_steps_of_the_agent_around_them() -> None:
    """langchain-azure-ai 1.2 with `enable_auto_tracing`: nodes that ask and nodes that run tools, also of an agent inside."""

    def node(name: str, number: int, parent: int, at: float, lasting: float = 8) -> Span:
        attributes = {"metadata.langgraph_node": name}
        return agent_span(name, number, parent, at=at, lasting=lasting, attributes=attributes)

    spans = [
        agent_span("planner", 1),
        node("model", 2, 1, 1),
        model_span([("c1", "pay", {})], 3, 2, at=2, lasting=5),
        node("tools", 4, 1, 10),
        tool_span("pay", {}, 5, 4, call_id="c1", at=11, lasting=5),
        node("retrieve", 6, 1, 20),
        node("model", 7, 1, 30),
        model_span((), 8, 7, at=31, lasting=5),
    ]
    assert [(run.agent, called(run), doubts(run)) for run in runs_of(*spans)] == [("planner", ["pay"], [])]
    clerk = [
        node("clerk", 9, 1, 40, 50),
        node("clerk", 10, 9, 41, 48),
        node("model", 11, 10, 42),
        model_span([("c2", "file", {})], 12, 11, at=43, lasting=5),
        node("tools", 13, 10, 51),
        tool_span("file", {}, 14, 13, call_id="c2", at=52, lasting=5),
        node("model", 15, 10, 60),
        model_span((), 16, 15, at=61, lasting=5),
    ]
    assert [(run.agent, called(run)) for run in runs_of(*spans, *clerk)] == [("planner", ["pay"]), ("clerk", ["file"])]


def test_nodes_that_only_run_tools_are_agents_where_nothing_around_them_asks_a_model() -> None:
    nodes = [
        agent_span(name, number, 1, at=at, lasting=8, attributes={"metadata.langgraph_node": name})
        for name, number, at in (("booking", 2, 1), ("billing", 4, 20))
    ]
    tools = [tool_span("book", {}, 3, 2, at=2, lasting=5), tool_span("bill", {}, 5, 4, at=21, lasting=5)]
    assert [run.agent for run in runs_of(agent_span("shop", 1), *nodes, *tools)] == ["booking", "billing"]


@pytest.mark.parametrize(
    ("told", "status", "expected"),
    [
        ('{"type": "text", "text": "Error executing tool pay: declined"}', "error", []),
        ("Remove the card's number before calling this tool.", "ok", ["uncertain_execution"]),
        ("paid", "ok", []),
    ],
)
@pytest.mark.parametrize("instrumentation", ["openai_agents", "genai.openai_agents"])
def test_openai_agents_ends_the_span_well_whatever_a_server_or_a_guardrail_answers(
    told: str, status: str, expected: list[str], instrumentation: str
) -> None:
    scope = f"opentelemetry.instrumentation.{instrumentation}"
    pay = tool_span("pay", {"n": 1}, status=1, scope=scope, attributes={"gen_ai.tool.call.result": told})
    run = run_of(agent_span(), pay)
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == (["pay"], status, expected)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({}, (["get", "(pay)"], ["other_traces", "uncertain_execution"])),
        ({"gen_ai.tool.call.result": "paid"}, (["get", "pay"], [])),
    ],
)
def test_a_call_of_openai_agents_without_a_result_waits_where_no_request_is_recorded(
    result: dict[str, str], expected: tuple[list[str], list[str]]
) -> None:
    """opentelemetry-instrumentation-genai-openai-agents 1.3b0 without that of the client."""
    scope = "opentelemetry.instrumentation.genai.openai_agents"
    run = run_of(
        agent_span(number=1, lasting=90, scope=scope),
        tool_span("get", {"city": "Rome"}, 2, 1, at=5, scope=scope, attributes={"gen_ai.tool.call.result": "sunny"}),
        tool_span("pay", {"amount": 5}, 3, 1, at=20, scope=scope, attributes=result),
    )
    assert (called(run), doubts(run)) == expected


@pytest.mark.parametrize(
    ("scope", "client"),
    [
        ("opentelemetry.instrumentation.genai.openai_agents", "opentelemetry.instrumentation.genai.openai"),
        ("opentelemetry.instrumentation.openai_agents", "opentelemetry.instrumentation.openai_agents"),
    ],
)
def test_without_content_a_run_of_openai_agents_that_ends_with_calls_may_wait(scope: str, client: str) -> None:
    """OpenAI Agents 0.24 under OpenTelemetry's instrumentation (1.3b0) and OpenLLMetry's (0.62): no call has a result. Where a
    human was asked, the model is not; nor is it where another agent goes on, to which the run handed over.
    """
    tool = {"traceloop.span.kind": "tool"} if scope == client else {}
    asked = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["tool_calls"]}
    begins = agent_span("shop", 1, lasting=30, scope=scope)
    request = span("chat gpt-4o", 2, 1, 1, 5, attributes=asked, scope=client)
    call = tool_span("drop", None, 3, 1, at=10, scope=scope, attributes=tool)
    answer = span(
        "chat gpt-4o", 4, 1, 25, 2, attributes={**asked, "gen_ai.response.finish_reasons": ["stop"]}, scope=client
    )
    waits = run_of(begins, request, call)
    assert (called(waits), doubts(waits)) == (["(drop)"], ["other_traces", "uncertain_execution"])
    went_on = run_of(begins, request, call, answer)
    assert (called(went_on), doubts(went_on)) == (["drop"], [])
    resumed = run_of(begins, call, answer)
    assert (called(resumed), doubts(resumed)) == (["drop"], ["other_traces"])
    second = {**asked, "gen_ai.response.finish_reasons": ["stop"]}
    handed_over, _ = runs_of(
        span("invoke_workflow w", 9, lasting=100, attributes={"gen_ai.operation.name": "invoke_workflow"}, scope=scope),
        agent_span("shop", 1, 9, lasting=30, scope=scope),
        request,
        call,
        agent_span("desk", 5, 9, at=40, lasting=30, scope=scope),
        span("chat gpt-4o", 6, 5, 45, 2, attributes=second, scope=client),
    )
    assert (called(handed_over), doubts(handed_over)) == (["drop"], [])


LISTED = {"name": "mcp_list_tools", "id": "mcpl_1", "type": "server_tool_call", "server_tool_call": {"tools": []}}
FOUND: Any = {"arguments": '{"q":1}', "output": "ok", "status": "completed", "type": "mcp"}
NOT_FOUND: Any = {"arguments": '{"q":1}', "error": "boom", "status": "failed", "type": "mcp"}
ANSWERED = {"content": "done", "type": "text"}


@pytest.mark.parametrize(
    ("parts", "offered", "expected"),
    [
        ([LISTED, FOUND, ANSWERED], "mcp", ([("look_up", "ok")], [])),
        ([LISTED, NOT_FOUND, ANSWERED], "mcp", ([("look_up", "error")], [])),
        ([LISTED], "mcp", ([], ["unrecorded_calls"])),  # and an approval is asked for
        ([ANSWERED], "shell", ([], ["unrecorded_calls"])),  # a command may have run
    ],
)
def test_what_openai_ran_tells_what_came_of_it(parts: list[Any], offered: str, expected: Any) -> None:
    """The Responses API (opentelemetry-instrumentation-genai-openai 1.3b0)."""
    call = {"name": "look_up", "id": "mcp_1", "type": "server_tool_call"}
    written = [part if "name" in part or part is ANSWERED else call | {"server_tool_call": part} for part in parts]
    messages = [{"role": "assistant", "parts": [part], "finish_reason": "stop"} for part in written]
    told = {
        "gen_ai.output.messages": json.dumps(messages, separators=(",", ":")),
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.tool.definitions": f'[{{"name":"{offered}","type":"{offered}"}}]',
    }
    scope = "opentelemetry.instrumentation.genai.openai"
    run = run_of(span("POST /chat", 1), model_span((), 2, 1, lasting=5, scope=scope, attributes=told))
    assert ([(one.name, one.status) for one in run.trajectory.calls], doubts(run)) == expected


@pytest.mark.parametrize(("said", "is_open"), [({}, True), ({"content": ""}, True), ({"content": "Hi."}, False)])
def test_an_answer_without_a_text_asked_for_calls_that_langtrace_leaves_out(
    said: dict[str, str], *, is_open: bool
) -> None:
    """Langtrace for TypeScript (6.3), of Anthropic's client and of streams: no reason for which an answer ended either."""
    answer = json.dumps([{"role": "assistant", **said}])
    events = [
        ("gen_ai.content.prompt", {"gen_ai.prompt": '[{"role":"user","content":"go"}]'}),
        ("gen_ai.content.completion", {"gen_ai.completion": answer}),
    ]
    attributes = {"gen_ai.operation.name": "chat"}
    scope = "@langtrase/typescript-sdk"
    run = run_of(span("anthropic.messages.create", 1, attributes=attributes, events=events, scope=scope, status=1))
    assert ("unrecorded_calls" in doubts(run)) is is_open


@pytest.mark.parametrize(
    ("parent", "output", "expected"),
    [
        (0, None, ["other_traces"]),
        (1, None, []),
        (0, '[{"role":"assistant","parts":[{"type":"text","content":"Done."}]}]', []),
    ],
)
def test_a_request_of_langchains_for_javascript_without_content_is_a_part_of_a_run_unless_a_span_is_around_it(
    parent: int, output: str | None, expected: list[str]
) -> None:
    """OpenLLMetry 0.27: of an agent's last request nothing else tells that it had called tools."""
    attributes: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["stop"]}
    attributes |= {"gen_ai.output.messages": output} if output else {}
    scope = "@traceloop/instrumentation-langchain"
    request = span("chat gpt", 2, parent, 1, 5, attributes=attributes, scope=scope)
    assert doubts(run_of(*([span("POST /chat", 1)] if parent else []), request)) == expected


@pytest.mark.parametrize(("response", "is_open"), [("resp_18", True), ("chatcmpl-18", False)])
def test_the_reason_for_which_an_answer_of_the_responses_api_ended_does_not_tell_whether_it_asks_for_calls(
    response: str, *, is_open: bool
) -> None:
    """OpenLLMetry for JavaScript (0.27) without content: it is `stop` of each answer."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.id": response,
        "gen_ai.response.finish_reasons": ["stop"],
    }
    scope = "@traceloop/instrumentation-openai"
    requests = [span("chat gpt", at, 1, 10 * at, 5, attributes=attributes, scope=scope) for at in (2, 3)]
    run = run_of(span("POST /chat", 1, lasting=90), *requests)
    assert (called(run), bool(doubts(run))) == ([], is_open)
