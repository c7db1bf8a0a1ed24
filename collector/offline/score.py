"""Score recorded traces: the collector's own pipeline, fed from files, with no clock to wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from collector.clock import Clock
from collector.component import Signal
from collector.config.exporters import ExportersConfig, PrometheusExporterConfig
from collector.config.model import Config, ConversationsConfig, TracesConfig
from collector.errors import CollectorError
from collector.pipeline import Pipeline
from collector.receivers.otlp_file import InputError, read_set, trace_sets
from collector.reconstruction.reconstruct import Run
from collector.scoring.rule_files import LoadedRules
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry
from scorers import RuleSet

# The limits protect a process that serves many senders. Here the files are all there is, and must be read whole.
_LIMITS = TracesConfig(max_open=10_000_000, max_spans=1_000_000, max_held_mib=1 << 20, remember=0)
_CONVERSATIONS = ConversationsConfig(
    max_open=10_000_000, max_runs=1_000_000, max_calls=1_000_000, max_held_mib=1 << 20, remember=0
)


def score_files(
    paths: Iterable[Path],
    rules: LoadedRules,
    dimensions: Sequence[str] = (),
    telemetry: Telemetry | None = None,
) -> list[Verdict]:
    """The verdicts of every agent run in the files, then of their conversations. Raises InputError.

    Each folder is one set of traces. Attributes of runs are taken from their model requests too if they are ``dimensions``.
    What is read is counted in ``telemetry``.
    """
    verdicts: list[Verdict] = []
    for path in paths:
        for files in trace_sets(path):
            _feed(read_set(files), rules, verdicts.append, dimensions, telemetry)
    return verdicts


def read_runs(paths: Iterable[Path], on_run: Callable[[Run], None]) -> None:
    """Call ``on_run`` with every agent run in the files, without keeping one. Raises InputError."""
    for path in paths:
        for files in trace_sets(path):
            _feed(read_set(files), LoadedRules(RuleSet()), lambda verdict: on_run(verdict.run))


def score_requests(requests: Iterable[tuple[Path | str, Signal, bytes]], rules: LoadedRules) -> list[Verdict]:
    """The verdicts on one set of traces: OTLP requests as protobuf, each with its place for messages. Raises InputError."""
    verdicts: list[Verdict] = []
    _feed(requests, rules, verdicts.append)
    return verdicts


def _feed(
    requests: Iterable[tuple[Path | str, Signal, bytes]],
    rules: LoadedRules,
    on_verdict: Callable[[Verdict], None],
    dimensions: Sequence[str] = (),
    telemetry: Telemetry | None = None,
) -> None:
    # Time stands still, so that nothing is released before all of the input was read: the order of files is not
    # the order of events.
    clock = Clock(now=lambda: 0.0, wall_ns=lambda: 0)
    exporters = ExportersConfig(prometheus=PrometheusExporterConfig(dimensions=list(dimensions)))
    config = Config(traces=_LIMITS, conversations=_CONVERSATIONS, exporters=exporters)
    pipeline = Pipeline(config, rules, telemetry or Telemetry(), None, clock, on_verdict, user_input=True)
    for place, signal, request in requests:
        try:
            pipeline.receive(signal, request, "file")
        except CollectorError as error:
            raise InputError(f"{place}: {error}") from None
    pipeline.drain("end_of_input")
