"""Calls that may be those of an agent without a span of its own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import agent_span, called, doubts, model_span, run_of, tool_span


@pytest.mark.parametrize(
    ("inner", "at", "expected"),
    [
        ([("c2", "lookup", {"id": 1})], 20, ["uncertain_owner"]),
        ([], 20, ["uncertain_owner"]),  # what it answered is not recorded
        ([("c9", "other", {})], 70, []),  # the tool had ended: its tracer never left the span
    ],
    ids=["asks", "may ask", "after"],
)
def test_calls_that_a_model_asked_a_tool_for_may_be_of_an_agent_inside(
    inner: list[tuple[str, str, dict[str, Any]]], at: int, expected: list[str]
) -> None:
    run = run_of(
        agent_span(),
        model_span([("c1", "ask_expert", {})], 2, at=1, lasting=5),
        tool_span("ask_expert", {}, 3, at=10, lasting=50),
        model_span(inner, 4, 3, at=at, lasting=5),
        tool_span("lookup", {"id": 1}, 5, 3, at=30, lasting=5),
    )
    assert [name for name in doubts(run) if name == "uncertain_owner"] == expected


def test_a_call_inside_a_tool_that_asked_no_model_is_one_of_the_run() -> None:
    run = run_of(
        agent_span(),
        model_span([("c1", "ask_expert", {})], 2, at=1, lasting=5),
        tool_span("ask_expert", {}, 3, at=10, lasting=50),
        tool_span("lookup", {"id": 1}, 5, 3, at=30, lasting=5),
    )
    assert called(run) == ["ask_expert", "lookup"]
    assert "uncertain_owner" not in doubts(run)
