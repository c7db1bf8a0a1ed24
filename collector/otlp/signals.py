"""Tells the signal of a protobuf request, which does not name it, by the fields of its spans, log records or metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from collector.component import Signal
from collector.otlp.tags import ITEM, RESOURCE
from collector.otlp.wire import read_field

_OF_SPANS: Final = frozenset([0x39, 0x41])  # start and end
_OF_LOGS: Final = frozenset([0x09, 0x10, 0x32, 0x38, 0x59])  # times, severity, attributes, and how many were dropped
_OF_METRICS: Final = frozenset([0x3A, 0x52])  # sums and exponential histograms
_FIRST, _SECOND = 0x0A, 0x12  # the ids of a span, the name and the description of a metric
_IDS: Final = (16, 8)  # bytes


def signal_of(request: bytes) -> Signal:
    """Returns the signal of a request; traces if nothing in it tells."""
    try:
        for at, end in _items(request):
            if (signal := _signal_of_item(request, at, end)) is not None:
                return signal
    except (ValueError, IndexError):  # no request: whoever reads it says so
        pass
    return "traces"


def _items(request: bytes) -> Iterator[tuple[int, int]]:
    for resource in _values(request, 0, len(request), RESOURCE):
        for scope in _values(request, *resource, ITEM):
            yield from _values(request, *scope, ITEM)


def _values(request: bytes, at: int, end: int, wanted: int) -> Iterator[tuple[int, int]]:
    """Yield where the values of a repeated field begin and end in a message."""
    while at < end:
        tag, start, at = read_field(request, at)
        if tag == wanted:
            yield start, at


def _signal_of_item(request: bytes, at: int, end: int) -> Signal | None:
    first = second = 0
    while at < end:
        tag, start, at = read_field(request, at)
        if tag in _OF_SPANS:
            return "traces"
        if tag in _OF_LOGS:
            return "logs"
        if tag in _OF_METRICS:
            # The id of a log record's span has the tag of an exponential histogram, but nothing comes before a metric's name.
            return "metrics" if first else "logs"
        if tag == _FIRST:
            first = at - start
        elif tag == _SECOND:
            second = at - start
    # A span without times, or another kind of metric: only their sizes tell.
    return None if not first or (first, second) == _IDS else "metrics"
