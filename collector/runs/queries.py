"""What the console and the JSON API ask of the store: a page of runs, the runs of a trace, and how many there were."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeVar

from collector.runs.database import GATHERED, MAX_OF_TRACE, MINUTE, RunsDatabase
from collector.runs.rows import Row
from collector.runs.tables import USUAL, tag
from collector.runs.tally import cut

PAGE: Final = 50
"""Runs of one page, unless it asks for another number."""
MAX_PAGE: Final = 500
"""Runs of one page at most."""
MAX_SEARCHED: Final = 20_000
"""Runs among which one page looks for words, the latest of those that fit otherwise; the next page goes on behind them."""
MAX_KINDS: Final = 20_000
"""Different combinations of properties, the latest, that filters look at: where every run has a route of its own, no others."""
_MAX_VALUES: Final = 100  # of one property that are offered
_COLUMNS: Final = ("rule", "route", "intent", "agent", "label", "scope", "digest", "reason")
_CUT: Final = ("route", "intent", "agent")
_TAGS: Final = ("tool", "outcome", "doubt", "release")
FILTERS: Final = (*_COLUMNS, *_TAGS)
"""The properties by which runs are filtered; any other name is that of a dimension."""
UNDECIDED: Final = ("ambiguous", "incomplete", "error")
_TRACE_ID: Final = re.compile("[0-9a-f]{8,32}")
_Key = TypeVar("_Key", bound=Hashable)
_LISTED: Final = {
    "runs": ("id", "at", "trace", "span", "scope", "shadow", "weight", "score", "calls"),
    "kinds": ("label", "rule", "route", "intent", "agent", "reason"),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which runs: those that have all these properties, from ``since`` to before ``until`` in seconds of Unix time."""

    properties: Mapping[str, str] = field(default_factory=dict)
    dimensions: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    since: float | None = None
    until: float | None = None

    def of_properties(self, tags: str = "tags") -> tuple[str, list[Any]]:
        """Returns the condition on properties and dimensions in SQL, and its values. ``tags`` is the column of dimensions."""
        parts, values = ["1"], list[Any]()
        for name, value in self.properties.items():
            if name == "label" and value in ("wrong", "undecided"):
                labels = ("fail", "error") if value == "wrong" else UNDECIDED
                parts.append(f"label IN ({', '.join('?' * len(labels))})")
                values += labels
            elif name in _TAGS:
                parts.append(f"instr({tags}, ?)")
                values.append(tag(name, value))
            else:
                parts.append(f"{name} = ?")
                values.append(cut(value) if name in _CUT else value)
        for name, value in self.dimensions.items():
            parts.append(f"instr({tags}, ?)")
            values.append(tag(name, cut(value)))
        return " AND ".join(parts), values

    def of_time(self) -> tuple[str, list[float]]:
        """Returns the condition on the time in SQL, and its values."""
        bounds = [("at >= ?", self.since), ("at < ?", self.until)]
        known = [(condition, bound) for condition, bound in bounds if bound is not None]
        return " AND ".join(["1", *(condition for condition, _ in known)]), [bound for _, bound in known]


class Page(NamedTuple):
    """Some runs, the latest first, and the number after which the next page begins; None if there is none.

    A page of a search has fewer runs than asked for, or none, where only the next ones may have more.
    """

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


_PLACE_OF: Final = {"pass": 0, "fail": 1, "no_rule": 3}  # in `Counted`; every other label is undecided


def grouped(counts: Iterable[tuple[_Key, Counted]]) -> dict[_Key, Counted]:
    """Returns the sum of what has the same key."""
    found: dict[_Key, list[int]] = {}
    for key, counted in counts:
        total = found.setdefault(key, [0, 0, 0, 0])
        for place, number in enumerate(counted):
            total[place] += number
    return {key: Counted(*total) for key, total in found.items()}


def total_of(counts: Iterable[Counted]) -> Counted:
    """Returns their sum."""
    return grouped(("", counted) for counted in counts).get("", Counted())


class Reason(NamedTuple):
    """Runs of one rule that are not a pass for one reason, about how many, since when, and the latest of them."""

    rule: str
    label: str
    reason: str
    runs: float
    squares: float
    """As in `Estimate`."""
    since: float
    latest: float
    trace: str


