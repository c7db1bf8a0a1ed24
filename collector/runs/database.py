"""The store of runs on disk or in memory: one SQLite database, bounded, that is begun anew where it is damaged.

``runs`` has a narrow row for each stored verdict, which is all that lists and filters read; ``bodies`` has the explained
verdict as compressed JSON. ``counts`` has how many verdicts there were, a row for each series and minute, or hour.

The runs that passed, or that no rule scores, go before all others: they may take a quarter of the room once it is short.
Every function blocks; one lock serves the thread that writes and those that read.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from collector.errors import ConfigError, RightcallError
from collector.runs.rows import Row
from collector.runs.tally import DIMENSIONS, Series
from scorers.quoting import json_line

_log = logging.getLogger(__name__)

NAME: Final = "runs.db"
FORMAT: Final = 1
HOUR: Final = 3600
_MINUTE: Final = 60
MAX_MINUTES: Final = 3 * HOUR
"""Seconds for which counts are kept by the minute; older ones are kept by the hour."""
MAX_COUNTS: Final = 100_000
"""Rows of counts; the oldest go beyond it."""
_USUAL: Final = ("pass", "no_rule")  # labels of which the store keeps less
_SHARE_OF_USUAL: Final = 0.25
_ROOM: Final = 0.9  # of the size, above which the oldest go
_MAPPED: Final = 1 << 30  # bytes of the file that are read without copying: filters may look at every row
_PART: Final = 500  # rows deleted at once
_SERIES: Final = ", ".join(f"{name} {'INTEGER' if name == 'shadow' else 'TEXT'} NOT NULL" for name in Series._fields)
_TABLES: Final = f"""
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, trace TEXT NOT NULL, span TEXT NOT NULL, scope TEXT NOT NULL,
    shadow INTEGER NOT NULL, label TEXT NOT NULL, usual INTEGER NOT NULL, weight REAL NOT NULL, score REAL,
    rule TEXT NOT NULL, digest TEXT NOT NULL, route TEXT NOT NULL, intent TEXT NOT NULL, agent TEXT NOT NULL,
    reason TEXT NOT NULL, calls INTEGER NOT NULL, tags TEXT NOT NULL, words TEXT NOT NULL, size INTEGER NOT NULL);
CREATE UNIQUE INDEX of_trace ON runs (trace, span, scope, shadow);
CREATE INDEX by_time ON runs (at);
CREATE INDEX unusual ON runs (usual, at);
CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE counts (
    at INTEGER NOT NULL, step INTEGER NOT NULL, {_SERIES},
    count INTEGER NOT NULL);
