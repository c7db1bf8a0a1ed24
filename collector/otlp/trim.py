"""Leaves out of a large span what would not be read of it anyway, so that decoding it takes a limited time and memory."""

from __future__ import annotations

from itertools import islice

from collector.otlp.tags import ATTRIBUTE, EVENT, KEY, LINK, STRING, VALUE
from collector.otlp.wire import field, fields, read_field

MAX_ATTRIBUTES = 10_000
"""Attributes read of a span; instrumentations that write a message in many attributes set the limit of the SDK to as many."""
MAX_FIELDS = 20_000
"""Attributes, events, links and what is unknown."""
_MAX_TEXT = 5 << 18  # bytes of one value: more than the longest text that is parsed, in any language
_MAX_SPAN = 4 << 20  # bytes
_NOT_A_SPAN = b"\xff"
_FLOOD = 100_000  # attributes or events; protobuf takes 5 ms to make an object of each
_FLOOD_BYTES = 2 * _FLOOD  # no field has fewer than two
_FLOOD_TAGS = bytes((ATTRIBUTE, EVENT))


def may_be_flood(span: bytes) -> bool:
    """Whether a span may have so many attributes or events that to parse it would take long."""
    # Tags are counted as the letters that they are, which is quick. Texts have such letters as well, but hardly so many.
    # Both together first: that takes one pass, which is quicker than to count one of them.
    if len(span) <= _FLOOD_BYTES or len(span) - len(span.translate(None, _FLOOD_TAGS)) <= _FLOOD:
        return False
    return span.count(ATTRIBUTE) > _FLOOD or span.count(EVENT) > _FLOOD


def trim(span: bytes) -> bytes:
    """Returns a span with its first attributes, long texts cut short, and without links and what exceeds 4 MiB.

    Of a span with more attributes, or 20,000 fields, those after them are left out, too. Returns what is no span if
    ``span`` is none.
    """
    kept: list[bytes] = []
    attributes = size = 0
    try:
        # All fields are counted, not only attributes: a span of millions of empty links would take as long.
        for tag, at, value, end in islice(fields(span), MAX_FIELDS):
            if tag == ATTRIBUTE:
                attributes += 1
                if attributes > MAX_ATTRIBUTES:
                    break
            if tag == LINK:
                continue
            kept_field = span[at:end] if end - at <= _MAX_TEXT else _cut(span, tag, value)
            size += len(kept_field)
            if size <= _MAX_SPAN:
                kept.append(kept_field)
            else:
                # Left out alone: smaller fields that follow may still fit.
                size -= len(kept_field)
    except ValueError:
        # The decoder rejects it, as it would have rejected the whole span.
        return _NOT_A_SPAN
    return b"".join(kept)


def _cut(span: bytes, tag: int, attribute: int) -> bytes:
    """Returns the attribute at ``attribute`` with the beginning of its text, b"" if it is no attribute with a text."""
    if tag != ATTRIBUTE or span[attribute] != KEY:
        return b""
    try:
        _, _, key_end = read_field(span, attribute)
        value_tag, value, _ = read_field(span, key_end)
        kind, text, end = read_field(span, value)
    except (ValueError, IndexError):
        return b""
    if value_tag != VALUE or kind != STRING or key_end - attribute > _MAX_TEXT:
        return b""
    cut = field(STRING, span[text : min(end, text + _MAX_TEXT)])
    return field(ATTRIBUTE, span[attribute:key_end] + field(VALUE, cut))
