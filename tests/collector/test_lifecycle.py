"""What every component promises: it stops what it started, wherever its start ended, and may be stopped at any time."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import pkgutil
import threading
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

import collector
from collector.component import Component
from collector.config.model import Config
from collector.errors import ConfigError
from collector.scoring.embedding_queue import EmbeddingQueue
from collector.scoring.embeddings import Embeddings
from collector.service.service import Service
from tests import otlp_data as data
from tests.harness import listening, tasks
from tests.sinks import OtlpSink
from tests.waiting import PATIENCE, let_others_run, until

KINDS = [
    "OtlpGrpcReceiver", "OtlpHttpReceiver", "JudgeQueue", "OtlpExporter", "FileExporter", "DebugExporter", "Spool",
    "EmbeddingQueue", "RunStore", "DriftMonitor", "SelfTelemetry", "PrometheusExporter", "AdminServer",
]  # fmt: skip
"""Every kind of component, upstream first."""
# One by one, then ever more: what a start waits for may be a thread, which takes as long on any loop.
_STEPS = (*range(50), *(100 << doubled for doubled in range(15)))


def parts_of(service: Service) -> list[Any]:
    own = (service._receivers, [service.judge_queue], service._exporters, service._stores, service._servers)
    return [part for parts in own for part in parts]


@pytest.fixture
def config(tmp_path: Path, sink: OtlpSink) -> Config:
    """A configuration with every component there is."""
    issued = trustme.CA().issue_cert("localhost")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    anywhere, backend = {"endpoint": "127.0.0.1:0"}, {"endpoint": sink.endpoint, "tls": {"insecure": True}}
    listener = {**anywhere, "tls": {"cert_file": tmp_path / "cert.pem", "key_file": tmp_path / "key.pem"}}
    return Config.model_validate({
        "receivers": {"otlp": {"protocols": {"grpc": listener, "http": listener}}}, "admin": anywhere,
        "spool": {"path": tmp_path / "spool"}, "judge": {"endpoint": "http://127.0.0.1:9/v1", "model": "small"},
        "exporters": {
            "prometheus": anywhere, "otlp": backend, "file": {"path": tmp_path / "kept.jsonl"}, "debug": {},
        },
        "service": {"telemetry": {"traces": backend, "metrics": backend}},
    })  # fmt: skip


def activity() -> set[str]:
    """Listeners, tasks and threads of this process, but for the threads of grpcio's poller and of the sink."""
    names = {thread.name for thread in threading.enumerate()}
    foreign = {name for name in names if "_poll_wrapper" in name or name.startswith("ThreadPoolExecutor")}
    return {*listening(), *tasks(), *(names - foreign)}


def check(scenario: Callable[[], Awaitable[None]]) -> None:
    """Run ``scenario``; afterwards no listener, task or thread is left."""

    async def run() -> None:
        before = activity()
        await scenario()
        await asyncio.get_running_loop().shutdown_default_executor()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(20):
                await until(lambda: not activity() - before)
        assert activity() - before == set()

    asyncio.run(run())


def alone(config: Config, kind: str) -> Component:
    """A component of this kind; what is built with it holds nothing before its start but the spool's file."""
    if kind == "EmbeddingQueue":  # a service has one only where the extra is installed
        return EmbeddingQueue(Embeddings(Path("nowhere")))
    service = Service(config)
    part: Component = next(part for part in parts_of(service) if type(part).__name__ == kind)
    if service._spool is not None and service._spool is not part:
        service._spool._file.close()
    return part


@pytest.mark.parametrize("kind", KINDS)
def test_stopping_ends_all_that_was_started_and_may_be_repeated(kind: str, config: Config) -> None:
    async def scenario() -> None:
        part = alone(config, kind)
        await part.start()
        await part.shutdown()
        await part.shutdown()

    check(scenario)


@pytest.mark.parametrize("kind", KINDS)
def test_stopping_what_was_not_started(kind: str, config: Config) -> None:
    async def scenario() -> None:
        part = alone(config, kind)
        await part.shutdown()
        await part.shutdown()

    check(scenario)


@pytest.mark.parametrize("kind", KINDS)
def test_stopping_after_a_start_cut_short_at_any_point(kind: str, config: Config) -> None:
    async def cut_short(steps: int) -> bool:
        part = alone(config, kind)
        starting = asyncio.create_task(part.start())
        await let_others_run(steps)
        is_complete = not starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await part.shutdown()
        return is_complete

    async def scenario() -> None:
        for steps in _STEPS:
            if await cut_short(steps):
                return
        raise AssertionError(f"it did not start in {_STEPS[-1]} steps")

    check(scenario)


class Failing:
    """A component that cannot start, or cannot stop."""

    def __init__(self, *, at: str) -> None:
        self._at = at

    async def start(self) -> None:
        if self._at == "start":
            raise OSError("no buffer space available")

    async def shutdown(self) -> None:
        if self._at == "shutdown":
            raise OSError("no buffer space available")


def with_failing(config: Config, position: int, at: str) -> Service:
    """A service with a component more that fails, after ``position`` others as a span sees them."""
    service = Service(config)
    for parts in (service._receivers, service._exporters, service._stores, service._servers):
        if position <= len(parts):
            parts.insert(position, Failing(at=at))
            return service
        position -= len(parts)
    raise AssertionError


