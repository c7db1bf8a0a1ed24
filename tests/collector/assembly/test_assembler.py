"""A trace's life, with time moved by hand."""

from __future__ import annotations

from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.assembly.assembler import Assembler
from collector.assembly.disposition import Disposition
from collector.assembly.due import Due
from collector.assembly.trace import _MAX_ANCESTORS, Given, Trace
from collector.assembly.trace_state import TraceState
from collector.config.memory import MemoryBudget
from collector.config.model import TracesConfig
from collector.model.genai_span import GenAISpan, Role
from tests.assembling import CONFIG, ENVELOPE, OTHER_TRACE, RAW, TRACE, add, due, genai_span, opened
from tests.otlp_data import span_id


def test_agents_and_tools_are_held_models_and_context_leave() -> None:
    assembler = Assembler(CONFIG)
    assert add(assembler, genai_span(1, role=Role.AGENT), 0) is Disposition.HELD
    assert add(assembler, genai_span(2, 1, Role.TOOL), 0) is Disposition.HELD
    assert add(assembler, genai_span(3, 1, Role.MODEL), 0) is Disposition.FORWARD
    assert add(assembler, genai_span(4, 1, Role.OTHER), 0) is Disposition.FORWARD
    assert assembler.held.count == 2


def test_a_root_is_held_only_where_no_agent_is_known() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(2, 1, Role.TOOL), 0)
    assert add(assembler, genai_span(1, role=Role.OTHER), 0) is Disposition.HELD
    add(assembler, genai_span(2, 1, Role.AGENT), 0, OTHER_TRACE)
    assert add(assembler, genai_span(1, role=Role.OTHER), 0, OTHER_TRACE) is Disposition.FORWARD


class Unscanned(dict[bytes | int, GenAISpan]):
    """Spans that may be looked up and counted."""

    def values(self) -> NoReturn:
        raise AssertionError("the cost of a span grows with those before it")

    __iter__ = items = keys = values


def test_a_root_is_held_without_a_look_at_all_spans_before_it() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1, role=Role.MODEL), 0)
    trace = opened(assembler)
    trace.spans = Unscanned(trace.spans)
    assert add(assembler, genai_span(2, role=Role.MODEL), 0) is Disposition.HELD
    add(assembler, genai_span(3, role=Role.AGENT), 0)
    assert add(assembler, genai_span(4, role=Role.MODEL), 0) is Disposition.FORWARD


def test_a_trace_without_agents_is_never_open() -> None:
    assembler = Assembler(CONFIG)
    assert add(assembler, genai_span(1, role=Role.OTHER), 0) is Disposition.FORWARD
    assert len(assembler) == 0
    assert due(assembler, 1e9) == []


def test_roots_and_links_seen_before_the_first_agent_are_remembered() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1, role=Role.OTHER), 0)
    assembler.link({TRACE: [span_id(5), span_id(1)]}, 0)
    add(assembler, genai_span(2, 5), 20)
    trace = opened(assembler)
    assert trace.parents() == {span_id(1): b"", span_id(5): span_id(1), span_id(2): span_id(5)}
    assert span_id(1) in trace.spans


def test_a_root_that_was_seen_before_and_comes_again_as_a_call_is_that_call() -> None:
    assembler = Assembler(CONFIG)
    assert add(assembler, genai_span(1, role=Role.OTHER), 0) is Disposition.FORWARD
    assert add(assembler, genai_span(1, role=Role.TOOL), 1) is Disposition.HELD
    trace = opened(assembler)
    assert [span.role for span in trace.spans.values()] == [Role.TOOL]
    assert list(trace.held) == [span_id(1)]


def test_links_of_traces_without_agents_are_forgotten() -> None:
    assembler = Assembler(CONFIG)
    assembler.link({TRACE: [span_id(5), span_id(1)]}, 1)
    for now in (40, 80):  # each look after idle_timeout starts a new generation
        assembler.link({OTHER_TRACE: [span_id(9), span_id(8)]}, now)
    add(assembler, genai_span(2, 5), 81)
    assert span_id(5) not in opened(assembler).parents()


def test_links_of_traces_without_agents_are_kept_for_idle_timeout() -> None:
    assembler = Assembler(CONFIG)
    assembler.link({TRACE: [span_id(5), span_id(1)]}, 1000)
    for now in (1010, 1020, 1030):
        assembler.link({OTHER_TRACE: [span_id(9), span_id(8)]}, now)
    add(assembler, genai_span(2, 5), 1030)
    assert span_id(5) in opened(assembler).parents()


