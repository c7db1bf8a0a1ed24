"""Which runs are judged.

Every run that its rule did not pass; of the others a share, the judge's ``sample_rate``, chosen by trace id and span id, so
that every replica chooses the same, and a run judged at one rate is judged at every higher one.

Never an incomplete run, because what is missing may be what the judge looks for; nor a revision: a run is judged once. A
run of which only the order is in doubt is judged.
"""

from __future__ import annotations

from hashlib import blake2b

from collector.scoring.verdict import Verdict
from scorers.evaluation import RuleJudge

_SPACE = 1 << 56  # seven bytes, as in OpenTelemetry's consistent probability sampling


def is_sampled(verdict: Verdict, judge: RuleJudge) -> bool:
    """Returns whether this judge is to judge the run, provided that it is judgeable."""
    if any(evaluation.score.label != "pass" for evaluation in verdict.evaluations):
        return True
    return _position(verdict.run.trace_id, verdict.run.span_id) < judge.sample_rate * _SPACE


def not_judgeable(verdict: Verdict) -> str | None:
    """Returns why the run cannot be judged; None if it can."""
    if not verdict.complete or any(evaluation.score.label == "incomplete" for evaluation in verdict.evaluations):
        return "incomplete"
    return "revised" if verdict.revision else None


def _position(trace_id: bytes, span_id: bytes) -> int:
    # Hashed, to be independent of samplers that choose traces by the last bytes of their ids.
    return int.from_bytes(blake2b(trace_id + span_id, digest_size=7).digest())
