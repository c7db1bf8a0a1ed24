"""Runs of which a part was released before they ended: they are scored as a whole, or known not to be whole."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import otlp_data as data
from tests.harness import WEATHER_RULES, Bench, Life

FIRST, LAST = data.tool(2, 1, "get_weather", at=1), data.tool(3, 1, "send_email", at=2)
AGENT = data.agent(1)
MIB = 1 << 20
READY = 1000.0
"""What the clock says when the process is ready: seconds after the epoch of the spans."""


def other(number: int, **values: Any) -> list[Span]:
    """A run of another trace that is whole."""
    trace_id = bytes([number + 100]) * 16
    return [data.tool(2, 1, "get_weather", trace_id=trace_id, **values), data.agent(1, trace_id=trace_id)]


def verdicts_on(bench: Bench) -> list[tuple[str, str, list[str]]]:
    return [
        (verdict.release, verdict.label, list(verdict.doubts))
        for verdict in bench.verdicts
        if verdict.run.trace_id == data.TRACE
    ]


def test_a_run_that_goes_on_after_it_was_idle_is_scored_whole(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.send(FIRST)
    bench.wait(40)
    bench.send(LAST, AGENT)
    bench.wait(4)
    assert verdicts_on(bench)[1:] == [("root", "pass", [])]


@pytest.mark.parametrize("remember", [1, 10_000])
def test_a_run_that_goes_on_when_its_beginning_is_forgotten_has_no_sure_verdict(tmp_path: Path, remember: int) -> None:
    """Its trace is not remembered at all, or of its spans only the ids are."""
    bench = Bench(tmp_path, traces={"remember": remember}, memory_limiter={"limit_mib": 64})
    bench.send(FIRST)
    bench.wait(40)
    for number in range(3):
        bench.send(*other(number, gen_ai__tool__call__arguments=json.dumps({"city": "x" * (2 * MIB)})))
        bench.wait(4)
    bench.send(LAST, AGENT)
    bench.wait(40)
    assert verdicts_on(bench)[1:] == [("root", "incomplete", ["truncated"])]


@pytest.mark.parametrize("crashes", [0, 1, 2])
def test_that_the_beginning_of_a_run_is_forgotten_outlives_a_crash(tmp_path: Path, crashes: int) -> None:
    life = Life(tmp_path, WEATHER_RULES, max_open=1, remember=1)
    life.pipeline.ready()
    for spans in ([FIRST], other(1), other(2)):
        life.send(*spans)
        life.settle(4)
    life.send(LAST, data.agent(1, at=READY + 1))
    life.write()
    for _ in range(crashes):
        life.crash()
        life.pipeline.ready()
        life.write()
    rows = life.rows()[0]
    life.settle(40)
    said = [(event["gen_ai.evaluation.score.label"], event.get("rightcall.doubts")) for event in life.events()]
    assert said[-1] == ("incomplete", ["truncated"])
    assert life.rows()[0] == rows - 2, "it is forgotten with the spans"
    life.close()


def test_a_new_run_in_a_finished_trace_that_is_forgotten_is_scored(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces={"remember": 1})
    bench.send(FIRST, LAST, AGENT)
    bench.wait(4)
    for number in range(3):
        bench.send(*other(number))
        bench.wait(4)
    bench.send(data.tool(12, 11, "get_weather", at=51), data.tool(13, 11, "send_email", at=52), data.agent(11, at=50))
    bench.wait(4)
    assert verdicts_on(bench) == [("root", "pass", []), ("root", "pass", [])]


def chat(number: int, *told: str) -> Span:
    """A request to a model, in which it is told of these calls."""
    messages: list[dict[str, Any]] = [{"role": "user", "parts": [{"type": "text", "content": f"request {number}"}]}]
    for name in told:
        call = {"type": "tool_call", "id": f"call_{name}", "name": name, "arguments": {}}
        answer = {"type": "tool_call_response", "id": f"call_{name}", "response": "done"}
        messages += [{"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [answer]}]
    said: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__input__messages": json.dumps(messages)}
    return data.span(number, 1, "chat", at=number, **said)


def test_calls_of_which_only_messages_tell_are_read_however_often_the_run_is_evicted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces={"max_open": 1})
    for number, span in enumerate((chat(2), chat(3, "get_weather"), chat(4, "get_weather", "send_email"))):
        bench.send(span)
        bench.send(*other(number))
    bench.send(AGENT)
    bench.wait(40)
    *evicted, last = verdicts_on(bench)
    assert [release for release, _, _ in evicted] == ["evicted"] * 3
    assert last[1:] == ("pass", [])


FORCED: dict[str, Callable[[Bench], None]] = {
    "shutdown": lambda bench: bench.pipeline.drain("shutdown"),
    "evicted": lambda bench: bench.pipeline.evict(),
    "max_duration": lambda bench: bench.wait(8),
}
EARLY = ("incomplete", ["truncated"])


@pytest.mark.parametrize("reason", FORCED)
@pytest.mark.parametrize(
    ("spans", "quiet", "expected"),
    [
        ([LAST, AGENT], 0.5, EARLY),
        ([LAST, AGENT], 3.0, EARLY),
        ([LAST, AGENT], 6.5, ("fail", [])),
        ([FIRST, LAST, AGENT], 0.5, ("pass", [])),
        ([FIRST, LAST, data.tool(4, 1, "delete_all", at=3), AGENT], 0.5, ("fail", ["truncated"])),
    ],
    ids=["at once", "while it waits to be confirmed", "confirmed", "a pass", "a forbidden call"],
)  # fmt: skip
def test_a_fail_that_was_not_confirmed_is_none(
    tmp_path: Path, reason: str, spans: list[Span], quiet: float, expected: tuple[str, list[str]]
) -> None:
    most = quiet + 0.25 if reason == "max_duration" else 600.0
    rules = WEATHER_RULES.replace("send_email]", "send_email], forbid: [delete_all]")
    bench = Bench(tmp_path, rules, traces={"confirm": 6.0, "max_duration": most})
    bench.send(*spans)
    bench.wait(quiet)
    FORCED[reason](bench)
    assert [verdict[1:] for verdict in verdicts_on(bench)] == [expected]


def test_a_span_that_arrives_after_an_early_verdict_revises_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces={"confirm": 6.0})
    bench.send(LAST, AGENT)
    bench.pipeline.evict()
    bench.send(FIRST)
    bench.wait(4)
    assert verdicts_on(bench) == [("evicted", *EARLY), ("root", "pass", [])]


def test_a_recording_that_ended_has_no_span_on_its_way(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces={"confirm": 6.0})
    bench.send(LAST, AGENT)
    bench.pipeline.drain("end_of_input")
    assert verdicts_on(bench) == [("end_of_input", "fail", [])]


def test_of_the_runs_of_a_trace_only_one_that_fails_is_undecided(tmp_path: Path) -> None:
    rules = WEATHER_RULES + "  - {name: both, match: {}, scope: trace, expect: {any_order: [send_email, pay]}}"
    bench = Bench(tmp_path, rules, traces={"confirm": 6.0})
    bench.send(LAST, AGENT, data.tool(12, 11, "pay"), data.agent(11, name="other"))
    bench.pipeline.drain("shutdown")
    assert [(verdict.rule, verdict.label) for verdict in bench.verdicts if verdict.rule] == [
        ("weather", "incomplete"),
        ("both", "pass"),
    ]


@settings(max_examples=60)
@given(
    st.integers(1, 6), st.sampled_from([1, 2, 100]),
    st.lists(st.tuples(st.integers(0, 7), st.sampled_from([0.25, 0.5, 3.0, 40.0])), min_size=40, max_size=60),
)  # fmt: skip
def test_however_short_room_is_no_run_that_is_right_fails(
    tmp_path_factory: pytest.TempPathFactory, most: int, remember: int, order: list[tuple[int, float]]
) -> None:
    bench = Bench(tmp_path_factory.mktemp("rules"), traces={"max_open": most, "remember": remember})
    left = {
        number: [
            data.tool(2, 1, "get_weather", at=1, trace_id=bytes([number + 1]) * 16),
            data.tool(3, 1, "send_email", at=2, trace_id=bytes([number + 1]) * 16),
            data.agent(1, trace_id=bytes([number + 1]) * 16),
        ]
        for number in range(8)
    }
    for number, pause in order:
        if left[number]:
            bench.send(left[number].pop(0))
        bench.wait(pause)
    bench.pipeline.drain("shutdown")
    labels = Counter(verdict.label for verdict in bench.verdicts)
    assert labels["fail"] == labels["error"] == 0
