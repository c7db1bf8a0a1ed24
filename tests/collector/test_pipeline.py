"""The pipeline without sockets: requests in, requests out, time moved by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client import generate_latest

from collector.assembly.trace import Trace
from collector.component import ExportRequest
from collector.config.exporters import SendingQueueConfig
from collector.config.model import Config
from collector.delivery.sending_queue import SendingQueue
from collector.errors import CollectorError, DecodeError
from collector.offline import report
from collector.otlp import lazy
from collector.otlp.structure import Envelope
from collector.pipeline import Pipeline
from collector.results.results import Results
from collector.runs.rows import row_of
from collector.scoring import embeddings
from collector.scoring.rule_files import load_rules
from collector.scoring.select_and_score import Scored, Scoring
from collector.scoring.verdict import Verdict
from collector.telemetry.blind_spots import blind_spots
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.harness import WEATHER_RULES, Bench
from tests.sinks import ManualClock
from tests.strategies import hostile_text


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


GOOD_RUN = (
    data.span(9, parent=2, at=0.1),
    data.tool(2, 1, "get_weather", at=0.1),
    data.tool(3, 1, "send_email", at=0.2),
    data.agent(1),
)


def test_other_spans_leave_at_once_and_held_ones_with_their_verdict(bench: Bench) -> None:
    bench.send(*GOOD_RUN)
    assert [span.span_id for span in bench.out()] == [data.span_id(9)]
    bench.wait(3)
    assert sorted(span.span_id for span in bench.out()) == [data.span_id(number) for number in (1, 2, 3, 9)]


def test_the_anchor_and_the_tools_are_annotated(bench: Bench) -> None:
    bench.send(*GOOD_RUN)
    bench.wait(3)
    spans = {span.span_id: data.values_of(span) for span in bench.out()}
    anchor = spans[data.span_id(1)]
    assert (anchor["rightcall.rule"], anchor["rightcall.complete"]) == ("weather", True)
    assert (anchor["rightcall.trajectory.score"], anchor["rightcall.trajectory.label"]) == (1.0, "pass")
    assert (anchor["gen_ai.evaluation.name"], anchor["gen_ai.evaluation.score.value"]) == ("trajectory", 1.0)
    assert (anchor["rightcall.missing_tools"], anchor["rightcall.extra_tools"]) == ([], [])
    assert spans[data.span_id(2)]["rightcall.outcome"] == "matched"
    assert not any(key.startswith("rightcall.") for key in spans[data.span_id(9)])


def test_one_event_an_evaluation_joined_to_the_anchor(bench: Bench) -> None:
    bench.send(*GOOD_RUN)
    bench.wait(3)
    (event,) = bench.out("logs")
    assert (event.event_name, event.trace_id, event.span_id) == (
        "gen_ai.evaluation.result",
        data.TRACE,
        data.span_id(1),
    )
    said = data.values_of(event)
    assert (said["gen_ai.evaluation.name"], said["gen_ai.evaluation.score.label"]) == ("trajectory", "pass")
    assert (said["rightcall.rule"], said["rightcall.revision"], said["gen_ai.agent.name"]) == ("weather", 0, "helper")
    assert len(said["log.record.uid"]) == 64


def test_verdicts_are_counted(bench: Bench) -> None:
    bench.send(*GOOD_RUN)
    bench.wait(3)
    labels = {"rule": "weather", "route": "", "intent": "", "scorer": "trajectory"}
    assert bench.value("evaluations_total", **labels, label="pass") == 1
    assert bench.value("evaluation_score_sum", **labels) == 1
    assert bench.value("tool_calls_total", rule="weather", tool="get_weather", outcome="matched") == 1
    assert bench.value("runs_total", release="root") == 1
    assert bench.value("receiver_accepted_spans_total", receiver="otlp", transport="grpc") == 4


def test_verdicts_that_follow_at_once_are_counted_together_and_soon(bench: Bench) -> None:
    def counted() -> tuple[float, float]:
        return bench.value("runs_total", release="root"), bench.value("scoring_seconds_count")

    bench.send(data.tool(2, 1, "get_weather"), data.agent(1))
    bench.clock.seconds += 0.0625
    other = bytes(range(2, 18))
    bench.send(data.tool(2, 1, "get_weather", trace_id=other), data.agent(1, trace_id=other))
    bench.clock.seconds += 1.9375
    bench.pipeline.advance()
    assert (len(bench.verdicts), counted()) == (1, (1, 1))
    bench.clock.seconds += 0.0625
    pause = bench.pipeline.advance()
    assert (len(bench.verdicts), counted()) == (2, (1, 1))
    assert 0 < pause < 0.0625
    bench.clock.seconds += pause
    bench.pipeline.advance()
    assert counted() == (2, 2)


def test_what_a_bad_run_lacks_and_adds(bench: Bench) -> None:
    bench.send(data.tool(2, 1, "get_weather", at=0.1), data.tool(3, 1, "delete_all", at=0.2), data.agent(1))
    bench.wait(7)
    spans = {span.span_id: data.values_of(span) for span in bench.out()}
    anchor = spans[data.span_id(1)]
    assert anchor["gen_ai.evaluation.score.label"] == "fail"
    assert anchor["gen_ai.evaluation.score.value"] == 0.5
    assert (anchor["rightcall.missing_tools"], anchor["rightcall.extra_tools"]) == (["send_email"], ["delete_all"])
    assert spans[data.span_id(3)]["rightcall.outcome"] == "extra"


def test_a_request_without_agents_goes_on_as_the_bytes_it_was(bench: Bench) -> None:
    request = data.traces(data.span(2, parent=1), data.span(1, http__route="/x")).SerializeToString()
    bench.pipeline.receive("traces", request, "grpc")
    assert [sent.payload for sent in bench.queue.pending()] == [request]


@pytest.mark.parametrize("signal", ["metrics", "logs"])
def test_metrics_and_logs_pass_through(bench: Bench, signal: Any) -> None:
    request = data.logs(
        LogRecord(event_name="gen_ai.choice", trace_id=data.TRACE, span_id=b"12345678")
    ).SerializeToString()
    bench.pipeline.receive(signal, request, "http")
    assert [(sent.signal, sent.payload) for sent in bench.queue.pending()] == [(signal, request)]


def test_a_run_without_a_rule_says_so_on_its_anchor_and_is_counted(bench: Bench) -> None:
    tool, agent = data.tool(2, 1, "x"), data.agent(1, name="stranger")
    bench.send(tool, agent)
    bench.wait(3)
    first, anchor = bench.out()
    assert first == tool
    assert data.values_of(anchor) == data.values_of(agent) | {
        "rightcall.complete": True,
        "rightcall.rule": "",
        "rightcall.unscored_reason": "no_rule",
        "rightcall.closest_rule": "weather",
        "rightcall.closest_rule.mismatches": ["agent"],
    }
    assert bench.out("logs") == []
    assert bench.value("runs_unscored_total", reason="no_rule", route="", agent="stranger") == 1


def test_a_run_whose_anchor_never_comes_is_released_idle_and_not_counted(bench: Bench, tmp_path: Path) -> None:
    bench = Bench(tmp_path, WEATHER_RULES.replace("{agent: helper}", "{}"))
    bench.send(data.tool(2, 1, "get_weather"))
    bench.wait(29)
    assert bench.out() == []
    bench.wait(2)
    (span,) = bench.out()
    assert data.values_of(span)["rightcall.complete"] is False
    assert bench.value("runs_total", release="idle") == 1
    assert data.values_of(span)["rightcall.doubts"] == ["missing_anchor", "unknown_route"]
    assert bench.value("runs_unscored_total", reason="missing_anchor", route="", agent="") == 1
    assert data.values_of(bench.out("logs")[0])["rightcall.complete"] is False


def test_the_route_of_a_server_span_that_comes_later_is_waited_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path, WEATHER_RULES.replace("{agent: helper}", "{route: /chat}"))
    bench.send(data.tool(2, 1, "get_weather", at=0.1), data.tool(3, 1, "send_email", at=0.2), data.agent(1, parent=7))
    bench.wait(5)
    assert bench.verdicts == []
    bench.send(data.span(7, http__route="/chat"))
    bench.wait(3)
    assert [(verdict.rule, verdict.run.route, verdict.complete) for verdict in bench.verdicts] == [
        ("weather", "/chat", True)
    ]


def called(number: int, parent: int, kind: Span.SpanKind.ValueType, flags: int) -> Span:
    """What a service does first when it is called: nothing in it is about agents, nor has it a route."""
    span = data.span(number, parent, name="Agent/Run")
    span.kind, span.flags = kind, flags
    return span


@pytest.mark.parametrize(
    "entry",
    [
        called(7, 99, Span.SPAN_KIND_SERVER, 0),
        called(7, 99, Span.SPAN_KIND_SERVER, 0x1),
        called(7, 99, Span.SPAN_KIND_INTERNAL, 0x301),
    ],
    ids=["by kind", "by kind, sampled", "by flags"],
)
def test_a_caller_that_never_comes_here_is_not_waited_for(tmp_path: Path, entry: Span) -> None:
    tools = (data.tool(2, 1, "get_weather", at=0.1), data.tool(3, 1, "send_email", at=0.2))
    bench = Bench(tmp_path, WEATHER_RULES.replace("{agent: helper}", "{}"))
    bench.send(*tools, data.agent(1, parent=7), entry)
    bench.wait(3)
    assert [(verdict.release, verdict.complete) for verdict in bench.verdicts] == [("root", True)]
    without_agent = Bench(tmp_path, WEATHER_RULES.replace("{agent: helper}", "{}"))
    without_agent.send(data.tool(2, 7, "get_weather", at=0.1), data.tool(3, 7, "send_email", at=0.2), entry)
    without_agent.wait(3)
    (verdict,) = without_agent.verdicts
    assert (verdict.release, verdict.complete, verdict.run.span_id) == ("root", True, data.span_id(7))


def test_a_caller_in_the_same_process_is_waited_for(bench: Bench) -> None:
    bench.send(*GOOD_RUN[:-1], data.agent(1, parent=7), called(7, 99, Span.SPAN_KIND_SERVER, 0x101))
    bench.wait(5)
    assert bench.verdicts == []
    bench.wait(30)
    assert [(verdict.release, verdict.complete) for verdict in bench.verdicts] == [("idle", True)]


def test_a_late_call_revises_the_event_and_counts_once(bench: Bench) -> None:
    bench.send(data.tool(2, 1, "get_weather", at=0.1), data.agent(1))
    bench.wait(7)
    assert bench.verdicts[0].evaluations[0].score.label == "fail"
    bench.send(data.tool(3, 1, "send_email", at=0.2))
    assert data.span_id(3) in [span.span_id for span in bench.out()], "late spans are passed on at once"
    bench.wait(3)
    first, second = (data.values_of(event) for event in bench.out("logs"))
    assert (first["rightcall.revision"], second["rightcall.revision"]) == (0, 1)
    assert (first["gen_ai.evaluation.score.label"], second["gen_ai.evaluation.score.label"]) == ("fail", "pass")
    assert first["log.record.uid"] != second["log.record.uid"]
    assert bench.value("late_spans_total") == 1
    assert bench.value("runs_total", release="root") == 1


def test_a_late_span_that_tells_the_arguments_of_a_call_revises_the_verdict(tmp_path: Path) -> None:
    rules = "rules: [{name: weather, match: {}, expect: {tool: get_weather, arguments: {city: Paris}}}]"
    bench = Bench(tmp_path, rules)
    bench.send(data.tool(2, 1, "get_weather", at=0.1), data.agent(1))
    bench.wait(7)
    server: dict[str, Any] = {
        "gen_ai__operation__name": "execute_tool",
        "gen_ai__tool__name": "get_weather",
        "gen_ai__tool__call__id": "call_2",
        "gen_ai__tool__call__arguments": '{"city": "London"}',
    }
    bench.send(data.span(3, 2, "tools/call get_weather", 0.1, **server))
    bench.wait(7)
    assert [(verdict.revision, verdict.label) for verdict in bench.verdicts] == [(0, "pass"), (1, "fail")]
    assert [len(verdict.run.trajectory.calls) for verdict in bench.verdicts] == [1, 1]


def test_a_late_span_that_settles_a_doubt_decides_the_run(bench: Bench) -> None:
    chat: dict[str, Any] = {"gen_ai__operation__name": "chat"}
    bench.send(*GOOD_RUN, data.span(6, 5, "chat", 0.15, **chat))
    bench.wait(40)
    bench.send(data.span(5, 1, "chat", 0.15, **chat))
    bench.wait(7)
    given = [(verdict.revision, verdict.label) for verdict in bench.verdicts if verdict.rule is not None]
    assert given == [(0, "incomplete"), (1, "pass")]
    assert bench.value("verdict_revisions_total", before="incomplete", after="pass") == 1


def test_every_turn_of_a_session_has_a_verdict_or_is_counted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces={"max_spans": 9})
    for turn in range(1, 11):
        first = 10 * turn
        tools = [data.tool(first + at, first, name) for at, name in ((1, "get_weather"), (2, "send_email"))]
        bench.send(*tools, data.agent(first, parent=1, at=turn, flags=0x301))
        bench.wait(40)

    assert len(bench.verdicts) == 3
    assert bench.value("runs_unscored_total", reason="max_spans", route="", agent="helper") == 7
    assert len(bench.out()) == 30
    assert bench.pipeline.open_traces == 0
    bench.send(data.agent(110, parent=1, at=11, flags=0x301))
    assert bench.pipeline.open_traces == 0, "a span that is not kept opens nothing"


def test_duplicates_change_nothing(bench: Bench) -> None:
    for _ in range(3):
        bench.send(*GOOD_RUN[1:])
    bench.wait(3)
    bench.send(*GOOD_RUN[1:])
    bench.wait(3)
    assert sorted(span.span_id for span in bench.out()) == [data.span_id(number) for number in (1, 2, 3)]
    assert [verdict.evaluations[0].score.value for verdict in bench.verdicts] == [1.0]
    assert bench.value("dropped_spans_total", stage="assembly", reason="duplicate") == 9


@pytest.mark.parametrize("ended_first", [False, True])
def test_a_span_sent_as_it_began_and_as_it_ended_counts_and_leaves_as_it_ended(
    bench: Bench, *, ended_first: bool
) -> None:
    begun = data.tool(3, 1, "send_email", at=0.2)
    begun.end_time_unix_nano = 0
    ended = data.tool(3, 1, "send_email", at=0.2, gen_ai__tool__call__arguments='{"to": "Ada"}')
    for span in sorted([begun, ended], key=lambda span: span is begun if ended_first else span is ended):
        bench.send(span)
    bench.send(data.tool(2, 1, "get_weather", at=0.1), data.agent(1))
    bench.wait(3)
    (verdict,) = bench.verdicts
    assert [call.arguments for call in verdict.run.trajectory.calls] == [None, {"to": "Ada"}]
    assert [span.end_time_unix_nano for span in bench.out() if span.span_id == data.span_id(3)] == [
        ended.end_time_unix_nano
    ]
    assert bench.value("dropped_spans_total", stage="assembly", reason="duplicate") == 1


def test_a_span_that_ends_after_the_verdict_revises_it(bench: Bench) -> None:
    begun = data.tool(2, 1, "send_email", at=0.1)
    begun.end_time_unix_nano = 0
    ended = data.tool(2, 1, "get_weather", at=0.1)  # some give the name only then
    bench.send(begun, data.tool(3, 1, "send_email", at=0.2), data.agent(1))
    bench.wait(10)
    bench.send(ended)
    bench.wait(10)
    assert [(verdict.label, verdict.revision) for verdict in bench.verdicts] == [("fail", 0), ("pass", 1)]
    assert [span.name for span in bench.out() if span.span_id == data.span_id(2)] == [begun.name, ended.name]


def test_draining_scores_what_is_open(bench: Bench) -> None:
    bench.send(*GOOD_RUN)
    bench.pipeline.drain("shutdown")
    assert [(verdict.release, verdict.complete) for verdict in bench.verdicts] == [("shutdown", True)]
    assert len(bench.out()) == 4


def test_too_many_traces_evict_the_one_quiet_longest(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces={"max_open": 2})
    for number in range(3):
        trace_id = bytes([number + 1]) * 16
        bench.send(data.tool(2, 1, "get_weather", trace_id=trace_id), data.agent(1, trace_id=trace_id))
    assert [(verdict.run.trace_id[0], verdict.release) for verdict in bench.verdicts] == [(1, "evicted")]
    assert bench.value("traces_open") == 2


def test_with_a_fifth_too_many_agents_most_runs_are_whole(tmp_path: Path) -> None:
    agents, most = 24, 20
    bench = Bench(tmp_path, traces={"max_open": most})
    trace_ids = [bytes([number + 1]) * 16 for number in range(agents)]
    for step in range(6):
        for trace_id in trace_ids:
            bench.send(data.tool(step + 2, 1, "get_weather", at=step, trace_id=trace_id))
            bench.wait(0.25)
    for trace_id in trace_ids:
        bench.send(data.agent(1, trace_id=trace_id))
    bench.wait(5)
    evicted = {verdict.run.trace_id for verdict in bench.verdicts if verdict.release == "evicted"}
    assert len(evicted) <= agents - most + 1
    assert {verdict.run.trace_id for verdict in bench.verdicts if verdict.release == "root"} >= {*trace_ids} - evicted


def test_a_span_that_is_not_protobuf_is_rejected_and_the_rest_taken(bench: Bench) -> None:
    good = data.traces(data.span(2, parent=1), data.span(3, parent=1)).SerializeToString()
    bad = good.replace(data.span(3, parent=1).SerializeToString()[:30], b"\xff" * 30)
    assert bench.pipeline.receive("traces", bad, "http").count == 1
    assert [span.span_id for span in bench.out()] == [data.span_id(2)]
    with pytest.raises(DecodeError):
        bench.pipeline.receive("traces", b"\x0a\x02\xff\xff", "http")


def test_rules_can_be_replaced_while_traces_are_open(bench: Bench, tmp_path: Path) -> None:
    bench.send(*GOOD_RUN)
    (tmp_path / "new.yaml").write_text(WEATHER_RULES.replace("weather\n", "renamed\n"))
    bench.pipeline.set_rules(load_rules([tmp_path / "new.yaml"]))
    bench.wait(3)
    assert [verdict.rule for verdict in bench.verdicts] == ["renamed"]


TEMPLATE = data.traces(*GOOD_RUN).SerializeToString()


@given(st.integers(0, len(TEMPLATE) - 1), st.binary(min_size=1, max_size=4))
def test_a_mutated_request_gives_verdicts_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, at: int, noise: bytes
) -> None:
    bench = Bench(tmp_path_factory.getbasetemp())
    try:
        bench.pipeline.receive("traces", TEMPLATE[:at] + noise + TEMPLATE[at + len(noise) :], "grpc")
    except CollectorError:
        return
    bench.pipeline.drain("shutdown")
    assert bench.value("runs_unscored_total", reason="internal", route="", agent="") == 0


def test_an_attribute_that_is_none_is_kept_and_does_no_harm(bench: Bench) -> None:
    """An annotated span is searched for attributes under our names, which a sender may have written as it likes."""
    good = data.agent(1, rightcall__rule="mine").SerializeToString()
    key = good.index(b"rightcall.rule")
    broken = good[: key - 1] + b"\x7f" + good[key:]
    bench.pipeline.receive("traces", _with_span(broken), "grpc")
    bench.wait(31)
    assert bench.value("runs_unscored_total", reason="internal", route="", agent="") == 0
    assert any(broken[-20:] in sent.payload for sent in bench.queue.pending())


@pytest.mark.parametrize("parent", [b"", bytes(8)])
def test_a_root_is_one_whatever_stands_for_its_parent(tmp_path: Path, parent: bytes) -> None:
    chat = "{name: chat, match: {route: /chat}, expect: {sequence: [get_weather]}}"
    bench = Bench(
        tmp_path, f"rules:\n  - {chat}\n  - {{name: other, match: {{}}, expect: {{sequence: [get_weather]}}}}\n"
    )
    root = data.agent(1)
    root.parent_span_id = parent
    bench.send(data.tool(2, 1, "get_weather"), root)
    bench.wait(3)
    assert [(verdict.rule, verdict.label, verdict.release) for verdict in bench.verdicts] == [("other", "pass", "root")]


def test_what_an_earlier_collector_wrote_is_no_evidence(tmp_path: Path) -> None:
    """`rightcall.outcome: forbidden` is a verdict, and no word of the tool that the call was denied."""
    rules = "rules:\n  - {name: r, match: {agent: helper}, expect: {sequence: [look_up], forbid: [delete_order]}}\n"
    first, second = Bench(tmp_path, rules), Bench(tmp_path, rules)
    first.send(data.tool(2, 1, "look_up"), data.tool(3, 1, "delete_order", at=1), data.agent(1))
    first.wait(3)
    second.send(*first.out())
    second.wait(3)
    before, after = (
        [(verdict.label, verdict.outcomes, verdict.doubts, verdict.run.trajectory.calls) for verdict in bench.verdicts]
        for bench in (first, second)
    )
    assert [label for label, *_ in before] == ["fail"]
    assert after == before


def _with_span(raw: bytes) -> bytes:
    """A request with one span of any bytes."""
    return lazy.join([(Envelope(b"", b""), [raw])])


def test_a_trace_waits_for_the_texts_it_needs_and_leaves_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words first, since they show the intent that selects the rule; then the argument that rule looks at."""
    known: set[str] = set()
    asked: list[set[str]] = []

    def ahead(texts: Iterable[str]) -> float:
        unknown = set(texts) - known
        asked.append(unknown)
        return 0.5 if unknown else 0.0

    monkeypatch.setattr(embeddings, "installed", lambda: lambda text: [1.0, 0.0] if "back" in text else [0.0, 1.0])
    means = {"tool": "note", "arguments": {"text": {"semantic": "give it back"}}}
    rule = {"name": "refund", "match": {"intent": "refund"}, "expect": {"sequence": [means]}}
    rules = {"rules": [rule], "intents": [{"name": "refund", "examples": ["money back"]}]}
    bench = Bench(tmp_path, json.dumps(rules), embed_ahead=ahead)
    words = '[{"role": "user", "parts": [{"type": "text", "content": "I want it back"}]}]'
    note = data.tool(2, 1, "note", at=0.1, gen_ai__tool__call__arguments='{"text": "take it back"}')
    bench.send(note, data.agent(1, gen_ai__input__messages=words))
    bench.wait(3)
    assert (bench.out(), asked[-1]) == ([], {"I want it back"})
    known.add("I want it back")
    bench.wait(1)
    assert (bench.out(), asked[-1]) == ([], {"take it back"})
    known.add("take it back")
    bench.wait(1)
    assert [verdict.evaluations[0].score.value for verdict in bench.verdicts] == [1.0]
    assert len(bench.out()) == 2


