"""A pass is given at once, a fail when no span on its way can change it, and a run is counted once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import count
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.otlp.structure import Structure
from collector.scoring.rule_files import load_rules
from collector.storage.offsets import Origin, Partition, checkpoint_of
from tests import otlp_data as data
from tests.harness import Bench

SETTLE, CONFIRM = 2.0, 6.0
WAITING = {"settle": SETTLE, "confirm": CONFIRM}
FORBIDS = """
rules:
  - {name: safe, match: {agent: helper}, expect: {forbid: [send_email]}}
"""
ROUTED = """
rules:
  - {name: chat, match: {route: /chat}, expect: {sequence: [get_weather]}}
  - {name: default, match: {}, expect: {sequence: []}}
"""
WEATHER, EMAIL, RUN = data.tool(2, 1, "get_weather", 0.1), data.tool(3, 1, "send_email", 0.2), data.agent(1)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, traces=WAITING)


def labels(bench: Bench) -> list[tuple[int, str]]:
    return [(verdict.revision, verdict.label) for verdict in bench.verdicts]


def evaluations(bench: Bench, label: str, rule: str = "weather", route: str = "") -> float:
    series = {"rule": rule, "route": route, "intent": "", "scorer": "trajectory"}
    return bench.value("evaluations_total", **series, label=label)


def test_a_pass_does_not_wait_for_what_may_still_come(bench: Bench) -> None:
    bench.send(WEATHER, EMAIL, RUN)
    bench.wait(SETTLE + 0.5)
    assert labels(bench) == [(0, "pass")]


def test_while_the_sending_queue_is_full_no_time_passes_for_what_could_not_be_sent(bench: Bench) -> None:
    bench.queue.capacity = 1
    bench.send(WEATHER, RUN)
    bench.wait(SETTLE - 0.5)
    bench.send(data.span(9, 8, trace_id=bytes([9]) * 16))  # forwarded, and the backend takes nothing
    assert bench.queue.full
    bench.wait(100)
    assert labels(bench) == [], "the call that is missing may be in a request that was refused meanwhile"
    bench.queue.drop_pending()
    bench.wait(1)
    bench.send(EMAIL)
    bench.wait(SETTLE + 0.5)
    assert labels(bench) == [(0, "pass")]


def test_no_time_passes_for_what_is_read_from_a_topic_while_nobody_can_read_it(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path, traces=WAITING, receivers={"kafka": {"brokers": ["b:9092"], "traces": {"topic": "t"}}, "otlp": {}}
    )
    pipeline, offsets = bench.pipeline, count()
    assert pipeline.offsets is not None
    partition = Partition("t", 0, checkpoint_of(0, None), lifetime=30.0)
    pipeline.offsets.partitions.append(partition)

    def read(*spans: Span) -> None:
        request = Structure(data.traces(*spans).SerializeToString())
        deque(pipeline.receive_in_steps("traces", request, "kafka", Origin(partition, next(offsets))), maxlen=0)

    other, late = bytes([7]) * 16, bytes([8]) * 16
    read(WEATHER)
    read(
        data.span(8, 1, trace_id=late)
    )  # no agent so far: that it stands between an agent and a tool is known all the same
    bench.send(*(data.tool(2, 1, "get_weather", 0.1, trace_id=other), data.agent(1, trace_id=other)))
    pipeline.topic_stalled = lambda: True
    for number in range(100, 200):
        bench.send(data.span(number, 8, trace_id=bytes([number]) * 16))
        bench.wait(10)
    assert [verdict.run.trace_id for verdict in bench.verdicts] == [other], "its spans come over OTLP"
    assert pipeline.open_traces == 1
    pipeline.topic_stalled = lambda: False
    bench.wait(SETTLE - 0.5)
    read(EMAIL, RUN)
    read(data.tool(2, 8, "get_weather", 0.1, trace_id=late), data.tool(3, 8, "send_email", 0.2, trace_id=late))
    read(data.agent(1, trace_id=late))
    bench.wait(SETTLE + 0.5)
    assert {verdict.run.trace_id: verdict.label for verdict in bench.verdicts[1:]} == {data.TRACE: "pass", late: "pass"}


def test_what_waits_to_be_confirmed_is_scored_once_and_counts_as_memory(bench: Bench) -> None:
    assembler = bench.pipeline._assembler
    bench.send(WEATHER, RUN)
    held = assembler.held.bytes
    bench.wait(SETTLE + 0.5)
    assert assembler.held.bytes > held
    (trace,) = assembler.open.all()
    _, _, scored, _ = trace.unconfirmed
    bench.wait(CONFIRM)
    assert bench.verdicts[0] is scored.verdicts[0]
    assert assembler.held.bytes == 0


def test_what_waits_to_be_confirmed_is_scored_by_new_rules(bench: Bench, tmp_path: Path) -> None:
    bench.send(WEATHER, RUN)
    bench.wait(SETTLE + 0.5)
    (tmp_path / "other.yaml").write_text(FORBIDS)
    bench.pipeline.set_rules(load_rules([tmp_path / "other.yaml"]))
    bench.wait(CONFIRM)
    assert [(verdict.rule, verdict.label) for verdict in bench.verdicts] == [("safe", "pass")]


def test_a_run_of_which_nothing_was_recorded_is_not_waited_for_longer_than_a_fail(bench: Bench) -> None:
    bench.send(RUN)
    bench.wait(CONFIRM + 0.5)
    assert [(verdict.label, verdict.doubts) for verdict in bench.verdicts] == [("incomplete", ("nothing_recorded",))]


def test_a_caller_in_another_process_is_not_waited_for_longer_than_a_fail(tmp_path: Path) -> None:
    whole = FORBIDS + "  - {name: trace, scope: trace, match: {agent: helper}, expect: {forbid: [send_email]}}\n"
    bench = Bench(tmp_path, whole, traces=WAITING)
    bench.send(WEATHER, RUN)
    served = data.tool(3, 5, "send_email", 0.2)
    served.kind = Span.SPAN_KIND_SERVER
    bench.pipeline.receive("traces", data.traces(served, service="mail").SerializeToString(), "grpc")
    bench.wait(SETTLE + 0.5)
    assert labels(bench) == []
    bench.wait(CONFIRM)
    given = [(verdict.rule, verdict.label, verdict.doubts) for verdict in bench.verdicts]
    assert given == [("safe", "incomplete", ("uncertain_owner",)), ("trace", "fail", ())]


def test_a_fail_waits_and_a_late_call_heals_it(bench: Bench) -> None:
    bench.send(WEATHER, RUN)
    bench.wait(CONFIRM - 0.5)
    assert labels(bench) == []
    bench.send(EMAIL)
    bench.wait(CONFIRM + 0.5)
    assert labels(bench) == [(0, "pass")]
    assert (evaluations(bench, "pass"), evaluations(bench, "fail")) == (1, 0)


def test_a_fail_that_nothing_healed_is_given(bench: Bench) -> None:
    bench.send(WEATHER, RUN)
    bench.wait(CONFIRM + 0.5)
    assert labels(bench) == [(0, "fail")]
    assert evaluations(bench, "fail") == 1


def test_whatever_arrives_starts_the_wait_anew(bench: Bench) -> None:
    bench.send(WEATHER, RUN)
    bench.wait(CONFIRM - 1)
    bench.send(data.tool(4, 1, "get_weather", 0.15))
    bench.wait(CONFIRM - 1)
    assert labels(bench) == []
    bench.wait(1.5)
    assert labels(bench) == [(0, "fail")]


def test_without_a_time_to_confirm_a_fail_is_given_as_soon_as_a_pass(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces={})
    bench.send(WEATHER, RUN)
    bench.wait(SETTLE + 0.5)
    assert labels(bench) == [(0, "fail")]


def test_a_verdict_that_a_late_span_revises_is_counted_as_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FORBIDS, traces=WAITING)
    bench.send(WEATHER, RUN)
    bench.wait(CONFIRM + 0.5)
    bench.send(EMAIL)
    bench.wait(CONFIRM + 0.5)
    assert labels(bench) == [(0, "pass"), (1, "fail")]
    assert bench.value("verdict_revisions_total", before="pass", after="fail") == 1
    assert (evaluations(bench, "pass", "safe"), evaluations(bench, "fail", "safe")) == (1, 0)


def forbidden(bench: Bench, tool: str = "send_email") -> float:
    return bench.value("tool_calls_total", rule="safe", tool=tool, outcome="forbidden")


def test_a_forbidden_call_that_comes_after_the_verdict_is_counted_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FORBIDS, traces=WAITING)
    bench.send(WEATHER, RUN)
    bench.wait(CONFIRM + 0.5)
    assert forbidden(bench) == 0
    for number in (3, 4):  # whoever is paged knows of the tool by then
        bench.send(data.tool(number, 1, "send_email", 0.1 * number))
        bench.wait(CONFIRM + 0.5)
        assert forbidden(bench) == 1
    assert labels(bench) == [(0, "pass"), (1, "fail"), (2, "fail")]
    others = [verdict.outcomes[0] for verdict in bench.verdicts]
    assert bench.value("tool_calls_total", rule="safe", tool="get_weather", outcome=others[0]) == 1, others


def test_a_revision_counts_no_forbidden_call_that_the_first_verdict_counted(tmp_path: Path) -> None:
    rules = FORBIDS.replace("[send_email]", "[send_email, get_weather]")
    bench = Bench(tmp_path, rules, traces=WAITING)
    bench.send(WEATHER, RUN)
    bench.wait(CONFIRM + 0.5)
    bench.send(EMAIL)
    bench.wait(CONFIRM + 0.5)
    assert labels(bench) == [(0, "fail"), (1, "fail")]
    assert (forbidden(bench, "get_weather"), forbidden(bench)) == (1, 1)


def test_forbidden_calls_of_more_tools_than_are_remembered_are_not_counted_twice(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FORBIDS.replace("[send_email]", '["send_*"]'), traces=WAITING)
    bench.send(RUN, *[data.tool(10 + n, 1, f"send_{n}", 0.1 + n / 100) for n in range(9)])
    bench.wait(CONFIRM + 0.5)
    bench.send(EMAIL)
    bench.wait(CONFIRM + 0.5)
    assert labels(bench) == [(0, "fail"), (1, "fail")]
    assert [forbidden(bench, f"send_{n}") for n in range(9)] == [1] * 9


def test_a_late_call_that_a_shadow_rule_forbids_pages_nobody(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FORBIDS.replace("name: safe", "name: safe, shadow: true"), traces=WAITING)
    bench.send(WEATHER, RUN)
    bench.wait(CONFIRM + 0.5)
    bench.send(EMAIL)
    bench.wait(CONFIRM + 0.5)
    assert [verdict.label for verdict in bench.verdicts if verdict.shadow] == ["pass", "fail"]
    assert forbidden(bench) == 0


FORBIDS_ALL = """
rules:
  - {name: safe, match: {}, expect: {forbid: [send_email]}}
