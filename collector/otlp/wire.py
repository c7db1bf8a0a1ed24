"""Reads the fields of a protobuf message from its bytes, without parsing or copying what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from collector.otlp.tags import ITEM

_VARINT: Final = 0  # wire types
_FIXED64: Final = 1
_LENGTH: Final = 2
_FIXED32: Final = 5
_FIRST_TAG: Final = 1 << 3  # of field 1; fields have numbers up to 2**29 - 1
_END_OF_TAGS: Final = 1 << 32
_ONE_BYTE: Final = 128  # varints below this take one byte
_USUAL: Final = 4 << 10  # bytes of a value; what precedes larger ones is not cached
_MAX_VARINT: Final = 10  # bytes, which hold 64 bits
_MAX_LENGTH: Final = 5  # bytes of a tag or a length, as protobuf has it
_MAX_OTHERS: Final = 8  # a resource or scope has two fields beside its items


def split_message(raw: bytes, at: int, end: int, tag: int, most: int) -> tuple[bytes, list[int]]:
    """Split the message ``raw[at:end]`` into one of its repeated fields and the rest.

    Returns the bytes of all other fields, and start and end of each value of the field: start, end, start, end, ... Stops
    after ``most + 1`` values. The ``tag`` has one byte, and the values are messages or bytes. Raises ValueError if the
    message is malformed, or has so many other fields that reading them would take long.
    """
    rest: list[bytes] = []
    positions: list[int] = []
    most = 2 * most
    try:
        while at < end:
            if raw[at] != tag:
                _, _, stop = read_field(raw, at)
                rest.append(raw[at:stop])
                if len(rest) > _MAX_OTHERS:
                    raise ValueError("a message has too many fields that OTLP does not define")
                at = stop
                continue
            size = raw[at + 1]
            at += 2
            if size >= _ONE_BYTE:
                second = raw[at]
                if second < _ONE_BYTE:  # most values have fewer than 16,384 bytes
                    size += (second - 1) << 7
                    at += 1
                else:
                    size, at = _varint(raw, at - 1, _MAX_LENGTH)
            positions.append(at)
            at += size
            positions.append(at)
            if len(positions) > most:
                break
    except IndexError:
        # The bytes end inside a field: an error, unless the limit was passed before.
        at = end + 1
    if at > end and len(positions) <= most:
        raise ValueError("a field ends beyond its message")
    return b"".join(rest), positions


def fields(raw: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield tag, start of the field, start of its value and end of each field. Raises ValueError for a malformed message."""
    at, end = 0, len(raw)
    try:
        while at < end:
            tag, value, stop = read_field(raw, at)
            if stop > end:
                raise ValueError("a field ends beyond its message")
            yield tag, at, value, stop
            at = stop
    except IndexError:
        raise ValueError("a field ends beyond its message") from None


def field_head(tag: int, size: int) -> bytes:
    """Returns what precedes a value of ``size`` bytes: a tag of one byte, and the length."""
    return _TAGS[tag] + (_LENGTHS[size] if size < _USUAL else varint(size))


def item_head(size: int) -> bytes:
    """Returns what precedes an item of ``size`` bytes in a scope, or a scope in a resource."""
    return _ITEM_HEADS[size] if size < _USUAL else field_head(ITEM, size)


def varint(number: int) -> bytes:
    """Returns a number from 0 in as few bytes as possible."""
    encoded = bytearray()
    while number >= _ONE_BYTE:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def size_of(parts: list[bytes]) -> int:
    """Returns how many bytes these are together."""
    size = 0
    # Not by `sum`, which takes an object for each length: this runs for each span.
    for part in parts:
        size += len(part)
    return size


def field(tag: int, value: bytes) -> bytes:
    """Returns a field with a tag of one byte."""
    return field_head(tag, len(value)) + value


_TAGS: Final = [bytes((tag,)) for tag in range(256)]
_LENGTHS: Final = [varint(size) for size in range(_USUAL)]
_ITEM_HEADS: Final = [_TAGS[ITEM] + length for length in _LENGTHS]


def read_length(raw: bytes, at: int) -> tuple[int, int]:
    """Returns the length at ``at``, and where it ends. Raises ValueError for one too long, IndexError where ``raw`` ends."""
    return _varint(raw, at, _MAX_LENGTH)


def read_field(raw: bytes, at: int) -> tuple[int, int, int]:
    """Returns tag, start of the value and end of the field at ``at``. Raises ValueError, or IndexError where ``raw`` ends."""
    tag, at = _varint(raw, at, _MAX_LENGTH)
    if not _FIRST_TAG <= tag < _END_OF_TAGS:
        raise ValueError("a field has a number that protobuf does not allow")
    kind = tag & 7
    if kind == _LENGTH:
        size, at = _varint(raw, at, _MAX_LENGTH)
        return tag, at, at + size
    if kind == _VARINT:
        return tag, at, _varint(raw, at, _MAX_VARINT)[1]
    if kind in (_FIXED32, _FIXED64):
        return tag, at, at + (4 if kind == _FIXED32 else 8)
    # Groups (3 and 4) are deprecated in protobuf, and OTLP has none.
    raise ValueError(f"wire type {kind} is not used by OTLP")


def _varint(raw: bytes, at: int, most: int) -> tuple[int, int]:
    """Returns the number at ``at``, of at most so many bytes, and where it ends."""
    number = 0
    # Without a bound, a flood of continuation bytes would make one endless number.
    for position in range(most):
        byte = raw[at + position]
        number |= (byte & 0x7F) << 7 * position
        if byte < _ONE_BYTE:
            return number, at + position + 1
    raise ValueError(f"a number is longer than {most} bytes")
