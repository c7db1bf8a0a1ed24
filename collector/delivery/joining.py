"""Small requests that wait leave as one: to send a request costs the same whether it has one span or hundreds.

Requests are joined byte after byte: to protobuf, one message after another is one message with the items of both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from collector.component import ExportRequest

MAX_SMALL: Final = 16 << 10
"""Bytes of a request that may be joined with others; from this size on it is worth sending alone."""
_MAX_JOINED: Final = 256 << 10  # bytes of joined requests: about what the SDKs' batch processors send


def take_joined(waiting: deque[ExportRequest]) -> ExportRequest:
    """Remove the first of the waiting requests, joined with those after it if they are small and of the same signal.

    A request that has been tried already leaves alone, so that a backend that refuses one request refuses no other with it.
    """
    parts, size = [waiting.popleft()], 0
    signal = parts[0].signal
    while _may_join(parts[-1]) and waiting and _may_join(waiting[0]) and waiting[0].signal == signal:
        size += parts[-1].size
        if size + waiting[0].size > _MAX_JOINED:
            break
        parts.append(waiting.popleft())
    if len(parts) == 1:
        return parts[0]
    joined = ExportRequest(signal, b"".join([part.payload for part in parts]), sum(part.items for part in parts))
    joined.size, joined.number, joined.parts = len(joined.payload), min(part.number for part in parts), parts
    return joined


def _may_join(request: ExportRequest) -> bool:
    return request.size < MAX_SMALL and request.in_memory and not request.attempts


def divide(request: ExportRequest) -> Sequence[ExportRequest]:
    """Returns what a request that was not delivered was joined of, or itself, with what was noted of the attempt."""
    for part in request.parts:
        part.attempts, part.first_attempt_ns = request.attempts, request.first_attempt_ns
        part.failing_since = request.failing_since
    return request.parts or (request,)
