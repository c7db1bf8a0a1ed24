"""The tables of the store, and how explained verdicts and counts become their rows.

``runs`` has a short row for each stored verdict. What many of them have in common, which is all that they are filtered by, is
one row of ``kinds``, so that a filter looks at kinds and not at runs; ``counts`` are related to ``series`` in the same way.
``bodies`` has the explained verdict as JSON and its raw spans as an OTLP request, both compressed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from collector.runs.rows import Row
from collector.runs.tally import Series, cut
from scorers.quoting import json_line

FORMAT: Final = 2
USUAL: Final = ("pass", "no_rule")
"""Labels of which the store keeps less."""
KIND: Final = ("shadow", "scope", "label", "rule", "digest", "route", "intent", "agent", "reason", "tags")
"""What a run has in common with others."""
_NUMBERS: Final = ("shadow",)


def _columns(names: Sequence[str]) -> str:
    return ", ".join(f"{name} {'INTEGER' if name in _NUMBERS else 'TEXT'} NOT NULL" for name in names)


TABLES: Final = f"""
CREATE TABLE kinds (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, {_columns(KIND)});
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, trace TEXT NOT NULL, span TEXT NOT NULL, scope TEXT NOT NULL, shadow INTEGER NOT NULL,
    at REAL NOT NULL, kind INTEGER NOT NULL, usual INTEGER NOT NULL, weight REAL NOT NULL, score REAL,
    calls INTEGER NOT NULL, size INTEGER NOT NULL, words TEXT NOT NULL);
CREATE UNIQUE INDEX of_trace ON runs (trace, span, scope, shadow);
CREATE INDEX of_kind ON runs (kind, at, weight);
CREATE INDEX unusual ON runs (usual, at, size);
CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL, spans BLOB NOT NULL);
CREATE TABLE series (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, {_columns(Series._fields)});
CREATE TABLE counts (
    series INTEGER NOT NULL, at INTEGER NOT NULL, step INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (series, at, step)) WITHOUT ROWID;
PRAGMA user_version = {FORMAT};
"""
_RUN: Final = (
    "trace", "span", "scope", "shadow", "at", "kind", "usual", "weight", "score", "calls", "size", "words",
)  # fmt: skip
# A revised verdict replaces the first and keeps its number, so it stays at its place in the pages.
PUT_RUN: Final = (
    f"INSERT INTO runs ({', '.join(_RUN)}) VALUES ({', '.join('?' * len(_RUN))}) "
    f"ON CONFLICT (trace, span, scope, shadow) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _RUN)} "
    "RETURNING id"
)
ADD_COUNT: Final = (
    "INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT (series, at, step) DO UPDATE SET count = count + excluded.count"
)
_text: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_MAX_TAGS: Final = 1_000
_MAX_WORDS: Final = 400
_MAX_REASON: Final = 400
_ROOM_OF_ROW: Final = 500  # bytes that a run takes beside its body, about


class Stored(NamedTuple):
    """A verdict as rows of the tables: ``run`` without the number of its kind."""

    run: Sequence[Any]
    kind: tuple[Any, ...]
    body: bytes
    spans: bytes
    is_revised: bool

    def columns(self, kind: int) -> Sequence[Any]:
        """Returns the columns of ``runs``."""
        return [*self.run[:5], kind, *self.run[5:]]


def tag(name: str, value: str) -> str:
    """Returns the form in which a property is searched for among the tags of a run."""
    # A line break would let a value pass for another property.
    return "\n" + f"{name}={value}".replace("\n", " ") + "\n"


def stored(row: Row) -> Stored:
    """Returns an explained verdict as rows."""
    body, spans = (
        packed({key: value for key, value in row.items() if key != "spans"}),
        compressed(row.get("spans", b"")),
    )
    label = row["label"] or "no_rule"
    primary = next((one["value"] for one in row["evaluations"] if one["name"] == row["primary"]), None)
    tools = dict.fromkeys(call["name"] for call in sorted(row["tool_calls"], key=_is_as_expected))
    outcomes = dict.fromkeys(one["outcome"] for one in row["difference"])
    # Tools last, those that differ before the others: tags are cut at the end, and an agent may call any number of tools.
    named = [("outcome", outcomes), ("doubt", row["doubts"]), ("release", [row["release"]]), ("tool", tools)]
    tags = [tag(name, cut(value)) for name, value in row["dimensions"].items()]
    tags += [tag(name, str(value)) for name, values in named for value in values]
    reason = ", ".join(row.get("reasons", ())) or row.get("unscored_reason") or ""
    words = " ".join([row["user_input"] or "", row["conversation_id"] or "", *tools])
    return Stored(
        (
            row["trace_id"], row["span_id"], row["scope"], int(row["shadow"]), row["at"], int(label in USUAL), row["weight"],
            primary, len(row["tool_calls"]), len(body) + len(spans) + _ROOM_OF_ROW, words[:_MAX_WORDS].lower(),
        ),
        (
            int(row["shadow"]), row["scope"], label, row["rule"] or "", row["digest"] or "", cut(row["route"] or ""),
            cut(row["intent"] or ""), cut(row["agent"] or ""), reason[:_MAX_REASON], "".join(tags)[:_MAX_TAGS],
        ),
        body,
        spans,
        bool(row["revision"]),
    )  # fmt: skip


def _is_as_expected(call: Row) -> bool:
    return call["outcome"] in (None, "matched", "unscored")


def series_columns(series: Series) -> Sequence[Any]:
    """Returns the columns of ``series``."""
    dimensions = "".join(tag(name, value) for name, value in series.dimensions)
    return [int(value) if isinstance(value, bool) else value for value in (*series[:-1], dimensions)]


def hash_of(columns: Sequence[Any]) -> bytes:
    """Returns what tells rows of ``kinds`` or ``series`` apart, so that no index repeats their texts."""
    return blake2b(repr(columns).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def packed(row: Row) -> bytes:
    """Returns an explained verdict as it is stored."""
    try:
        text = _text(row)
    except (ValueError, TypeError, RecursionError):  # arguments of a parser in Python may be what JSON cannot hold
        text = json_line(row)
    return compressed(text.encode())


def compressed(data: bytes) -> bytes:
    """Returns what `decompressed` reads."""
    # Most are a few KiB: clearing the tables for a window of 32 KiB would take longer than compressing them.
    compressor = zlib.compressobj(1, zlib.DEFLATED, 13, 6)
    return compressor.compress(data) + compressor.flush()


def decompressed(data: bytes) -> bytes:
    """Returns what `compressed` was given. Raises ValueError if it is damaged."""
    try:
        return zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from None


def unpacked(body: bytes) -> Row:
    """Returns what `packed` was given. Raises ValueError if it is damaged."""
    row: Row = json.loads(decompressed(body))
    return row


def with_evaluations(body: bytes, evaluations: Sequence[Row]) -> bytes:
    """Returns a verdict as it is stored with these evaluations, in the place of those of their names. Raises ValueError if it
    is damaged."""
    row, names = unpacked(body), {one["name"] for one in evaluations}
    row["evaluations"] = [*(one for one in row["evaluations"] if one["name"] not in names), *evaluations]
    return packed(row)
