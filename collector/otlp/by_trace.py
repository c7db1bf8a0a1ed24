"""Divides a request by trace: for a topic in which every message is of one trace, or for parts of a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal

from google.protobuf.message import DecodeError as ProtobufError

from collector.errors import DecodeError
from collector.otlp import lazy, schema
from collector.otlp.structure import Envelope
from collector.otlp.tags import ITEM, RESOURCE, TRACE_ID_HEAD
from collector.otlp.wire import field

MAX_MESSAGE: Final = 900_000
"""Bytes of items in one message: brokers take 1 MB by default. A larger item has a message of its own."""


def by_trace(signal: Literal["traces", "logs"], payload: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield trace id, request and number of items: one request for each trace, several for a large one. Raises DecodeError.

    The id is b"" for items without one.
    """
    id_of = _ID_OF[signal]
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


def trace_ids(signal: Literal["traces", "logs"], request: bytes) -> set[bytes]:
    """Returns the ids of the traces in a request. Raises DecodeError."""
    return {_trace_id(_ID_OF[signal], raw) for _, items in lazy.iter_scopes(request) for raw in items}


def readable_trace_ids(spans: Iterable[bytes]) -> set[bytes]:
    """Returns the trace ids of damaged spans, as far as they can be read; b"" stands for those that cannot."""
    return {_trace_id(_ID_OF["traces"], raw) for raw in spans}


def divide(
    signal: Literal["traces", "logs"], payload: bytes, part_of: Callable[[bytes], int]
) -> Iterator[tuple[int, bytes]]:
    """Yield requests that together have the readable items of one, in their order, each with its part.

    ``part_of`` returns the part of a trace id. Raises DecodeError if nothing of the request can be read.
    """
    read = schema.Span.FromString if signal == "traces" else schema.LogRecord.FromString
    total = left_out = 0
    for envelope, items in lazy.iter_scopes(payload):
        parts: dict[int, list[bytes]] = {}
        for raw in items:
            if raw[:2] == TRACE_ID_HEAD and signal == "traces":
                trace_id = raw[2:18]
            else:
                try:
                    trace_id = read(raw).trace_id
                except ProtobufError:
                    left_out += 1
                    continue
            parts.setdefault(part_of(trace_id), []).append(raw)
        total += len(items)
        for part, raws in parts.items():
            scope = field(ITEM, envelope.scope + b"".join([field(ITEM, raw) for raw in raws]))
            yield part, field(RESOURCE, envelope.resource + scope)
    if left_out and left_out == total:
        raise DecodeError("no span of the request could be read")


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


_ID_OF: Final[Mapping[Literal["traces", "logs"], Callable[[bytes], bytes]]] = {
    "traces": lazy.trace_id_of,
    "logs": _id_of_record,
}
