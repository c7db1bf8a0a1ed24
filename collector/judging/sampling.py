"""Which verdicts are judged.

Always those whose rules failed them, could not tell, or broke; of the rest the judge's ``sample_rate``, decided from the
trace id and span id, so that every replica decides alike, and what is judged at one rate is judged at every higher one.

Never an incomplete run: what is missing may be what the judge would look for. Nor a revised one: a run is judged once.
"""

from __future__ import annotations

from hashlib import blake2b

from collector.scoring.verdict import Verdict
from scorers.evaluation import RuleJudge

_SPACE = 1 << 56  # as OpenTelemetry's consistent sampling: seven bytes


def is_sampled(verdict: Verdict, judge: RuleJudge) -> bool:
    """Whether this judge is to judge the run, if it can be judged at all."""
    if any(evaluation.score.label != "pass" for evaluation in verdict.evaluations):
        return True
    return _position(verdict.run.trace_id, verdict.run.span_id) < judge.sample_rate * _SPACE


def not_judgeable(verdict: Verdict) -> str | None:
    """Why the run cannot be judged; None where it can."""
    if not verdict.complete:
        return "incomplete"
    return "revised" if verdict.revision else None


def _position(trace_id: bytes, span_id: bytes) -> int:
    # Hashed: a sampler that chose the trace by its id's last bytes must not have chosen for us too.
    return int.from_bytes(blake2b(trace_id + span_id, digest_size=7).digest())
