"""Large traces: evaluated in slices, on a snapshot, while requests and other traces go on; exactly one verdict each."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.assembly import assembler
from collector.reconstruction.run import Run
from collector.scoring import embeddings
from collector.scoring.select_and_score import Scoring
from collector.trace_evaluation import LARGE_BYTES, LARGE_SPANS
from scorers import ToolCall
from tests import otlp_data as data
from tests.harness import WEATHER_RULES, Bench, Life
from tests.sinks import ManualClock

OTHER = bytes(range(2, 18))
ERROR = {"rule": "", "route": "", "intent": "", "scorer": "trajectory", "label": "error"}


class TickingClock(ManualClock):
    """Time that also passes while somebody works: a little at each look at the clock."""

    tick = 0.0

    def _now(self) -> float:
        self.seconds += self.tick
        return self.seconds


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return with_ticks(Bench(tmp_path))


def with_ticks(bench: Bench) -> Bench:
    clock = bench.clock = TickingClock()
    for part in (bench.pipeline, bench.pipeline._traces, bench.pipeline._requests, bench.pipeline._output):
        part._clock = clock
    return bench


def large(calls: int = LARGE_SPANS + 50, trace_id: bytes = data.TRACE) -> list[Span]:
    tools = [data.tool(number, 1, "get_weather", at=number / 10, trace_id=trace_id) for number in range(2, calls + 2)]
    return [*tools, data.agent(1, trace_id=trace_id)]


def small(trace_id: bytes = OTHER) -> list[Span]:
    first, second = (data.tool(2, 1, "get_weather", at=1), data.tool(3, 1, "send_email", at=2))
    spans = [first, second, data.agent(1)]
    for span in spans:
        span.trace_id = trace_id
    return spans


def begin(bench: Bench | Life) -> None:
    """Let time pass until the trace is being evaluated, and then in a world where a look at the clock takes 1 ms."""
    assert isinstance(bench.clock, TickingClock)
    bench.wait(1.75)
    bench.clock.tick, bench.clock.seconds = 0.001, bench.clock.seconds + 1
    bench.pipeline.advance()
    assert bench.pipeline._traces.busy


def finish(bench: Bench | Life) -> int:
    """Go on until the verdict is given; in how many steps."""
    assert isinstance(bench.clock, TickingClock)
    steps = 0
    while bench.pipeline._traces.busy:
        bench.pipeline.advance()
        steps += 1
    bench.clock.tick = 0.0
    return steps


def calls_of(run: Run) -> int:
    return len(run.trajectory.calls)


def test_requests_are_taken_and_small_traces_get_their_verdict_while_a_large_one_is_evaluated(bench: Bench) -> None:
    bench.send(*large())
    begin(bench)
    bench.send(*small())
    while len(bench.verdicts) < 1:
        bench.clock.seconds += 0.25
        bench.pipeline.advance()
    (first,) = bench.verdicts
    assert (first.run.trace_id, first.label) == (OTHER, "pass")
    assert finish(bench) > 10
    assert [calls_of(verdict.run) for verdict in bench.verdicts] == [2, LARGE_SPANS + 50]


@pytest.mark.parametrize(
    "spans",
    [
        large(LARGE_SPANS),
        [data.tool(2, 1, "get_weather", gen_ai__tool__call__arguments="x" * LARGE_BYTES), data.agent(1)],
    ],
    ids=["spans", "bytes"],
)
def test_a_trace_beyond_either_limit_is_large_and_one_within_is_evaluated_at_once(
    bench: Bench, spans: list[Span]
) -> None:
    bench.send(*spans)
    begin(bench)
    finish(bench)
    bench.send(*large(LARGE_SPANS - 1, OTHER))
    bench.wait(1.75)
    assert isinstance(bench.clock, TickingClock)
    bench.clock.tick, bench.clock.seconds = 0.001, bench.clock.seconds + 1
    bench.pipeline.advance()
    assert not bench.pipeline._traces.busy
    assert len(bench.verdicts) == 2


@pytest.fixture
def only_new_objects() -> Iterator[None]:
    """Makes `gc.get_objects` list what the test makes, and not hundreds of thousands of objects made before."""
    gc.freeze()
    yield
    gc.unfreeze()


def alive(tool: str) -> int:
    return sum(type(found) is ToolCall and found.name == tool for found in gc.get_objects())


@pytest.mark.usefixtures("only_new_objects")
def test_the_calls_of_a_large_trace_are_let_go_one_after_the_other(bench: Bench) -> None:
    traces, calls = bench.pipeline._traces, LARGE_SPANS + 50
    bench.send(*(data.tool(number, 1, "of_this_test", at=number / 10) for number in range(2, calls + 2)), data.agent(1))
    begin(bench)
    while traces._in_slices is not None:
        bench.pipeline.advance()
    left = [alive("of_this_test")]
    while traces.busy:
        bench.pipeline.advance()
        bench.verdicts.clear()  # these have them, too
        left.append(alive("of_this_test"))
    assert (left[0], left[-1]) == (calls, 0)
    assert max(more - fewer for more, fewer in pairwise(left)) < 10


def test_a_span_that_arrives_meanwhile_revises_the_verdict(bench: Bench) -> None:
    bench.send(*large())
    begin(bench)
    bench.send(data.tool(5000, 1, "send_email", at=600))
    finish(bench)
    bench.wait(0.5)
    assert [(verdict.revision, calls_of(verdict.run)) for verdict in bench.verdicts] == [(0, LARGE_SPANS + 50)]
    assert len(bench.out()) == LARGE_SPANS + 51
    bench.wait(5)
    assert [(verdict.revision, calls_of(verdict.run)) for verdict in bench.verdicts[1:]] == [(1, LARGE_SPANS + 51)]
    assert len({span.span_id for span in bench.out()}) == len(bench.out()) == LARGE_SPANS + 52
    late = next(span for span in bench.out() if span.span_id == data.span_id(5000))
    assert data.values_of(late)["rightcall.outcome"] == "matched"
    assert (bench.value("traces_open"), bench.value("held_spans")) == (0, 0)


def test_a_span_that_arrives_while_it_finds_texts_to_embed_is_scored_with_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = iter([0.5])
    monkeypatch.setattr(embeddings, "installed", lambda: lambda _: [1.0])
    rule = "{name: all, match: {intent: refund}, expect: {max_calls: 9999}}"
    rules = f"rules: [{rule}]\nintents: [{{name: refund, examples: [money back]}}]"
    bench = with_ticks(Bench(tmp_path, rules, embed_ahead=lambda _: next(pauses, 0.0)))
    words = '[{"role": "user", "parts": [{"type": "text", "content": "I want it back"}]}]'
    bench.send(*large()[:-1], data.agent(1, gen_ai__input__messages=words))
    begin(bench)
    bench.send(data.tool(5000, 1, "send_email", at=600))
    finish(bench)
    assert (bench.verdicts, bench.out()) == ([], [])
    assert isinstance(bench.clock, TickingClock)
    bench.clock.tick = 0
    bench.wait(20)
    assert [calls_of(verdict.run) for verdict in bench.verdicts] == [LARGE_SPANS + 51]
    assert len(bench.out()) == LARGE_SPANS + 52


def test_a_span_it_waits_for_may_arrive_while_it_is_evaluated(bench: Bench) -> None:
    tools = [data.tool(number, 4000, "get_weather", at=number / 10) for number in range(2, LARGE_SPANS + 52)]
    bench.send(*tools, data.agent(1))
    begin(bench)
    bench.send(data.span(4000, 1))
    finish(bench)
    assert [(verdict.run.span_id, verdict.complete) for verdict in bench.verdicts] == [(data.span_id(1), True)]


def test_a_large_trace_that_goes_on_before_its_turn_is_judged_when_it_is_quiet_again(tmp_path: Path) -> None:
    rule = "{name: all, match: {}, expect: {any_order: [send_email, pay], allow_extra: [get_weather]}, pass: 0.9}"
    bench = with_ticks(Bench(tmp_path, f"rules: [{rule}]", traces={"confirm": 6.0}))
    assert isinstance(bench.clock, TickingClock)
    sent_at = bench.clock.seconds
    bench.send(*large())
    bench.send(*large(LARGE_SPANS + 1, OTHER))
    begin(bench)
    finish(bench)  # neither passes
    bench.clock.tick, bench.clock.seconds = 0.001, sent_at + 6.5
    while bench.pipeline._traces._in_slices is None:
        bench.pipeline.advance()
    assert [trace.trace_id for trace, *_ in bench.pipeline._traces._queue] == [OTHER]
    bench.send(data.tool(5000, 1, "send_email", at=600, trace_id=OTHER))
    finish(bench)
    bench.send(data.tool(5001, 1, "pay", at=601, trace_id=OTHER))
    bench.wait(4)
    finish(bench)
    assert [(verdict.run.trace_id, verdict.label) for verdict in bench.verdicts] == [
        (data.TRACE, "fail"),
        (OTHER, "pass"),
    ]


def test_a_repeated_span_meanwhile_is_dropped(bench: Bench) -> None:
    bench.send(*large())
    begin(bench)
    bench.send(*large())
    finish(bench)
    bench.wait(10)
    assert len(bench.verdicts) == 1
    assert len(bench.out()) == LARGE_SPANS + 51


def ended_later() -> Span:
    """The first span of ``large``, as it is when it has failed."""
    span = data.tool(2, 1, "get_weather", at=0.2, error__type="Timeout")
    span.status.code, span.end_time_unix_nano = Status.STATUS_CODE_ERROR, span.end_time_unix_nano + 1
    return span


@pytest.mark.parametrize("limit", [1 << 20, 1], ids=["open", "evicted"])
def test_a_span_that_ends_meanwhile_counts_as_it_ended(tmp_path: Path, limit: int) -> None:
    bench = with_ticks(Bench(tmp_path, traces={"max_open": limit}))
    bench.send(*large())
    begin(bench)
    ended = ended_later()
    bench.send(ended)
    bench.send(*small())  # beyond the limit, the large one leaves
    finish(bench)
    bench.wait(10)
    (verdict,) = [verdict for verdict in bench.verdicts if verdict.run.trace_id == data.TRACE]
    assert (calls_of(verdict.run), verdict.run.trajectory.calls[0].status) == (LARGE_SPANS + 50, "error")
    (left,) = [span for span in bench.out() if (span.trace_id, span.span_id) == (data.TRACE, ended.span_id)]
    assert left.end_time_unix_nano == ended.end_time_unix_nano
    assert (bench.value("traces_open"), bench.value("held_spans")) == (0, 0)


def test_a_span_that_ends_while_its_evicted_trace_is_evaluated_is_forwarded(tmp_path: Path) -> None:
    bench = with_ticks(Bench(tmp_path, traces={"max_open": 1}))
    bench.send(*large())
    begin(bench)
    bench.send(*small())
    ended = ended_later()
    bench.send(ended)
    assert [span.end_time_unix_nano for span in bench.out()] == [ended.end_time_unix_nano]
    finish(bench)
    bench.wait(10)
    assert sorted(calls_of(verdict.run) for verdict in bench.verdicts) == [2, LARGE_SPANS + 50]


def test_an_error_is_an_error_evaluation_of_that_trace_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Any:
        raise ZeroDivisionError

    bench.send(*large())
    with monkeypatch.context() as faults:
        faults.setattr(Scoring, "verdicts_of", broken)
        begin(bench)
        finish(bench)
    bench.send(*small())
    bench.wait(4)
    assert (bench.value("evaluations_total", **ERROR), [v.label for v in bench.verdicts]) == (1, ["error", "pass"])


def test_reloaded_rules_hold_from_the_next_evaluation(bench: Bench, tmp_path: Path) -> None:
    bench.send(*large())
    begin(bench)
    (tmp_path / "other").mkdir()
    bench.pipeline.set_rules(Bench(tmp_path / "other", WEATHER_RULES.replace("name: weather", "name: new")).rules)
    finish(bench)
    bench.send(*small())
    bench.wait(4)
    assert [verdict.rule for verdict in bench.verdicts] == ["weather", "new"]


def test_what_is_evaluated_at_shutdown_gets_its_verdict_once(bench: Bench) -> None:
    bench.send(*large())
    bench.send(*large(LARGE_SPANS + 1, OTHER))
    begin(bench)
    bench.pipeline.drain("shutdown")
    assert sorted(calls_of(verdict.run) for verdict in bench.verdicts) == [LARGE_SPANS + 1, LARGE_SPANS + 50]
    assert (bench.pipeline._traces.busy, bench.value("traces_open"), len(bench.out())) == (
        False,
        0,
        2 * LARGE_SPANS + 53,
    )


# ---- limits


def traces(count: int) -> Iterator[list[Span]]:
    for number in range(count):
        yield large(LARGE_SPANS + 1, bytes([number + 1]) * 16)


def test_large_traces_beyond_a_limit_are_evaluated_in_turn_and_beyond_another_released_unscored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assembler, "MAX_LEAVING", 3)
    bench = with_ticks(Bench(tmp_path, traces={"max_open": 2}))
    assert isinstance(bench.clock, TickingClock)
    bench.clock.tick = 0.001
    for spans in traces(7):
        bench.send(*spans)
    assert bench.value("traces_open") == 5, "two open ones, three that leave"
    assert [verdict.label for verdict in bench.verdicts] == ["error"] * 2
    finish(bench)
    bench.wait(4)
    assert sorted(verdict.release for verdict in bench.verdicts) == [*["evicted"] * 5, *["root"] * 2]
    assert sorted(calls_of(verdict.run) for verdict in bench.verdicts) == [0, 0, *[LARGE_SPANS + 1] * 5]
    assert bench.value("evaluations_total", **ERROR) == 2
    assert bench.pipeline._assembler.held.leaving == 0


def test_what_leaves_does_not_evict_others(tmp_path: Path) -> None:
    bench = with_ticks(Bench(tmp_path, traces={"max_held_mib": 1}))
    assert isinstance(bench.clock, TickingClock)
    bench.clock.tick = 0.001
    bench.send(*small())
    tool = data.tool(2, 1, "get_weather", gen_ai__tool__call__arguments="x" * (1 << 20))
    bench.send(tool, data.agent(1))
    bench.send(*small(bytes(range(3, 19))))
    assert [verdict.run.trace_id for verdict in bench.verdicts] == [OTHER], "the oldest, though small"
    assert bench.value("traces_open") == 2
    finish(bench)
    assert [verdict.run.trace_id for verdict in bench.verdicts] == [OTHER, data.TRACE]


# ---- a crash


def life_with_large(folder: Path) -> Life:
    life = Life(folder, WEATHER_RULES)
    ticking(life)
    life.send(*large())
    life.write()
    begin(life)
    return life


def ticking(life: Life) -> None:
    with_ticks(life)  # type: ignore[arg-type]  # it has the same parts


def test_a_crash_in_the_middle_gives_the_verdict_once_after_the_restart(tmp_path: Path) -> None:
    life = life_with_large(tmp_path)
    life.write()
    life.crash()
    life.clock.tick = 0.0  # type: ignore[attr-defined]  # see ``with_ticks``
    assert life.resumed == 1
    life.settle(4)
    assert ([event["rightcall.revision"] for event in life.events()], len(life.spans())) == ([0], LARGE_SPANS + 51)
    assert life.rows() == (0, 1)
    life.close()


@pytest.mark.parametrize("revised", [False, True], ids=["before_the_revision", "after_it"])
def test_a_crash_after_the_verdict_loses_nothing_that_arrived_before_it(tmp_path: Path, revised: bool) -> None:
    life = life_with_large(tmp_path)
    life.send(data.agent(5001), data.tool(5000, 5001, "send_email", at=600))
    life.write()
    finish(life)
    life.settle(0.5)
    assert len(life.spans()) == LARGE_SPANS + 51
    assert life.rows() == (1, 1), "what arrived, and that the rest has its verdict"
    if revised:
        life.settle(4)
    life.crash()
    life.settle(40)
    assert sorted(span.span_id for span in life.spans()) == sorted(
        data.span_id(number) for number in (*range(1, LARGE_SPANS + 52), 5000, 5001)
    )
    assert [event["rightcall.revision"] for event in life.events()] == [0, 0]
    assert life.rows() == (0, 1)
    life.close()
