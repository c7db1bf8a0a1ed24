"""Translates OTLP/JSON to protobuf as SDKs write it: ten times as fast as protobuf's parser, which builds every message.

Spans and log records with the keys of the specification, whose values have the usual types. Anything else is `Unusual`: a key
in snake case, an enum by name, an unknown key. Protobuf's parser decides what that means.
Fields are written in order, whatever the order of the keys, and those with a default value are left out, as protobuf does.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any, Final

from collector.otlp.wire import field, varint

Encode = Callable[[Any], bytes]
Fields = tuple[tuple[str, Encode], ...]

_MAX_DEPTH: Final = 16
"""Levels of an attribute's value; a deeper one is unusual."""
_ONE_BYTE: Final = 128
_fixed32 = struct.Struct("<I").pack
_fixed64 = struct.Struct("<Q").pack
_double = struct.Struct("<d").pack
_LARGEST: Final = sys.float_info.max


class Unusual(Exception):  # noqa: N818 - no error: it is left to protobuf's parser
    """A request that is not as SDKs write it."""


def message(fields: Fields, value: Any) -> bytes:
    """Returns the message that a JSON object is. Raises Unusual."""
    if type(value) is not dict:
        raise Unusual
    parts: list[bytes] = []
    known = 0
    for key, encode in fields:
        if key in value:
            known += 1
            if (item := value[key]) is not None:
                parts.append(encode(item))
    # A key that the table lacks: of a newer OTLP, or in another spelling, which protobuf's parser may know.
    if known != len(value):
        raise Unusual
    return b"".join(parts)


def _text(tag: int) -> Encode:
    def encode(value: Any) -> bytes:
        if type(value) is not str:
            raise Unusual
        return field(tag, value.encode()) if value else b""

    return encode


def _hex(tag: int) -> Encode:
    def encode(value: Any) -> bytes:
        if type(value) is not str:
            raise Unusual
        return field(tag, bytes.fromhex(value)) if value else b""

    return encode


def _number(value: Any, least: int, most: int) -> int:
    """Returns an integer, which may be written as text."""
    # 20 characters hold any 64-bit number; reading a longer text takes time that grows with its square.
    if type(value) is str and len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit():
        value = int(value)
    # `type`, not isinstance: `true` is an int in Python, and no number in OTLP.
    if type(value) is not int or not least <= value <= most:
        raise Unusual
    return value


def _packed(tag: bytes, pack: Callable[[int], bytes], most: int) -> Encode:
    def encode(value: Any) -> bytes:
        number = _number(value, 0, most)
        return tag + pack(number) if number else b""

    return encode


def _time(tag: int) -> Encode:
    return _packed(bytes((tag,)), _fixed64, (1 << 64) - 1)


def _small(tag: int) -> Encode:
    """An enum, or a count of what was dropped."""
    return _packed(bytes((tag,)), varint, _ONE_BYTE - 1)


def _one(tag: int, fields: Fields) -> Encode:
    return lambda value: field(tag, message(fields, value))


def _many(tag: int, fields: Fields) -> Encode:
    def encode(value: Any) -> bytes:
        if type(value) is not list:
            raise Unusual
        return b"".join([field(tag, message(fields, item)) for item in value])

    return encode


def _any_value(value: Any, depth: int = 0) -> bytes:
    if type(value) is not dict or len(value) > 1 or depth > _MAX_DEPTH:
        raise Unusual
    # Default values are written, unlike elsewhere: in a oneof they tell the kind of the value.
    for kind, item in value.items():
        if kind == "stringValue" and type(item) is str:
            return field(0x0A, item.encode())
        if kind == "boolValue" and type(item) is bool:
            return b"\x10\x01" if item else b"\x10\x00"
        if kind == "intValue":
            # Protobuf writes a negative number as 64 bits of two's complement.
            return b"\x18" + varint(_number(item, -(1 << 63), (1 << 63) - 1) & ((1 << 64) - 1))
        if kind == "doubleValue" and (type(item) is float or type(item) is int) and abs(item) <= _LARGEST:
            return b"\x21" + _double(item)
        if kind == "arrayValue":
            return field(0x2A, b"".join([field(0x0A, _any_value(one, depth + 1)) for one in _values(item)]))
        if kind == "kvlistValue":
            return field(0x32, b"".join([field(0x0A, _key_value(one, depth + 1)) for one in _values(item)]))
        raise Unusual
    return b""


