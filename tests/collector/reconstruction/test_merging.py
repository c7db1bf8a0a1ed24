"""Executions and requests, and how they are matched."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from collector.model.span import Resource, Span
from collector.reconstruction.requested_calls import MAX_CANDIDATES, MAX_REQUESTED
from collector.resumable import Resumable
from tests import operations
from tests.builders import (
    EPOCH,
    MS,
    agent_span,
    asked,
    called,
    doubts,
    model_span,
    result,
    run_of,
    runs_of,
    span,
    span_id,
    steps,
    tool_span,
    user,
)


def calls(*spans: Any) -> list[tuple[str, str | None, Any, str, bool]]:
    return [(c.name, c.id, c.arguments, c.status, c.executed) for c in run_of(*spans).trajectory.calls]


def test_a_request_supplies_id_and_arguments_to_its_execution() -> None:
    requested = model_span([("c1", "pay", {"order": 7})], at=1, lasting=5)
    assert calls(agent_span(), requested, tool_span("pay", at=10)) == [("pay", "c1", {"order": 7}, "unset", True)]


def test_executions_without_ids_are_matched_by_arguments() -> None:
    requested = model_span([("c1", "get", {"city": "Paris"}), ("c2", "get", {"city": "Rome"})], at=1, lasting=5)
    rome, paris = (
        tool_span("get", {"city": "Rome"}, 4, at=10),
        tool_span("get", {"city": "Paris", "unit": "c"}, 5, at=11),
    )
    assert {
        call_id: arguments["city"] for _, call_id, arguments, _, _ in calls(agent_span(), requested, rome, paris)
    } == {
        "c1": "Paris",
        "c2": "Rome",
    }


def test_a_bare_argument_is_matched_with_the_requested_object() -> None:
    requested = model_span([("c1", "get", {"town": 5}), ("c2", "get", {"city": "Oslo"})], at=1, lasting=5)
    bare = tool_span("get", attributes={"gen_ai.tool.call.arguments": "Oslo"}, at=10)
    assert ("get", "c2", {"city": "Oslo"}, "unset", True) in calls(agent_span(), requested, bare)


@pytest.mark.parametrize(
    ("wanted", "bare", "ran_with"),
    [
        ("u7", "u8", "u8"),
        ("u7", "u7", "u7"),
        ("u7 and all others", "u7 and", "u7 and all others"),  # cut by who recorded it
        ("u7", '{"user": "u', "u7"),
        (7, "7", 7),
    ],
)
def test_a_bare_argument_that_a_human_changed_is_that_of_the_execution(
    wanted: object, bare: str, ran_with: object
) -> None:
    """LangChain 1.5 with its human in the loop, under OpenInference."""
    requested = model_span([("c1", "drop", {"user": wanted})], at=1, lasting=5)
    ran = tool_span("drop", attributes={"gen_ai.tool.call.arguments": bare}, at=10, call_id="c1")
    assert calls(agent_span(), requested, ran) == [("drop", "c1", {"user": ran_with}, "unset", True)]


def test_changed_arguments_are_those_of_the_execution() -> None:
    requested = model_span([("c1", "get", {"n": "7"})], at=1, lasting=5)
    assert calls(agent_span(), requested, tool_span("get", {"n": 7}, at=10)) == [("get", "c1", {"n": 7}, "unset", True)]


def test_a_failed_call_retried_with_equal_arguments_is_two() -> None:
    found = calls(
        agent_span(),
        model_span([("c1", "pay", {"order": 7})], 3, at=1, lasting=5),
        tool_span("pay", {"order": 7}, 4, at=10, status=2),
        model_span([("c2", "pay", {"order": 7})], 5, at=30, lasting=5),
        tool_span("pay", {"order": 7}, 6, at=40),
    )
    assert found == [("pay", "c1", {"order": 7}, "error", True), ("pay", "c2", {"order": 7}, "unset", True)]


def test_a_call_that_never_ran_is_kept_as_not_executed() -> None:
    run = run_of(
        agent_span(),
        model_span([("c1", "delete_all", {}), ("c2", "get", {"city": "Oslo"})], 3, at=1, lasting=5),
        tool_span("get", {"city": "Oslo"}, 4, at=10, call_id="c2"),
        model_span(number=5, at=30),
    )
    assert called(run) == ["(delete_all)", "get"]
    assert run.call_span_ids == (None, span_id(4))


def test_history_repeated_in_a_later_output_counts_once() -> None:
    first: list[tuple[str, str, Any]] = [("c1", "a", {}), ("c2", "b", {})]
    run = run_of(
        agent_span(), model_span(first, 3, at=1, lasting=5), model_span([*first, ("c3", "c", {})], 4, at=20, lasting=5)
    )
    assert called(run) == ["a", "b", "c"]


def test_a_reused_id_is_another_call() -> None:
    run = run_of(agent_span(), model_span([("call_0", "a", {})], 3, at=1), model_span([("call_0", "b", {})], 4, at=20))
    assert called(run) == ["a", "b"]


def test_a_response_traced_twice_counts_once() -> None:
    response = {"gen_ai.response.id": "r1"}
    run = run_of(
        agent_span(),
        model_span([("c1", "a", {})], 3, at=1, lasting=9, attributes=response),
        model_span([("c9", "a", {})], 4, 3, at=2, lasting=7, attributes=response),
    )
    assert called(run) == ["a"]


def test_a_client_inside_a_client_without_ids_counts_once_and_ids_are_kept() -> None:
    run = run_of(
        agent_span(),
        model_span([(None, "a", {})], 3, at=1, lasting=9),
        model_span([("c1", "a", {})], 4, 3, at=2, lasting=7),
    )
    assert [(call.name, call.id) for call in run.trajectory.calls] == [("a", "c1")]


@pytest.mark.parametrize(
    ("status", "expected"),
    [(1, ["unobserved_results"]), (2, ["unrecorded_calls", "uncertain_execution", "unobserved_results"])],
)
def test_a_request_that_nothing_answered_may_not_have_run_in_a_run_that_failed(
    status: int, expected: list[str]
) -> None:
    asked = model_span([("c1", "pay", {})], 3, at=1, lasting=5, input_messages=[user("pay it")])
    again = model_span(number=4, at=9, input_messages=[user("Answer in JSON: pay it")])  # DSPy: no field was found
    assert doubts(run_of(agent_span(status=status), asked, again)) == expected


def test_without_executions_every_answered_request_ran() -> None:
    run = run_of(
        span("POST /chat", 1, lasting=100),
        model_span([("c1", "pay", {"order": 7})], 3, at=1, lasting=5, input_messages=[user("pay it")]),
        model_span(
            [("c2", "mail", {})], 4, at=20, lasting=5, input_messages=[user("pay it"), result("c1", "Error: declined")]
        ),
        model_span(
            number=5,
            at=40,
            input_messages=[
                user("pay it"),
                result("c1", "Error: declined"),
                {"role": "assistant"},
                result("c2", "sent"),
            ],
        ),
    )
    assert [(c.name, c.status, c.executed, c.span_id) for c in run.trajectory.calls] == [
        ("pay", "error", True, None),
        ("mail", "ok", True, None),
    ]
    assert [call.start_ns for call in run.trajectory.calls] == [EPOCH + 6 * MS, EPOCH + 25 * MS]
    assert run.call_span_ids == (None, None)


def test_results_with_other_ids_are_matched_by_position() -> None:
    run = run_of(
        span("POST /chat", 1, lasting=100),
        model_span([("fc-1", "a", {}), ("fc-2", "b", {})], 3, at=1, lasting=5),
        model_span(
            number=4,
            at=20,
            input_messages=[{"role": "assistant"}, result("call_1", "fine"), result("call_2", "Error: no")],
        ),
    )
    assert [(call.name, call.status) for call in run.trajectory.calls] == [("a", "ok"), ("b", "error")]


@pytest.mark.parametrize(("status", "expected"), [(0, ["mail"]), (2, ["(mail)"])])
def test_the_last_request_of_an_application_ran_unless_it_failed(status: int, expected: list[str]) -> None:
    assert (
        called(run_of(span("POST", 1, lasting=50, status=status), model_span([("c1", "mail", {})], at=1))) == expected
    )


def test_the_last_requests_of_a_run_that_has_not_ended_are_in_progress() -> None:
    run = run_of(
        model_span([("c1", "a", {}), ("c2", "lost", {})], 3, 9, at=1, lasting=5),
        tool_span("a", {}, 4, 9, at=10, call_id="c1"),
        model_span([("c3", "b", {})], 5, 9, at=30, lasting=5),
    )
    assert called(run) == ["a", "(lost)", "b"] or called(run) == ["(lost)", "a", "b"]
    assert run.trajectory.calls[-1].status == "unset"
    assert set(doubts(run)) == {"missing_anchor", "unknown_route", "uncertain_execution", "unobserved_results"}


@pytest.mark.parametrize("traced", [True, False])
def test_a_call_with_a_refusal_as_result_never_ran(traced: bool) -> None:
    results = [{"role": "assistant"}, result("c1", "Error: Tool delete_all not found")]
    spans = [
        span("POST", 1, lasting=90),
        model_span([("c1", "delete_all", {})], 3, at=1, lasting=5),
        model_span(number=5, at=30, input_messages=results),
    ]
    if traced:
        spans.append(tool_span("delete_all", {}, 4, at=10, status=2, call_id="c1"))
    assert called(run_of(*spans)) == ["(delete_all)"]


def test_an_agent_used_as_a_tool_without_a_span_ran() -> None:
    outer, _ = runs_of(
        agent_span("boss", 1),
        model_span([("c1", "helper", {"task": "x"}), ("c2", "note", {})], 2, at=1, lasting=5),
        tool_span("note", {}, 3, at=10, call_id="c2"),
        agent_span("helper", 4, 1, at=20, lasting=50),
        tool_span("look", {}, 5, 4, at=30),
    )
    assert sorted(called(outer)) == ["helper", "note"]


def test_an_agent_used_as_a_tool_began_when_its_span_did_even_if_a_clock_was_set_back_meanwhile() -> None:
    outer, _ = runs_of(
        agent_span("boss", 1),
        model_span([("c1", "helper", {"task": "x"}), ("c2", "note", {})], 2, at=1, lasting=5),
        tool_span("note", {}, 3, at=40, lasting=20),
        agent_span("helper", 4, 1, at=50, lasting=-30),
    )
    assert called(outer) == ["helper", "note"]


def test_an_empty_text_of_a_request_is_a_call_without_arguments() -> None:
    assert calls(agent_span(), model_span([("c1", "now", "")]))[0][2] == {}


def test_arguments_that_are_not_an_object_stay_text() -> None:
    (call,) = run_of(
        agent_span(), tool_span("say", attributes={"gen_ai.tool.call.arguments": "hello there"})
    ).trajectory.calls
    assert (call.arguments, call.arguments_text) == (None, "hello there")


def test_without_arguments_nothing_was_captured() -> None:
    (call,) = run_of(agent_span(), tool_span("say")).trajectory.calls
    assert (call.arguments, call.arguments_text) == (None, None)


LOSSY = "@traceloop/node-server-sdk"


@pytest.mark.parametrize(
    ("result_text", "expected"),
    [
        ("Error: declined", ["pay", "pay"]),
        ("declined", ["pay", "pay"]),  # a retry ran, so the tool exists
        ("Error: Tool pay not found", ["(pay)", "pay"]),
    ],
)
def test_a_lossy_instrumentation_loses_the_span_of_a_call_that_failed(result_text: str, expected: list[str]) -> None:
    kept = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "pay",
        "traceloop.entity.input": '{"args": [], "kwargs": {"card": "b"}}',
    }
    run = run_of(
        span("travel.agent", 1, attributes={"traceloop.span.kind": "agent"}, lasting=200, scope=LOSSY),
        model_span([("c1", "pay", {"card": "a"})], 3, at=1, lasting=5),
        model_span(
            [("c2", "pay", {"card": "b"})],
            4,
            at=30,
            lasting=5,
            input_messages=[{"role": "assistant"}, result("c1", result_text)],
        ),
        span("pay.tool", 5, 1, 40, attributes=kept, scope=LOSSY),
        model_span(number=6, at=60),
    )
    assert called(run) == expected
    assert run.trajectory.calls[0].status == ("error" if expected[0] == "pay" else "unset")


def test_a_lossy_instrumentation_leaves_a_span_of_what_succeeds() -> None:
    """Of two calls one was denied, in words that do not say so."""
    kept = {"traceloop.span.kind": "tool", "traceloop.entity.name": "refund"}
    run = run_of(
        span("travel.agent", 1, attributes={"traceloop.span.kind": "agent"}, lasting=200, scope=LOSSY),
        model_span([("c1", "refund", {}), ("c2", "delete", {})], 3, at=1, lasting=5),
        span("refund.tool", 4, 1, 10, attributes=kept, scope=LOSSY),
        model_span(number=5, at=60, input_messages=[result("c1", "done"), result("c2", "needs a supervisor")]),
    )
    assert doubts(run) == ["uncertain_execution", "unobserved_results"]


def test_if_every_tool_leaves_a_span_a_failure_without_one_may_be_of_a_call_that_never_ran() -> None:
    traced = span("ai.generateText", 1, attributes={"ai.operationId": "ai.generateText"}, lasting=200)
    requested = [
        model_span([("c1", "gone", {})], 3, at=1, lasting=5),
        model_span(number=4, at=30, input_messages=[{"role": "assistant"}, result("c1", "Error: what?")]),
    ]
    assert doubts(run_of(traced, *requested)) == ["uncertain_execution"]
    assert (called(run_of(agent_span(), *requested)), doubts(run_of(agent_span(), *requested))) == (["gone"], [])


@pytest.mark.parametrize(("requests", "is_matched"), [(MAX_CANDIDATES, True), (MAX_CANDIDATES + 1, False)])
def test_an_execution_is_compared_with_a_bounded_number_of_requests(requests: int, is_matched: bool) -> None:
    requested = model_span([(f"c{number}", "get", {"n": number}) for number in range(requests)], at=1, lasting=5)
    found = calls(agent_span(), requested, tool_span("get", {"n": 0}, 4, at=10, call_id="c0"))
    assert ("c0" not in [call_id for _, call_id, _, _, executed in found if not executed]) is is_matched


def test_many_calls_and_many_requests_are_matched_in_slices() -> None:
    requested = model_span([(f"c{number}", f"asked_{number}", {}) for number in range(MAX_CANDIDATES)], at=1, lasting=5)
    shown = [tool_span(f"shown_{number}", {}, number, at=10) for number in range(4, 504)]
    work = Resumable(lambda: run_of(agent_span(), requested, *shown), count().__next__)
    while not work.resume(0.0):
        pass
    assert len(work.result.trajectory.calls) == 500 + MAX_CANDIDATES
    assert work.slices > 2 * 500 + MAX_CANDIDATES


# --- what only a later input tells of


FIRST = [user("go"), asked(("c1", "find", {"q": 1})), result("c1", "fine")]
SECOND = [*FIRST, asked(("c2", "pay", {"eur": 5})), result("c2", "fine")]
THIRD = [*SECOND, asked(("c3", "mail", {})), result("c3", "fine")]


def test_a_call_whose_request_was_lost_is_told_by_a_later_input_and_keeps_its_turn() -> None:
    run = run_of(
        span("POST", 1, lasting=200),
        model_span([("c1", "find", {"q": 1})], 3, at=1, lasting=5, input_messages=[user("go")]),
        model_span([("c3", "mail", {})], 5, at=60, lasting=5, input_messages=SECOND),
        model_span(number=6, at=90, lasting=5, input_messages=THIRD),
    )
    assert called(run) == ["find", "pay", "mail"]
    assert (run.trajectory.calls[1].arguments, run.trajectory.calls[1].known_by) == ({"eur": 5}, "result")
    assert doubts(run) == []


def test_an_input_that_begins_with_results_may_tell_of_calls_made_before_the_run() -> None:
    later = model_span(number=6, at=90, lasting=5, input_messages=SECOND)
    unknown = run_of(span("POST", 1, lasting=200), later)
    assert called(unknown) == []
    assert "unrecorded_calls" in doubts(unknown)
    question = {"gen_ai.input.messages": json.dumps([user("go")])}
    asked = run_of(agent_span(attributes=question), later)  # two requests would have been lost
    assert (called(asked), "other_traces" in doubts(asked)) == ([], True)
    resumed = {"gen_ai.input.messages": json.dumps(SECOND)}
    assert called(run_of(agent_span(attributes=resumed), later)) == []
    assert "unrecorded_calls" not in doubts(run_of(agent_span(attributes=resumed), later))


def test_what_another_agent_did_before_the_handoff_is_not_done_again() -> None:
    first, second = runs_of(
        span("POST", 1, lasting=400),
        agent_span("one", 2, 1, at=1, lasting=60),
        model_span([("c1", "find", {"q": 1})], 3, 2, at=2, lasting=5, input_messages=[user("go")]),
        agent_span("two", 4, 1, at=70, lasting=90),
        model_span([("c2", "pay", {"eur": 5})], 5, 4, at=75, lasting=5, input_messages=FIRST),
        model_span(number=6, parent=4, at=100, lasting=5, input_messages=SECOND),
    )
    assert (called(first), called(second)) == (["find"], ["pay"])


def test_an_id_used_again_in_a_later_turn_is_another_call() -> None:
    again = [*FIRST, asked(("c1", "find", {"q": 1})), result("c1", "fine")]
    run = run_of(
        span("POST", 1, lasting=200),
        model_span([("c1", "find", {"q": 1})], 3, at=1, lasting=5, input_messages=[user("go")]),
        model_span([("c1", "find", {"q": 1})], 4, at=30, lasting=5, input_messages=FIRST),
        model_span(number=5, at=60, lasting=5, input_messages=again),
    )
    assert called(run) == ["find", "find"]


def test_a_request_sent_again_with_the_same_input_is_one() -> None:
    run = run_of(
        span("POST", 1, lasting=200),
        model_span([("c1", "find", {"q": 1})], 3, at=1, lasting=5, status=2, input_messages=[user("use a tool")]),
        model_span([("c1", "find", {"q": 1})], 4, at=30, lasting=5, input_messages=[user("use a tool")]),
        model_span(number=5, at=60, lasting=5, input_messages=FIRST),
    )
    assert called(run) == ["find"]


def test_a_response_id_used_again_for_other_calls_is_another_response() -> None:
    same = {"gen_ai.response.id": "r1"}
    run = run_of(
        span("POST", 1, lasting=200),
        model_span([("c1", "find", {"q": 1})], 3, at=1, lasting=5, attributes=same),
        model_span([("c2", "pay", {"eur": 5})], 4, at=30, lasting=5, attributes=same),
        model_span(number=5, at=60, lasting=5),
    )
    assert called(run) == ["find", "pay"]


def test_an_answer_that_was_never_used_made_no_call() -> None:
    question = [user("use a tool")]
    run = run_of(
        span("POST", 1, lasting=200),
        model_span([("c0", "find", {"q": 1})], 3, at=1, lasting=5, input_messages=question),
        model_span([("c1", "find", {"q": 1})], 4, at=30, lasting=5, input_messages=question),
        model_span(number=5, at=60, lasting=5, input_messages=FIRST),
    )
    assert called(run) == ["(find)", "find"]


def test_a_denial_on_the_span_of_a_call_and_words_that_may_be_one() -> None:
    denied = tool_span("pay", {}, at=1, status=2, message="Tool execution was not approved.")
    assert called(run_of(agent_span(), denied)) == ["(pay)"]
    unclear = tool_span("pay", {}, at=1, status=2, message="transfer rejected by the user")
    assert (called(run_of(agent_span(), unclear)), doubts(run_of(agent_span(), unclear))) == (
        ["pay"],
        ["uncertain_execution"],
    )
    own = tool_span("pay", {}, at=1, status=2, message="Tool chisel not found in stock")
    assert (called(run_of(agent_span(), own)), doubts(run_of(agent_span(), own))) == (["pay"], [])


def test_a_model_asked_again_without_a_call_in_between_must_have_requested_one() -> None:
    run = run_of(
        agent_span(),
        model_span(number=3, at=1, lasting=5),
        tool_span("find", number=4, at=10),
        model_span(number=5, at=30, lasting=5),
        model_span(number=6, at=60, lasting=5),
    )
    assert doubts(run) == ["unrecorded_calls"]


@pytest.mark.parametrize("output", [None, "done"])
def test_a_call_that_waits_for_approval_has_a_span_without_result_and_has_not_run(output: str | None) -> None:
    tool = {"openinference.span.kind": "TOOL", "tool.name": "pay", "input.value": '{"eur": 5}'}
    if output is not None:
        tool["output.value"] = output
    asked = model_span([("c1", "pay", {"eur": 5})], 3, at=1, lasting=5)
    spans = [agent_span(), asked, span("pay", 4, 1, 10, attributes=tool, status=1)]
    pending = run_of(*spans)
    waiting = ["other_traces", "uncertain_execution"]  # what it does when it has its answer is not in this trace
    assert (called(pending), doubts(pending)) == ((["pay"], []) if output else (["(pay)"], waiting))
    assert called(run_of(*spans, model_span(number=5, at=60))) == ["pay"]


def test_a_call_told_under_another_name_with_the_same_id_is_one() -> None:
    renamed = [user("go"), asked(("c1", "Find it", {"q": 1})), result("c1", "fine")]
    run = run_of(
        span("POST", 1, lasting=200),
        model_span([("c1", "find_it", {"q": 1})], 3, at=1, lasting=5, input_messages=[user("go")]),
        model_span(number=5, at=60, lasting=5, input_messages=renamed),
    )
    assert called(run) == ["find_it"]


@pytest.mark.parametrize(
    "content", ["[" * 70 + '"function_call"' + "]" * 70, '["tool_call", "' + "x" * 300_000 + '"]', '[{"tool_call']
)
def test_an_output_that_cannot_be_parsed_may_hold_calls(content: str) -> None:
    output = {"gen_ai.output.messages": content}
    run = run_of(agent_span(), model_span((), 2, at=10, attributes=output), model_span((), 3, at=100))
    assert [doubt.name for doubt in run.trajectory.doubts] == ["unrecorded_calls"]
    stopped = output | {"gen_ai.response.finish_reasons": ["stop"]}
    assert run_of(agent_span(), model_span((), 2, at=10, attributes=stopped)).trajectory.doubts == []


def test_calls_beyond_the_limit_of_a_run_are_unrecorded() -> None:
    asked: list[tuple[str | None, str, Any]] = [(None, "look", {"n": number}) for number in range(1_000)]
    models = [model_span(asked, 10 + number, at=number, lasting=0.5) for number in range(12)]
    run = run_of(agent_span(), *models)
    assert len(run.trajectory.calls) == MAX_REQUESTED
    assert "unrecorded_calls" in [doubt.name for doubt in run.trajectory.doubts]


def test_the_request_tells_an_argument_from_the_parameter_that_holds_all_of_them() -> None:
    """A traced function of one parameter, ``def pay(a)``, records ``{"a": {...}}``."""
    paris, london = {"city": "Paris"}, {"city": "London"}
    requests = model_span([("c1", "look", paris), ("c2", "look", london)], 2, at=0)
    spans = [
        tool_span("look", {"a": {"city": city}}, 3 + at, at=20 + at) for at, city in enumerate(["London", "Paris"])
    ]
    run = run_of(agent_span(lasting=100), requests, *spans)
    assert [(call.id, call.arguments) for call in run.trajectory.calls] == [("c2", london), ("c1", paris)]


def test_an_argument_that_is_an_object_stays_one() -> None:
    """Nothing is taken off what the model itself requested."""
    order = {"order": {"id": 7}}
    run = run_of(
        agent_span(lasting=100), model_span([("c1", "pay", order)], 2, at=0), tool_span("pay", order, 3, at=20)
    )
    assert run.trajectory.calls[0].arguments == order


@pytest.mark.parametrize("attributes", [{"gen_ai.agent.name": "x"}, {"gen_ai.conversation.id": "x"}, {}])
def test_the_only_request_of_a_trace_that_asks_for_a_tool_goes_on_in_others(attributes: dict[str, Any]) -> None:
    """As rig has it, and a loop around a client without a span around it: each request is a trace of its own."""
    asked = model_span([("c1", "pay", {})], 1, 0, attributes=attributes)
    assert "other_traces" in doubts(run_of(asked))
    output = {"gen_ai.output.messages": '[{"role": "assistant"}]'}
    assert doubts(run_of(model_span([], 1, 0, attributes=attributes | output))) == []


def test_a_request_that_is_all_there_is_in_a_span_decides() -> None:
    below = model_span([("c1", "pay", {})], 2, 1, attributes={"gen_ai.agent.name": "x"})
    assert "other_traces" not in doubts(run_of(span("main", 1), below))
    shown = model_span([("c1", "pay", {})], 1, 0, attributes={"gen_ai.agent.name": "x"}, lasting=50)
    assert "other_traces" not in doubts(run_of(shown, tool_span("pay", {}, 2, 1, call_id="c1", at=20)))


@pytest.mark.parametrize(("reason", "is_open"), [("stop", True), ("tool_calls", False)])
def test_the_only_answer_of_a_model_may_have_the_form_of_a_call(reason: str, is_open: bool) -> None:
    """OpenAI ends it with "stop" where the request names the function: instructor calls none, it reads the arguments."""
    attributes = {"gen_ai.response.finish_reasons": [reason]}
    scope = "opentelemetry.instrumentation.openai.v1"
    asked = model_span([("c1", "Weather", {})], 2, 1, attributes=attributes, scope=scope)
    assert ("uncertain_execution" in doubts(run_of(span("main", 1, lasting=50), asked))) is is_open


def answered(*call_ids: str) -> Span:
    """The last request to the model, which is told what it asked for and what came of it."""
    parts = [{"type": "tool_call", "id": call_id, "name": "pay", "arguments": {}} for call_id in call_ids]
    results = [result(call_id, "paid") for call_id in call_ids]
    return model_span([], 4, at=50, input_messages=[user("go"), {"role": "assistant", "parts": parts}, *results])


@pytest.mark.parametrize(("told", "lacking"), [([], True), (["c1"], True), (["c1", "c2"], False)])
def test_spans_that_name_no_tool_are_the_calls_that_messages_tell_of(told: list[str], lacking: bool) -> None:
    asked = model_span([(call_id, "pay", {}) for call_id in told], 3, at=1, lasting=5)
    nameless = [span("step", number, 1, number, attributes={"op": "execute_tool"}) for number in (10, 11)]
    run = run_of(agent_span(), asked, *nameless, answered(*told))
    assert called(run) == ["pay"] * len(told)
    assert ("unrecorded_calls" in doubts(run)) is lacking


def test_a_span_that_names_no_tool_and_started_an_agent_is_not_told_of() -> None:
    asked = model_span([("c1", "pay", {})], 3, at=1, lasting=5)
    nameless = span("step", 10, 1, 10, 30, attributes={"op": "execute_tool"})
    inner = agent_span("inner", 11, 10, at=12, lasting=5)
    run, _ = runs_of(agent_span(), asked, nameless, inner, answered("c1"))
    assert called(run) == ["pay"]
    assert "unrecorded_calls" in doubts(run)


SAID = {"role": "assistant", "parts": [{"type": "text", "content": "I look it up."}]}
RESULT_IN_WORDS = {"role": "tool", "parts": [{"type": "text", "content": "11.5"}]}


@pytest.mark.parametrize(
    ("parent", "expected"),
    [(0, ["other_traces"]), (1, ["unrecorded_calls"])],
)
def test_results_of_calls_that_nothing_records_leave_the_run_open(parent: int, expected: list[str]) -> None:
    answer = model_span(
        number=2, parent=parent, input_messages=[user("The rate?"), SAID, RESULT_IN_WORDS],
        attributes={"gen_ai.response.finish_reasons": ["stop"]},
    )  # fmt: skip
    run = run_of(*([span("GET /", 1, lasting=100)] if parent else []), answer)
    assert (called(run), doubts(run)) == ([], expected)


@pytest.mark.parametrize(("told", "expected"), [("c1", []), ("c2", ["unrecorded_calls"])])
def test_the_result_of_a_call_that_nothing_records_leaves_the_run_open_beside_others(
    told: str, expected: list[str]
) -> None:
    # Langtrace records either the text of an answer or its calls, and no calls in inputs.
    first = model_span([("c1", "pay", {})], 2, at=1)
    last = model_span(number=3, at=9, input_messages=[user("Pay."), result("c1", "paid"), SAID, result(told, "paid")])
    run = run_of(span("GET /", 1, lasting=100), first, last)
    assert (called(run), doubts(run)) == (["pay"], expected)


def test_results_before_the_users_last_message_are_of_another_turn() -> None:
    told = [user("The rate?"), SAID, RESULT_IN_WORDS, SAID, user("Thanks.")]
    finish = {"gen_ai.response.finish_reasons": ["stop"]}
    assert doubts(run_of(model_span(number=2, parent=0, input_messages=told, attributes=finish))) == []


def test_a_call_is_that_of_the_request_with_exactly_its_arguments() -> None:
    # The first lacks what the tool requires, and was refused; a framework may add defaults to what was requested.
    first = model_span([("c1", "pay", {"order": 7})], 2, at=1, lasting=2)
    second = model_span([("c2", "pay", {"order": 7, "amount": 1})], 3, at=9, lasting=2)
    run = run_of(agent_span(), first, second, tool_span("pay", {"order": 7, "amount": 1}, 4, at=20))
    assert [(call.id, call.known_by) for call in run.trajectory.calls if call.executed] == [("c2", "span")]


@pytest.mark.parametrize("first", [True, False])
def test_a_run_that_goes_on_after_a_humans_answer_has_its_own_calls_alone(first: bool) -> None:
    """LangGraph: what an earlier trace did is in the input of the model, and the approved call comes before its request."""

    told = [user("go"), asked(("c1", "list", {})), result("c1", "none"), asked(("c2", "pay", {})), result("c2", "paid")]
    run = run_of(
        agent_span(attributes={"gen_ai.input.messages": [user("go")]}),
        tool_span("pay", {}, 2, at=10 if first else 60, call_id="c2"),
        model_span(number=3, at=30, input_messages=told),
    )
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


@pytest.mark.parametrize(
    "wrapper", ["{}", '{{"inputs": {}, "kwargs": {{"name": "travel"}}}}'], ids=["plain", "openllmetry"]
)
@pytest.mark.parametrize(("resume", "expected"), [("null", ["list"]), ('{"decisions": []}', [])])
def test_a_run_that_a_human_stopped_has_nothing_of_what_came_before(
    wrapper: str, resume: str, expected: list[str]
) -> None:
    """The input of LangGraph's agent is a `Command` then, and what a human refused leaves no span."""
    command = wrapper.format(f'{{"graph": null, "update": null, "resume": {resume}, "goto": []}}')
    call = {"type": "tool_call", "id": "c1", "name": "list", "arguments": {}}
    told = [user("go"), {"role": "assistant", "parts": [call]}, result("c1", "none")]
    run = run_of(
        agent_span(attributes={"gen_ai.input.messages": command}), model_span(number=3, at=30, input_messages=told)
    )
    assert (called(run), "other_traces" in doubts(run)) == (expected, not expected)


