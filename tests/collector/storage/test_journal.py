"""Open traces survive a crash: whenever it comes, the same spans leave with the same verdicts, each once."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from collector.assembly.trace import Trace
from collector.otlp.structure import Envelope
from collector.storage import records
from collector.storage.journal import Journal, JournaledScope
from collector.storage.packing import pack
from collector.storage.rows import Change
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.harness import Life, folder_in, send_to_both, value

TOOLS = (data.tool(2, 1, "get_weather", at=0.1), data.tool(3, 1, "send_email", at=0.2))
GOOD_RUN = (data.span(9, parent=2, at=0.1), *TOOLS, data.agent(1))


def test_an_open_trace_goes_on_after_a_crash(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.send(*GOOD_RUN[:2])
    life.write()
    life.crash()
    assert life.resumed == 1
    life.send(*GOOD_RUN[2:])
    life.settle()
    assert sorted(span.span_id for span in life.spans()) == [data.span_id(number) for number in (1, 2, 3, 9)]
    assert [event["gen_ai.evaluation.score.value"] for event in life.events()] == [1.0]
    assert life.rows() == (0, 1)
    life.close()


def test_what_was_not_written_was_not_acknowledged_and_is_gone(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.send(*GOOD_RUN)
    life.crash()
    assert life.resumed == 0
    life.close()


def test_a_verdict_that_was_queued_is_sent_again_byte_for_byte(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.send(*GOOD_RUN)
    life.write()
    life.wait(3)
    life.write()
    queued = [(request.signal, request.payload) for request in life.queue.pending()]
    life.crash()
    assert [(o.signal, life._file_payload(o.row)) for o in life.queue.pending()] == queued
    assert life.resumed == 0
    life.close()


def test_a_crash_between_verdict_and_queue_makes_the_verdict_again(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.send(*GOOD_RUN)
    life.write()
    life.wait(3)
    life.crash()
    assert life.resumed == 1
    life.settle()
    assert len(life.events()) == 1
    life.close()


def test_spans_sent_again_after_a_restart_are_recognised(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.send(*GOOD_RUN)
    life.settle()
    life.crash()
    life.send(*GOOD_RUN[1:])
    life.settle(60)
    assert len(life.events()) == 1
    assert sorted(span.span_id for span in life.spans()) == [data.span_id(number) for number in (1, 2, 3, 9)]
    life.close()


@pytest.mark.parametrize("restarts", [False, True])
def test_the_annotated_root_of_a_trace_without_an_agent_is_recognised_when_it_is_sent_again(
    tmp_path: Path, restarts: bool
) -> None:
    life = Life(tmp_path, "rules: [{name: all, match: {}, expect: {sequence: [get_weather]}}]")
    request = (TOOLS[0], data.span(1, name="POST /chat"))
    life.send(*request)
    life.settle()
    if restarts:
        life.crash()
    life.send(*request)
    life.settle(60)
    assert sorted(span.span_id for span in life.spans()) == [data.span_id(1), data.span_id(2)]
    root = next(span for span in life.spans() if not span.parent_span_id)
    assert data.values_of(root)["rightcall.rule"] == "all"
    life.close()


@pytest.mark.parametrize("crashes", [False, True])
def test_a_span_too_large_to_be_held_leaves_once(tmp_path: Path, crashes: bool) -> None:
    life = Life(tmp_path)
    large = data.tool(2, 1, "get_weather", at=0.1, gen_ai__tool__call__result="x" * (5 << 20))
    life.send(large, TOOLS[1], data.agent(1))
    life.write()
    life.deliver()
    if crashes:
        life.crash()
    life.settle(60)
    assert sorted(span.span_id for span in life.spans()) == [data.span_id(number) for number in (1, 2, 3)]
    assert life.spans()[0] == large
    assert [event["gen_ai.evaluation.score.label"] for event in life.events()] == ["pass"]
    assert life.rows() == (0, 1)
    life.close()


def test_a_late_call_after_a_restart_is_passed_on_and_revises_nothing(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.send(TOOLS[0], data.agent(1))
    life.settle()
    life.crash()
    life.send(TOOLS[1])
    life.settle(60)
    assert data.span_id(3) in [span.span_id for span in life.spans()]
    assert [event["rightcall.revision"] for event in life.events()] == [0]
    life.close()


def test_a_new_run_in_a_trace_from_before_a_restart_is_scored(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.send(*GOOD_RUN)
    life.settle()
    life.crash()
    life.send(data.tool(12, 11, "get_weather", at=5.1), data.agent(11, at=5.0))
    life.settle()
    assert [event["gen_ai.evaluation.score.label"] for event in life.events()] == ["pass", "fail"]
    life.close()


def test_a_run_of_which_calls_were_scored_before_a_restart_is_incomplete(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.send(data.tool(2, 1, "get_weather", at=1))
    life.write()
    life.settle(40)
    life.crash()
    life.send(data.tool(3, 1, "send_email", at=2), data.agent(1, at=0))
    life.write()
    life.settle(10)
    (event,) = life.events()
    assert (event["gen_ai.evaluation.score.label"], event["rightcall.doubts"]) == ("incomplete", ["truncated"])
    life.close()


def test_context_that_came_before_the_agent_survives_too(tmp_path: Path) -> None:
    """The server span with the route, and a plain step between agent and tool, each in a request of its own."""
    life = Life(tmp_path)
    life.send(data.span(7, http__route="/chat"))
    life.send(data.span(5, parent=1))
    life.write()
    life.crash()
    life.send(data.tool(2, 5, "get_weather", at=0.1), data.agent(1, parent=7, name="other"))
    life.write()
    life.crash()
    life.settle()
    assert [(event["rightcall.rule"], event["gen_ai.evaluation.score.label"]) for event in life.events()] == [
        ("routed", "pass")
    ]
    life.close()


def test_context_no_agent_asked_for_is_dropped(tmp_path: Path) -> None:
    life = Life(tmp_path, idle_timeout=10)
    life.send(data.span(7, http__route="/chat"))
    life.send(data.span(8, trace_id=b"u" * 16))
    life.send(data.agent(1, parent=7))
    life.write()
    before = life.rows()[0]
    life.clock.seconds += 25
    life.settle(1)
    life.settle(31)
    assert (before > 2, life.rows()) == (True, (0, 1))
    life.close()


def test_old_style_log_events_survive(tmp_path: Path) -> None:
    choice = LogRecord(
        event_name="gen_ai.choice",
        trace_id=data.TRACE,
        span_id=data.span_id(4),
        attributes=data.attributes({"gen_ai.system": "openai", "event.name": "gen_ai.choice"}),
    )
    call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    choice.body.CopyFrom(data.any_value({"index": 0, "message": {"role": "assistant", "tool_calls": [call]}}))
    plain, crashed = Life(folder_in(tmp_path, "plain")), Life(folder_in(tmp_path, "crashed"))
    for life in (plain, crashed):
        life.pipeline.receive("logs", data.logs(choice).SerializeToString(), "http")
        life.write()
        if life is crashed:
            life.crash()
        life.send(data.span(4, parent=1, gen_ai__operation__name="chat"), data.agent(1))
        life.settle(60)
        life.close()
    assert _said(crashed) == _said(plain)
    assert _said(plain) != []


@pytest.mark.parametrize("crash_after", [None, 1])
def test_evicted_traces_leave_no_tombstone(tmp_path: Path, crash_after: int | None) -> None:
    life = Life(tmp_path, remember=2)
    for number in range(5):
        trace_id = bytes([number + 1]) * 16
        life.send(data.tool(2, 1, "get_weather", trace_id=trace_id), data.agent(1, trace_id=trace_id))
        life.settle()
        if number == crash_after:
            life.crash()
    assert life.rows() == (0, 2)
    life.close()


def test_a_reopened_trace_is_known_after_a_restart_however_many_closed_since(tmp_path: Path) -> None:
    life = Life(tmp_path, remember=2, settle=4.0)
    life.send(TOOLS[0], data.agent(1))
    life.settle(6)
    for trace_id in (b"2" * 16, b"3" * 16):
        life.send(data.tool(2, 1, "get_weather", trace_id=trace_id), data.agent(1, trace_id=trace_id))
    life.wait(2)
    life.send(TOOLS[1])
    life.wait(3)
    life.write()
    life.crash()
    life.settle(60)
    assert len(life.events()) == 3
    runs = [value(life.telemetry, "runs_total", release=r) for r in ("root", "idle")]
    assert runs == [0, 0], "the call is late, and not a run without an agent"
    life.close()


def test_damaged_records_are_left_out_and_counted(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.send(*GOOD_RUN)
    change = Change()
    change.inserts["inbox"] = [(900, 0, b"\x01"), (901, 9, pack([b"t" * 16, b"", b"", b""])), (902, 1, b"")]
    change.inserts["finished"] = [(903, pack([b"few"])), (904, b"\xff" * 40)]
    life.write()
    assert life.file is not None
    life.file.apply(change)
    life.crash()
    assert life.resumed == 1
    labels = {"stage": "spool", "reason": "unreadable"}
    assert value(life.telemetry, "dropped_spans_total", **labels) == 5
    life.settle()
    assert (len(life.events()), life.rows()) == (1, (0, 1))
    life.close()


def test_a_trace_evicted_before_its_tombstone_is_written_leaves_none(tmp_path: Path) -> None:
    life = Life(tmp_path, remember=1)
    for number in range(3):
        trace_id = bytes([number + 1]) * 16
        life.send(data.tool(2, 1, "get_weather", trace_id=trace_id), data.agent(1, trace_id=trace_id))
    life.settle()
    assert life.rows() == (0, 1)
    life.close()


class Stored:
    """A journal over a real file, for traces that are open while the test says so."""

    def __init__(self, folder: Path) -> None:
        self.file = SpoolFile(folder, fsync=False)
        self._spool = Spool(self.file, 1 << 30, Telemetry())
        self.open = {data.TRACE}
        self.journal = Journal(self._spool, self.open.__contains__, 10.0)

    def rows(self) -> tuple[int, int]:
        change, self._spool._pending = self._spool._pending, Change()
        self.file.apply(change)
        return len(list(self.file.inbox())), len(list(self.file.finished()))


def test_context_stays_while_a_trace_is_open_or_its_results_are_not_queued(tmp_path: Path) -> None:
    stored, other = Stored(tmp_path), b"u" * 16
    journal, links = stored.journal, [data.span_id(7), bytes(8)]
    stored.open.clear()
    journal.store_request({data.TRACE: links}, [], 0.0)
    journal.store_request({other: links}, [], 0.0)
    stored.open.add(data.TRACE)
    journal.sweep(30.0)
    assert stored.rows() == (1, 0), "of the other trace nothing is left"
    stored.open.clear()
    journal.close(Trace(data.TRACE, 0.0, 0.0, bytearray()), [])
    journal.sweep(60.0)
    assert stored.rows() == (1, 0)
    journal.sent(data.TRACE)
    journal.sweep(90.0)
    assert stored.rows() == (1, 0)
    journal.commit()
    journal.sweep(95.0)
    assert stored.rows() == (1, 1), "the next sweep is later"
    journal.sweep(120.0)
    assert stored.rows() == (0, 1)
    stored.file.close()


def test_a_request_of_several_traces_and_scopes_is_stored_whole(tmp_path: Path) -> None:
    stored, other, third = Stored(tmp_path), b"u" * 16, b"v" * 16
    link = [data.span_id(7), bytes(8)]
    first, second = Envelope(b"resource", b"scope"), Envelope(b"resource", b"another scope")
    scopes = [
        JournaledScope(first, {data.TRACE: [b"a"], other: [b"x"]}),
        JournaledScope(second, {data.TRACE: [b"b", b"c"], third: [b"y"]}),
    ]
    stored.journal.store_request(dict.fromkeys((other, data.TRACE, third), link), scopes, 0.0)
    stored.rows()
    packed = b"".join(link)
    read = [unpacked(*record)[1:5] for record in stored.file.inbox()]
    assert read == [
        (records.RecordKind.SPANS, {data.TRACE: [packed]}, first, [b"a"]),
        (records.RecordKind.SPANS, {data.TRACE: [b""]}, second, [b"b", b"c"]),
        (records.RecordKind.CONTEXT, {other: [packed], third: [packed]}, Envelope(b"", b""), []),
        (records.RecordKind.CONTEXT, {other: [b""]}, first, [b"x"]),
        (records.RecordKind.CONTEXT, {third: [b""]}, second, [b"y"]),
    ]
    stored.file.close()


def test_context_is_kept_for_two_lifetimes(tmp_path: Path) -> None:
    stored = Stored(tmp_path)
    stored.open.clear()
    stored.journal.sweep(1.0)
    stored.journal.store_request({data.TRACE: [data.span_id(7), bytes(8)]}, [], 2.0)
    for now in (12.0, 22.0):
        stored.journal.sweep(now)
        assert stored.rows() == (1, 0)
    stored.journal.sweep(32.0)
    assert stored.rows() == (0, 0)
    stored.file.close()


def unpacked(row: int, kind: int, record: bytes | None) -> records.SpoolRecord:
    assert record is not None
    return records.read_record(row, kind, record, {})


def test_context_read_back_is_kept_no_longer_than_context_received(tmp_path: Path) -> None:
    stored = Stored(tmp_path)
    stored.open.clear()
    stored.journal.store_request({data.TRACE: [data.span_id(7), bytes(8)]}, [], 0.0)
    assert stored.rows() == (1, 0)
    again = Journal(stored._spool, stored.open.__contains__, 10.0)
    for record in again.records():
        again.restored(unpacked(*record), 100.0)
    for now, left in ((110.0, 1), (120.0, 1), (130.0, 0)):
        again.sweep(now)
        assert stored.rows() == (left, 0)
    stored.file.close()


def test_records_of_a_trace_that_is_over_are_deleted_when_they_are_read_back(tmp_path: Path) -> None:
    stored, other = Stored(tmp_path), b"u" * 16
    stored.open.add(other)
    for trace_id in (data.TRACE, other):
        stored.journal.store_request({trace_id: [data.span_id(7), bytes(8)]}, [], 0.0)
    assert stored.rows() == (2, 0)
    stored.open.remove(other)
    again = Journal(stored._spool, stored.open.__contains__, 10.0)
    for record in list(again.records()):
        again.restored(unpacked(*record), 100.0)
    assert stored.rows() == (1, 0)
    (left,) = stored.file.inbox()
    assert unpacked(*left).links.keys() == {data.TRACE}
    stored.file.close()


def test_log_records_are_deleted_with_their_trace(tmp_path: Path) -> None:
    stored = Stored(tmp_path)
    stored.journal.store_log(data.TRACE, Envelope(b"resource", b"scope"), b"raw")
    stored.journal.store_log(b"u" * 16, Envelope(b"resource", b"scope"), b"of a trace that is not open")
    assert stored.rows() == (1, 0)
    stored.journal.close(Trace(data.TRACE, 0.0, 0.0, bytearray()), [])
    stored.journal.sent(data.TRACE)
    stored.journal.commit()
    assert stored.rows() == (0, 1)
    stored.file.close()


def test_a_trace_evicted_long_before_its_results_are_queued_leaves_no_tombstone(tmp_path: Path) -> None:
    stored, trace, other = Stored(tmp_path), Trace(data.TRACE, 0.0, 0.0, bytearray()), b"u" * 16
    stored.journal.close(trace, [])
    stored.journal.close(Trace(other, 0.0, 0.0, bytearray()), [trace])
    for trace_id in (other, data.TRACE):
        stored.journal.sent(trace_id)
        stored.journal.commit()
        assert stored.rows() == (0, 1)
    stored.file.close()


def test_of_a_trace_closed_twice_each_step_deletes_its_own_records(tmp_path: Path) -> None:
    stored = Stored(tmp_path)
    journal, trace = stored.journal, Trace(data.TRACE, 0.0, 0.0, bytearray())
    for _ in range(2):
        journal.store_request({data.TRACE: [data.span_id(7), bytes(8)]}, [], 0.0)
        journal.close(trace, [])
    assert stored.rows() == (2, 0)
    for left in (1, 0):
        journal.sent(data.TRACE)
        journal.commit()
        assert stored.rows() == (left, 1)
    stored.file.close()


def test_a_trace_evicted_while_its_results_wait_leaves_no_tombstone(tmp_path: Path) -> None:
    stored, trace = Stored(tmp_path), Trace(data.TRACE, 0.0, 0.0, bytearray())
    stored.journal.close(trace, [trace])
    stored.journal.sent(data.TRACE)
    stored.journal.commit()
    assert stored.rows() == (0, 0)
    stored.file.close()


def _said(life: Life) -> list[Any]:
    """Every event without its time, and every span, in an order of their own."""
    events = [sorted((key, repr(value)) for key, value in event.items()) for event in life.events()]
    return sorted(events) + sorted(span.SerializeToString() for span in life.spans())


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_whenever_crashes_come_what_leaves_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, choice: random.Random
) -> None:
    """Requests cut anywhere, a crash before or after any of them, a sender that repeats what was not acknowledged."""
    spans = [
        span
        for number in range(3)
        for trace_id in [bytes([number + 1]) * 16]
        for span in (
            data.span(7, http__route="/chat", trace_id=trace_id),
            data.span(5, parent=1, trace_id=trace_id),
            data.tool(2, 5, "get_weather", at=0.1, trace_id=trace_id),
            data.tool(3, 1, choice.choice(["send_email", "delete_all"]), at=0.2, trace_id=trace_id),
            data.agent(1, parent=7, name=choice.choice(["helper", "other"]), trace_id=trace_id),
        )
    ]
    choice.shuffle(spans)
    folder = tmp_path_factory.mktemp("lives")
    plain, crashed = Life(folder_in(folder, "plain")), Life(folder_in(folder, "crashed"))
    send_to_both(plain, crashed, spans, choice, 6)
    for life in (plain, crashed):
        life.settle(3)
        life.settle(60)
        life.close()
    ours, theirs = _by_id(crashed), _by_id(plain)
    held = [span for span in crashed.spans() if span.name != "GET"]
    assert sorted(map(repr, crashed.events())) == sorted(map(repr, plain.events()))
    assert ours == theirs
    assert len({(span.trace_id, span.span_id) for span in held}) == len(held), "held spans leave once"


def _by_id(life: Life) -> dict[bytes, bytes]:
    return {span.trace_id + span.span_id: span.SerializeToString() for span in life.spans()}
