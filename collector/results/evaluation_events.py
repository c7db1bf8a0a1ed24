"""``gen_ai.evaluation.result``: one OTLP log record for each evaluation, joined to the evaluated span.

Semantic conventions 1.41, event ``gen_ai.evaluation.result``; attributes under ``rightcall.`` are ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from collector.model import semconv
from collector.otlp.annotate import Attributes, AttributeValue, log_record
from collector.scoring.verdict import Verdict
from scorers import Evaluation


def evaluation_events(verdict: Verdict, now_ns: int) -> Iterator[bytes]:
    """The verdict's evaluations as serialised log records."""
    run = verdict.run
    for evaluation in verdict.evaluations:
        own: dict[str, AttributeValue] = {semconv.LOG_RECORD_UID: _uid(verdict, evaluation)}
        if run.conversation_id is not None:
            own[semconv.CONVERSATION_ID] = run.conversation_id
        if run.response_id is not None:
            own[semconv.RESPONSE_ID] = run.response_id
        failed = evaluation.score.label == "error"
        usual = _usual_attributes(verdict, evaluation)
        yield log_record(semconv.EVENT_EVALUATION_RESULT, now_ns, run.trace_id, run.span_id, usual, own, failed=failed)


def _usual_attributes(verdict: Verdict, evaluation: Evaluation) -> Attributes:
    score = evaluation.score
    attributes: tuple[tuple[str, AttributeValue | None], ...] = (
        (semconv.EVALUATION_NAME, evaluation.name),
        (semconv.EVALUATION_SCORE_VALUE, score.value),
        (semconv.EVALUATION_SCORE_LABEL, score.label),
        (semconv.EVALUATION_EXPLANATION, score.explanation),
        (semconv.RIGHTCALL_SCORER_VERSION, evaluation.version),
        (semconv.RIGHTCALL_COMPLETE, verdict.complete),
        (semconv.RIGHTCALL_DOUBTS, tuple(verdict.doubts) or None),
        (semconv.RIGHTCALL_CALLS_WITHOUT_SPAN, _calls_without_span(verdict) or None),
        (semconv.RIGHTCALL_REVISION, verdict.revision),
        (semconv.AGENT_NAME, verdict.run.agent),
        (semconv.RIGHTCALL_SCOPE, None if verdict.scope == "run" else verdict.scope),
        (semconv.RIGHTCALL_RULE, verdict.rule),
        (semconv.RIGHTCALL_RULE_DIGEST, verdict.digest),
        (semconv.ERROR_TYPE, score.details.get("error.type")),
    )
    return tuple([(name, value) for name, value in attributes if value is not None])


def _calls_without_span(verdict: Verdict) -> tuple[str, ...]:
    """The names of executed calls that messages tell of: no span has their outcome."""
    return tuple([call.name for call in verdict.run.trajectory.calls if call.executed and call.known_by != "span"])


def _uid(verdict: Verdict, evaluation: Evaluation) -> str:
    """The same for the same evaluation of the same span however often it is sent."""
    run = verdict.run
    parts = (
        run.trace_id,
        run.span_id,
        evaluation.name.encode(),
        str(verdict.rule).encode(),
        str(verdict.revision).encode(),
    )
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).hexdigest()
