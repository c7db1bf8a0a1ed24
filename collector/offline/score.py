"""Score recorded traces: the collector's own pipeline, fed from files, with no clock to wait for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from collector.clock import Clock
from collector.config.model import Config, ConversationsConfig, TracesConfig
from collector.errors import CollectorError
from collector.pipeline import Pipeline
from collector.receivers.otlp_file import InputError, read_set, trace_sets
from collector.scoring.rule_files import LoadedRules
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry

_LIMITS = TracesConfig(max_open=10_000_000, max_spans=1_000_000, max_held_mib=1 << 20, remember=0)
_CONVERSATIONS = ConversationsConfig(
    max_open=10_000_000, max_runs=1_000_000, max_calls=1_000_000, max_held_mib=1 << 20, remember=0
)


def score_files(paths: Iterable[Path], rules: LoadedRules) -> list[Verdict]:
    """The verdicts of every agent run in the files, then of their conversations. Raises InputError.

    Each folder is one set of traces.
    """
    verdicts: list[Verdict] = []
    for path in paths:
        for files in trace_sets(path):
            verdicts += _score_set(files, rules)
    return verdicts


def _score_set(files: Iterable[Path], rules: LoadedRules) -> list[Verdict]:
    verdicts: list[Verdict] = []
    clock = Clock(now=lambda: 0.0, wall_ns=lambda: 0)
    config = Config(traces=_LIMITS, conversations=_CONVERSATIONS)
    pipeline = Pipeline(config, rules, Telemetry(), None, clock, verdicts.append, user_input=True)
    for file, signal, request in read_set(files):
        try:
            pipeline.receive(signal, request, "file")
        except CollectorError as error:
            raise InputError(f"{file}: {error}") from None
    pipeline.drain("end_of_input")
    return verdicts
