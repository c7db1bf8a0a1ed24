"""Divides a request by trace, for a topic in which every message is of one trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal

from google.protobuf.message import DecodeError as ProtobufError

from collector.otlp import lazy, schema
from collector.otlp.structure import Envelope

MAX_MESSAGE: Final = 900_000
"""Bytes of items in one message: brokers take 1 MB by default. A larger item has a message of its own."""


def by_trace(signal: Literal["traces", "logs"], payload: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield trace id, request and number of items: one request for each trace, several for a large one. Raises DecodeError.

    The id is b"" for items without one.
    """
    id_of = lazy.trace_id_of if signal == "traces" else _id_of_record
    traces: dict[bytes, dict[Envelope, list[bytes]]] = {}
    sizes: dict[bytes, int] = {}
    for envelope, items in lazy.iter_scopes(payload):
        for raw in items:
            trace_id = _trace_id(id_of, raw)
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
    return {_trace_id(lazy.trace_id_of, raw) for _, items in lazy.iter_scopes(request) for raw in items}


def _message(trace_id: bytes, groups: dict[Envelope, list[bytes]]) -> tuple[bytes, bytes, int]:
    return trace_id, lazy.join(groups.items()), sum(map(len, groups.values()))


def _trace_id(id_of: Callable[[bytes], bytes], raw: bytes) -> bytes:
    try:
        return id_of(raw)
    except ProtobufError:  # what is no span was received so, and leaves so
        return b""


def _id_of_record(raw: bytes) -> bytes:
    trace_id: bytes = schema.LogRecord.FromString(raw).trace_id
    return trace_id
