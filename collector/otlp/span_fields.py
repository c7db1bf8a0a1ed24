"""Reads a span in one pass over its bytes: faster than protobuf, which makes an object of each level.

Only a span as nearly all encoders write it, with its fields in order and each once; protobuf reads the others. Where this reads
a span, it reads what protobuf would.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from collector.otlp.tags import ATTRIBUTE, END, EVENT, KIND, NAME, START, STATUS
from collector.otlp.trim import MAX_ATTRIBUTES
from collector.otlp.wire import read_length

NO_PARENT: Final = bytes(8)
"""What some encoders write in place of the id of a parent where there is none."""
_TRACE_ID: Final = b"\n\x10"  # tag and length
_SPAN_ID: Final = b"\x12\x08"
_PARENT: Final = b'"\x08'
_FLAGS: Final = b"\x85\x01"
_times: Final = struct.Struct("<BQBQ").unpack_from
_ONE_BYTE: Final = 128  # varints below this take one byte

SpanFields = tuple[bytes, bytes, bytes, bytes, int, int, int, int, int, Sequence[bytes], bytes, int]
"""Trace, span and parent id, name, kind, start, end, where the attributes begin and end, events, status, and the second byte
of the flags.
"""


def span_fields(raw: bytes) -> SpanFields | None:
    """Returns the fields of a span; None if it has others, or too many, or in another order, or is no span."""
    end = len(raw)
    if raw[:2] != _TRACE_ID or raw[18:20] != _SPAN_ID:
        return None
    try:
        at, parent = (38, raw[30:38]) if raw[28] == _PARENT[0] else (28, b"")
        if parent and raw[28:30] != _PARENT:
            return None
        name, at = _text(raw, at, NAME)
        kind = 0
        if raw[at] == KIND:
            kind, at = raw[at + 1], at + 2
        start_tag, start_ns, end_tag, end_ns = _times(raw, at)
        if start_tag != START or end_tag != END or kind >= _ONE_BYTE:
            return None
        first = at + 18
        last = _after(raw, first, end, ATTRIBUTE)
        at = _after(raw, last, end, EVENT)
        events = _values(raw, last, at) if at > last else ()
        status, at = _text(raw, at, STATUS) if at < end and raw[at] == STATUS else (b"", at)
        flags, at = (raw[at + 3], at + 6) if raw[at : at + 2] == _FLAGS else (0, at)
    except (IndexError, ValueError, struct.error):
        return None
    # Slices beyond the end do not raise, so this finds a wrong length as well as a field that is unknown, repeated or
    # out of order.
    if at != end:
        return None
    return raw[2:18], raw[20:28], parent, name, kind, start_ns, end_ns, first, last, events, status, flags


def attribute_fields(raw: bytes, fields: SpanFields) -> list[bytes]:
    """Returns the encoded attributes of a span."""
    return _values(raw, fields[7], fields[8])


def _text(raw: bytes, at: int, tag: int) -> tuple[bytes, int]:
    """Returns the value of a short field, and where the next field begins. Raises IndexError if it is another field."""
    size = raw[at + 1]
    if raw[at] != tag or size >= _ONE_BYTE:
        # As where the bytes end: the caller leaves both to protobuf.
        raise IndexError
    at += 2
    return raw[at : at + size], at + size


def _after(raw: bytes, at: int, end: int, tag: int) -> int:
    """Returns where the values of a repeated field that begins at ``at`` end. Raises ValueError if there are too many."""
    count = 0
    while at < end and raw[at] == tag:
        count += 1
        if count > MAX_ATTRIBUTES:
            raise ValueError
        size = raw[at + 1]
        at += 2
        if size >= _ONE_BYTE:
            size, at = read_length(raw, at - 1)
        at += size
    return at


def _values(raw: bytes, at: int, end: int) -> list[bytes]:
    """Returns the values of the repeated field that takes these bytes."""
    values: list[bytes] = []
    while at < end:
        size = raw[at + 1]
        at += 2
        if size >= _ONE_BYTE:
            size, at = read_length(raw, at - 1)
        values.append(raw[at : at + size])
        at += size
    return values
