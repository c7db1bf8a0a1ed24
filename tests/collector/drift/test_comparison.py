"""Two samples of runs: what differs between them, how surely, and in which words."""

from __future__ import annotations

from math import exp

from hypothesis import given
from hypothesis import strategies as st

from collector.drift.comparison import MAX_FACTS, Change, Comparison, Counts, Drift, Fact, compare


def counts(runs: int, *hits: int) -> Counts:
    counted = Counts(runs)
    for slot, count in enumerate(hits):
        counted.hits[slot] = count
    return counted


def compared(before: Counts, now: Counts, *names: str) -> Comparison:
    return compare([Fact(name, born=0, since=0) for name in names], before, now, first=0, start=1)


def test_a_tool_that_is_no_longer_called_is_a_change_beyond_doubt() -> None:
    found = compared(counts(500, 490, 20), counts(500, 10, 21), "calls lookup", "fails")
    assert found.changes == (Change("calls lookup", now=0.02, before=0.98),)
    assert (found.slot, exp(-found.evidence) < 1e-9) == (0, True)


@given(st.integers(1, 1000).flatmap(lambda runs: st.tuples(st.just(runs), st.integers(0, runs))))
def test_the_same_shares_are_no_evidence(sample: tuple[int, int]) -> None:
    runs, hits = sample
    found = compared(counts(runs, hits), counts(runs, hits), "calls lookup")
    assert (found.changes, found.slot) == ((), -1)
    assert found.evidence <= 0.0


def test_facts_of_the_same_runs_are_told_once_and_the_surest_first() -> None:
    before, now = counts(400, 200, 200, 300), counts(400, 260, 260, 100)
    found = compared(before, now, "calls b", "calls a", "fails")
    assert [change.fact for change in found.changes] == ["fails", "calls a"]


def test_a_fact_that_was_not_counted_all_the_time_is_not_compared() -> None:
    facts = [Fact("calls lookup", born=5, since=5), None]
    found = compare(facts, counts(100, 0, 0), counts(100, 90, 90), first=4, start=6)
    assert found == Comparison(0.0, (), -1)


def test_a_fact_born_in_the_sample_tells_but_does_not_decide() -> None:
    facts = [Fact("calls new", born=5, since=0)]
    found = compare(facts, counts(500, 0), counts(500, 400), first=0, start=5)
    assert ([change.fact for change in found.changes], found.evidence) == (["calls new"], 0.0)


def test_a_return_to_what_once_was_is_no_change() -> None:
    facts = [Fact("calls lookup", born=0, since=0)]
    found = compare(facts, counts(500, 0), counts(500, 400), 0, 1, is_return=lambda slot, now, change: change > 0)
    assert (found.changes, found.evidence <= 0.0) == ((), True)


def test_counts_of_hours_add_up() -> None:
    total = counts(3, 1, 2)
    total.add(counts(4, 0, 4))
    assert (total.runs, list(total.hits)) == (7, [1, 6, *[0] * (MAX_FACTS - 2)])


def test_words_for_a_change() -> None:
    drift = Drift(1_700_000_000, 2, (Change("fails", 0.25, 0.004),))
    assert str(drift) == "since 2023-11-14 22:13 UTC fails in 25% of runs (0.4% before)"
    of_versions = drift._replace(versions=("v2\n", "v1"))
    assert str(of_versions).startswith("version ")
    assert "\n" not in str(of_versions)
