"""What open and finished traces keep is counted in bytes, and bounded by them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from collector.assembly.assembler import Assembler
from collector.assembly.disposition import Disposition
from collector.assembly.sizes import span_bytes
from collector.assembly.trace import Given, Trace
from collector.config.memory import MemoryBudget
from collector.config.model import TracesConfig
from collector.model.genai_span import Content, GenAISpan, Role
from collector.model.span import Resource
from collector.otlp.lazy import Envelope
from tests.otlp_data import span_id

MIB = 1 << 20
ENVELOPE, RESOURCE = Envelope(b"resource", b"scope"), Resource({})


def trace_id(number: int) -> bytes:
    return number.to_bytes(16)


def model(number: int, text: str = "", parent: int = 1) -> GenAISpan:
    span = GenAISpan(span_id(number), span_id(parent), number, number, Role.MODEL, "test", RESOURCE)
    span.output = text
    return span


def tool(number: int, arguments: str = "{}") -> GenAISpan:
    span = GenAISpan(span_id(number), span_id(1), number, number, Role.TOOL, "test", RESOURCE)
    span.arguments = arguments
    return span


def add(assembler: Assembler, trace: int, span: GenAISpan, received: int, envelope: Envelope = ENVELOPE) -> Disposition:
    return assembler.add(trace_id(trace), span.span_id, span, bytes(received), envelope, 0)


def finish(assembler: Assembler, traces: Iterable[Trace]) -> list[Trace]:
    evicted: list[Trace] = []
    for trace in list(traces):
        trace.record_verdict(span_id(1), Given(0))
        evicted += assembler.close(trace)
    return evicted


def test_an_open_trace_counts_what_it_keeps_and_not_only_what_it_holds() -> None:
    assembler = Assembler(TracesConfig(), MemoryBudget(open_traces=10 * MIB))
    for number in range(1, 4):
        add(assembler, number, model(2, "x" * (4 * MIB)), 4 * MIB + 100)
        assert (assembler.over_limit() is None) == (number < 3)
    finish(assembler, assembler.open.all())
    assert assembler.held.bytes == 0


def test_parent_links_of_a_trace_are_counted() -> None:
    assembler = Assembler(TracesConfig(), MemoryBudget(open_traces=MIB))
    add(assembler, 1, tool(2), 100)
    assembler.link({trace_id(1): [span_id(number) for number in range(80_000)]}, 0)
    assert assembler.over_limit() is None
    assembler.link({trace_id(1): [span_id(number) for number in range(80_000)]}, 0)
    assert assembler.over_limit() is not None


def test_a_resource_is_counted_once_for_the_spans_it_comes_with() -> None:
    assembler, large = Assembler(TracesConfig()), Envelope(bytes(4 * MIB), b"")
    for number in range(2, 12):
        add(assembler, 1, tool(number), 100, large)
    assert 4 * MIB < assembler.held.bytes < 5 * MIB
    other = tool(20)
    other.resource = Resource({"service.name": "other"})
    add(assembler, 1, other, 100, large)
    assert 8 * MIB < assembler.held.bytes < 9 * MIB


def test_inputs_that_are_dropped_count_no_more() -> None:
    assembler = Assembler(TracesConfig())
    for number in range(2, 12):
        span = model(number)
        span.history = "said before " * 50_000 + "x" * number
        add(assembler, 1, span, 700_000)
    assert 600_000 < assembler.held.bytes < 700_000, "the longest input has what the others repeat"
    (trace,) = assembler.open.all()
    assembler.drop_histories(trace)
    assert assembler.held.bytes < 20_000


def test_finished_traces_lose_their_spans_oldest_first() -> None:
    assembler = Assembler(TracesConfig(), MemoryBudget(finished_traces=10 * MIB))
    for number in range(1, 6):
        add(assembler, number, tool(2, "x" * (4 * MIB)), 4 * MIB + 100)
    traces = list(assembler.open.all())
    assert finish(assembler, traces) == []
    assert [len(trace.spans) for trace in traces] == [0, 0, 0, 1, 1]
    assert [add(assembler, number, tool(2), 100) for number in range(1, 6)] == [Disposition.DUPLICATE] * 5
    assert [add(assembler, number, tool(3), 100) for number in range(1, 6)] == [Disposition.LATE] * 5
    assert [len(trace.spans) for trace in traces] == [0, 0, 0, 2, 2], "nothing to score a late span with"
    finish(assembler, traces)
    assert assembler.held.bytes == 0


def test_a_finished_trace_too_large_to_remember_is_recognised_still() -> None:
    assembler = Assembler(TracesConfig(), MemoryBudget(finished_traces=MIB))
    add(assembler, 1, tool(2, "x" * (4 * MIB)), 4 * MIB + 100)
    finish(assembler, assembler.open.all())
    assert add(assembler, 1, tool(2), 100) is Disposition.DUPLICATE
    assert assembler.held.bytes == 0


def test_where_even_the_ids_are_too_many_the_oldest_finished_traces_are_forgotten() -> None:
    assembler = Assembler(TracesConfig(), MemoryBudget(finished_traces=MIB))
    forgotten: list[Trace] = []
    for number in range(1, 5):
        for span in range(2, 3_000):
            add(assembler, number, tool(span), 100)
        forgotten += finish(assembler, assembler.open.all())
    assert [trace.trace_id for trace in forgotten] == [trace_id(1), trace_id(2)]
    assert assembler.scored.has(trace_id(1), span_id(1))


def test_traces_without_an_agent_are_forgotten_when_they_take_too_much() -> None:
    def root_of_the_first(later: int) -> bool:
        """Whether the first trace's root is known when its agent comes, after ``later`` other traces."""
        assembler = Assembler(TracesConfig(), MemoryBudget(unclaimed_traces=4 * MIB))
        for number in range(1, later + 2):
            root = GenAISpan(span_id(1), b"", 1, 1, Role.OTHER, "test", RESOURCE)
            root.user_input = "x" * MIB
            add(assembler, number, root, MIB + 100)
        add(assembler, 1, tool(2), 100)
        return len(next(assembler.open.all()).spans) == 2

    assert [root_of_the_first(later) for later in (1, 20)] == [True, False]


