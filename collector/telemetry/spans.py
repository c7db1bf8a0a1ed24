"""The collector's own spans: start, recovery, reloads, drain, and exported requests. Off unless configured.

Configuration: ``service.telemetry.traces``. There is never a span for each span received: at most `SUCCESSES_PER_SECOND`
successful exports get one, and at most `PROBLEMS_PER_SECOND` of those that were retried, rejected or dropped. Requests that
contain such spans never get one; otherwise a collector that exports to itself, or two that export to each other, would
produce spans forever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from collector.clock import SYSTEM_CLOCK
from collector.component import ExportRequest
from collector.telemetry.resource import SCOPE, resource

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

SUCCESSES_PER_SECOND, PROBLEMS_PER_SECOND = 1, 10
MAX_SPANS = 1000
"""Spans kept until they are collected; further ones are not recorded."""
_SCOPE_NAME = SCOPE.encode()


class RateLimiter:
    """A token bucket: ``rate`` events a second, and as many at once."""

    def __init__(self, rate: float, now: Callable[[], float]) -> None:
        self._rate, self._now = rate, now
        self._tokens, self._updated = rate, now()

    def allow(self) -> bool:
        """Returns whether one more event is within the rate; if so, it counts."""
        now = self._now()
        self._tokens, self._updated = min(self._rate, self._tokens + (now - self._updated) * self._rate), now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class SelfTracing:
    """Records spans until ``collect``; nothing at all unless ``enabled``."""

    def __init__(self, enabled: bool = False, now: Callable[[], float] = SYSTEM_CLOCK.now) -> None:
        self._successes, self._problems = RateLimiter(SUCCESSES_PER_SECOND, now), RateLimiter(PROBLEMS_PER_SECOND, now)
        self._ended: list[ReadableSpan] = []
        self._tracer = None
        if enabled:
            from opentelemetry.sdk.trace import SpanProcessor, TracerProvider  # noqa: PLC0415 - only if enabled

            class Keep(SpanProcessor):
                def on_end(_, span: ReadableSpan) -> None:  # noqa: N805 - self is the SelfTracing
                    if len(self._ended) < MAX_SPANS:
                        self._ended.append(span)

            provider = TracerProvider(resource=resource(), shutdown_on_exit=False)
            provider.add_span_processor(Keep())
            self._tracer = provider.get_tracer(SCOPE)

    @contextmanager
    def span(self, name: str) -> Iterator[dict[str, str | int]]:
        """Record a span around the block; it gets the attributes put into the yielded dictionary, and any exception."""
        attributes: dict[str, str | int] = {}
        if self._tracer is None:
            yield attributes
            return
        with self._tracer.start_as_current_span(name) as span:
            try:
                yield attributes
            finally:
                span.set_attributes(attributes)

    def exported(self, request: ExportRequest, error: str) -> None:
        """Record that a request was delivered or dropped; ``error`` is empty if nothing went wrong."""
        if self._tracer is None:
            return
        limiter = self._problems if error or request.attempts > 1 else self._successes
        if not limiter.allow() or _SCOPE_NAME in request.payload:
            return
        from opentelemetry.trace import SpanKind, Status, StatusCode  # noqa: PLC0415 - only if enabled

        attributes = {"rightcall.signal": request.signal, "rightcall.items": request.items,
                      "rightcall.bytes": request.size, "rightcall.attempts": request.attempts}  # fmt: skip
        span = self._tracer.start_span(
            "export", kind=SpanKind.CLIENT, start_time=request.first_attempt_ns, attributes=attributes
        )
        if error:
            span.set_status(Status(StatusCode.ERROR, error))
        span.end()

    async def collect(self) -> tuple[bytes, int] | None:
        """Returns the spans recorded since the last call, as an OTLP request, and their number; None if there are none."""
        if not self._ended:
            return None
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans  # noqa: PLC0415 - only if enabled

        ended, self._ended = self._ended, []
        return encode_spans(ended).SerializeToString(), len(ended)
