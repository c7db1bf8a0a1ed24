"""Rules about conversations: several traces scored as one trajectory, by the pipeline and across restarts."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.component import ExportRequest
from collector.scoring import conversations as gathered
from collector.scoring import embeddings
from collector.scoring.rule_files import check_rules, load_rules
from collector.storage.records import RecordKind
from collector.storage.rows import Change
from tests import otlp_data as data
from tests.harness import Bench, Life, folder_in, send_to_both, value

RULES = """
rules:
  - {name: turn, match: {agent: helper}, expect: {max_calls: 9}}
  - {name: order, scope: conversation, match: {agent: helper}, expect: {sequence: [look_up, refund]}, pass: 0.9}
tests:
  - {name: fine, rule: order, context: {agent: helper}, calls: [look_up, refund], passes: true}
  - {name: half, rule: order, calls: [refund], passes: false}
"""
SHADOW = RULES.replace("name: order,", "name: order, shadow: true,")
QUIET = 400.0  # seconds after which a conversation is over


def turn(number: int, *tools: str, conversation: str = "c-1", agent: str = "helper", **values: Any) -> list[Span]:
    """One trace of one conversation, ``number`` minutes after the first."""
    trace_id, at = number.to_bytes(16, "big"), 60.0 * number
    calls = [data.tool(2 + n, 1, name, at + 0.1 * (n + 1), trace_id) for n, name in enumerate(tools)]
    said = {"gen_ai__conversation__id": conversation, **values}
    if not tools:  # the model answered by itself
        calls = [data.answer(2, 1, at + 0.1, trace_id)]
    return [*calls, data.agent(1, name=agent, at=at, trace_id=trace_id, **said)]


def events(bench: Bench) -> list[dict[str, Any]]:
    """What was said about conversations."""
    said = [(event, data.values_of(event)) for event in bench.out("logs")]
    return [
        {**values, "trace": event.trace_id[-1], "span": event.span_id[-1]}
        for event, values in said
        if values.get("rightcall.scope") == "conversation"
    ]


def talk(bench: Bench, *turns: list[Span], pause: float = 60.0) -> None:
    for spans in turns:
        bench.send(*spans)
        bench.wait(pause)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, RULES)


def test_the_traces_of_a_conversation_are_one_trajectory(bench: Bench) -> None:
    talk(bench, turn(1, "look_up"), turn(2), turn(3, "refund"))
    assert bench.value("conversations_open") == 1
    assert events(bench) == []
    bench.wait(QUIET)
    (event,) = events(bench)
    assert (event["rightcall.rule"], event["gen_ai.evaluation.score.value"], event["rightcall.complete"]) == (
        "order",
        1.0,
        True,
    )
    assert (event["gen_ai.conversation.id"], event["trace"], event["span"]) == ("c-1", 1, 1), (
        "anchored at its first run"
    )
    assert bench.value("conversations_open") == 0
    assert bench.value("conversations_total", release="idle") == 1
    labels = {"rule": "order", "route": "", "intent": "", "scorer": "trajectory"}
    assert bench.value("evaluations_total", **labels, label="pass") == 1
    assert bench.value("runs_total", release="root") == 3, "what is counted a run is counted once"


def test_turns_are_in_order_of_time_however_they_come(bench: Bench) -> None:
    bench.send(*turn(2, "refund"), *turn(1, "look_up"))
    bench.wait(QUIET)
    assert [(event["gen_ai.evaluation.score.value"], event["trace"]) for event in events(bench)] == [(1.0, 1)]


def test_conversations_tenants_and_services_are_kept_apart(bench: Bench) -> None:
    talk(bench, turn(1, "look_up"), turn(2, "refund", conversation="c-2"), turn(3, "refund", tenant__id="blue"))
    bench.pipeline.receive("traces", data.traces(*turn(4, "refund"), service="other").SerializeToString(), "grpc")
    bench.wait(QUIET)
    assert [event["gen_ai.evaluation.score.label"] for event in events(bench)] == ["fail"] * 4


def test_the_first_turns_may_have_been_at_an_instance_that_leaves(tmp_path: Path) -> None:
    leaves, stays = Bench(tmp_path, RULES), Bench(tmp_path, RULES)
    talk(leaves, turn(1, "look_up"))
    leaves.send(*turn(2, "look_up", conversation="c-2")[:1])
    talk(stays, turn(1, "refund", conversation="c-3"))
    stays.wait(60)
    requests: list[ExportRequest] = []
    assert leaves.pipeline.hand_over(requests.append) == 1
    for request in requests:
        stays.pipeline.receive("traces", request.payload, "grpc")
    talk(stays, turn(3, "refund"))
    stays.wait(QUIET)
    assert [(event["gen_ai.conversation.id"], event["rightcall.complete"]) for event in events(stays)] == [
        ("c-3", True),
        ("c-1", False),
    ]


@pytest.mark.parametrize("caller", [0, 9], ids=["root", "called by a front end"])
def test_the_server_span_around_a_run_names_its_tenant(bench: Bench, caller: int) -> None:
    for number, tenant in enumerate(("blue", "green"), 1):
        spans = turn(number, "look_up")
        spans[-1].parent_span_id = data.span_id(8)
        server = data.span(8, caller, "POST /chat", 60.0 * number, number.to_bytes(16, "big"), tenant__id=tenant)
        server.kind = Span.SPAN_KIND_SERVER
        talk(bench, [*spans, server])
    bench.wait(QUIET)
    assert [event["rightcall.missing_tools"] for event in events(bench)] == [["refund"], ["refund"]]


def test_the_first_run_selects_the_rule(bench: Bench) -> None:
    talk(bench, turn(1, "look_up", agent="router"), turn(2, "refund"))
    bench.wait(QUIET)
    assert events(bench) == []
    assert bench.value("conversations_total", release="idle") == 1


def test_runs_of_nested_agents_are_in_it(bench: Bench) -> None:
    inner = [
        data.agent(5, parent=2, name="specialist", at=60.2, trace_id=bytes(15) + b"\1"),
        data.tool(6, 5, "refund", at=60.3, trace_id=bytes(15) + b"\1"),
    ]
    talk(bench, [*turn(1, "look_up"), *inner])
    bench.wait(QUIET)
    assert [event["gen_ai.evaluation.score.value"] for event in events(bench)] == [1.0]


def test_a_later_turn_revises_the_verdict_and_counts_for_nothing(bench: Bench) -> None:
    talk(bench, turn(1, "look_up"), pause=QUIET)
    talk(bench, turn(2, "refund"), pause=QUIET)
    assert [(e["rightcall.revision"], e["gen_ai.evaluation.score.label"]) for e in events(bench)] == [
        (0, "fail"),
        (1, "pass"),
    ]
    labels = {"rule": "order", "route": "", "intent": "", "scorer": "trajectory"}
    counted = [bench.value("evaluations_total", **labels, label=label) for label in ("pass", "fail", "revised")]
    assert counted == [0, 1, 1]
    assert bench.value("conversations_total", release="idle") == 1


FORBIDS = """
rules:
  - {name: turn, match: {agent: helper}, expect: {max_calls: 9}}
  - {name: safe, scope: conversation, match: {agent: helper}, expect: {forbid: [refund, look_up]}}
