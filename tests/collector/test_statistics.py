"""Intervals and tests for shares: against values from the literature, and against what they promise."""

from __future__ import annotations

import random
from math import exp, log

import pytest

from collector.statistics import chance_of_at_most, difference_interval, log_evidence, share_interval


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_an_interval_of_a_share_is_that_of_wilson(hits: int, total: int, low: float, high: float) -> None:
    assert list(share_interval(hits, total)) == pytest.approx([low, high], abs=1e-4)


@pytest.mark.parametrize(
    ("a", "of_a", "b", "of_b", "low", "high"),
    [(48, 80, 56, 70, -0.3339, -0.0524), (3, 10, 9, 10, -0.8090, -0.1705), (0, 10, 10, 10, -1.0, -0.6075)],
)
def test_an_interval_of_a_difference_is_that_of_newcombe(
    a: int, of_a: int, b: int, of_b: int, low: float, high: float
) -> None:
    assert list(difference_interval(b, of_b, a, of_a)) == pytest.approx([low, high], abs=1e-4)


def test_nothing_is_known_of_no_runs() -> None:
    assert share_interval(0, 0) == (0.0, 1.0)
    assert difference_interval(0, 0, 5, 5) == (-1.0, 1.0)


def test_an_interval_covers_the_truth_as_often_as_it_says() -> None:
    chance = random.Random(1)
    covered = 0
    for _ in range(2_000):
        hits = sum(chance.random() < 0.9 for _ in range(60))
        low, high = share_interval(hits, 60)
        covered += low <= 0.9 <= high
    assert 0.93 <= covered / 2_000 <= 0.975


def test_the_chance_that_independent_events_hardly_meet() -> None:
    assert chance_of_at_most(0, 17, 3, 20) == pytest.approx(1 / 1140)
    assert chance_of_at_most(3, 3, 10, 20) == pytest.approx(1.0)
    assert chance_of_at_most(10, 10, 15, 20) == pytest.approx(1.0)


def test_evidence_grows_with_a_difference_and_shrinks_without() -> None:
    assert log_evidence(0, 0, 0, 0) == pytest.approx(0.0)
    assert log_evidence(50, 1_000, 50, 1_000) < 0.0
    assert log_evidence(50, 1_000, 150, 1_000) == pytest.approx(log_evidence(150, 1_000, 50, 1_000))
    assert log_evidence(50, 1_000, 150, 1_000) > log_evidence(50, 1_000, 100, 1_000) > 0.0
    assert log_evidence(0, 3_000, 3, 10) > 10.0


def test_evidence_of_two_small_samples_is_the_ratio_of_their_likelihoods() -> None:
    # A hit alone has the probability 1/2 under Jeffreys' prior, two equal ones in a row 3/8; the best share gives 1 and 1/4.
    assert exp(log_evidence(1, 1, 0, 0)) == pytest.approx(1 / 2)
    assert exp(log_evidence(2, 2, 0, 0)) == pytest.approx(3 / 8)
    assert exp(log_evidence(1, 1, 0, 1)) == pytest.approx(1 / 4 / (1 / 4))


@pytest.mark.parametrize("share", [0.01, 0.3])
def test_evidence_that_is_looked_at_after_each_run_lies_no_more_often_than_it_says(share: float) -> None:
    chance, lies = random.Random(7), 0
    for _ in range(200):
        before = sum(chance.random() < share for _ in range(200))
        hits = 0
        for runs in range(1, 300):
            hits += chance.random() < share
            if log_evidence(before, 200, hits, runs) >= log(10):
                lies += 1
                break
    assert lies <= 20
