"""Sends what waits in a sending queue, whatever way it goes: retries, drops, and says and counts what is lost.

A failed request is retried if that can help, after the pause the backend asks for or else after exponential backoff. It goes
to the end of the queue meanwhile, so that a request the backend cannot process does not block others. A request that may not
be retried is dropped at once. Every lost span, log record and metric point is counted; the log says so at once, and then at
most once in `REPORT_INTERVAL`, since a backend without logs would refuse those of every batch. So it does of the reason for
which requests wait, where that changes: what began as a restart may go on as a certificate that expired.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from collector.clock import Clock
from collector.component import ExportRequest, Rejected, Signal
from collector.config.fields import RetryConfig
from collector.delivery.sending_queue import SendingQueue
from collector.errors import ConfigError
from collector.otlp.counting import item_count
from collector.telemetry.metrics import Telemetry
from collector.telemetry.spans import SelfTracing
from collector.transport.backoff import Backoff

_log = logging.getLogger(__name__)
MAX_ELAPSED_TIME = 300.0
"""Seconds for which a request in memory is retried by default, as in the OpenTelemetry Collector."""
REPORT_INTERVAL = 60.0
"""Seconds between two log lines about losses of one signal for one reason, and between two reasons why it waits."""
_MAX_REASONS = 100  # of losses that are waiting to be logged; further ones share a line
_ITEMS: Mapping[Signal, str] = {"traces": "spans", "logs": "log records", "metrics": "data points"}


class DeliveryError(Exception):
    """A request was not delivered. ``retry_after`` is the pause in seconds that the backend asked for.

    ``kind`` is the part of the message that is the same for all failures of that kind.
    """

    def __init__(self, message: str, *, retryable: bool, retry_after: float | None = None, kind: str = "") -> None:
        super().__init__(message)
        self.retryable, self.retry_after, self.kind = retryable, retry_after, kind or message


class Transport(Protocol):
    """One way to deliver requests."""

    async def send(self, request: ExportRequest) -> Rejected:
        """Send one request. Returns what the backend rejected permanently. Raises DeliveryError."""

    async def close(self) -> None:
        """Close the connection or file."""


class QueuedExporter:
    """Sends queued requests, ``consumers`` at a time of each signal that the queue keeps apart.

    ``name`` is the value of the label ``exporter`` of its metrics. ``connect`` opens the transport, and raises ConfigError;
    it is called again where ``stale`` says so. ``target`` is what the log calls the backend.
    """

    def __init__(  # noqa: PLR0913 - what it is connected to
        self,
        queue: SendingQueue,
        telemetry: Telemetry,
        clock: Clock,
        *,
        name: str,
        target: str,
        connect: Callable[[], Transport],
        retry: RetryConfig,
        consumers: int,
        drain_timeout: float,
        tracing: SelfTracing | None = None,
    ) -> None:
        self._queue, self._clock, self._drain_timeout = queue, clock, drain_timeout
        self._connect, self._count = connect, consumers
        self._tracing = tracing or SelfTracing()
        self._retry = retry
        # By default nothing is given up that a spool or a topic keeps safe: to drop it would be the only way to lose it.
        default = 0.0 if queue.durable else MAX_ELAPSED_TIME
        self._max_elapsed_time = (default if retry.max_elapsed_time is None else retry.max_elapsed_time) or math.inf
        # Why each signal waits, as the log said last, and until when it says no more of it.
        self._failing: dict[Signal, tuple[str, float]] = {}
        self._not_before = dict[Signal, float]()  # until then the backend wants nothing of it, from whichever consumer
        self._target = target
        self.take_back: Callable[[Sequence[ExportRequest]], None] | None = None
        """Takes requests that would be lost, where there is another way for them."""
        self._losses = LossReport(target, clock.now)
        # Not metric points: to count them a request has to be parsed whole, and none of them is of this collector's making.
        self._sent: Mapping[Signal, Any] = {
            "traces": telemetry.child(telemetry.exporter_sent_spans, name),
            "logs": telemetry.child(telemetry.exporter_sent_log_records, name),
        }
        self._failed: Mapping[Signal, Any] = {
            "traces": telemetry.child(telemetry.exporter_send_failed_spans, name),
            "logs": telemetry.child(telemetry.exporter_send_failed_log_records, name),
            "metrics": telemetry.child(telemetry.exporter_send_failed_metric_points, name),
        }
        # What those beside OTLP drop has its own place: the spans may have been delivered all the same.
        stage = "exporter" if name == "handover" or name.partition("/")[0] == "otlp" else name
        self._dropped = telemetry.child(telemetry.dropped_spans, stage, "shutdown")
        telemetry.child(telemetry.exporter_queue_capacity, name).set(queue.capacity)
        telemetry.child(telemetry.exporter_queue_size, name).set_function(lambda: len(queue))
        if queue.capacity_bytes is not None:
            telemetry.child(telemetry.exporter_queue_capacity_bytes, name).set(queue.capacity_bytes)
            telemetry.child(telemetry.exporter_queue_bytes, name).set_function(lambda: queue.used_bytes)
        telemetry.child(telemetry.exporter_queue_spans, name).set_function(lambda: queue.spans)
        telemetry.child(telemetry.exporter_queue_log_requests, name).set_function(lambda: queue.log_requests)
        self._consumers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start sending; the backend may come up later. Raises ConfigError if a TLS file cannot be used."""
        self._transport = self._connect()
        self._consumers = [
            asyncio.create_task(self._consume(signal)) for signal in self._queue.apart for _ in range(self._count)
        ]

    async def shutdown(self) -> None:
        """Send queued requests for up to ``drain_timeout`` seconds. The rest stays in the spool, or is lost and counted."""
        if not self._consumers:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._queue.drained(), self._drain_timeout)
        # A consumer that is cancelled while it sends leaves its request pending, so it is accounted for below.
        consumers, self._consumers = self._consumers, []
        for consumer in consumers:
            consumer.cancel()
        await asyncio.gather(*consumers, return_exceptions=True)
        self._losses.flush()
        self._account_for_pending()
        await self._transport.close()

    def _account_for_pending(self) -> None:
        pending = self._queue.pending()
        spans = sum(request.spans for request in pending)
        if pending and self._queue.durable:
            _log.info(
                "stopped with %d requests (%d spans) for %s undelivered: they are sent after the next start",
                len(pending), spans, self._target,
            )  # fmt: skip
        elif pending and self.take_back is not None:
            self._failed["traces"].inc(spans)
            self._queue.forget_pending()
            _log.warning("stopped with %d spans undelivered for %s, which go another way", spans, self._target)
            self.take_back(pending)
        elif pending:
            self._dropped.inc(spans)
            for request in pending:
                if request.signal != "traces":
                    self._failed[request.signal].inc(_items(request))
            self._queue.drop_pending()
            _log.error(
                "stopped and dropped %d undelivered requests (%d spans) for %s", len(pending), spans, self._target
            )

    def stale(self) -> bool:
        """Whether the transport is to be opened anew, as with new certificates."""
        return False

    async def _consume(self, signal: Signal) -> None:
        """Send one request after the other; pause after each failure, longer the more failures there are in a row.

        They are of ``signal`` where the queue keeps that apart: a backend may take spans, and no log records for hours.
        """
        # One for each consumer, not for each request: what fails is the backend, whichever request it is asked to take.
        backoff = Backoff(self._retry, self._clock.random, self._max_elapsed_time)
        while True:
            request = await self._queue.get(signal)
            if (asked := self._not_before.get(request.signal, -math.inf) - self._clock.now()) > 0:
                self._queue.requeue(request)
                await self._clock.sleep(asked)
                continue
            try:
                rejected = await self._send(request)
            except DeliveryError as error:
                pause = self._next_pause(backoff, request, error)
                # No pause after a drop: that one request is refused for good says nothing against the next.
                if pause is None:
                    if request.parts:  # the backend may mean one of them
                        self._queue.requeue(request)
                    else:
                        self._drop(request, error)
                    continue
                self._report_failure(request, error, pause)
                if error.retry_after is not None:
                    until = self._clock.now() + pause
                    self._not_before[request.signal] = max(until, self._not_before.get(request.signal, until))
                # Before the pause: another consumer may try it, and this one holds up nothing but itself.
                self._queue.requeue(request)
                await self._clock.sleep(pause)
            else:
                backoff.reset()
                self._tracing.exported(request, rejected.message if rejected else "")
                self._queue.ack(request)
                self._report_success(request, rejected)

    async def _send(self, request: ExportRequest) -> Rejected:
        """Try to send once. Raises DeliveryError, whatever goes wrong."""
        request.attempts += 1
        request.first_attempt_ns = request.first_attempt_ns or self._clock.wall_ns()
        if not request.in_memory:
            raise DeliveryError("the spool lost the request", retryable=False)
        try:
            if self.stale():
                await self._reconnect()
            return await self._transport.send(request)
        except DeliveryError:
            raise
        except Exception as error:  # noqa: BLE001 - a backend may answer anything; the consumer must go on
            raise DeliveryError(f"{type(error).__name__}: {error}", retryable=True) from None

    async def _reconnect(self) -> None:
        """Use the replaced certificates. Requests in flight on the old connection fail and are retried."""
        try:
            # Replaced without an await: the other consumers take the new one, since `stale` is true only once.
            old, self._transport = self._transport, self._connect()
        except ConfigError as error:
            _log.error("cannot use the new certificates for %s, keeping the old ones: %s", self._target, error)
        else:
            await old.close()

    def _next_pause(self, backoff: Backoff, request: ExportRequest, error: DeliveryError) -> float | None:
        """Returns the seconds until the next attempt; None if the request is to be dropped."""
        if not error.retryable:
            return None
        now = self._clock.now()
        if request.failing_since is None:
            request.failing_since = now
        return backoff.next_pause(now - request.failing_since, error.retry_after)

    def _drop(self, request: ExportRequest, error: DeliveryError) -> None:
        items = _items(request)
        self._failed[request.signal].inc(items)
        self._tracing.exported(request, str(error))
        self._queue.ack(request)
        if self.take_back is None:
            self._losses.add(request.signal, items, str(error), error.kind)
        else:
            _log.warning("%s does not take %d spans, which go another way: %s", self._target, items, error)
            self.take_back([request])

    def _report_failure(self, request: ExportRequest, error: DeliveryError, pause: float) -> None:
        """Log that the backend fails: the first failure after a success, then only that it fails for another reason."""
        said, until = self._failing.get(request.signal, ("", -math.inf))
        if str(error) != said and self._clock.now() >= until:
            self._failing[request.signal] = str(error), self._clock.now() + REPORT_INTERVAL
            what = f"{request.signal} to {self._target}"
            _log.warning("sending %s failed, retrying in %.1f s: %s", what, pause, error, extra={"about": what})

    def _report_success(self, request: ExportRequest, rejected: Rejected) -> None:
        # A backend may claim to have rejected more than it was sent.
        if (sent := self._sent.get(request.signal)) is not None:
            sent.inc(max(0, _items(request) - rejected.count))
        if rejected:
            lost = min(_items(request), rejected.count)
            self._failed[request.signal].inc(lost)
            self._losses.add(request.signal, lost, f"rejected by the backend: {rejected.message}", "rejected")
        if request.signal in self._failing:
            del self._failing[request.signal]
            what = f"{request.signal} to {self._target}"
            _log.info("%s accepts %s again", self._target, request.signal, extra={"about": what})


