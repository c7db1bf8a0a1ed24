"""The collector's own metrics, and what they add up to.

Accuracy over a window is ``pass / (pass + fail)`` of ``rightcall_evaluations_total``; incomplete, ambiguous and failed
evaluations never count as pass or fail. No span is unaccounted for. With an OTLP exporter, whenever no request is being
processed,

    receiver_accepted_spans + resumed_spans
        = exporter_sent_spans + exporter_send_failed_spans + exporter_queue_spans (exporters ``otlp`` and ``handover``)
          + held_spans + dropped_spans (without stage ``spool``, whose unreadable records are not resumed, and without
            the stages of other exporters)
"""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import ProcessCollector

from collector.config.exporters import label_name
from collector.telemetry.metric_table import MetricTable

_SCORE_BUCKETS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_SECONDS_BUCKETS = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_REQUEST_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0)


class Telemetry(MetricTable):
    """The metrics of one collector; each is an attribute of its name."""

    def __init__(self, max_label_values: int = 200, dimensions: Sequence[str] = ()) -> None:
        super().__init__(max_label_values, dimensions)
        ProcessCollector(registry=self.registry)
        self._declare_verdicts(dimensions)
        self._declare_drift()
        self._declare_receivers()
        self._declare_exporters()
        self._declare_storage()
        self._declare_judge()
        self._declare_traces()
        self._declare_reading()
        self._declare_rules()

    def _declare_verdicts(self, dimensions: Sequence[str]) -> None:
        self.evaluations = self._counter(
            "evaluations",
            "Evaluations by label. Accuracy is pass / (pass + fail).",
            "rule",
            "route",
            "intent",
            "scorer",
            "label",
            *map(label_name, dimensions),
        )
        self.evaluation_score = self._histogram(
            "evaluation_score",
            "Scores of evaluations, from 0 to 1.",
            "rule",
            "route",
            "intent",
            "scorer",
            *map(label_name, dimensions),
            buckets=_SCORE_BUCKETS,
        )
        self.tool_calls = self._counter(
            "tool_calls",
            "Tool calls of scored runs, by outcome; of traces and conversations, those that their rule forbids.",
            "rule",
            "tool",
            "outcome",
            *map(label_name, dimensions),
        )
        self.unoffered_tool_calls = self._counter(
            "unoffered_tool_calls",
            "Calls, executed or not, of tools that no tool definition of their run names; where a rule has `schema: declared`.",
            "tool",
        )
        self.runs = self._counter("runs", "Agent runs released from assembly, by reason.", "release")
        self.service_runs = self._counter(
            "service_runs", "Agent runs released from assembly, by the `service.name` that sent them.", "service_name"
        )
        self.runs_unscored = self._counter(
            "runs_unscored",
            "Agent runs that neither pass nor fail: by the doubt that leaves them undecided, or `no_rule` (nor is there one "
            "for their trace or conversation), `max_spans` (its trace has them already), `error` (of a scorer), `internal` "
            "(of the collector).",
            "reason",
            "route",
            "agent",
        )
        self.unobserved_arguments = self._counter(
            "unobserved_arguments",
            "Runs scored without arguments that the rule constrains: not captured, they matched by the tool's name.",
            "rule",
        )
        self.intents = self._counter(
            "intents", "Intents looked up in user messages, by what identified them (none: nothing did).", "by"
        )

    def _declare_drift(self) -> None:
        self.path_drift = self._gauge(
            "path_drift",
            "1 while the paths of runs differ, beyond chance, from the `baseline`: `last_week` or `previous_version`; else 0.",
            "route",
            "agent",
            "baseline",
        )
        self.path_drift_evidence = self._gauge(
            "path_drift_evidence",
            "Natural logarithm of the e-value against the paths of runs being as before, by the `window` of the test: those of "
            "collectors that see different runs add up.",
            "route",
            "agent",
            "window",
        )
        self.path_share_ratio = self._gauge(
            "path_share_ratio",
            "While there is path_drift or evidence of it: the share of runs of which a fact is true, for the most changed; "
            "`period` is `now` or `before`.",
            "route",
            "agent",
            "baseline",
            "fact",
            "period",
        )

    def _declare_receivers(self) -> None:
        self.receiver_accepted_spans = self._counter(
            "receiver_accepted_spans", "Spans accepted from senders.", "receiver", "transport"
        )
        self.receiver_refused_spans = self._counter(
            "receiver_refused_spans",
            "Requests refused, by reason. Requests, not spans: many are refused before they are read.",
            "receiver",
            "transport",
            "reason",
        )
        self.kafka_unread_messages = self._gauge(
            "kafka_unread_messages",
            "Messages of the partitions of this consumer that it has not taken yet.",
            "partition",
        )
        self.kafka_uncommitted_messages = self._gauge(
            "kafka_uncommitted_messages",
            "Messages taken and not committed: from the first one of the oldest trace that is not finished.",
            "partition",
        )
        self.kafka_deleted_messages = self._counter(
            "kafka_deleted_messages",
            "Messages that the topic deleted before they were read. Runs under way then are incomplete.",
        )
        self.kafka_moved_traces = self._counter(
            "kafka_moved_traces", "Open traces dropped because another consumer reads their partition again."
        )
        self.handed_over_traces = self._counter(
            "handed_over_traces", "Open traces whose held spans went to another instance when this one stopped."
        )
        self.accept_failures = self._counter(
            "accept_failures", "Connections that could not be accepted: no file descriptors left.", "listener"
        )
        self.certificate_not_before_timestamp_seconds = self._gauge(
            "certificate_not_before_timestamp_seconds",
            "From when the certificate of a listener, or the authority of its clients (client_ca), is valid, in Unix time.",
            "listener",
            "certificate",
        )
        self.certificate_not_after_timestamp_seconds = self._gauge(
            "certificate_not_after_timestamp_seconds",
            "Until when it is valid, in Unix time: from then on no sender can connect. Of several authorities, the latest.",
            "listener",
            "certificate",
        )

    def _declare_exporters(self) -> None:
        self.exporter_sent_spans = self._counter("exporter_sent_spans", "Spans delivered to the backend.", "exporter")
        self.exporter_sent_log_records = self._counter(
            "exporter_sent_log_records",
            "Log records, evaluation events among them, delivered to the backend.",
            "exporter",
        )
        self.exporter_send_failed_spans = self._counter(
            "exporter_send_failed_spans",
            "Spans that the backend rejected, or that were dropped after all retries.",
            "exporter",
        )
        self.exporter_send_failed_log_records = self._counter(
            "exporter_send_failed_log_records",
            "Log records, evaluation events among them, that the backend rejected, or that were dropped undelivered.",
            "exporter",
        )
        self.exporter_send_failed_metric_points = self._counter(
            "exporter_send_failed_metric_points",
            "Metric points that the backend rejected, or that were dropped undelivered.",
            "exporter",
        )
        self.exporter_queue_size = self._gauge(
            "exporter_queue_size",
            "Requests waiting or being sent. More than the capacity where what was acknowledged before still comes.",
            "exporter",
        )
        self.exporter_queue_capacity = self._gauge(
            "exporter_queue_capacity",
            "Requests that may wait or be sent at once before senders are asked to slow down.",
            "exporter",
        )
        self.exporter_queue_bytes = self._gauge(
            "exporter_queue_bytes", "Bytes of the requests waiting or being sent; without a spool.", "exporter"
        )
        self.exporter_queue_capacity_bytes = self._gauge(
            "exporter_queue_capacity_bytes",
            "Bytes that may wait or be sent at once before senders are asked to slow down; without a spool.",
            "exporter",
        )
        self.exporter_queue_spans = self._gauge("exporter_queue_spans", "Spans waiting or being sent.", "exporter")
        self.exporter_queue_log_requests = self._gauge(
            "exporter_queue_log_requests",
            "Requests of log records, which events are, waiting or being sent.",
            "exporter",
        )

    def _declare_storage(self) -> None:
        self.held_spans = self._gauge("held_spans", "Spans held for a verdict, for a judge or for the next batch.")
        self.resumed_spans = self._counter("resumed_spans", "Held and queued spans restored from the spool at start.")
        self.spool_bytes = self._gauge("spool_bytes", "Bytes of the spool in use.")
        self.spool_capacity_bytes = self._gauge(
            "spool_capacity_bytes", "Bytes in the spool above which senders are asked to slow down."
        )
        self.spool_failures = self._counter(
            "spool_failures",
            "Failed writes of the spool, damaged or incomplete spools found at start, and files deleted while in use.",
        )
        self.runs_not_stored = self._counter(
            "runs_not_stored", "Scored runs that were to be stored for the console and were not, by reason.", "reason"
        )

    def _declare_judge(self) -> None:
        self.judge_requests = self._counter(
            "judge_requests", "Requests to the judge, every attempt, by outcome.", "rule", "outcome"
        )
        self.judge_tokens = self._counter(
            "judge_tokens", "Tokens of questions and answers, as the judge reported them.", "rule"
        )
        self.judge_skipped = self._counter(
            "judge_skipped", "Judgements that were due and were not made, by reason.", "rule", "reason"
        )
        self.judge_request_seconds = self._histogram(
            "judge_request_seconds", "Duration of one request to the judge.", buckets=_REQUEST_BUCKETS
        )
        self.judge_queue_size = self._gauge("judge_queue_size", "Judgements waiting or in progress.")
        self.judge_queue_capacity = self._gauge("judge_queue_capacity", "Judgements that may wait or be in progress.")
        self.judge_circuit = self._gauge(
            "judge_circuit", "1 for the current state of the judge's circuit breaker.", "state"
        )
        self.judge_cache_hits = self._counter("judge_cache_hits", "Answers taken from the cache.", "rule")
        self.judge_agreement = self._counter(
            "judge_agreement",
            "Judgements by the label of the rule's own scorer and that of the judge.",
            "rule",
            "scorer",
            "deterministic",
            "judge",
        )

    def _declare_traces(self) -> None:
        self.traces_open = self._gauge("traces_open", "Traces being assembled.")
        self.conversations_open = self._gauge("conversations_open", "Conversations being collected.")
        self.conversations = self._counter("conversations", "Conversations scored, by reason of release.", "release")
        self.verdict_revisions = self._counter(
            "verdict_revisions", "Verdicts that late spans revised, by label before and after.", "before", "after"
        )
        self.late_spans = self._counter("late_spans", "Spans that arrived after their trace was scored.")
        self.dropped_spans = self._counter(
            "dropped_spans", "Spans not forwarded, by stage and reason.", "stage", "reason"
        )

    def _declare_reading(self) -> None:
        self.unread_spans = self._counter(
            "unread_spans", "Spans that look like an agent's and that no dialect can read.", "scope"
        )
        self.shape_spans = self._counter(
            "shape_spans", "Spans of no known dialect, read by the words of their attributes and name.", "scope"
        )
        self.unread_runs = self._counter(
            "unread_runs", "Runs of which nothing that was recorded tells what they called.", "scope"
        )

    def _declare_rules(self) -> None:
        self.label_overflow = self._counter(
            "label_overflow", "Label values, or combinations of them (route_intent), replaced by __other__.", "label"
        )
        self.rules_info = self._gauge("rules_info", "Rule files in use; always 1.", "file", "digest")
        self.rule_objective_ratio = self._gauge(
            "rule_objective_ratio",
            "The `objective` of each rule that has one, for its primary scorer.",
            "rule",
            "scorer",
        )
        self.rules_reload_failures = self._counter(
            "rules_reload_failures", "Rule files refused at a reload; the previous rules stay in use."
        )
        self.rules_refused = self._gauge(
            "rules_refused", "1 while the rule files in place are refused, and earlier rules stay in use; else 0."
        )
        self.scoring_seconds = self._histogram(
            "scoring_seconds", "Time to reconstruct and score one trace.", buckets=_SECONDS_BUCKETS
        )
