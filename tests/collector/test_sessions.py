"""Sessions of many turns: what a turn costs does not grow with those before it, and nothing else about its verdict changes."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.otlp import json as otlp_json
from collector.reconstruction.turns import MAX_UNSEEN
from collector.scoring.rule_files import load_rules
from collector.trace_evaluation import LARGE_SPANS
from tests import otlp_data as data
from tests import recorded
from tests.harness import WEATHER_RULES, Bench
from tests.operations import calls
from tests.sessions import LOCAL, REMOTE, SESSION, Session

REBUILD_ALL = "  - {name: all, scope: trace, match: {agent: nobody}, expect: {sequence: [nothing]}}\n"
"""A rule for whole traces, which matches none: with it, everything of a trace is rebuilt at each of its turns."""
TURNS, SESSIONS = 4, 40


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(Bench(tmp_path), REMOTE)


def bench_of(session: Session) -> Bench:
    assert isinstance(session.driver, Bench)
    return session.driver


def labels(session: Session) -> list[tuple[int, str]]:
    """The numbers of the turns that have a verdict, and the verdicts."""
    return [(int.from_bytes(verdict.run.span_id) // 10, verdict.label) for verdict in bench_of(session).verdicts]


@pytest.mark.parametrize("flags", [REMOTE, LOCAL], ids=["given-at-once", "in-an-open-span"])
def test_a_turn_costs_the_same_however_many_were_before_it(tmp_path: Path, flags: int) -> None:
    session = Session(Bench(tmp_path, traces={"max_duration": 3_000}), flags)
    costs = {}
    for number in range(1, 202):
        cost = calls(session.turn)
        if number in (10, 100, 200):
            costs[number] = cost
    assert costs[100] < 1.03 * costs[10]
    assert costs[200] < 1.03 * costs[10]


def test_every_turn_has_its_verdict_once(session: Session) -> None:
    turns = LARGE_SPANS // 3 + 20
    for _ in range(turns):
        session.turn()
    assert labels(session) == [(number, "pass") for number in range(1, turns + 1)]
    assert not bench_of(session).pipeline._traces.busy
    assert len(bench_of(session).out()) == 3 * turns


def test_a_late_span_of_an_earlier_turn_revises_it(session: Session) -> None:
    spans = session.spans()
    bench_of(session).send(spans[0], spans[2])
    bench_of(session).wait(7)
    for _ in range(4):
        session.turn()
    bench_of(session).send(spans[1])
    bench_of(session).wait(7)
    session.turn()
    assert labels(session)[5:] == [(1, "pass"), (6, "pass")]
    assert labels(session)[0] == (1, "fail")


def test_a_late_span_that_arrives_with_a_turn_revises_the_earlier_one(session: Session) -> None:
    spans = session.spans()
    bench_of(session).send(spans[0], spans[2])
    bench_of(session).wait(7)
    for _ in range(4):
        session.turn()
    bench_of(session).send(*session.spans(), spans[1])
    bench_of(session).wait(7)
    assert labels(session)[5:] == [(1, "pass"), (6, "pass")]


def test_the_span_around_all_turns_selects_their_rule_when_it_comes(tmp_path: Path) -> None:
    rules = "rules: [{name: routed, match: {route: /chat}, expect: {sequence: [get_weather, send_email]}}]"
    session = Session(Bench(tmp_path, rules), REMOTE)
    for _ in range(5):
        session.turn()
    assert {label for _, label in labels(session)} == {""}, "no rule matches"
    bench_of(session).send(data.span(SESSION, http__route="/chat"), *session.spans())
    bench_of(session).wait(7)
    assert labels(session)[5:] == [(number, "pass") for number in range(1, 7)]


def test_a_turn_in_a_span_that_is_open_waits_for_it(tmp_path: Path) -> None:
    session = Session(Bench(tmp_path), LOCAL)
    for _ in range(5):
        session.turn()
    assert labels(session) == []
    bench_of(session).send(data.span(SESSION, http__route="/chat"))
    bench_of(session).wait(3)
    assert labels(session) == [(number, "pass") for number in range(1, 6)]
    assert {verdict.release for verdict in bench_of(session).verdicts} == {"root"}


def test_other_rules_judge_earlier_turns_anew(session: Session, tmp_path: Path) -> None:
    for _ in range(4):
        session.turn()
    path = tmp_path / "other.yaml"
    path.write_text(WEATHER_RULES.replace("name: weather", "name: other").replace("send_email]", "send_mail]"))
    bench_of(session).pipeline.set_rules(load_rules([path]))
    session.turn()
    assert labels(session)[4:] == [(number, "fail") for number in range(1, 6)]


def test_turns_with_callers_of_their_own_are_rebuilt_alone_up_to_a_number_of_callers(session: Session) -> None:
    def turn() -> None:
        bench_of(session).send(*session.spans(parent=5_000 + session.number))
        bench_of(session).wait(7)

    costs = [calls(turn) for _ in range(MAX_UNSEEN + 10)]
    assert costs[MAX_UNSEEN - 1] < 1.05 * costs[5] < costs[-1] / 1.5
    assert labels(session) == [(number, "pass") for number in range(1, MAX_UNSEEN + 11)]


def test_turns_that_overlap_are_rebuilt_with_those_before(session: Session) -> None:
    for _ in range(4):
        session.turn()
    late = session.spans()
    session.turn()
    bench_of(session).send(*late)
    bench_of(session).wait(7)
    assert sorted(labels(session)) == [(number, "pass") for number in range(1, 7)]


def requests_of(folder: Path) -> Iterator[ExportTraceServiceRequest]:
    for path in recorded.requests(folder):
        if "-logs" not in path.name:
            body = path.read_bytes()
            yield ExportTraceServiceRequest.FromString(
                otlp_json.to_protobuf("traces", body) if path.suffix == ".json" else body
            )


def as_turn(requests: list[ExportTraceServiceRequest], number: int) -> list[bytes]:
    """The requests of a recording as those of a turn of one trace: an hour after the one before, with ids of its own."""
    found = deepcopy(requests)
    scopes = [scope for request in found for resource in request.resource_spans for scope in resource.scope_spans]
    spans: list[Span] = [span for scope in scopes for span in scope.spans]
    shift = number * 3_600_000_000_000 - min((span.start_time_unix_nano for span in spans), default=0)
    for span in spans:
        span.trace_id = data.TRACE
        span.span_id = bytes([number]) + span.span_id[1:]
        if span.parent_span_id:
            span.parent_span_id = bytes([number]) + span.parent_span_id[1:]
        span.start_time_unix_nano += shift
        span.end_time_unix_nano += shift
    return [request.SerializeToString() for request in found]


def verdicts_of(
    folder: Path, rules: str, turns: list[list[ExportTraceServiceRequest]]
) -> tuple[list[tuple[object, ...]], bool]:
    """The verdicts on all turns, and whether one more could be rebuilt without them."""
    folder.mkdir(exist_ok=True)
    bench = Bench(folder, rules)
    for number, turn in enumerate(turns, 1):
        for request in as_turn(turn, number):
            bench.pipeline.receive("traces", request, "grpc")
        bench.wait(40)
    trace = bench.pipeline._assembler._closed.get(data.TRACE)
    found: list[tuple[object, ...]] = [
        (one.run.span_id, one.run.parent_span_id, one.label, one.revision, one.run.user_input, repr(one.run.trajectory))
        for one in bench.verdicts
    ]
    return found, trace is not None and trace.past is not None


def test_recorded_runs_as_turns_of_one_trace_are_what_they_are_together(tmp_path: Path) -> None:
    recorded.unpack(tmp_path)
    recordings = [list(requests_of(tmp_path / name)) for name in recorded.names()]
    sessions = []
    for at in range(0, len(recordings), len(recordings) // SESSIONS):
        # The same again, so that ids of calls and texts repeat; or of several frameworks.
        sessions.append([recordings[at]] * TURNS)
        sessions.append(recordings[at : at + TURNS])
    alone = 0
    for turns in sessions:
        apart, has_past = verdicts_of(tmp_path / "rules", WEATHER_RULES, turns)
        assert apart == verdicts_of(tmp_path / "rules", WEATHER_RULES + REBUILD_ALL, turns)[0]
        alone += has_past
    assert alone > SESSIONS / 2
