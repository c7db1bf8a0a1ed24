"""The collector's own pipeline, fed with recorded requests, with no clock to wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from collector.clock import Clock
from collector.config.exporters import ExportersConfig, PrometheusExporterConfig
from collector.config.model import Config, ConversationsConfig, TracesConfig
from collector.errors import CollectorError, DecodeError
from collector.offline.parts import Request
from collector.pipeline import Pipeline
from collector.receivers.otlp_file import InputError
from collector.scoring import conversations
from collector.scoring.rule_files import LoadedRules
from collector.scoring.select_and_score import RunningBelow, nothing_runs
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry

# The limits protect a process that serves many senders. Here the files are all there is, and must be read whole.
_LIMITS = TracesConfig(max_open=10_000_000, max_spans=1_000_000, max_held_mib=1 << 20, remember=0)
_CONVERSATIONS = ConversationsConfig(
    max_open=10_000_000, max_runs=1_000_000, max_calls=1_000_000, max_held_mib=1 << 20, remember=0
)

ConversationRecords = list[tuple[bytes, bytes]]
"""Runs that wait for their conversation: what is the same for all of one, and the record of the run."""


class Scorer:
    """Scores by one set of rules. Attributes of runs are taken from their model requests too if they are ``dimensions``.

    ``running`` tells of spans that are known to go on.
    """

    def __init__(
        self, rules: LoadedRules, dimensions: Sequence[str] = (), running: RunningBelow = nothing_runs
    ) -> None:
        self._rules, self._running = rules, running
        exporters = ExportersConfig(prometheus=PrometheusExporterConfig(dimensions=list(dimensions)))
        self._config = Config(traces=_LIMITS, conversations=_CONVERSATIONS, exporters=exporters)

    def all_of(self, requests: Iterable[Request], telemetry: Telemetry) -> list[Verdict]:
        """Returns the verdicts on one set of traces and its conversations. Raises InputError."""
        verdicts: list[Verdict] = []
        pipeline = self._pipeline(verdicts.append, telemetry)
        for place, signal, request in requests:
            try:
                pipeline.receive(signal, request, "file")
            except CollectorError as error:
                raise InputError(f"{place}: {error}") from None
        pipeline.drain("end_of_input")
        return verdicts

    def traces_of(self, requests: Iterable[Request], telemetry: Telemetry) -> tuple[list[Verdict], ConversationRecords]:
        """Returns the verdicts on a part of the traces, and the runs that wait for their conversation."""
        verdicts: list[Verdict] = []
        pipeline = self._pipeline(verdicts.append, telemetry)
        for _, signal, request in requests:
            try:
                pipeline.receive(signal, request, "file")
            except DecodeError:
                # Of the request that it was a part of, some spans were readable: as a whole it would have been accepted.
                continue
        pipeline.drain_traces("end_of_input")
        return verdicts, [(repr(run.key).encode(), run.record) for run in pipeline.take_conversation_runs()]

    def conversations_of(self, records: Iterable[bytes], telemetry: Telemetry) -> list[Verdict]:
        """Returns the verdicts on conversations, of which these are all runs."""
        verdicts: list[Verdict] = []
        pipeline = self._pipeline(verdicts.append, telemetry)
        pipeline.add_conversation_runs(map(conversations.restore, records))
        pipeline.drain("end_of_input")
        return verdicts

    def _pipeline(self, on_verdict: Callable[[Verdict], None], telemetry: Telemetry) -> Pipeline:
        # Time stands still, so that nothing is released before all of the input was read: the order of files is not
        # the order of events.
        clock = Clock(now=lambda: 0.0, wall_ns=lambda: 0)
        return Pipeline(
            self._config, self._rules, telemetry, None, clock, on_verdict, user_input=True, running=self._running
        )