CREATE INDEX counted ON counts (at);
PRAGMA user_version = {FORMAT};
"""
_COLUMNS: Final = (
    "at", "trace", "span", "scope", "shadow", "label", "usual", "weight", "score", "rule", "digest", "route", "intent",
    "agent", "reason", "calls", "tags", "words", "size",
)  # fmt: skip
# A revised verdict replaces the first and keeps its number, so it stays at its place in the pages.
_REPLACE: Final = (
    f"INSERT INTO runs ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
    "ON CONFLICT (trace, span, scope, shadow) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)
    + " RETURNING id"
)
_COUNT: Final = f"INSERT INTO counts VALUES ({', '.join('?' * (3 + len(Series._fields)))})"
_MAX_TAGS: Final = 1_000
_MAX_WORDS: Final = 400


class StoreUnreadableError(RightcallError):
    """The store is damaged, or not open."""


class RunsDatabase:
    """The database in ``folder``; in memory where that is None. Before ``open`` every call raises sqlite3.Error."""

    def __init__(self, folder: Path | None, max_bytes: int) -> None:
        self._path, self._max_bytes = None if folder is None else folder / NAME, max_bytes
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None

    # ---- opening

    def open(self) -> None:
        """Open it, begun anew if it is damaged. Raises ConfigError where the folder cannot be used."""
        try:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._path.touch(0o600)  # it holds what users say to agents
            try:
                self._opened = self._connect()
            except sqlite3.DatabaseError as error:
                _log.warning("runs: %s cannot be used (%s) and is begun anew", self._path, error)
                self._remove()
                self._opened = self._connect()
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"runs: {self._path} cannot be used: {error}; name another folder with runs: {{path: FOLDER}}, "
                "or do without it with runs: off"
            ) from None

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
            # WAL with NORMAL syncs only at checkpoints: a power failure may cost the last runs, and never the file.
            # That is enough here: nothing in it was acknowledged to a sender.
            execute("PRAGMA journal_mode = WAL")
            execute("PRAGMA synchronous = NORMAL")
            # Otherwise the log stays as large as it ever was, beside the limit of the file.
            execute(f"PRAGMA journal_size_limit = {4 << 20}")
            execute(f"PRAGMA mmap_size = {_MAPPED}")
            (version,), (page,) = execute("PRAGMA user_version").fetchone(), execute("PRAGMA page_size").fetchone()
            if version != FORMAT:
                # A new file has version 0 and no tables; whatever else it is, it is not ours to fill.
                if execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                    raise sqlite3.DatabaseError("it was written by another version")
                connection.executescript(_TABLES)
            # At the start, when nothing waits: a damaged page would otherwise show up in the middle of a request.
            if execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("it is damaged")
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
        minute = at - at % _MINUTE
        with self._lock, self._transaction():
            for row in rows:
                self._put(row)
            self._connection.executemany(_COUNT, [_count_row(minute, key, count) for key, count in counts.items()])

    def _put(self, row: Row) -> None:
        body = zlib.compress(_encoded(row), 1)
        (number,) = self._connection.execute(_REPLACE, _columns_of(row, len(body))).fetchone()
        self._connection.execute("INSERT OR REPLACE INTO bodies VALUES (?, ?)", (number, body))

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
        """Delete what is older than ``keep`` seconds or beyond the size, and gather old counts by the hour."""
        with self._lock, self._transaction():
            execute = self._connection.execute
            self._delete("at < ?", (now - keep,))
            execute("DELETE FROM counts WHERE at < ?", (now - keep,))
            self._gather(int(now) - MAX_MINUTES)
            (rows,) = execute("SELECT count(*) FROM counts").fetchone()
            if rows > MAX_COUNTS:
                oldest = "SELECT rowid FROM counts ORDER BY at LIMIT ?"
                execute(f"DELETE FROM counts WHERE rowid IN ({oldest})", (rows - MAX_COUNTS + MAX_COUNTS // 10,))
            # Below the limit of pages, so that there is room to write until the next time.
            while self.used() > self._max_bytes * _ROOM and self._shrink():
                pass

    def _shrink(self) -> bool:
        # By size and not by number: one run may take a thousand times as much as another.
        sizes = dict(self._connection.execute("SELECT usual, sum(size) FROM runs GROUP BY usual").fetchall())
        if not sizes:
            return False
        usual = sizes.get(1, 0) > _SHARE_OF_USUAL * sum(sizes.values())
        oldest = "id IN (SELECT id FROM runs WHERE usual = ? ORDER BY at LIMIT ?)"
        self._delete(oldest, (int(usual or 0 not in sizes), _PART))
        return True

    def _delete(self, where: str, values: tuple[Any, ...]) -> None:
        # Bodies first: which of them go is told by the rows of `runs`.
        for table in ("bodies", "runs"):
            which = where if table == "runs" else f"id IN (SELECT id FROM runs WHERE {where})"
            self._connection.execute(f"DELETE FROM {table} WHERE {which}", values)

    def _gather(self, before: int) -> None:
        hour, names = before - before % HOUR, ", ".join(Series._fields)
        of_minutes = f"SELECT at - at % {HOUR}, {HOUR}, {names}, sum(count) FROM counts WHERE at < ? AND step < {HOUR} "
        self._connection.execute(
            f"INSERT INTO counts {of_minutes} GROUP BY at - at % {HOUR}, {names}",
            (hour,),
        )
        self._connection.execute(
            f"DELETE FROM counts WHERE at < ? AND step < {HOUR}",
            (hour,),
        )

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

    def bodies(self, numbers: Sequence[int]) -> list[Row]:
        """Returns the explained verdicts with these numbers, in their order. Raises StoreUnreadableError."""
        places = ", ".join("?" * len(numbers))
        found = dict(self.read(f"SELECT id, body FROM bodies WHERE id IN ({places})", numbers))
        return [json.loads(zlib.decompress(found[number])) for number in numbers if number in found]


def _encoded(row: Row) -> bytes:
    try:
        return json.dumps(row, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError):  # arguments of a parser in Python may be what JSON cannot hold
        return json_line(row).encode()


def tag(name: str, value: str) -> str:
    """Returns the form in which a property is searched for among the tags of a run."""
    return f"\n{name}={value}\n"


def _columns_of(row: Row, size: int) -> tuple[Any, ...]:
    label = row["label"] or "no_rule"
    primary = next((one["value"] for one in row["evaluations"] if one["name"] == row["primary"]), None)
    tools = dict.fromkeys(call["name"] for call in row["tool_calls"])
    outcomes = dict.fromkeys(one["outcome"] for one in row["difference"])
    named = [("tool", tools), ("outcome", outcomes), ("doubt", row["doubts"]), ("release", [row["release"]])]
    tags = [tag(name, str(value)) for name, values in named for value in values]
    # Dimensions first: tags are cut at the end, and an agent may call any number of tools.
    tags = [*(tag(name, value) for name, value in row["dimensions"].items()), *tags]
    words = " ".join([row["trace_id"], row["user_input"] or "", row["conversation_id"] or "", *tools])
    reason = ", ".join(row.get("reasons", ())) or row.get("unscored_reason") or ""
    return (
        row["at"], row["trace_id"], row["span_id"], row["scope"], int(row["shadow"]), label, int(label in _USUAL),
        row["weight"], primary, row["rule"] or "", row["digest"] or "", row["route"] or "", row["intent"] or "",
        row["agent"] or "", reason[:_MAX_WORDS], len(row["tool_calls"]), "".join(tags)[:_MAX_TAGS],
        words[:_MAX_WORDS].lower(), size + 600,
    )  # fmt: skip


def _count_row(minute: int, series: Series, count: int) -> tuple[Any, ...]:
    values = series._replace(dimensions=())
    dimensions = "".join(tag(name, value) for name, value in zip(DIMENSIONS, series.dimensions, strict=True) if value)
    plain = [int(value) if isinstance(value, bool) else value for value in values]
    plain[Series._fields.index("dimensions")] = dimensions
    return (minute, _MINUTE, *plain, count)
