"""After a restart: open traces and conversations as the spool has them, back to where they were."""

from __future__ import annotations

from collections.abc import Callable

from collector.assembly.assembler import Assembler
from collector.assembly.conversations import Conversations
from collector.errors import DecodeError
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.otlp.decode import Decoder
from collector.otlp.lazy import Envelope
from collector.scoring import conversations as gathered
from collector.storage.journal import GATHERED, LOG, MARK, SPANS, Journal, SpoolRecord, read_record

Read = Callable[[Span], GenAISpan | None]
"""How a span is read: ``dialects.read_span``, or one that keeps more."""

AddLog = Callable[[Envelope, bytes, float], bytes]
"""How a log record is given to its trace."""


def bring_back(
    journal: Journal,
    assembler: Assembler,
    conversations: Conversations,
    decoder: Decoder,
    read: Read,
    add_log: AddLog,
    now: float,
) -> int:
    """Fill assembler and conversations; says how many records could not be read and are left out."""
    unreadable = journal.restore_finished(now)
    for row, kind, packed in journal.records():
        try:
            if kind == MARK:
                conversations.restore_mark(packed, row, now)
            elif kind == GATHERED:
                conversations.restore(gathered.restore(packed, row), now)
            else:
                record = read_record(row, kind, packed)
                _replay(record, assembler, decoder, read, add_log, now)
                journal.restored(record, now)
        except (ValueError, DecodeError):
            journal.discard(row)
            unreadable += 1
    return unreadable


def _replay(
    record: SpoolRecord, assembler: Assembler, decoder: Decoder, read: Read, add_log: AddLog, now: float
) -> None:
    """Do again what was done when these spans were received; those that passed through have left."""
    assembler.link(record.links, now)
    if record.kind == LOG:
        add_log(record.envelope, record.raws[0], now)
        return
    for raw, span in zip(record.raws, decoder.spans(record.raws, record.envelope), strict=True):
        genai_span = read(span) if span is not None else None
        if span is None or genai_span is None or genai_span is IGNORED:
            continue
        if record.kind == SPANS or (genai_span.role == Role.OTHER and not assembler.closed(span.trace_id)):
            assembler.add(span.trace_id, genai_span.span_id, genai_span, raw, record.envelope, now)
