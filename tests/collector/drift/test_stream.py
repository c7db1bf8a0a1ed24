"""Changes are found, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from collector.drift.comparison import MAX_FACTS, Change, Drift
from collector.drift.stream import Stream

MONDAY = 490_008  # an hour since 1970 with which a day begins, and a window of a week does not
DAY = 24
USUAL = {"usual": 480, "twice": 20}


def stream_of(days: int, runs: Mapping[str, int] = USUAL, baseline: int = 1, start: int = MONDAY) -> Stream:
    """A stream that has had the same runs in each hour of so many days."""
    stream = Stream(baseline)
    for hour in range(start, start + days * DAY):
        feed(stream, hour, runs)
    return stream


def feed(stream: Stream, hour: int, runs: Mapping[str, int]) -> Drift | None:
    for fact, number in runs.items():
        stream.count(hour, {fact}, number)
    return stream.look(hour)


def test_the_same_as_ever_is_no_drift() -> None:
    assert stream_of(21).drift is None


def test_a_change_is_told_in_words_with_its_hour() -> None:
    stream, now = stream_of(14), MONDAY + 14 * DAY
    drift = feed(stream, now, {"usual": 345, "twice": 155})
    assert drift == Drift(now * 3600, 1, (Change("twice", 0.31, 0.04), Change("usual", 0.69, 0.96)))
    assert str(drift.changes[0]) == "twice in 31% of runs (4.0% before)"


def test_a_small_change_is_found_by_a_longer_window() -> None:
    stream, now = stream_of(14), MONDAY + 14 * DAY + 3
    for hour in range(MONDAY + 14 * DAY, now):
        assert feed(stream, hour, USUAL) is None
    found = [feed(stream, hour, {"usual": 460, "twice": 40}) for hour in range(now, now + 2 * DAY)]
    first = next(drift for drift in found if drift is not None)
    assert first.hours in (24, 168)
    assert abs(first.since - now * 3600) <= 6 * 3600


def test_an_hour_that_begins_without_runs_is_tested_all_the_same() -> None:
    stream, now = stream_of(14), MONDAY + 14 * DAY
    assert stream.look(now) is None
    drift = feed(stream, now, {"usual": 345, "twice": 155})
    assert drift is not None
    assert drift.hours == 1


def test_hours_without_runs_and_those_they_are_compared_with_do_not_count() -> None:
    """A mix that follows the hour of the day, and a collector that was down for half of a day, now or a week ago."""
    for down in (14, 7):
        stream = Stream(1)
        for hour in range(MONDAY, MONDAY + 15 * DAY):
            day, at = divmod(hour - MONDAY, DAY)
            if day == down and at < 12:
                continue
            many = 300 if at < 12 else 0
            drift = feed(stream, hour, {"usual": 500 - many, "twice": 1 + many})
        assert drift is None


def test_part_of_an_hour_does_not_shift_the_mix_of_a_longer_window() -> None:
    stream = Stream(1)
    for hour in range(MONDAY, MONDAY + 14 * DAY):
        many = 3_000 if hour % 6 == 0 else 0
        feed(stream, hour, {"usual": 5_000 - many, "twice": 1 + many})
    assert feed(stream, MONDAY + 14 * DAY, {"usual": 2_000, "twice": 3_001}) is None
    assert feed(stream, MONDAY + 14 * DAY + 1, {"usual": 50}) is None


def test_drift_ends_with_the_change() -> None:
    stream, now = stream_of(14), MONDAY + 14 * DAY
    assert feed(stream, now, {"usual": 250, "twice": 250}) is not None
    found = [feed(stream, hour, USUAL) for hour in range(now + 1, now + 9 * DAY)]
    assert found[0] is not None  # as long as the windows last that saw it
    assert found[-1] is None


def test_after_a_week_the_new_ways_are_the_old_ones() -> None:
    stream, now = stream_of(14), MONDAY + 14 * DAY
    found = [feed(stream, hour, {"usual": 350, "twice": 150}) for hour in range(now, now + 24 * DAY)]
    assert all(found[: 6 * DAY])
    assert found[-1] is None


def test_a_longer_baseline_finds_smaller_changes_and_takes_longer_to_forget() -> None:
    now, found = MONDAY + 35 * DAY, {}
    for weeks in (1, 4):
        stream = stream_of(35, baseline=weeks)
        found[weeks] = [feed(stream, hour, {"usual": 455, "twice": 45}) for hour in range(now, now + 14 * DAY)]
    first = {weeks: next(at for at, drift in enumerate(drifts) if drift) for weeks, drifts in found.items()}
    assert first[4] < first[1]
    assert found[1][-1] is None
    assert found[4][-1] is not None


def test_an_incident_is_not_told_again_when_it_is_what_is_compared_with() -> None:
    stream, now = stream_of(14), MONDAY + 14 * DAY
    for hour in range(now, now + 5):
        feed(stream, hour, {"usual": 250, "twice": 250})
    found = [feed(stream, hour, USUAL) for hour in range(now + 5, now + 14 * DAY)]
    assert not any(found[3 * DAY :])


def test_a_rhythm_of_the_day_or_the_week_is_no_drift() -> None:
    stream = Stream(1)
    for hour in range(MONDAY, MONDAY + 35 * DAY):
        day, at = divmod(hour, DAY)
        share = (10 if at < 8 else 0) + (20 if day % 7 < 2 else 0)
        drift = feed(stream, hour, {"usual": 1_000 - 10 * share, "twice": 10 * share + 1})
        assert drift is None


def test_less_than_a_point_is_no_drift_however_many_runs_there_are() -> None:
    stream, now = stream_of(14, {"usual": 96_000, "twice": 4_000}), MONDAY + 14 * DAY
    assert all(feed(stream, hour, {"usual": 95_200, "twice": 4_800}) is None for hour in range(now, now + DAY))
    assert feed(stream, now + DAY, {"usual": 94_000, "twice": 6_000}) is not None


def test_nothing_is_found_before_the_baseline_is_whole() -> None:
    stream = stream_of(7)
    del stream.hours[MONDAY]
    assert feed(stream, MONDAY + 7 * DAY, {"usual": 500, "twice": 500}) is None
    assert feed(stream, MONDAY + 7 * DAY + 1, {"usual": 500, "twice": 500}) is not None


def test_what_was_never_seen_is_tested_from_the_next_window_on() -> None:
    stream, now = stream_of(14, {"usual": 100}), MONDAY + 14 * DAY
    stream.count(now, {"usual", "new"}, 100)
    assert stream.look(now) is None
    stream.count(now + 1, {"usual", "new"}, 100)
    drift = stream.look(now + 1)
    assert drift is not None
    assert drift.changes == (Change("new", 1.0, 0.0),)


def test_what_is_new_is_told_as_soon_as_something_else_shows_the_change() -> None:
    stream, now = stream_of(14), MONDAY + 14 * DAY
    drift = feed(stream, now, {"usual": 250, "new": 250})
    assert drift is not None
    assert {change.fact for change in drift.changes} == {"usual", "new", "twice"}


def test_facts_beyond_the_limit_wait_until_rare_ones_have_made_room() -> None:
    stream = Stream(1)
    for hour in range(MONDAY, MONDAY + 9 * DAY):
        stream.count(hour, {"usual"}, 1000)
        for number in range(MAX_FACTS + 20):
            stream.count(hour, {f"random {hour} {number}"})
        assert stream.look(hour) is None
        assert sum(fact is not None for fact in stream.facts) <= MAX_FACTS
    # What was true of runs while there was no room is not taken for new.
    for hour in range(MONDAY + 9 * DAY, MONDAY + 10 * DAY):
        stream.count(hour, {"usual", "often"}, 1000)
        stream.count(hour, (), MAX_FACTS + 20)
        assert stream.look(hour) is None
    assert "usual" in {fact.name for fact in stream.facts if fact is not None}


def test_no_more_is_kept_than_three_weeks() -> None:
    stream = stream_of(30)
    assert len(stream.hours) == stream.kept == 21 * DAY


@pytest.mark.parametrize("back", [1, 5, 10_000])
def test_a_clock_that_is_set_back_harms_nothing(back: int) -> None:
    stream = stream_of(10)
    feed(stream, MONDAY + 10 * DAY - back, USUAL)
    assert feed(stream, MONDAY + 10 * DAY, USUAL) is None


@pytest.mark.parametrize("ahead", [2, DAY, 7 * DAY])
def test_after_a_clock_that_was_ahead_for_a_moment_a_change_is_found_in_its_hour(ahead: int) -> None:
    stream = stream_of(14)
    feed(stream, MONDAY + 14 * DAY + ahead, USUAL)
    for hour in range(MONDAY + 14 * DAY, MONDAY + 14 * DAY + 3):
        assert feed(stream, hour, USUAL) is None
    assert feed(stream, MONDAY + 14 * DAY + 3, {"usual": 300, "twice": 200}) is not None
    assert max(stream.hours) == MONDAY + 14 * DAY + 3


def test_a_clock_that_is_behind_for_a_moment_costs_no_hour() -> None:
    stream = stream_of(10)
    before = set(stream.hours)
    feed(stream, MONDAY - 10_000, USUAL)
    assert before <= set(stream.hours)


def test_chance_is_no_drift() -> None:
    """What months of it cost is in the table of deploy/README.md."""
    chance = random.Random(1)
    for _ in range(8):
        stream = Stream(1)
        for hour in range(MONDAY, MONDAY + 20 * DAY, 2):
            hits = sum(chance.random() < 0.05 for _ in range(40))
            assert feed(stream, hour, {"usual": 40 - hits, "twice": hits}) is None
