"""Runs of one trace, or of a conversation, as one trajectory: in order, each call once, in doubt where one of them is."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from collector.model.span import Resource
from collector.reconstruction.joined_runs import join_runs
from collector.reconstruction.run import Run
from tests.builders import TRACE, agent_span, model_span, result, run_of, runs_of, span, tool_span, user

NESTED = [
    agent_span("travel", 2, at=1, lasting=400),
    model_span([("c1", "ask", {"q": "x"})], 3, 2, at=2, lasting=5, input_messages=[user("go")]),
    tool_span("ask", {"q": "x"}, 4, 2, at=10, lasting=100, call_id="c1"),
    agent_span("policy", 5, 4, at=11, lasting=90),
    tool_span("look", {}, 6, 5, at=12, lasting=20),
    tool_span("note", {}, 8, 5, at=20, lasting=30),
    tool_span("mail", {}, 11, 2, at=210),
]


def test_the_runs_of_a_trace_as_one_trajectory() -> None:
    trajectory, spans = join_runs(runs_of(*NESTED), 0)
    assert [call.name for call in trajectory.calls if call.executed] == ["ask", "look", "note", "mail"]
    steps = {call.name: call.step for call in trajectory.calls}
    assert steps["ask"] < steps["look"] == steps["note"] < steps["mail"]
    assert trajectory.user_input == "go"
    assert spans == tuple(call.span_id and bytes.fromhex(call.span_id) for call in trajectory.calls)


def test_a_conversation_is_in_order_of_its_traces_and_in_doubt_where_one_is() -> None:
    (first,) = runs_of(agent_span(), tool_span("a", at=1))
    (second,) = runs_of(tool_span("b", at=5_001, parent=9))
    trajectory, _ = join_runs([second, first], 0)
    assert [call.name for call in trajectory.calls] == ["a", "b"]
    assert {doubt.name for doubt in trajectory.doubts} == {"missing_anchor", "missing_span", "unknown_route"}


def test_a_missing_span_above_a_run_hides_no_calls_of_it_but_perhaps_further_runs_of_the_trace() -> None:
    runs = runs_of(agent_span(parent=9), tool_span("a", at=1))
    assert [doubt.name for doubt in runs[0].trajectory.doubts] == ["unknown_route"]
    assert [doubt.name for doubt in join_runs(runs, 0)[0].doubts] == ["unknown_route", "missing_span"]


def test_what_is_in_doubt_about_calls_stays_in_doubt_when_joined() -> None:
    spans = [
        tool_span("a", number=2, at=1, lasting=1, resource=Resource({"host.name": "a"})),
        tool_span("b", number=3, at=4, lasting=1, resource=Resource({"host.name": "b"})),
    ]
    before = run_of(agent_span(at=-2_000), tool_span("z", at=-1_500))
    trajectory, _ = join_runs([run_of(agent_span(), *spans), before], 0)
    (doubt,) = trajectory.doubts
    assert [(call.name, call.step) for call in trajectory.calls] == [("z", 0), ("a", 1), ("b", 1)]
    assert (doubt.name, doubt.calls, doubt.orders) == ("uncertain_order", (1, 2), (((1,), (2,)), ((2,), (1,))))


@pytest.mark.parametrize(("scope", "doubts"), [("other", ["uncertain_duplicate"]), ("test", [])])
def test_a_call_of_one_id_in_runs_of_two_instrumentations_may_be_one_call(scope: str, doubts: list[str]) -> None:
    def one(number: int, scope: str) -> Run:
        spans = (
            agent_span(number=number, scope=scope),
            tool_span("a", {}, number + 1, number, call_id="c1", scope=scope),
        )
        return run_of(*spans)

    trajectory, _ = join_runs([one(1, "test"), one(3, scope)], 0)
    assert [call.name for call in trajectory.calls] == ["a", "a"]
    assert [doubt.name for doubt in trajectory.doubts if doubt.name != "uncertain_order"] == doubts


@pytest.mark.parametrize(("at", "doubts"), [(2, ["uncertain_duplicate"]), (2_000, [])])
def test_a_call_of_one_id_that_two_dialects_tell_of_in_traces_of_their_own_may_be_one_call(
    at: int, doubts: list[str]
) -> None:
    """Langfuse's callback beside OpenInference's: an id that another trace has later is another call's."""
    one = run_of(agent_span(), tool_span("pay", {}, call_id="c1", at=1))
    called_by = {"openinference.span.kind": "AGENT"}
    given = {"openinference.span.kind": "TOOL", "tool.name": "pay", "tool_call.id": "c1", "output.value": "paid"}
    agent = span("helper", 3, 0, at, 9, attributes=called_by)
    tool = span("pay", 4, 3, at, 9, attributes=given)
    other = run_of(agent, tool)
    other.trace_id = b"2" * 16
    trajectory, _ = join_runs([one, other], 0)
    assert [call.id for call in trajectory.calls] == ["c1", "c1"]
    assert [doubt.name for doubt in trajectory.doubts] == doubts


