"""A request to the console, and the runs that its query asks for."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlencode

from collector.errors import RightcallError
from collector.runs.queries import FILTERS, MAX_PAGE, PAGE, Filter
from collector.runs.tally import DIMENSIONS
from scorers.quoting import shorten
from scorers.wording import nearest

RANGES: Final = {"1h": 3600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000}
"""Periods that end now, in seconds."""
MAX_QUERY: Final = 4_000
"""Bytes of a query string."""
_MAX_FIELDS: Final = 60
_MAX_VALUE: Final = 500
_OTHER: Final = ("q", "range", "since", "until", "after", "limit")


class BadQueryError(RightcallError):
    """The query cannot be understood; the message says what it may be."""


class Reply(NamedTuple):
    """An answer to a request."""

    status: int
    body: bytes
    content_type: str = "text/html; charset=utf-8"
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """What pages are made from: the path, the query, and the time."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    now: float = field(default_factory=time.time)

    def link(self, path: str | None = None, /, **changes: str | int | None) -> str:
        """Returns a link that keeps the query but for these changes; None removes."""
        query = {**self.query, **changes}
        kept = urlencode({name: value for name, value in query.items() if value not in (None, "")})
        return f"{path or self.path}{'?' + kept if kept else ''}"


def parse_query(raw: bytes) -> dict[str, str]:
    """Returns the fields of a query; of repeated ones the last. Raises BadQueryError."""
    if len(raw) > MAX_QUERY:
        raise BadQueryError(f"the query has more than {MAX_QUERY} bytes")
    try:
        fields = parse_qsl(raw.decode("latin-1"), keep_blank_values=False, max_num_fields=_MAX_FIELDS, errors="replace")
    except ValueError:
        raise BadQueryError(f"the query has more than {_MAX_FIELDS} fields") from None
    return {name: value[:_MAX_VALUE] for name, value in fields}


def parse_form(raw: bytes) -> dict[str, str]:
    """Returns the fields of a form. Raises BadQueryError."""
    try:
        fields = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="replace")
    except ValueError:
        raise BadQueryError(f"the form has more than {_MAX_FIELDS} fields") from None
    return dict(fields)


def filter_of(query: Mapping[str, str], now: float, dimensions: Sequence[str] = DIMENSIONS) -> Filter:
    """Returns which runs a query asks for. Raises BadQueryError."""
    properties, found = {}, {}
    for name, value in query.items():
        if name in FILTERS:
            properties[name] = value
        elif name in dimensions:
            found[name] = value
        elif name not in _OTHER:
            known = [*FILTERS, *dimensions, *_OTHER]
            # Refused, not ignored: a filter with a typing mistake would show all runs as if they fitted.
            raise BadQueryError(f"unknown field {shorten(name)}{nearest(name, known)}; there are {', '.join(known)}")
    since = _moment(query, "since", now)
    if "range" in query:
        since = now - period(query)
    return Filter(properties, found, query.get("q", ""), since, _moment(query, "until", now))


def period(query: Mapping[str, str]) -> int:
    """Returns the length of the period that a query names, in seconds. Raises BadQueryError."""
    name = query["range"]
    if name not in RANGES:
        raise BadQueryError(f"range must be one of {', '.join(RANGES)}")
    return RANGES[name]


def _moment(query: Mapping[str, str], name: str, now: float) -> float | None:
    """``since`` and ``until``: seconds of Unix time, or a date and time as in RFC 3339."""
    text = query.get(name)
    if text is None:
        return None
    for read in (float, _timestamp):
        try:
            moment = read(text)
        except (ValueError, OverflowError):
            continue
        # Neither NaN nor infinite, nor so far away that no date can be made of it.
        if abs(moment - now) < 1e11:
            return moment
    raise BadQueryError(f"{name} must be seconds of Unix time, or a date such as 2026-11-22T08:00:00Z")


def _timestamp(text: str) -> float:
    moment = datetime.fromisoformat(text)
    # Without an offset it is a time as pages show it, wherever the collector runs.
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def page_size(query: Mapping[str, str]) -> int:
    """Returns how many runs a query asks for. Raises BadQueryError."""
    size = number(query, "limit")
    if size is not None and not 1 <= size <= MAX_PAGE:
        raise BadQueryError(f"limit must be from 1 to {MAX_PAGE}")
    return size or PAGE


def number(query: Mapping[str, str], name: str) -> int | None:
    """Returns the number in a field. Raises BadQueryError."""
    text = query.get(name)
    if text is None:
        return None
    # SQLite takes integers of 64 bits.
    if not text.isdecimal() or len(text) > 18:
        raise BadQueryError(f"{name} must be a number")
    return int(text)
