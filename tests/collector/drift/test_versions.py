"""A new version that does otherwise is told, and nothing else is taken for one."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from collector.drift.comparison import Change, Drift
from collector.drift.stream import VERSION, Stream
from collector.drift.versions import MAX_VERSIONS

DAY, WEEK = 24, 168
WEDNESDAY = 490_032  # an hour since 1970
SATURDAY, SUNDAY = WEDNESDAY + 3 * DAY, WEDNESDAY + 4 * DAY
USUAL, OTHER = {"usual": 480, "twice": 20}, {"usual": 345, "twice": 155}


def feed(stream: Stream, hour: int, version: str, runs: Mapping[str, int] = USUAL) -> Drift | None:
    for fact, number in runs.items():
        stream.count(hour, {fact}, number, version)
    stream.look(hour)
    return stream.release


def used(days: int, version: str = "1", start: int = WEDNESDAY) -> Stream:
    """A stream in which a version was in use for so many days."""
    stream = Stream(1)
    for hour in range(start, start + days * DAY):
        feed(stream, hour, version)
    return stream


def test_a_version_that_does_otherwise_is_told_within_its_first_hour_with_both_names() -> None:
    stream, now = used(1), WEDNESDAY + DAY
    assert stream.drift is None  # of the week before nothing is known
    drift = feed(stream, now, "2", OTHER)
    assert drift == Drift(now * 3600, 1, (Change("twice", 0.31, 0.04), Change("usual", 0.69, 0.96)), ("2", "1"))
    assert str(drift).startswith("version 2 differs from 1: since ")
    assert stream.evidence[VERSION] > 20


def test_a_version_that_does_the_same_is_not() -> None:
    stream = used(1)
    assert [feed(stream, hour, "2") for hour in range(WEDNESDAY + DAY, WEDNESDAY + 2 * DAY)] == [None] * DAY
    assert stream.evidence[VERSION] < 0


def test_a_small_change_is_found_hours_later() -> None:
    stream, now = used(2), WEDNESDAY + 2 * DAY
    found = [feed(stream, hour, "2", {"usual": 460, "twice": 40}) for hour in range(now, now + DAY)]
    assert found[0] is None
    assert found[-1] is not None


def test_what_changes_for_both_versions_is_not_the_release() -> None:
    stream, now = used(8), WEDNESDAY + 8 * DAY
    for hour in range(now, now + 10):
        feed(stream, hour, "1", OTHER)
        assert feed(stream, hour, "2", OTHER) is None
    assert stream.drift is not None  # it is that of the week


def test_some_runs_left_of_the_version_before_are_no_measure() -> None:
    stream, now = used(1), WEDNESDAY + DAY
    feed(stream, now, "1", {"usual": 3})
    assert feed(stream, now, "2", OTHER) is not None


def test_a_canary_is_compared_with_the_version_that_has_most_runs() -> None:
    stream, now = used(1), WEDNESDAY + DAY
    for hour in range(now, now + 3):
        feed(stream, hour, "1")
        feed(stream, hour, "2", {"usual": 9, "twice": 1})
    feed(stream, now + 3, "1")
    feed(stream, now + 3, "2", {"usual": 9})
    drift = feed(stream, now + 3, "3", OTHER)
    assert drift is not None
    assert drift.versions == ("3", "1")


def test_a_weekend_is_no_release() -> None:
    """Compared with Friday, Saturday would be one; Monday is compared with Friday, and Sunday with Saturday."""
    stream = used(3)
    assert feed(stream, SATURDAY, "2", OTHER) is None
    stream = used(3)
    for hour in range(SATURDAY, SATURDAY + 2 * DAY):
        feed(stream, hour, "1", OTHER)
    assert feed(stream, SUNDAY + DAY, "2") is None
    assert feed(stream, SUNDAY + DAY, "2", {"usual": 0, "twice": 300}) is not None
    stream = used(3)
    for hour in range(SATURDAY, SUNDAY):
        feed(stream, hour, "1", OTHER)
    assert feed(stream, SUNDAY, "2", OTHER) is None
    assert VERSION in stream.evidence


def test_an_hour_that_is_like_none_before_does_not_count() -> None:
    stream = Stream(1)
    for hour in range(WEDNESDAY, WEDNESDAY + 3):
        feed(stream, hour, "1")
    assert feed(stream, WEDNESDAY + 5, "2", OTHER) is None
    assert VERSION not in stream.evidence
    assert feed(stream, WEDNESDAY + DAY, "2", OTHER) is None  # an hour counts when it has passed
    assert feed(stream, WEDNESDAY + DAY + 1, "2", OTHER) is not None


@pytest.mark.parametrize("next_version", ["3", "1"])
def test_it_is_told_for_as_long_as_the_version_is_in_use_and_the_newest(next_version: str) -> None:
    stream, now = used(2), WEDNESDAY + 2 * DAY
    assert feed(stream, now, "2", OTHER) is not None
    found = [
        feed(stream, hour, next_version, OTHER if next_version == "3" else USUAL) for hour in range(now + 1, now + 5)
    ]
    assert found[-1] is None


def test_after_a_week_the_new_ways_are_the_old_ones() -> None:
    stream, now = used(2), WEDNESDAY + 2 * DAY
    found = [feed(stream, hour, "2", OTHER) for hour in range(now, now + WEEK + 1)]
    assert found[-2] is not None
    assert found[-1] is None


def test_versions_by_random_names_displace_none_that_is_in_use_and_end_after_some_days() -> None:
    stream = used(1)
    for hour in range(WEDNESDAY + DAY, WEDNESDAY + 2 * DAY):
        feed(stream, hour, "1")
        for number in range(20):
            feed(stream, hour, f"random {hour} {number}", {"usual": 1})
        assert len(stream.versions.known) <= MAX_VERSIONS
    assert "1" in stream.versions.known
    for hour in range(WEDNESDAY + 3 * DAY, WEDNESDAY + 13 * DAY):
        feed(stream, hour, "2")
    assert list(stream.versions.known) == ["2"]
    assert len(stream.versions.known["2"].hours) == WEEK + DAY


def test_runs_of_an_unknown_version_are_of_none() -> None:
    stream = used(1)
    assert feed(stream, WEDNESDAY + DAY, "", OTHER) is None
    assert list(stream.versions.known) == ["1"]


def test_chance_is_no_release() -> None:
    """What a year of them costs is in the table of deploy/README.md."""
    chance = random.Random(1)
    stream = Stream(1)
    for hour in range(WEDNESDAY, WEDNESDAY + 40 * DAY, 2):
        hits = sum(chance.random() < 0.05 for _ in range(40))
        assert feed(stream, hour, f"v{hour // DAY}", {"usual": 40 - hits, "twice": hits}) is None


def test_a_version_that_was_born_by_a_clock_that_was_ahead_is_looked_at_in_the_hour_of_its_birth() -> None:
    stream, now = used(2), WEDNESDAY + 2 * DAY
    feed(stream, now + 2, "2")
    for hour in (now, now + 1):
        feed(stream, hour, "2")
    stream.look(now + 2)  # before its first run in this hour
    assert feed(stream, now + 2, "2") is None