@pytest.mark.parametrize(
    ("call_id", "answer", "expected"),
    [
        ("call_9f8e7d6c5b4a", "paid", (["(pay)", "pay"], [])),
        ("call_9f8e7d6c5b4a", "Tool call denied by user", (["(pay)", "(pay)"], [])),
        ("call_1f2e3d4c5b6a", "paid", (["pay", "pay"], ["uncertain_execution", "unobserved_results"])),
    ],
)
@pytest.mark.parametrize("is_other_trace", [True, False])
def test_a_call_that_waited_for_a_human_is_settled_by_the_trace_in_which_the_agent_goes_on(
    call_id: str, answer: str, expected: tuple[list[str], list[str]], *, is_other_trace: bool
) -> None:
    before = run_of(agent_span(), model_span([("call_9f8e7d6c5b4a", "pay", {"order": 7})], at=1))
    asked = {
        "role": "assistant",
        "tool_calls": [{"id": call_id, "function": {"name": "pay", "arguments": '{"order": 7}'}}],
    }
    told = [user("pay it"), asked, result(call_id, answer)]
    question = {"gen_ai.input.messages": json.dumps(told[:1])}
    agent = agent_span(number=11, at=5_000, attributes=question)
    after = run_of(agent, model_span([], 12, 11, at=5_001, input_messages=told))
    if is_other_trace:
        after.trace_id = b"2" * 16
    trajectory, _ = join_runs([before, after], 0)
    found = [call.name if call.executed else f"({call.name})" for call in trajectory.calls]
    if not is_other_trace:
        assert "uncertain_execution" in [doubt.name for doubt in trajectory.doubts]
    else:
        assert (found, list(dict.fromkeys(doubt.name for doubt in trajectory.doubts))) == expected


@pytest.mark.parametrize(
    ("call_id", "arguments", "trace_id", "expected"),
    [
        ("call_9f8e7d6c5b4a", {"n": 1}, b"2" * 16, ["(pay)", "pay"]),  # a human approved it meanwhile
        ("call_9f8e7d6c5b4a", {"n": 1, "to": "Ada"}, b"2" * 16, ["(pay)", "pay"]),  # Agno: and added what was missing
        ("call_9f8e7d6c5b4a", {"n": 2}, b"2" * 16, ["pay", "pay"]),
        ("call_0", {"n": 1}, b"2" * 16, ["pay", "pay"]),  # the first of each run
        ("call_9f8e7d6c5b4a", {"n": 1}, TRACE, ["pay", "pay"]),
    ],
)
def test_a_call_that_one_trace_asked_for_and_another_shows_is_one_call(
    call_id: str, arguments: dict[str, Any], trace_id: bytes, expected: list[str]
) -> None:
    asked = run_of(agent_span(), model_span([(call_id, "pay", {"n": 1})], 2, at=1, lasting=5))
    shown = run_of(agent_span(number=3, at=5_000), tool_span("pay", arguments, 4, 3, at=5_010, call_id=call_id))
    trajectory, _ = join_runs([replace(shown, trace_id=trace_id), asked], 0)
    assert [call.name if call.executed else f"({call.name})" for call in trajectory.calls] == expected
    assert ("uncertain_execution" in {doubt.name for doubt in trajectory.doubts}) is (expected[0] == "pay")


def test_joining_no_runs() -> None:
    assert join_runs([], 0)[0].calls == []
