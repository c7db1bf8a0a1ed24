"""Recognises the JSON in which tools export traces, and converts it to protobuf: for files, not for receivers.

OTLP/JSON as the Collector's file exporter writes it, and as protobuf prints it, with ids in base64; Tempo's API; Jaeger's
API and UI; the console exporter of OpenTelemetry's Python SDK. Everything becomes OTLP/JSON first.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Final

from collector.component import Signal
from collector.errors import DecodeError
from collector.otlp import json as otlp_json
from scorers.unicode import JSONDecoder

FORMATS: Final = "OTLP JSON, a trace of Tempo's or Jaeger's API, or spans of the Python SDK's console exporter"
_SIGNALS: Final = {
    "resourceSpans": "resourceSpans",
    "resource_spans": "resourceSpans",
    "batches": "resourceSpans",  # Tempo, /api/traces
    "resourceLogs": "resourceLogs",
    "resource_logs": "resourceLogs",
    "resourceMetrics": "resourceMetrics",
    "resource_metrics": "resourceMetrics",
}
_ID_SIZES: Final = {"traceId": 16, "trace_id": 16, "spanId": 8, "span_id": 8, "parentSpanId": 8, "parent_span_id": 8}
_ID_KEYS: Final = {"trace_id": "traceId", "span_id": "spanId", "parent_span_id": "parentSpanId"}
_KINDS: Final = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_STATUS: Final = {"OK": 1, "ERROR": 2}
_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}  # as protobuf's JSON has them
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A byte order mark, which some tools put at the beginning, is skipped like white space.
_NO_BLANK: Final = re.compile(r"[^ \t\r\n\ufeff]")
_LONGEST_WORD: Final = 12  # characters: half a pair of escapes
MAX_DOCUMENT: Final = 256 << 20
"""Characters of one JSON value in a file, which is in memory as a whole."""
MAX_VALUES: Final = 20_000_000
"""Commas and opening brackets of such a value: each may be an object of some 200 bytes."""
_INSTEAD: Final = "write JSON lines, or protobuf"
_decoder: Final = JSONDecoder()


class JSONSyntaxError(DecodeError):
    """Text that is no JSON, and the line where that shows."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"not JSON: {message}")
        self.line = line


class UnknownFormatError(DecodeError):
    """A JSON value that is no trace in any of the formats."""


def documents(texts: Iterable[str]) -> Iterator[tuple[int, Any]]:
    """Yield the JSON values in a text, one after the other, each with the line it begins at. Raises JSONSyntaxError.

    The text comes in pieces, of which as much is kept as one value needs. Raises DecodeError for a value beyond a limit.
    """
    pieces = iter(texts)
    text, at, line, is_end = "", 0, 1, False
    while True:
        found = _NO_BLANK.search(text, at)
        begin = found.start() if found else len(text)
        line += text.count("\n", at, begin)
        at = begin
        if at == len(text):
            text, at = next(pieces, ""), 0
            if not text:
                return
            continue
        try:
            value, end = _decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if is_end or not _may_go_on(text, error):
                raise JSONSyntaxError(line + text.count("\n", at, error.pos), error.msg) from None
            text, at = text[at:], 0
            if len(text) > MAX_DOCUMENT:
                too_large = f"line {line} begins a JSON value larger than {MAX_DOCUMENT >> 20} MiB; {_INSTEAD}"
                raise DecodeError(too_large) from None
            # As much again as there is: what begins again after each piece would take time that grows with its square.
            more = _take(pieces, len(text))
            is_end = len(more) < len(text)
            text += more
            # Before they are made: a few kilobytes of gzip can hold what becomes many gigabytes of objects.
            if sum(text.count(mark) for mark in ",[{") > MAX_VALUES:
                too_many = f"line {line} begins a JSON value of more than {MAX_VALUES:,} values; {_INSTEAD}"
                raise DecodeError(too_many) from None
        except (ValueError, RecursionError) as error:
            raise JSONSyntaxError(line, str(error)) from None
        else:
            yield line, value
            line += text.count("\n", at, end)
            at = end


def _may_go_on(text: str, error: json.JSONDecodeError) -> bool:
    """Whether more text could make a value of it: it ends in a string, a word or an escape, or where something is missing."""
    return error.msg.startswith("Unterminated string") or error.pos > len(text) - _LONGEST_WORD


