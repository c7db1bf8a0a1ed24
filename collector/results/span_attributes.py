"""What a verdict writes on the spans it is about."""

from __future__ import annotations

from collections.abc import Iterator

from collector.checkpoints import checkpoint
from collector.model import semconv
from collector.otlp.annotate import Annotation, Attributes, AttributeValue
from collector.scoring.verdict import Verdict


def annotations_of(verdicts: list[Verdict]) -> dict[bytes | None, Annotation]:
    """What to append to each span, by span id: as `span_attributes`, encoded once for all verdicts of a kind."""
    verdict = verdicts[0] if len(verdicts) == 1 else None
    if verdict is None or verdict.kind is None or verdict.rule is None or verdict.shadow:
        return {span_id: Annotation(attributes) for span_id, attributes in span_attributes(verdicts).items()}
    kind, run = verdict.kind, verdict.run
    if kind.annotations is None:
        of_calls = [Annotation(((semconv.RIGHTCALL_OUTCOME, outcome),)) for outcome in verdict.outcomes]
        kind.annotations = (Annotation(tuple(_anchor_attributes(verdict, verdict.rule))), of_calls)
    of_anchor, of_calls = kind.annotations
    added: dict[bytes | None, Annotation] = {}
    for at, span_id in enumerate(run.call_span_ids):
        added[span_id] = of_calls[at]
    if run.span_id in added:  # the span of a call is the anchor of its run, and carries both
        return {span_id: Annotation(attributes) for span_id, attributes in span_attributes(verdicts).items()}
    added[run.span_id] = of_anchor
    return added


def span_attributes(verdicts: list[Verdict]) -> dict[bytes, Attributes]:
    """The attributes to add to each span, by span id. What a run says goes before what its whole trace says."""
    added: dict[bytes, Attributes] = {}
    for verdict in verdicts:
        checkpoint()
        if verdict.rule is None or verdict.shadow or verdict.run.span_id in added:
            continue
        added[verdict.run.span_id] = tuple(_anchor_attributes(verdict, verdict.rule))
        for span_id, outcome in zip(verdict.run.call_span_ids, verdict.outcomes, strict=True):
            if span_id is not None:
                # The span of a call may be the anchor of its run, and then carries both.
                added[span_id] = (*added.get(span_id, ()), (semconv.RIGHTCALL_OUTCOME, outcome))
    # In a loop of its own: on a shared anchor, the verdict on the whole trace goes before a run that has none.
    for verdict in verdicts:
        if verdict.rule is None and verdict.unscored_reason is not None:
            added.setdefault(verdict.run.span_id, _unscored_attributes(verdict, verdict.unscored_reason))
    return added


def _unscored_attributes(verdict: Verdict, reason: str) -> Attributes:
    return (
        (semconv.RIGHTCALL_COMPLETE, verdict.complete),
        (semconv.RIGHTCALL_RULE, ""),
        (semconv.RIGHTCALL_UNSCORED_REASON, reason),
        *_closest_rule(verdict),
        *([(semconv.RIGHTCALL_DOUBTS, verdict.doubts)] if verdict.doubts else ()),
        *_scores(verdict),
    )


def _closest_rule(verdict: Verdict) -> Iterator[tuple[str, AttributeValue]]:
    """What somebody would correct whose run should have been scored. Keys only: their values may be secret."""
    if verdict.closest is not None:
        rule, keys = verdict.closest
        yield semconv.RIGHTCALL_CLOSEST_RULE, rule.rule.name
        yield semconv.RIGHTCALL_CLOSEST_RULE_MISMATCHES, tuple(keys)


def _anchor_attributes(verdict: Verdict, rule: str) -> Iterator[tuple[str, AttributeValue]]:
    """The rule, every score, and the primary one under its standard name."""
    run = verdict.run
    yield semconv.RIGHTCALL_COMPLETE, verdict.complete
    yield semconv.RIGHTCALL_RULE, rule
    yield semconv.RIGHTCALL_RULE_DIGEST, verdict.digest or ""
    if verdict.doubts:
        yield semconv.RIGHTCALL_DOUBTS, verdict.doubts
    if run.route is not None:
        yield semconv.RIGHTCALL_ROUTE, run.route
    if run.intent is not None:
        yield semconv.RIGHTCALL_INTENT, run.intent
    if run.found_intent is not None:
        yield semconv.RIGHTCALL_INTENT_REASON, run.found_intent.reason
    yield from _scores(verdict)


def judged_attributes(judgement: Verdict) -> dict[bytes, Attributes]:
    """What a judgement adds to the anchor, which has the rest, where that still waits."""
    if judgement.shadow or judgement.scope != "run":
        return {}
    return {judgement.run.span_id: tuple(_scores(judgement))}


def _scores(verdict: Verdict) -> Iterator[tuple[str, AttributeValue]]:
    for evaluation in verdict.evaluations:
        score = evaluation.score
        if score.value is not None:
            yield f"rightcall.{evaluation.name}.score", score.value
        yield f"rightcall.{evaluation.name}.label", score.label
        if evaluation.primary:
            yield semconv.EVALUATION_NAME, evaluation.name
            if score.value is not None:
                yield semconv.EVALUATION_SCORE_VALUE, score.value
            yield semconv.EVALUATION_SCORE_LABEL, score.label
            yield semconv.EVALUATION_EXPLANATION, score.explanation
            yield semconv.RIGHTCALL_MISSING_TOOLS, tuple(score.missing)
            yield semconv.RIGHTCALL_EXTRA_TOOLS, extra_tools(verdict)


def extra_tools(verdict: Verdict) -> tuple[str, ...]:
    """The names of calls that the rule does not allow."""
    if _EXTRA.isdisjoint(verdict.outcomes):
        return ()
    calls = verdict.run.trajectory.calls
    return tuple([c.name for c, outcome in zip(calls, verdict.outcomes, strict=True) if outcome in _EXTRA])


_EXTRA = frozenset({"extra", "forbidden"})
