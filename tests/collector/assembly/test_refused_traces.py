"""Which traces have spans that were refused: for how long, and how many at most."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from collector.assembly.refused_traces import RefusedTraces
from tests.sinks import ManualClock

A, B, C, D = (bytes([number]) * 16 for number in range(4))


def test_a_trace_is_known_until_all_its_requests_are_accepted() -> None:
    refused = RefusedTraces(ManualClock().now)
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
    known = RefusedTraces(ManualClock().now)
    known.add(b"1", {A})
    ((key, (_, traces)),) = known._requests.items()
    known.restore(key, traces, 7)
    known.accepted(b"1")
    assert A not in known


def test_a_sender_that_does_not_try_again_for_ten_minutes_never_will() -> None:
    clock = ManualClock()
    refused = RefusedTraces(clock.now)
    refused.add(b"1", {A})
    clock.seconds += 300
    refused.add(b"2", {B})
    clock.seconds += 301
    refused.forget_old()
    assert (A in refused, B in refused) == (False, True)


def test_those_refused_longest_ago_are_forgotten_beyond_the_limit() -> None:
    refused = RefusedTraces(ManualClock().now, 3)
    refused.add(b"1", {A})
    refused.add(b"2", {B, C})
    refused.add(b"1", {A})
    refused.add(b"3", {D})
    assert [trace_id in refused for trace_id in (A, B, C, D)] == [True, False, False, True]


@given(st.lists(st.tuples(st.integers(0, 9), st.sets(st.sampled_from([A, B, C, D, b"", b"x" * 99]))), max_size=60))
def test_what_is_kept_is_bounded_by_traces_counted_once_a_request(refusals: list[tuple[int, set[bytes]]]) -> None:
    refused, model = RefusedTraces(ManualClock().now, 3), dict[int, set[bytes]]()
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