def _take(pieces: Iterator[str], length: int) -> str:
    taken: list[str] = []
    while length > 0 and (piece := next(pieces, "")):
        taken.append(piece)
        length -= len(piece)
    return "".join(taken)


def requests(document: Any) -> Iterator[tuple[Signal, bytes]]:
    """Yield the requests in one exported document. Raises UnknownFormatError if it is in none of the formats, DecodeError."""
    if isinstance(document, list):
        for item in document:
            yield from requests(item) if isinstance(item, dict) else _unknown(item)
        return
    if not isinstance(document, dict):
        document = _unknown(document)
    try:
        found = dict(_otlp(document))
        _set_hex_ids(found)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DecodeError(f"a trace that cannot be read: {type(error).__name__}: {error}") from None
    except RecursionError:
        raise DecodeError(f"a trace that cannot be read: nested deeper than {otlp_json.MAX_DEPTH} levels") from None
    if not found:
        _unknown(document)
    yield from otlp_json.any_signal(found)


def is_otlp(document: Mapping[str, Any]) -> bool:
    """Whether it is OTLP/JSON, as the Collector's file exporter writes a line."""
    return any(isinstance(document.get(key), list) for key in _SIGNALS)


def _unknown(document: Any) -> Any:
    what = (
        f"an object with {', '.join(map(repr, list(document)[:3])) or 'no keys'}"
        if isinstance(document, dict)
        else None
    )
    raise UnknownFormatError(f"{what or f'a JSON {otlp_json.kind(document)}'}: not {FORMATS}")


