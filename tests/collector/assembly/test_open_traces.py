"""Open traces that are quiet take less memory, and behave as they did."""

from __future__ import annotations

from pathlib import Path

from collector.assembly.assembler import Assembler
from collector.assembly.disposition import Disposition
from collector.assembly.packed_trace import PackedTrace
from collector.config.memory import MemoryBudget
from collector.config.model import TracesConfig
from collector.model.genai_span import Role
from collector.otlp.lazy import Envelope
from tests import otlp_data as data
from tests.assembling import CONFIG, add, due, genai_span
from tests.harness import Bench
from tests.otlp_data import span_id

PATIENT = TracesConfig(settle=100.0, idle_timeout=200.0)


def trace_id(number: int) -> bytes:
    return number.to_bytes(16)


def filled(traces: int) -> Assembler:
    assembler = Assembler(PATIENT)
    for number in range(1, traces + 1):
        add(assembler, genai_span(2, 1), 0, trace_id(number))
    return assembler


def pack_quiet(assembler: Assembler, until: float) -> int:
    """Advance once a second. Returns how many steps were made."""
    return sum(len(list(assembler.open.pack_quiet(now))) for now in range(int(until) + 1))


def packed(assembler: Assembler) -> int:
    return sum(isinstance(entry, PackedTrace) for entry in assembler.open.entries.values())


def test_a_trace_is_packed_once_it_has_been_quiet_for_a_while() -> None:
    assembler = filled(3)
    pack_quiet(assembler, 4)
    assert packed(assembler) == 0
    pack_quiet(assembler, 10)
    assert (packed(assembler), len(assembler)) == (3, 3)


def test_a_large_trace_is_packed_only_where_room_is_short() -> None:
    for mib, is_packed in ((4, False), (1, True)):
        assembler = Assembler(PATIENT, MemoryBudget(open_traces=mib << 20))
        span = genai_span(2, 1)
        span.output = "said " * (60 << 10)  # 0.3 MiB, and as much again as it was received
        assembler.add(trace_id(1), span.span_id, span, span.output.encode(), Envelope(b"", b""), 0)
        pack_quiet(assembler, 10)
        assert packed(assembler) == is_packed
        trace = assembler.open.get(trace_id(1))
        assert trace is not None
        assert trace.spans[span_id(2)].output == span.output


def test_a_trace_whose_spans_go_on_arriving_is_not_packed() -> None:
    assembler = filled(2)
    for now in range(1, 40):
        add(assembler, genai_span(now + 2, 1), now, trace_id(2))
        list(assembler.open.pack_quiet(now))
    assert [isinstance(entry, PackedTrace) for entry in assembler.open.entries.values()] == [True, False]


def test_packing_is_done_in_steps_that_go_on_where_they_were_left() -> None:
    assembler = filled(10)
    for now in (5, 10, 10, 10):
        next(assembler.open.pack_quiet(now), None)
    assert packed(assembler) == 3
    assert pack_quiet(assembler, 10) == 7


def test_it_is_known_when_there_is_something_to_pack() -> None:
    assembler = Assembler(PATIENT)
    assert assembler.next_deadline() is None
    add(assembler, genai_span(2, 1), 0)
    assert assembler.next_deadline() == 5.0
    pack_quiet(assembler, 10)
    assert assembler.next_deadline() == 100.0


def test_a_packed_trace_counts_as_what_it_takes() -> None:
    assembler = filled(3)
    before = assembler.held.bytes
    pack_quiet(assembler, 10)
    assert assembler.held.bytes == sum(
        entry.size for entry in assembler.open.entries.values() if isinstance(entry, PackedTrace)
    )
    assert assembler.held.bytes < before
    assert len(list(assembler.open.all())) == 3
    assert (assembler.held.bytes, packed(assembler)) == (before, 0)
    for trace in assembler.open.all():
        assembler.close(trace)
    assert (assembler.held.bytes, assembler.held.count) == (0, 0)


def test_a_span_of_a_packed_trace_finds_what_came_before() -> None:
    assembler = filled(2)
    pack_quiet(assembler, 10)
    assert add(assembler, genai_span(2, 1), 11, trace_id(1)) is Disposition.DUPLICATE
    assert add(assembler, genai_span(1, role=Role.AGENT), 11, trace_id(1)) is Disposition.HELD
    assert packed(assembler) == 1
    trace = assembler.open.get(trace_id(1))
    assert trace is not None
    assert list(trace.held) == [span_id(2), span_id(1)]
    assert trace.parents() == {span_id(2): span_id(1), span_id(1): b""}
    pack_quiet(assembler, 25)
    assert packed(assembler) == 2


