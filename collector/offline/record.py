"""``rightcall record``: runs a command with its telemetry sent here, and keeps what it sends, as it sends it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from collector.component import Rejected, Signal
from collector.config.receivers import GrpcServerConfig, HttpServerConfig
from collector.errors import CollectorError, RightcallError, UnavailableError
from collector.exporters.file import RotatingFile
from collector.in_flight import InFlight, Reservation
from collector.offline.score import score_files
from collector.otlp import json
from collector.otlp.structure import Structure
from collector.receivers.otlp_grpc import OtlpGrpcReceiver
from collector.receivers.otlp_http import OtlpHttpReceiver
from collector.scoring.rule_files import load_rules
from scorers.wording import quantity

_ROOM = 256 << 20  # bytes of requests in flight
_MAX_FILE, _MAX_FILES = 500 << 20, 100  # bytes of a recording, and files of it
_NOTHING_RECORDED = 1
_PER_SIGNAL = [
    f"OTEL_EXPORTER_OTLP_{name}_{key}"
    for name in ("TRACES", "LOGS", "METRICS")
    for key in ("ENDPOINT", "PROTOCOL", "HEADERS", "COMPRESSION", "CERTIFICATE", "INSECURE")
]
_HINT = (
    "rightcall: no telemetry came. Does the program set up OpenTelemetry, with an OTLP exporter whose address is not fixed "
    "in the code?\n"
    "The variables set for it: {variables}. For a Python program without any set-up: opentelemetry-instrument COMMAND.\n"
    "An exporter of OTLP/gRPC needs: OTEL_EXPORTER_OTLP_PROTOCOL=grpc rightcall record ..."
)


class NoCommandError(RightcallError):
    """The command cannot be run."""


class Recorder:
    """The receivers' ``Intake``: writes each request as a line."""

    def __init__(self, file: RotatingFile) -> None:
        self._file, self._in_flight, self._writing = file, InFlight(_ROOM), asyncio.Lock()
        self.requests = 0
        self.refused: list[str] = []

    def reservation(self) -> Reservation:
        """Returns room for one request."""
        return self._in_flight.reservation()

    async def take(self, signal: Signal, request: bytes, transport: str) -> Rejected:
        """Write one request. Raises CollectorError."""
        # Refused as the collector would refuse it: a recording that cannot be read again is worth nothing.
        Structure(request)
        if not request:  # it is no telemetry, and its line would not tell its signal
            return Rejected()
        # One line at a time: the receivers take requests concurrently.
        async with self._writing:
            try:
                await asyncio.to_thread(lambda: self._file.write(json.from_protobuf(signal, request)))
            except OSError as error:
                raise UnavailableError(f"the recording cannot be written: {error.strerror}") from None
        self.requests += 1
        return Rejected()

    def refuse(self, transport: str, error: CollectorError) -> None:
        """Remember a request that was refused."""
        if len(self.refused) < _MAX_FILES:
            self.refused.append(f"{transport}: {error}")


def record(command: Sequence[str], folder: Path, tell: Callable[[str], None]) -> int:
    """Run ``command`` and keep its telemetry in ``folder``. Returns the exit code of the command, 1 if nothing came.

    ``tell`` gets the lines that say what came. Raises ConfigError where the folder cannot be written, NoCommandError where
    there is no such command.
    """
    path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}.jsonl"
    file = RotatingFile(path, _MAX_FILE, _MAX_FILES)
    recorder = Recorder(file)
    try:
        variables, code = asyncio.run(_record(command, recorder))
    finally:
        file.close()
        # An empty recording would be scored as one without runs.
        if not recorder.requests:
            path.unlink(missing_ok=True)
    for refused in recorder.refused:
        tell(f"rightcall: refused a request: {refused}")
    if recorder.requests:
        tell(_summary(path))
        return code
    changed = sorted(key for key in variables if os.environ.get(key) != variables[key])
    tell(_HINT.format(variables=", ".join(changed)))
    return code or _NOTHING_RECORDED


async def _record(command: Sequence[str], recorder: Recorder) -> tuple[dict[str, str], int]:
    """Returns the environment of the command, and its exit code."""
    grpc = OtlpGrpcReceiver(GrpcServerConfig(endpoint="127.0.0.1:0"), recorder)
    http = OtlpHttpReceiver(HttpServerConfig(endpoint="127.0.0.1:0"), recorder)
    try:
        await grpc.start()
        await http.start()
        variables = sdk_environment(os.environ, grpc.port, http.port)
        return variables, await _run(command, variables)
    finally:
        await grpc.shutdown()
        await http.shutdown()


def sdk_environment(current: Mapping[str, str], grpc_port: int, http_port: int) -> dict[str, str]:
    """Returns the environment in which SDKs send here, by ``OTEL_EXPORTER_OTLP_PROTOCOL`` if that is set."""
    # The variables of one signal win over the general ones, so telemetry would go where they say.
    kept = {key: value for key, value in current.items() if key not in (*_PER_SIGNAL, "OTEL_SDK_DISABLED")}
    protocol = current.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    port = grpc_port if protocol == "grpc" else http_port
    content = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true", "OTEL_METRICS_EXPORTER": "none"}
    return {
        **content,  # unless the user says otherwise: rules look at arguments
        **kept,
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_EXPORTER_OTLP_INSECURE": "true",
        # Exporters over HTTP take the proxy of the environment, which cannot reach this machine's loopback.
        **{key: ",".join(filter(None, [current.get(key), "127.0.0.1"])) for key in ("NO_PROXY", "no_proxy")},
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "otlp",
        # The SDK of OpenLLMetry has a variable of its own, and sends to its vendor otherwise.
        "TRACELOOP_BASE_URL": f"http://127.0.0.1:{http_port}",
    }


async def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run it to its end. Signals are its own business: a terminal sends Ctrl-C to both, and SIGTERM is passed on."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    # Before the command runs, so that it never outlives this process.
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    try:
        process = await asyncio.create_subprocess_exec(*command, env=environment)
    except OSError as error:
        raise NoCommandError(f"{command[0]}: {error.strerror}") from None
    watcher = asyncio.create_task(_terminate_after(ended, process))
    code = await process.wait()
    watcher.cancel()
    # As shells report a command that was ended by a signal.
    return code if code >= 0 else 128 - code


async def _terminate_after(ended: asyncio.Event, process: asyncio.subprocess.Process) -> None:
    await ended.wait()
    process.terminate()


def _summary(path: Path) -> str:
    verdicts = score_files([path], load_rules([]))
    calls = sum(len(verdict.run.trajectory.calls) for verdict in verdicts)
    return (
        f"rightcall: recorded {quantity(len(verdicts), 'agent run')} with {quantity(calls, 'tool call')} in {path}\n"
        f"rightcall: next: rightcall score --rules rules/ {path.parent}    # without --rules it shows the runs"
    )
