"""Requests in the spool are compressed: the disk writes less, and has room for a longer outage of the backend.

In LZ4's block format, after the size of what it holds as four bytes, little-endian (as lz4's ``store_size`` writes it).
"""

from __future__ import annotations

from typing import Final

import lz4.block

_SIZE: Final = 4  # bytes
_MOST: Final = 255  # times as large as it is compressed: a byte of the format stands for no more


def compress(content: bytes | memoryview) -> bytes:
    """Returns the content compressed. Other threads run meanwhile."""
    compressed: bytes = lz4.block.compress(content)
    return compressed


def size_of(compressed: bytes) -> int | None:
    """Returns the size in bytes of the content, None if it cannot be as large as it says."""
    size = int.from_bytes(compressed[:_SIZE], "little")
    return size if len(compressed) > _SIZE and size <= _MOST * len(compressed) else None


def decompress(compressed: bytes) -> bytes | None:
    """Returns the content, None if it is damaged."""
    if size_of(compressed) is None:
        return None
    try:
        content: bytes = lz4.block.decompress(compressed)
    except (lz4.block.LZ4BlockError, ValueError, MemoryError):
        return None
    return content
