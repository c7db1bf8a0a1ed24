"""Converts OTLP/JSON to protobuf bytes, so that the rest of the collector sees one encoding, and back for files.

OTLP/JSON differs from the JSON mapping of protobuf in its ids: hex, not base64. The rest (lowerCamelCase keys, 64-bit
integers as string or number, enums as integers, unknown fields ignored) is left to protobuf's JSON parser.

Converting takes some twenty times the memory of the request in protobuf, and where it is left to protobuf's parser thirty
times as long: what a sender may send is limited in bytes, values and objects. A large request is converted in a thread, where
nothing may hold the interpreter lock for long.
"""

from __future__ import annotations

import base64
import json
import json.scanner
from collections.abc import Callable, Iterator
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.message import DecodeError as ProtobufError
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.component import Signal
from collector.errors import DecodeError, TooLargeError
from collector.otlp import json_fields
from scorers.unicode import JSONDecoder, valid_unicode

_REQUESTS: dict[Signal, type[Message]] = {
    "traces": ExportTraceServiceRequest,
    "logs": ExportLogsServiceRequest,
    "metrics": ExportMetricsServiceRequest,
}
_TRANSLATED: dict[Signal, json_fields.Fields] = {"traces": json_fields.TRACES, "logs": json_fields.LOGS}
# The key that identifies the signal of a request, for files without that information.
_TOP_LEVEL: dict[str, Signal] = {"resourceSpans": "traces", "resourceLogs": "logs", "resourceMetrics": "metrics"}
# In either spelling, as protobuf's parser takes them.
_ID_FIELDS = frozenset({"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"})
_PER_VALUE = 100  # bytes of the Python and protobuf objects of a value or key, on average
MAX_DEPTH = 200  # levels of an OTLP/JSON body: protobuf's own limit is 100 messages, of which each may be in a list
_MAX_BYTES = 20 << 20  # of an OTLP/JSON body: the limit of the OpenTelemetry Collector for any body
_MAX_OBJECTS = 500_000  # of an OTLP/JSON body: an attribute has two; each takes protobuf's parser about 8 µs
# The parser in C, which holds the interpreter lock, takes up to 20 ms for so many values, and 25 ms for so many bytes.
_QUICK_VALUES, _QUICK_BYTES = 100_000, 4 << 20


def cost(body: bytes) -> int:
    """Returns about how many bytes converting ``body`` takes, before it is parsed: three bytes can become a dictionary.

    Raises TooLargeError if it is too large to look at.
    """
    if len(body) > _MAX_BYTES:
        raise TooLargeError(_too_large(f"{_MAX_BYTES >> 20} MiB"))
    return len(body) + _PER_VALUE * _count(body, b",:[{")


def _count(body: bytes, marks: bytes) -> int:
    # In one pass: to count each mark on its own takes longer than to parse the body.
    return len(body) - len(body.translate(None, marks))


class _Preemptible(JSONDecoder):
    """The same decoder without its part in C: other threads run between any two values."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.parse_object, self.parse_array = json.decoder.JSONObject, json.decoder.JSONArray  # type: ignore[attr-defined]
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        """Returns the value that starts at ``idx``, and where it ends; does not search all of ``s`` first, at one go."""
        value, end = json.JSONDecoder.raw_decode(self, s, idx)
        return valid_unicode(value), end


_decoder = JSONDecoder()


class _ObjectCount:
    """An object hook that raises TooLargeError beyond the limit."""

    def __init__(self) -> None:
        self._left = _MAX_OBJECTS

    def __call__(self, item: dict[str, Any]) -> dict[str, Any]:
        self._left -= 1
        # While parsing: afterwards, all the objects would be there already.
        if self._left < 0:
            raise TooLargeError(_too_large(f"{_MAX_OBJECTS:,} objects"))
        return item


def _too_large(limit: str) -> str:
    return f"an OTLP/JSON request may have at most {limit}; send smaller batches, or protobuf"


def to_protobuf(signal: Signal, body: bytes) -> bytes:
    """Convert a JSON request to protobuf. Raises DecodeError with the reason, TooLargeError beyond a limit."""
    if len(body) > _MAX_BYTES:
        raise TooLargeError(_too_large(f"{_MAX_BYTES >> 20} MiB"))
    values = _count(body, b",[{")
    decoder = JSONDecoder if values <= _QUICK_VALUES and len(body) <= _QUICK_BYTES else _Preemptible
    # There are no more objects than values.
    return _serialize(signal, load(body, decoder(object_hook=_ObjectCount() if values > _MAX_OBJECTS else None)))


def load(body: bytes | str, decoder: JSONDecoder = _decoder) -> dict[str, Any]:
    """Parse a JSON object; escapes that are no character become U+FFFD. Raises DecodeError."""
    try:
        text = body if isinstance(body, str) else body.decode(json.detect_encoding(body))
        document = decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"the body is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise DecodeError(f"the body is a JSON {kind(document)}; an OTLP request is an object")
    return document


_KINDS: Final = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array"}


def kind(value: Any) -> str:
    """Returns what JSON calls a value of this kind."""
    return _KINDS.get(type(value), "object")


def any_signal(document: dict[str, Any]) -> Iterator[tuple[Signal, bytes]]:
    """Convert a document that may contain requests of any signal, as the Collector's file exporter writes them."""
    for key, signal in _TOP_LEVEL.items():
        if key in document:
            yield signal, _serialize(signal, {key: document[key]})


def _serialize(signal: Signal, document: dict[str, Any]) -> bytes:
    if signal in _TRANSLATED:
        try:
            return json_fields.message(_TRANSLATED[signal], document)
        except (json_fields.Unusual, ValueError):  # protobuf's parser says what is wrong, if anything is
            pass
    request = _REQUESTS[signal]()
    try:
        _ids_to_base64(document)
        json_format.ParseDict(document, request, ignore_unknown_fields=True)
    except (json_format.ParseError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise DecodeError(f"the body is not an OTLP JSON request: {error}") from None
    return request.SerializeToString()


def from_protobuf(signal: Signal, payload: bytes) -> bytes:
    """Returns a protobuf request as one line of OTLP/JSON, as the OpenTelemetry Collector's file exporter writes it.

    Raises DecodeError.
    """
    try:
        document = json_format.MessageToDict(_REQUESTS[signal].FromString(payload), use_integers_for_enums=True)
        _rewrite_ids(document, lambda value: base64.b64decode(value).hex())
    except (ProtobufError, json_format.Error, ValueError, RecursionError) as error:
        raise DecodeError(f"the request cannot be written as JSON: {error}") from None
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _ids_to_base64(document: Any) -> None:
    _rewrite_ids(document, lambda value: base64.b64encode(bytes.fromhex(value)).decode())


def _rewrite_ids(document: Any, rewritten: Callable[[str], str]) -> None:
    """Rewrite ids in place."""
    for node in objects(document):
        for key in _ID_FIELDS & node.keys():
            if isinstance(value := node[key], str):
                node[key] = rewritten(value)


def objects(document: Any) -> Iterator[dict[str, Any]]:
    """Yields the objects of parsed JSON, each before those in it, without recursion: senders choose the depth.

    What is yielded may be changed. Raises ValueError where it is nested too deep.
    """
    pending: list[tuple[Any, int]] = [([document], -1)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(node, dict):
            yield node
        children = node.values() if isinstance(node, dict) else node
        pending.extend((child, depth + 1) for child in children if isinstance(child, (dict, list)))