"""
SERVER = data.span(1, name="POST /chat")
UNDER = data.agent(4, 9, at=0.05), data.tool(5, 4, "get_weather", 0.1), data.tool(6, 4, "send_email", 0.2)
CLIENT = data.span(9, 8, name="POST"), data.agent(8, 1, at=0.02), SERVER
CLIENT[1].kind = Span.SPAN_KIND_CLIENT
UNDER[0].flags = 0x300


@pytest.mark.parametrize(
    ("first", "rest", "anchors"),
    [
        pytest.param([EMAIL], [WEATHER, RUN], (3, 1), id="the span of the agent comes later"),
        pytest.param([EMAIL], [WEATHER, SERVER], (3, 1), id="the root of a trace without an agent comes later"),
        pytest.param([EMAIL], [WEATHER], (3, 2), id="the first of its calls comes later"),
        pytest.param(UNDER, CLIENT, (4, 8), id="the span of its caller that names it comes later"),
    ],
)
def test_a_run_is_counted_once_though_the_span_that_it_is_anchored_at_changes(
    tmp_path: Path, first: Iterable[Span], rest: Iterable[Span], anchors: tuple[int, int]
) -> None:
    bench = Bench(tmp_path, FORBIDS_ALL, traces=WAITING)
    bench.send(*first)
    bench.wait(31)
    bench.send(*rest)
    bench.wait(31)
    given = [(verdict.run.span_id[-1], verdict.revision) for verdict in bench.verdicts]
    assert given == [(anchors[0], 0), (anchors[1], 1)]
    assert evaluations(bench, "fail", "safe") == 1
    assert evaluations(bench, "revised", "safe") == 1
    assert bench.value("tool_calls_total", rule="safe", tool="send_email", outcome="forbidden") == 1
    assert bench.value("verdict_revisions_total", before="fail", after="fail") == 1
    bench.send(data.tool(10, anchors[0], "look_up", 0.3))
    bench.wait(31)
    assert (bench.verdicts[-1].run.span_id[-1], bench.verdicts[-1].revision) == (anchors[1], 2)


def test_an_agent_that_was_taken_for_a_part_and_is_none_is_not_counted_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FORBIDS_ALL, traces=WAITING)
    for spans in (UNDER, CLIENT, [data.tool(10, 8, "look_up", 0.3)]):
        bench.send(*spans)
        bench.wait(31)
    given = [(verdict.run.span_id[-1], verdict.revision, verdict.label) for verdict in bench.verdicts]
    assert given == [(4, 0, "fail"), (8, 1, "fail"), (8, 2, "pass")]


def test_agents_within_one_another_are_counted_each_though_the_outer_one_comes_later(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FORBIDS_ALL, traces=WAITING)
    inner = data.agent(4, 3, name="inner", at=0.2)
    bench.send(inner, data.tool(5, 4, "get_weather", 0.3))
    bench.wait(31)
    bench.send(EMAIL, RUN)
    bench.wait(31)
    given = [(verdict.run.span_id[-1], verdict.revision, verdict.label) for verdict in bench.verdicts]
    assert given == [(4, 0, "pass"), (1, 0, "fail")]


@pytest.mark.parametrize("remember", [2, 0])
def test_a_run_sent_again_after_its_trace_was_evicted_from_memory(tmp_path: Path, remember: int) -> None:
    bench = Bench(tmp_path, traces={**WAITING, "remember": remember})
    bench.send(WEATHER, EMAIL, RUN)
    bench.wait(CONFIRM + 0.5)
    for number in range(1, 4):
        other = number.to_bytes(16)
        bench.send(data.tool(2, 1, "get_weather", trace_id=other), data.agent(1, trace_id=other))
    bench.wait(CONFIRM + 0.5)
    bench.send(WEATHER, EMAIL, RUN)
    bench.wait(CONFIRM + 0.5)
    assert labels(bench)[-1] == (1, "pass")
    assert evaluations(bench, "pass") == 1


def test_it_is_known_of_a_bounded_number_of_runs_that_they_were_scored(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces={**WAITING, "remember": 1})
    bench.pipeline._assembler.scored._keys._limit = 20
    for number in range(1, 60):
        trace_id = number.to_bytes(16)
        bench.send(data.tool(2, 1, "get_weather", trace_id=trace_id), data.tool(3, 1, "send_email", 0.2, trace_id))
        bench.send(data.agent(1, trace_id=trace_id))
    bench.wait(CONFIRM + 0.5)
    first, recent = (1).to_bytes(16), (50).to_bytes(16)
    for trace_id in (first, recent):
        bench.send(data.agent(1, trace_id=trace_id), data.tool(2, 1, "get_weather", trace_id=trace_id))
        bench.wait(CONFIRM + 0.5)
    assert [revision for revision, _ in labels(bench)[-2:]] == [0, 1]


def test_a_run_whose_route_may_be_on_its_way_is_not_scored_by_another_rule(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ROUTED, traces=WAITING)
    inside = data.agent(1, parent=9), data.tool(2, 1, "get_weather", 0.1)
    bench.send(*inside)
    bench.wait(CONFIRM + 1)
    assert bench.verdicts == []
    bench.send(data.span(9, name="POST /chat", http__route="/chat"))
    bench.wait(CONFIRM + 0.5)
    assert [(verdict.rule, verdict.label) for verdict in bench.verdicts] == [("chat", "pass")]


def test_a_run_whose_route_never_came_is_left_unscored_until_it_does(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ROUTED, traces=WAITING)
    bench.send(data.agent(1, parent=9), data.tool(2, 1, "get_weather", 0.1))
    bench.wait(31)
    assert [(verdict.rule, verdict.doubts) for verdict in bench.verdicts] == [(None, ("unknown_route",))]
    bench.send(data.span(9, name="POST /chat", http__route="/chat"))
    bench.wait(CONFIRM)
    assert [(verdict.rule, verdict.revision) for verdict in bench.verdicts[1:]] == [("chat", 1)]


BY_INTENT = """
rules:
  - {name: refund, match: {intent: refund}, expect: {sequence: [look_up, refund]}}
  - {name: others, match: {}, expect: {forbid: [refund]}}