"""


def forbidden(metrics: Bench | Life) -> list[float]:
    labels = {"rule": "safe", "outcome": "forbidden"}
    return [metrics.value("tool_calls_total", **labels, tool=tool) for tool in ("look_up", "refund")]


def test_a_forbidden_call_of_a_later_turn_is_counted_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FORBIDS)
    talk(bench, turn(1, "look_up"), pause=QUIET)
    assert forbidden(bench) == [1, 0]
    talk(bench, turn(2, "refund"), pause=QUIET)
    assert forbidden(bench) == [1, 1]
    talk(bench, turn(3, "refund", "look_up"), pause=QUIET)
    assert forbidden(bench) == [1, 1]


def test_a_late_span_of_a_turn_revises_it_too(bench: Bench) -> None:
    talk(bench, turn(1, "look_up"), pause=QUIET)
    bench.send(data.tool(9, 1, "refund", at=60.5, trace_id=bytes(15) + b"\1"))
    bench.wait(QUIET)
    assert [event["gen_ai.evaluation.score.label"] for event in events(bench)] == ["fail", "pass"]


def test_an_incomplete_turn_makes_it_incomplete(bench: Bench) -> None:
    orphan = data.tool(2, 1, "refund", at=120.0, trace_id=b"o" * 16, gen_ai__conversation__id="c-1")
    talk(bench, turn(1, "look_up"), [orphan])
    bench.wait(QUIET)
    (event,) = events(bench)
    assert (event["rightcall.complete"], event["gen_ai.evaluation.score.value"]) == (False, 1.0)


def test_too_many_evict_the_one_quiet_longest_and_label_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, RULES, conversations={"max_open": 1})
    talk(bench, turn(1, "look_up"), turn(2, "look_up", conversation="c-2"))
    bench.pipeline.flush()
    (event,) = events(bench)
    assert (event["gen_ai.conversation.id"], event["rightcall.complete"]) == ("c-1", False)
    assert bench.value("conversations_total", release="evicted") == 1
    labels = {"rule": "order", "route": "", "intent": "", "scorer": "trajectory"}
    assert bench.value("evaluations_total", **labels, label="incomplete") == 1


def test_a_shadow_rule_is_exported_under_its_own_label(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SHADOW)
    talk(bench, turn(1, "look_up"), turn(2, "refund"), pause=QUIET)
    labels = {"rule": "order", "route": "", "intent": "", "scorer": "trajectory"}
    assert bench.value("evaluations_total", **labels, label="shadow_fail") == 1
    assert len(events(bench)) == 2


def test_draining_and_evicting_score_conversations_too(tmp_path: Path) -> None:
    for release in ("shutdown", "end_of_input", "evicted"):
        bench = Bench(tmp_path, RULES)
        bench.send(*turn(1, "look_up"), *turn(2, "refund"))
        if release == "evicted":
            bench.pipeline.evict()
        else:
            bench.pipeline.drain(release)
        found = [verdict for verdict in bench.verdicts if verdict.scope == "conversation"]
        assert [(verdict.release, verdict.complete) for verdict in found] == [(release, release == "end_of_input")]


def test_nothing_is_gathered_where_no_rule_is_about_conversations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> Any:
        raise AssertionError

    monkeypatch.setattr(gathered, "write", never)
    bench = Bench(tmp_path, RULES.replace("scope: conversation, ", ""))
    talk(bench, turn(1, "look_up"))
    assert (len(bench.verdicts), bench.value("conversations_open")) == (1, 0)
    assert bench.value("runs_unscored_total", reason="internal", route="", agent="") == 0


def test_a_conversation_that_cannot_be_scored_is_counted_and_harms_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(bench, turn(1, "look_up"))
    for conversation in bench.pipeline._conversations.open():
        for run in conversation.runs.values():
            run.record = b"damaged"
    bench.wait(QUIET)
    (event,) = events(bench)
    assert (event["gen_ai.evaluation.score.label"], event["rightcall.scope"]) == ("error", "conversation")
    assert (event["trace"], event["span"]) == (1, 1)
    assert bench.value("conversations_open") == 0
    error = {"rule": "", "route": "", "intent": "", "scorer": "trajectory", "label": "error"}
    assert bench.value("evaluations_total", **error) == 1
    assert bench.value("runs_unscored_total", reason="internal", route="", agent="") == 1


def test_a_conversation_waits_for_the_texts_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "installed", lambda: lambda _: [1.0])
    tool = "{tool: look_up, arguments: {q: {semantic: where is it}}}"
    asked, wait = set[str](), [1.0]

    def ahead(texts: Iterable[str]) -> float:
        found = set(texts)
        asked.update(found)
        return wait[0] if found else 0.0

    rules = RULES.replace("sequence: [look_up, refund]", f"sequence: [{tool}, refund]")
    bench = Bench(tmp_path, rules, embed_ahead=ahead)
    first = turn(1, "look_up")
    first[0].attributes.extend(data.attributes({"gen_ai.tool.call.arguments": '{"q": "my parcel"}'}))
    talk(bench, first, turn(2, "refund"), pause=QUIET)
    assert (asked, events(bench)) == ({"my parcel"}, [])
    wait[0] = 0.0
    bench.wait(2)
    assert [event["gen_ai.evaluation.score.value"] for event in events(bench)] == [1.0]


def test_rule_files_test_such_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    report, passed = check_rules([tmp_path / "rules.yaml"])
    assert (passed, "2 of 2 tests pass" in report) == (True, True)
    assert load_rules([tmp_path / "rules.yaml"]).set.has_scope("conversation")


# --- whose beginning is not here


def undecided(found: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    names = ("gen_ai.conversation.id", "rightcall.revision", "gen_ai.evaluation.score.label", "rightcall.doubts")
    return [
        tuple(event.get(name) for name in names) for event in found if event.get("rightcall.scope") == "conversation"
    ]


def test_one_that_goes_on_after_it_was_evicted_is_incomplete_and_counted_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, RULES, conversations={"max_open": 1})
    talk(bench, turn(1, "look_up"), turn(2, conversation="c-2"), turn(3, "refund"))
    bench.wait(QUIET)
    assert undecided(events(bench)) == [
        ("c-1", 0, "incomplete", ["truncated"]),
        ("c-2", 0, "incomplete", ["truncated"]),
        ("c-1", 1, "incomplete", ["truncated"]),
    ]
    assert [bench.value("conversations_total", release=release) for release in ("evicted", "idle")] == [2, 0]


@pytest.mark.parametrize("reloads", [False, True], ids=["start", "reload"])
def test_one_that_may_have_begun_before_its_runs_were_collected_is_incomplete(tmp_path: Path, reloads: bool) -> None:
    bench = Bench(tmp_path, RULES.replace("scope: conversation, ", "") if reloads else RULES)
    bench.pipeline.ready()
    if reloads:
        (tmp_path / "rules.yaml").write_text(RULES)
        bench.pipeline.set_rules(load_rules([tmp_path / "rules.yaml"]))
    talk(bench, turn(17, "refund"))  # at 1020 seconds
    bench.wait(240)
    talk(bench, turn(22, "refund", conversation="c-2"))  # at 1320 seconds
    bench.wait(QUIET)
    assert undecided(events(bench)) == [("c-1", 0, "incomplete", ["truncated"]), ("c-2", 0, "fail", None)]


def test_one_of_which_runs_were_not_collected_between_two_reloads_is_incomplete(tmp_path: Path) -> None:
    bench = Bench(tmp_path, RULES)
    with_rule = bench.rules
    (tmp_path / "rules.yaml").write_text(RULES.replace("scope: conversation, ", ""))
    bench.pipeline.ready()
    bench.wait(320)
    talk(bench, turn(22, "look_up"))
    bench.pipeline.set_rules(load_rules([tmp_path / "rules.yaml"]))
    talk(bench, turn(23, "refund"))
    bench.pipeline.set_rules(with_rule)
    talk(bench, turn(24))
    bench.wait(QUIET)
    assert undecided(events(bench)) == [("c-1", 0, "incomplete", ["truncated"])]


# --- whose runs belong elsewhere, as later spans show

CALLED = data.agent(5, parent=2, name="billing", at=60.2, trace_id=bytes(15) + b"\1")
CALLED.flags = 0x300
CHARGE = data.tool(6, 5, "refund", at=60.3, trace_id=bytes(15) + b"\1")


def test_an_agent_that_was_scored_before_its_caller_was_known_joins_its_conversation(bench: Bench) -> None:
    bench.send(CHARGE, CALLED)
    bench.wait(10)
    talk(bench, turn(1, "look_up"), pause=QUIET)
    assert undecided(events(bench)) == [("c-1", 0, "pass", None)]
    runs = [(verdict.run.agent, verdict.revision) for verdict in bench.verdicts if verdict.scope == "run"]
    assert runs == [("billing", 0), ("helper", 0)], "where it belongs is no news about itself"


@pytest.mark.parametrize("crashes", [False, True])
def test_an_agent_that_named_another_conversation_leaves_it(tmp_path: Path, crashes: bool) -> None:
    life = Life(
        tmp_path, RULES.replace("scope: conversation, match: {agent: helper}", "scope: conversation, match: {}")
    )
    called = Span.FromString(CALLED.SerializeToString())
    called.attributes.extend(data.attributes({"gen_ai.conversation.id": "c-2"}))
    life.send(CHARGE, called)
    life.send(*turn(3, "look_up", "refund", conversation="c-2"))
    life.settle(QUIET)
    life.send(*turn(1, "look_up"))
    life.settle()
    if crashes:
        life.crash()
    life.settle(QUIET)
    assert sorted(undecided(life.events())) == [
        ("c-1", 0, "pass", None),
        ("c-2", 0, "fail", ["missing_remote_parent"]),
        ("c-2", 1, "pass", None),
    ]
    life.close()


def test_a_conversation_that_its_only_run_leaves_is_none(tmp_path: Path) -> None:
    life = Life(tmp_path, RULES)
    called = Span.FromString(CALLED.SerializeToString())
    called.attributes.extend(data.attributes({"gen_ai.conversation.id": "c-2"}))
    life.send(CHARGE, called)
    life.settle()
    life.send(*turn(1, "look_up"))
    life.settle()
    life.crash()
    life.settle(QUIET)
    assert undecided(life.events()) == [("c-1", 0, "pass", None)]
    assert life.rows()[0] == 3, "two runs and the mark of one conversation"
    life.close()


# --- across restarts, with a spool


def of_conversations(life: Life) -> list[tuple[Any, ...]]:
    names = ("gen_ai.conversation.id", "rightcall.revision", "gen_ai.evaluation.score.value", "log.record.uid")
    about = [event for event in life.events() if event.get("rightcall.scope") == "conversation"]
    return sorted(tuple(event[name] for name in names) for event in about)


def test_a_restart_between_two_turns_changes_nothing(tmp_path: Path) -> None:
    plain, crashed = Life(folder_in(tmp_path, "plain"), RULES), Life(folder_in(tmp_path, "crashed"), RULES)
    for life in (plain, crashed):
        life.send(*turn(1, "look_up"))
        life.settle()
        if life is crashed:
            life.crash()
        life.send(*turn(2, "refund"))
        life.settle()
        if life is crashed:
            life.crash()
        life.settle(QUIET)
        life.close()
    assert of_conversations(crashed) == of_conversations(plain)
    assert [event[2] for event in of_conversations(plain)] == [1.0]


def test_a_verdict_from_before_a_restart_is_not_given_again_but_revised(tmp_path: Path) -> None:
    life = Life(tmp_path, RULES)
    life.send(*turn(1, "look_up"))
    life.settle(QUIET)
    life.crash()
    life.settle(QUIET)
    life.send(*turn(2, "refund"))
    life.settle(QUIET)
    assert [event[1] for event in of_conversations(life)] == [0, 1]
    life.close()


def test_a_restart_remembers_which_forbidden_calls_were_counted(tmp_path: Path) -> None:
    life = Life(tmp_path, FORBIDS)
    life.send(*turn(1, "look_up"))
    life.settle(QUIET)
    assert forbidden(life) == [1, 0]
    life.crash()
    life.settle(QUIET)
    life.send(*turn(2, "look_up", "refund"))
    life.settle(QUIET)
    assert forbidden(life) == [0, 1], "the counters of a process begin at 0"
    life.close()


def test_a_crash_before_the_verdict_was_queued_makes_it_again(tmp_path: Path) -> None:
    life = Life(tmp_path, RULES)
    life.send(*turn(1, "look_up"))
    life.settle()
    life.wait(QUIET)
    life.crash()
    life.settle(QUIET)
    assert [event[1] for event in of_conversations(life)] == [0]
    life.close()


def test_conversations_forgotten_leave_nothing_behind(tmp_path: Path) -> None:
    life = Life(tmp_path, RULES, {"remember": 1})
    for number in range(1, 5):
        life.send(*turn(number, "look_up", conversation=f"c-{number}"))
        life.settle(QUIET)
    life.settle()
    assert life.rows()[0] == 2, "the run and the mark of the one remembered"
    life.close()


def test_a_restart_casts_no_doubt_on_conversations_that_begin_after_it(tmp_path: Path) -> None:
    life = Life(tmp_path, RULES)
    life.pipeline.ready()
    life.settle(QUIET)
    life.crash()
    life.pipeline.ready()
    life.send(*turn(24, "look_up"), *turn(25, "refund"))
    life.settle(QUIET)
    assert undecided(life.events()) == [("c-1", 0, "pass", None)]
    life.close()


@pytest.mark.parametrize(
    ("down", "label", "doubts"),
    [(5, "fail", None), (6, "incomplete", ["truncated"]), (60, "incomplete", ["truncated"])],
)
def test_one_that_is_open_while_the_process_is_down_for_long_may_lack_a_turn(
    tmp_path: Path, down: float, label: str, doubts: object
) -> None:
    life = Life(tmp_path, RULES)
    life.pipeline.ready()
    life.settle(QUIET)
    life.send(*turn(24, "look_up"))
    life.settle()
    for seconds in (down, 1):
        life.clock.seconds += seconds
        life.crash()
        life.pipeline.ready()
        life.settle()
    life.settle(QUIET)
    assert undecided(life.events()) == [("c-1", 0, label, doubts)]
    life.close()


def test_one_that_goes_on_after_it_was_evicted_and_a_restart_is_incomplete(tmp_path: Path) -> None:
    life = Life(tmp_path, RULES, {"max_open": 1})
    life.pipeline.ready()
    life.settle(QUIET)
    life.send(*turn(24, "look_up"))
    life.settle()
    life.send(*turn(25, conversation="c-2"))
    life.settle()
    life.crash()
    life.pipeline.ready()
    life.send(*turn(26, "refund"))
    life.settle(QUIET)
    assert undecided(life.events())[-1] == ("c-1", 0, "incomplete", ["truncated"])
    life.close()


def test_that_one_lacks_its_beginning_outlives_a_crash(tmp_path: Path) -> None:
    life = Life(tmp_path, RULES, {"remember": 0})
    life.send(*turn(1, "look_up"))
    life.settle(QUIET)
    life.send(*turn(2, "refund"))
    life.settle()
    life.crash()
    life.settle(QUIET)
    assert undecided(life.events()) == [("c-1", 0, "fail", None), ("c-1", 1, "incomplete", ["truncated"])]
    life.close()


def test_since_when_runs_are_collected_is_forgotten_with_the_last_rule_for_them(tmp_path: Path) -> None:
    life = Life(tmp_path, RULES)
    for text, expected in ((RULES, 1), (RULES.replace("scope: conversation, ", ""), 0)):
        (tmp_path / "rules.yaml").write_text(text)
        life.crash()
        life.pipeline.ready()
        life.write()
        assert life.file is not None
        assert [kind for _, kind, _ in life.file.inbox()].count(RecordKind.COLLECTED_FROM) == expected
    life.close()


def test_damaged_records_of_conversations_are_left_out_and_counted(tmp_path: Path) -> None:
    life = Life(tmp_path, RULES)
    life.send(*turn(1, "look_up"))
    life.settle()
    change = Change()
    change.inserts["inbox"] = [(900, 3, b"{"), (901, 4, b"[]"), (902, 3, b"\xff")]
    assert life.file is not None
    life.file.apply(change)
    life.crash()
    labels = {"stage": "spool", "reason": "unreadable"}
    assert value(life.telemetry, "dropped_spans_total", **labels) == 3
    life.settle(QUIET)
    assert [event[0] for event in of_conversations(life)] == ["c-1"]
    life.close()


@pytest.mark.parametrize("crashes", [False, True])
def test_a_run_that_was_collected_before_its_agents_span_came_is_in_it_once(tmp_path: Path, crashes: bool) -> None:
    rules = RULES.replace("match: {agent: helper}, expect: {sequence", "match: {}, expect: {sequence")
    life = Life(tmp_path, rules)
    look_up, refund, agent = turn(1, "look_up", "refund")
    look_up.attributes.extend(data.attributes({"gen_ai.conversation.id": "c-1"}))
    life.send(look_up)
    life.settle(40)
    life.send(refund, agent)
    life.settle()
    if crashes:
        life.crash()
    life.settle(QUIET)
    assert undecided(life.events()) == [("c-1", 0, "pass", None)]
    life.close()


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_whenever_crashes_come_conversations_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, choice: random.Random
) -> None:
    """Turns of two conversations, cut into requests anywhere, with a crash before or after any of them."""
    folder, quiet = tmp_path_factory.mktemp("lives"), {"idle_timeout": 20}
    # Closed also where hypothesis ends an example early.
    with (
        closing(Life(folder_in(folder, "plain"), RULES, quiet)) as plain,
        closing(Life(folder_in(folder, "crashed"), RULES, quiet)) as crashed,
    ):
        for number in range(1, 6):
            spans = turn(number, *choice.choices(["look_up", "refund"], k=2), conversation=f"c-{number % 2}")
            choice.shuffle(spans)
            send_to_both(plain, crashed, spans, choice, 3)
            if choice.random() < 0.6:
                for life in (plain, crashed):
                    life.settle()
        for life in (plain, crashed):
            life.settle()
            life.settle(25)
    assert of_conversations(crashed) == of_conversations(plain)
    assert {event[0] for event in of_conversations(plain)} == {"c-0", "c-1"}


LIMITED = RULES.replace("sequence: [look_up, refund]", "sequence: [look_up, refund], forbid: [delete_all]")


def verdicts(bench: Bench) -> list[tuple[str | None, str, int, int]]:
    """Rule, label, number of the trace that it is anchored at, and how many calls it covers."""
    found = [verdict for verdict in bench.verdicts if verdict.scope == "conversation"]
    return [(one.rule, one.label, one.run.trace_id[-1], len(one.run.trajectory.calls)) for one in found]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([["look_up", "refund", "x"]], ("order", "incomplete", 1, 2)),
        ([["look_up", "x", "refund"], ["refund"]], ("order", "incomplete", 1, 2)),
        ([["look_up"], ["refund", "x"], []], ("order", "incomplete", 1, 2)),
        ([["look_up", "delete_all", "x"], ["refund"]], ("order", "fail", 1, 2)),
        ([["look_up"], ["delete_all", "x"]], ("order", "fail", 1, 2)),
    ],
    ids=["the only run", "the first", "the second", "a forbidden call is seen", "in the second, too"],
)
def test_a_run_with_too_many_calls_is_kept_with_its_first_ones(
    tmp_path: Path, turns: list[list[str]], expected: tuple[str, str, int, int]
) -> None:
    bench = Bench(tmp_path, LIMITED, conversations={"max_calls": 2})
    talk(bench, *[turn(number, *tools) for number, tools in enumerate(turns, 1)])
    bench.wait(QUIET)

    assert verdicts(bench) == [expected]
    (event,) = events(bench)
    assert "truncated" in event["rightcall.doubts"]


def test_the_run_that_begins_a_conversation_selects_the_rule_though_there_is_room_for_none_of_its_calls(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, LIMITED, conversations={"max_calls": 2})
    late = turn(1, "look_up", agent="other")
    talk(bench, turn(2, "look_up", "refund"), late)
    bench.wait(QUIET)

    assert verdicts(bench) == [], "no rule is for the agent that the user asked first"


def test_a_run_beyond_the_limits_makes_no_revision_of_a_verdict_that_says_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path, LIMITED, conversations={"max_calls": 2})
    talk(bench, turn(1, "look_up", "refund"))
    bench.wait(QUIET)
    for number in (20, 40, 60):
        bench.send(*turn(number, "x"))
        bench.wait(QUIET)

    assert [(verdict[1], verdict[3]) for verdict in verdicts(bench)] == [("pass", 2), ("incomplete", 2)]


def test_what_was_cut_of_a_run_is_cut_after_a_restart(tmp_path: Path) -> None:
    life = Life(tmp_path, LIMITED, {"max_calls": 2})
    life.send(*turn(1, "look_up", "refund", "x"))
    life.settle()
    life.crash()
    life.settle(QUIET)

    assert undecided(life.events()) == [("c-1", 0, "incomplete", ["truncated"])]
    life.close()
