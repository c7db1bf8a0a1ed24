"""``rightcall demo``: replays recorded agent traffic with a real OTLP exporter into its own collector."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from rich.console import Console
from rich.live import Live

from collector.config.model import Config
from collector.demo.quality import phase_at
from collector.demo.replay import FAULTS, recordings, replay
from collector.demo.scoreboard import Scoreboard
from collector.scoring.verdict import Verdict
from collector.service.log_config import configure_logging
from collector.service.serve import ignore_signals, start
from collector.service.service import Service
from collector.transport.proxies import grpc_proxy_options
from scorers.quoting import printable

_PAUSE = 0.25  # seconds between runs


def demo(seconds: float | None = None) -> int:
    """Run the demo until Ctrl-C, or for ``seconds``. Returns the exit code. Raises ConfigError if it cannot start."""
    configure_logging("error")  # the scoreboard shows the rest
    return asyncio.run(_demo(seconds))


async def _demo(seconds: float | None) -> int:
    scoreboard, piped, started = Scoreboard(), not Console().is_terminal, time.monotonic()

    def on_verdict(verdict: Verdict) -> None:
        seconds = time.monotonic() - started
        lines = [f"-- {phase_at(seconds).name}"] if phase_at(seconds).name != scoreboard.phase else []
        scoreboard.add(verdict, seconds, phase_at(seconds).name)
        if piped:
            try:
                print("\n".join(lines + _lines_of(verdict)), flush=True)  # noqa: T201 - what the command is for
            except BrokenPipeError:  # the reader, such as `head`, is done
                service.stop()

    service = Service(_config(), on_verdict=on_verdict, live=False)
    await start(service)
    metrics, admin = service.prometheus.port, service.admin.port
    scoreboard.addresses = (
        f"console: http://127.0.0.1:{admin}/console",
        f"metrics: http://127.0.0.1:{metrics}/metrics",
    )
    if seconds is not None:
        asyncio.get_running_loop().call_later(seconds, service.stop)
    traffic = _Traffic(f"127.0.0.1:{service.grpc.port if service.grpc else 0}", started)
    traffic.start()
    with _screen(scoreboard):
        await service.run()
        # Before the shutdown, and not on the event loop: the run that is being sent needs the receiver to answer.
        await asyncio.to_thread(traffic.stop)
        await service.shutdown()
    ignore_signals()
    with contextlib.suppress(SystemExit):  # so rich ends where the reader is done
        Console().print(scoreboard.render())
    return 0


def _lines_of(verdict: Verdict) -> list[str]:
    """Returns a line for each evaluation of a run, and below a fail what was expected and what was called instead."""
    lines = []
    for evaluation in verdict.evaluations:
        if evaluation.score.label == "fail":
            lines += verdict.explain(evaluation, values=True).split("\n")
        else:
            lines.append(verdict.headline(evaluation))
    return [printable(line) for line in lines]


def _screen(scoreboard: Scoreboard) -> contextlib.AbstractContextManager[object]:
    """Returns a live display on a terminal; otherwise prints the addresses now and leaves the scoreboard to the end."""
    console = Console()
    if not console.is_terminal:
        console.print(*scoreboard.addresses, sep="\n")
        return contextlib.nullcontext()
    return Live(get_renderable=scoreboard.render, console=console, refresh_per_second=4, transient=True)


def _config() -> Config:
    """Returns the defaults with short timeouts, because a replayed run is complete once sent, and with free ports."""
    rules = Path(str(files("collector.demo") / "rules.yaml"))
    grpc, http, metrics, admin = (f"127.0.0.1:{_free(port)}" for port in (4317, 4318, 9464, 13133))
    return Config.model_validate(
        {
            "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": grpc}, "http": {"endpoint": http}}}},
            "rules": [rules],
            "traces": {"settle": "500ms", "idle_timeout": "5s"},
            "spool": "memory",
            "exporters": {"prometheus": {"endpoint": metrics}},
            "admin": {"endpoint": admin},
        }
    )


def _free(port: int) -> int:
    """Returns ``port``, or 0 (any) if it is in use."""
    with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
        return port
    return 0


class _Traffic(threading.Thread):
    """Sends one run after another until ``stop``, like an application that uses the OpenTelemetry SDK."""

    def __init__(self, endpoint: str, started: float) -> None:
        super().__init__(name="demo-traffic")
        self._since = started
        options: Any = tuple(grpc_proxy_options(endpoint))  # a proxy of the environment could not reach this machine
        self._exporter = OTLPSpanExporter(endpoint=endpoint, insecure=True, channel_options=options)
        self._stopped = threading.Event()

    def run(self) -> None:
        random = Random()  # noqa: S311 - ids and faults of a demo
        recorded = recordings()
        while not self._stopped.wait(_PAUSE):
            recording = random.choice(recorded)
            faulty = phase_at(time.monotonic() - self._since).faulty
            fault = random.choice(FAULTS[recording.route]) if random.random() < faulty else None
            self._exporter.export(replay(recording, time.time_ns(), random, fault))

    def stop(self) -> None:
        """Finish sending the current run, then stop."""
        self._stopped.set()
        self.join()
        self._exporter.shutdown()
