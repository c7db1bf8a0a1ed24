"""Functions under Agenta's decorator."""

from __future__ import annotations

from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, run_of, span


def ag(name: str, number: int, kind: str, parent: int = 0, **more: Any) -> Span:
    inputs = {f"ag.data.inputs.{key}": value for key, value in more.pop("inputs", {}).items()}
    attributes = {"ag.type.tree": "invocation", "ag.type.node": kind, **inputs}
    return span(name, number, parent, attributes=attributes, scope="agenta.tracer", **more)


@pytest.mark.parametrize("kind", ["tool", "TOOL"])
def test_a_run(kind: str) -> None:
    run = run_of(
        ag("serve", 1, "workflow", inputs={"question": "book it"}, lasting=100),
        ag("book", 2, kind, 1, at=5, inputs={"room": 7, "guests": '@ag.type=json:["Ada"]', "note": "[late]"}),
        ag("pay", 3, kind, 1, at=20, inputs={"sum": 1.5}, status=2, message="ValueError: declined"),
    )
    assert (called(run), doubts(run), run.dialect) == (["book", "pay"], [], "agenta")
    assert [call.arguments for call in run.trajectory.calls] == [
        {"room": 7, "guests": ["Ada"], "note": "[late]"},
        {"sum": 1.5},
    ]
    assert [call.status for call in run.trajectory.calls] == ["unset", "error"]


def test_an_agent_has_its_name_and_other_functions_are_steps() -> None:
    run = run_of(ag("clerk", 1, "agent", lasting=100), ag("book", 2, "tool", 1))
    assert (run.agent, called(run)) == ("clerk", ["book"])
    assert dialects.read_span(ag("rank", 3, "task", 1)) is IGNORED