def test_who_drains_waits_for_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "installed", lambda: lambda _: [1.0])
    bench = Bench(tmp_path, "intents: [{name: refund, examples: [money back]}]", embed_ahead=lambda _: 1.0)
    bench.send(*GOOD_RUN)
    bench.wait(10)
    assert bench.verdicts == []
    bench.pipeline.drain("shutdown")
    assert len(bench.verdicts) == 1


FORBIDDING = """
rules:
  - {name: careful, match: {}, expect: {any_order: [{optional: search}], allow_extra: ["*"], forbid: ["delete_*"]}}
"""


@pytest.mark.parametrize("name", ["delete_all", "delete_\\ud800", "delete_\\uDFFF"])
def test_a_name_that_is_no_unicode_evades_no_rule(tmp_path: Path, name: str) -> None:
    bench = Bench(tmp_path, FORBIDDING)
    call = '{"type": "tool_call", "id": "c1", "name": "' + name + '", "arguments": {}}'
    output = '[{"role": "assistant", "parts": [' + call + "]}]"
    told = output[:-1] + ', {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "ok"}]}]'
    asked = data.span(2, 1, "chat", gen_ai__operation__name="chat", gen_ai__output__messages=output)
    answered = data.span(
        3, 1, "chat", at=0.1, gen_ai__operation__name="chat", gen_ai__input__messages=told,
        gen_ai__response__finish_reasons=["stop"],
    )  # fmt: skip
    bench.send(data.agent(1), asked, answered)
    bench.wait(3)
    (event,) = [data.values_of(record) for record in bench.out("logs")]
    assert event["gen_ai.evaluation.score.label"] == "fail"
    (anchor,) = [data.values_of(span) for span in bench.out() if span.span_id == data.span_id(1)]
    assert anchor["rightcall.extra_tools"] == [name.replace("\\ud800", "\ufffd").replace("\\uDFFF", "\ufffd")]
    assert generate_latest(bench.telemetry.registry)