def test_a_trace_settles_when_nothing_new_came() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1), 0)
    add(assembler, genai_span(2), 1.5)
    assert due(assembler, 3.4) == []
    assert assembler.next_deadline() == 3.5
    assert due(assembler, 3.5) == [(TRACE, Due.SETTLED)]


def test_one_that_settled_unwhole_waits_until_it_was_idle() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1), 0)
    assert due(assembler, 2) == [(TRACE, Due.SETTLED)]
    assembler.wait(opened(assembler), "incomplete")
    assert due(assembler, 29.9) == []
    assert due(assembler, 30) == [(TRACE, Due.IDLE)]


def test_a_verdict_to_be_confirmed_waits_until_nothing_came_for_that_long() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1), 0)
    assert due(assembler, 2) == [(TRACE, Due.SETTLED)]
    assembler.wait(opened(assembler), "confirm")
    assert due(assembler, CONFIG.confirm - 0.1) == []
    assert due(assembler, CONFIG.confirm) == [(TRACE, Due.CONFIRMED)]


def test_anything_new_lets_it_settle_again() -> None:
    for news in (lambda a: add(a, genai_span(2), 10), lambda a: a.link({TRACE: [span_id(7), bytes(8)]}, 10)):
        assembler = Assembler(CONFIG)
        add(assembler, genai_span(1), 0)
        assert due(assembler, 2) == [(TRACE, Due.SETTLED)]
        assembler.wait(opened(assembler), "incomplete")
        news(assembler)
        assert due(assembler, 11.9) == []
        assert due(assembler, 12) == [(TRACE, Due.SETTLED)]


def test_one_that_lacks_something_is_not_idle_while_spans_of_others_than_agents_come() -> None:
    """As of a tool that asks another service every few seconds: its own span, and the agent's, come when it has ended."""
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1), 0)
    assert due(assembler, 2) == [(TRACE, Due.SETTLED)]
    for second in (20, 40):
        assembler.wait(opened(assembler), "incomplete")
        assembler.link({TRACE: [span_id(second), span_id(1)]}, second)
        assert due(assembler, second + 2) == [(TRACE, Due.SETTLED)]
    assembler.wait(opened(assembler), "incomplete")
    assert due(assembler, 69.9) == []
    assert due(assembler, 70) == [(TRACE, Due.IDLE)]


def test_nothing_outlives_max_duration() -> None:
    assembler = Assembler(CONFIG)
    for second in range(600):
        add(assembler, genai_span(second + 1), second)
        assert due(assembler, second) == []
    assert due(assembler, 600) == [(TRACE, Due.MAX_DURATION)]


def test_closing_gives_up_the_held_spans_and_a_stale_deadline_does_no_harm() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1), 0)
    trace = opened(assembler)
    assert list(trace.held_spans()) == [(span_id(1), RAW, ENVELOPE)]
    assembler.close(trace)
    assert (len(assembler), assembler.held.count, assembler.held.bytes, list(trace.held_spans())) == (0, 0, 0, [])
    assert due(assembler, 1000) == []


def test_a_repeated_held_span_is_dropped_a_repeated_other_one_passes() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1), 0)
    add(assembler, genai_span(3, 1, Role.MODEL), 0)
    assert add(assembler, genai_span(1), 1) is Disposition.DUPLICATE
    assert add(assembler, genai_span(3, 1, Role.MODEL), 1) is Disposition.FORWARD
    assembler.close(opened(assembler))
    assert add(assembler, genai_span(1), 5) is Disposition.DUPLICATE
    assert len(assembler) == 0


def test_a_late_span_of_a_scored_run_passes_and_reopens_its_trace() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1, role=Role.AGENT), 0)
    trace = opened(assembler)
    assembler.close(trace)
    trace.record_verdict(span_id(1), Given(0))
    assert add(assembler, genai_span(2, 1), 5) is Disposition.LATE
    assert opened(assembler).state is TraceState.REOPENED
    assert due(assembler, 7) == [(TRACE, Due.SETTLED)]


def test_a_new_run_in_an_old_trace_is_held() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1, 9, role=Role.AGENT), 0)
    trace = opened(assembler)
    assembler.close(trace)
    trace.record_verdict(span_id(1), Given(0))
    assert add(assembler, genai_span(12, 11), 50) is Disposition.HELD
    assert add(assembler, genai_span(11, 9, role=Role.AGENT), 50) is Disposition.HELD


