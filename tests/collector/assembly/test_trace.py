"""What a trace keeps, and its states."""

from __future__ import annotations

from typing import Any

import pytest

from collector.assembly.trace import Given, Trace
from collector.assembly.trace_state import TRANSITIONS, TraceEvent, TraceState
from collector.model.genai_span import GenAISpan, Role
from collector.model.span import Resource
from collector.otlp.structure import Envelope
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


def test_a_structured_input_is_compared_with_no_other() -> None:
    keys = []
    for _ in range(2):  # and no address of an object is a key: another one may have it later
        trace = opened()
        models = [GenAISpan(span_id(at), b"", at, at, Role.MODEL, "test", Resource({})) for at in range(1, 4)]
        for at, model in enumerate(models):
            model.history = [{"role": "user"}] * at
            assert trace.keep_longest_history(model) == 0
        assert [len(model.history) for model in models] == [0, 1, 2]
        keys.append(trace.histories.keys())
    assert keys[0] == keys[1]


def test_verdicts_of_one_trace_are_no_others() -> None:
    first, second = opened(), opened()
    first.record_verdict(span_id(1), Given(0, 7))

    assert (first.verdicts, second.verdicts) == ({span_id(1): Given(0, 7)}, {})


@pytest.mark.parametrize(
    ("known", "of_all"),
    [((frozenset(), frozenset({"refund"})), frozenset({"refund"})), ((frozenset({"refund"}), None), None)],
)
def test_a_whole_knows_of_the_forbidden_calls_of_its_parts(
    known: tuple[frozenset[str] | None, ...], of_all: frozenset[str] | None
) -> None:
    trace, parts = opened(), [span_id(1), span_id(2)]
    for revision, (part, of_part) in enumerate(zip(parts, known, strict=True)):
        trace.record_verdict(part, Given(revision, 7, "fail", known_forbidden=of_part))
    assert trace.verdict_before(span_id(3), parts) == Given(1, 7, "fail", 0, of_all)


def model(number: int, history: Any) -> GenAISpan:
    span = GenAISpan(span_id(number), b"", number, number, Role.MODEL, "test", Resource({}))
    span.history = history
    return span


def test_of_a_conversation_only_the_longest_input_is_kept() -> None:
    trace, beginning = opened(), "x" * 512
    models = [model(at, beginning + rest) for at, rest in enumerate(("1", "", "123", "12"))]
    another, parsed = model(9, "y" * 600), [model(10, [1]), model(11, [1, 2])]
    for each in (*models, another, *parsed):
        trace.spans[each.span_id] = each
        trace.keep_longest_history(each)
    assert [each.history for each in models] == [None, None, beginning + "123", None]
    assert another.history is not None
    assert [each.history for each in parsed] == [[1], [1, 2]]
    assert trace.drop_histories() == 515 + 600, "characters"
    assert {each.history for each in trace.spans.values()} == {None}
    trace.keep_longest_history(model(12, beginning))
    assert list(trace.histories) == [hash(beginning)]


def test_loops_that_made_the_same_calls_are_two() -> None:
    trace, loops = opened(), [model(1, "x" * 600), model(2, "x" * 600)]
    for each in loops:
        each.note(extent="loop")
        assert trace.keep_longest_history(each) == 0
    assert [each.history for each in loops] == ["x" * 600] * 2


def test_conversations_of_two_agents_that_begin_alike_are_two() -> None:
    trace, beginning = opened(), "x" * 600
    one, other = beginning + "a" * 200, beginning + "b" * 200
    models = [model(at, text) for at, text in enumerate((one + "]", other + "]", one + "more]", other + "more]"))]
    for each in models:
        trace.keep_longest_history(each)
    assert [each.history for each in models] == [None, None, one + "more]", other + "more]"]


def test_what_a_trace_takes_without_its_spans() -> None:
    trace = opened(TraceState.CLOSED)
    trace.links += bytes(32)
    for number in (1, 2):
        trace.spans[span_id(number)] = model(number, None)
    trace.record_verdict(span_id(1), Given(0))
    trace.size = 10_000
    assert (trace.drop_spans(), trace.size) == (1_632 - 10_000, 1_632)
    assert trace.seen.keys() == {span_id(1), span_id(2)}
