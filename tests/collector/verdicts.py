"""Verdicts for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from collector.reconstruction.run import Run
from collector.scoring.verdict import Verdict
from scorers import Doubt, Evaluation, Outcome, Score, ToolCall, Trajectory
from scorers.trajectory import DoubtName
from tests.otlp_data import TRACE, span_id


def run_of(*tools: str, number: int = 1, doubts: Sequence[DoubtName] = (), **fields: Any) -> Run:
    """A run anchored at span ``number`` whose calls are the spans after it; what is in doubt is about all of them."""
    calls = [ToolCall(name, span_id=span_id(number + at).hex(), step=at) for at, name in enumerate(tools, 1)]
    facts: dict[str, Any] = {
        "trace_id": TRACE,
        "span_id": span_id(number),
        "parent_span_id": None,
        "agent": "helper",
        "conversation_id": None,
        "route": None,
        "intent": None,
        "user_input": None,
        "response_id": None,
        "service": "shop",
        "dialect": "otel_genai",
        "attributes": {},
        "trajectory": Trajectory(calls, doubts=[Doubt(name, range(len(calls))) for name in doubts]),
        "call_span_ids": tuple(span_id(number + at) for at, _ in enumerate(tools, 1)),
        "started_by": None,
    }
    return Run(**{**facts, **fields})


def evaluation(
    label: Any = "pass", value: float | None = 1.0, name: str = "trajectory", primary: bool = True, **score: Any
) -> Evaluation:
    """One evaluation."""
    return Evaluation(name, Score(value, label, score.pop("explanation", "because"), **score), f"{name}@1", primary)


def verdict_of(
    *tools: str,
    outcomes: Sequence[Outcome] = (),
    label: Any = "pass",
    value: float | None = 1.0,
    doubts: Sequence[DoubtName] = (),
    **fields: Any,
) -> Verdict:
    """A verdict of rule ``weather`` on a run with these calls."""
    run = run_of(*tools, doubts=doubts, **fields.pop("run", {}))
    evaluations = fields.pop("evaluations", [evaluation(label, value, outcomes=tuple(outcomes))])
    return Verdict(
        run,
        **{
            "release": "root",
            "rule": "weather",
            "digest": "d1",
            "evaluations": evaluations,
            **fields,
        },
    )