def _otlp(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields the top-level items of OTLP/JSON that the document amounts to."""
    if isinstance(document.get("trace"), dict):  # Tempo, /api/v2/traces
        yield from _otlp(document["trace"])
    elif isinstance(document.get("data"), list):  # Jaeger
        yield "resourceSpans", [part for trace in document["data"] for part in _jaeger(trace)]
    elif "spans" in document and "processes" in document:
        yield "resourceSpans", list(_jaeger(document))
    elif isinstance(document.get("context"), dict) and "start_time" in document:
        yield "resourceSpans", [_console(document)]
    else:
        for key, name in _SIGNALS.items():
            if isinstance(document.get(key), list):
                yield name, [_with_scopes(item) for item in document[key]]


def _with_scopes(resource: Any) -> Any:
    """Returns the spans of a resource with their scopes under the current name."""
    if isinstance(resource, dict) and "instrumentationLibrarySpans" in resource:  # until OTLP 0.15
        scopes = [
            {"scope": item.get("instrumentationLibrary", {}), **item}
            for item in resource["instrumentationLibrarySpans"]
        ]
        others = {key: value for key, value in resource.items() if key != "instrumentationLibrarySpans"}
        return {**others, "scopeSpans": scopes}
    return resource


def _set_hex_ids(document: Any) -> None:
    """Rewrites ids that protobuf printed, in base64, to hex."""
    for node in otlp_json.objects(document):
        for key in _ID_SIZES.keys() & node.keys():
            value = node.pop(key)
            node[_ID_KEYS.get(key, key)] = _hex_id(value, _ID_SIZES[key]) if isinstance(value, str) else value


def _hex_id(value: str, size: int) -> str:
    # Only the length tells base64 from hex: a trace id has 24 characters in the one and 32 in the other.
    if len(value) != 2 * size and len(value) == 4 * ((size + 2) // 3):
        try:
            return base64.b64decode(value, validate=True).hex()
        except binascii.Error:
            return value
    return value


# --- Jaeger -----------------------------------------------------------------------------------------------------------


def _jaeger(trace: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    processes = trace["processes"]
    for span in trace["spans"]:
        tags = {tag["key"]: tag for tag in span.get("tags") or ()}
        process = processes.get(span.get("processID")) or span.get("process") or {}
        service = {"key": "service.name", "value": {"stringValue": process.get("serviceName", "")}}
        scope = {
            "name": _tag(tags, "otel.scope.name", "otel.library.name"),
            "version": _tag(tags, "otel.scope.version", "otel.library.version"),
        }
        yield {
            "resource": {"attributes": [service, *(_jaeger_attribute(tag) for tag in process.get("tags") or ())]},
            "scopeSpans": [{"scope": scope, "spans": [_jaeger_span(span, tags)]}],
        }


def _jaeger_span(span: Mapping[str, Any], tags: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    # Jaeger counts microseconds, OTLP nanoseconds.
    start = int(span["startTime"]) * 1000
    failed = str(_tag(tags, "error")).lower() == "true"
    parents = [ref for ref in span.get("references") or () if ref.get("refType") == "CHILD_OF"]
    parent = parents[0]["spanID"] if parents else span.get("parentSpanID") or ""
    return {
        "traceId": str(span["traceID"]).rjust(32, "0"),
        "spanId": str(span["spanID"]).rjust(16, "0"),
        "parentSpanId": str(parent).rjust(16, "0") if parent else "",
        "name": span["operationName"],
        "kind": _KINDS.get(str(_tag(tags, "span.kind")).upper(), 0),
        "startTimeUnixNano": start,
        "endTimeUnixNano": start + int(span["duration"]) * 1000,
        "attributes": [_jaeger_attribute(tag) for tag in span.get("tags") or ()],
        "events": [_jaeger_event(log) for log in span.get("logs") or ()],
        "status": {
            "code": _STATUS.get(_tag(tags, "otel.status_code"), 2 if failed else 0),
            "message": _tag(tags, "otel.status_description", "otel.status_message"),
        },
    }


def _jaeger_event(log: Mapping[str, Any]) -> dict[str, Any]:
    fields = log.get("fields") or ()
    return {
        "name": next((str(item["value"]) for item in fields if item["key"] == "event"), ""),
        "timeUnixNano": int(log["timestamp"]) * 1000,
        "attributes": [_jaeger_attribute(item) for item in fields if item["key"] != "event"],
    }


def _jaeger_attribute(tag: Mapping[str, Any]) -> dict[str, Any]:
    kind, value = tag.get("type"), tag.get("value")
    if kind in ("int64", "float64") and isinstance(value, str):
        value = int(value) if kind == "int64" else float(value)
    return {"key": tag["key"], "value": _any_value(value)}


def _tag(tags: Mapping[str, Mapping[str, Any]], *keys: str) -> str:
    return next((str(tags[key]["value"]) for key in keys if key in tags), "")


# --- the console exporter ---------------------------------------------------------------------------------------------


def _console(span: Mapping[str, Any]) -> dict[str, Any]:
    context, status = span["context"], span.get("status") or {}
    parent = span.get("parent_id") or ""
    converted = {
        "traceId": context["trace_id"].removeprefix("0x").rjust(32, "0"),
        "spanId": context["span_id"].removeprefix("0x").rjust(16, "0"),
        "parentSpanId": parent.removeprefix("0x").rjust(16, "0") if parent else "",
        "name": span["name"],
        "kind": _KINDS.get(str(span.get("kind", "")).rpartition(".")[2], 0),
        "startTimeUnixNano": _nanoseconds(span["start_time"]),
        "endTimeUnixNano": _nanoseconds(span.get("end_time") or span["start_time"]),
        "attributes": _attributes(span.get("attributes")),
        "events": [
            {
                "name": event["name"],
                "timeUnixNano": _nanoseconds(event["timestamp"]),
                "attributes": _attributes(event.get("attributes")),
            }
            for event in span.get("events") or ()
        ],
        "status": {"code": _STATUS.get(status.get("status_code", ""), 0), "message": status.get("description") or ""},
    }
    resource = {"attributes": _attributes((span.get("resource") or {}).get("attributes"))}
    return {"resource": resource, "scopeSpans": [{"spans": [converted]}]}


def _nanoseconds(time: str) -> int:
    # In integers: as a float, so many nanoseconds would be off by up to 128.
    return (datetime.fromisoformat(time).astimezone(UTC) - _EPOCH) // timedelta(microseconds=1) * 1000


def _attributes(values: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return [{"key": key, "value": _any_value(value)} for key, value in (values or {}).items()]


def _any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -(2**63) <= value < 2**63 else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if isfinite(value) else _NOT_FINITE[str(value)]}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_any_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": _attributes(value)}}
    return {} if value is None else {"stringValue": str(value)}
