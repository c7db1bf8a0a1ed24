"""What a trace keeps, and its states."""

from __future__ import annotations

import pytest

from collector.assembly.trace import TRANSITIONS, Given, Trace, TraceEvent, TraceState
from collector.otlp.lazy import Envelope
from tests.otlp_data import span_id

TRACE, ENVELOPE, ELSEWHERE = b"t" * 16, Envelope(b"resource", b"scope"), Envelope(b"another resource", b"scope")


def opened(state: TraceState = TraceState.OPEN) -> Trace:
    return Trace(TRACE, 0.0, 0.0, bytearray(), state)


@pytest.mark.parametrize("state", list(TraceState))
@pytest.mark.parametrize("event", list(TraceEvent))
def test_an_event_moves_the_trace_or_raises_and_changes_nothing(state: TraceState, event: TraceEvent) -> None:
    trace = opened(state)
    if event in TRANSITIONS[state]:
        trace.apply(event)
        assert trace.state is TRANSITIONS[state][event]
    else:
        with pytest.raises(ValueError, match=f"{event.name} cannot happen to a trace that is {state.name}"):
            trace.apply(event)
        assert trace.state is state


def test_each_held_span_keeps_its_envelope() -> None:
    trace = opened()
    trace.hold(span_id(1), b"one", ENVELOPE)
    trace.hold(span_id(2), b"two", ELSEWHERE)
    trace.hold(span_id(3), b"three", Envelope(*ENVELOPE))

    assert [(raw, envelope) for _, raw, envelope in trace.held_spans()] == [
        (b"one", ENVELOPE),
        (b"two", ELSEWHERE),
        (b"three", ENVELOPE),
    ]
    assert (trace.envelope_of(span_id(2)), trace.envelope_of(span_id(9))) == (ELSEWHERE, ENVELOPE)


def test_spans_drop_held_are_gone_with_what_surrounded_them() -> None:
    trace = opened()
    trace.hold(span_id(1), b"one", ENVELOPE)
    trace.drop_held()

    assert (list(trace.held_spans()), trace.envelope_of(span_id(1))) == ([], None)


def test_verdicts_of_one_trace_are_no_others() -> None:
    first, second = opened(), opened()
    first.record_verdict(span_id(1), Given(0, 7))

    assert (first.verdicts, second.verdicts) == ({span_id(1): Given(0, 7)}, {})
