"""Functions under Laminar's decorator."""

from __future__ import annotations

from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, run_of, span


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


def test_what_was_passed_by_position_has_no_names() -> None:
    run = run_of(lmnr("serve", 1, lasting=100), lmnr("pay", 2, 1, "TOOL", '["pay it"]'))
    assert doubts(run) == ["unreadable_arguments"]


def test_what_a_framework_exports_through_laminars_tracer_is_in_the_frameworks_words() -> None:
    attributes = {"lmnr.span.path": ["ai.toolCall"], "ai.operationId": "ai.toolCall", "ai.toolCall.name": "pay"}
    read = dialects.read_span(span("ai.toolCall", 2, 1, attributes=attributes, scope="lmnr.tracer"))
    assert read is not None
    assert (read.name, read.dialect) == ("pay", "ai_sdk")