def _values(value: Any) -> list[Any]:
    if type(value) is not dict or value.keys() != {"values"} or type(value["values"]) is not list:
        raise Unusual
    values: list[Any] = value["values"]
    return values


def _key_value(pair: Any, depth: int = 0) -> bytes:
    if type(pair) is not dict or len(pair) != 2 or "key" not in pair or "value" not in pair:
        raise Unusual
    return _key(pair["key"]) + field(0x12, _any_value(pair["value"], depth))


def _attributes(tag: int) -> Encode:
    def encode(value: Any) -> bytes:
        if type(value) is not list:
            raise Unusual
        return b"".join([field(tag, _key_value(pair)) for pair in value])

    return encode


_key = _text(0x0A)
_flags_most: Final = (1 << 32) - 1
_RESOURCE: Fields = (("attributes", _attributes(0x0A)), ("droppedAttributesCount", _small(0x10)))
_SCOPE: Fields = (
    ("name", _text(0x0A)), ("version", _text(0x12)), ("attributes", _attributes(0x1A)),
    ("droppedAttributesCount", _small(0x20)),
)  # fmt: skip
_EVENT: Fields = (
    ("timeUnixNano", _time(0x09)), ("name", _text(0x12)), ("attributes", _attributes(0x1A)),
    ("droppedAttributesCount", _small(0x20)),
)  # fmt: skip
_LINK: Fields = (
    ("traceId", _hex(0x0A)), ("spanId", _hex(0x12)), ("traceState", _text(0x1A)), ("attributes", _attributes(0x22)),
    ("droppedAttributesCount", _small(0x28)), ("flags", _packed(b"\x35", _fixed32, _flags_most)),
)  # fmt: skip
_STATUS: Fields = (("message", _text(0x12)), ("code", _small(0x18)))
_SPAN: Fields = (
    ("traceId", _hex(0x0A)), ("spanId", _hex(0x12)), ("traceState", _text(0x1A)), ("parentSpanId", _hex(0x22)),
    ("name", _text(0x2A)), ("kind", _small(0x30)), ("startTimeUnixNano", _time(0x39)), ("endTimeUnixNano", _time(0x41)),
    ("attributes", _attributes(0x4A)), ("droppedAttributesCount", _small(0x50)), ("events", _many(0x5A, _EVENT)),
    ("droppedEventsCount", _small(0x60)), ("links", _many(0x6A, _LINK)), ("droppedLinksCount", _small(0x70)),
    ("status", _one(0x7A, _STATUS)), ("flags", _packed(b"\x85\x01", _fixed32, _flags_most)),
)  # fmt: skip
_LOG_RECORD: Fields = (
    ("timeUnixNano", _time(0x09)), ("severityNumber", _small(0x10)), ("severityText", _text(0x1A)),
    ("body", lambda value: field(0x2A, _any_value(value))), ("attributes", _attributes(0x32)),
    ("droppedAttributesCount", _small(0x38)), ("flags", _packed(b"\x45", _fixed32, _flags_most)),
    ("traceId", _hex(0x4A)), ("spanId", _hex(0x52)), ("observedTimeUnixNano", _time(0x59)), ("eventName", _text(0x62)),
)  # fmt: skip


def _request(resources: str, scopes: str, items: str, item: Fields) -> Fields:
    scope: Fields = (("scope", _one(0x0A, _SCOPE)), (items, _many(0x12, item)), ("schemaUrl", _text(0x1A)))
    resource: Fields = (("resource", _one(0x0A, _RESOURCE)), (scopes, _many(0x12, scope)), ("schemaUrl", _text(0x1A)))
    return ((resources, _many(0x0A, resource)),)


TRACES: Final = _request("resourceSpans", "scopeSpans", "spans", _SPAN)
LOGS: Final = _request("resourceLogs", "scopeLogs", "logRecords", _LOG_RECORD)
