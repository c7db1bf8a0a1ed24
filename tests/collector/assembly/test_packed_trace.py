"""A packed trace is what it was, whatever it had, and takes little memory."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from collector.assembly.packed_trace import MAX_PACKED, PackedTrace, pack, unpack
from collector.assembly.trace import Given, Trace
from collector.assembly.trace_state import TraceState
from collector.component import Signal
from collector.model.genai_span import Content, GenAISpan, Role
from collector.model.span import Resource
from collector.otlp import json as otlp_json
from collector.otlp.structure import Envelope
from collector.payloads.refusals import Refusal
from collector.payloads.tool_results import ToolResult
from tests import recorded
from tests.bench.load import EPOCH, SPANS_PER_REQUEST, SPANS_PER_TRACE, requests
from tests.harness import Bench
from tests.otlp_data import span_id

TRACE, ENVELOPE, RESOURCE = b"t" * 16, Envelope(b"resource", b"scope"), Resource({"service.name": "shop"})
MADE_ANEW = ("known_parents", "links_read", "recent", "recent_read")
MANY = {"max_open": 1_000_000, "settle": 3_000, "idle_timeout": 6_000, "max_duration": 9_000}


def state_of(item: Trace | GenAISpan | Given) -> dict[str, Any]:
    """All attributes of a trace, with those of all that it has."""
    names = [name for name in type(item).__dataclass_fields__ if name not in MADE_ANEW]
    return {name: plain(getattr(item, name)) for name in names}


def plain(value: Any) -> Any:
    if isinstance(value, (GenAISpan, Given)):
        return state_of(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if hasattr(value, "items"):
        return [(key, plain(item)) for key, item in value.items()]
    return value


def assert_same(trace: Trace) -> None:
    packed = pack(trace)
    assert packed is not None
    assert state_of(unpack(packed)) == state_of(trace)


def span(number: int, role: Role = Role.TOOL, resource: Resource = RESOURCE) -> GenAISpan:
    return GenAISpan(span_id(number), span_id(1), number, number + 1, role, "test", resource)


def opened() -> Trace:
    return Trace(TRACE, 1.0, 2.0, bytearray(range(32)))


def test_a_trace_with_everything_is_the_same_afterwards() -> None:
    trace = opened()
    trace.state, trace.due, trace.waiting, trace.size, trace.truncated = (
        TraceState.REOPENED,
        9.5,
        "incomplete",
        77,
        True,
    )
    agent, tool, other = span(1, Role.AGENT), span(2), span(3, Role.MODEL, Resource({"service.name": "elsewhere"}))
    agent.attributes, agent.user_input, agent.conversation_id = {"team": "a", "n": 1.5}, ["said"], "one"
    tool.arguments, tool.refusal, tool.status, tool.is_pending = (
        {"id": [1, None, True]},
        Refusal("refund"),
        "error",
        True,
    )
    other.tool_results, other.content = (
        (ToolResult("c1", failed=True, refusal=Refusal()),),
        Content("out", ["definition"]),
    )
    other.history = "what was said \ud800"
    trace.spans = {span_id(1): agent, span_id(2): tool, 123456789: other}
    trace.resource, trace.has_agent = RESOURCE, True
    trace.hold(span_id(1), b"one", ENVELOPE)
    trace.hold(span_id(2), b"two", Envelope(b"another", b"scope"))
    trace.record_verdict(span_id(1), Given(3, -(2**70), "pass", 2**60, frozenset({"send_email"})))
    trace.keep_longest_history(other)
    trace.seen = {span_id(8): True, 5: False}
    assert_same(trace)


def test_spans_share_after_it_what_they_shared_before() -> None:
    trace, other = opened(), span(3, Role.MODEL)
    other.history = "what was said"
    trace.spans = {span_id(2): span(2), span_id(3): other}
    trace.keep_longest_history(other)
    packed = pack(trace)
    assert packed is not None
    found = unpack(packed)
    assert all(one.resource is RESOURCE for one in found.spans.values())
    ((kept,),) = found.histories.values()
    assert kept is found.spans[span_id(3)], "it is dropped where a longer one comes"


def test_a_trace_is_not_packed_where_that_takes_long_or_something_else_has_it() -> None:
    trace = opened()
    trace.hold(span_id(1), bytes(MAX_PACKED), ENVELOPE)
    assert pack(trace) is not None
    trace.size = 1
    assert pack(trace) is None
    trace = opened()
    trace.evaluating = True
    assert pack(trace) is None
    trace = opened()
    trace.unconfirmed = ()
    assert pack(trace) is None
    trace = opened()
    trace.leaving = 1
    assert pack(trace) is None


def test_a_trace_is_not_packed_where_its_content_is_nested_too_deeply() -> None:
    trace, deep = opened(), list[Any]()
    for _ in range(3_000):
        deep = [deep]
    tool = span(2)
    tool.arguments = deep
    trace.spans = {span_id(2): tool}
    assert pack(trace) is None


def with_all_recordings(folder: Path) -> Bench:
    bench = Bench(folder, traces=MANY)
    for body in sorted(folder.rglob("request-*")):
        raw = gzip.decompress(body.read_bytes()) if body.suffix == ".gz" else body.read_bytes()
        if raw:
            signal: Signal = "logs" if "logs" in body.name else "traces"
            is_json = ".json" in body.name
            bench.pipeline.receive(signal, otlp_json.to_protobuf(signal, raw) if is_json else raw, "http")
    return bench


def test_every_recorded_run_gets_the_same_verdict_from_a_packed_trace(tmp_path: Path) -> None:
    recorded.unpack(tmp_path)
    found = []
    for pause in (0, 12):
        bench = with_all_recordings(tmp_path)
        bench.wait(pause)
        entries = bench.pipeline._assembler.open.entries.values()
        assert (sum(isinstance(entry, PackedTrace) for entry in entries) > 100) == (pause > 0)
        bench.pipeline.drain("shutdown")
        found.append(
            sorted((one.run.trace_id, one.run.span_id, one.label, repr(one.run.trajectory)) for one in bench.verdicts)
        )
    assert found[0] == found[1]
    assert len(found[0]) > 300


def test_every_recorded_trace_is_the_same_afterwards(tmp_path: Path) -> None:
    recorded.unpack(tmp_path)
    bench = with_all_recordings(tmp_path)
    found = list(bench.pipeline._assembler.open.all())
    packed = 0
    for trace in found:
        if pack(trace) is not None:
            assert_same(trace)
            packed += 1
    assert packed > 0.8 * len(found) > 100


def test_a_trace_of_the_reference_mix_takes_at_most_1_kib_beyond_what_it_holds(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces=MANY)
    bench.pipeline.receive("traces", requests(1)[0].replace(EPOCH, b"00000001"), "grpc")
    found = list(bench.pipeline._assembler.open.all())
    assert len(found) == SPANS_PER_REQUEST // SPANS_PER_TRACE
    for trace in found[:-1]:  # the last one goes on in the next request
        packed = pack(trace)
        assert packed is not None
        assert packed.size < 1024 + sum(map(len, trace.held.values()))


@pytest.mark.parametrize("held", [0, 3])
def test_a_packed_trace_tells_how_many_spans_it_holds(held: int) -> None:
    trace = opened()
    for number in range(held):
        trace.hold(span_id(number), b"raw", ENVELOPE)
    packed = pack(trace)
    assert packed is not None
    assert packed.held == held
