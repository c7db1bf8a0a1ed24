"""Runs that had their verdict are known beyond the traces that are remembered, within a limit."""

from __future__ import annotations

from collector.assembly.scored_runs import ScoredRuns
from collector.assembly.trace import Given, Trace

LIMIT = 100


def scored(number: int) -> Trace:
    trace = Trace(number.to_bytes(16), 0, 0, bytearray())
    trace.verdicts = {b"anchor": Given(0)}
    return trace


def known(runs: ScoredRuns, count: int) -> list[int]:
    return [number for number in range(count) if runs.has(number.to_bytes(16), b"anchor")]


def test_a_run_is_known_by_its_trace_and_its_anchor() -> None:
    runs = ScoredRuns(LIMIT)
    runs.add(scored(0))
    assert runs.has(bytes(16), b"anchor")
    assert not runs.has(bytes(16), b"other")
    assert not runs.has((1).to_bytes(16), b"anchor")


def test_at_least_the_last_ones_are_known_and_at_most_twice_as_many() -> None:
    runs = ScoredRuns(LIMIT)
    for number in range(10 * LIMIT):
        runs.add(scored(number))
        found = known(runs, number + 1)
        assert found == list(range(found[0], number + 1)), "the oldest are forgotten first"
        assert min(LIMIT, number + 1) <= len(found) <= 2 * LIMIT + 1


def test_it_tells_since_when_all_are_known() -> None:
    runs, now_ns = ScoredRuns(LIMIT), 0
    runs.set_clock(lambda: now_ns)
    for now_ns in range(10 * LIMIT):
        runs.add(scored(now_ns))
        since = runs.known_since_ns
        assert known(runs, now_ns + 1)[0] == (since + 1 if since else 0)