def test_a_packed_trace_is_due_as_it_would_have_been() -> None:
    late, early = Assembler(CONFIG), Assembler(CONFIG)
    for assembler in (late, early):
        add(assembler, genai_span(2, 1), 0)
        for trace, _ in assembler.due(2):
            assembler.wait(trace, "incomplete")
    pack_quiet(late, 12)
    assert packed(late) == 1
    assert due(late, 29.9) == due(early, 29.9) == []
    assert due(late, 30) == due(early, 30) != []


def test_the_trace_quiet_longest_is_evicted_whether_it_is_packed_or_not() -> None:
    assembler = Assembler(TracesConfig(max_open=2, settle=100.0, idle_timeout=200.0))
    for number in (1, 2):
        add(assembler, genai_span(2, 1), 0, trace_id(number))
    pack_quiet(assembler, 10)
    add(assembler, genai_span(2, 1), 10, trace_id(3))
    evicted = assembler.over_limit()
    assert evicted is not None
    assert evicted.trace_id == trace_id(1)
    assembler.close(evicted, release="evicted")
    assert (assembler.over_limit(), packed(assembler)) == (None, 1)
    add(assembler, genai_span(3, 1), 11, trace_id(1))
    pack_quiet(assembler, 25)
    assert packed(assembler) == 3
    again = assembler.over_limit()
    assert again is not None
    assert (again.trace_id, again.evicted) == (trace_id(1), True)


def test_traces_are_unpacked_one_after_the_other() -> None:
    assembler = filled(5)
    pack_quiet(assembler, 10)
    for trace in assembler.open.all():
        assert packed(assembler) + len(assembler) <= 9
        assembler.close(trace)
    assert len(assembler) == 0


def test_a_trace_that_goes_before_its_turn_is_not_among_them() -> None:
    assembler = filled(3)
    traces = assembler.open.all()
    first, second = next(traces), assembler.open.get(trace_id(2))
    assert second is not None
    assembler.close(second)
    assert [first.trace_id, *(trace.trace_id for trace in traces)] == [trace_id(1), trace_id(3)]


def test_traces_are_unpacked_in_steps() -> None:
    assembler = filled(3)
    pack_quiet(assembler, 10)
    steps = assembler.open.unpack([trace_id(1), trace_id(9), trace_id(3)])
    next(steps)
    assert packed(assembler) == 2
    list(steps)
    assert packed(assembler) == 1


def test_a_packed_trace_that_goes_elsewhere_is_not_unpacked() -> None:
    assembler = filled(2)
    assert assembler.open.remove_packed(trace_id(1)) is None
    pack_quiet(assembler, 10)
    assert assembler.open.remove_packed(trace_id(1)) == 1
    assert assembler.open.remove_packed(trace_id(1)) is None
    assert (len(assembler), assembler.held.count) == (1, 1)
    (left,) = assembler.open.entries.values()
    assert isinstance(left, PackedTrace)
    assert assembler.held.bytes == left.size


def test_a_run_that_pauses_is_scored_as_one_that_does_not(tmp_path: Path) -> None:
    labels = []
    for number, pause in enumerate((1, 20)):
        (tmp_path / str(number)).mkdir()
        bench = Bench(tmp_path / str(number))
        bench.send(data.tool(2, 1, "get_weather", at=1))
        bench.wait(pause)
        assert packed(bench.pipeline._assembler) == (pause == 20)
        bench.send(data.tool(3, 1, "send_email", at=2), data.agent(1, at=0))
        bench.wait(5)
        labels.append([(verdict.label, verdict.release) for verdict in bench.verdicts])
        assert len(bench.out()) == 3
    assert labels[0] == labels[1]
    assert [label for label, _ in labels[0]] == ["pass"]


def test_many_traces_that_have_gone_are_passed_over_in_steps() -> None:
    assembler = filled(2_000)
    for trace in list(assembler.open.all()):
        assembler.close(trace)

    assert pack_quiet(assembler, 10) >= 4