@settings(max_examples=40)
@given(hostile_text, hostile_text, st.booleans())
def test_whatever_agents_and_tools_are_called_every_run_has_a_verdict(
    tmp_path_factory: pytest.TempPathFactory, name: str, value: str, as_repr: bool
) -> None:
    """Names in JSON and in Python's notation, as arguments, in messages, and as the user's words."""
    bench = Bench(tmp_path_factory.getbasetemp(), FORBIDDING)
    write: Callable[[Any], str] = repr if as_repr else json.dumps
    call = {
        "type": "tool_call",
        "id": value,
        "name": f"delete_{name}",
        "arguments": {name: [value], value: write({name: value})},
    }
    output = write([{"role": "assistant", "parts": [call]}])
    asked = write([{"role": "user", "parts": [{"type": "text", "content": name}]}])
    model = data.span(
        2, 1, gen_ai__operation__name="chat", gen_ai__output__messages=output, gen_ai__input__messages=asked
    )
    sent = name.encode("utf-8", "replace").decode()
    tool = data.tool(3, 1, f"delete_{sent}", gen_ai__tool__call__arguments=write({name: value}))
    bench.send(model, tool, data.agent(1, name=sent, rightcall__route=sent, gen_ai__conversation__id=sent))
    bench.pipeline.drain("shutdown")
    assert [verdict.label for verdict in bench.verdicts] == ["fail"]
    assert [span.span_id for span in bench.out()]
    assert [data.values_of(record)["gen_ai.evaluation.score.label"] for record in bench.out("logs")] == ["fail"]
    assert generate_latest(bench.telemetry.registry)
    assert "".join(report.jsonl([row_of(verdict) for verdict in bench.verdicts])).encode()


