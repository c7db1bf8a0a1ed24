"""The command line of the benchmarks, and how they keep their pace."""

from __future__ import annotations

import pytest

from tests.bench.__main__ import PARTS, wanted
from tests.bench.pacing import wait_until_arrived, wait_until_steady


def test_without_names_all_parts_are_measured() -> None:
    assert wanted([]) == list(PARTS)
    assert wanted(["spool", "latency"]) == ["spool", "latency"]


def test_a_part_that_does_not_exist_ends_with_the_list_of_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        wanted(["spol"])
    assert ended.value.code == 2
    assert "no part 'spol'; the parts are throughput, store, spool" in capsys.readouterr().err


def test_what_grows_is_waited_for_until_it_does_not() -> None:
    totals = iter([0.0, 5.0, 5.0, 5.0, 9.0])
    wait_until_steady(lambda: next(totals))
    assert list(totals) == [9.0]


def test_what_is_lost_is_not_waited_for() -> None:
    counts = iter([1, 2, 3, 99])
    wait_until_arrived(lambda: next(counts), 3, patience=60.0)
    assert list(counts) == [99]
    wait_until_arrived(lambda: 2, 3, patience=0.0)
