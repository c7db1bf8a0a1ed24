"""One collector, in the order of its life: build, start, run, reload, drain, stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence

from collector.clock import SYSTEM_CLOCK
from collector.component import Component, ExportRequest
from collector.config.listeners import listeners
from collector.config.memory import MemoryBudget, memory_budget
from collector.config.model import Config
from collector.console.app import Console
from collector.drift.monitor import build_monitor
from collector.errors import CollectorError, ConfigError, ListenError
from collector.exporters.prometheus import PrometheusExporter
from collector.in_flight import InFlight
from collector.judging import clients as judges
from collector.judging.queue import JudgeQueue
from collector.pipeline import Pipeline
from collector.receivers.kafka.receiver import KafkaReceiver
from collector.receivers.otlp_grpc import OtlpGrpcReceiver
from collector.receivers.otlp_http import OtlpHttpReceiver
from collector.results.redaction import Redaction
from collector.runs.store import RunStore, build_store
from collector.scoring.embedding_queue import EmbeddingQueue
from collector.scoring.embeddings import installed
from collector.scoring.rule_files import LoadedRules
from collector.scoring.verdict import Verdict
from collector.service.admission import Admission
from collector.service.certificates import tell_validity
from collector.service.export_paths import ExportPaths
from collector.service.garbage import YoungGarbage, kept
from collector.service.health import AdminServer, Health, shown_config
from collector.service.memory_limiter import MemoryLimiter
from collector.service.rule_reload import RuleReload
from collector.service.self_telemetry import self_telemetry
from collector.service.standstill import Standstill
from collector.service.status import facts
from collector.service.turns import give_way, next_budget, pause_after
from collector.storage.spool import NOT_WRITABLE, Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from collector.telemetry.spans import SelfTracing
from collector.verdict_output import Archive

_log = logging.getLogger(__name__)
_MAX_PAUSE = 0.05  # seconds by which a verdict may be late
_IDLE_PAUSE = 0.25  # seconds; each time that an idle process wakes up costs a fifth of a millisecond
_MAX_STEP = 0.01  # seconds of recovery in which nothing else runs
_MAX_SHORT = 15.0  # seconds for which memory is short before what connections take themselves is freed
_MAX_SETTLE = 5.0  # seconds that open traces get to settle at shutdown
_MAX_LAST_SCRAPE = 20.0  # seconds for which metrics tell what shutdown dropped; the usual interval of scrapes is 15


class Service:
    """One collector. ``start``, then ``run`` until ``stop`` is called, then ``shutdown``."""

    def __init__(
        self, config: Config, on_verdict: Callable[[Verdict], None] | None = None, *, live: bool = True
    ) -> None:
        """Unless ``live``, recordings are replayed to it, with times at which it may not have run.

        Raises ConfigError where rules or configuration are wrong.
        """
        self._config, self._live = config, live
        self._tracing = SelfTracing(enabled=config.service.telemetry.traces is not None)
        prometheus = config.exporters.prometheus
        self.telemetry = Telemetry(prometheus.max_label_values, prometheus.dimensions)
        self._rules = RuleReload(config, self.telemetry, self._tracing)
        rules = self.rules = self._rules.load()
        """Those in force."""
        file = SpoolFile(config.spool.path, fsync=config.spool.fsync) if config.spool is not None else None
        try:
            self._build(rules, file, on_verdict)
        except BaseException:
            if file is not None:
                file.close()
            raise

    def _build(self, rules: LoadedRules, file: SpoolFile | None, on_verdict: Callable[[Verdict], None] | None) -> None:
        config, budget = self._config, memory_budget(self._config)
        max_bytes = config.spool.max_size_mib << 20 if config.spool is not None else 0
        self._spool = Spool(file, max_bytes, self.telemetry) if file is not None else None
        paths = ExportPaths(config, self._spool, budget.sending_queue, self.telemetry, self._tracing)
        self._exporters, self._successor = paths.exporters, paths.successor
        queue = self._queue = paths.outbox
        self.judge_queue = self._build_judge_queue(budget)
        self._embedding = EmbeddingQueue(found) if (found := installed()) is not None else None
        self._runs = store = build_store(config, self.telemetry, SYSTEM_CLOCK)
        if store is not None:
            store.rules = rules.set.rules
        archive = None if store is None else Archive(store.offer, store.add_judgement)
        self._drift = drift = build_monitor(config, self.telemetry, SYSTEM_CLOCK) if self._live else None
        offered = drift.offer if drift is not None else None
        listeners = [listener for listener in (offered, on_verdict) if listener is not None]
        self.pipeline = Pipeline(
            config, rules, self.telemetry, queue, SYSTEM_CLOCK, _to_all(listeners), spool=self._spool,
            judge_queue=self.judge_queue, embed_ahead=self._embedding.ahead if self._embedding is not None else None,
            archive=archive,
        )  # fmt: skip
        if paths.handover is not None and self._spool is None:
            paths.handover.take_back = self._score_here
        self._memory = MemoryLimiter(config.memory_limiter, time.monotonic)
        intake = Admission(self.pipeline, queue, self._spool, self._memory, InFlight(budget.requests))
        self._intake = intake
        self.health = Health(self._failing)
        self._stopping = asyncio.Event()
        # Not longer: what arrives during the pause may be due before `advance` could know of it.
        self._idle_pause = max(_MAX_PAUSE, min(_IDLE_PAUSE, config.traces.settle))
        protocols = config.receivers.otlp.protocols
        self.grpc = OtlpGrpcReceiver(protocols.grpc, intake) if protocols.grpc else None
        self.http = OtlpHttpReceiver(protocols.http, intake) if protocols.http else None
        tell_validity(config, self.telemetry)
        self.prometheus = PrometheusExporter(config.exporters.prometheus, self.telemetry)
        self.admin = AdminServer(config, self.health, self._build_console(store), self.telemetry)
        for listener, server in (("otlp_http", self.http), ("prometheus", self.prometheus), ("admin", self.admin)):
            if server is not None:
                server.on_accept_failure = self.telemetry.child(self.telemetry.accept_failures, listener).inc
        # Upstream first; the admin listener last, so that it answers for as long as anything else does.
        self._receivers: list[Component] = [part for part in (self.grpc, self.http) if part is not None]
        if (kafka := config.receivers.kafka) is not None:
            mark = queue.mark if queue is not None else lambda: lambda: True
            lifetime = config.traces.idle_timeout
            receiver = KafkaReceiver(kafka, intake, self.pipeline, mark, self.telemetry, lifetime=lifetime)
            self._receivers.append(receiver)
            self.pipeline.topic_stalled = receiver.positions.brokers_are_silent
        self._stores: list[Component] = [
            part for part in (self._spool, self._embedding, store, drift) if part is not None
        ]
        self._servers: list[Component] = [
            *self_telemetry(config, self.telemetry, self._tracing),
            self.prometheus,
            self.admin,
        ]

    def _failing(self) -> str:
        spool_fails = self._spool is not None and self._spool.failing
        return NOT_WRITABLE if spool_fails else "the metrics cannot be rendered" if self.prometheus.failing else ""

    def _build_console(self, store: RunStore | None) -> Console:
        health, telemetry = self.health, self.telemetry
        shown = shown_config(self._config)
        return Console(
            self._config, store, lambda: self.rules, lambda: facts(health, telemetry), lambda: shown, self._drift
        )

    def _build_judge_queue(self, budget: MemoryBudget) -> JudgeQueue:
        config = self._config.judge
        judge = judges.build(config) if config is not None else None
        return JudgeQueue(config, judge, Redaction(self._config.redact), self.telemetry, SYSTEM_CLOCK, budget.judging)

    def addresses(self) -> list[str]:
        """Returns where it listens, for people, once it has started."""
        protocols, config = self._config.receivers.otlp.protocols, self._config
        found = []
        if protocols.grpc is not None and self.grpc is not None:
            found.append(f"OTLP/gRPC at {_address(protocols.grpc.endpoint, self.grpc.port)}")
        if protocols.http is not None and self.http is not None:
            scheme = "https" if protocols.http.tls is not None else "http"
            found.append(f"OTLP/HTTP at {scheme}://{_address(protocols.http.endpoint, self.http.port)}")
        if (kafka := config.receivers.kafka) is not None:
            found.append(f"topic {kafka.traces.topic} at {', '.join(kafka.brokers)}")
        metrics = _address(config.exporters.prometheus.endpoint, self.prometheus.port)
        admin = _address(config.admin.endpoint, self.admin.port)
        found += [f"metrics at http://{metrics}/metrics", f"health at http://{admin}/readyz"]
        return [*found, f"console at http://{admin}/console"] if config.console.enabled else found

    async def start(self) -> None:
        """Start downstream first, then recover. Where a part fails, or on cancellation, what was started is stopped again.

        While it recovers, health is answered and requests are refused, to be sent again.
        """
        parts = [*self._receivers, self.judge_queue, *self._exporters, *self._stores, *self._servers]
        # Listeners open before recovery begins: probes are answered meanwhile, and senders are told to come again.
        self._intake.recovering = True
        try:
            with self._tracing.span("start"):
                for part in reversed(parts):
                    await part.start()
            if self._live:
                self.pipeline.listens()
            await self._recover()
        except ListenError as error:
            await self.shutdown()
            keys = [".".join(where) for where, endpoint in listeners(self._config) if endpoint == error.endpoint]
            raise ConfigError(f"{', '.join(keys)}: {error}; stop what uses it, or set another port") from None
        except BaseException:
            await self.shutdown()
            raise
        # After recovery: the spool tells from when on the traces were seen that it brought back.
        if self._live:
            self.pipeline.ready()
        self._intake.recovering = False
        self.health.running = True

    async def _recover(self) -> None:
        if self._config.receivers.kafka is not None:
            return  # the topic has it
        if self._spool is None:
            _log.warning("spool: memory: acknowledged telemetry that is not delivered yet is lost if this process dies")
            return
        with self._tracing.span("recover") as attributes, kept():
            await self._spool.check()
            paused = time.monotonic()
            for _ in self.pipeline.recover():
                if time.monotonic() - paused > _MAX_STEP:
                    await give_way()
                    paused = time.monotonic()
            traces = attributes["rightcall.traces"] = self.pipeline.open_traces
            requests = attributes["rightcall.requests"] = len(self._queue) if self._queue is not None else 0
        _log.info("recovered %d open traces and %d requests from the spool", traces, requests)

    async def run(self) -> None:
        """Release traces as they fall due, until ``stop``."""
        watcher, garbage = asyncio.create_task(self._rules.watch(self._use)), YoungGarbage()
        # A recording was not sent in a standstill, and a topic loses nothing by it.
        listens = self._live and (self.grpc is not None or self.http is not None)
        standstill = Standstill(self.pipeline.gaps, SYSTEM_CLOCK) if listens else None
        budget = next_budget()
        while not self._stopping.is_set():
            if standstill is not None and standstill.check():
                await asyncio.sleep(_IDLE_PAUSE)  # what was sent meanwhile is read before runs are scored without it
            begun = time.thread_time()
            # Where memory could run short meanwhile it is looked at more often.
            pause = self.pipeline.advance(budget)
            budget = next_budget(budget, has_more=not pause)
            pause = min(pause, self._idle_pause if self._memory.is_ample() else _MAX_PAUSE)
            if self._runs is not None:
                self._runs.advance()
            if self._drift is not None:
                self._drift.advance()
            garbage.advance(begun)
            # Partial messages are what no budget counts, so they are
            # given up first. Beyond the hard limit traces go, too.
            if self._memory.short() and self.grpc is not None:
                self.grpc.give_up_unfinished()
            if self._memory.has_been_short(_MAX_SHORT) and self.grpc is not None:
                _log.warning(
                    "memory has been short for %.0f s: all gRPC connections are closed, since some may hold headers that "
                    "never end; if it is traffic that takes it, raise memory_limiter.limit_mib", _MAX_SHORT,
                )  # fmt: skip
                await self.grpc.drop_connections()
            if self._memory.exceeded():
                self.pipeline.evict()
                self.judge_queue.shed()
            pause = max(pause, pause_after(time.thread_time() - begun))
            # Without a pause, every statement of a transaction in progress would wait for a call of `advance` to end.
            if self._spool is not None and not pause:
                await self._spool.give_way()
            # Without a pause one step and not more: else what was sent would come in faster than it can be scored when due.
            await (asyncio.sleep(pause) if pause <= _MAX_PAUSE else self._idle(pause))
        watcher.cancel()

    async def _idle(self, seconds: float) -> None:
        """Pause for so long, or until ``stop``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    def _use(self, rules: LoadedRules) -> None:
        self.rules = rules
        self.pipeline.set_rules(rules)
        if self._runs is not None:
            self._runs.rules = rules.set.rules

    def stop(self) -> None:
        """Make ``run`` return."""
        self._stopping.set()

    def reload(self) -> None:
        """Load the rules again; if they are invalid, keep the old ones."""
        self._rules.ask()

    async def shutdown(self) -> None:
        """Stop upstream first.

        Open traces are handed over, get their verdict, or wait in the spool, before first the judge and then the exporters
        drain.
        """
        ran, self.health.running = self.health.running, False
        if ran and self._live:
            self.pipeline.stops_listening()
        with self._tracing.span("drain") as attributes:
            await _shut_down(self._receivers)
            if ran and self._successor is not None:
                count = self.pipeline.hand_over(self._successor.put)
                _log.info("handing over %d open traces; %d stay", count, self.pipeline.open_traces)
            # Without a spool nothing comes back: what is open gets its verdict as it is.
            if self._spool is None:
                self.pipeline.drain("shutdown")
            elif ran:
                # With a spool nothing has to be scored by half: what does not
                # settle in time goes on after the next start.
                await self._settle()
                self.pipeline.abandon()
            # The judge before the exporters: what it still answers has to leave with them.
            await _shut_down([self.judge_queue])
            self.pipeline.flush()
            # A request reaches the sending queue only once it is durable:
            # before that, the exporters would find nothing to send.
            if self._spool is not None and ran:
                with contextlib.suppress(CollectorError):
                    await self._spool.stored()
            attributes["rightcall.requests"] = len(self._queue) if self._queue is not None else 0
            await _shut_down([*self._exporters, *self._stores])
            left = len(self._queue) + self._queue.dropped if self._queue is not None else 0
            attributes["rightcall.requests.left"] = left
        # What was dropped just now is in no scrape yet.
        if self._queue is not None and self._queue.dropped:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.prometheus.final_scrape(), _MAX_LAST_SCRAPE)
        # Last: health and metrics can be read for as long as anything is going on.
        await _shut_down(self._servers)

    def _score_here(self, requests: Sequence[ExportRequest]) -> None:
        """Give the runs in requests that could not be handed over their verdict as they are."""
        for request in requests:
            self.pipeline.receive("traces", request.payload, "handover")
        self.pipeline.drain("shutdown")
        self.pipeline.flush()

    async def _settle(self) -> None:
        """Let complete traces settle, for a limited time; the others continue after the next start."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._advance_forever(), min(self._config.traces.settle, _MAX_SETTLE))

    async def _advance_forever(self) -> None:
        while True:
            pause = min(self.pipeline.advance(), _MAX_PAUSE)
            await asyncio.sleep(pause)


def _to_all(listeners: Sequence[Callable[[Verdict], None]]) -> Callable[[Verdict], None] | None:
    """Returns one listener that hands a verdict to all of them."""
    if len(listeners) < 2:
        return listeners[0] if listeners else None

    def hand_over(verdict: Verdict) -> None:
        for listener in listeners:
            listener(verdict)

    return hand_over


def _address(endpoint: str, port: int) -> str:
    """Returns the address with the port that was given where the configuration says 0."""
    return f"{endpoint.rpartition(':')[0]}:{port}"


async def _shut_down(parts: list[Component]) -> None:
    for part in parts:
        try:
            await part.shutdown()
        except Exception:  # noqa: BLE001 - an error in one part must not leave the others running
            _log.exception("error while stopping %s", type(part).__name__)