def test_links_of_traces_without_an_agent_are_counted_too() -> None:
    def links_of_the_first(later: int) -> int:
        assembler = Assembler(TracesConfig(), MemoryBudget(unclaimed_traces=MIB))
        for number in range(1, later + 2):
            assembler.link({trace_id(number): [span_id(span) for span in range(10_000)]}, 0)
        add(assembler, 1, tool(2), 100)
        return len(next(assembler.open.all()).links)

    assert [links_of_the_first(later) for later in (1, 30)] == [80_000, 0]


def test_the_calls_of_a_long_message_count_as_themselves() -> None:
    span = model(2)
    span.output = [{"type": "tool_call", "id": "call_1", "name": "pay", "arguments": '{"amount": 7}'}]
    assert span_bytes(span, 100_000) < 2_500, "the conversation before them was received as well, and is not kept"


class Counted(str):
    """A text that counts how often it was asked for its size."""

    __slots__ = ()
    asked = 0

    def __sizeof__(self) -> int:
        Counted.asked += 1
        return super().__sizeof__()


def test_of_a_value_of_many_objects_the_rest_counts_as_what_it_may_take() -> None:
    Counted.asked = 0
    span = model(2)
    span.output = [[Counted("a")] * 100 for _ in range(100)]
    assert span_bytes(span, 40_000) > 16 * 40_000
    assert 500 < Counted.asked < 2_000


def test_a_history_that_is_also_the_user_input_is_counted_once() -> None:
    span = model(2)
    span.history = span.user_input = "x" * MIB
    assert span_bytes(span, MIB + 100) < MIB + 2_000


def test_texts_of_attributes_are_counted() -> None:
    span = model(2)
    span.attributes = {f"acme.{number}": "x" * 200 for number in range(100)}
    assert span_bytes(span, 30_000) > 25_000


@pytest.mark.parametrize("field", ["arguments", "output", "history", "user_input", "content"])
def test_what_a_span_keeps_is_counted(field: str) -> None:
    span, text = tool(1), "x" * MIB
    setattr(span, field, Content(text) if field == "content" else text)
    assert MIB < span_bytes(span, 2 * MIB) < MIB + 2_000
    setattr(span, field, None)
    assert span_bytes(span, 2 * MIB) < 2_000, "it was received, and is not kept"


def test_a_text_with_a_rare_character_counts_as_wide_as_python_keeps_it() -> None:
    assert span_bytes(tool(1, "x" * MIB + "\N{ROCKET}"), MIB + 100) > 4 * MIB


def test_structured_arguments_count_as_the_objects_they_become() -> None:
    span = tool(1)
    span.arguments = [True] * 100_000
    assert span_bytes(span, 400_000) > 100_000 * 8
