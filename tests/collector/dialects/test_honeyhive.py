"""Functions under HoneyHive's decorator."""

from __future__ import annotations

from typing import Any

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, read_tool, run_of, span


def hive(name: str, number: int, kind: str, parent: int = 0, **more: Any) -> Span:
    inputs = {f"honeyhive_inputs.{key}": value for key, value in more.pop("inputs", {}).items()}
    common = {"honeyhive.session_id": "s1", "honeyhive_event_type": kind, "honeyhive_event_name": name}
    attributes = {**common, **inputs, **more.pop("attributes", {})}
    return span(name, number, parent, attributes=attributes, scope="honeyhive.140505502804880", **more)


def test_a_run() -> None:
    raised = [("exception", {"exception.type": "ValueError", "exception.message": "declined"})]
    failed: dict[str, Any] = {"status": 2, "message": "ValueError: declined", "events": raised}
    reported = {"honeyhive_event_type": "tool", "honeyhive_error": "declined", "honeyhive_error_type": "ValueError"}
    run = run_of(
        hive("serve", 1, "chain", inputs={"question": "book it"}, lasting=100),
        hive("book", 2, "tool", 1, at=5, inputs={"input": "the best", "for": '{"days": [1]}', "note": "None", "n": 2}),
        hive("pay", 3, "tool", 1, at=20, **failed),
        span("pay_error", 4, 1, at=40, attributes=reported, scope="honeyhive.140505502804880", **failed),
    )
    assert (called(run), doubts(run), run.conversation_id) == (["book", "pay"], [], "s1")
    assert [call.arguments for call in run.trajectory.calls] == [
        {"input": "the best", "for": {"days": [1]}, "note": None, "n": 2},
        {},
    ]
    assert [call.status for call in run.trajectory.calls] == ["unset", "error"]


def test_a_function_inside_is_a_step() -> None:
    assert dialects.read_span(hive("ask_specialist", 2, "chain", 1)) is IGNORED


def test_the_span_of_another_instrumentation_is_left_to_its_dialect() -> None:
    attributes = {"honeyhive_event_type": "tool", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    assert read_tool(span("execute_tool pay", 2, 1, attributes=attributes))[:3] == ("pay", None, None)
