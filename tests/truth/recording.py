"""A recorded run as rows that can be left out, delayed or changed one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.component import Signal
from collector.receivers.otlp_file import read_file
from tests import otlp_data, recorded

_TENANT = "rightcall.tenant"


@dataclass(frozen=True, slots=True)
class SpanRow:
    """A span with what surrounded it."""

    resource: Resource
    scope: InstrumentationScope
    span: Span


@dataclass(frozen=True, slots=True)
class LogRow:
    """A log record with what surrounded it."""

    resource: Resource
    scope: InstrumentationScope
    record: LogRecord


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run, and what really happened."""

    name: str
    truth: Mapping[str, Any]
    spans: Sequence[SpanRow]
    logs: Sequence[LogRow]


def load(folder: Path) -> Recording:
    """The recording in ``folder``, as ``tests.recorded`` unpacks it."""
    spans: list[SpanRow] = []
    logs: list[LogRow] = []
    for path in recorded.requests(folder):
        for signal, body in read_file(path):
            if signal == "traces":
                spans += _span_rows(body)
            elif signal == "logs":
                logs += _log_rows(body)
    return Recording(folder.name, recorded.truth(folder), spans, logs)


def _span_rows(body: bytes) -> Iterator[SpanRow]:
    for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                yield SpanRow(resource_spans.resource, scope_spans.scope, span)


def _log_rows(body: bytes) -> Iterator[LogRow]:
    for resource_logs in ExportLogsServiceRequest.FromString(body).resource_logs:
        for scope_logs in resource_logs.scope_logs:
            for record in scope_logs.log_records:
                yield LogRow(resource_logs.resource, scope_logs.scope, record)


def requests(
    spans: Iterable[SpanRow], logs: Iterable[LogRow], trace_id: bytes, tenant: str
) -> Iterator[tuple[Signal, bytes]]:
    """The rows as one request a signal, in a trace of their own, of a tenant by which a rule can find them."""
    traces = ExportTraceServiceRequest()
    for row in spans:
        group = traces.resource_spans.add()
        group.resource.CopyFrom(row.resource)
        group.resource.attributes.extend(otlp_data.attributes({_TENANT: tenant}))
        inner = group.scope_spans.add()
        inner.scope.CopyFrom(row.scope)
        inner.spans.add().CopyFrom(row.span)
        inner.spans[0].trace_id = trace_id
    if traces.resource_spans:
        yield "traces", traces.SerializeToString()
    records = ExportLogsServiceRequest()
    for log in logs:
        log_group = records.resource_logs.add()
        log_group.resource.CopyFrom(log.resource)
        log_group.resource.attributes.extend(otlp_data.attributes({_TENANT: tenant}))
        log_inner = log_group.scope_logs.add()
        log_inner.scope.CopyFrom(log.scope)
        log_inner.log_records.add().CopyFrom(log.record)
        if log.record.trace_id:
            log_inner.log_records[0].trace_id = trace_id
    if records.resource_logs:
        yield "logs", records.SerializeToString()


def texts(span: Span) -> Mapping[str, str]:
    """The text attributes of a span."""
    return {item.key: item.value.string_value for item in span.attributes}


_TOOL_NAMES = ("execute_tool", "running tool", "Function: ")
_AGENT_NAMES = ("invoke_agent", "agent run", "Agent run")
_MODEL_NAMES = ("chat", "ai.generateText.doGenerate", "ai.streamText.doStream")


def is_tool(span: Span) -> bool:
    """Whether the span is an execution of a tool, by the conventions of the recorded frameworks."""
    values = texts(span)
    return (
        values.get("gen_ai.operation.name") == "execute_tool"
        or values.get("openinference.span.kind") == "TOOL"
        or values.get("traceloop.span.kind") == "tool"
        or values.get("mcp.method.name") == "tools/call"
        or "ai.toolCall.name" in values
        or values.get("langfuse.observation.type") == "tool"
        or values.get("mastra.span.type") == "tool_call"
        or span.name.startswith(_TOOL_NAMES)
    )


def role(span: Span) -> str:
    """``tool``, ``agent``, ``model``, ``root`` or ``other``."""
    values = texts(span)
    operation, kind = values.get("gen_ai.operation.name"), values.get("openinference.span.kind")
    if is_tool(span):
        return "tool"
    if operation == "invoke_agent" or kind == "AGENT" or values.get("traceloop.span.kind") == "agent":
        return "agent"
    if span.name.startswith(_AGENT_NAMES):
        return "agent"
    if operation in ("chat", "generate_content", "text_completion") or kind == "LLM":
        return "model"
    if span.name.startswith(_MODEL_NAMES):
        return "model"
    return "other" if span.parent_span_id else "root"
