"""HTTP/2 by hand: the gRPC senders no client library will play, who stop in the middle of a message or talk nonsense."""

from __future__ import annotations

import asyncio
import struct
from typing import Self

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _CONTINUATION = 0, 1, 3, 4, 6, 7, 9
_END_STREAM, _END_HEADERS, _ACK = 1, 4, 1
_PATH = b"/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One HTTP/2 frame."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def message(body: bytes, size: int | None = None) -> bytes:
    """A gRPC message that says it is ``size`` bytes long, whatever it is."""
    return b"\0" + struct.pack(">I", len(body) if size is None else size) + body


def _literal(name: bytes, value: bytes) -> bytes:
    """A header in HPACK, neither indexed nor compressed."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def endless_headers(size: int) -> bytes:
    """The beginning of a connection whose first call has about ``size`` bytes of headers, and no end of them."""
    some = _literal(b"x", b"y" * 100) * 100
    more = frame(_CONTINUATION, 0, 1, some) * (size // len(some))
    return PREFACE + frame(_SETTINGS, 0, 0) + frame(_HEADERS, 0, 1, some) + more


class Http2Sender:
    """One connection; what is sent stays below the first flow-control window, 64 KiB."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, port: int) -> Self:
        """Connect and greet."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(PREFACE + frame(_SETTINGS, 0, 0))
        return cls(reader, writer)

    def begin(self, stream: int, *headers: tuple[bytes, bytes]) -> None:
        """Begin an Export call for traces."""
        fixed = ((b":method", b"POST"), (b":scheme", b"http"), (b":path", _PATH), (b":authority", b"x"),
                 (b"te", b"trailers"), (b"content-type", b"application/grpc"))  # fmt: skip
        block = b"".join(_literal(name, value) for name, value in (*fixed, *headers))
        self._writer.write(frame(_HEADERS, _END_HEADERS, stream, block))

    def send(self, stream: int, data: bytes, end: bool = False) -> None:
        """Send a part of the call's message."""
        self._writer.write(frame(_DATA, _END_STREAM if end else 0, stream, data))

    async def outcome(self, stream: int) -> bytes:
        """The last frame of a call: its trailers, its reset; empty where the connection ended."""
        while (found := await self._frame()) is not None:
            kind, flags, at, payload = found
            if kind == _GOAWAY:
                return b""
            if at == stream and (kind == _RESET or (kind == _HEADERS and flags & _END_STREAM)):
                return payload
        return b""

    async def _frame(self) -> tuple[int, int, int, bytes] | None:
        try:
            head = await self._reader.readexactly(9)
            payload = await self._reader.readexactly(int.from_bytes(head[:3], "big"))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        kind, flags = head[3], head[4]
        if kind in (_SETTINGS, _PING) and not flags & _ACK:
            self._writer.write(frame(kind, _ACK, 0, payload if kind == _PING else b""))
        return kind, flags, int.from_bytes(head[5:], "big") & 0x7FFFFFFF, payload

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


def status(trailers: bytes) -> int | None:
    """The gRPC status in trailers that are not compressed."""
    _, found, rest = trailers.partition(b"grpc-status")
    return int(rest[1 : 1 + rest[0]]) if found else None
