"""The store of runs on disk or in memory: one SQLite database, bounded, that is begun anew where it is damaged.

The runs that passed, or that no rule scores, go before all others: they may take a quarter of the room once it is short.
Every function blocks; one lock serves the thread that writes and those that read.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from collector.errors import ConfigError, RightcallError
from collector.files import is_full
from collector.runs.rows import Row
from collector.runs.tables import (
    ADD_COUNT,
    FORMAT,
    PUT_RUN,
    TABLES,
    Stored,
    compressed,
    decompressed,
    hash_of,
    series_columns,
    stored,
    unpacked,
    with_evaluations,
)
from collector.runs.tally import Series

_log = logging.getLogger(__name__)

NAME: Final = "runs.db"
MINUTE: Final = 60
HOUR: Final = 3600
GATHERED: Final = {2 * HOUR: HOUR, 48 * HOUR: 6 * HOUR}
"""By the age of counts, in seconds, the steps of time of which they are kept; younger ones are kept by the minute."""
MAX_COUNTS: Final = 60_000
"""Rows of counts; the oldest go beyond it."""
_SHARE_OF_USUAL: Final = 0.25
_ROOM: Final = 0.9  # of the size, above which the oldest go
_CACHE_KIB: Final = 8 << 10
_DAMAGED: Final = (11, 26)  # SQLITE_CORRUPT, SQLITE_NOTADB
_PASSING: Final = (5, 6, 10, 13)  # SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_FULL
_PART: Final = 500  # rows deleted at once
_MAX_SPANS: Final = 1 << 18  # bytes of the spans of a verdict that was revised
_OF_RUN: Final = "SELECT id FROM runs WHERE trace = ? AND span = ? AND scope = ? AND shadow = ?"
_OURS: Final = frozenset({"runs", "kinds"})
"""Tables of a store of any version: a file without them is another program's, and is not to be begun anew."""
RunKey = tuple[str, str, str, bool]
"""Trace, span, scope and shadow: what tells stored verdicts apart."""
MAX_OF_TRACE: Final = 200
"""Verdicts on one trace that are read at once, the latest."""


class StoreUnreadableError(RightcallError):
    """The store is damaged, or not open."""


class _NotOursError(sqlite3.DatabaseError):
    """The file is no store of runs of this version."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether what is in the file is of no use. Where the disk is full, or another process holds it, the file is whole."""
    return isinstance(error, _NotOursError) or _code_of(error) in _DAMAGED


