"""Runs of which a span is missing, and whose messages prove or do not prove that it is no tool call."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import agent_span, doubts, model_span, run_of, span, tool_span

ASKS = {"gen_ai.response.finish_reasons": ["tool_calls"]}
ANSWERS = {"gen_ai.response.finish_reasons": ["stop"]}
STEP = 50  # the id of a span that never came


def text(words: str, number: int, parent: int, at: float) -> Span:
    output = '[{"role": "assistant", "parts": [{"type": "text", "content": "' + words + '"}]}]'
    return model_span(number=number, parent=parent, at=at, attributes={**ANSWERS, "gen_ai.output.messages": output})


def turn(name: str, number: int, parent: int, at: float) -> list[Span]:
    """A model's request for a call, and the call."""
    call_id = f"c{number}"
    return [
        model_span([(call_id, name, {})], number, parent, at=at, attributes=ASKS),
        tool_span(name, {}, number + 1, parent, at=at + 12, call_id=call_id),
    ]


def with_lost_step(*, parent: int = 1) -> list[Span]:
    """A run of which the step with the second turn was lost."""
    return [
        *turn("find", 2, parent, at=10),
        *turn("pay", 4, STEP, at=40),
        text("done", 8, parent, at=80),
    ]


def test_a_missing_span_of_a_run_whose_models_asked_for_all_that_ran_is_no_call() -> None:
    run = run_of(agent_span(), *with_lost_step())
    assert "missing_span" not in doubts(run)
    assert "missing_step" in doubts(run)


def test_an_answer_that_ended_without_calls_need_not_be_captured() -> None:
    silent = model_span(number=8, parent=1, at=80, attributes=ANSWERS)
    run = run_of(agent_span(), *with_lost_step()[:-1], silent)
    assert "missing_step" in doubts(run)


def without_a_call(spans: list[Span]) -> list[Span]:
    return [one for one in spans if one.span_id[-1] != 3]


def without_a_request(spans: list[Span]) -> list[Span]:
    return [one for one in spans if one.span_id[-1] != 2]


def without_content(spans: list[Span]) -> list[Span]:
    for one in spans:
        one.attributes = {key: value for key, value in one.attributes.items() if "messages" not in key}
    return spans


@pytest.mark.parametrize("change", [without_a_request, without_a_call, without_content])
def test_it_may_be_one_where_a_call_lacks_its_request_or_a_request_its_call(change: Any) -> None:
    spans = [agent_span(), *turn("find", 2, 1, at=10), span("GET", 7, STEP, at=60), text("done", 8, 1, at=80)]
    assert doubts(run_of(*spans)) == ["missing_step"]
    assert doubts(run_of(*change(spans)))[0] == "missing_span"


def test_a_run_whose_agent_is_missing_may_have_gone_on() -> None:
    assert doubts(run_of(*turn("find", 2, STEP, at=10), text("done", 8, STEP, at=80)))[0] == "missing_anchor"


def test_a_run_whose_last_answer_asked_for_tools_has_not_ended_with_it() -> None:
    """Who was told the results is missing, and what it asked for next."""
    run = run_of(agent_span(), *with_lost_step()[:-1])
    assert "missing_span" in doubts(run)
    assert "missing_step" not in doubts(run)
