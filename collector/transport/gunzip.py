"""Decompresses the bodies of requests step by step, so that a small one that becomes large is stopped on the way."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from io import BytesIO

from collector.errors import DecodeError, TooLargeError

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS  # makes zlib recognise either header; gRPC's "deflate" is zlib's
_CHUNK = 64 << 10  # compressed bytes at a time: what a step leaves over is copied
_STEP = 1 << 20  # decompressed bytes at a time


def gunzip(body: bytes, limit: int, reserve: Callable[[int], None]) -> bytes:
    """Returns the decompressed body; calls ``reserve`` with the size of each step, which raises where there is no room.

    Raises TooLargeError beyond ``limit`` bytes, DecodeError if it is not compressed.
    """
    unzip, plain = zlib.decompressobj(_GZIP_OR_ZLIB), BytesIO()
    try:
        for at in range(0, len(body), _CHUNK):
            rest, step = body[at : at + _CHUNK], b""
            while (
                rest or len(step) == _STEP
            ) and not unzip.eof:  # after a full step there may be more without more input
                step = unzip.decompress(rest, _STEP)
                rest = unzip.unconsumed_tail
                if plain.tell() + len(step) > limit:
                    raise TooLargeError(f"the body is larger than {limit >> 20} MiB after decompression")
                reserve(len(step))
                plain.write(step)
    except zlib.error as error:
        raise DecodeError(f"the body is not gzip: {error}") from None
    if not unzip.eof:
        raise DecodeError("the gzip body is truncated")
    return plain.getvalue()
