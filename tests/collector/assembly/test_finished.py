"""Finished traces are bounded in number and bytes, and what they are said to take is what they take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.assembly.finished import FinishedTraces
from collector.assembly.sizes import VERDICT
from collector.assembly.trace import Given, Trace
from collector.model.genai_span import GenAISpan, Role
from collector.model.span import Resource
from tests.otlp_data import span_id

RESOURCE = Resource({})


def finished(number: int, size: int = 1_000, *, spans: int = 0, verdicts: int = 0) -> Trace:
    trace = Trace(number.to_bytes(16), 0, 0, bytearray(), size=size)
    for at in range(spans):
        trace.spans[span_id(at)] = GenAISpan(span_id(at), b"", 1, 1, Role.TOOL, "test", RESOURCE)
    trace.verdicts = {span_id(at): Given(0) for at in range(verdicts)}
    return trace


def numbers(traces: list[Trace]) -> list[int]:
    return [int.from_bytes(trace.trace_id) for trace in traces]


def test_beyond_the_number_the_oldest_are_forgotten() -> None:
    remembered = FinishedTraces(3, 1 << 30)
    forgotten = [numbers(remembered.add(finished(number))) for number in range(5)]
    assert forgotten == [[], [], [], [0], [1]]
    assert (1).to_bytes(16) not in remembered
    assert remembered.get((1).to_bytes(16)) is None
    assert (4).to_bytes(16) in remembered


def test_a_trace_that_finishes_again_is_the_youngest() -> None:
    remembered = FinishedTraces(2, 1 << 30)
    remembered.add(finished(1))
    remembered.add(finished(2))
    remembered.add(remembered.pop((1).to_bytes(16)))
    assert numbers(remembered.add(finished(3))) == [2]


def test_spans_go_before_any_trace_does() -> None:
    remembered = FinishedTraces(100, 30_000)
    traces = [finished(number, 12_000, spans=5) for number in range(3)]
    assert [remembered.add(trace) for trace in traces] == [[], [], []]
    assert [len(trace.spans) for trace in traces] == [0, 5, 5]
    assert traces[0].seen.keys() == {span_id(at) for at in range(5)}, "they are recognised still"


def test_what_alone_exceeds_the_bytes_is_not_remembered() -> None:
    remembered = FinishedTraces(100, 10_000)
    remembered.add(finished(1))
    assert numbers(remembered.add(finished(2, 10_001))) == [1, 2]
    assert len(remembered) == remembered.bytes == 0


def test_a_verdict_takes_its_bytes() -> None:
    remembered = FinishedTraces(100, 1 << 20)
    remembered.add(finished(1, 1_000, verdicts=3))
    assert remembered.bytes == 1_000 + 3 * VERDICT


def test_a_session_takes_the_bytes_of_each_verdict_once_however_often_it_finishes() -> None:
    remembered = FinishedTraces(100, 1 << 20)
    session = finished(1, 1_000, verdicts=3)
    for _ in range(3):
        remembered.add(session)
        assert remembered.bytes == 1_000 + 3 * VERDICT
        remembered.pop(session.trace_id)
        assert session.size == 1_000, "while it is open it is counted elsewhere"


def test_restored_traces_give_way_only_when_another_finishes() -> None:
    remembered = FinishedTraces(2, 10_000)
    for number in range(5):
        remembered.restore(finished(number, 4_000))
    assert len(remembered) == 5
    assert numbers(remembered.add(finished(9))) == [0, 1, 2, 3]


def test_what_is_not_remembered_cannot_be_taken() -> None:
    with pytest.raises(KeyError):
        FinishedTraces(2, 10_000).pop(bytes(16))


traces = st.tuples(st.integers(0, 12), st.integers(0, 8_000), st.integers(0, 4), st.integers(0, 3))


@given(st.lists(traces, max_size=40), st.integers(0, 6), st.integers(0, 20_000))
def test_the_bounds_hold_and_every_byte_is_accounted_for(
    arriving: list[tuple[int, int, int, int]], most: int, most_bytes: int
) -> None:
    remembered, kept = FinishedTraces(most, most_bytes), dict[bytes, Trace]()
    for number, size, spans, verdicts in arriving:
        trace = finished(number, size + 2_000 * spans, spans=spans, verdicts=verdicts)
        if trace.trace_id in remembered:
            assert remembered.pop(trace.trace_id) is kept.pop(trace.trace_id)
        kept[trace.trace_id] = trace
        forgotten = remembered.add(trace)
        assert forgotten == list(kept.values())[: len(forgotten)], "the oldest, in order"
        for other in forgotten:
            del kept[other.trace_id]
        assert len(remembered) == len(kept) <= most
        assert remembered.bytes == sum(trace.size for trace in kept.values()) <= most_bytes
        assert all(remembered.get(trace_id) is trace for trace_id, trace in kept.items())
