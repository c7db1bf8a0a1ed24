"""What a backend says of a request that it took in part."""

from __future__ import annotations

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsPartialSuccess, ExportLogsServiceResponse

from collector.otlp.status import rejected_items


@pytest.mark.parametrize(("said", "counted"), [(0, 0), (3, 3), (-5, 0)])
def test_a_backend_rejects_no_less_than_nothing(said: int, counted: int) -> None:
    partial = ExportLogsPartialSuccess(rejected_log_records=said, error_message="odd")
    response = ExportLogsServiceResponse(partial_success=partial).SerializeToString()
    rejected = rejected_items("logs", response)
    assert (rejected.count, rejected.message) == (counted, "odd")


def test_what_is_no_response_rejects_nothing() -> None:
    assert not rejected_items("traces", b"\xff\xff")