"""
REFUND = (
    data.tool(2, 1, "look_up", 0.1),
    data.tool(3, 1, "refund", 0.2),
    data.agent(1, parent=9, rightcall__route="/chat"),
)
WORKFLOW = data.span(
    9, name="invoke_workflow", gen_ai__operation__name="invoke_workflow", gen_ai__workflow__name="refund"
)


def test_a_run_whose_intent_may_be_on_its_way_is_not_scored_by_another_rule(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BY_INTENT, traces=WAITING)
    bench.send(*REFUND)
    bench.wait(CONFIRM + 1)
    assert bench.verdicts == []
    bench.send(WORKFLOW)
    bench.wait(SETTLE + 0.5)
    assert [(verdict.rule, verdict.label) for verdict in bench.verdicts] == [("refund", "pass")]


def test_a_run_whose_intent_never_came_is_left_unscored_until_it_does(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BY_INTENT, traces=WAITING)
    bench.send(*REFUND)
    bench.wait(31)
    assert [(verdict.rule, verdict.doubts) for verdict in bench.verdicts] == [(None, ("unknown_route",))]
    bench.send(WORKFLOW)
    bench.wait(CONFIRM)
    assert [(verdict.rule, verdict.revision) for verdict in bench.verdicts[1:]] == [("refund", 1)]


def test_an_intent_that_no_rule_looks_at_is_not_waited_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BY_INTENT.replace("{intent: refund}", "{route: /chat}"), traces=WAITING)
    bench.send(*REFUND)
    bench.wait(SETTLE + 0.5)
    assert [(verdict.rule, verdict.label, verdict.doubts) for verdict in bench.verdicts] == [("refund", "pass", ())]


BY_AGENT = """
rules:
  - {name: admin, match: {agent: "admin-*"}, expect: {sequence: [find_user, delete_user]}}
  - {name: others, match: {}, expect: {forbid: ["delete_*"]}}
