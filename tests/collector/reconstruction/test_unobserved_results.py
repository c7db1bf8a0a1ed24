"""Calls of which nothing tells whether they failed: a rule that counts failures must not take them for successes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from scorers import load_rules
from scorers.trajectory import Trajectory
from tests.builders import agent_span, doubts, log, model_span, result, run_of, span, tool_span

PAY = ("c1", "pay", {"order": 7})
(NO_FAILURES,) = load_rules({"rules": [{"name": "r", "expect": {"max_errors": 0}}]}).rules


def label(trajectory: Trajectory) -> str:
    (evaluation,) = NO_FAILURES.evaluate(trajectory)
    return evaluation.score.label


def called_by_an_application(*after: Any) -> Trajectory:
    """An application of which only the requests to the model are recorded."""
    return run_of(span("POST /chat", 1, lasting=100), model_span([PAY], 2, at=1), *after).trajectory


def test_a_result_that_is_nowhere_may_be_a_failure() -> None:
    trajectory = called_by_an_application(model_span(number=3, at=20))
    assert (label(trajectory), [doubt.sentence for doubt in trajectory.doubts]) == (
        "incomplete",
        ["pay: no span and no message says whether it failed"],
    )


@pytest.mark.parametrize(
    ("told", "expected"),
    [("paid", "pass"), ("Error: declined", "fail"), ({"status": "failed", "order": 7}, "incomplete")],
)
@pytest.mark.parametrize("call_id", ["c1", None])
def test_a_result_in_an_input_that_does_not_hold_its_call(call_id: str | None, told: Any, expected: str) -> None:
    told_to = model_span(number=3, at=20, input_messages=[result(call_id or "", told)])
    assert label(called_by_an_application(told_to)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"id": "c1", "content": "paid"}, "pass"),
        ({"id": "c1", "content": "Error: declined"}, "fail"),
        ({"id": "c1"}, "incomplete"),  # content is not captured
        ({"id": "c1", "content": '{"status": "failed", "build": 7}'}, "incomplete"),  # of the call, or of the build
    ],
)
def test_a_result_in_an_event(body: Mapping[str, Any], expected: str) -> None:
    events = (model_span(number=3, at=20), log("gen_ai.tool.message", 3, body, at=21))
    assert label(called_by_an_application(*events)) == expected


def test_a_call_that_its_span_shows_did_not_fail_unless_it_says_so() -> None:
    run = run_of(agent_span(), model_span([PAY], 2, at=1), tool_span("pay", {"order": 7}, 3, at=9, call_id="c1"))
    assert (label(run.trajectory), doubts(run)) == ("pass", [])


def test_what_may_have_been_denied_failed_if_it_ran() -> None:
    told = [{"role": "assistant"}, result("c1", "User denied permission")]
    run = run_of(
        span("POST /chat", 1, lasting=100), model_span([PAY], 2, at=1), model_span(number=3, at=20, input_messages=told)
    )
    assert ([(call.executed, call.status) for call in run.trajectory.calls], doubts(run)) == (
        [(True, "error")],
        ["uncertain_execution"],
    )


@pytest.mark.parametrize(
    ("told", "expected"), [("card declined", "incomplete"), ("Error: card declined", "incomplete")]
)
def test_a_lost_span_may_have_been_of_a_call_that_failed(told: str, expected: str) -> None:
    """What the model is told of a failure may read like any other result."""
    mail: tuple[str, str, dict[str, Any]] = ("c2", "mail", {})
    run = run_of(
        agent_span(),
        model_span([PAY], 2, at=1),
        model_span([mail], 3, at=20, input_messages=[result("c1", told)]),
        tool_span("mail", {}, 4, at=30, call_id="c2"),
        model_span(number=5, at=40),
    )
    assert label(run.trajectory) == expected


@pytest.mark.parametrize(("scope", "expected"), [("@traceloop/node-server-sdk", "fail"), ("test", "incomplete")])
def test_a_status_in_an_answer_is_of_the_call_where_only_calls_that_fail_leave_no_span(
    scope: str, expected: str
) -> None:
    mail: tuple[str, str, dict[str, Any]] = ("c2", "mail", {})
    kind = {"traceloop.span.kind": "tool", "traceloop.entity.name": "mail"}
    told = [{"role": "assistant"}, result("c1", {"status": "failed", "order": 7}), result("c2", "sent")]
    run = run_of(
        agent_span(),
        model_span([PAY, mail], 2, at=1),
        tool_span("mail", {}, 4, at=30, call_id="c2", attributes=kind, scope=scope),
        model_span(number=5, at=60, input_messages=told),
    )
    assert label(run.trajectory) == expected
