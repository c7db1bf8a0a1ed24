"""Runs of which a request to the model says nothing of its answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, result, run_of, tool_span
from tests.operations import calls


def requests(last: Span, *more: Span, status: int = 2) -> list[str]:
    """The doubts of a run that asked for a tool, was told its result, and asked again."""
    told = [result("c1", "sunny")]
    first = model_span([("c1", "find", {})], 2, at=1, lasting=5)
    second = model_span([("c2", "look", {})], 3, at=20, lasting=5, input_messages=told)
    run = run_of(agent_span(status=status), first, second, last, *more)
    assert called(run)[0] == "find"
    return doubts(run)


def again(*, attributes: dict[str, str] | None = None, status: int = 0, scope: str = "test") -> Span:
    told = [result("c1", "sunny"), result("c2", "nothing")]
    return model_span(
        (), 4, at=40, lasting=5, input_messages=told, attributes=attributes or {}, status=status, scope=scope
    )


def test_a_run_that_failed_after_an_answer_which_was_not_recorded_may_lack_a_call() -> None:
    assert "unrecorded_calls" in requests(again())


@pytest.mark.parametrize(
    "last",
    [
        again(attributes={"gen_ai.response.finish_reasons": "stop"}),
        again(
            attributes={
                "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]'
            }
        ),
        again(status=2),  # the request itself failed
        again(scope="another"),  # which records no answers at all
    ],
)
def test_it_lacks_none_if_the_answer_is_known_or_there_was_none(last: Span) -> None:
    assert "unrecorded_calls" not in requests(last)


def test_it_lacks_none_if_a_span_shows_the_call_or_the_run_did_not_fail() -> None:
    shown = [
        tool_span(name, {}, number, at=at) for name, number, at in (("find", 6, 10), ("look", 7, 30), ("pay", 8, 50))
    ]
    assert requests(again(), *shown) == []
    assert requests(again(), status=0) == []


@pytest.mark.parametrize("status", [0, 2])
def test_the_cost_of_requests_that_no_span_shows_is_linear(status: int) -> None:
    def work(count: int) -> int:
        asked = [model_span([(None, "pay", {"at": at})], 10 + at, at=20 * at, lasting=10) for at in range(count)]
        return calls(lambda: run_of(agent_span(status=status, lasting=1e6), *asked))

    assert work(800) < 2.5 * work(400)


OF_SMOLAGENTS = "these tools are basically Python functions which you can call with code."


def code(text: str, told: str, parent: int) -> Span:
    """A request to a model that writes code, as instrumentations of clients record it."""
    said = [{"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": "stop"}]
    system = {"role": "system", "parts": [{"type": "text", "content": told}]}
    attributes = {"gen_ai.output.messages": json.dumps(said)}
    return model_span((), 2, parent, at=1, lasting=5, input_messages=[system], attributes=attributes)


@pytest.mark.parametrize(
    "text",
    [
        "Thought: so.\n<code>\nprint(find('Oslo'))\n</code>",
        "Thought: so.\n```py\nprint(find('Oslo'))\n```<end_code>",
        json.dumps({"thought": "so", "code": "print(find('Oslo'))"}),
    ],
)
def test_code_may_call_tools_that_leave_no_spans(text: str) -> None:
    assert doubts(run_of(code(text, OF_SMOLAGENTS, 0))) == ["unrecorded_calls", "other_traces"]
    assert doubts(run_of(agent_span(), code(text, OF_SMOLAGENTS, 1))) == ["unrecorded_calls"]
    assert doubts(run_of(agent_span(), code(text, "You teach Python.", 1))) == []


@pytest.mark.parametrize(
    ("scope", "more"),
    [
        ("openinference.instrumentation.smolagents", []),  # it has spans of tools: this code called none
        ("openlit.instrumentation.smolagents", []),
        ("app", [tool_span("find", {}, 3, at=10)]),
    ],
)
def test_code_whose_calls_leave_spans_called_what_these_show(scope: str, more: list[Any]) -> None:
    answer = code("<code>\nprint(1)\n</code>", OF_SMOLAGENTS, 1)
    assert doubts(run_of(agent_span(scope=scope), answer, *more)) == []