class LossReport:
    """Says what was lost: the first time at once, then once in `REPORT_INTERVAL` with the sum of what was lost meanwhile."""

    def __init__(self, target: str, now: Callable[[], float]) -> None:
        self._target, self._now = target, now
        self._lines: dict[tuple[Signal, str], _Loss] = {}

    def add(self, signal: Signal, items: int, message: str, kind: str) -> None:
        """Take in the loss of one request."""
        # The kind comes from the backend: without a limit, one that makes up reasons would fill the log.
        key = (signal, kind) if len(self._lines) < _MAX_REASONS or (signal, kind) in self._lines else (signal, "other")
        loss = self._lines.setdefault(key, _Loss())
        loss.requests += 1
        loss.items += items
        loss.message = message
        if self._now() >= loss.due:
            self._say(key, loss)

    def flush(self) -> None:
        """Say what has not been said yet."""
        for key, loss in self._lines.items():
            if loss.requests:
                self._say(key, loss)

    def _say(self, key: tuple[Signal, str], loss: _Loss) -> None:
        what = f"{loss.items} {_ITEMS[key[0]]} for {self._target}"
        many = f" in {loss.requests} requests" if loss.requests > 1 else ""
        about = " ".join((self._target, *key))  # what is not logged for others' sake is not said again
        _log.error("dropped %s%s: %s", what, many, loss.message, extra={"about": about})
        loss.requests = loss.items = 0
        loss.due = self._now() + REPORT_INTERVAL


class _Loss:
    """What was lost for one reason since it was last said."""

    def __init__(self) -> None:
        self.requests = self.items = 0
        self.message, self.due = "", -math.inf


def _items(request: ExportRequest) -> int:
    """Spans were counted when they were received; the rest is counted here, since most of it was forwarded unread."""
    if request.signal == "traces" or not request.in_memory:
        return request.items
    return item_count(request.signal, request.payload)
