"""Functions under Laminar's decorator."""

from __future__ import annotations

from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, model_span, run_of, span

DOUBTED = ["uncertain_execution", "unobserved_results"]
DOUBTED_CALLS = ["unrecorded_calls"]


def lmnr(name: str, number: int, parent: int = 0, kind: str | None = None, given: str = "{}", **more: Any) -> Span:
    attributes = {
        "lmnr.span.path": ["serve", name],
        "lmnr.span.input": given,
        "lmnr.span.language_version": "python@3.11",
    }
    if kind is not None:
        attributes["lmnr.span.type"] = kind
    return span(name, number, parent, attributes=attributes, scope="lmnr.tracer", **more)


@pytest.mark.parametrize("kind", ["DEFAULT", None])  # Python, JavaScript
def test_a_run(kind: str | None) -> None:
    run = run_of(
        lmnr("serve", 1, kind=kind, given='["pay it"]', lasting=100),
        lmnr("tool", 2, 1, "TOOL", '{"order":7}', at=5),
        lmnr("check", 3, 1, kind, at=20),
        lmnr("mail", 4, 3, "TOOL", at=25),
    )
    assert (called(run), doubts(run), run.dialect) == (["tool", "mail"], [], "laminar")
    assert [call.arguments for call in run.trajectory.calls] == [{"order": 7}, {}]
    assert dialects.read_span(lmnr("check", 3, 1, kind)) is IGNORED


def test_a_function_that_raised_has_no_status_in_javascript() -> None:
    raised = [("exception", {"exception.type": "Error", "exception.message": "declined"})]
    run = run_of(lmnr("serve", 1, lasting=100), lmnr("pay", 2, 1, "TOOL", events=raised))
    assert (run.trajectory.calls[0].status, doubts(run)) == ("error", [])


@pytest.mark.parametrize("has_raised", [True, False])
def test_a_call_that_was_asked_for_last_may_be_under_way_where_the_run_raised_for_a_timeout(
    *, has_raised: bool
) -> None:
    raised = [("exception", {"exception.type": "Error", "exception.message": "timeout"})] if has_raised else []
    run = run_of(
        lmnr("serve", 1, lasting=100, events=raised),
        model_span([("call_1", "look", {})], 2, at=1),
        lmnr("look", 3, 1, "TOOL", at=20),
        model_span([("call_2", "mail", {})], 4, at=40),
    )
    assert (called(run), doubts(run)) == (["look", "(mail)"], DOUBTED if has_raised else [])


@pytest.mark.parametrize("has_raised", [True, False])
def test_an_answer_of_which_openllmetry_kept_no_call_may_have_asked_for_one_where_the_run_raised(
    *, has_raised: bool
) -> None:
    raised = [("exception", {"exception.type": "Error", "exception.message": "timeout"})] if has_raised else []
    answer = '[{"role":"assistant","finish_reason":"stop","parts":[{"type":"text","content":""}]}]'

    def chat(number: int, at: float) -> Span:
        return span("chat main", number, 1, at, 5, scope="@traceloop/instrumentation-openai", attributes={
            "gen_ai.operation.name": "chat", "gen_ai.response.id": f"resp_{number}",
            "gen_ai.response.finish_reasons": ["stop"], "gen_ai.output.messages": answer,
        })  # fmt: skip

    run = run_of(
        lmnr("serve", 1, lasting=100, events=raised), chat(2, 1), lmnr("look", 3, 1, "TOOL", at=20), chat(4, 40)
    )
    assert (called(run), doubts(run)) == (["look"], DOUBTED_CALLS if has_raised else [])


def test_what_was_passed_by_position_has_no_names() -> None:
    run = run_of(lmnr("serve", 1, lasting=100), lmnr("pay", 2, 1, "TOOL", '["pay it"]'))
    assert doubts(run) == ["unreadable_arguments"]


def test_what_a_framework_exports_through_laminars_tracer_is_in_the_frameworks_words() -> None:
    attributes = {"lmnr.span.path": ["ai.toolCall"], "ai.operationId": "ai.toolCall", "ai.toolCall.name": "pay"}
    read = dialects.read_span(span("ai.toolCall", 2, 1, attributes=attributes, scope="lmnr.tracer"))
    assert read is not None
    assert (read.name, read.dialect) == ("pay", "ai_sdk")