UNSCORED = {"rule": "", "route": "", "intent": "", "scorer": "trajectory", "label": "error"}


def broken(*_: object) -> Any:
    raise ZeroDivisionError("\x1b[2J\ud800")


def broken_for_rules(self: Results, trace: Trace, verdicts: list[Verdict]) -> Any:
    return broken() if any(verdict.rule for verdict in verdicts) else OF_TRACE(self, trace, verdicts)


OF_TRACE = Results.of_trace


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("collector.trace_evaluation.plain_run", broken),
        ("collector.pipeline.Scoring.verdicts_of", broken),
        ("collector.pipeline.Results.of_trace", broken_for_rules),
    ],
    ids=["reconstruction", "scoring", "results"],
)
@pytest.mark.parametrize("how", ["settled", "drained"])
def test_a_run_that_cannot_be_scored_gets_an_error_evaluation(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, where: str, fault: Callable[..., Any], how: str
) -> None:
    monkeypatch.setattr(where, fault)
    bench.send(*GOOD_RUN)
    bench.wait(3) if how == "settled" else bench.pipeline.drain("shutdown")
    assert len(bench.out()) == 4
    (event,) = bench.out("logs")
    assert event.span_id == data.span_id(1)
    said = data.values_of(event)
    assert (said["gen_ai.evaluation.score.label"], said["error.type"]) == ("error", "ZeroDivisionError")
    assert said["gen_ai.evaluation.explanation"].endswith("\\x1b[2J\\ud800")
    (anchor,) = [data.values_of(span) for span in bench.out() if span.span_id == data.span_id(1)]
    assert (anchor["rightcall.unscored_reason"], anchor["rightcall.trajectory.label"]) == ("internal", "error")
    assert (anchor["rightcall.complete"], said["rightcall.complete"]) == (False, False)
    assert (bench.value("traces_open"), bench.value("evaluations_total", **UNSCORED)) == (0, 1)
    assert bench.value("runs_unscored_total", reason="internal", route="", agent="") == 1
    assert bench.value("runs_total", release="root" if how == "settled" else "shutdown") == 1


