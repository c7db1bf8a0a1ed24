"""Functions under Netra's decorators, and what it records of requests to models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, run_of, span


def function(name: str, number: int, kind: str, parent: int = 0, given: Any = None, **more: Any) -> Span:
    common = {
        "library.name": "netra",
        "netra.span.type": kind,
        "netra.entity.type": "task",
        "netra.agent.name": "clerk",
    }
    return span(name, number, parent, attributes={**common, "input": json.dumps(given)}, scope=name, **more)


def request(number: int, answer: str, *before: tuple[str, str], call_id: str = "", at: float = 0) -> Span:
    """A request; ``before`` are texts that ask for a call, with its result."""
    attributes: dict[str, Any] = {"netra.instrumentation.name": "openai", "llm.request.type": "chat"}
    attributes |= {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "book it"}
    for at_call, (asked, told) in enumerate(before):
        place = f"gen_ai.prompt.{2 * at_call + 1}.", f"gen_ai.prompt.{2 * at_call + 2}."
        attributes |= {f"{place[0]}role": "assistant", f"{place[0]}content": asked, f"{place[0]}tool_call_id": "c1"}
        attributes |= {f"{place[1]}role": "tool", f"{place[1]}content": told, f"{place[1]}tool_call_id": "c1"}
    attributes |= {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": answer}
    if call_id:
        attributes["gen_ai.completion.0.tool_call_id"] = call_id
    attributes["gen_ai.completion.1.finish_reason"] = "tool_calls" if call_id else "stop"
    return span("openai.chat", number, 2, at, attributes=attributes, scope="netra.instrumentation.openai", status=1)


ASKED = json.dumps({"name": "book", "arguments": json.dumps({"room": 7, "note": None, "days": [1], "name": "Ada"})})
TEXTS = {"room": "7", "note": "None", "days": "[1]", "name": "Ada"}
ROOT = function("serve", 1, "SPAN", given={"q": "book it"}, lasting=200)
AGENT = function("clerk", 2, "AGENT", 1, {"q": "book it"}, lasting=190)


def test_a_run() -> None:
    run = run_of(
        ROOT,
        AGENT,
        request(3, ASKED, call_id="c1", at=5),
        function("book", 4, "TOOL", 2, TEXTS, at=20),
        request(5, "Booked.", (ASKED, "done"), at=40),
    )
    assert (run.agent, called(run), doubts(run), run.dialect) == ("clerk", ["book"], [], "netra")
    assert run.trajectory.calls[0].id == "c1"
    assert run.trajectory.calls[0].arguments == {"room": 7, "note": None, "days": [1], "name": "Ada"}


@pytest.mark.parametrize(
    ("given", "arguments", "expected"),
    [(TEXTS, None, ["unreadable_arguments"]), ({"name": "Ada"}, {"name": "Ada"}, []), ({}, {}, [])],
)
def test_without_the_request_nothing_tells_the_types_of_arguments(given: Any, arguments: Any, expected: Any) -> None:
    run = run_of(ROOT, AGENT, function("book", 3, "TOOL", 2, given, at=5))
    assert (run.trajectory.calls[0].arguments, doubts(run)) == (arguments, expected)


def test_a_function_that_raised_has_no_status() -> None:
    raised = [("exception", {"exception.type": "ValueError", "exception.message": "declined"})]
    run = run_of(ROOT, AGENT, function("pay", 3, "TOOL", 2, {"name": "Ada"}, at=5, events=raised))
    assert (run.trajectory.calls[0].status, doubts(run)) == ("error", [])


def test_a_call_that_no_span_shows_is_known_by_the_messages() -> None:
    first, second = request(3, ASKED, call_id="c1", at=5), request(4, "Sorry.", (ASKED, "Error: full"), at=40)
    run = run_of(ROOT, AGENT, first, second)
    assert [(call.known_by, call.status) for call in run.trajectory.calls] == [("result", "error")]


def test_other_functions_are_steps() -> None:
    assert dialects.read_span(function("rank", 3, "SPAN", 2, {})) is IGNORED
