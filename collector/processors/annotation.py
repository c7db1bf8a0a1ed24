"""What a verdict writes on the spans it is about."""

from __future__ import annotations

from collector import semconv
from collector.otlp.annotate import AttributeValue
from collector.verdict import Verdict


def anchor_attributes(verdict: Verdict) -> dict[str, AttributeValue]:
    """The attributes of a run's anchor: the rule, every score, and the primary one under its standard name."""
    run = verdict.run
    attributes: dict[str, AttributeValue] = {semconv.TOOLSCORE_COMPLETE: verdict.complete}
    for name, value in (
        (semconv.TOOLSCORE_RULE, verdict.rule),
        (semconv.TOOLSCORE_RULE_DIGEST, verdict.digest),
        (semconv.TOOLSCORE_ROUTE, run.route),
        (semconv.TOOLSCORE_INTENT, run.intent),
    ):
        if value is not None:
            attributes[name] = value
    for evaluation in verdict.evaluations:
        score = evaluation.score
        if score.value is not None:
            attributes[f"toolscore.{evaluation.name}.score"] = score.value
        attributes[f"toolscore.{evaluation.name}.label"] = score.label
        if evaluation.primary:
            attributes[semconv.EVALUATION_NAME] = evaluation.name
            if score.value is not None:
                attributes[semconv.EVALUATION_SCORE_VALUE] = score.value
            attributes[semconv.EVALUATION_SCORE_LABEL] = score.label
            attributes[semconv.EVALUATION_EXPLANATION] = score.explanation
            attributes[semconv.TOOLSCORE_MISSING_TOOLS] = list(score.missing)
            attributes[semconv.TOOLSCORE_EXTRA_TOOLS] = _extra_tools(verdict)
    return attributes


def _extra_tools(verdict: Verdict) -> list[str]:
    calls = verdict.run.trajectory.calls
    return [
        call.name for call, outcome in zip(calls, verdict.outcomes(), strict=True) if outcome in ("extra", "forbidden")
    ]
