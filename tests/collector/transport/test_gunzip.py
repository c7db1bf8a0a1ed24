"""Decompression in steps: each is paid for before the next, and every compressed body comes out as it went in."""

from __future__ import annotations

import gzip
import random
import zlib

import pytest

from collector.errors import DecodeError, RefusedError, TooLargeError
from collector.transport.gunzip import gunzip

MIB = 1 << 20
BODIES = {
    "empty": b"",
    "short": b"spans",
    "zeros": bytes(3 * MIB + 1),
    "just one step": bytes(MIB),
    "noise": random.Random(1).randbytes(300_000),
}


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress], ids=["gzip", "deflate"])
@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_a_body_comes_out_as_it_went_in(body: bytes, compress: object) -> None:
    reserved: list[int] = []
    packed: bytes = compress(body)  # type: ignore[operator]  # one of two functions
    assert gunzip(packed, 4 * MIB, reserved.append) == body
    assert sum(reserved) == len(body)


FIRST, SECOND = gzip.compress(b"first, "), gzip.compress(b"second")
MEMBERS = {
    "two": FIRST + SECOND,
    "an empty one between": FIRST + gzip.compress(b"") + SECOND,
    "many": FIRST + gzip.compress(b"") * 4_000 + SECOND,
}


@pytest.mark.parametrize("packed", MEMBERS.values(), ids=list(MEMBERS))
def test_every_member_is_read(packed: bytes) -> None:
    assert gunzip(packed, MIB, lambda _: None) == b"first, second"


def test_members_larger_than_what_is_read_at_a_time() -> None:
    noise = random.Random(2).randbytes(100_000)
    assert gunzip(gzip.compress(noise) * 3, MIB, lambda _: None) == noise * 3


TOO_MUCH = {
    "all members together": gzip.compress(bytes(MIB // 2)) * 2 + gzip.compress(b"x"),
    "members": gzip.compress(b"") * 5_000,
}


@pytest.mark.parametrize("packed", TOO_MUCH.values(), ids=list(TOO_MUCH))
def test_members_are_limited_in_size_and_number(packed: bytes) -> None:
    with pytest.raises(TooLargeError):
        gunzip(packed, MIB, lambda _: None)


NOT_ALL_GZIP = {
    "garbage": FIRST + b"garbage",
    "zeros": FIRST + bytes(8),
    "half a member": FIRST + SECOND[:-4],
    "half a header": FIRST + SECOND[:5],
    "a wrong checksum": FIRST + SECOND[:-8] + bytes(8),
}


@pytest.mark.parametrize("packed", NOT_ALL_GZIP.values(), ids=list(NOT_ALL_GZIP))
def test_a_body_that_is_not_gzip_to_its_end(packed: bytes) -> None:
    with pytest.raises(DecodeError):
        gunzip(packed, MIB, lambda _: None)


def test_it_stops_where_there_is_no_room_for_the_next_step() -> None:
    reserved: list[int] = []

    def reserve(size: int) -> None:
        if sum(reserved) + size > 5 * MIB:
            raise RefusedError("full")
        reserved.append(size)

    with pytest.raises(RefusedError):
        gunzip(gzip.compress(bytes(100 * MIB)), 200 * MIB, reserve)
    assert sum(reserved) == 5 * MIB


def test_it_stops_at_the_limit() -> None:
    reserved: list[int] = []
    with pytest.raises(TooLargeError):
        gunzip(gzip.compress(bytes(100 * MIB)), 3 * MIB, reserved.append)
    assert sum(reserved) <= 3 * MIB


@pytest.mark.parametrize("body", [b"", b"no gzip", gzip.compress(b"spans")[:-9]], ids=["empty", "text", "truncated"])
def test_what_is_not_gzip(body: bytes) -> None:
    with pytest.raises(DecodeError):
        gunzip(body, MIB, lambda _: None)