def test_a_trace_goes_when_there_are_too_many_or_they_hold_too_much() -> None:
    assembler = Assembler(TracesConfig(max_open=1))
    add(assembler, genai_span(1), 0)
    assert assembler.over_limit() is None
    add(assembler, genai_span(1), 1, OTHER_TRACE)
    assert assembler.over_limit() is opened(assembler)
    assembler = Assembler(CONFIG, MemoryBudget(open_traces=1 << 20))
    assembler.link({TRACE: [span_id(1), bytes(8)]}, 0)
    assembler.add(TRACE, span_id(1), genai_span(1), bytes((1 << 20) + 1), ENVELOPE, 0)
    assert assembler.over_limit() is opened(assembler)


def evicted_from(assembler: Assembler) -> int:
    """The number of the trace that goes first, which is evicted."""
    trace = assembler.open.next_to_evict()
    assert trace is not None
    assembler.close(trace, release="evicted")
    return int.from_bytes(trace.trace_id)


def test_the_trace_that_has_been_quiet_longest_goes_first() -> None:
    assembler = Assembler(CONFIG)
    for now, number in enumerate((1, 2, 3, 4, 2, 1, 4)):
        add(assembler, genai_span(now + 1), now, number.to_bytes(16))
    assert [evicted_from(assembler) for _ in range(4)] == [3, 2, 1, 4]
    assert assembler.open.next_to_evict() is None


def test_a_trace_that_was_evicted_and_comes_back_goes_before_all_others() -> None:
    assembler = Assembler(CONFIG)
    for number in (1, 2, 3):
        add(assembler, genai_span(1), number, number.to_bytes(16))
    assert evicted_from(assembler) == 1
    add(assembler, genai_span(2), 4, (1).to_bytes(16))
    assert evicted_from(assembler) == 1
    add(assembler, genai_span(3), 5, (1).to_bytes(16))
    # With a verdict that no limit forced it is a trace like any other again.
    assembler.close(opened(assembler, (1).to_bytes(16)))
    add(assembler, genai_span(4), 6, (1).to_bytes(16))
    assert [evicted_from(assembler) for _ in range(3)] == [2, 3, 1]


def test_a_trace_without_end_is_bounded_and_marked() -> None:
    assembler = Assembler(TracesConfig(max_spans=3))
    for number in range(1, 200):
        add(assembler, genai_span(number, number + 1), 0)
    trace = opened(assembler)
    assert (len(trace.spans), trace.truncated) == (3, True)
    assert len(trace.links) <= 16 * 31


def begun_and_ended(number: int, parent: int = 0, role: Role = Role.TOOL) -> tuple[GenAISpan, GenAISpan]:
    begun, ended = genai_span(number, parent, role), genai_span(number, parent, role)
    begun.end_ns = 0
    return begun, ended


def test_of_two_copies_of_a_span_the_one_that_has_ended_counts_whichever_is_first() -> None:
    begun, ended = begun_and_ended(2, 1)
    for copies, last in ((begun, ended), Disposition.REPLACED), ((ended, begun), Disposition.DUPLICATE):
        assembler = Assembler(CONFIG)
        add(assembler, genai_span(1, role=Role.AGENT), 0)
        assert [add(assembler, copy, at) for at, copy in enumerate(copies)] == [Disposition.HELD, last]
        trace = opened(assembler)
        assert (trace.spans[span_id(2)].end_ns, assembler.held.count) == (2, 2)
        assembler.close(trace)
        assert (assembler.held.count, assembler.held.bytes) == (0, 0)


def test_a_span_that_ends_after_the_verdict_on_it_as_begun_is_late() -> None:
    begun, ended = begun_and_ended(2, 1)
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1, role=Role.AGENT), 0)
    add(assembler, begun, 0)
    trace = opened(assembler)
    trace.record_verdict(span_id(1), Given(0))
    assembler.close(trace)
    assert add(assembler, ended, 9) is Disposition.LATE
    assert opened(assembler).spans[span_id(2)] is ended


@pytest.mark.parametrize("leaves", [False, True])
def test_a_span_that_ends_while_its_trace_is_evaluated_takes_the_place_of_its_copy_unless_that_leaves(
    leaves: bool,
) -> None:
    begun, ended = begun_and_ended(1)
    assembler = Assembler(CONFIG)
    add(assembler, begun, 0)
    trace = opened(assembler)
    trace.evaluating = True
    if leaves:
        assembler.leave(trace)
    assert add(assembler, ended, 1) is (Disposition.FORWARD if leaves else Disposition.REPLACED)
    assert trace.spans[span_id(1)] is (begun if leaves else ended)


