"""The geometry of charts: nothing leaves its frame, nothing overlaps in a lane, and gaps stay gaps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.console.charts import MAX_BARS, lanes, series
from collector.runs.queries import Counted

WIDTH, HEIGHT = 600.0, 120.0
TOP, BOTTOM = 2.0, HEIGHT - 2  # half a line of 4 stays inside at both ends


def counted(passed: int = 0, failed: int = 0, **others: int) -> Counted:
    return Counted(passed=passed, failed=failed, **others)


def call(start: int, end: int, step: int = 0) -> dict[str, Any]:
    return {"start_ns": start, "end_ns": end, "step": step}


def test_a_period_has_a_slot_for_every_step_that_it_touches() -> None:
    chart = series({}, since=125, until=600, step=60)
    assert [slot.at for slot in chart.slots] == [120, 180, 240, 300, 360, 420, 480, 540, 600]
    assert sum(slot.width for slot in chart.slots) == pytest.approx(WIDTH, abs=0.1)


def test_volume_and_wrong_are_parts_of_the_largest_slot() -> None:
    chart = series({0: counted(3, 1), 60: counted(1, 1), 120: counted(no_rule=2)}, since=0, until=120, step=60)
    assert [(slot.volume, slot.wrong) for slot in chart.slots] == [(1, 0.25), (0.5, 0.25), (0.5, 0)]
    assert [slot.share and slot.share.value for slot in chart.slots] == [0.75, 0.5, None]


def test_runs_outside_the_period_change_nothing() -> None:
    inside = {60: counted(2, 1)}
    assert series({**inside, 600: counted(100, 100)}, 60, 180, 60) == series(inside, 60, 180, 60)


def test_a_period_without_runs_has_no_line() -> None:
    chart = series({}, since=0, until=600, step=60)
    assert (chart.line, chart.bands, chart.dots) == ("", [], [])
    assert {slot.volume for slot in chart.slots} == {0}


def test_a_line_has_gaps_where_nothing_was_scored() -> None:
    right, wrong = counted(5), counted(0, 5)
    chart = series({0: right, 60: wrong, 180: right, 300: wrong, 360: wrong}, since=0, until=360, step=60, width=700)
    assert chart.line == "M50.0 2.0 L150.0 118.0 M350.0 2.0 M550.0 118.0 L650.0 118.0"
    assert len(chart.bands) == 2, "none for a slot alone"
    assert chart.dots == [(350.0, 2.0)]


@pytest.mark.parametrize(("value", "y"), [(1.0, TOP), (0.0, BOTTOM), (0.5, HEIGHT / 2)])
def test_an_objective_is_where_its_accuracy_would_be(value: float, y: float) -> None:
    assert series({}, 0, 60, 60).y(value) == y


@given(
    st.dictionaries(st.integers(0, 20).map((60).__mul__), st.builds(counted, st.integers(0, 99), st.integers(0, 99))),
    st.integers(0, 600),
    st.integers(0, 600),
)
def test_nothing_is_drawn_outside_the_frame(by_time: dict[int, Counted], since: int, length: int) -> None:
    chart = series(by_time, since, since + length, 60)
    drawn = [pair.split(",") for band in chart.bands for pair in band.split()]
    drawn += [
        point.strip("ML").split() for point in chart.line.replace(" L", ";").replace(" M", ";").split(";") if point
    ]
    for x, y in drawn:
        assert 0 <= float(x) <= WIDTH + 0.1
        assert TOP <= float(y) <= BOTTOM
    assert all(0 <= slot.wrong <= slot.volume <= 1 for slot in chart.slots)


def test_calls_one_after_the_other_share_a_lane_and_others_do_not() -> None:
    found = lanes([call(100, 200), call(200, 300), call(250, 300), call(300, 300)])
    assert [bar.lane for bar in found.bars] == [0, 0, 1, 0]
    assert (found.count, found.length_ns, found.left_out) == (2, 200, 0)
    assert [(bar.start, bar.length) for bar in found.bars] == [(0, 50), (50, 50), (75, 25), (100, 0.4)]


def test_calls_without_a_time_are_left_out_and_counted() -> None:
    found = lanes([call(0, 0), call(5, 9), call(0, 7)])
    assert ([bar.call["start_ns"] for bar in found.bars], found.left_out) == ([5], 2)
    assert lanes([]).bars == []
    assert lanes([call(0, 0)]).length_ns == 0


def test_a_call_that_ends_before_it_began_has_no_length() -> None:
    (first, second) = lanes([call(100, 50), call(100, 300)]).bars
    assert (first.start, first.length) == (0, 0.4)
    assert (second.start, second.length) == (0, 100)


def test_only_the_first_calls_are_drawn() -> None:
    found = lanes([call(number, number + 1) for number in range(MAX_BARS + 9, 0, -1)])
    assert len(found.bars) == MAX_BARS
    assert found.bars[0].call["start_ns"] == 1, "by time, not as they came"
    assert found.left_out == 9


times = st.integers(1, 50)


@given(st.lists(st.builds(call, times, times, st.integers(0, 5)), max_size=15))
def test_calls_of_a_lane_never_overlap(calls: list[dict[str, Any]]) -> None:
    found = lanes(calls)
    assert len(found.bars) == len(calls)
    assert found.count == len({bar.lane for bar in found.bars})
    for lane in range(found.count):
        spans = [(bar.call["start_ns"], bar.call["end_ns"]) for bar in found.bars if bar.lane == lane]
        ends = [max(start, end) for start, end in spans]
        assert all(end <= start for end, (start, _) in zip(ends, spans[1:], strict=False))
    assert all(0 <= bar.start <= bar.start + bar.length <= 100.4 + 0.01 for bar in found.bars)
