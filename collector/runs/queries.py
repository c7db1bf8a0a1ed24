"""What the console and the JSON API ask of the store: a page of runs, the runs of a trace, and how many there were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from collector.runs.database import RunsDatabase, tag
from collector.runs.rows import Row

PAGE: Final = 50
"""Runs of one page, unless it asks for another number."""
MAX_PAGE: Final = 500
"""Runs of one page at most."""
MAX_SEARCHED: Final = 50_000
"""Stored runs, the latest, among which tools, outcomes, doubts, dimensions and words are looked for."""
_MAX_OF_TRACE: Final = 200
_MAX_VALUES: Final = 100  # of one property that are offered
_COLUMNS: Final = ("rule", "route", "intent", "agent", "label", "scope", "digest", "reason")
_TAGS: Final = ("tool", "outcome", "doubt", "release")
FILTERS: Final = (*_COLUMNS, *_TAGS)
"""The properties by which runs are filtered; any other name is that of a dimension."""
UNDECIDED: Final = ("ambiguous", "incomplete", "error")
_LISTED: Final = (
    "id", "at", "trace", "span", "scope", "shadow", "label", "weight", "score", "rule", "route", "intent", "agent",
    "reason", "calls",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Filter:
    """Which runs: those that have all these properties, from ``since`` to before ``until`` in seconds of Unix time."""

    properties: Mapping[str, str] = field(default_factory=dict)
    dimensions: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    since: float | None = None
    until: float | None = None

    def where(self) -> tuple[str, list[Any]]:
        """Returns the condition in SQL, and its values."""
        parts, values = ["1"], list[Any]()
        for name, value in self.properties.items():
            if name == "label" and value in ("wrong", "undecided"):
                labels = ("fail", "error") if value == "wrong" else UNDECIDED
                parts.append(f"label IN ({', '.join('?' * len(labels))})")
                values += labels
            elif name in _TAGS:
                parts.append("instr(tags, ?)")
                values.append(tag(name, value))
            else:
                parts.append(f"{name} = ?")
                values.append(value)
        for name, value in self.dimensions.items():
            parts.append("instr(tags, ?)")
            values.append(tag(name, value))
        if self.text:
            parts.append("instr(words, ?)")
            values.append(self.text.lower())
        for condition, bound in (("at >= ?", self.since), ("at < ?", self.until)):
            if bound is not None:
                parts.append(condition)
                values.append(bound)
        return " AND ".join(parts), values


class Page(NamedTuple):
    """Some runs, the latest first, and the number after which the next page begins; None if there is none."""

    runs: list[Row]
    next: int | None


class Counted(NamedTuple):
    """How many verdicts there were, by label."""

    passed: int = 0
    failed: int = 0
    undecided: int = 0
    no_rule: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)

    def plus(self, label: str, count: int) -> Counted:
        """Returns it with more verdicts."""
        if label == "pass":
            return self._replace(passed=self.passed + count)
        if label == "fail":
            return self._replace(failed=self.failed + count)
        if label == "no_rule":
            return self._replace(no_rule=self.no_rule + count)
        return self._replace(undecided=self.undecided + count)


class Reason(NamedTuple):
    """Runs of one rule that are not a pass for one reason, about how many, since when, and the latest of them."""

    rule: str
    label: str
    reason: str
    runs: float
    since: float
    latest: float
    trace: str


def page_of(database: RunsDatabase, wanted: Filter, after: int | None = None, size: int = PAGE) -> Page:
    """Returns the runs that fit, at most ``size``, without what makes them long. Raises StoreUnreadableError."""
    size = max(1, min(size, MAX_PAGE))
    condition, values = wanted.where()
    if "instr(" in condition:  # looks into every row, so not at all of them
        condition += f" AND id > (SELECT max(id) - {MAX_SEARCHED} FROM runs)"
    if after is not None:
        condition, values = f"{condition} AND id < ?", [*values, after]
    # By number and not by time: numbers are unique, so a page ends and the next begins at one run exactly.
    listed = f"SELECT {', '.join(_LISTED)} FROM runs WHERE {condition} ORDER BY id DESC LIMIT ?"
    # One more than asked for tells whether there is a next page, without counting what fits.
    found = [dict(zip(_LISTED, row, strict=True)) for row in database.read(listed, [*values, size + 1])]
    return Page(found[:size], found[size - 1]["id"] if len(found) > size else None)


def of_trace(database: RunsDatabase, trace_id: str) -> list[Row]:
    """Returns the explained verdicts of the trace whose id begins so, outermost first; none if it stands for several."""
    # A range, which an index serves: "g" follows all hexadecimal digits.
    first, last = trace_id, trace_id + "g"
    statement = "SELECT id, trace FROM runs WHERE trace >= ? AND trace < ? ORDER BY id LIMIT ?"
    found = database.read(statement, (first, last, _MAX_OF_TRACE))
    # To show any of several traces would be a guess.
    if len({trace for _, trace in found}) != 1:
        return []
    rows = database.bodies([number for number, _ in found])
    return sorted(rows, key=lambda row: (row["shadow"], row["scope"] != "run", row["parent_span_id"] is not None))


def latest(database: RunsDatabase, wanted: Filter, count: int) -> list[Row]:
    """Returns the explained verdicts that fit, the latest first. Raises StoreUnreadableError."""
    return database.bodies([row["id"] for row in page_of(database, wanted, size=count).runs])


def counted_by(
    database: RunsDatabase, keys: Sequence[str], wanted: Filter, step: int | None = None
) -> dict[tuple[Any, ...], Counted]:
    """Returns how many verdicts there were, by these columns of the counts, and before them by time where ``step`` is given.

    Shadow rules count only where ``shadow`` is one of the keys.
    """
    columns = [*([f"at - at % {int(step)}"] if step else []), *keys]
    named = ", ".join([*columns, "label"])
    condition, values = wanted.where()
    # Counts have no tags of their own: of these only the dimensions are counted by.
    condition = condition.replace("instr(tags, ?)", "instr(dimensions, ?)")
    if "shadow" not in keys:
        condition += " AND shadow = 0"
    rows = database.read(
        f"SELECT {named}, sum(count) FROM counts WHERE {condition} GROUP BY {named} ORDER BY {named}",
        values,
    )
    found: dict[tuple[Any, ...], Counted] = {}
    for *key, label, count in rows:
        found[tuple(key)] = found.get(tuple(key), Counted()).plus(label, count)
    return found


def first_counted(database: RunsDatabase) -> int | None:
    """Returns since when verdicts are counted, in seconds of Unix time. Raises StoreUnreadableError."""
    ((first,),) = database.read("SELECT min(at) FROM counts")
    return None if first is None else int(first)


def reasons(database: RunsDatabase, wanted: Filter, limit: int) -> list[Reason]:
    """Returns why runs are not a pass, the most frequent first. Raises StoreUnreadableError."""
    condition, values = wanted.where()
    rows = database.read(
        "SELECT rule, label, reason, sum(weight), min(at), max(at), trace FROM runs "
        f"WHERE usual = 0 AND shadow = 0 AND {condition} GROUP BY rule, label, reason ORDER BY 4 DESC LIMIT ?",
        [*values, limit],
    )
    return [Reason(*row) for row in rows]


def values_of(database: RunsDatabase, columns: Sequence[str], since: float) -> dict[str, list[str]]:
    """Returns what each of these columns of the counts may be filtered by, the most frequent first."""
    named = ", ".join(columns)
    rows = database.read(f"SELECT {named}, sum(count) FROM counts WHERE at >= ? GROUP BY {named}", (since,))
    found: dict[str, Counter[str]] = {column: Counter() for column in columns}
    for *values, count in rows:
        for column, value in zip(columns, values, strict=True):
            if value:
                found[column][value] += count
    return {column: [value for value, _ in counts.most_common(_MAX_VALUES)] for column, counts in found.items()}
