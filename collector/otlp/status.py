"""Maps the collector's errors to OTLP statuses for senders, and reads the responses of backends.

Source: the OTLP specification 1.9, "OTLP/gRPC Response", "OTLP/HTTP Response" and "Failures". A gRPC
RESOURCE_EXHAUSTED may be retried only when it carries RetryInfo; an HTTP error body is a ``google.rpc.Status``.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import grpc
from google.protobuf import json_format
from google.protobuf.message import DecodeError as ProtobufError
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.component import Rejected, Signal
from collector.errors import (
    CollectorError,
    DecodeError,
    PermanentError,
    RefusedError,
    TooLargeError,
    TooSlowError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedError,
)
from scorers.quoting import shorten

MAX_REASON = 1_000
"""Characters of the reason for which a backend rejects a part of a request."""

# Most specific first.
_STATUSES: tuple[tuple[type[CollectorError], grpc.StatusCode, int], ...] = (
    (DecodeError, grpc.StatusCode.INVALID_ARGUMENT, 400),
    (UnauthenticatedError, grpc.StatusCode.UNAUTHENTICATED, 401),
    # INVALID_ARGUMENT is not retryable: what does not fit will not fit the next time.
    (TooLargeError, grpc.StatusCode.INVALID_ARGUMENT, 413),
    (UnsupportedError, grpc.StatusCode.UNIMPLEMENTED, 415),
    (PermanentError, grpc.StatusCode.INVALID_ARGUMENT, 400),
    (RefusedError, grpc.StatusCode.RESOURCE_EXHAUSTED, 429),
    (UnavailableError, grpc.StatusCode.UNAVAILABLE, 503),
    (TooSlowError, grpc.StatusCode.DEADLINE_EXCEEDED, 408),
    (CollectorError, grpc.StatusCode.UNAVAILABLE, 503),
)

# Without RESOURCE_EXHAUSTED, which the specification allows to retry only where RetryInfo comes with it.
RETRYABLE_GRPC = frozenset(
    {
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
RETRYABLE_HTTP = frozenset({429, 502, 503, 504})


def grpc_code(error: CollectorError) -> grpc.StatusCode:
    """Returns the gRPC status code for ``error``."""
    return next(code for kind, code, _ in _STATUSES if isinstance(error, kind))


def http_status(error: CollectorError) -> int:
    """Returns the HTTP status code for ``error``."""
    if isinstance(error, UnsupportedError):
        return error.http_status
    return next(status for kind, _, status in _STATUSES if isinstance(error, kind))


def status_message(error: CollectorError) -> Status:
    """Returns the ``google.rpc.Status`` for ``error``, with RetryInfo if the sender should wait."""
    status = Status(code=grpc_code(error).value[0], message=str(error))
    if error.retry_after is not None:
        info = RetryInfo()
        info.retry_delay.FromMilliseconds(int(error.retry_after * 1000))
        status.details.add().Pack(info)
    return status


def http_body(error: CollectorError, *, as_json: bool) -> bytes:
    """Returns the body of an HTTP error response, in the encoding of the request."""
    status = status_message(error)
    return json_format.MessageToJson(status, indent=None).encode() if as_json else status.SerializeToString()


_RESPONSES: dict[Signal, tuple[type[Message], str]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points"),
}


def _response(signal: Signal, rejected: Rejected) -> Message:
    kind, count = _RESPONSES[signal]
    fields = {count: rejected.count, "error_message": rejected.message}
    return kind(partial_success=fields) if rejected else kind()


def partial_success(signal: Signal, rejected: Rejected) -> bytes:
    """Returns the response to a request that was partly rejected."""
    return _response(signal, rejected).SerializeToString()


def success_body(signal: Signal, rejected: Rejected, *, as_json: bool) -> bytes:
    """Returns the body of an HTTP 200, in the encoding of the request; ``partial_success`` is set only if needed."""
    if as_json:
        return json_format.MessageToJson(_response(signal, rejected), indent=None).encode()
    return partial_success(signal, rejected)


def rejected_items(signal: Signal, response: bytes) -> Rejected:
    """Returns what a backend rejected permanently according to its response; nothing if the response is not OTLP.

    Its reason, of at most MAX_REASON characters, is printable.
    """
    kind, count = _RESPONSES[signal]
    try:
        partial = kind.FromString(response).partial_success  # type: ignore[attr-defined]
    except ProtobufError:
        return Rejected()
    # A backend may say any number: less than nothing would count as sent in addition.
    return Rejected(max(0, getattr(partial, count)), shorten(partial.error_message, MAX_REASON))


def reason(body: bytes) -> str:
    """Returns what the body of an HTTP error says: a ``google.rpc.Status`` or text, cut to MAX_REASON printable characters."""
    try:
        if message := Status.FromString(body).message:
            return shorten(message, MAX_REASON)
    except ProtobufError:
        pass
    try:
        return shorten(" ".join(body.decode().split()), MAX_REASON)
    except UnicodeDecodeError:
        return ""


def retry_delay(status_details: bytes) -> float | None:
    """Returns the delay in seconds that a backend asked for in the ``grpc-status-details-bin`` trailer, None if it did not."""
    try:
        for detail in Status.FromString(status_details).details:
            if detail.Is(RetryInfo.DESCRIPTOR):
                info = RetryInfo.FromString(detail.value)
                return float(info.retry_delay.ToMilliseconds()) / 1000
    except ProtobufError:
        pass
    return None


def retry_after(header: str | None, now: float) -> float | None:
    """Returns the delay in seconds from an HTTP ``Retry-After`` (seconds or a date), None if there is none it can read.

    ``now`` is Unix time in seconds.
    """
    if not header:
        return None
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now)
    except (ValueError, OverflowError):
        return None
