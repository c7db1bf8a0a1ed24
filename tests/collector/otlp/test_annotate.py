"""Annotating a span appends to it and leaves its other bytes unchanged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.otlp import lazy
from collector.otlp.annotate import annotate, events_envelope, log_record, record_attribute, record_end
from collector.otlp.trim import MAX_ATTRIBUTES, MAX_FIELDS
from tests import otlp_data as data


def test_attributes_are_appended() -> None:
    raw = data.tool(2, 1, "search").SerializeToString()
    added = annotate(
        raw, (("rightcall.outcome", "matched"), ("n", 3), ("score", 0.5), ("ok", True), ("names", ("a", "b")))
    )
    assert added.startswith(raw)
    own = {key: value for key, value in data.values_of(Span.FromString(added)).items() if not key.startswith("gen_ai")}
    assert own == {"rightcall.outcome": "matched", "n": 3, "score": 0.5, "ok": True, "names": ["a", "b"]}


def test_an_attribute_with_a_name_of_ours_is_replaced() -> None:
    raw = data.span(1, rightcall__outcome="forged", other="kept").SerializeToString()
    span = Span.FromString(annotate(raw, (("rightcall.outcome", "extra"),)))
    assert [(item.key, item.value.string_value) for item in span.attributes] == [
        ("other", "kept"),
        ("rightcall.outcome", "extra"),
    ]


def test_of_a_span_with_names_of_ours_so_many_attributes_are_looked_at() -> None:
    usual = data.span(1).SerializeToString()
    forged = data.span(1, rightcall__score=1.0).SerializeToString()
    empty = b"J\0" * (MAX_ATTRIBUTES + 5)
    assert len(annotate(usual + empty, (("rightcall.score", 0.5),))) > len(usual + empty), "appended, and not read"
    found = Span.FromString(annotate(forged + empty + forged, (("rightcall.score", 0.5),)))
    assert len(found.attributes) == MAX_ATTRIBUTES
    assert [item.value.double_value for item in found.attributes if item.key] == [0.5]


def test_of_a_span_with_names_of_ours_so_many_fields_are_read() -> None:
    forged = data.span(1, rightcall__score="1").SerializeToString()
    annotated = annotate(forged + b"j\0" * (2 * MAX_FIELDS), (("rightcall.score", 0.5),))
    assert len(annotated) < len(forged) + 2 * MAX_FIELDS + 100
    assert data.values_of(Span.FromString(annotated)) == {"rightcall.score": 0.5}


def test_attributes_with_our_prefix_that_are_not_written_are_unchanged() -> None:
    raw = data.span(1, rightcall__route="/chat").SerializeToString()
    assert annotate(raw, (("rightcall.outcome", "extra"),)).startswith(raw)


def test_an_event_is_a_log_record_linked_to_its_span() -> None:
    end = record_end("gen_ai.evaluation.result", (("score", 1.0),))
    raw = log_record(5, data.TRACE, data.span_id(2), [record_attribute("uid", "u")], end, failed=False)
    record = LogRecord.FromString(raw)
    assert (record.event_name, record.time_unix_nano, record.trace_id, record.span_id) == (
        "gen_ai.evaluation.result",
        5,
        data.TRACE,
        data.span_id(2),
    )
    assert data.values_of(record) == {"uid": "u", "score": 1.0}
    assert record.severity_number == 9
    assert LogRecord.FromString(log_record(5, b"", b"", [], b"", failed=True)).severity_number == 13


@given(st.text(max_size=200), st.text(max_size=200), st.binary(max_size=20), st.booleans())
def test_an_event_has_the_bytes_that_protobuf_writes(name: str, text: str, identity: bytes, failed: bool) -> None:
    end = record_end(name or "e", ())
    own = [record_attribute("uid", text), record_attribute("n", 3)]
    raw = log_record(7, identity or b"i", b"12345678", own, end, failed=failed)
    record = LogRecord(
        time_unix_nano=7, observed_time_unix_nano=7, severity_number=13 if failed else 9, event_name=name or "e",  # type: ignore[arg-type]
        trace_id=identity or b"i", span_id=b"12345678", attributes=data.attributes({"uid": text, "n": 3}),
    )  # fmt: skip
    assert raw == record.SerializeToString()


def test_events_have_the_resource_of_the_run_and_the_scope_of_the_collector() -> None:
    ((envelope, _),) = lazy.iter_scopes(data.traces(data.span(1), service="shop").SerializeToString())
    request = lazy.join(
        [
            (
                events_envelope(envelope.resource, "rightcall", "1.2"),
                [log_record(1, b"", b"", [], b"", failed=False)],
            )
        ]
    )
    (resource,) = ExportLogsServiceRequest.FromString(request).resource_logs
    assert resource.resource.attributes[0].value.string_value == "shop"
    assert (resource.scope_logs[0].scope.name, resource.scope_logs[0].scope.version) == ("rightcall", "1.2")
