"""Compressed requests: what comes out is what went in, and what was damaged is nothing or as large as it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.storage.compression import compress, decompress, size_of

CONTENTS = st.binary(max_size=300) | st.builds(
    lambda part, times: part * times, st.binary(max_size=20), st.integers(0, 300)
)


@given(CONTENTS)
def test_it_comes_back_as_it_was(content: bytes) -> None:
    compressed = compress(memoryview(content))
    assert (size_of(compressed), decompress(compressed)) == (len(content), content)
    assert len(compressed) <= len(content) + len(content) // 255 + 20


@given(CONTENTS, st.data())
def test_whatever_is_damaged_in_it_is_nothing_or_as_large_as_it_says(content: bytes, data: st.DataObject) -> None:
    compressed = bytearray(compress(content))
    at = data.draw(st.integers(0, len(compressed) - 1))
    compressed[at] ^= data.draw(st.integers(1, 255))
    cut = bytes(compressed[: data.draw(st.integers(0, len(compressed)))])
    found = decompress(cut)
    assert found is None or len(found) == size_of(cut)


@pytest.mark.parametrize("size", [b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff"])
def test_what_says_to_be_larger_than_lz4_allows_is_nothing(size: bytes) -> None:
    assert decompress(size + bytes(17 << 20)) is None
