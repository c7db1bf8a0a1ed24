"""Divides a request by trace, for a topic in which every message is of one trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

from google.protobuf.message import DecodeError as ProtobufError

from collector.otlp import lazy, schema
from collector.otlp.structure import Envelope

MAX_MESSAGE: Final = 900_000
"""Bytes of items in one message: brokers take 1 MB by default. A larger item has a message of its own."""


def by_trace(signal: Literal["traces", "logs"], payload: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield trace id, request and number of items: one request for each trace, several for a large one. Raises DecodeError.

    The id is b"" for items without one.
    """
    read = schema.Span.FromString if signal == "traces" else schema.LogRecord.FromString
    traces: dict[bytes, dict[Envelope, list[bytes]]] = {}
    sizes: dict[bytes, int] = {}
    for envelope, items in lazy.iter_scopes(payload):
        for raw in items:
            trace_id = _trace_id(read, raw)
            groups = traces.setdefault(trace_id, {})
            sizes[trace_id] = sizes.get(trace_id, 0) + len(raw)
            if groups and sizes[trace_id] > MAX_MESSAGE:
                yield _message(trace_id, groups)
                groups.clear()
                sizes[trace_id] = len(raw)
            groups.setdefault(envelope, []).append(raw)
    for trace_id, groups in traces.items():
        yield _message(trace_id, groups)


def trace_ids(request: bytes) -> set[bytes]:
    """Returns the ids of the traces in a request of spans. Raises DecodeError."""
    return {_trace_id(schema.Span.FromString, raw) for _, items in lazy.iter_scopes(request) for raw in items}


def _message(trace_id: bytes, groups: dict[Envelope, list[bytes]]) -> tuple[bytes, bytes, int]:
    return trace_id, lazy.join(groups.items()), sum(map(len, groups.values()))


def _trace_id(read: Callable[[bytes], Any], raw: bytes) -> bytes:
    try:
        trace_id: bytes = read(raw).trace_id
    except ProtobufError:  # what is no span was received so, and leaves so
        return b""
    return trace_id
