"""Which traces have spans that were refused: for how long, and how many at most."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.assembly.gaps import Gaps
from collector.assembly.refused_traces import RefusedTraces
from tests.sinks import ManualClock

A, B, C, D = (bytes([number]) * 16 for number in range(4))


def known_by(clock: ManualClock, max_traces: int = 50) -> RefusedTraces:
    return RefusedTraces(clock, Gaps(clock, 3600.0), max_traces)


def test_a_trace_is_known_until_all_its_requests_are_accepted() -> None:
    refused = known_by(ManualClock())
    refused.add(b"1", {A, B})
    refused.add(b"2", {B})
    refused.add(b"1", {A, B})
    refused.accepted(b"1")
    assert (A in refused, B in refused) == (False, True)
    refused.accepted(b"3")
    refused.accepted(b"2")
    assert not refused
    assert B not in refused


def test_a_request_that_was_refused_again_before_a_restart_was_over_counts_once() -> None:
    known = known_by(ManualClock())
    known.add(b"1", {A})
    key, (_, _, traces) = known._awaited.oldest()
    known.restore(key, traces, 7)
    known.accepted(b"1")
    assert A not in known


def test_what_no_sender_sends_again_is_known_for_as_long_as_a_run_may_go_on() -> None:
    clock = ManualClock()
    refused = known_by(clock)
    refused.add(b"1", {A})
    clock.seconds += 300
    refused.add(b"2", {B})
    clock.seconds += 301
    refused.forget_old()
    assert (len(refused), A in refused, B in refused) == (1, True, True)
    clock.seconds += 86_400 - 301
    refused.forget_old()
    assert (len(refused), A in refused, B in refused) == (0, False, True)
    clock.seconds += 2
    refused.forget_old()
    assert not refused


def test_a_request_that_is_sent_again_after_all_completes_its_traces() -> None:
    clock = ManualClock()
    refused = known_by(clock)
    refused.add(b"1", {A})
    clock.seconds += 601
    refused.forget_old()
    refused.add(b"1", {A})
    assert len(refused) == 1
    refused.accepted(b"1")
    assert not refused


def test_those_refused_longest_ago_are_forgotten_beyond_the_limit() -> None:
    refused = known_by(ManualClock(), 3)
    refused.add(b"1", {A})
    refused.add(b"2", {B, C})
    refused.add(b"1", {A})
    refused.add(b"3", {D})
    assert [trace_id in refused for trace_id in (A, B, C, D)] == [True, False, False, True]


@pytest.mark.parametrize(("traces", "is_gap"), [({A}, False), ({A, B, C}, True), ({A, B, C, D}, True), ((), False)])
def test_what_is_not_known_beyond_the_limit_is_a_gap_that_ends_when_it_was_refused(
    traces: set[bytes], is_gap: bool
) -> None:
    clock = ManualClock()
    gaps = Gaps(clock, 3600.0)
    refused = RefusedTraces(clock, gaps, 3)
    refused.add(b"1", {A, B})
    begun_ns = clock.wall_ns()
    clock.seconds += 60
    refused.add(b"2", traces)
    at_ns = begun_ns if len(traces) == 3 else clock.wall_ns()
    assert gaps.may_hold(at_ns - 1, at_ns, clock.seconds) is is_gap
    assert not gaps.may_hold(at_ns, at_ns + 1, clock.seconds)
    assert not gaps.may_hold(at_ns - 60 * 10**9, at_ns - 16 * 10**9, clock.seconds)


@given(st.lists(st.tuples(st.integers(0, 9), st.sets(st.sampled_from([A, B, C, D, b"", b"x" * 99]))), max_size=60))
def test_what_is_kept_is_bounded_by_traces_counted_once_a_request(refusals: list[tuple[int, set[bytes]]]) -> None:
    refused, model = known_by(ManualClock(), 3), dict[int, set[bytes]]()
    for number, traces in refusals:
        known = {trace_id for trace_id in traces if len(trace_id) == 16}
        refused.add(bytes([number]), traces)
        model.pop(number, None)
        if 0 < len(known) <= 3:
            model[number] = known
        while sum(map(len, model.values())) > 3:
            del model[next(iter(model))]
        counts = Counter(trace_id for ids in model.values() for trace_id in ids)
        assert {trace_id for trace_id in (A, B, C, D, b"", b"x" * 99) if trace_id in refused} == set(counts)
        assert bool(refused) is bool(model)