def _code_of(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


class RunsDatabase:
    """The database in ``folder``; in memory where that is None. Before ``open`` every call raises sqlite3.Error."""

    def __init__(self, folder: Path | None, max_bytes: int) -> None:
        self._path, self._max_bytes = None if folder is None else folder / NAME, max_bytes
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None

    # ---- opening

    def open(self) -> None:
        """Open it, begun anew if it is damaged.

        Raises ConfigError where the folder cannot be used, and sqlite3.Error where that may pass, as a full disk does.
        """
        try:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._path.touch(0o600)  # it holds what users say to agents
            try:
                self._opened = self._connect()
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                _log.warning("runs: %s cannot be used (%s) and is begun anew", self._path, error)
                self._remove()
                self._opened = self._connect()
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, OSError) and is_full(error):
                raise sqlite3.OperationalError(str(error)) from None
            if isinstance(error, sqlite3.Error) and _code_of(error) in _PASSING:
                raise
            raise ConfigError(
                f"runs: {self._path} cannot be used: {error}; name another folder with runs: {{path: FOLDER}}, "
                "or do without it with runs: off"
            ) from None

    @property
    def is_open(self) -> bool:
        """Whether it was opened and not closed since."""
        return self._opened is not None

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            raise sqlite3.ProgrammingError("the store of runs is not open")
        return self._opened

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path or ":memory:", timeout=1, isolation_level=None, check_same_thread=False, cached_statements=200
        )
        try:
            execute = connection.execute
            tables = {name for (name,) in execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and not tables >= _OURS:
                raise sqlite3.DatabaseError("it is the database of another program")
            # WAL with NORMAL syncs only at checkpoints: a power failure may cost the last runs, and never the file.
            # That is enough here: nothing in it was acknowledged to a sender.
            execute("PRAGMA journal_mode = WAL")
            execute("PRAGMA synchronous = NORMAL")
            # As in the spool: where the root file system is read-only there is no other folder to write to.
            execute("PRAGMA temp_store = MEMORY")
            # Otherwise the log stays as large as it ever was, beside the limit of the file.
            execute(f"PRAGMA journal_size_limit = {4 << 20}")
            # Read and not mapped: what is mapped counts as resident memory, and a large store would evict traces.
            execute("PRAGMA mmap_size = 0")
            execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            (version,), (page,) = execute("PRAGMA user_version").fetchone(), execute("PRAGMA page_size").fetchone()
            if version != FORMAT:
                # A new file has version 0 and no tables.
                if tables:
                    raise _NotOursError("it was written by another version")
                connection.executescript(TABLES)
            # At the start, when nothing waits: a damaged page would otherwise show up in the middle of a request.
            if execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise _NotOursError("it is damaged")
            # The limit that holds whatever is written: SQLite refuses, and the store makes room and tries again.
            execute(f"PRAGMA max_page_count = {max(64, self._max_bytes // page)}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.remove(f"{self._path}{suffix}")
        if self._path is not None:
            self._path.touch(0o600)

    def begin_anew(self) -> None:
        """Start with an empty database, because this one is damaged."""
        with self._lock:
            self._connection.close()
            self._opened = None  # where the rest fails, as on a full disk, the next change opens it
            self._remove()
            self._opened = self._connect()

    def close(self) -> None:
        """Close it."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None

    # ---- writing

    def write(self, rows: Iterable[Row], counts: Mapping[Series, int], at: int) -> None:
        """Store explained verdicts, and counts of the minute that ``at`` is in. Raises sqlite3.Error."""
        minute, made = at - at % MINUTE, [stored(row) for row in rows]
        with self._lock, self._transaction():
            kinds = {kind: self._number("kinds", kind) for kind in dict.fromkeys(one.kind for one in made)}
            for one in made:
                columns = one.columns(kinds[one.kind])
                (number,) = self._connection.execute(PUT_RUN, columns).fetchone()
                body, spans = self._with_earlier(number, one) if one.is_revised else (one.body, one.spans)
                self._connection.execute("INSERT OR REPLACE INTO bodies VALUES (?, ?, ?)", (number, body, spans))
            for series, count in counts.items():
                added = (self._number("series", series_columns(series)), minute, MINUTE, count)
                self._connection.execute(ADD_COUNT, added)

    def _with_earlier(self, number: int, one: Stored) -> tuple[bytes, bytes]:
        """Returns the body of a revised verdict with what judges said of the run, and its spans behind those that it had.

        A run is judged once: what was said of it before it was revised is all that will be.
        """
        found = self._connection.execute("SELECT body, spans FROM bodies WHERE id = ?", (number,)).fetchone()
        if found is None:
            return one.body, one.spans
        try:
            judged = [evaluation for evaluation in unpacked(found[0])["evaluations"] if evaluation.get("is_judged")]
            # Two requests one after the other are one request, as protobuf has it.
            spans = decompressed(found[1]) + decompressed(one.spans)
        except ValueError as error:
            _log.warning("runs: a stored run is damaged (%s); the verdict that revises it takes its place", error)
            return one.body, one.spans
        return (
            with_evaluations(one.body, judged) if judged else one.body,
            compressed(spans) if len(spans) <= _MAX_SPANS else one.spans,
        )

    def add_evaluation(self, key: RunKey, evaluation: Row) -> None:
        """Add an evaluation to the stored verdict with this key, if there is one."""
        with self._lock, self._transaction():
            found = self._connection.execute(f"SELECT id, body FROM bodies WHERE id = ({_OF_RUN})", key).fetchone()
            if found is None:
                return
            try:
                body = with_evaluations(found[1], [evaluation])
            except ValueError as error:
                _log.warning("runs: a stored run is damaged (%s); what a judge said of it is not added", error)
                return
            self._connection.execute("UPDATE bodies SET body = ? WHERE id = ?", (body, found[0]))

    def _number(self, table: str, columns: Sequence[Any]) -> int:
        """Returns the number of the row of ``kinds`` or ``series`` with these columns, which is made if there is none."""
        execute, hashed = self._connection.execute, hash_of(columns)
        found = execute(f"SELECT id FROM {table} WHERE hash = ?", (hashed,)).fetchone()
        if found is None:
            places = ", ".join("?" * len(columns))
            found = execute(
                f"INSERT INTO {table} VALUES (NULL, ?, {places}) RETURNING id", (hashed, *columns)
            ).fetchone()
        return int(found[0])

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # SQLite has ended the transaction by itself after some errors, such as a full disk.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def prune(self, now: float, keep: float) -> None:
        """Delete what is older than ``keep`` seconds or beyond the size, and gather old counts in longer steps."""
        with self._lock, self._transaction():
            execute = self._connection.execute
            self._delete("usual IN (0, 1) AND at < ?", (now - keep,))
            execute("DELETE FROM counts WHERE at < ?", (now - keep,))
            for age, step in GATHERED.items():
                self._gather(int(now) - age, step)
            (rows,) = execute("SELECT count(*) FROM counts").fetchone()
            if rows > MAX_COUNTS:
                # An hour or a minute goes as a whole: half of its series would be a wrong count.
                latest = "SELECT at FROM counts ORDER BY at DESC LIMIT 1 OFFSET ?"
                execute(f"DELETE FROM counts WHERE at <= ({latest})", (MAX_COUNTS - MAX_COUNTS // 10,))
            sizes = dict(execute("SELECT usual, sum(size) FROM runs GROUP BY usual").fetchall())
            # Below the limit of pages, so that there is room to write until the next time.
            while self.used() > self._max_bytes * _ROOM and sum(sizes.values()) > 0:
                self._shrink(sizes)
            execute("DELETE FROM kinds WHERE NOT EXISTS (SELECT 1 FROM runs WHERE kind = kinds.id)")
            execute("DELETE FROM series WHERE NOT EXISTS (SELECT 1 FROM counts WHERE series = series.id)")

    def _shrink(self, sizes: dict[int, int]) -> None:
        """Delete some of the oldest runs. ``sizes`` are the bytes of those that are usual, and of the others."""
        # By size and not by number: one run may take a thousand times as much as another.
        usual = sizes.get(1, 0) > _SHARE_OF_USUAL * sum(sizes.values())
        which = int(usual or not sizes.get(0))
        oldest = "FROM runs WHERE usual = ? ORDER BY at LIMIT ?"
        (size,) = self._connection.execute(f"SELECT sum(size) FROM (SELECT size {oldest})", (which, _PART)).fetchone()
        self._delete(f"id IN (SELECT id {oldest})", (which, _PART))
        sizes[which] -= size

    def _delete(self, where: str, values: tuple[Any, ...]) -> None:
        # Bodies first: which of them go is told by the rows of `runs`.
        for table in ("bodies", "runs"):
            which = where if table == "runs" else f"id IN (SELECT id FROM runs WHERE {where})"
            self._connection.execute(f"DELETE FROM {table} WHERE {which}", values)

    def _gather(self, before: int, step: int) -> None:
        """Make one count of those of a step of time, if they are older."""
        old, values = f"FROM counts WHERE at < ? AND step < {step}", (before - before % step,)
        slot = f"at - at % {step}"
        found = self._connection.execute(
            f"SELECT series, {slot}, {step}, sum(count) {old} GROUP BY series, {slot}", values
        )
        rows = found.fetchall()
        self._connection.execute(f"DELETE {old}", values)
        self._connection.executemany(ADD_COUNT, rows)

    def used(self) -> int:
        """Bytes in use."""
        (pages,), (free,), (page,) = (
            self._connection.execute(f"PRAGMA {name}").fetchone()
            for name in ("page_count", "freelist_count", "page_size")
        )
        # Freed pages are used again before the file grows, so it need not shrink.
        return int((pages - free) * page)

    # ---- reading

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Returns the rows of a query. Raises StoreUnreadableError."""
        try:
            with self._lock:
                return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise StoreUnreadableError(f"the store of runs cannot be read: {error}") from None

    def weight_of(self, key: RunKey) -> float | None:
        """Returns how many verdicts the stored one with this key stands for, if there is one. Raises StoreUnreadableError."""
        found = self.read(f"SELECT weight FROM runs WHERE id = ({_OF_RUN})", key)
        return found[0][0] if found else None

    def spans(self, trace_id: str) -> Iterator[bytes]:
        """The raw spans of each stored verdict on a trace, as an OTLP request. Raises StoreUnreadableError."""
        latest = "SELECT id FROM runs WHERE trace = ? ORDER BY id DESC LIMIT ?"
        for (spans,) in self.read(f"SELECT spans FROM bodies WHERE id IN ({latest})", (trace_id, MAX_OF_TRACE)):
            try:
                yield decompressed(spans)
            except ValueError as error:
                raise StoreUnreadableError(f"spans of a stored run are damaged: {error}") from None

    def bodies(self, numbers: Sequence[int]) -> list[Row]:
        """Returns the explained verdicts with these numbers, in their order. Raises StoreUnreadableError."""
        if not numbers:
            return []
        places = ", ".join("?" * len(numbers))
        found = dict(self.read(f"SELECT id, body FROM bodies WHERE id IN ({places})", numbers))
        try:
            return [unpacked(found[number]) for number in numbers if number in found]
        except ValueError as error:
            raise StoreUnreadableError(f"a stored run is damaged: {error}") from None
