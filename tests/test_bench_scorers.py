"""The benchmark measures every scorer, on runs that differ from what is expected in the ways it says."""

from __future__ import annotations

from scorers import SCORERS
from tests.bench_scorers import LENGTHS, actual_calls, expected_calls, figures, options, table


def test_every_scorer_is_measured_at_every_length() -> None:
    found = figures(seconds=0.001)
    assert set(SCORERS) <= set(found)
    assert all(set(speeds) == set(LENGTHS) for speeds in found.values())
    assert all(speed > 0 for speeds in found.values() for speed in speeds.values())
    assert len(table(found).splitlines()) == len(found) + 1


def test_the_runs_are_near_misses() -> None:
    expected = expected_calls(20)
    score = SCORERS["evalite"](mode="flexible")(expected=expected, actual=actual_calls(expected, 3))
    assert score.value is not None
    assert 0 < score.value < 1


def test_runs_differ_from_each_other() -> None:
    expected = expected_calls(5)
    assert actual_calls(expected, 1) != actual_calls(expected, 2)


def test_options_are_the_systems_own() -> None:
    expected = expected_calls(5)
    for name, create in SCORERS.items():
        assert callable(create(**options(name, expected)))