PLACES = range(0, 8, 2)


@pytest.mark.parametrize("position", PLACES)
def test_a_service_of_which_one_part_cannot_start_stops_the_others(position: int, config: Config) -> None:
    async def scenario() -> None:
        with pytest.raises(OSError, match="no buffer space"):
            await with_failing(config, position, "start").start()

    check(scenario)


@pytest.mark.parametrize("position", PLACES)
def test_a_part_that_cannot_stop_does_not_keep_the_others_running(
    position: int, config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        service = with_failing(config, position, "shutdown")
        await service.start()
        await service.shutdown()

    check(scenario)
    assert "error while stopping Failing" in caplog.text


def test_a_service_that_cannot_be_built_closes_its_spool(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.touch()
    http = {"auth": {"bearer_token_file": tokens}}
    config = Config.model_validate({"spool": {"path": tmp_path}, "receivers": {"otlp": {"protocols": {"http": http}}}})
    with pytest.raises(ConfigError, match="holds no token") as refused:
        Service(config)
    tokens.write_text("one")
    second = Service(config)._spool  # the traceback in ``refused`` keeps the first service alive, not its lock
    assert refused.traceback
    assert second is not None
    second._file.close()


def test_a_service_whose_start_is_cancelled_stops_its_parts(config: Config) -> None:
    async def scenario() -> None:
        for steps in range(1, 6):
            starting = asyncio.create_task(Service(config).start())
            await let_others_run(steps)
            starting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await starting

    check(scenario)


class Noting:
    """A component that notes when it is started and stopped."""

    def __init__(self, part: Component, notes: list[str]) -> None:
        self._part, self._notes = part, notes

    async def start(self) -> None:
        self._notes.append(type(self._part).__name__)
        await self._part.start()

    async def shutdown(self) -> None:
        self._notes.append(type(self._part).__name__)
        await self._part.shutdown()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)


def test_parts_start_downstream_first_and_stop_upstream_first(config: Config) -> None:
    notes: list[str] = []

    async def scenario() -> None:
        service = Service(config)
        for parts in (service._receivers, service._exporters, service._stores, service._servers):
            parts[:] = [Noting(part, notes) for part in parts]
        service.judge_queue = Noting(service.judge_queue, notes)  # type: ignore[assignment]
        await service.start()
        started = notes.copy()
        notes.clear()
        await service.shutdown()
        expected = [kind for kind in KINDS if kind in notes]
        assert [list(dict.fromkeys(names)) for names in (started[::-1], notes)] == [expected, expected]
        assert len(started) == len(notes) == len(parts_of(service))

    check(scenario)


def test_every_component_is_in_these_tests() -> None:
    modules = [module.name for module in pkgutil.walk_packages(collector.__path__, "collector.")]
    classes = {
        item
        for name in modules
        if not name.endswith("__main__")
        for _, item in inspect.getmembers(import_module(name), inspect.isclass)
        if item.__module__ == name and not inspect.isabstract(item)
    }
    found = {
        item.__name__ for item in classes if all(inspect.iscoroutinefunction(getattr(item, method, None)) for method in
        ("start", "shutdown"))
    }  # fmt: skip
    # Kafka's have a broker in theirs.
    others = {"Component", "Service", "QueuedExporter", "KafkaReceiver", "KafkaExporter"}
    assert found - others == set(KINDS)


def test_a_collector_whose_metrics_cannot_be_rendered_is_not_ready(config: Config) -> None:
    async def scenario() -> None:
        service = Service(config)
        await service.start()
        trouble = []
        for failing in (False, True, False):
            service.prometheus.failing = failing
            trouble.append(service.health.trouble)
        await service.shutdown()
        assert trouble == ["", "the metrics cannot be rendered", ""]

    check(scenario)


@pytest.mark.parametrize("spool", [False, True])
def test_what_is_dropped_at_the_end_is_scraped_before_the_metrics_go(tmp_path: Path, spool: bool) -> None:
    anywhere = {"endpoint": "127.0.0.1:0"}
    config = Config.model_validate({
        "receivers": {"otlp": {"protocols": {"http": anywhere}}}, "admin": anywhere,
        "spool": {"path": tmp_path} if spool else "memory",
        "exporters": {"prometheus": anywhere, "otlp": {"endpoint": "127.0.0.1:1"}},
    })  # fmt: skip

    dropped = 'rightcall_dropped_spans_total{reason="shutdown",stage="exporter"}'

    async def scenario() -> None:
        service = Service(config)
        await service.start()
        (exporter,) = service._exporters
        exporter._drain_timeout = 0.01  # type: ignore[attr-defined]
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{service.prometheus.port}", trust_env=False, timeout=PATIENCE
        ) as client:
            assert dropped + " 0.0" in (await client.get("/metrics")).text
            service.pipeline.receive("traces", data.traces(data.span(1, parent=2)).SerializeToString(), "http")
            stopping = asyncio.create_task(service.shutdown())
            if not spool:  # with one nothing is dropped, and nothing waited for
                await until(lambda: service.prometheus._final_scrape is not None)
                assert not stopping.done()
                assert dropped + " 1.0" in (await client.get("/metrics")).text
            await stopping
            assert (service.prometheus._final_scrape is None) is spool

    check(scenario)