@pytest.mark.parametrize(
    ("error_type", "executed", "expected"),
    [
        ("com.fasterxml.jackson.core.io.JsonEOFException", False, []),
        ("json.decoder.JSONDecodeError", False, []),
        ("SyntaxError", False, []),
        ("CardDeclined", True, ["uncertain_execution"]),
    ],
)
def test_a_call_whose_arguments_a_parser_of_json_refused_did_not_run(
    error_type: str, executed: bool, expected: list[str]
) -> None:
    broken = '{"order": 7, "amount":'
    attributes = {"gen_ai.tool.call.arguments": broken, "error.type": error_type}
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", broken)], 2, at=1),
        tool_span("pay", None, 3, at=20, call_id="c1", attributes=attributes, status=2),
    )
    assert [call.executed for call in run.trajectory.calls] == [executed]
    assert [name for name in doubts(run) if name != "unreadable_arguments"] == expected


@pytest.mark.parametrize(
    ("error_type", "written", "expected"),
    [
        ("json.decoder.JSONDecodeError", None, ["uncertain_execution"]),
        ("*json.SyntaxError", None, ["uncertain_execution"]),  # Go
        ("json.decoder.JSONDecodeError", {"order": 7}, []),
        ("CardDeclined", None, []),
    ],
)
def test_without_content_a_parser_of_json_may_have_refused_the_arguments(
    error_type: str, written: dict[str, int] | None, expected: list[str]
) -> None:
    """AG2 1.2: its span of a call whose arguments are no JSON fails like one of a tool that parses something."""
    asked = [model_span([("c1", "pay", written)], 2, at=1)] if written else []
    failed = tool_span("pay", None, 3, at=20, call_id="c1", attributes={"error.type": error_type}, status=2)
    assert doubts(run_of(agent_span(), *asked, failed)) == expected


