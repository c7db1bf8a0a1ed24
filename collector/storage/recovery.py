"""After a restart: open traces and conversations read back from the spool."""

from __future__ import annotations

from collections.abc import Callable

from collector.assembly.assembler import Assembler
from collector.assembly.conversations import Conversations
from collector.errors import DecodeError
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.otlp.decode import Decoder
from collector.otlp.lazy import Envelope
from collector.scoring.conversations import restore
from collector.storage.journal import Journal
from collector.storage.records import RecordKind, SpoolRecord, read_conversation, read_record

ReadSpan = Callable[[Span], GenAISpan | None]
"""How the dialects read a span: ``dialects.read_span``, or one that keeps more."""

AddLog = Callable[[Envelope, bytes, float], bytes]
"""How a log record is added to its trace."""


def restore_all(
    journal: Journal,
    assembler: Assembler,
    conversations: Conversations,
    decoder: Decoder,
    read_span: ReadSpan,
    add_log: AddLog,
    now: float,
) -> int:
    """Fill assembler and conversations. Returns how many records were unreadable and are left out."""
    unreadable = 0
    for trace in journal.tombstones(now):
        if trace is None:
            unreadable += 1
        else:
            assembler.restore(trace)
    for row, kind, packed in journal.records():
        try:
            if kind == RecordKind.CONVERSATION:
                key, revision, truncated, is_over = read_conversation(packed)
                evicted = conversations.restore_state(key, revision, now, truncated=truncated, is_over=is_over)
                journal.restored_state(key, row, evicted)
            elif kind == RecordKind.RUN:
                run = restore(packed)
                conversations.restore_run(run, now)
                journal.restored_run(run, row)
            else:
                record = read_record(row, kind, packed)
                _replay(record, assembler, decoder, read_span, add_log, now)
                journal.restored(record, now)
        except (ValueError, DecodeError):
            journal.discard(row)
            unreadable += 1
    return unreadable


def _replay(
    record: SpoolRecord, assembler: Assembler, decoder: Decoder, read_span: ReadSpan, add_log: AddLog, now: float
) -> None:
    """Repeat what was done when these spans were received, without forwarding any."""
    assembler.link(record.links, now)
    if record.kind is RecordKind.LOG:
        add_log(record.envelope, record.raws[0], now)
        return
    for raw, decoded in zip(record.raws, decoder.spans(record.raws, record.envelope), strict=True):
        span = read_span(decoded) if decoded is not None else None
        if decoded is None or span is None or span is IGNORED:
            continue
        if record.kind is RecordKind.SPANS or (span.role == Role.OTHER and not assembler.is_closed(decoded.trace_id)):
            assembler.add(decoded.trace_id, span.span_id, span, raw, record.envelope, now)
