"""Which runs are around what had a verdict before, and around spans that are only known."""

from __future__ import annotations

from collector.assembly.trace import Given, Trace
from collector.scoring.parts import NO_PARTS, WHOLE_TRACE, parts_of, runs_around
from tests.builders import agent_span, genai_spans, tool_span
from tests.collector.verdicts import run_of
from tests.otlp_data import TRACE, span_id

OUTER, INNER, CALL, LOOSE = span_id(1), span_id(2), span_id(3), span_id(4)


def trace_of(*verdicts: bytes) -> Trace:
    """An agent, another inside it that calls a tool, and a tool that nobody called."""
    links = OUTER + bytes(8) + INNER + OUTER + CALL + INNER + LOOSE + bytes(8)
    trace = Trace(TRACE, 0.0, 0.0, bytearray(links))
    for span in genai_spans(
        [
            agent_span(number=1),
            agent_span(number=2, parent=1),
            tool_span("a", number=3, parent=2),
            tool_span("b", number=4, parent=0),
        ]
    ):
        trace.spans[span.span_id] = span
    for anchor in verdicts:
        trace.record_verdict(anchor, Given(0))
    return trace


def test_what_was_a_run_and_lies_in_another_now_is_its_part() -> None:
    assert parts_of(trace_of(CALL, INNER), [run_of(span_id=OUTER)]) == {OUTER: [CALL, INNER]}
    assert parts_of(trace_of(CALL), [run_of(span_id=OUTER), run_of(span_id=INNER)]) == {INNER: [CALL]}


def test_what_is_still_a_run_is_no_part_and_neither_is_the_whole_trace() -> None:
    trace = trace_of(OUTER, INNER, WHOLE_TRACE)
    assert parts_of(trace, [run_of(span_id=OUTER), run_of(span_id=INNER)]) is NO_PARTS


def test_what_no_agent_is_around_is_part_of_the_run_without_an_agent() -> None:
    trace = trace_of(LOOSE)
    assert parts_of(trace, [run_of(span_id=OUTER)]) == {}
    trace.spans.pop(OUTER)
    assert parts_of(trace, [run_of(span_id=OUTER)]) == {OUTER: [LOOSE]}


def test_nothing_is_known_of_parts_once_spans_were_dropped() -> None:
    trace = trace_of(CALL)
    trace.seen = {CALL: True}
    assert parts_of(trace, [run_of(span_id=OUTER)]) is NO_PARTS


def test_the_runs_around_spans_are_the_nearest() -> None:
    runs = [run_of(span_id=OUTER), run_of(span_id=INNER)]
    assert runs_around([CALL], trace_of(), runs) == {INNER}
    assert runs_around([INNER, OUTER], trace_of(), runs) == {INNER, OUTER}
    assert runs_around([LOOSE, 7, b""], trace_of(), runs) == frozenset()


def test_parents_in_a_ring_have_no_run_around_them() -> None:
    trace = Trace(TRACE, 0.0, 0.0, bytearray(CALL + LOOSE + LOOSE + CALL))
    assert runs_around([CALL], trace, [run_of(span_id=OUTER)]) == frozenset()
