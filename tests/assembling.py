"""An assembler fed span by span, with time moved by hand."""

from __future__ import annotations

from collector.assembly.assembler import Assembler
from collector.assembly.disposition import Disposition
from collector.assembly.due import Due
from collector.assembly.trace import Trace
from collector.config.model import TracesConfig
from collector.model.genai_span import GenAISpan, Role
from collector.model.span import Resource
from collector.otlp.structure import Envelope
from tests.otlp_data import span_id

TRACE, OTHER_TRACE = b"t" * 16, b"u" * 16
RAW, ENVELOPE = b"raw bytes", Envelope(b"resource", b"scope")
CONFIG = TracesConfig(settle=2.0, idle_timeout=30.0, max_duration=600.0)


def genai_span(number: int, parent: int = 0, role: Role = Role.TOOL) -> GenAISpan:
    return GenAISpan(span_id(number), span_id(parent) if parent else b"", number, number, role, "test", Resource({}))


def add(assembler: Assembler, item: GenAISpan, now: float, trace_id: bytes = TRACE) -> Disposition:
    assembler.link({trace_id: [item.span_id, item.parent_span_id or bytes(8)]}, now)
    return assembler.add(trace_id, item.span_id, item, RAW, ENVELOPE, now)


def due(assembler: Assembler, now: float) -> list[tuple[bytes, Due]]:
    return [(trace.trace_id, why) for trace, why in assembler.due(now)]


def opened(assembler: Assembler, trace_id: bytes = TRACE) -> Trace:
    return next(trace for trace in assembler.open.all() if trace.trace_id == trace_id)
