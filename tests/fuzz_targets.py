"""What a fuzzer calls with any bytes. A target may raise nothing: what a module documents that it raises is caught here.

``python -m tests.fuzz_coverage`` searches for inputs that reach new code; those it found are in ``tests/seeds``, one a
line in base64, and every run of the tests tries them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

from collector import dialects
from collector.assembly.conversations import Conversation
from collector.component import Signal
from collector.config.model import RedactionConfig
from collector.errors import CollectorError, DecodeError
from collector.model.dialect import Reading
from collector.otlp import json as otlp_json
from collector.otlp import lazy
from collector.otlp.annotate import annotate
from collector.otlp.decode import Decoder
from collector.otlp.structure import Structure
from collector.payloads import (
    history,
    messages,
    offered_tools,
    response,
    tool_definitions,
    tool_results,
    user_input,
    values,
)
from collector.results.redaction import Redaction
from collector.scoring import conversations
from collector.storage import records
from scorers import RuleSet, ToolCall, Trajectory, load_rules
from scorers.rules.parsing import RuleError

SEEDS = Path(__file__).parent / "seeds"
_SIGNALS: tuple[Signal, ...] = ("traces", "logs")
_FILTER = lazy.SpanFilter(dialects.MARKERS, dialects.SCOPES)
_REDACTION = Redaction(RedactionConfig(attributes=["*.arguments"], patterns=["[0-9]{4,}"]))
_RUN = Trajectory(
    [
        ToolCall("search", {"query": "weather", "limit": 3}, span_id="1"),
        ToolCall("search", {"query": "weather", "limit": 3}, status="error", span_id="2"),
        ToolCall("refund_card", {"amount": 12.5, "items": ["a", "b"]}, span_id="3"),
        ToolCall("delete_all", None, span_id="4"),
    ]
)


def _decoder(reading: Reading | None = None) -> Decoder:
    return Decoder(dialects.ATTRIBUTES, dialects.ATTRIBUTE_PREFIXES, dialects.SCOPES, dialects.SHAPE_MARKERS, reading)


def wire(data: bytes) -> None:
    """A protobuf request: split, decoded, read by the dialects, annotated and redacted, joined.

    What is read of a span whose form is known is what is read of it without.
    """
    decoder, knowing = _decoder(), _decoder(dialects.READING)
    try:
        scopes = list(lazy.iter_scopes(data))
        split = lazy.split(scopes, _FILTER)
        for scope in split.scopes:
            for raw, span in zip(scope.spans, decoder.spans(scope.spans, scope.envelope), strict=True):
                if span is not None:
                    annotate(raw, (("rightcall.score", 0.5),))
            read = decoder.read(scope.spans, scope.envelope, dialects.read_span)
            # The second time forms are known of the whole scope, and the changed bytes may be of one of them.
            for raws in (scope.spans, scope.spans, [_shifted(raw) for raw in scope.spans]):
                expected = read if raws is scope.spans else decoder.read(raws, scope.envelope, dialects.read_span)
                assert repr(knowing.read(raws, scope.envelope, dialects.read_span)) == repr(expected)
    except DecodeError:
        return
    assert split.span_count == sum(len(items) for _, items in scopes)
    Structure(lazy.join(scopes))
    for envelope, items in scopes:
        left = [raw for at, raw in enumerate(items) if at % 3]
        assert lazy.join_fields([(envelope, items.fields_without(set(range(0, len(items), 3))))]) == lazy.join(
            [(envelope, left)]
        )
        for raw in items:
            for redact in (_REDACTION.span, _REDACTION.log_record):
                redact(raw)
            try:
                dialects.read_log(decoder.log_record(raw, lazy.Envelope(b"", b"")))
            except DecodeError:
                continue


def _shifted(raw: bytes) -> bytes:
    """Returns bytes that differ where the last length of something, a text or a number is."""
    at = len(raw) * 3 // 4
    return raw[:at] + bytes([(raw[at] + 1) % 256]) + raw[at + 1 :] if raw else raw


def json_request(data: bytes) -> None:
    """A JSON request; what it becomes is a request."""
    for signal in _SIGNALS:
        try:
            converted = otlp_json.to_protobuf(signal, data)
        except CollectorError:
            continue
        Structure(converted)


def messages_of_models(data: bytes) -> None:
    """Messages, arguments and tool definitions as instrumentations record them: JSON, a Python repr, or any text."""
    text = data.decode("utf-8", "replace")
    parsed = values.parse_any(text)
    values.parse_arguments(text)
    for value in (text, parsed):
        messages.tool_call_parts(value)
        history.calls_in_history(value)
        tool_results.newest_tool_results(value)
        tool_results.result_status(value)
        user_input.newest_user_input(value)
        tool_definitions.tool_definitions([value])
        offered_tools.fits_of(messages.tool_call_parts(value), value)
        response.response_text(value)
        user_input.user_text(value)


def rules(data: bytes) -> None:
    """The ``expect`` of a rule in JSON, compiled and scored: every run gets its evaluations."""
    try:
        expect = json.loads(data)
    except (ValueError, RecursionError):
        return
    try:
        (rule,) = load_rules({"rules": [{"name": "any", "match": {}, "expect": expect}]}).rules
    except RuleError:
        return
    assert rule.evaluate(_RUN)


def spool_records(data: bytes) -> None:
    """A record of the spool, of any kind."""
    for kind in (*range(3), 9, 16, 32, 48):
        try:
            records.read_record(1, kind, data, {1: b"resource"})
        except ValueError:
            continue
    for read in (_tombstone, records.read_conversation, _run):
        try:
            read(data)
        except ValueError:
            continue


def _tombstone(data: bytes) -> None:
    trace = records.read_tombstone(data, 0.0)
    trace.parents()
    assert records.read_tombstone(records.write_tombstone(trace), 0.0).seen == trace.seen


def _run(data: bytes) -> None:
    run = conversations.restore(data)
    conversation = Conversation(run.key, 0.0, 0.0, {run.anchor: run})
    hash(run.key)
    conversations.read(conversation, RuleSet())


TARGETS: dict[str, Callable[[bytes], None]] = {
    "wire": wire,
    "json": json_request,
    "messages": messages_of_models,
    "rules": rules,
    "spool": spool_records,
}


def seeds(target: str) -> list[bytes]:
    """Returns the inputs found so far."""
    return [base64.b64decode(line) for line in (SEEDS / f"{target}.txt").read_text().splitlines()]
