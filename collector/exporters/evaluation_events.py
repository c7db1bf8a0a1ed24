"""``gen_ai.evaluation.result``: one OTLP log record for each evaluation, joined to the evaluated span.

Semantic conventions 1.41, event ``gen_ai.evaluation.result``; attributes under ``toolscore.`` are ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from collector import semconv
from collector.otlp.annotate import AttributeValue, log_record
from collector.verdict import Verdict
from scorers import Evaluation


def evaluation_events(verdict: Verdict, now_ns: int) -> Iterator[bytes]:
    """The verdict's evaluations as serialised log records."""
    run = verdict.run
    for evaluation in verdict.evaluations:
        failed = evaluation.score.label == "error"
        attributes = _attributes(verdict, evaluation)
        yield log_record(semconv.EVENT_EVALUATION_RESULT, now_ns, run.trace_id, run.span_id, attributes, failed=failed)


def _attributes(verdict: Verdict, evaluation: Evaluation) -> dict[str, AttributeValue]:
    run, score = verdict.run, evaluation.score
    attributes: dict[str, AttributeValue] = {
        semconv.EVALUATION_NAME: evaluation.name,
        semconv.EVALUATION_SCORE_LABEL: score.label,
        semconv.EVALUATION_EXPLANATION: score.explanation,
        semconv.TOOLSCORE_SCORER_VERSION: evaluation.version,
        semconv.TOOLSCORE_COMPLETE: verdict.complete,
        semconv.TOOLSCORE_REVISION: verdict.revision,
        semconv.LOG_RECORD_UID: _uid(verdict, evaluation),
    }
    if score.value is not None:
        attributes[semconv.EVALUATION_SCORE_VALUE] = score.value
    for name, value in (
        (semconv.ERROR_TYPE, score.details.get("error.type")),
        (semconv.AGENT_NAME, run.agent),
        (semconv.CONVERSATION_ID, run.conversation_id),
        (semconv.RESPONSE_ID, run.response_id),
        (semconv.TOOLSCORE_RULE, verdict.rule),
        (semconv.TOOLSCORE_RULE_DIGEST, verdict.digest),
    ):
        if value is not None:
            attributes[name] = value
    return attributes


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