def test_only_so_many_finished_traces_are_remembered() -> None:
    assembler = Assembler(TracesConfig(remember=1))
    for trace_id in (TRACE, OTHER_TRACE):
        add(assembler, genai_span(1), 0, trace_id)
        assembler.close(opened(assembler, trace_id))
    assert add(assembler, genai_span(1), 1, OTHER_TRACE) is Disposition.DUPLICATE
    assert add(assembler, genai_span(1), 1, TRACE) is Disposition.HELD  # forgotten: taken for new


steps = st.lists(
    st.tuples(
        st.integers(1, 6),
        st.integers(0, 6),
        st.sampled_from(list(Role)),
        st.sampled_from([TRACE, OTHER_TRACE]),
        st.floats(0, 20),
    ),
    max_size=40,
)


@given(steps)
def test_whatever_comes_every_held_span_leaves_exactly_once(
    arrivals: list[tuple[int, int, Role, bytes, float]],
) -> None:
    assembler, now = Assembler(CONFIG), 0.0
    held: list[tuple[bytes, bytes]] = []
    left: list[tuple[bytes, bytes]] = []
    for number, parent, role, trace_id, pause in arrivals:
        now += pause
        if add(assembler, genai_span(number, parent, role), now, trace_id) is Disposition.HELD:
            held.append((trace_id, span_id(number)))
        for trace, _ in assembler.due(now):
            left += [(trace.trace_id, span) for span in trace.held]
            assembler.close(trace)
    for trace in assembler.open.all():
        left += [(trace.trace_id, span) for span in trace.held]
        assembler.close(trace)
    assert sorted(left) == sorted(held)
    assert assembler.held.bytes == 0


def test_parents_of_a_session_are_those_of_all_its_links() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1, role=Role.AGENT), 0)
    assembler.close(opened(assembler))
    for number in range(2, 6):
        add(assembler, genai_span(10 * number, role=Role.AGENT), number)
        trace = opened(assembler)
        assert trace.parents()[span_id(10 * number)] == b""
        add(assembler, genai_span(10 * number + 1, 10 * number), number)
        assert trace.parents()[span_id(10 * number + 1)] == span_id(10 * number)
    assert len(trace.parents()) == 9


def test_a_large_trace_is_looked_at_less_often() -> None:
    assembler = Assembler(TracesConfig(settle=2.0, idle_timeout=30.0, max_duration=600.0))
    for number in range(3001):
        add(assembler, genai_span(number + 1), 0)
    assert due(assembler, 2.1) == []
    assert due(assembler, 8.1) == [(TRACE, Due.SETTLED)]


def test_parent_links_are_bounded_and_say_so() -> None:
    assembler = Assembler(TracesConfig(max_spans=1))
    add(assembler, genai_span(1, role=Role.AGENT), 0)
    for number in range(2, 100):
        assembler.link({TRACE: [span_id(number), span_id(1)]}, 0)
    trace = opened(assembler)
    assert (len(trace.links), trace.truncated) == (160, True)


def test_roots_and_links_of_a_trace_without_agents_are_bounded() -> None:
    assembler = Assembler(TracesConfig(max_spans=3))
    for number in range(1, 100):
        add(assembler, genai_span(number, role=Role.OTHER), 0)
    add(assembler, genai_span(200, role=Role.AGENT), 0)
    trace = opened(assembler)
    assert [key for key in trace.spans if key != span_id(200)] == [span_id(number) for number in (1, 2, 3)]
    assert len(trace.links) == 16 * 30


def test_traces_without_agents_are_bounded_in_number() -> None:
    assembler = Assembler(TracesConfig(max_open=2))
    for number in range(10):
        assembler.link({bytes([number]) * 16: [span_id(5), span_id(1)]}, 0)
    unclaimed = assembler._unclaimed
    assert len(unclaimed._young) + len(unclaimed._old) <= 4


def test_a_postponed_trace_is_due_again() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1), 0)
    for trace, _ in assembler.due(2):
        assembler.postpone(trace, 2.5)
    assert due(assembler, 2.4) == []
    assert due(assembler, 2.5) == [(TRACE, Due.SETTLED)]


def test_a_trace_from_before_a_restart_recognises_its_spans_and_reopens() -> None:
    assembler = Assembler(CONFIG)
    assembler.restore(Trace(TRACE, 0.0, 0.0, bytearray(), seen={span_id(1): True}))
    assert [(assembler.is_open(i), assembler.is_closed(i)) for i in (TRACE, OTHER_TRACE)] == [
        (False, True),
        (False, False),
    ]
    assert add(assembler, genai_span(1), 1) is Disposition.DUPLICATE
    assert len(assembler) == 0
    add(assembler, genai_span(2), 1)
    assert (assembler.is_open(TRACE), assembler.is_closed(TRACE)) == (True, False)
    assert opened(assembler).state is TraceState.REOPENED


