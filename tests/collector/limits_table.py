"""The tables of limits in SECURITY.md, made from configuration and code: ``python -m tests.collector.limits_table``.

Every number of the configuration is either in `SETTINGS`, with the test that fails without the limit, or in `NO_LIMITS`. Every
public constant ``MAX_...`` in `GUARDED` is in `CONSTANTS`, and of the others those that senders may meet.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from inspect import get_annotations
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from collector.config.model import Config
from tests import marked

ROOT = Path(__file__).parents[2]
SECURITY = ROOT / "SECURITY.md"
GUARDED = [
    "collector/config", "collector/console", "collector/exporters", "collector/judging", "collector/otlp",
    "collector/receivers", "collector/runs", "collector/transport", "scorers/work.py",
]  # fmt: skip
"""Folders and files whose public limits are all in `CONSTANTS`."""
NO_LIMITS = frozenset(
    # Times that something takes or waits, and sizes that nobody outside can drive.
    ["baseline", "check_interval", "clock_skew", "confirm", "cool_down", "initial_interval", "interval", "max_interval",
     "reload_interval", "settle"]
)  # fmt: skip

_GRPC, _HTTP = "receivers.otlp.protocols.grpc", "receivers.otlp.protocols.http"
SETTINGS = {
    f"{_GRPC}.max_recv_msg_size_mib":
        "collector/receivers/test_otlp_grpc.py::test_a_message_over_the_limit_is_refused_and_the_next_one_works",
    f"{_GRPC}.max_concurrent_streams":
        "collector/receivers/test_otlp_grpc_limits.py::test_calls_beyond_the_limit_of_a_connection_wait_or_are_unavailable",
    f"{_GRPC}.max_connections":
        "collector/receivers/test_otlp_grpc_limits.py::test_connections_beyond_the_limit_are_closed_and_the_others_served",
    f"{_GRPC}.read_timeout":
        "collector/receivers/test_otlp_grpc_limits.py::test_a_message_that_arrives_byte_by_byte_times_out",
    f"{_HTTP}.max_request_body_size_mib":
        "collector/receivers/test_otlp_http.py::test_a_body_over_the_limit_is_refused_before_its_end",
    f"{_HTTP}.read_header_timeout":
        "collector/transport/test_http_server.py::test_a_head_that_drips_ends_the_connection_all_the_same",
    f"{_HTTP}.read_timeout": "collector/receivers/test_otlp_http.py::test_a_body_that_does_not_arrive_times_out",
    f"{_HTTP}.max_connections":
        "collector/transport/test_accepting.py::test_handshakes_in_progress_count_as_connections",
    "traces.idle_timeout":
        "collector/test_pipeline.py::test_a_run_whose_anchor_never_comes_is_released_idle_and_not_counted",
    "traces.max_duration": "collector/assembly/test_assembler.py::test_nothing_outlives_max_duration",
    "traces.max_open": "collector/test_pipeline.py::test_too_many_traces_evict_the_one_quiet_longest",
    "traces.max_spans": "collector/assembly/test_assembler.py::test_a_trace_without_end_is_bounded_and_marked",
    "traces.max_held_mib": "collector/test_pipeline.py::test_open_traces_and_results_that_wait_share_one_budget",
    "traces.remember": "collector/assembly/test_assembler.py::test_only_so_many_finished_traces_are_remembered",
    "conversations.idle_timeout":
        "collector/assembly/test_conversations.py::test_a_conversation_is_over_when_it_was_quiet_for_idle_timeout",
    "conversations.max_duration":
        "collector/assembly/test_conversations.py::test_one_that_never_rests_ends_at_max_duration_and_is_incomplete",
    "conversations.max_open":
        "collector/assembly/test_conversations.py::test_the_one_quiet_longest_goes_first_when_there_are_too_many",
    "conversations.max_runs":
        "collector/assembly/test_conversations.py::test_runs_beyond_a_limit_stay_out_and_make_it_incomplete",
    "conversations.max_calls":
        "collector/assembly/test_conversations.py::test_runs_beyond_a_limit_stay_out_and_make_it_incomplete",
    "conversations.max_held_mib":
        "collector/assembly/test_conversations.py::test_only_as_many_bytes_are_freed_as_are_short",
    "conversations.remember": "collector/assembly/test_conversations.py::test_no_more_are_remembered_than_asked_for",
    "spool.max_size_mib": "collector/storage/test_spool.py::test_beyond_its_size_senders_are_asked_to_slow_down",
    "runs.max_size_mib":
        "collector/runs/test_store.py::test_wrong_runs_outlive_right_ones_and_the_size_is_kept",
    "runs.keep": "collector/runs/test_store.py::test_wrong_runs_outlive_right_ones_and_the_size_is_kept",
    "memory_limiter.limit_mib": "collector/service/test_memory_limiter.py::test_soft_and_hard_limit",
    "memory_limiter.spike_limit_mib": "collector/service/test_memory_limiter.py::test_soft_and_hard_limit",
    "judge.timeout": "collector/judging/clients/test_openai.py::test_an_endpoint_that_hangs_times_out",
    "judge.hold": "collector/judging/test_queue.py::test_no_span_is_held_longer_than_hold",
    "judge.max_concurrency": "collector/judging/test_queue.py::test_max_concurrency_bounds_the_requests_in_flight",
    "judge.queue_size": "collector/judging/test_queue.py::test_queue_size_bounds_the_jobs_that_wait",
    "judge.max_tokens": "collector/judging/clients/test_openai.py::test_a_question_with_a_schema",
    "judge.budget.requests_per_minute": "collector/judging/test_faults.py::test_the_budget_of_requests_is_exact",
    "judge.budget.requests_per_day": "collector/judging/test_faults.py::test_the_budget_of_requests_is_exact",
    "judge.budget.tokens_per_minute": "collector/judging/test_budget.py::test_no_minute_exceeds_its_budget",
    "judge.budget.tokens_per_day":
        "collector/judging/test_faults.py::test_tokens_are_reserved_before_and_settled_after",
    "judge.retry_on_failure.max_elapsed_time":
        "collector/judging/test_guarded_judge.py::test_a_failing_question_is_retried_for_max_elapsed_time",
    "judge.circuit_breaker.failures": "collector/judging/test_circuit.py::test_failures_in_a_row_open_it",
    "judge.cache.max_entries": "collector/judging/test_cache.py::test_the_least_recently_used_answer_is_evicted_first",
    "judge.cache.max_size_mib": "collector/judging/test_cache.py::test_bytes_are_bounded_too",
    "exporters.otlp.timeout":
        "collector/exporters/test_otlp_endless_answers.py::test_an_answer_without_end_is_given_up_and_the_request_sent_again",
    "exporters.otlp.retry_on_failure.max_elapsed_time":
        "collector/exporters/test_otlp.py::test_a_request_is_dropped_after_max_elapsed_time",
    "exporters.otlp.sending_queue.queue_size":
        "collector/delivery/test_sending_queue.py::test_it_is_full_at_its_number_of_requests_sent_ones_included",
    "exporters.otlp.sending_queue.max_size_mib":
        "collector/delivery/test_sending_queue.py::test_it_is_full_at_its_number_of_bytes_until_they_are_acknowledged",
    "exporters.otlp.sending_queue.num_consumers":
        "collector/exporters/test_otlp_faults.py::test_num_consumers_bounds_the_requests_sent_at_once",
    "exporters.kafka.timeout": "collector/exporters/test_kafka.py::test_a_cluster_that_does_not_answer_is_tried_again",
    "exporters.file.rotation.max_megabytes":
        "collector/exporters/test_file.py::test_files_are_bounded_in_size_and_number",
    "exporters.file.rotation.max_backups":
        "collector/exporters/test_file.py::test_files_are_bounded_in_size_and_number",
    "exporters.prometheus.max_label_values":
        "collector/telemetry/test_metric_table.py::test_a_label_keeps_so_many_values_and_counts_the_rest",
}  # fmt: skip
"""Each setting that is a limit, and the test below tests/ that fails without it."""

CONSTANTS = {
    "collector.telemetry.metric_table.MAX_COMBINATIONS":
        "collector/exporters/test_prometheus.py::test_combinations_of_labels_are_bounded_and_no_sample_is_lost",
    "collector.config.yaml_documents.MAX_BYTES":
        "collector/config/test_yaml_documents.py::test_a_file_over_the_limit_is_refused",
    "collector.config.yaml_documents._MAX_NODES":
        "collector/config/test_yaml_documents.py::test_invalid_files_are_refused_with_the_line",
    "collector.exporters.otlp.MAX_ANSWER_BYTES":
        "collector/exporters/test_otlp_endless_answers.py::test_the_size_of_an_answer_is_bounded",
    "collector.delivery.joining.MAX_SMALL": "collector/delivery/test_joining.py::test_large_requests_leave_alone",
    "collector.delivery.joining._MAX_JOINED": "collector/delivery/test_joining.py::test_a_joined_request_is_bounded",
    "collector.delivery.lane._MAX_PACE":
        "collector/delivery/test_joining.py::test_a_small_request_leaves_although_no_other_follows",
    "collector.delivery.queued_exporter.MAX_ELAPSED_TIME":
        "collector/exporters/test_otlp.py::test_a_request_is_dropped_after_max_elapsed_time",
    "collector.judging.clients.openai.MAX_ANSWER_BYTES":
        "collector/judging/clients/test_openai.py::test_the_size_of_an_answer_is_bounded",
    "collector.judging.clients.schema.MAX_SCHEMAS":
        "collector/judging/clients/test_schema.py::test_the_number_of_schemas_is_bounded",
    "collector.judging.guarded_judge.MAX_QUESTION_BYTES":
        "collector/judging/test_guarded_judge.py::test_the_size_of_a_question_is_bounded_in_bytes",
    "collector.judging.queue.MAX_QUESTIONS": "collector/judging/test_queue.py::test_a_scorer_may_ask_so_many_questions",
    "collector.judging.recorded_content.MAX_OUTPUT":
        "collector/judging/test_recorded_content.py::test_long_structures_are_dropped_and_long_texts_truncated",
    "collector.judging.recorded_content.MAX_TOOL_DEFINITIONS":
        "collector/judging/test_recorded_content.py::test_long_structures_are_dropped_and_long_texts_truncated",
    "collector.judging.redacting.MAX_DEPTH":
        "collector/judging/test_redacting.py::test_values_nested_too_deeply_are_left_out",
    "collector.otlp.by_trace.MAX_MESSAGE":
        "collector/exporters/test_kafka.py::test_a_large_trace_is_several_messages_below_the_limit_of_brokers",
    "collector.otlp.decode._MAX_DEPTH": "collector/otlp/test_decode.py::test_values_are_read_to_32_levels",
    "collector.otlp.decode._MAX_EVENTS": "collector/otlp/test_limits.py::test_only_the_first_events_of_a_span_are_read",
    "collector.otlp.decode._MAX_EVENT_ATTRIBUTES":
        "collector/otlp/test_trim.py::test_attributes_of_an_event_and_items_of_a_value_are_limited",
    "collector.otlp.decode._MAX_OF_EVENTS":
        "collector/otlp/test_limits.py::test_a_span_and_its_events_have_so_many_attributes_together",
    "collector.otlp.decode._MAX_ITEMS":
        "collector/otlp/test_trim.py::test_attributes_of_an_event_and_items_of_a_value_are_limited",
    "collector.otlp.exported_json.MAX_DOCUMENT":
        "collector/receivers/test_otlp_file.py::test_a_json_value_has_a_limit_and_a_file_of_many_has_none",
    "collector.otlp.exported_json.MAX_VALUES":
        "collector/receivers/test_otlp_file.py::test_what_would_become_too_many_objects_is_refused_before_it_does",
    "collector.otlp.json._MAX_BYTES": "collector/otlp/test_json.py::test_a_request_beyond_a_limit_is_too_large",
    "collector.otlp.json.MAX_DEPTH":
        "collector/otlp/test_json.py::test_a_large_request_that_is_nested_too_deeply_is_refused",
    "collector.otlp.json._MAX_OBJECTS": "collector/otlp/test_json.py::test_a_request_beyond_a_limit_is_too_large",
    "collector.otlp.lazy._MAX_HELD":
        "collector/test_request_pipeline.py::test_a_span_too_large_to_hold_is_scored_and_forwarded_as_it_is",
    "collector.otlp.trim.MAX_FIELDS":
        "collector/otlp/test_trim.py::test_fields_are_limited_whatever_they_are",
    "collector.otlp.trim.MAX_ATTRIBUTES": "collector/otlp/test_trim.py::test_attributes_are_limited",
    "collector.receivers.kafka.receiver.MAX_BUFFERED":
        "collector/receivers/test_kafka.py::test_where_nothing_is_taken_no_more_than_so_much_is_read",
    "collector.receivers.otlp_file._MAX_RESOURCE":
        "collector/receivers/test_otlp_file.py::test_the_spans_of_one_resource_have_a_limit",
    "collector.receivers.otlp_grpc._MAX_METADATA":
        "collector/receivers/test_otlp_grpc_limits.py::test_too_many_headers_are_refused_and_the_next_call_works",
    "collector.request_pipeline._MAX_LOG_RECORD":
        "collector/test_request_pipeline.py::test_a_log_record_that_is_too_large_is_forwarded_unread",
    "collector.console.raw_spans.MAX_SHOWN": "console/test_pages.py::test_raw_spans_are_shown_and_given_as_otlp",
    "collector.runs.database.MAX_OF_TRACE":
        "collector/runs/test_store.py::test_only_so_many_verdicts_on_a_trace_are_read",
    "collector.runs.record.MAX_SPANS":
        "collector/runs/test_store.py::test_spans_stored_of_a_run_are_limited_in_bytes",
    "collector.runs.record.MAX_COMPARED":
        "collector/runs/test_store.py::test_a_run_of_many_calls_is_not_compared_again",
    "collector.runs.store.MAX_MEMORY_MIB": "collector/runs/test_store.py::test_a_store_in_memory_is_small",
    "collector.drift.monitor.MAX_PATHS": "collector/drift/test_monitor.py::test_only_so_many_paths_wait",
    "collector.drift.paths.MAX_CALLS": "collector/drift/test_paths.py::test_long_runs_and_long_names_are_cut",
    "collector.drift.state.MAX_BYTES": "collector/drift/test_monitor.py::test_a_file_that_is_too_large_is_begun_anew",
    "collector.drift.comparison.MAX_FACTS":
        "collector/drift/test_stream.py::test_facts_beyond_the_limit_wait_until_rare_ones_have_made_room",
    "collector.drift.versions.MAX_VERSIONS":
        "collector/drift/test_versions.py::"
        "test_versions_by_random_names_displace_none_that_is_in_use_and_end_after_some_days",
    "collector.drift.stream.MAX_STREAMS":
        "collector/drift/test_monitor.py::test_agents_by_random_names_displace_none_that_is_at_work",
    "collector.runs.record.MAX_CALLS": "collector/runs/test_store.py::test_a_huge_run_is_cut_before_it_waits",
    "collector.runs.record.MAX_TEXT": "collector/runs/test_store.py::test_a_huge_run_is_cut_before_it_waits",
    "collector.runs.store.MAX_WAITING":
        "collector/runs/test_store.py::test_a_store_that_writes_nothing_takes_only_so_many",
    "collector.runs.store.MAX_REVISED":
        "collector/runs/test_store.py::test_only_so_many_revised_verdicts_that_no_sample_takes_are_handed_over",
    "collector.runs.tally.MAX_SERIES":
        "collector/runs/test_store.py::test_series_beyond_the_limit_are_counted_together",
    "collector.console.app.MAX_PAGES":
        "collector/console/test_app.py::test_a_slow_disk_makes_pages_wait_for_their_turn_and_nothing_else",
    "collector.console.charts.MAX_BARS": "collector/console/test_charts.py::test_only_the_first_calls_are_drawn",
    "collector.console.rule_tests.MAX_TESTS": "collector/console/test_app.py::test_only_so_many_runs_become_tests_at_once",
    "collector.console.scratch.MAX_BYTES": "console/test_pages.py::test_rules_that_are_none_are_refused_with_the_line",
    "collector.console.scratch.MAX_READING": "collector/console/test_app.py::test_rules_are_read_for_so_long",
    "collector.console.scratch.MAX_RUNS": "collector/console/test_app.py::test_rules_are_tried_on_so_many_runs",
    "collector.console.scratch.MAX_SECONDS": "collector/console/test_app.py::test_rules_are_tried_for_so_long",
    "collector.console.app.MAX_FORM": "console/test_pages.py::test_a_form_without_end_is_refused",
    "collector.console.live.MAX_STREAMS": "console/test_pages.py::test_only_so_many_pages_are_updated_live",
    "collector.console.request.MAX_QUERY": "console/test_api.py::test_a_query_that_means_nothing_is_refused",
    "collector.runs.queries.MAX_SEARCHED":
        "collector/runs/test_store.py::test_a_page_looks_for_words_in_so_many_runs_and_the_next_one_goes_on",
    "collector.runs.queries.MAX_KINDS": "collector/runs/test_store.py::test_so_many_kinds_of_runs_are_filtered",
    "collector.runs.database.MAX_COUNTS":
        "collector/runs/test_store.py::test_counts_of_a_minute_are_one_row_and_a_full_table_loses_whole_hours",
    "collector.runs.queries.MAX_PAGE": "console/test_api.py::test_a_query_that_means_nothing_is_refused",
    "collector.service.admission._MAX_DESCRIPTION":
        "collector/otlp/test_structure.py::test_a_resource_with_too_much_to_say_is_refused",
    "collector.service.admission._MAX_ITEMS":
        "collector/service/test_admission.py::test_a_request_beyond_a_limit_is_refused_before_anything_is_taken",
    "collector.service.admission._MAX_REPEATED":
        "collector/otlp/test_structure.py::test_what_slices_repeat_is_limited",
    "collector.service.admission._MAX_RESOURCES":
        "collector/otlp/test_structure.py::test_what_is_beyond_a_limit_is_refused",
    "collector.service.admission._MAX_SCOPES":
        "collector/otlp/test_structure.py::test_what_is_beyond_a_limit_is_refused",
    "collector.service.turns._MAX_WAITING":
        "collector/service/test_turns.py::test_more_work_than_senders_wait_for_is_refused_and_counts_until_it_is_done",
    "collector.span_queue.MAX_OPEN_BYTES":
        "collector/test_span_processor.py::test_large_spans_of_traces_that_go_on_are_passed_on_as_well",
    "collector.span_queue.MAX_OPEN_TRACES":
        "collector/test_span_processor.py::test_beyond_the_limit_the_trace_quiet_longest_is_scored_as_it_is",
    "collector.span_queue.MAX_QUEUED_BYTES":
        "collector/test_span_processor.py::test_large_spans_fill_the_queue_as_well",
    "collector.span_queue.MAX_QUEUED_SPANS":
        "collector/test_span_processor.py::"
        "test_a_stuck_exporter_holds_up_no_agent_and_a_full_queue_makes_no_wrong_verdicts",
    "collector.transport.backoff.MAX_RETRY_AFTER":
        "collector/exporters/test_otlp_faults.py::test_http_waits_as_long_as_the_backend_asks",
    "collector.transport.credentials.MAX_FILE_BYTES":
        "collector/transport/test_credentials.py::test_a_file_that_is_too_large_is_refused",
    "collector.assembly.trace._MAX_ANCESTORS":
        "collector/assembly/test_assembler.py::test_a_late_span_too_far_below_its_run_is_held_like_a_new_one",
    "collector.assembly.packed_trace.MAX_PACKED":
        "collector/assembly/test_packed_trace.py::"
        "test_a_trace_is_not_packed_where_that_takes_long_or_something_else_has_it",
    "collector.assembly.assembler.MAX_LEAVING":
        "collector/test_trace_pipeline.py::"
        "test_large_traces_beyond_a_limit_are_evaluated_in_turn_and_beyond_another_released_unscored",
    "collector.otlp.redact.MAX_WORK":
        "collector/results/test_redaction.py::test_what_is_looked_at_is_limited_and_the_rest_does_not_leave",
    "collector.otlp.status.MAX_REASON": "collector/exporters/test_otlp.py::test_the_reason_of_a_backend_is_short_and_printable",
    "collector.payloads.attribute_shapes.MAX_LOOKED_AT":
        "collector/payloads/test_attribute_shapes.py"
        "::test_of_many_attributes_only_the_first_are_looked_at_and_the_others_may_be_anything",
    "collector.payloads.event_calls.MAX_ATTRIBUTES":
        "collector/payloads/test_event_calls.py::test_only_so_many_attributes_of_events_are_looked_at",
    "collector.payloads.messages.MAX_CALLS": "collector/payloads/test_messages.py::test_calls_are_bounded",
    "collector.payloads.messages.MAX_NODES": "collector/payloads/test_messages.py::test_nodes_are_bounded",
    "collector.payloads.offered_tools.MAX_CALLS":
        "collector/payloads/test_offered_tools.py::test_a_bounded_number_of_calls_is_looked_at",
    "collector.payloads.offered_tools.MAX_DEFINITIONS":
        "collector/payloads/test_offered_tools.py::test_a_list_that_may_be_cut_tells_nothing",
    "collector.payloads.values.MAX_DEPTH": "collector/payloads/test_values.py::test_deep_nesting_is_not_parsed",
    "collector.payloads.values.MAX_REPR":
        "collector/payloads/test_values.py::test_a_repr_that_is_too_long_is_not_parsed",
    "collector.payloads.values.MAX_REPRS":
        "collector/payloads/test_values.py::test_the_reprs_parsed_for_one_trace_are_limited",
    "collector.payloads.values.MAX_REPR_PARTS":
        "collector/payloads/test_values.py::test_a_repr_of_too_many_parts_is_not_parsed",
    "collector.payloads.values.MAX_VALUES":
        "collector/payloads/test_values.py::test_the_values_parsed_for_one_trace_are_limited",
    "collector.payloads.values.MAX_TEXT": "collector/payloads/test_values.py::test_a_long_text_is_not_parsed",
    "collector.payloads.written_calls.MAX_NAME":
        "collector/payloads/test_written_calls.py::test_a_longer_name_is_not_looked_at",
    "collector.transport.http_server._MAX_HEAD":
        "collector/transport/test_http_server.py::test_nonsense_is_refused_and_harms_nobody",
    "collector.transport.http_server._MAX_CHUNKS":
        "collector/transport/test_http_server.py::test_a_body_in_a_great_many_small_chunks_is_refused",
    "collector.transport.gunzip._MAX_MEMBERS":
        "collector/transport/test_gunzip.py::test_members_are_limited_in_size_and_number",
    "scorers.conformance.pattern.MAX_RESIDUALS":
        "scorers/conformance/test_pattern.py::test_patterns_with_too_many_interleavings_are_refused",
    "collector.scoring.declared_tools.MAX_LISTS":
        "collector/scoring/test_declared_tools.py::test_where_the_offered_tools_are_not_known_nothing_is_said_of_others",
    "scorers.conformance.declared.MAX_SCHEMA":
        "scorers/conformance/test_declared.py::test_what_cannot_be_checked_is_neither_right_nor_wrong",
    "scorers.conformance.declared.MAX_REGEX_MEMORY":
        "scorers/conformance/test_declared.py::test_a_schema_that_is_none_says_nothing_about_the_agent",
    "scorers.doubts.MAX_ALTERNATIVES": "scorers/test_doubts.py::test_more_readings_than_are_tried_decide_nothing",
    "scorers.work.MAX_WORK": "scorers/test_work.py::test_beyond_the_limit_an_evaluation_is_an_error_that_names_it",
}  # fmt: skip
"""The same for limits that cannot be set."""


class Limit(NamedTuple):
    """A row: its name, value and meaning."""

    name: str
    value: str
    bounds: str


def settings() -> Iterator[Limit]:
    """Every number of the configuration, once where a section is used in several places."""
    seen: set[tuple[str, str]] = set()
    for where, owner, field in _fields(Config, ()):
        kinds, name = _kinds(field.annotation), where[-1]
        if (owner, name) not in seen and not {int, float}.isdisjoint(kinds) and bool not in kinds:
            seen.add((owner, name))
            yield Limit(".".join(where), _default(name, field, kinds), field.description or "")


def constants() -> Iterator[Limit]:
    """Every constant ``MAX_...`` in `GUARDED`, and in the modules of `CONSTANTS`."""
    files = {ROOT / f"{name.rpartition('.')[0].replace('.', '/')}.py" for name in CONSTANTS}
    for path in (ROOT / name for name in GUARDED):
        files.update(path.rglob("*.py") if path.is_dir() else [path])
    for path in sorted(files):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for name, meaning in _constants_of(path):
            yield Limit(f"{module}.{name}", _amount(getattr(importlib.import_module(module), name), name), meaning)


def tables() -> str:
    """Both tables as Markdown."""
    lines = ["| setting | default | bounds | tested by |", "|---|---|---|---|"]
    lines += [_row(limit, SETTINGS[limit.name]) for limit in settings() if limit.name in SETTINGS]
    lines += ["", "What cannot be set:", "", "| constant | value | bounds | tested by |", "|---|---|---|---|"]
    lines += [_row(limit, CONSTANTS[limit.name]) for limit in constants() if limit.name in CONSTANTS]
    return "\n".join(lines) + "\n"


def security() -> str:
    """SECURITY.md with the tables brought up to date."""
    return marked.replaced(SECURITY.read_text(), "limits", tables())


def _fields(section: type[BaseModel], where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, FieldInfo]]:
    for name, field in section.model_fields.items():
        sections = [kind for kind in _kinds(field.annotation) if isinstance(kind, type) and issubclass(kind, BaseModel)]
        for inner in sections:
            yield from _fields(inner, (*where, name))
        if not sections:
            owner = next(kind for kind in section.__mro__ if name in get_annotations(kind))
            yield (*where, name), owner.__name__, field


def _kinds(annotation: Any) -> set[Any]:
    """The types in an annotation, such as int and None in ``int | None``."""
    return {annotation}.union(*(_kinds(inner) for inner in get_args(annotation)))


def _default(name: str, field: FieldInfo, kinds: set[Any]) -> str:
    if field.default_factory is not None or field.default is None:
        return ""
    unit = " s" if float in kinds else " MiB" if name.endswith("_mib") else ""
    return f"{field.default:,g}{unit}" if isinstance(field.default, float) else f"{field.default:,}{unit}"


def _amount(value: float, name: str) -> str:
    for size, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if ("BYTES" in name or "METADATA" in name) and value % size == 0:
            return f"{value // size:,} {unit}"
    return f"{value:,g}" if isinstance(value, float) else f"{value:,}"


def _constants_of(path: Path) -> Iterator[tuple[str, str]]:
    """Names of the constants of a file, each with the docstring below it or the comment beside it."""
    text = path.read_text("utf-8")
    body = ast.parse(text).body
    for node, below in zip(body, [*body[1:], ast.Pass()], strict=True):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id.lstrip("_").startswith("MAX_"):
            meaning = text.splitlines()[node.lineno - 1].partition("#")[2]
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                meaning = str(below.value.value)
            yield target.id, " ".join(meaning.split())


def _row(limit: Limit, test: str) -> str:
    file, _, name = test.partition("::")
    name = name.removeprefix("test_").replace("_", " ")
    return f"| `{limit.name}` | {limit.value} | {limit.bounds} | [{name}](tests/{file}) |"


if __name__ == "__main__":
    SECURITY.write_text(security())