def test_a_run_that_could_not_be_scored_is_scored_when_a_late_span_arrives(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as faults:
        faults.setattr(Scoring, "verdicts_of", broken)
        bench.send(*GOOD_RUN[:2], data.agent(1))
        bench.wait(3)
    bench.send(GOOD_RUN[2])
    bench.wait(3)
    events = [data.values_of(record) for record in bench.out("logs")]
    labels = [(event["rightcall.revision"], event["gen_ai.evaluation.score.label"]) for event in events]
    assert labels == [(0, "error"), (1, "pass")]
    assert bench.value("verdict_revisions_total", before="error", after="pass") == 1


def test_traces_that_cannot_be_scored_are_all_counted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scoring, "verdicts_of", broken)
    for number in range(1, 6):
        trace = bytes([number] * 16)
        bench.send(data.tool(2, 1, "get_weather", trace_id=trace), data.agent(1, trace_id=trace))
    bench.wait(3)
    assert bench.value("evaluations_total", **UNSCORED) == 5


def test_a_trace_that_cannot_be_scored_takes_no_other_with_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts_of = Scoring.verdicts_of

    def broken_for_one(scoring: Scoring, trace: Trace, *rest: Any) -> Scored:
        return broken() if trace.trace_id == bytes([2] * 16) else verdicts_of(scoring, trace, *rest)

    monkeypatch.setattr(Scoring, "verdicts_of", broken_for_one)
    spans = []
    for number in range(1, 4):
        trace = bytes([number] * 16)
        spans += [data.tool(2, 1, "get_weather", trace_id=trace), data.tool(3, 1, "send_email", 0.2, trace_id=trace)]
        spans.append(data.agent(1, trace_id=trace))
    bench.send(*spans)
    bench.wait(3)
    labels = {verdict.run.trace_id[0]: verdict.label for verdict in bench.verdicts}
    assert labels == {1: "pass", 2: "error", 3: "pass"}
    assert len(bench.out()) == 9


