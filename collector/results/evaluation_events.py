"""``gen_ai.evaluation.result``: one OTLP log record for each evaluation, joined to the evaluated span.

Semantic conventions 1.41, event ``gen_ai.evaluation.result``; attributes under ``rightcall.`` are ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from collector.byte_cache import ByteCache
from collector.model import semconv
from collector.otlp.annotate import AttributeValue, log_record, record_attribute, record_end
from collector.results.span_attributes import extra_tools
from collector.scoring.verdict import Verdict
from collector.telemetry.metric_table import dimension_text
from scorers import Evaluation
from scorers.conformance.scorer import MAX_SHAPE_CALLS


def evaluation_events(
    verdict: Verdict, now_ns: int, *, values: bool = False, dimensions: Sequence[str] = (), console: str | None = None
) -> Iterator[bytes]:
    """The verdict's evaluations as serialised log records.

    The body of each that is not a pass says why, with values of arguments only if ``values``. ``dimensions`` are
    attributes of the run that its events have too. ``console`` is the address of the console, which shows the run.
    """
    run, kind = verdict.run, verdict.kind
    usual: Sequence[_Usual] = () if kind is None or kind.events is None else kind.events
    if not usual:
        usual = [_encoded(_usual(verdict, evaluation)) for evaluation in verdict.evaluations]
        if kind is not None:
            kind.events = usual
    of_run = _attributes_of_run(verdict, dimensions, console)
    ids = (run.trace_id + run.span_id).hex()
    for at, evaluation in enumerate(verdict.evaluations):
        # The same for the same evaluation of the same span however often it is sent, and another for each revision.
        uid = record_attribute(semconv.LOG_RECORD_UID, ids + usual[at].digest)
        label = evaluation.score.label
        body = "" if label == "pass" else _body(verdict, evaluation, values=values)
        yield log_record(
            now_ns, run.trace_id, run.span_id, [uid, *of_run], usual[at].end, body=body, failed=label == "error"
        )


def _attributes_of_run(verdict: Verdict, dimensions: Sequence[str], console: str | None) -> list[bytes]:
    """Returns the encoded attributes that the events of a run have, and those of others of its kind have not."""
    run, own = verdict.run, dict[str, AttributeValue]()
    if run.conversation_id is not None:
        own[semconv.CONVERSATION_ID] = run.conversation_id
    if run.response_id is not None:
        own[semconv.RESPONSE_ID] = run.response_id
    for name in dimensions:  # which may be one of these, or of the usual ones: no key twice
        if name not in _USUAL and (text := dimension_text(run.attributes.get(name))) is not None:
            own[name] = text
    if console is not None:
        own[semconv.RIGHTCALL_RUN_URL] = f"{console}/console/runs/{run.trace_id.hex()}"
    return [record_attribute(name, value) for name, value in own.items()]


class _Usual(NamedTuple):
    """What events of one kind have in common."""

    digest: str
    """What the ``log.record.uid`` has beside the ids of the span: it tells evaluations and revisions apart."""
    end: bytes
    """The end of the record: attributes and the name of the event."""


_USUAL = (
    semconv.EVALUATION_NAME, semconv.EVALUATION_SCORE_VALUE, semconv.EVALUATION_SCORE_LABEL,
    semconv.EVALUATION_EXPLANATION, semconv.RIGHTCALL_SCORER_VERSION, semconv.RIGHTCALL_COMPLETE,
    semconv.RIGHTCALL_DOUBTS, semconv.RIGHTCALL_CALLS_WITHOUT_SPAN, semconv.RIGHTCALL_REVISION, semconv.AGENT_NAME,
    semconv.RIGHTCALL_SCOPE, semconv.RIGHTCALL_RULE, semconv.RIGHTCALL_RULE_DIGEST,
    semconv.ERROR_TYPE, semconv.RIGHTCALL_ROUTE, semconv.RIGHTCALL_INTENT, semconv.RIGHTCALL_MISSING_TOOLS,
    semconv.RIGHTCALL_EXTRA_TOOLS,
)  # fmt: skip
"""What most events of a rule have in common."""
_TOLD_APART_BY = (semconv.EVALUATION_NAME, semconv.RIGHTCALL_RULE, semconv.RIGHTCALL_REVISION)
"""What tells two events on one span apart."""
_of_events: ByteCache[tuple[AttributeValue | None, ...], _Usual] = ByteCache(4 << 20)


def _usual(verdict: Verdict, evaluation: Evaluation) -> tuple[AttributeValue | None, ...]:
    """Returns the values of the attributes of ``_USUAL``."""
    score, run = evaluation.score, verdict.run
    extra = extra_tools(verdict) if evaluation.primary else ()
    return (
        evaluation.name, score.value, score.label, score.explanation, evaluation.version, verdict.complete,
        verdict.doubts or None, _calls_without_span(verdict) or None, verdict.revision, run.agent,
        None if verdict.scope == "run" else verdict.scope, verdict.rule, verdict.digest,
        score.details.get("error.type"), run.route, run.intent, tuple(score.missing) or None, extra or None,
    )  # fmt: skip


def _encoded(values: tuple[AttributeValue | None, ...]) -> _Usual:
    """Returns what is encoded of the attributes of ``_USUAL`` that have a value."""
    known = _of_events.get(values)
    if known is None:
        attributes = tuple([(name, value) for name, value in zip(_USUAL, values, strict=True) if value is not None])
        told = dict(attributes)
        parts = [str(told.get(name)) for name in _TOLD_APART_BY]
        digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
        known = _Usual(digest, record_end(semconv.EVENT_EVALUATION_RESULT, attributes))
        return _of_events.keep(values, known, 4 * len(known.end))
    return known


def _body(verdict: Verdict, evaluation: Evaluation, *, values: bool) -> str:
    """Returns why the evaluation is no pass. Runs that fail alike share a text that quotes none of their arguments."""
    rule, calls = verdict.compiled_rule, verdict.run.trajectory.calls
    if rule is None or verdict.judged or evaluation.score.label == "error" or len(calls) > MAX_SHAPE_CALLS:
        return verdict.headline(evaluation)  # of a longer run, nobody would read the calls, and finding them takes time
    if values or "wrong_arguments" in verdict.outcomes:
        return verdict.explain(evaluation, values=values)
    alike = rule.difference_key(verdict.run.trajectory)
    if alike is None:  # a published scorer decides, also where what the rule expects takes too much work
        return verdict.headline(evaluation)
    key = (rule.digest, verdict.rule, evaluation.name, evaluation.score.explanation, alike)
    known = _bodies.get(key)
    if known is None:
        body = verdict.explain(evaluation, values=False)
        return _bodies.keep(key, body, 4 * len(body) + 2 * sum([len(call.name) for call in calls]))
    return known


_bodies: ByteCache[Hashable, str] = ByteCache(4 << 20)


def _calls_without_span(verdict: Verdict) -> tuple[str, ...]:
    """The names of executed calls that messages tell of: no span has their outcome."""
    return tuple([call.name for call in verdict.run.trajectory.calls if call.executed and call.known_by != "span"])
