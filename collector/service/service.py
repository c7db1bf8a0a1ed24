"""The life of the process: build, start, advance, reload, drain, stop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from collector.clock import SYSTEM_CLOCK
from collector.component import Component
from collector.config.model import Config
from collector.config.yaml_documents import rule_paths
from collector.delivery.sending_queue import SendingQueue
from collector.errors import CollectorError, ConfigError
from collector.exporters.otlp import OtlpExporter
from collector.exporters.prometheus import PrometheusExporter
from collector.judging import clients as judges
from collector.judging.queue import JudgeQueue
from collector.pipeline import Pipeline
from collector.receivers.otlp_grpc import OtlpGrpcReceiver
from collector.receivers.otlp_http import OtlpHttpReceiver
from collector.results.redaction import Redaction
from collector.scoring.embedding_queue import EmbeddingQueue
from collector.scoring.embeddings import installed
from collector.scoring.rule_files import LoadedRules, load_rules
from collector.scoring.verdict import Verdict
from collector.service.admission import Admission
from collector.service.health import AdminServer, Health
from collector.service.memory_limiter import MemoryLimiter
from collector.service.self_telemetry import SelfTelemetry
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry import otlp_metrics as own_metrics
from collector.telemetry.metrics import Telemetry
from collector.telemetry.spans import SelfTracing

_log = logging.getLogger(__name__)
_LONGEST_NAP = 0.05  # seconds: how late a trace's verdict may be
_LONGEST_SETTLE = 5.0  # seconds of the shutdown that open traces get to settle
_OWN_SPANS_EVERY = 5.0  # seconds between requests with our own spans, as in the SDKs
_RULE_CHECK = 2.0  # seconds between looks at the rule files


class Service:
    """One collector. ``start``, then ``run`` until ``stop`` is called, then ``shutdown``."""

    def __init__(self, config: Config, on_verdict: Callable[[Verdict], None] | None = None) -> None:
        """Raises ConfigError where rules or configuration are wrong."""
        self._config = config
        self._tracing = SelfTracing(enabled=config.service.telemetry.traces is not None)
        self.telemetry = Telemetry(config.exporters.prometheus.max_label_values)
        self._rule_state = _rule_state(config.rules)
        rules = self._load_rules()
        otlp = config.exporters.otlp
        self._spool = _open_spool(config, self.telemetry)
        queue = self._queue = SendingQueue(otlp.sending_queue, self._spool) if otlp else None
        self.judge_queue = self._build_judge_queue()
        self._embedding = EmbeddingQueue(found) if (found := installed()) is not None else None
        self.pipeline = Pipeline(
            config, rules, self.telemetry, queue, SYSTEM_CLOCK, on_verdict, spool=self._spool, judge_queue=self.judge_queue,
            embed_ahead=self._embedding.ahead if self._embedding is not None else None,
        )  # fmt: skip
        self._recover(queue)
        self._memory = MemoryLimiter(config.memory_limiter, time.monotonic)
        intake = Admission(self.pipeline, queue, self._spool, self._memory)
        self.health = Health(lambda: self._spool is not None and self._spool.failing)
        self._stopping = asyncio.Event()
        protocols = config.receivers.otlp.protocols
        self.grpc = OtlpGrpcReceiver(protocols.grpc, intake) if protocols.grpc else None
        self.http = OtlpHttpReceiver(protocols.http, intake) if protocols.http else None
        self.prometheus = PrometheusExporter(config.exporters.prometheus, self.telemetry)
        self.admin = AdminServer(config, self.health)
        # Upstream first; the admin listener last, so that it answers for as long as anything else does.
        self._receivers: list[Component] = [part for part in (self.grpc, self.http) if part is not None]
        self._exporters: list[Component] = []
        if otlp is not None and queue is not None:
            self._exporters.append(OtlpExporter(otlp, queue, self.telemetry, tracing=self._tracing))
        self._stores: list[Component] = [part for part in (self._spool, self._embedding) if part is not None]
        self._servers: list[Component] = [*self._own_telemetry(), self.prometheus, self.admin]

    def _build_judge_queue(self) -> JudgeQueue:
        config = self._config.judge
        judge = judges.build(config) if config is not None else None
        return JudgeQueue(config, judge, Redaction(self._config.redact), self.telemetry, SYSTEM_CLOCK)

    def _recover(self, queue: SendingQueue | None) -> None:
        if self._spool is None:
            _log.warning("spool: memory: what is acknowledged and not delivered yet is lost when this process dies")
            return
        with self._tracing.span("recover") as attributes:
            traces = attributes["rightcall.traces"] = self.pipeline.recover()
            if queue is not None:
                attributes["rightcall.requests"] = len(queue)
        _log.info("resumed %d open traces and %d requests from the spool", traces, len(queue) if queue else 0)

    def _own_telemetry(self) -> Iterator[Component]:
        """What tells of the collector itself, where that is configured."""
        own, registry, begun = self._config.service.telemetry, self.telemetry.registry, time.time_ns()
        if own.traces is not None:
            yield SelfTelemetry("traces", own.traces, _OWN_SPANS_EVERY, self._tracing.collect, self.telemetry)
        if own.metrics is not None:

            async def collect() -> tuple[bytes, int]:  # on a thread, because many series take a while to write
                return await asyncio.to_thread(own_metrics.encode, registry, begun, time.time_ns()), 0

            yield SelfTelemetry("metrics", own.metrics, own.metrics.interval, collect, self.telemetry)

    async def start(self) -> None:
        """Start downstream first. Raises ConfigError, with everything stopped again, where a part cannot start."""
        try:
            with self._tracing.span("start"):
                for part in reversed(
                    [*self._receivers, self.judge_queue, *self._exporters, *self._stores, *self._servers]
                ):
                    await part.start()
        except ConfigError:
            await self.shutdown()
            raise
        self.health.running = True

    async def run(self) -> None:
        """Release traces as they fall due, until ``stop``."""
        watcher = asyncio.create_task(self._watch_rules())
        while not self._stopping.is_set():
            pause = min(self.pipeline.advance(), _LONGEST_NAP)
            if self._memory.exceeded():
                self.pipeline.evict()
                self.judge_queue.shed()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause) if pause else await asyncio.sleep(0)
        watcher.cancel()

    def stop(self) -> None:
        """Make ``run`` return."""
        self._stopping.set()

    async def shutdown(self) -> None:
        """Stop upstream first. Open traces get their verdict before the judge and then the exporters drain, or wait in the
        spool."""
        ran, self.health.running = self.health.running, False
        with self._tracing.span("drain") as attributes:
            await _shut_down(self._receivers)
            if self._spool is None:
                self.pipeline.drain("shutdown")
            elif ran:
                await self._settle()
            await _shut_down([self.judge_queue])
            self.pipeline.flush()
            if self._spool is not None and ran:
                with contextlib.suppress(CollectorError):
                    await self._spool.stored()
            attributes["rightcall.requests"] = len(self._queue) if self._queue is not None else 0
            await _shut_down([*self._exporters, *self._stores])
            attributes["rightcall.requests.left"] = len(self._queue) if self._queue is not None else 0
        await _shut_down(self._servers)

    async def _settle(self) -> None:
        """Give traces that are whole the time to settle; the others go on after the next start."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._advance_for_ever(), min(self._config.traces.settle, _LONGEST_SETTLE))

    async def _advance_for_ever(self) -> None:
        while True:
            pause = min(self.pipeline.advance(), _LONGEST_NAP)
            await asyncio.sleep(pause)

    def reload(self) -> None:
        """Read the rules again; where they are wrong the old ones stay in force, and that is counted."""
        try:
            with self._tracing.span("reload rules"):
                self.pipeline.set_rules(self._load_rules())
        except ConfigError as error:
            self.telemetry.rules_reload_failures.inc()
            _log.error("rules refused, the old ones stay in force:\n%s", error)
        else:
            _log.info("rules reloaded")

    def _load_rules(self) -> LoadedRules:
        rules = load_rules(rule_paths(self._config.rules))
        if rules.set.has_judges() and self._config.judge is None:
            _log.warning("some rules have scorers that ask a model, and there is no `judge:` to ask: those say nothing")
        self.telemetry.rules_info.clear()
        for file, digest in rules.files:
            self.telemetry.rules_info.labels(file, digest).set(1)
        return rules

    async def _watch_rules(self) -> None:
        """Kubernetes swaps ConfigMap files without a signal: look whether they changed."""
        while True:
            await asyncio.sleep(_RULE_CHECK)
            state = _rule_state(self._config.rules)
            if state != self._rule_state:
                self._rule_state = state
                self.reload()