def test_which_runs_were_scored_is_known_beyond_the_remembered_traces_for_so_many_runs() -> None:
    assembler, ids = Assembler(TracesConfig(remember=1)), [number.to_bytes(16) for number in range(45_000)]
    for trace_id in ids:
        add(assembler, genai_span(1, role=Role.AGENT), 0, trace_id)
        opened(assembler, trace_id).record_verdict(span_id(1), Given(0))
        assembler.close(opened(assembler, trace_id))
    evicted = ids[:-1]
    scored = [trace_id for trace_id in ids if assembler.scored.has(trace_id, span_id(1))]
    assert scored == evicted[-len(scored) :], "the oldest are not known any more"
    assert 20_000 <= len(scored) <= 2 * (20_000 + 1)
    assert not assembler.scored.has(evicted[-1], span_id(2))


def test_a_log_record_lets_a_trace_that_waits_settle_again() -> None:
    assembler = Assembler(CONFIG)
    add(assembler, genai_span(1), 0)
    assert due(assembler, 2) == [(TRACE, Due.SETTLED)]
    assembler.wait(opened(assembler), "incomplete")
    assert assembler.add(TRACE, 77, genai_span(1), RAW, ENVELOPE, 10) is Disposition.FORWARD
    assert due(assembler, 11.9) == []
    assert due(assembler, 12) == [(TRACE, Due.SETTLED)]


def reopened(config: TracesConfig = CONFIG) -> Assembler:
    """A trace whose run of agent 1 has its verdict, with span 5 below it."""
    assembler = Assembler(config)
    add(assembler, genai_span(1, role=Role.AGENT), 0)
    assembler.link({TRACE: [span_id(5), span_id(1)]}, 0)
    trace = opened(assembler)
    assembler.close(trace)
    trace.record_verdict(span_id(1), Given(0))
    return assembler


def test_which_late_spans_are_of_runs_that_have_their_verdict() -> None:
    assembler = reopened()
    assembler.link({TRACE: [span_id(6), span_id(7), span_id(7), span_id(6)]}, 10)
    late = {
        number: add(assembler, span, 10) is Disposition.LATE
        for number, span in {
            2: genai_span(2, 5),  # below a span of the run that is no GenAI span
            3: genai_span(3),  # without a parent
            4: genai_span(4, 6),  # below spans that are each other's parent
            8: genai_span(8, 1, Role.AGENT),
            9: genai_span(9, 8),  # of that run, which has no verdict yet
            20: genai_span(20, role=Role.AGENT),  # a further run
            21: genai_span(21, 20),
            22: genai_span(22, 99),  # below a span that may be a further run
        }.items()
    }
    assert late == {2: True, 3: True, 4: False, 8: True, 9: False, 20: False, 21: False, 22: False}
    assert due(assembler, 11.9) == []
    assert due(assembler, 12) == [(TRACE, Due.SETTLED)]


def test_a_late_span_too_far_below_its_run_is_held_like_a_new_one() -> None:
    assembler = reopened()
    chain = [genai_span(number + 1, number) for number in range(1, _MAX_ANCESTORS + 2)]
    found = [add(assembler, span, 10) for span in chain]
    assert found == [Disposition.LATE] * _MAX_ANCESTORS + [Disposition.HELD]


def test_late_spans_of_a_run_from_before_a_restart_are_recognised_when_they_are_repeated() -> None:
    assembler = Assembler(CONFIG)
    trace = Trace(TRACE, 0.0, 0.0, bytearray(), seen={span_id(1): True})
    trace.record_verdict(span_id(1), Given(0))
    assembler.restore(trace)
    assert add(assembler, genai_span(2, 1), 1) is Disposition.LATE
    assert add(assembler, genai_span(2, 1), 2) is Disposition.FORWARD
    assert add(assembler, genai_span(1, role=Role.AGENT), 2) is Disposition.DUPLICATE
    assert span_id(2) not in opened(assembler).spans


def test_spans_from_before_a_restart_count_for_the_limit() -> None:
    assembler = Assembler(TracesConfig(max_spans=3))
    assembler.restore(Trace(TRACE, 0.0, 0.0, bytearray(), seen={span_id(1): True, span_id(2): False}))
    truncated = []
    for number in (3, 4):
        add(assembler, genai_span(number, 99), 1)
        truncated.append(opened(assembler).truncated)
    assert truncated == [False, True]
