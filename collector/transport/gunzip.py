"""Decompresses the bodies of requests step by step, so that a small one that becomes large is stopped on the way."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from io import BytesIO

from collector.errors import DecodeError, TooLargeError

_GZIP = 16 + zlib.MAX_WBITS  # makes zlib expect the header of gzip
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS  # makes it recognise either header; gRPC's "deflate" is zlib's
_MAX_MEMBERS = 4096  # of a gzip body: parallel compressors write one for each 64 KiB or more
_CHUNK = 16 << 10  # compressed bytes at a time: what a step or a member leaves over is copied
_STEP = 1 << 20  # decompressed bytes at a time


def gunzip(body: bytes, limit: int, reserve: Callable[[int], None]) -> bytes:
    """Returns the decompressed body, of gzip all members as RFC 1952 says.

    Calls ``reserve`` with the size of each step, which raises where there is no room. Raises TooLargeError beyond ``limit``
    bytes or too many members, DecodeError if anything of it is not compressed.
    """
    # Not `gzip.decompress`, which knows no limit: a KiB can become a MiB before anybody can look at its size.
    unzip, plain, at, members = zlib.decompressobj(_GZIP_OR_ZLIB), BytesIO(), 0, 1
    try:
        while at < len(body):
            if unzip.eof:
                unzip, members = zlib.decompressobj(_GZIP), members + 1
                # Each member needs a decompressor of its own, however little there is in it.
                if members > _MAX_MEMBERS:
                    raise TooLargeError(f"the gzip body has more than {_MAX_MEMBERS:,} members")
            rest, step = body[at : at + _CHUNK], b""
            at += len(rest)
            # after a full step there may be more without more input
            while (rest or len(step) == _STEP) and not unzip.eof:
                step = unzip.decompress(rest, _STEP)
                rest = unzip.unconsumed_tail
                if plain.tell() + len(step) > limit:
                    raise TooLargeError(f"the body is larger than {limit >> 20} MiB after decompression")
                reserve(len(step))
                plain.write(step)
            # What follows the end of a member is read again, as the head of the next one.
            at -= len(unzip.unused_data)
    except zlib.error as error:
        raise DecodeError(f"the body is not gzip: {error}") from None
    if not unzip.eof:
        raise DecodeError("the gzip body is truncated")
    return plain.getvalue()
