"""Several byte strings as one."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

DAMAGED: Final = "a record of the spool is damaged"


def pack(parts: list[bytes]) -> bytes:
    """Join parts so that ``unpack`` can separate them again."""
    sizes = [len(part) for part in parts]
    return b"".join([_integers(len(sizes) + 1).pack(len(sizes), *sizes), *parts])


def unpack(packed: bytes) -> list[bytes]:
    """Returns the parts of a record. Raises ValueError if it is damaged."""
    try:
        (count,) = struct.unpack_from("<I", packed)
        # A damaged count may say four billion: no more sizes are read than there are bytes.
        sizes = _integers(min(count, len(packed))).unpack_from(packed, 4)
    except struct.error:
        raise ValueError(DAMAGED) from None
    if 4 * count + 4 + sum(sizes) != len(packed):
        raise ValueError(DAMAGED)
    parts, at = [], 4 * len(sizes) + 4
    for size in sizes:
        parts.append(packed[at : at + size])
        at += size
    return parts


@lru_cache(maxsize=256)
def _integers(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}I")