class Estimate(NamedTuple):
    """How many runs there were, by those that are stored."""

    runs: float
    squares: float
    """The sum of the squares of what each stored one stands for, which is the variance; ``runs`` if each is stored."""


def page_of(database: RunsDatabase, wanted: Filter, after: int | None = None, size: int = PAGE) -> Page:
    """Returns the runs that fit, at most ``size``, without what makes them long. Raises StoreUnreadableError."""
    size, text = max(1, min(size, MAX_PAGE)), wanted.text.lower()
    if _TRACE_ID.fullmatch(text):
        statement, values = _numbers(wanted, after, trace_id=text)
        if (page := _first(database, statement, values, size)).runs:
            return page
    # A number of an order, or an id of a conversation, may look like the beginning of a trace id.
    statement, values = _numbers(wanted, after)
    if not text:
        return _first(database, statement, values, size)
    found, following = _searched(database, statement, values, text, size)
    return Page(_listed(database, found[:size]), following)


def _first(database: RunsDatabase, statement: str, values: Sequence[Any], size: int) -> Page:
    """Returns the first of the runs whose numbers a query gives."""
    # One more than asked for tells whether there is a next page, without counting what fits.
    found = [number for (number,) in database.read(f"{statement} LIMIT ?", [*values, size + 1])]
    return Page(_listed(database, found[:size]), found[size - 1] if len(found) > size else None)


def _numbers(wanted: Filter, after: int | None, trace_id: str = "") -> tuple[str, list[Any]]:
    """Returns the query for the numbers of the runs that fit, but for the text, and its values.

    With the beginning of a trace id these are the runs of such traces, whatever their properties.
    """
    (kinds, of_kinds), (times, of_times) = wanted.of_properties(), wanted.of_time()
    conditions, values = [times], list[Any](of_times)
    if trace_id:
        conditions.append("trace >= ? AND trace < ?")
        values += _range_of(trace_id)
    elif of_kinds or of_times:
        # Its index has all that is looked at here, so that no row is read that does not fit.
        conditions.append(f"kind IN (SELECT id FROM kinds WHERE {kinds} ORDER BY id DESC LIMIT {MAX_KINDS})")
        values += of_kinds
    if after is not None:
        conditions.append("id < ?")
        values.append(after)
    # By number and not by time: numbers are unique, so a page ends and the next begins at one run exactly.
    return f"SELECT id FROM runs WHERE {' AND '.join(conditions)} ORDER BY id DESC", values


def _searched(
    database: RunsDatabase, statement: str, values: Sequence[Any], text: str, size: int
) -> tuple[list[int], int | None]:
    """Returns the numbers of runs with this text among so many, and behind which one to go on."""
    looked_at = f"{statement} LIMIT {MAX_SEARCHED}"
    with_text = f"SELECT id FROM runs WHERE id IN ({looked_at}) AND instr(words, ?) ORDER BY id DESC LIMIT ?"
    found = [number for (number,) in database.read(with_text, [*values, text, size + 1])]
    if len(found) > size:
        return found, found[size - 1]
    last = database.read(f"{statement} LIMIT 1 OFFSET {MAX_SEARCHED - 1}", values)
    return found, last[0][0] if last else None


def _listed(database: RunsDatabase, numbers: Sequence[int]) -> list[Row]:
    if not numbers:
        return []
    columns = [f"{table}.{name}" for table, names in _LISTED.items() for name in names]
    rows = database.read(
        f"SELECT {', '.join(columns)} FROM runs JOIN kinds ON kinds.id = runs.kind "
        f"WHERE runs.id IN ({', '.join('?' * len(numbers))}) ORDER BY runs.id DESC",
        numbers,
    )
    return [dict(zip((column.partition(".")[2] for column in columns), row, strict=True)) for row in rows]


def _range_of(trace_id: str) -> tuple[str, str]:
    """Returns a range of texts, which an index serves, of the trace ids that begin so."""
    return trace_id, trace_id + "g"  # it follows all hexadecimal digits


