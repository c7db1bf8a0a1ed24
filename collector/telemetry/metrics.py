"""Our own metrics: one table, one place where label values from strangers are bounded.

Accuracy over a window is ``pass / (pass + fail)`` of ``rightcall_evaluations_total``; incomplete, ambiguous and failed
evaluations are never counted as pass or fail. In a healthy collector accepted = sent + queued + held + dropped spans.
"""

from __future__ import annotations

from typing import Any

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]

OVERFLOW = "__other__"
_MAX_LABEL_LENGTH = 128
_SCORE_BUCKETS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_SECONDS_BUCKETS = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_REQUEST_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0)

# name (counters get _total), type, labels, help. tests/collector/test_telemetry.py compares it with /metrics.
METRICS: tuple[tuple[str, type, tuple[str, ...], str], ...] = (
    (
        "evaluations",
        Counter,
        ("rule", "route", "intent", "scorer", "label"),
        "Evaluations, by label; accuracy is pass / (pass + fail).",
    ),
    ("evaluation_score", Histogram, ("rule", "route", "intent", "scorer"), "Scores from 0 to 1."),
    ("tool_calls", Counter, ("rule", "tool", "outcome"), "Tool calls of scored runs, by outcome."),
    ("runs", Counter, ("release",), "Agent runs released from assembly, by reason of release."),
    ("runs_unscored", Counter, ("reason",), "Agent runs without a counted verdict."),
    (
        "intents",
        Counter,
        ("by",),
        "Intents looked for in the user's words, by what showed them; none where nothing did.",
    ),
    ("receiver_accepted_spans", Counter, ("receiver", "transport"), "Spans taken from senders."),
    (
        "receiver_refused_spans",
        Counter,
        ("receiver", "transport", "reason"),
        "Spans, or requests not readable, refused.",
    ),
    ("exporter_sent_spans", Counter, ("exporter",), "Spans delivered."),
    ("exporter_send_failed_spans", Counter, ("exporter",), "Spans given up on."),
    ("exporter_queue_size", Gauge, ("exporter",), "Requests waiting to be sent."),
    ("exporter_queue_capacity", Gauge, ("exporter",), "Requests that may wait to be sent."),
    ("spool_bytes", Gauge, (), "Bytes of the spool in use."),
    ("spool_capacity_bytes", Gauge, (), "Bytes of the spool beyond which senders are asked to slow down."),
    ("spool_failures", Counter, (), "Times the spool could not be written, or was found damaged at start."),
    ("judge_requests", Counter, ("rule", "outcome"), "Requests to the judge, every attempt, by what came of them."),
    ("judge_tokens", Counter, ("rule",), "Tokens of questions and answers, as the judge counted them."),
    ("judge_skipped", Counter, ("rule", "reason"), "Judgements that were due and not made, by reason."),
    ("judge_request_seconds", Histogram, (), "Time of one request to the judge."),
    ("judge_queue_size", Gauge, (), "Judgements waiting or under way."),
    ("judge_queue_capacity", Gauge, (), "Judgements that may wait or be under way."),
    ("judge_circuit", Gauge, ("state",), "1 for the state the judge's circuit breaker is in."),
    ("judge_cache_hits", Counter, ("rule",), "Answers that nobody had to be asked for."),
    (
        "judge_agreement",
        Counter,
        ("rule", "scorer", "deterministic", "judge"),
        "Judgements, by what the rule's own scorer says and what the judge says.",
    ),
    ("traces_open", Gauge, (), "Traces being assembled."),
    ("conversations_open", Gauge, (), "Conversations whose runs are being gathered."),
    ("conversations", Counter, ("release",), "Conversations that got their verdict, by reason of release."),
    ("late_spans", Counter, (), "Spans that came after their trace's verdict."),
    ("dropped_spans", Counter, ("stage", "reason"), "Spans not forwarded, on purpose or not."),
    ("unread_spans", Counter, ("scope",), "Spans that look like an agent's and that no dialect could read."),
    ("label_overflow", Counter, ("label",), "Samples whose label value was replaced by __other__."),
    ("rules_info", Gauge, ("file", "digest"), "Rule files in force; always 1."),
    ("rules_reload_failures", Counter, (), "Rule files refused while the old rules stayed in force."),
    ("scoring_seconds", Histogram, (), "Time to reconstruct and score one trace."),
)


class Telemetry:
    """The metrics of one collector, on a registry of its own.

    Each row of ``METRICS`` is an attribute of its name. ``max_label_values`` bounds each label strangers can write.
    """

    evaluations: Counter
    evaluation_score: Histogram
    tool_calls: Counter
    runs: Counter
    runs_unscored: Counter
    intents: Counter
    receiver_accepted_spans: Counter
    receiver_refused_spans: Counter
    exporter_sent_spans: Counter
    exporter_send_failed_spans: Counter
    exporter_queue_size: Gauge
    exporter_queue_capacity: Gauge
    spool_bytes: Gauge
    spool_capacity_bytes: Gauge
    spool_failures: Counter
    judge_requests: Counter
    judge_tokens: Counter
    judge_skipped: Counter
    judge_request_seconds: Histogram
    judge_queue_size: Gauge
    judge_queue_capacity: Gauge
    judge_circuit: Gauge
    judge_cache_hits: Counter
    judge_agreement: Counter
    traces_open: Gauge
    conversations_open: Gauge
    conversations: Counter
    late_spans: Counter
    dropped_spans: Counter
    unread_spans: Counter
    label_overflow: Counter
    rules_info: Gauge
    rules_reload_failures: Counter
    scoring_seconds: Histogram

    def __init__(self, max_label_values: int = 200) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self.registry)
        buckets = {
            "evaluation_score": _SCORE_BUCKETS,
            "scoring_seconds": _SECONDS_BUCKETS,
            "judge_request_seconds": _REQUEST_BUCKETS,
        }
        for name, kind, labels, documentation in METRICS:
            options: dict[str, Any] = {"buckets": buckets[name]} if name in buckets else {}
            setattr(self, name, kind(f"rightcall_{name}", documentation, labels, registry=self.registry, **options))
        self._max = max_label_values
        self._seen: dict[str, set[str]] = {"route": set(), "intent": set(), "tool": set(), "scope": set()}
        self._children: dict[tuple[Any, ...], Any] = {}

    def child(self, metric: Counter | Gauge | Histogram, *values: str) -> Any:
        """The metric's series for these label values, remembered: looking one up costs more than counting on it.

        Bounded, because every value comes from a closed set or through ``label``.
        """
        key = (metric, *values)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = metric.labels(*values)
        return child

    def label(self, name: str, value: str | None) -> str:
        """A label value written by an agent: shortened, without white space (so that a line of the text format is two
        words to ``awk`` and ``cut``), and ``__other__`` once the label has too many values.
        """
        text = (value or "")[:_MAX_LABEL_LENGTH]
        seen = self._seen[name]
        if text in seen:
            return text
        text = "_".join(text.split())
        if text in seen:
            return text
        if len(seen) < self._max:
            seen.add(text)
            return text
        self.child(self.label_overflow, name).inc()
        return OVERFLOW
