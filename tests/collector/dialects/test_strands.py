"""Strands Agents for Python (strands-agents 1.62) and JavaScript (@strands-agents/sdk 1.19), which follow the GenAI conventions
but for what came of a call.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from collector.model.span import Scope, Span
from tests.builders import agent_span, called, doubts, model_span, run_of, runs_of, tool_span

STRANDS = "strands.telemetry.tracer"
APPROVAL = "[{'id': 'v1:before_tool_call:c2:0ddc9110', 'name': 'appr', 'reason': 'sure?', 'response': None}]"


def told_by_strands(role: str, part: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return f"gen_ai.{role}.message", {"content": json.dumps([part])}


def strands_model(number: int, parent: int, at: float, *events: tuple[str, dict[str, Any]], answer: Any) -> Span:
    answered = ("gen_ai.choice", {"message": json.dumps(answer)})
    return model_span((), number, parent, at=at, scope=STRANDS, events=[*events, answered])


@pytest.mark.parametrize(
    "event",
    [
        ("gen_ai.choice", {"message": APPROVAL, "finish_reason": "interrupt"}),
        (
            "gen_ai.client.inference.operation.details",
            {
                "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": '
                + json.dumps(APPROVAL)
                + '}], "finish_reason": "interrupt"}]'
            },
        ),
    ],
    ids=["choice", "details"],
)
def test_an_agent_of_strands_that_waits_for_a_human_goes_on_in_another_trace(event: Any) -> None:
    asked = [{"toolUse": {"toolUseId": "c2", "name": "pay", "input": {"x": 2}}}]
    run = run_of(
        agent_span(
            scope=STRANDS, lasting=100, events=[("gen_ai.user.message", {"content": '[{"text": "go"}]'}), event]
        ),
        strands_model(3, 1, 5, told_by_strands("user", {"text": "go"}), answer=asked),
    )
    assert (called(run), doubts(run)) == (["(pay)"], ["other_traces"])


@pytest.mark.parametrize("runs", [True, False])
def test_an_agent_of_strands_that_goes_on_when_a_human_has_answered(runs: bool) -> None:
    before = [
        told_by_strands("user", {"text": "go"}),
        told_by_strands("assistant", {"toolUse": {"toolUseId": "c1", "name": "get", "input": {"city": "Oslo"}}}),
        told_by_strands("tool", {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "18"}]}}),
        told_by_strands("assistant", {"toolUse": {"toolUseId": "c2", "name": "pay", "input": {"x": 2}}}),
    ]
    words = ("success", "paid") if runs else ("error", "user said no")
    told = {"toolResult": {"toolUseId": "c2", "status": words[0], "content": [{"text": words[1]}]}}
    paid = tool_span(
        "pay", {"x": 2}, 2, 1, call_id="c2", at=1, scope=STRANDS, attributes={"gen_ai.tool.status": "success"}
    )
    run = run_of(
        agent_span(
            scope=STRANDS, lasting=100, events=[("gen_ai.choice", {"message": "done", "finish_reason": "end_turn"})]
        ),
        *([paid] if runs else []),
        strands_model(3, 1, 20, *before, told_by_strands("tool", told), answer=[{"text": "done"}]),
    )
    assert (called(run), doubts(run)) == (["pay"] if runs else [], ["other_traces"])


def call_and_result(number: int) -> list[tuple[str, dict[str, Any]]]:
    asked = {"toolUse": {"toolUseId": f"c{number}", "name": "get", "input": {"n": 1}}}
    told = {"toolResult": {"toolUseId": f"c{number}", "status": "success", "content": [{"text": "18"}]}}
    return [told_by_strands("assistant", asked), told_by_strands("tool", told)]


@pytest.mark.parametrize(
    ("question", "goes_on"),
    [
        (("gen_ai.user.message", {"content": '[{"text": "go"}]'}), False),
        (("gen_ai.client.inference.operation.details", {"gen_ai.input.messages": "[]"}), True),
    ],
    ids=["asked", "answered"],
)
def test_an_agent_of_strands_that_was_asked_something_answers_no_human(question: Any, goes_on: bool) -> None:
    user = told_by_strands("user", {"text": "go"})
    told = [user, *call_and_result(1), *call_and_result(2)]
    asked = [{"toolUse": {"toolUseId": "c1", "name": "get", "input": {"n": 1}}}]
    run = run_of(
        agent_span(scope=STRANDS, lasting=100, events=[question, ("gen_ai.choice", {"message": "done"})]),
        *([] if goes_on else [strands_model(3, 1, 5, user, answer=asked)]),
        tool_span("get", {"n": 1}, 2, 1, call_id="c1", at=20, scope=STRANDS),
        # The request that asked for it was lost.
        tool_span("get", {"n": 1}, 4, 1, call_id="c2", at=40, scope=STRANDS),
        strands_model(5, 1, 60, *told, answer=[{"text": "done"}]),
    )
    assert ("other_traces" in doubts(run)) == goes_on


def in_javascript(built: Span, scope: str) -> Span:
    """The span as Strands for JavaScript writes it: its scope has the name of the service, if that has one."""
    attributes = {**built.attributes, "gen_ai.system": scope, "gen_ai.event.start_time": "2026-11-29T00:36:54.418Z"}
    return replace(built, scope=Scope(scope, ""), attributes=attributes)


def agent_in_javascript(scope: str, *events: tuple[str, dict[str, Any]], **more: Any) -> Span:
    return in_javascript(agent_span("travel", lasting=100, events=events, **more), scope)


def model_in_javascript(scope: str, at: float, *events: tuple[str, dict[str, Any]], answer: Any) -> Span:
    return in_javascript(strands_model(int(3 + at), 1, at, *events, answer=answer), scope)


ASKED = {"type": "toolUse", "name": "pay", "toolUseId": "call_cas1", "input": {"amount": 1}}
SAID = {"toolUse": {"name": "pay", "toolUseId": "call_cas1", "input": {"amount": 1}}}
ENDED = ("gen_ai.choice", {"message": "x", "finish_reason": "endTurn"})
HI = told_by_strands("user", {"text": "hi"})
SCOPES = pytest.mark.parametrize("scope", ["strands-agents", "shop"])


@SCOPES
def test_strands_for_javascript_has_a_hook_whose_answer_is_a_result(scope: str) -> None:
    told = {"toolUseId": "call_cas1", "status": "error", "content": [{"text": "none of them"}]}
    messages = [HI, told_by_strands("assistant", SAID), told_by_strands("tool", {"toolResult": told})]
    run = run_of(
        agent_in_javascript(scope, HI, ENDED),
        model_in_javascript(scope, 5, HI, answer=[ASKED]),
        model_in_javascript(scope, 20, *messages, answer=[{"text": "x"}]),
    )
    assert (called(run), doubts(run)) == (["pay"], ["uncertain_execution"])


LAST = '[{"role":"assistant","parts":[{"type":"text","content":"hi"}],"finish_reason":"interrupt"}]'


@SCOPES
@pytest.mark.parametrize(
    "told",
    [
        {"events": [HI, ("gen_ai.choice", {"message": "hi", "finish_reason": "interrupt"})]},
        {"events": [HI, ("gen_ai.client.inference.operation.details", {"gen_ai.output.messages": LAST})]},
        {"events": [HI], "attributes": {"gen_ai.output.messages": LAST}},
    ],
    ids=["choice", "details", "attribute"],
)
def test_an_agent_of_strands_for_javascript_that_waits_for_a_human(scope: str, told: dict[str, Any]) -> None:
    run = run_of(
        in_javascript(agent_span("travel", lasting=100, **told), scope),
        model_in_javascript(scope, 5, HI, answer=[ASKED]),
    )
    assert (called(run), doubts(run)) == (["(pay)"], ["other_traces"])


NOT_ASKED = ("gen_ai.client.inference.operation.details", {"gen_ai.input.messages": "[]"})
"""What an agent was given that a human answered, by the newest conventions; by the others nothing."""


@SCOPES
@pytest.mark.parametrize("given", [[], [NOT_ASKED]], ids=["nothing", "empty"])
@pytest.mark.parametrize("ran", [True, False])
def test_an_agent_of_strands_for_javascript_that_goes_on(scope: str, ran: bool, given: list[Any]) -> None:
    content = [{"json": {"paid": 1}}] if ran else [{"text": "CONFIRMATION_FAILED: ok?"}]
    told = {"toolUseId": "call_cas1", "status": "success" if ran else "error", "content": content}
    messages = [HI, told_by_strands("assistant", SAID), told_by_strands("tool", {"toolResult": told})]
    paid = tool_span("pay", {"amount": 1}, 2, 1, call_id="call_cas1", attributes={"gen_ai.tool.status": "success"})
    run = run_of(
        agent_in_javascript(scope, *given, ENDED),
        *([in_javascript(paid, scope)] if ran else []),
        model_in_javascript(scope, 20, *messages, answer=[{"text": "x"}]),
    )
    assert (called(run), doubts(run)) == (["pay"] if ran else [], ["other_traces"])


def test_an_answer_that_was_cut_off_ends_a_run_in_place_of_its_calls() -> None:
    words = "Model stopped generating due to maximum token limit."
    raised = {"exception.type": "strands.types.exceptions.MaxTokensReachedException", "exception.message": words}
    cut = {"message": '[{"toolUse": {"toolUseId": "c2", "name": "get", "input": {}}}]', "finish_reason": "max_tokens"}
    run = run_of(
        agent_span(lasting=90, scope=STRANDS, status=2, message=words, events=[("exception", raised)]),
        model_span([("c1", "get", {})], 2, 1, at=5, scope=STRANDS),
        tool_span("get", {}, 3, call_id="c1", at=20, scope=STRANDS, attributes={"gen_ai.tool.status": "success"}),
        model_span((), 4, 1, at=40, scope=STRANDS, events=[("gen_ai.choice", cut)]),
    )
    assert (called(run), doubts(run)) == (["get", "(get)"], [])


def test_an_agent_in_a_tool_that_waits_for_a_human_is_a_part_of_a_run_like_that_around_it() -> None:
    """And so is it in the trace in which both go on: there it begins with the call."""
    ends = ("gen_ai.choice", {"message": APPROVAL, "finish_reason": "interrupt"})
    asked = ("gen_ai.user.message", {"content": '[{"text": "go"}]'})
    desk = [{"toolUse": {"toolUseId": "c1", "name": "ask_payer", "input": {}}}]
    pay = [{"toolUse": {"toolUseId": "c2", "name": "pay", "input": {"x": 2}}}]
    waiting = runs_of(
        agent_span("desk", 1, scope=STRANDS, lasting=100, events=[asked, ends]),
        strands_model(2, 1, 1, told_by_strands("user", {"text": "go"}), answer=desk),
        tool_span("ask_payer", {}, 3, 1, at=20, lasting=70, scope=STRANDS),
        agent_span("payer", 4, 3, at=21, lasting=60, scope=STRANDS, events=[asked, ends]),
        strands_model(5, 4, 22, told_by_strands("user", {"text": "go"}), answer=pay),
    )
    paid = {"toolResult": {"toolUseId": "c2", "status": "success", "content": [{"text": "paid"}]}}
    done = {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "paid"}]}}
    go, ok = told_by_strands("user", {"text": "go"}), [{"text": "ok"}]
    going_on = runs_of(
        agent_span("desk", 1, scope=STRANDS, lasting=100),
        tool_span("ask_payer", {}, 3, 1, at=2, lasting=70, scope=STRANDS),
        agent_span("payer", 4, 3, at=3, lasting=60, scope=STRANDS),
        tool_span("pay", {"x": 2}, 5, 4, at=4, scope=STRANDS),
        strands_model(6, 4, 20, go, told_by_strands("assistant", pay[0]), told_by_strands("tool", paid), answer=ok),
        strands_model(7, 1, 80, go, told_by_strands("assistant", desk[0]), told_by_strands("tool", done), answer=ok),
    )
    assert [called(run) for run in going_on] == [["ask_payer"], ["pay"]]
    assert ["other_traces" in doubts(run) for run in (*waiting, *going_on)] == [True] * 4


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (({"gen_ai.tool.status": "error"}, {"gen_ai.tool.status": "success"}), (["pay", "pay"], [])),
        (({}, {"gen_ai.tool.status": "success"}), (["(pay)", "pay"], [])),  # it waited for a human, and began anew
        (({}, {}), (["(pay)", "pay"], ["uncertain_execution"])),
        (({"error.type": "till.CardDeclined"}, {}), (["pay", "pay"], [])),
    ],
)
def test_a_status_that_a_processor_deleted_does_not_tell_that_a_call_waited(
    statuses: tuple[dict[str, Any], dict[str, Any]], expected: tuple[list[str], list[str]]
) -> None:
    """Only calls that wait have none; an allow-list of the conventions' attributes leaves none to any."""
    failed, paid = statuses
    run = run_of(
        agent_span(scope=STRANDS, lasting=100),
        model_span([("c1", "pay", {})], 2, at=0, lasting=5, scope=STRANDS),
        tool_span("pay", {}, 3, call_id="c1", at=10, lasting=5, status=2, scope=STRANDS, attributes=failed),
        model_span([("c2", "pay", {})], 4, at=20, lasting=5, scope=STRANDS),
        tool_span("pay", {}, 5, call_id="c2", at=30, lasting=5, scope=STRANDS, attributes=paid),
        model_span((), 6, at=40, lasting=5, scope=STRANDS),
    )
    assert (called(run), doubts(run)) == expected