def of_trace(database: RunsDatabase, trace_id: str) -> list[Row]:
    """Returns the explained verdicts of the trace whose id begins so, outermost first; none if it stands for several.

    Of many these are the latest `MAX_OF_TRACE`. Raises StoreUnreadableError.
    """
    statement = "SELECT id, trace FROM runs WHERE trace >= ? AND trace < ? ORDER BY id DESC LIMIT ?"
    found = database.read(statement, (*_range_of(trace_id), MAX_OF_TRACE))[::-1]
    # To show any of several traces would be a guess.
    if len({trace for _, trace in found}) != 1:
        return []
    rows = database.bodies([number for number, _ in found])
    return sorted(rows, key=lambda row: (row["shadow"], row["scope"] != "run", row["parent_span_id"] is not None))


def number_of_trace(database: RunsDatabase, trace_id: str) -> int:
    """Returns how many verdicts on a trace are stored. Raises StoreUnreadableError."""
    ((number,),) = database.read("SELECT count(*) FROM runs WHERE trace = ?", (trace_id,))
    return int(number)


def latest(database: RunsDatabase, wanted: Filter, count: int, after: int | None = None) -> list[Row]:
    """Returns the explained verdicts that fit, the latest first. Raises StoreUnreadableError."""
    return database.bodies([row["id"] for row in page_of(database, wanted, after, count).runs])


def counted_by(
    database: RunsDatabase, keys: Sequence[str], wanted: Filter, step: int | None = None
) -> dict[tuple[Any, ...], Counted]:
    """Returns how many verdicts there were, by these columns of the counts, and before them by time where ``step`` is given.

    Shadow rules count only where ``shadow`` is one of the keys.
    """
    if "reason" in wanted.properties:
        return {}  # of that no counts are kept, nor of what is in the tags of a run
    shadows = "" if "shadow" in keys else " AND shadow = 0"
    (series, of_series), (times, of_times) = wanted.of_properties("dimensions"), wanted.of_time()
    # Series are few: they are looked up last, once it is known how often each was counted.
    slot, slots = (f", at - at % {int(step)} AS slot", "slot") if step else ("", "")
    columns = ", ".join([*([slots] if slots else []), *keys, "label"])
    rows = database.read(
        f"SELECT {columns}, sum(counted) FROM series JOIN (SELECT series{slot}, sum(count) AS counted FROM counts "
        f"WHERE series IN (SELECT id FROM series WHERE {series}{shadows}) AND {times} "
        f"GROUP BY series{', slot' if slots else ''}) AS found ON found.series = series.id GROUP BY {columns}",
        [*of_series, *of_times],
    )
    found: dict[tuple[Any, ...], list[int]] = {}
    for *key, label, count in rows:
        found.setdefault(tuple(key), [0, 0, 0, 0])[_PLACE_OF.get(label, 2)] += count
    return {key: Counted(*numbers) for key, numbers in found.items()}


def first_counted(database: RunsDatabase) -> int | None:
    """Returns since when verdicts are counted, in seconds of Unix time. Raises StoreUnreadableError."""
    ((first,),) = database.read("SELECT min((SELECT min(at) FROM counts WHERE series = series.id)) FROM series")
    return None if first is None else int(first)


def reasons_since(database: RunsDatabase, wanted: Filter, now: float) -> float | None:
    """Returns since when runs that are no pass are stored, where some that fit were counted before; None where none was.

    Runs go by size, and their counts stay for days. Raises StoreUnreadableError.
    """
    ((oldest,),) = database.read("SELECT min(at) FROM runs WHERE usual = 0")
    since = now if oldest is None else oldest
    # A count is of all runs of its step of time: one that began earlier may be of those that are stored.
    step = max((step for age, step in GATHERED.items() if now - since >= age), default=MINUTE)
    before = replace(wanted, until=since - step if wanted.until is None else min(wanted.until, since - step))
    gone = total_of(counted_by(database, ["scope"], before).values())
    return since if gone.failed + gone.undecided else None