class ExpensiveClock(ManualClock):
    """A clock by which everything takes a while: ``step`` seconds from each look at it to the next."""

    step = 0.001

    def _now(self) -> float:
        self.seconds += self.step
        return self.seconds


@pytest.mark.parametrize(
    ("step", "traces", "calls", "released"),
    [
        (1e-9, 40, 2, [16, 32, 40]),  # some are evaluated together, which is faster
        (1e-9, 5, 60, [2, 4, 5]),  # fewer where they have more spans, since no request is taken meanwhile
        (0.001, 10, 2, [5, 10]),  # and where they take long
        (0.020, 3, 2, [1, 2, 3]),
    ],
)
def test_scoring_is_cut_short_when_its_budget_is_spent(
    bench: Bench, tmp_path: Path, step: float, traces: int, calls: int, released: list[int]
) -> None:
    clock, verdicts = ExpensiveClock(), list[Verdict]()
    queue = SendingQueue(SendingQueueConfig())
    config = Config.model_validate({"traces": {"confirm": 0}})
    target = Pipeline(config, load_rules([tmp_path / "rules.yaml"]), Telemetry(), queue, clock, verdicts.append)
    for number in range(traces):
        trace_id = bytes([number + 1]) * 16
        tools = [data.tool(2 + at, 1, "get_weather", 0.1 + at / 1000, trace_id) for at in range(calls)]
        request = data.traces(*tools, data.agent(1, trace_id=trace_id))
        target.receive("traces", request.SerializeToString(), "grpc")
    clock.seconds += 3
    clock.step = step
    for count in released:
        assert target.advance(budget=-1.0) == 0.0
        assert len(verdicts) == count
    assert len({verdict.run.trace_id for verdict in verdicts}) == traces
    assert target.advance(budget=0.0) > 0.0


