"""What a query asks for: every field is known or named, every limit holds, and links give back what they were made of."""

from __future__ import annotations

import contextlib
import time
from datetime import UTC, datetime
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.console.request import (
    MAX_QUERY,
    BadQueryError,
    Request,
    filter_of,
    number,
    page_size,
    parse_form,
    parse_query,
    period,
)
from collector.runs.queries import MAX_PAGE, PAGE

NOW = datetime(2026, 11, 22, 8, tzinfo=UTC).timestamp()


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=12), max_size=6))
def test_a_link_gives_back_the_query_it_was_made_of(query: dict[str, str]) -> None:
    link = Request("/runs", query).link()
    path, _, raw = link.partition("?")
    assert path == "/runs"
    assert parse_query(raw.encode()) == {name: value for name, value in query.items() if value}


def test_a_link_changes_and_removes_fields() -> None:
    request = Request("/runs", {"label": "fail", "after": "9", "service.name": "a&b"})
    assert request.link(after=None, limit=5) == "/runs?label=fail&service.name=a%26b&limit=5"
    assert request.link("/console", label=None, after=None, **{"service.name": "é"}) == "/console?service.name=%C3%A9"
    assert request.link(label=None, after=None, **{"service.name": None}) == "/runs"


@pytest.mark.parametrize("dimension", ["path", "self", "tenant__id"])
def test_a_link_removes_any_dimension(dimension: str) -> None:
    assert Request("/runs", {dimension: "x", "label": "fail"}).link(**{dimension: None}) == "/runs?label=fail"


@pytest.mark.parametrize(
    ("raw", "query"),
    [
        (b"", {}),
        (b"a=1&a=2", {"a": "2"}),
        (b"a=&b=x&c", {"b": "x"}),
        (b"q=%C3%A9+%26", {"q": "é &"}),
        (b"q=%FF", {"q": "\ufffd"}),
        (b"a=1;b=2", {"a": "1;b=2"}),
        (b"=x", {"": "x"}),
    ],
)
def test_queries(raw: bytes, query: dict[str, str]) -> None:
    assert parse_query(raw) == query


def test_a_query_is_bounded() -> None:
    assert parse_query(b"q=" + b"x" * (MAX_QUERY - 2)) == {"q": "x" * 500}
    with pytest.raises(BadQueryError, match="more than 4000 bytes"):
        parse_query(b"q=" + b"x" * (MAX_QUERY - 1))
    assert len(parse_query(b"&".join(b"%d=1" % field for field in range(60)))) == 60
    with pytest.raises(BadQueryError, match="more than 60 fields"):
        parse_query(b"&".join(b"%d=1" % field for field in range(61)))


def test_a_form_keeps_what_is_empty_and_long_and_bounds_its_fields() -> None:
    assert parse_form(b"rules=&text=" + b"x" * 60_000) == {"rules": "", "text": "x" * 60_000}
    with pytest.raises(BadQueryError, match="the form has more than 60 fields"):
        parse_form(b"a=1&" * 60 + b"a=1")


@given(st.binary(max_size=80))
def test_any_bytes_are_a_query_or_refused(raw: bytes) -> None:
    for text in (raw, b"since=" + quote_from_bytes(raw).encode(), b"limit=" + quote_from_bytes(raw).encode()):
        with contextlib.suppress(BadQueryError):
            query = parse_query(text)
            filter_of(query, NOW)
            page_size(query)


def test_a_query_tells_properties_from_dimensions() -> None:
    found = filter_of({"label": "fail", "tool": "pay", "service.version": "2", "q": "refund", "limit": "5"}, NOW)
    assert found.properties == {"label": "fail", "tool": "pay"}
    assert found.dimensions == {"service.version": "2"}
    assert (found.text, found.since, found.until) == ("refund", None, None)


def test_a_field_that_nobody_knows_is_named_with_the_nearest() -> None:
    with pytest.raises(BadQueryError, match=r"unknown field lable; did you mean label\?; there are rule, "):
        filter_of({"lable": "fail"}, NOW)
    with pytest.raises(BadQueryError, match=r"unknown field x{59}…"):
        filter_of({"x" * 400: "1"}, NOW)
    with pytest.raises(BadQueryError, match=r"unknown field \\x1b\\u202e"):
        filter_of({"\x1b\u202e": "1"}, NOW)
    with pytest.raises(BadQueryError, match="unknown field team"):
        filter_of({"team": "blue"}, NOW)
    assert filter_of({"team": "blue"}, NOW, ("team",)).dimensions == {"team": "blue"}


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        (str(NOW), NOW),
        ("1.5", 1.5),
        ("2026-11-22T08:00:00Z", NOW),
        ("2026-11-22T09:00:00+01:00", NOW),
        ("2026-11-22 08:00:00.250+00:00", NOW + 0.25),
    ],
)
@pytest.mark.parametrize("name", ["since", "until"])
def test_moments_are_seconds_or_dates(name: str, text: str, moment: float) -> None:
    assert getattr(filter_of({name: text}, NOW), name) == moment


def test_a_time_without_an_offset_is_in_utc_wherever_the_collector_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert filter_of({"since": "2026-11-22T08:00"}, NOW).since == NOW
        assert filter_of({"until": "2026-11-22"}, NOW).until == NOW - 8 * 3600
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "text", ["yesterday", "nan", "inf", "-inf", "1e400", "1e12", "2026-13-01T00:00:00Z", "9" * 400]
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(BadQueryError, match="until must be seconds of Unix time, or a date such as 2026"):
        filter_of({"until": text}, NOW)


def test_a_range_ends_now_and_is_one_of_four() -> None:
    assert filter_of({"range": "24h", "since": "1"}, NOW).since == NOW - 86_400
    assert [period({"range": name}) for name in ("1h", "7d", "30d")] == [3_600, 604_800, 2_592_000]
    with pytest.raises(BadQueryError, match="range must be one of 1h, 24h, 7d, 30d"):
        filter_of({"range": "2h"}, NOW)


@pytest.mark.parametrize(("query", "size"), [({}, PAGE), ({"limit": "1"}, 1), ({"limit": str(MAX_PAGE)}, MAX_PAGE)])
def test_the_size_of_a_page(query: dict[str, str], size: int) -> None:
    assert page_size(query) == size


@pytest.mark.parametrize("limit", ["0", str(MAX_PAGE + 1), "-1", "1.5", "²", "9" * 19, " 1"])
def test_a_page_of_another_size_is_refused(limit: str) -> None:
    with pytest.raises(BadQueryError, match="limit must be"):
        page_size({"limit": limit})


def test_numbers_are_read_as_far_as_the_store_counts() -> None:
    assert number({"after": "9" * 18}, "after") == 10**18 - 1
    assert number({}, "after") is None
