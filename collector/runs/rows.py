"""Verdicts as rows: plain data with what one rule says of an agent run, or of a trace or conversation.

Names and texts in a row are as they were received: hostile. Whatever writes a row escapes them.
"""

from __future__ import annotations

from typing import Any, Final

from collector.scoring.verdict import Verdict
from scorers import Evaluation, ToolCall
from scorers.conformance.difference import Difference

Row = dict[str, Any]
_NOTHING_TO_SHOW: Final = ("", "pass")


def row_of(verdict: Verdict, difference: Difference | None = None, *, values: bool = True) -> Row:
    """What one rule says of an agent run, or of the trace or conversation that begins with it.

    ``difference`` is that of the verdict, where it is known already; values of arguments are in it only if ``values``.
    """
    # A pass has no difference to show, and most runs pass.
    if difference is None and (verdict.label not in _NOTHING_TO_SHOW or _may_forbid(verdict)):
        difference = verdict.difference()
    run, outcomes = verdict.run, verdict.outcomes if verdict.rule else None
    row = {
        "trace_id": run.trace_id.hex(),
        "span_id": run.span_id.hex(),
        "parent_span_id": run.parent_span_id.hex() if run.parent_span_id else None,
        "agent": run.agent,
        "conversation_id": run.conversation_id,
        "route": run.route,
        "intent": run.intent,
        "user_input": run.user_input,
        "dialect": run.dialect,
        "complete": verdict.complete,
        "doubts": list(verdict.doubts),
        "release": verdict.release,
        "tool_calls": [
            _call(call, outcomes[index] if outcomes else None) for index, call in enumerate(run.trajectory.calls)
        ],
        "rule": verdict.rule,
        "evaluations": [evaluation_row(evaluation) for evaluation in verdict.evaluations],
    }
    if run.found_intent is not None:
        row["intent_reason"] = run.found_intent.reason
    if verdict.unscored_reason is not None:
        row["unscored_reason"] = verdict.unscored_reason
    if difference is not None and verdict.label not in _NOTHING_TO_SHOW:
        row["reasons"], row["difference"] = reasons_of(verdict, difference), difference.data(values=values)
    if _is_forbidden(verdict, difference):
        row["forbidden"] = True
    if verdict.scope != "run":
        row["scope"] = verdict.scope
    if verdict.shadow:
        row["shadow"] = True
    return row


def evaluation_row(evaluation: Evaluation) -> Row:
    """What one scorer says."""
    score = evaluation.score
    return {
        "name": evaluation.name,
        "value": score.value,
        "label": score.label,
        "explanation": score.explanation,
        "details": dict(score.details),
    }


def reasons_of(verdict: Verdict, difference: Difference | None = None) -> list[str]:
    """Returns what stands against a pass, in a few words without values; nothing for a pass and where no rule scored it."""
    if verdict.label in _NOTHING_TO_SHOW:
        return []
    primary = next(evaluation.score for evaluation in verdict.evaluations if evaluation.primary)
    reasons: list[str] = list((verdict.difference() if difference is None else difference).reasons)
    if primary.label == "error":
        reasons = [str(primary.details.get("error.type", "error"))]
    elif primary.label != "fail":
        reasons = list(verdict.doubts)
    # A published scorer may fail a run in which the rule's own expectation finds nothing.
    return reasons or [primary.explanation]


def _may_forbid(verdict: Verdict) -> bool:
    rule = verdict.compiled_rule.rule if verdict.compiled_rule is not None else None
    return rule is not None and rule.expect is not None and bool(rule.expect.forbid)


def _is_forbidden(verdict: Verdict, difference: Difference | None) -> bool:
    """Whether the rule forbids a call of the run, whichever scorer is primary: a model may be, whose score follows."""
    if "forbidden" in verdict.outcomes or difference is None or not _may_forbid(verdict):
        return "forbidden" in verdict.outcomes
    return any(row.outcome == "forbidden" for row in difference.rows)


def is_of_run(row: Row) -> bool:
    """Whether it is the row of the run itself, of which each run has one."""
    return "scope" not in row and "shadow" not in row


def _call(call: ToolCall, outcome: str | None) -> Row:
    row = {
        "id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": call.status,
        "error_type": call.error_type,
        "start_ns": call.start_ns,
        "end_ns": call.end_ns,
        "span_id": call.span_id,
        "executed": call.executed,
        "known_by": call.known_by,
        "step": call.step,
        "outcome": outcome,
    }
    if call.arguments_text is not None:
        row["arguments_text"] = call.arguments_text
    return row
