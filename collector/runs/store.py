"""Keeps scored runs for the console. Verdicts are only handed over: a thread of its own explains, redacts and stores them.

Whatever goes wrong here (a slow or full disk, a damaged file, more runs than can be stored) is counted and delays nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from collector.clock import Clock
from collector.config.model import Config
from collector.errors import ConfigError
from collector.results.redaction import Redaction
from collector.runs.database import RunKey, RunsDatabase, StoreUnreadableError, is_damage
from collector.runs.record import RawSpans, Recorder, Submitted, bounded, by_id, spans_of
from collector.runs.rows import Row
from collector.runs.sampling import RateSample
from collector.runs.tally import DIMENSIONS, Series, Tally, shown_dimensions
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry
from scorers import CompiledRule, Evaluation

_log = logging.getLogger(__name__)

MAX_WAITING: Final = 200
"""Verdicts that wait to be stored; further ones are not stored."""
MAX_MEMORY_MIB: Final = 32
"""Size of a store in memory, whatever ``runs.max_size_mib`` says."""
USUAL_PER_SECOND: Final = 10.0
"""Runs stored a second, on average, of those that passed or have no rule: a fair sample of them."""
UNUSUAL_PER_SECOND: Final = 25.0
"""The same of those that failed or are undecided."""
MAX_REVISED: Final = 100
"""Revised verdicts a second that are handed over though they are not in the sample: the verdict before may be stored."""
_URGENT: Final = 150
"""So many verdicts do not wait to be stored until it is time to."""
_FLUSH: Final = 1.0  # seconds in which verdicts are gathered, to be stored at once
_PRUNE: Final = 60.0
_WARN: Final = 60.0


class _Counts(NamedTuple):
    at: int
    counts: Mapping[Series, int]


class _Judged(NamedTuple):
    run: RunKey
    evaluation: Evaluation


class _Revised(NamedTuple):
    """A revised verdict that is not in the sample: stored where the one that it revises is, and of the weight of that."""

    submitted: Submitted


_Item = Submitted | _Counts | _Judged | _Revised


class RunStore:
    """A component. ``offer`` takes every verdict, ``advance`` is to be called often; both on the event loop."""

    def __init__(
        self, database: RunsDatabase, keep: float, redaction: Redaction, telemetry: Telemetry, clock: Clock
    ) -> None:
        self.database, self._keep, self._clock = database, keep, clock
        self.dimensions = shown_dimensions(list(dict.fromkeys((*DIMENSIONS, *telemetry.dimensions))), redaction.hides)
        """Attributes by which runs can be compared."""
        self._recorder, self._tally = Recorder(redaction, self.dimensions), Tally(self.dimensions, redaction.text)
        self._usual = RateSample(USUAL_PER_SECOND, clock.random())
        self._unusual = RateSample(UNUSUAL_PER_SECOND, clock.random())
        self._dropped = {
            reason: telemetry.child(telemetry.runs_not_stored, reason)
            for reason in ("queue_full", "not_writable", "internal")
        }
        self._waiting: SimpleQueue[_Item | None] = SimpleQueue()
        self._is_time = threading.Event()
        self._next_flush = self._next_prune = self._next_warning = 0.0
        self._revised = 0
        self._worker: threading.Thread | None = None
        self._spans: RawSpans = ()
        self._places: Mapping[bytes, Sequence[int]] = {}
        self.rules: Sequence[CompiledRule] = ()
        """Those in force, in order."""
        self.generation = 0
        """Grows whenever something was stored."""

    # ---- on the event loop

    def offer(self, verdict: Verdict, spans: RawSpans = ()) -> None:
        """Count a verdict and, if it is in the sample or revises one that is stored, hand it over to be stored.

        ``spans`` are those of its trace.
        """
        now = self._clock.now()
        # A revised verdict is on a run that was counted.
        if not verdict.revision:
            self._tally.add(verdict)
        sample = self._usual if verdict.label == "pass" or not verdict.evaluations else self._unusual
        is_taken = sample.takes(verdict.run.trace_id, now)
        if not is_taken and not verdict.revision:
            return
        # Dropped and counted, not waited for: the event loop must not depend on a disk.
        if not self._has_room(is_taken):
            self._dropped["queue_full"].inc()
            return
        # Cut before it waits: 200 verdicts of huge runs would be as much memory as the traces themselves.
        kept, cut = bounded(verdict)
        at = self._clock.wall_ns() / 1e9
        if spans is not self._spans:  # the verdicts on a trace come one after the other
            self._spans, self._places = spans, by_id(spans)
        submitted = Submitted(kept, at, sample.weight, cut, spans_of(verdict, spans, self._places))
        self._waiting.put(submitted if is_taken else _Revised(submitted))

    def _has_room(self, is_taken: bool) -> bool:
        """Whether one more verdict may wait, which the sample has taken or not."""
        if not is_taken:
            if self._revised >= MAX_REVISED:
                return False
            self._revised += 1
        if (waiting := self._waiting.qsize()) >= _URGENT:
            self._is_time.set()
        return waiting < MAX_WAITING

    def add_judgement(self, judgement: Verdict) -> None:
        """Hand over what a judge said of a run, for the case that the run is stored."""
        if self._waiting.qsize() < MAX_WAITING:
            self._waiting.put(_Judged(_key_of(judgement), judgement.evaluations[0]))

    def advance(self) -> None:
        """Have what was gathered stored, if it is time to."""
        now = self._clock.now()
        if now >= self._next_flush:
            self._next_flush, self._revised = now + _FLUSH, 0
            # Not each time: the verdicts on a large trace come a few at a time.
            self._spans, self._places = (), {}
            # Where a disk does not answer they go on being counted here, in bounded memory.
            if self._waiting.qsize() < MAX_WAITING:
                self._hand_over_counts()
            # Only now: whenever the thread works beside a busy event loop, both often wait for the interpreter.
            if self._waiting.qsize():
                self._is_time.set()

    def _hand_over_counts(self) -> None:
        if counts := self._tally.take():
            self._waiting.put(_Counts(self._clock.wall_ns() // 1_000_000_000, counts))

    async def start(self) -> None:
        """Begin to store, later where the disk is full or another process holds the file. Raises ConfigError."""
        opening = asyncio.ensure_future(asyncio.to_thread(self.database.open))
        try:
            await asyncio.shield(opening)
        except sqlite3.Error as error:
            self._warn(error)
        except asyncio.CancelledError:
            # The thread cannot be stopped, and would leave a database open that nobody closes.
            with contextlib.suppress(ConfigError, sqlite3.Error):
                await opening
            self.database.close()
            raise
        self._worker = threading.Thread(target=self._work, name="runs", daemon=True)
        self._worker.start()

    async def shutdown(self) -> None:
        """Store what waits, and close the database."""
        await self.stored()
        self.database.close()

    async def stored(self) -> None:
        """Store what waits, and end the thread."""
        thread, self._worker = self._worker, None
        if thread is not None:
            self._hand_over_counts()
            # The last item: what was handed over before it is still stored.
            self._waiting.put(None)
            self._is_time.set()
            await asyncio.to_thread(thread.join)

    # ---- on the thread

    def _work(self) -> None:
        going = True
        while going:
            self._is_time.wait()
            self._is_time.clear()
            batch: list[_Item] = []
            with contextlib.suppress(Empty):
                while (item := self._waiting.get_nowait()) is not None:
                    batch.append(item)
                going = False
            if batch:
                self._store(batch)

    def _store(self, batch: Sequence[_Item]) -> None:
        rows, counts, judged = list[Row](), dict[Series, int](), list[_Judged]()
        weights = dict[RunKey, float]()
        at = self._clock.wall_ns() // 1_000_000_000
        for item in batch:
            if isinstance(item, _Counts):
                at = item.at
                for series, count in item.counts.items():
                    counts[series] = counts.get(series, 0) + count
            elif isinstance(item, _Judged):
                judged.append(item)
            elif (submitted := self._weighed(item, weights)) is not None and (row := self._row(submitted)) is not None:
                rows.append(row)
                weights[_key_of(submitted.verdict)] = submitted.weight
        # One transaction for the batch: each one costs a write of its own.
        self._try(lambda: self.database.write(rows, counts, at), len(rows))
        for one in judged:
            self._try(partial(self._add_judged, one), 0)
        if (now := self._clock.now()) >= self._next_prune:
            self._next_prune = now + _PRUNE
            self._try(self._prune, 0)
        self.generation += 1

    def _weighed(self, item: Submitted | _Revised, waiting: Mapping[RunKey, float]) -> Submitted | None:
        """Returns what to store of a verdict; nothing where it revises one that is neither stored nor ``waiting`` to be."""
        if isinstance(item, Submitted):
            return item
        key = _key_of(item.submitted.verdict)
        # What cannot be read now is told by the write that follows.
        with contextlib.suppress(StoreUnreadableError):
            if (weight := waiting.get(key) or self.database.weight_of(key)) is not None:
                return item.submitted._replace(weight=weight)
        return None

    def _row(self, submitted: Submitted) -> Row | None:
        try:
            return self._recorder.row(submitted, self.rules)
        except Exception:  # noqa: BLE001 - a run nobody expected must not end the thread
            self._dropped["internal"].inc()
            _log.exception("a run of trace %s could not be stored", submitted.verdict.run.trace_id.hex())
            return None

    def _add_judged(self, judged: _Judged) -> None:
        self.database.add_evaluation(judged.run, self._recorder.judgement(judged.evaluation))

    def _try(self, change: Callable[[], None], rows: int) -> None:
        """Make a change, which stores so many rows; what cannot be stored is counted."""
        try:
            self._make(change)
        except (sqlite3.Error, OSError, ConfigError) as error:
            self._dropped["not_writable"].inc(rows)
            self._warn(error)
        except Exception:  # noqa: BLE001 - as above
            self._dropped["internal"].inc(rows)
            _log.exception("runs: what the console shows could not be stored")

    def _make(self, change: Callable[[], None]) -> None:
        """Make room, or open the database, and try again where a change fails; begin anew where it is damaged."""
        try:
            change()
        except sqlite3.Error as error:
            if is_damage(error):
                _log.warning("runs: the store is damaged (%s) and is begun anew", error)
                self.database.begin_anew()
            elif not self.database.is_open:
                self.database.open()
            else:
                self._prune()
            change()

    def _prune(self) -> None:
        self.database.prune(self._clock.wall_ns() / 1e9, self._keep)

    def _warn(self, error: Exception) -> None:
        # A full disk fails every batch; the metric counts them all.
        if (now := self._clock.now()) >= self._next_warning:
            self._next_warning = now + _WARN
            _log.warning("runs: what the console shows cannot be stored: %s", error)


def _key_of(verdict: Verdict) -> RunKey:
    return verdict.run.trace_id.hex(), verdict.run.span_id.hex(), verdict.scope, verdict.shadow


def build_store(config: Config, telemetry: Telemetry, clock: Clock) -> RunStore | None:
    """Returns the store that the configuration asks for; None where it is off. Raises ConfigError."""
    runs = config.runs
    if runs is None:
        return None
    folder: Path | None = runs.path or (config.spool.path if config.spool is not None else None)
    # In memory it competes with traces, and has no share in the memory budget.
    size = runs.max_size_mib if folder is not None else min(runs.max_size_mib, MAX_MEMORY_MIB)
    return RunStore(RunsDatabase(folder, size << 20), runs.keep, Redaction(config.redact), telemetry, clock)