"""


def test_calls_of_an_agent_whose_span_is_missing_are_not_judged_by_the_rule_for_all_others(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BY_AGENT, traces=WAITING)
    bench.send(data.tool(2, 1, "find_user", 0.1), data.tool(3, 1, "delete_user", 0.2))
    bench.wait(31)
    assert [(verdict.rule, verdict.unscored_reason) for verdict in bench.verdicts] == [(None, "unknown_route")]
    assert bench.value("runs_unscored_total", reason="unknown_route", route="", agent="") == 1
    bench.send(data.agent(1, name="admin-bot"))
    bench.wait(CONFIRM)
    assert [(verdict.rule, verdict.label) for verdict in bench.verdicts[1:]] == [("admin", "pass")]


def test_calls_in_a_trace_of_no_agent_are_judged_by_the_rule_for_all_others(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BY_AGENT, traces=WAITING)
    bench.send(data.tool(2, 1, "find_user", 0.1), data.tool(3, 1, "delete_user", 0.2), data.span(1))
    bench.wait(CONFIRM + 0.5)
    assert [(verdict.rule, verdict.label) for verdict in bench.verdicts] == [("others", "fail")]


def test_a_caller_in_another_process_is_waited_for_as_long_as_a_fail(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ROUTED.replace("{sequence: []}", "{max_calls: 5}"), traces=WAITING)
    run = data.agent(1, parent=9)
    run.flags = 0x301
    bench.send(run, WEATHER)
    bench.wait(CONFIRM - 0.5)
    assert bench.verdicts == []
    bench.wait(1)
    assert [(verdict.rule, verdict.label, verdict.doubts) for verdict in bench.verdicts] == [
        ("default", "pass", ("missing_remote_parent",))
    ]
