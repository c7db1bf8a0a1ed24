"""Records of the spool are read back as they were written, and damaged ones are refused with a ValueError."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.assembly.conversations import Conversation, ConversationKey
from collector.assembly.trace import Given, Trace
from collector.model.genai_span import GenAISpan, Role
from collector.model.span import Resource
from collector.storage import records
from collector.storage.packing import pack
from collector.storage.records import RecordKind
from tests.otlp_data import TRACE, span_id

DAMAGED = "a record of the spool is damaged"
LINK, OTHER_TRACE = bytes(range(16)), bytes(range(2, 18))
SPANS = pack([TRACE, LINK * 2, b"resource", b"scope", b"one", b"two"])


def test_a_record_of_spans_is_read_back() -> None:
    record = records.read_record(7, RecordKind.SPANS, SPANS, {})
    assert (record.row, record.kind, record.links) == (7, RecordKind.SPANS, {TRACE: [LINK * 2]})
    assert (record.envelope, record.raws, record.shared) == ((b"resource", b"scope"), [b"one", b"two"], ())


def test_context_may_be_of_several_traces_and_hold_no_span() -> None:
    packed = pack([TRACE + OTHER_TRACE, LINK, b"", b"", b""])
    record = records.read_record(1, RecordKind.CONTEXT, packed, {})
    assert record.links == {TRACE: [LINK], OTHER_TRACE: [b""]}
    assert record.raws == []


@pytest.mark.parametrize("at", [0, 1])
def test_a_shared_part_is_found_by_its_row(at: int) -> None:
    parts = [b"resource", b"scope"]
    kind, parts[at] = records.reference(RecordKind.SPANS, at, 2**40)
    assert records.own_kind(kind) == RecordKind.SPANS
    packed = pack([TRACE, LINK, *parts, b"span"])
    record = records.read_record(9, kind, packed, {2**40: b"shared", 1: b"wrong"})
    assert record.kind == RecordKind.SPANS
    assert record.envelope[at] == b"shared"
    assert record.envelope[1 - at] == parts[1 - at]
    assert record.shared == (2**40,)
    with pytest.raises(ValueError, match=DAMAGED):
        records.read_record(9, kind, packed, {1: b"wrong"})


def test_resource_and_scope_may_both_be_shared() -> None:
    kind, resource = records.reference(RecordKind.LOG, 0, 3)
    kind, scope = records.reference(kind, 1, 4)
    packed = pack([TRACE, b"", resource, scope, b"log"])
    record = records.read_record(9, kind, packed, {3: b"r", 4: b"s"})
    assert (record.kind, record.envelope, record.shared) == (RecordKind.LOG, (b"r", b"s"), (3, 4))


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (RecordKind.SPANS, []),
        (RecordKind.SPANS, [b"", b"resource", b"scope"]),
        (RecordKind.SPANS, [TRACE[:15], LINK, b"r", b"s"]),
        (RecordKind.SPANS, [TRACE, LINK[:15], b"r", b"s"]),
        (RecordKind.SPANS, [TRACE, LINK, b"r"]),
        (RecordKind.SPANS, [TRACE + OTHER_TRACE, LINK, b"r", b"s"]),
        (RecordKind.LOG, [TRACE, b"", b"r", b"s"]),
        (RecordKind.RUN, [TRACE, LINK, b"r", b"s", b"span"]),
        (RecordKind.SHARED, [TRACE, LINK, b"r", b"s", b"span"]),
        (9, [TRACE, LINK, b"r", b"s", b"span"]),
        (RecordKind.SPANS | 1 << 4, [TRACE, LINK, b"no row", b"s", b"span"]),
    ],
)
def test_a_damaged_record_is_refused(kind: int, parts: list[bytes]) -> None:
    with pytest.raises(ValueError, match=DAMAGED):
        records.read_record(1, kind, pack(parts), {})


@given(st.integers(0, 2**64 - 1), st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=5))
def test_a_refused_request_is_read_back(key: int, traces: list[bytes]) -> None:
    packed = records.write_refused(key, traces)
    assert records.read_refused(packed) == (key, traces)
    for damaged in (packed[:-1], packed[:8], packed[:7]):
        with pytest.raises(ValueError, match=DAMAGED):
            records.read_refused(damaged)


@given(st.integers(0, 2**64 - 1))
def test_a_time_is_read_back(time_ns: int) -> None:
    packed = records.write_time(time_ns)
    assert records.read_time(packed) == time_ns
    for damaged in (packed[:-1], packed + b"x"):
        with pytest.raises(ValueError, match=DAMAGED):
            records.read_time(damaged)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_a_gap_is_read_back(begun_ns: int, ended_ns: int) -> None:
    packed = records.write_gap(begun_ns, ended_ns)
    assert records.read_gap(packed) == (begun_ns, ended_ns)
    for damaged in (packed[:-1], packed + b"x"):
        with pytest.raises(ValueError, match=DAMAGED):
            records.read_gap(damaged)


def closed_trace() -> Trace:
    trace = Trace(TRACE, 1.0, 2.0, bytearray(LINK * 3))
    for number, role in ((1, Role.AGENT), (2, Role.OTHER)):
        trace.spans[span_id(number)] = GenAISpan(span_id(number), b"", 1, 1, role, "test", Resource({}))
    trace.spans[2**64 - 1] = GenAISpan(span_id(9), b"", 1, 1, Role.OTHER, "log", Resource({}))
    trace.has_agent = True
    trace.seen = {span_id(5): True, span_id(6): False, 77: False}
    trace.verdicts = {span_id(1): Given(0, 123, "pass"), b"an id of another length": Given(2**32 - 1)}
    return trace


def test_a_tombstone_recognises_what_the_trace_had() -> None:
    trace = closed_trace()
    found = records.read_tombstone(records.write_tombstone(trace), 50.0)
    assert (found.trace_id, bytes(found.links), found.opened, found.touched) == (TRACE, LINK * 3, 50.0, 50.0)
    held = {key: span.annotatable for key, span in trace.spans.items() if isinstance(key, bytes)}
    seen: dict[bytes | int, bool] = {2**64 - 1: False, span_id(5): True, span_id(6): False, 77: False}
    assert found.seen == seen | dict(held)
    assert {anchor: given_.revision for anchor, given_ in found.verdicts.items()} == {
        span_id(1): 0,
        b"an id of another length": 2**32 - 1,
    }
    assert not found.spans


def test_a_tombstone_of_a_tombstone_is_the_same() -> None:
    written = records.write_tombstone(closed_trace())
    assert records.write_tombstone(records.read_tombstone(written, 1.0)) == written


@pytest.mark.parametrize(
    "parts",
    [
        [TRACE, b"", b"", b"", b""],
        [TRACE, b"x", b"", b"", b"", b""],
        [TRACE, b"", b"x" * 9, b"", b"", b""],
        [TRACE, b"", b"", b"x" * 7, b"", b""],
        [TRACE, b"", b"", b"", b"x", b""],
        [TRACE, b"", b"", b"", b"", b"\0\0\0\0"],
        [TRACE, b"", b"", b"", b"", b"\0\0\0\0\x08short"],
        [TRACE[:15], b"", b"", b"", b"", b""],
    ],
)
def test_a_damaged_tombstone_is_refused(parts: list[bytes]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whichever
        records.read_tombstone(pack(parts), 0.0)


@given(st.binary(max_size=30), st.integers(0, 200))
def test_a_tombstone_with_other_bytes_in_it_is_read_or_refused(other: bytes, at: int) -> None:
    written = records.write_tombstone(closed_trace())
    with contextlib.suppress(ValueError):
        records.read_tombstone(written[:at] + other + written[at + len(other) :], 0.0)


@pytest.mark.parametrize("key", [ConversationKey(None, None, "c"), ConversationKey("t", "s", 'é"\n\ud800')])
@pytest.mark.parametrize("flags", [(True, False, frozenset({"refund", "\ud800"})), (False, True, None)])
def test_the_state_of_a_conversation_is_read_back(
    key: ConversationKey, flags: tuple[bool, bool, frozenset[str] | None]
) -> None:
    truncated, is_over, known = flags
    conversation = Conversation(key, 1.0, 2.0, revision=3, truncated=truncated, is_over=is_over, known_forbidden=known)
    state = records.read_conversation(records.write_conversation(conversation))
    assert state == (key, 3, *flags)
    assert isinstance(state.key, ConversationKey)


@pytest.mark.parametrize(("revision", "known"), [(0, frozenset()), (1, None)])
def test_an_earlier_version_did_not_write_which_forbidden_calls_it_counted(
    revision: int, known: frozenset[str] | None
) -> None:
    written = json.dumps({"key": [None, None, "c"], "revision": revision, "truncated": False, "is_over": False})
    assert records.read_conversation(written.encode()).known_forbidden == known


@pytest.mark.parametrize(
    "record",
    [b"", b"{", b"[]", b"null", b"{}", b'{"key": null}', b"\xff", b"[" * 100_000,
     b'{"key": ["a"], "revision": 0, "truncated": 0, "is_over": 0}',
     b'{"key": [1, 2, 3], "revision": [], "truncated": 0, "is_over": 0}',
     b'{"key": [1, 2, 3], "revision": 0, "truncated": 0, "is_over": 0, "known_forbidden": 1}',
     b'{"key": [1, 2, 3], "revision": Infinity, "truncated": 0, "is_over": 0}'],
)  # fmt: skip
def test_a_damaged_conversation_is_refused(record: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of JSON or of the record
        records.read_conversation(record)
