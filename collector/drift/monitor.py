"""Takes every run, and says where the paths of runs changed: as metrics, in the log, and to the console.

A run is counted where its verdict is given, by its path alone; what follows from a path is worked out once for all runs of a
second. Runs from which calls may be missing are left out: telemetry that is lost is no drift of the agent.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Any, Final, NamedTuple

from collector.clock import Clock
from collector.config.model import Config
from collector.drift.comparison import Drift
from collector.drift.paths import Path, facts_of, path_of
from collector.drift.state import DriftState
from collector.drift.stream import MAX_STREAMS, VERSION, Stream
from collector.results.redaction import Redaction
from collector.scoring.verdict import Verdict
from collector.telemetry.metric_table import MAX_LABEL_LENGTH, OVERFLOW
from collector.telemetry.metrics import Telemetry
from scorers.quoting import printable, shorten

_log = logging.getLogger(__name__)

MAX_PATHS: Final = 500
"""Different paths that wait to be counted; beyond it they are counted at once."""
_FLUSH: Final = 1.0  # seconds between two counts
_STEP: Final = 0.002  # seconds of counting without a pause
_LOOK: Final = 60.0  # seconds between two tests of a stream
_SAVE: Final = 600.0
_VERSION: Final = "service.version"
_QUIET: Final = 2  # hours after which a stream gives way to another, where there are too many

Key = tuple[str, str]
"""Route and agent, "" where unknown."""


class Watched(NamedTuple):
    """What is known of the runs of one route and agent."""

    route: str
    agent: str
    is_ready: bool
    """There is a whole baseline to compare with."""
    drift: Drift | None
    """The difference from the weeks before, if there is one."""
    release: Drift | None = None
    """That of the newest version from the one before."""


class DriftMonitor:
    """A component. ``offer`` takes every verdict, ``advance`` is to be called often; both on the event loop."""

    def __init__(
        self, baseline: int, telemetry: Telemetry, clock: Clock, redaction: Redaction, state: DriftState | None
    ) -> None:
        """``baseline`` is in weeks. Without ``state`` it begins anew at each start."""
        self._baseline, self._telemetry, self._clock, self._state = baseline, telemetry, clock, state
        self._redacted, self._has_versions = redaction.text, not redaction.hides(_VERSION)
        self._streams: dict[Key, Stream] = {}
        self._paths: dict[tuple[str, str, str, Path], int] = {}
        self._turns: deque[Key] = deque()
        self._full_in = 0  # the hour in which no stream was quiet that could make room for another
        self._next_flush = self._next_look = 0.0
        self._next_save = clock.now() + _SAVE
        self._shown: dict[tuple[Any, tuple[str, ...]], float] = {}
        self._saving: asyncio.Task[None] | None = None

    # ---- on the event loop

    def offer(self, verdict: Verdict) -> None:
        """Count the run of a verdict, once, if all of it was seen."""
        if verdict.scope != "run" or verdict.revision or verdict.shadow or verdict.judged or not verdict.complete:
            return
        run = verdict.run
        version = run.attributes.get(_VERSION) if self._has_versions else None
        key = (_cut(run.route), _cut(run.agent), _cut(version) if type(version) is str else "", path_of(run))
        known = self._paths.get(key, 0)
        if not known and len(self._paths) >= MAX_PATHS:
            self._count_one()
        self._paths[key] = known + 1

    def advance(self) -> None:
        """Count, test and save what is due, for a few milliseconds at most."""
        now = self._clock.now()
        if now >= self._next_flush:
            while self._paths and self._clock.now() - now < _STEP:
                self._count_one()
            if not self._paths:
                self._next_flush = now + _FLUSH
        if now >= self._next_look and self._turns:
            self._look(self._turns[0])
            self._turns.rotate(-1)
            self._next_look = now + _LOOK / len(self._turns)
        if self._state is not None and now >= self._next_save and self._saving is None:
            self._next_save = now + _SAVE
            # Copied here, written elsewhere: a disk may take its time.
            self._saving = asyncio.create_task(asyncio.to_thread(self._state.save, self._state.pack(self._streams)))
            self._saving.add_done_callback(self._saved)

    @property
    def watched(self) -> Sequence[Watched]:
        """All streams; those that drift first."""
        found = [
            Watched(*key, stream.is_ready(self._hour()), stream.drift, stream.release)
            for key, stream in list(self._streams.items())
        ]
        return sorted(found, key=lambda one: (one.drift is None and one.release is None, one.route, one.agent))

    async def start(self) -> None:
        """Go on from what was saved."""
        if self._state is not None:
            for key, stream in (await asyncio.to_thread(self._state.load, self._baseline)).items():
                self._watch(key, stream)

    async def shutdown(self) -> None:
        """Save what was counted."""
        while self._paths:
            self._count_one()
        if self._saving is not None:
            await asyncio.wait([self._saving])
        if self._state is not None:
            await asyncio.to_thread(self._state.save, self._state.pack(self._streams))

    # ---- streams

    def _saved(self, _: asyncio.Task[None]) -> None:
        self._saving = None

    def _hour(self) -> int:
        return self._clock.wall_ns() // 3_600_000_000_000

    def _count_one(self) -> None:
        (route, agent, version, path), runs = self._paths.popitem()
        # Only here: a path is counted once for all its runs of a second.
        key, hour = (self._redacted(route), self._redacted(agent)), self._hour()
        stream = self._streams.get(key)
        if stream is None:
            if len(self._streams) >= MAX_STREAMS and not self._make_room(hour):
                self._telemetry.child(self._telemetry.label_overflow, "route_agent").inc(runs)
                return
            stream = Stream(self._baseline)
            self._watch(key, stream)
        stream.count(hour, facts_of(path), runs, self._redacted(version))

    def _watch(self, key: Key, stream: Stream) -> None:
        self._streams[key] = stream
        self._turns.append(key)
        self._show()

    def _make_room(self, hour: int) -> bool:
        """Give up the stream that has been quiet the longest: agents may be called by random names."""
        if (
            hour == self._full_in
        ):  # none has become quiet since: to look at all of them for each such name takes milliseconds
            return False
        quiet = min(self._streams, key=lambda key: self._streams[key].latest)
        if self._streams[quiet].latest > hour - _QUIET:
            self._full_in = hour
            return False
        del self._streams[quiet]
        self._turns.remove(quiet)
        return True

    def _look(self, key: Key) -> None:
        stream = self._streams[key]
        before = stream.drift, stream.release
        stream.look(self._hour())
        of = ", ".join(f"{name} {shorten(value)}" for name, value in zip(("route", "agent"), key, strict=True) if value)
        for one, earlier in zip((stream.drift, stream.release), before, strict=True):
            if one is not None and earlier is None:
                _log.warning("the paths of runs%s changed: %s", f" of {of}" if of else "", one)
        self._show()

    # ---- metrics

    def _show(self) -> None:
        """Bring what is known to /metrics: what is over goes, so that no alert holds on to it."""
        telemetry, wanted = self._telemetry, dict[tuple[Any, tuple[str, ...]], float]()
        for (route, agent), stream in self._streams.items():
            labels = (telemetry.label("route", route), telemetry.label("agent", agent))
            if not telemetry.is_within("route_agent", *labels):
                labels = (OVERFLOW, OVERFLOW)
            whose = tuple(map(printable, labels))
            evidence, baselines = stream.evidence, [("last_week", stream.drift, stream.suspected)]
            baselines += [("previous_version", stream.release, ())] if VERSION in evidence else []
            for baseline, drift, suspected in baselines:
                series = (telemetry.path_drift, (*whose, baseline))
                wanted[series] = max(wanted.get(series, 0.0), float(drift is not None))
                for change in drift.changes if drift is not None else suspected:
                    fact = printable(telemetry.label("fact", change.fact))
                    wanted[telemetry.path_share_ratio, (*series[1], fact, "now")] = change.now
                    wanted[telemetry.path_share_ratio, (*series[1], fact, "before")] = change.before
            # What is counted together under __other__ is not one sample.
            for window, value in evidence.items() if OVERFLOW not in labels else ():
                wanted[telemetry.path_drift_evidence, (*whose, window)] = value
        for metric, values in self._shown.keys() - wanted.keys():
            metric.remove(*values)
        for series, value in wanted.items():
            if self._shown.get(series) != value:
                series[0].labels(*series[1]).set(value)
        self._shown = wanted


def _cut(value: str | None) -> str:
    return (value or "")[:MAX_LABEL_LENGTH]


def build_monitor(config: Config, telemetry: Telemetry, clock: Clock) -> DriftMonitor | None:
    """Returns the monitor that the configuration asks for; None where it is off."""
    if config.drift is None:
        return None
    folder: FilePath | None = config.spool.path if config.spool is not None else None
    if config.runs is not None and config.runs.path is not None:
        folder = config.runs.path
    state = DriftState(folder) if folder is not None else None
    return DriftMonitor(round(config.drift.baseline / 604_800), telemetry, clock, Redaction(config.redact), state)
