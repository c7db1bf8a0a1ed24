"""Spans of the collector's own: its start, recovery, reloads and drain, and how requests left. Off unless configured.

Configuration: ``service.telemetry.traces``. There is never a span for a span: of exports that went as they should at most
one a second is told, of those that were retried, refused or given up at most ten. Requests that hold spans of this kind
are not told of at all, or a collector that exports to itself, or two that export to each other, would never come to rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from collector.component import ExportRequest
from collector.telemetry.resource import SCOPE, resource

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_MARK = SCOPE.encode()
_MOST = 1000
"""Spans kept until they are collected; further ones are not recorded."""


class Allowance:
    """So many a second, and as many at once."""

    def __init__(self, rate: float, now: Callable[[], float]) -> None:
        self._rate, self._now = rate, now
        self._left, self._since = rate, now()

    def take(self) -> bool:
        """Whether one more is allowed."""
        now = self._now()
        self._left, self._since = min(self._rate, self._left + (now - self._since) * self._rate), now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class SelfTracing:
    """Records spans until ``collect``; nothing at all unless ``enabled``."""

    def __init__(self, enabled: bool = False, now: Callable[[], float] = time.monotonic) -> None:
        self._smooth, self._rough = Allowance(1, now), Allowance(10, now)
        self._ended: list[ReadableSpan] = []
        self._tracer = None
        if enabled:
            from opentelemetry.sdk.trace import SpanProcessor, TracerProvider  # noqa: PLC0415 - only where it is wanted

            class Keep(SpanProcessor):
                def on_end(_, span: ReadableSpan) -> None:  # noqa: N805 - self is the recorder
                    if len(self._ended) < _MOST:
                        self._ended.append(span)

            provider = TracerProvider(resource=resource(), shutdown_on_exit=False)
            provider.add_span_processor(Keep())
            self._tracer = provider.get_tracer(SCOPE)

    @contextmanager
    def during(self, name: str) -> Iterator[dict[str, str | int]]:
        """A span around what is done; the attributes put into the dictionary are its own. An exception marks it."""
        told: dict[str, str | int] = {}
        if self._tracer is None:
            yield told
            return
        with self._tracer.start_as_current_span(name) as span:
            try:
                yield told
            finally:
                span.set_attributes(told)

    def exported(self, request: ExportRequest, error: str) -> None:
        """A request left, or was given up; ``error`` says what was wrong, empty where nothing was."""
        if self._tracer is None:
            return
        allowance = self._rough if error or request.attempts > 1 else self._smooth
        if not allowance.take() or _MARK in request.payload:
            return
        from opentelemetry.trace import SpanKind, Status, StatusCode  # noqa: PLC0415 - as above

        told = {"rightcall.signal": request.signal, "rightcall.items": request.items, "rightcall.bytes": request.size,
                "rightcall.attempts": request.attempts}  # fmt: skip
        span = self._tracer.start_span("export", kind=SpanKind.CLIENT, start_time=request.tried_ns, attributes=told)
        if error:
            span.set_status(Status(StatusCode.ERROR, error))
        span.end()

    async def collect(self) -> tuple[bytes, int] | None:
        """What was recorded since the last time, as an OTLP request, and how many spans that are; None for nothing."""
        if not self._ended:
            return None
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans  # noqa: PLC0415 - as above

        ended, self._ended = self._ended, []
        return encode_spans(ended).SerializeToString(), len(ended)
