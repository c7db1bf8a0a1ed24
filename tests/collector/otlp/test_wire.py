"""Fields read from bytes are those that protobuf reads, and no bytes do worse than a ValueError."""

from __future__ import annotations

import contextlib
from itertools import pairwise

import pytest
from google.protobuf.internal.decoder import _DecodeVarint  # type: ignore[attr-defined]
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

from collector.otlp.wire import field, field_head, fields, split_message, varint

SPANS = 0x12  # the tag of the spans of a scope
MANY = 1_000


@given(st.integers(0, 2**64 - 1))
def test_a_number_is_written_as_protobuf_reads_it(number: int) -> None:
    encoded = varint(number)
    assert _DecodeVarint(encoded, 0) == (number, len(encoded))
    assert len(encoded) == max(1, -(-number.bit_length() // 7))


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152])
def test_a_field_of_any_size_is_read_back(size: int) -> None:
    value = bytes(size)
    raw = field(SPANS, value)
    assert raw == field_head(SPANS, size) + value
    assert list(fields(raw)) == [(SPANS, 0, len(raw) - size, len(raw))]
    assert split_message(raw, 0, len(raw), SPANS, MANY) == (b"", [len(raw) - size, len(raw)])


@given(st.lists(st.binary(max_size=200), max_size=5), st.text(max_size=10), st.integers(0, 2**32 - 1))
def test_every_kind_of_field_is_told_apart(names: list[bytes], name: str, flags: int) -> None:
    span = Span(name=name, kind=Span.SPAN_KIND_CLIENT, start_time_unix_nano=2**63, flags=flags)
    raw = ScopeSpans(spans=[span, *(Span(trace_id=one) for one in names)], schema_url=name).SerializeToString()
    found = list(fields(raw))
    assert [start for _, start, _, _ in found] == [0, *(end for *_, end in found[:-1])], "no byte is left out"
    rest, at = split_message(raw, 0, len(raw), SPANS, MANY)
    values = [raw[start:end] for start, end in zip(at[::2], at[1::2], strict=True)]
    assert [Span.FromString(value).trace_id for value in values] == [b"", *names]
    assert ScopeSpans.FromString(rest) == ScopeSpans(schema_url=name)
    tags = [tag for tag, *_ in fields(values[0])]
    assert tags == sorted(tags)


def test_a_message_within_others_is_split_alone() -> None:
    inner = field(SPANS, b"one") + field(SPANS, b"two")
    raw = b"before" + inner + b"after"
    rest, at = split_message(raw, 6, 6 + len(inner), SPANS, MANY)
    assert (rest, [raw[start:end] for start, end in pairwise(at)][::2]) == (b"", [b"one", b"two"])


def test_splitting_ends_at_the_first_value_too_many() -> None:
    raw = field(SPANS, b"x") * 100 + b"\xff"
    assert len(split_message(raw, 0, len(raw), SPANS, 7)[1]) == 2 * 8


def test_fields_that_otlp_does_not_define_are_few() -> None:
    unknown, wanted = field(0x7A, b""), field(SPANS, b"x")
    rest, at = split_message(unknown * 8 + wanted, 0, 16 + len(wanted), SPANS, MANY)
    assert (rest, len(at)) == (unknown * 8, 2)
    with pytest.raises(ValueError, match="too many fields that OTLP does not define"):
        split_message(unknown * 9, 0, 18, SPANS, MANY)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\x12", "ends beyond its message"),
        (b"\x12\x02x", "ends beyond its message"),
        (b"\x12\x80", "ends beyond its message"),
        (b"\x12\xff\xff\xff\xff\x0f", "ends beyond its message"),
        (b"\x09\x00", "ends beyond its message"),
        (b"\x0d\x00", "ends beyond its message"),
        (b"\x08" + b"\xff" * 10 + b"\x01", "a number is longer than 10 bytes"),
        (b"\x12" + b"\xff" * 10 + b"\x01", "a number is longer than 5 bytes"),
        (b"\x0b", "wire type 3 is not used by OTLP"),
        (b"\x0f", "wire type 7 is not used by OTLP"),
    ],
)
def test_what_is_malformed_is_said(raw: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(fields(raw))
    with pytest.raises(ValueError, match=message):
        split_message(raw, 0, len(raw), SPANS, MANY)


@given(st.binary(max_size=40), st.integers(0, 3))
def test_any_bytes_are_read_or_refused(raw: bytes, most: int) -> None:
    with contextlib.suppress(ValueError):
        assert all(0 <= start < value <= end <= len(raw) for _, start, value, end in fields(raw))
    with contextlib.suppress(ValueError):
        _, at = split_message(raw, 0, len(raw), SPANS, most)
        assert len(at) <= 2 * (most + 1)
        assert len(at) > 2 * most or all(end <= len(raw) for end in at)
