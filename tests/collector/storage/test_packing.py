"""What is packed is unpacked as it was, and other bytes are refused with a ValueError."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.storage.packing import DAMAGED, pack, unpack

PACKED = pack([b"resource", b"", b"one", b"two"])


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_packing_is_undone_by_unpacking(parts: list[bytes]) -> None:
    assert unpack(pack(parts)) == parts


@given(st.binary(max_size=60))
def test_any_bytes_unpack_to_parts_or_a_refusal(packed: bytes) -> None:
    try:
        parts = unpack(packed)
    except ValueError:
        return
    assert pack(parts) == packed


@pytest.mark.parametrize(
    "packed", [b"", b"\x00", b"\xff\xff\xff\xff", PACKED[:-1], PACKED + b"x", b"\x01\0\0\0\xff\xff\xff\xff"]
)
def test_what_is_not_packed_is_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match=DAMAGED):
        unpack(packed)