@pytest.mark.parametrize(("at", "expected"), [(2, [0, 0, 1]), (35, [0, 1, 2])])
def test_requests_that_ran_at_once_do_not_order_the_calls_that_they_asked_for(at: int, expected: list[int]) -> None:
    """Two branches of a graph, whose agents have no spans of their own."""
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", {})], 3, at=1, lasting=10),
        model_span([("c2", "pack", {})], 4, at=at, lasting=8),
        tool_span("pay", {}, 5, call_id="c1", at=at + 13, lasting=10),
        tool_span("pack", {}, 6, call_id="c2", at=at + 12, lasting=10),
        model_span([("c3", "ship", {})], 7, at=60, lasting=5),
        tool_span("ship", {}, 8, call_id="c3", at=70, lasting=5),
    )
    assert sorted(steps(run)) == expected


@pytest.mark.parametrize(
    ("told", "expected"),
    [([], ["pack", "pay"]), ([asked(("c1", "pay", {})), result("c1", "paid")], ["pay", "pack"])],
    ids=["at once", "told of the first"],
)
def test_requests_of_two_processes_that_ran_at_once_order_nothing_unless_one_was_told_of_the_other(
    told: list[dict[str, Any]], expected: list[str]
) -> None:
    one, other = (Resource({"service.name": "shop", "host.name": host}) for host in ("pod-1", "pod-2"))
    run = run_of(
        agent_span(lasting=4000),
        model_span([("c1", "pay", {})], 3, at=10, lasting=2000, resource=one),
        model_span([("c2", "pack", {})], 4, at=20, lasting=900, resource=other, input_messages=[user("go"), *told]),
        tool_span("pack", {}, 6, call_id="c2", at=1000, lasting=100, resource=other),
        tool_span("pay", {}, 5, call_id="c1", at=2100, lasting=100, resource=one),
    )
    assert (called(run), doubts(run)) == (expected, [])