def _open_spool(config: Config, telemetry: Telemetry) -> Spool | None:
    if config.spool is None:
        return None
    file = SpoolFile(config.spool.path, fsync=config.spool.fsync)
    return Spool(file, config.spool.max_size_mib << 20, telemetry)


def _rule_state(paths: list[Path]) -> list[tuple[str, int, int]]:
    """Changes when a rule file does."""
    try:
        return [(str(path), (stat := path.stat()).st_mtime_ns, stat.st_size) for path in rule_paths(paths)]
    except (ConfigError, OSError):
        return []


async def _shut_down(parts: list[Component]) -> None:
    for part in parts:
        try:
            await part.shutdown()
        except Exception:  # noqa: BLE001 - one failure must not keep the others running
            _log.exception("%s did not stop cleanly", type(part).__name__)


async def serve(config: Config) -> None:
    """Run a collector until SIGTERM or SIGINT; SIGHUP reloads the rules. Raises ConfigError when it cannot start."""
    service = Service(config)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, service.stop)
    loop.add_signal_handler(signal.SIGINT, service.stop)
    loop.add_signal_handler(signal.SIGHUP, service.reload)
    await service.start()
    _spare_the_collector()
    _log.info("ready")
    await service.run()
    _log.info("stopping")
    await service.shutdown()


def _spare_the_collector() -> None:
    """Open traces are many long-lived objects without cycles: the garbage collector need not look at them so often."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _not_a_hang_up(record: logging.LogRecord) -> bool:
    """gRPC writes a traceback for each sender that does not wait for its answer."""
    return "ExecuteBatchError" not in str(record.msg)


def configure_logging(level: str = "info") -> None:
    """Structured logs, one JSON object a line, on stderr; nothing that senders could make it write once a request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.ERROR)  # it tells of each start and end, and of each bad request
    for client in ("httpx", "httpx2"):
        logging.getLogger(client).setLevel(logging.WARNING)  # they tell of each request
    warnings.simplefilter("ignore", SyntaxWarning)  # of texts that senders wrote as Python literals
    logging.getLogger("grpc._cython.cygrpc").addFilter(_not_a_hang_up)