def test_the_form_of_an_agents_output_is_known_by_its_name_in_javascript() -> None:
    """@strands-agents/sdk 1.19 with `structuredOutputSchema`: nothing is described."""
    scope, name = "strands-agents", "strands_structured_output"

    def asks(number: int, at: float, tool: str, call_id: str, given: dict[str, Any]) -> Span:
        asked = [{"type": "toolUse", "name": tool, "toolUseId": call_id, "input": given}]
        answered = ("gen_ai.choice", {"finish_reason": "toolUse", "message": json.dumps(asked)})
        return model_span(
            (), number, 1, at=at, scope=scope, events=[("gen_ai.user.message", {"content": GO}), answered]
        )

    ended: dict[str, Any] = {"scope": scope, "status": 1, "attributes": {"gen_ai.tool.status": "success"}}
    run = run_of(
        agent_span("travel", 1, lasting=100, scope=scope, events=[("gen_ai.user.message", {"content": GO})], status=1),
        asks(2, 1, "weather", "c1", {"city": "Paris"}),
        tool_span("weather", {"city": "Paris"}, 3, 1, call_id="c1", at=20, **ended),
        asks(4, 40, name, "c2", {"a": 1}),
        tool_span(name, {"a": 1}, 5, 1, call_id="c2", at=60, **ended),
    )
    assert (called(run), doubts(run)) == (["weather", f"({name})"], [])


GO = '[{"text":"go"}]'


@pytest.mark.parametrize("status", ["success", "error"])
def test_the_form_of_an_agents_output_is_no_tool_that_ran(status: str) -> None:
    """strands-agents 1.62 with `structured_output_model`: the model is offered it as a tool, and the framework answers."""
    described = {
        "gen_ai.tool.description": "IMPORTANT: This StructuredOutputTool should only be invoked as the last and final tool "
        "before returning the completed result to the caller. <description>Trip structured output tool</description>",
        "gen_ai.tool.status": status,
    }
    run = run_of(
        agent_span("travel", 1, lasting=100, scope=STRANDS),
        strands_model(
            2, 1, 1, answer=[{"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Paris"}}}]
        ),
        tool_span("weather", {"city": "Paris"}, 3, 1, call_id="c1", at=20, scope=STRANDS, status=1),
        strands_model(4, 1, 40, answer=[{"toolUse": {"toolUseId": "c2", "name": "Trip", "input": {"days": 1}}}]),
        tool_span("Trip", {"days": 1}, 5, 1, call_id="c2", at=60, scope=STRANDS, status=1, attributes=described),
    )
    assert (called(run), doubts(run)) == (["weather", "(Trip)"], [])