def reasons(database: RunsDatabase, wanted: Filter, limit: int) -> list[Reason]:
    """Returns why runs are not a pass, the most frequent first. Raises StoreUnreadableError."""
    (times, of_times), (not_passed, values) = wanted.of_time(), _not_passed(wanted)
    rows = database.read(
        "SELECT rule, label, reason, weighed, squares, first, last, kinds.id FROM kinds JOIN ("
        "SELECT kind, sum(weight) AS weighed, sum(weight * weight) AS squares, min(at) AS first, max(at) AS last "
        f"FROM runs WHERE {not_passed} GROUP BY kind) AS found ON found.kind = kinds.id",
        values,
    )
    grouped: dict[tuple[str, str, str], tuple[float, float, float, float, int]] = {}
    for *key, runs, squares, first, last, kind in rows:
        before = grouped.get(tuple(key), (0.0, 0.0, first, 0.0, 0))
        latest = (last, kind) if last > before[3] else before[3:]
        grouped[tuple(key)] = (before[0] + runs, before[1] + squares, min(before[2], first), *latest)
    most = sorted(grouped.items(), key=lambda item: -item[1][0])[:limit]
    last_trace = f"SELECT trace FROM runs WHERE kind = kinds.id AND {times} ORDER BY at DESC LIMIT 1"
    wanted_kinds = [found[-1] for _, found in most]
    traces = dict(
        database.read(
            f"SELECT id, ({last_trace}) FROM kinds WHERE id IN ({', '.join('?' * len(wanted_kinds))})",
            [*of_times, *wanted_kinds],
        )
    )
    return [Reason(*key, *found[:-1], traces.get(found[-1], "")) for key, found in most]


def estimate_of(database: RunsDatabase, wanted: Filter) -> Estimate:
    """Returns how many runs are not a pass, for any reason. Raises StoreUnreadableError."""
    not_passed, values = _not_passed(wanted)
    (found,) = database.read(f"SELECT total(weight), total(weight * weight) FROM runs WHERE {not_passed}", values)
    return Estimate(*found)


def _not_passed(wanted: Filter) -> tuple[str, list[Any]]:
    """Returns the condition on rows of ``runs`` that a rule in force scored and that are no pass, in SQL, and its values."""
    (kinds, of_kinds), (times, of_times) = wanted.of_properties(), wanted.of_time()
    usual = ", ".join(f"'{label}'" for label in USUAL)
    scored = f"label NOT IN ({usual}) AND shadow = 0 AND {kinds}"
    chosen = f"SELECT id FROM kinds WHERE {scored} ORDER BY id DESC LIMIT {MAX_KINDS}"
    return f"kind IN ({chosen}) AND {times}", [*of_kinds, *of_times]


def values_of(database: RunsDatabase, columns: Sequence[str], since: float) -> dict[str, list[str]]:
    """Returns what each of these columns of the counts may be filtered by, the most frequent first."""
    named = ", ".join(columns)
    rows = database.read(
        f"SELECT {named}, (SELECT sum(count) FROM counts WHERE series = series.id AND at >= ?) AS counted FROM series "
        "WHERE counted",
        (since,),
    )
    found: dict[str, Counter[str]] = {column: Counter() for column in columns}
    for *values, count in rows:
        for column, value in zip(columns, values, strict=True):
            if value:
                found[column][value] += count
    return {column: [value for value, _ in counts.most_common(_MAX_VALUES)] for column, counts in found.items()}


def dimensions_since(database: RunsDatabase, since: float) -> dict[str, list[str]]:
    """Returns what each dimension was, that which came up last first. Raises StoreUnreadableError."""
    counted = "SELECT EXISTS (SELECT 1 FROM counts WHERE series = series.id AND at >= ?)"
    rows = database.read(f"SELECT dimensions, min(id), max(({counted})) FROM series GROUP BY dimensions", (since,))
    # Series are numbered as they come up. By the last run, two versions that run side by side would change places.
    first: dict[tuple[str, str], int] = {}
    current: dict[tuple[str, str], None] = {}
    for tags, number, is_current in rows:
        for line in tags.split("\n"):
            name, _, value = line.partition("=")
            if name:
                first[name, value] = min(number, first.get((name, value), number))
                if is_current:
                    current[name, value] = None
    found: dict[str, list[str]] = {}
    for name, value in sorted(current, key=first.__getitem__, reverse=True):
        found.setdefault(name, []).append(value)
    return {name: values[:_MAX_VALUES] for name, values in found.items()}