def test_traces_that_take_long_to_score_do_not_keep_requests_waiting_together(bench: Bench, tmp_path: Path) -> None:
    clock, verdicts = ManualClock(), list[Verdict]()

    def scoring_takes_long(trace_id: bytes) -> list[bytes]:
        clock.seconds += 0.007
        return []

    config = Config.model_validate({"traces": {"confirm": 0}})
    target = Pipeline(
        config, load_rules([tmp_path / "rules.yaml"]), Telemetry(), None, clock, verdicts.append, running=scoring_takes_long
    )  # fmt: skip
    for number in range(5):
        request = data.traces(data.agent(1, trace_id=bytes([number + 1]) * 16))
        target.receive("traces", request.SerializeToString(), "grpc")
    clock.seconds += 3
    for released in (2, 4, 5):
        assert target.advance(budget=0.0) == 0.0
        assert [verdict.run.trace_id[0] for verdict in verdicts] == [*range(1, released + 1)]


CONDITIONAL = {
    "kafka_unread_messages": "with receivers.kafka",
    "kafka_uncommitted_messages": "with receivers.kafka",
    "kafka_moved_traces": "with receivers.kafka",
    "kafka_deleted_messages": "a topic that deleted what was not read",
    "handed_over_traces": "with service.handover, when it stops",
    "runs_unscored": "a run without a verdict",
    "intents": "rules with intents",
    "unobserved_arguments": "a rule that constrains arguments",
    "unoffered_tool_calls": "a call of a tool that was not offered",
    "verdict_revisions": "a late span that changes a verdict",
    "receiver_refused_spans": "a refused request",
    "accept_failures": "a process without file descriptors",
    "certificate_not_before_timestamp_seconds": "a listener with tls",
    "certificate_not_after_timestamp_seconds": "a listener with tls",
    "exporter_sent_spans": "an exporter",
    "exporter_sent_log_records": "an exporter",
    "exporter_send_failed_spans": "a request given up on",
    "exporter_send_failed_log_records": "a request given up on",
    "exporter_send_failed_metric_points": "a request given up on",
    "exporter_queue_size": "an exporter",
    "exporter_queue_capacity": "an exporter",
    "exporter_queue_bytes": "an exporter",
    "exporter_queue_capacity_bytes": "an exporter without a spool",
    "exporter_queue_spans": "an exporter",
    "exporter_queue_log_requests": "an exporter",
    "held_spans": "an open trace: 0 again after its verdict",
    "traces_open": "an open trace: 0 again after its verdict",
    "resumed_spans": "a restart with a spool",
    "spool_bytes": "a spool",
    "spool_capacity_bytes": "a spool",
    "spool_failures": "a spool that cannot be written",
    "conversations_open": "a rule for conversations",
    "conversations": "a rule for conversations",
    "late_spans": "a late span",
    "dropped_spans": "a repeated span",
    "unread_spans": "a span no dialect can read",
    "shape_spans": "a span of an unknown tracer",
    "unread_runs": "a run of which nothing was recorded",
    "path_drift": "set by the service, which watches for drift",
    "path_drift_evidence": "a week of runs",
    "path_share_ratio": "drift",
    "runs_not_stored": "a store of runs that is full or cannot be written",
    "label_overflow": "more label values than allowed",
    "rules_info": "set by the service when it loads rules",
    "rule_objective_ratio": "a rule with an objective",
    "rules_reload_failures": "a rule file that cannot be reloaded",
    "rules_refused": "a rule file that cannot be reloaded",
}