@pytest.mark.parametrize(
    ("at", "knows_first", "expected"),
    [(2, False, ["uncertain_order"]), (30, False, []), (2, True, [])],
    ids=["two conversations at once", "one after the other", "a stream whose span ends late"],
)
def test_what_two_conversations_at_once_asked_for_is_in_no_order_unless_spans_of_the_calls_show_it(
    at: int, *, knows_first: bool, expected: list[str]
) -> None:
    """Clients of models, asked under one span for several users: nothing but the answers tells of the calls."""
    paid, packed = [asked(("c1", "pay", {})), result("c1", "paid")], [asked(("c2", "pack", {})), result("c2", "packed")]
    known = paid if knows_first else []
    run = run_of(
        span("job", 1, lasting=100),
        model_span([("c1", "pay", {})], 3, at=1, lasting=10, input_messages=[user("go")]),
        model_span([("c2", "pack", {})], 4, at=at, lasting=7, input_messages=[user("go"), *known]),
        model_span((), 5, at=60, lasting=7, input_messages=[user("go"), *paid]),
        model_span((), 6, at=61, lasting=7, input_messages=[user("go"), *known, *packed]),
    )
    assert (sorted(called(run)), doubts(run)) == (["pack", "pay"], expected)


def test_the_cost_of_calls_that_wait_for_a_human_is_linear() -> None:
    def work(count: int) -> int:
        asked = [model_span([(None, "pay", {"at": at})], 10 + at, at=at, lasting=0.5) for at in range(count)]
        waiting = [
            tool_span(
                "pay", {"at": at}, 10 + count + at, at=2 * count + at, lasting=0.5, scope="logfire.claude_agent_sdk"
            )
            for at in range(count)
        ]
        return operations.calls(lambda: run_of(agent_span(lasting=1e6), *asked, *waiting))

    assert work(600) < 2.3 * work(300)


@pytest.mark.parametrize(("is_inside", "expected"), [(True, ["uncertain_order"]), (False, [])])
def test_what_an_agent_without_a_span_was_told_is_in_no_order_with_the_call_around_it(
    is_inside: bool, expected: list[str]
) -> None:
    """OpenLLMetry for JavaScript (0.27) leaves out what answers of the Responses API ask for: inputs alone tell of calls."""
    text = '[{"role": "assistant", "parts": [{"type": "text", "content": ""}]}]'
    silent = {"gen_ai.output.messages": text, "gen_ai.response.finish_reasons": ["stop"]}
    found = [asked(("call_7Hq0Zk3A", "find", {})), result("call_7Hq0Zk3A", "2 rules")]
    given = [asked(("call_8Jk1Yv4C", "ask_policy", {})), result("call_8Jk1Yv4C", "refund")]
    requests = [[], [], found, given] if is_inside else [[], found, [], given]
    run = run_of(
        span("job", 1, lasting=100),
        *[
            model_span((), 3 + at, at=10 * at, lasting=7, input_messages=[user("go"), *told], attributes=silent)
            for at, told in enumerate(requests)
        ],
    )
    assert (sorted(called(run)), doubts(run)) == (["ask_policy", "find"], expected)
