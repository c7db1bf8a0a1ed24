"""How numbers, times and received texts look on a page: rounded without lying, and every character visible."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.console import rendering

HOSTILE = "<script>alert(1)</script>\u202e\x00\n\ud800"


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1 µs"),
        (1_500, "1.5 µs"),
        (999_499, "999 µs"),
        (999_500, "1,000 µs"),
        (1_234_567, "1.23 ms"),
        (999_999_999, "1,000 ms"),
        (59_990_000_000, "60 s"),
        (999_700_000_000, "1,000 s"),
        (3_600_000_000_000, "3,600 s"),
    ],
)
def test_durations(nanoseconds: int, shown: str) -> None:
    assert rendering.duration(nanoseconds) == shown


@given(st.integers(0, 2**63))
def test_a_duration_is_never_written_with_an_exponent(nanoseconds: int) -> None:
    number, unit = rendering.duration(nanoseconds).split(" ")
    assert "e" not in number
    size = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
    assert float(number.replace(",", "")) * size == pytest.approx(nanoseconds, rel=0.006)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "\N{EN DASH}"),
        (0, "0.0 %"),
        (0.123, "12.3 %"),
        (0.9994, "99.9 %"),
        (0.99999, "99.999 %"),
        (1, "100.0 %"),
        (1e-5, "0.001 %"),
    ],
)
def test_a_share_is_100_or_0_percent_only_where_it_is(value: float | None, shown: str) -> None:
    assert rendering.percent(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.05, "+5.0 pp"),
        (-0.05, "\N{MINUS SIGN}5.0 pp"),
        (0, "+0.0 pp"),
        (1, "+100.0 pp"),
        (-1 / 3000, "\N{MINUS SIGN}0.03 pp"),
    ],
)
def test_points_have_a_sign(value: float, shown: str) -> None:
    assert rendering.points(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "0 s ago"),
        (0.9, "0 s ago"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3_599, "59 min ago"),
        (3_600, "1 h ago"),
        (86_399, "23 h ago"),
        (86_400, "1 d ago"),
        (864_000, "10 d ago"),
    ],
)
def test_ages_are_in_whole_units_that_have_passed(seconds: float, shown: str) -> None:
    assert rendering.ago(1_000_000 - seconds, 1_000_000) == shown


def test_times_are_in_utc() -> None:
    assert rendering.timestamp(1_767_323_045.9) == "2026-01-02T03:04:05Z"


def test_counts_have_separators() -> None:
    assert rendering.count(1_234_567.0) == "1,234,567"


def test_received_lines_are_escaped_and_visible() -> None:
    shown = rendering.lines(f"a\t\n{HOSTILE}")
    assert shown == "a\\t\n&lt;script&gt;alert(1)&lt;/script&gt;\\u202e\\x00\n\\ud800"


def test_a_page_shows_received_text_as_text() -> None:
    template = rendering._environment.from_string("{{ text }}|{{ nothing }}|{{ text | shorten }}")
    shown = template.render(text=HOSTILE, nothing=None)
    assert shown == "|".join(["&lt;script&gt;alert(1)&lt;/script&gt;\\u202e\\x00\\n\\ud800", "", shown.split("|")[2]])
    assert "<" not in shown
    assert shown.encode().isascii()


@pytest.mark.parametrize("arguments", [None, {}])
def test_a_call_without_arguments_shows_none(arguments: dict[str, str] | None) -> None:
    assert rendering.arguments({"arguments": arguments}) == []
    assert rendering.arguments({}) == []


def test_arguments_are_bounded_in_number_and_length() -> None:
    shown = rendering.arguments({"arguments": {f"{number}" * 900: "x" * 9_000 for number in range(20)}})
    assert len(shown) == 13
    assert shown[-1] == ("…", "8 more")
    assert max(len(key) for key, _ in shown) == 60
    assert max(len(value) for _, value in shown) == 240


def test_arguments_that_fit_exactly_are_all_shown() -> None:
    given_ = {str(number): number for number in range(12)}
    assert rendering.arguments({"arguments": given_}) == [(key, json.dumps(value)) for key, value in given_.items()]


def test_arguments_are_printable() -> None:
    ((key, value),) = rendering.arguments({"arguments": {HOSTILE: {HOSTILE: float("nan")}}})
    assert key.isprintable()
    assert value.isprintable()


@pytest.mark.parametrize("name", rendering.STATIC)
def test_every_static_file_is_there(name: str) -> None:
    reply = rendering.asset(name)
    assert (reply.status, reply.content_type) == (200, rendering.STATIC[name])
    assert reply.body