def test_one_scored_trace_moves_every_metric_but_conditional_ones(bench: Bench) -> None:
    bench.send(*GOOD_RUN)
    bench.wait(3)
    moved = {
        family.name.removeprefix("rightcall_")
        for family in bench.telemetry.registry.collect()
        if any(sample.value for sample in family.samples)
    }
    names = {info.name for info in bench.telemetry.table if not info.name.startswith("judge_")}  # those need a judge
    assert names - moved == CONDITIONAL.keys()
    assert bench.value("scoring_seconds_count") == 1


def test_open_traces_and_results_that_wait_share_one_budget(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces={"max_held_mib": 1})
    bench.pipeline._hold_queue._held.bytes += 1 << 19
    for number in range(2):
        bench.send(data.agent(1, trace_id=bytes([number + 1]) * 16, padding="x" * (300 << 10)))
    assert [verdict.release for verdict in bench.verdicts] == ["evicted"]


def test_open_traces_take_half_of_what_others_leave_and_give_it_back(tmp_path: Path) -> None:
    mib, exporters = 1 << 20, {"otlp": {"endpoint": "backend:4317"}}
    # Of 100 MiB, 15 are for open traces, and 25 for others than requests.
    bench = Bench(tmp_path, memory_limiter={"limit_mib": 100}, exporters=exporters)
    for number in range(60):
        bench.send(data.agent(1, trace_id=bytes([number + 1]) * 16, padding="x" * mib))
        bench.queue.drop_pending()
    assert 24 <= bench.pipeline.open_traces <= 27
    bench.queue.put(ExportRequest("logs", bytes(25 * mib), 1))
    bench.pipeline.advance(budget=60.0)
    assert 12 <= bench.pipeline.open_traces <= 15


def test_spans_of_unknown_tracers_are_read_whole_and_counted_by_scope(bench: Bench) -> None:
    tool = data.span(2, 1, "tool:pay", acme__payload="x", toolArgs='{"order": 7}')
    step = data.span(3, 1, "step", gen_ai__system="x")
    bench.pipeline.receive("traces", data.traces(data.span(1), tool, step, scope="acme").SerializeToString(), "test")
    bench.pipeline.drain("shutdown")
    (verdict,) = [verdict for verdict in bench.verdicts if verdict.scope == "run"]
    assert [(call.name, call.arguments) for call in verdict.run.trajectory.calls] == [("pay", {"order": 7})]
    assert [bench.value(f"{name}_total", scope="acme") for name in ("shape_spans", "unread_spans")] == [1, 1]


def test_runs_of_which_nothing_was_recorded_are_counted_by_scope(bench: Bench) -> None:
    bench.pipeline.receive("traces", data.traces(data.agent(1), scope="acme").SerializeToString(), "test")
    bench.pipeline.drain("shutdown")
    assert bench.value("unread_runs_total", scope="acme") == 1
    assert blind_spots(bench.telemetry) == {"shape_spans": {}, "unread_spans": {}, "unread_runs": {"acme": 1}}
