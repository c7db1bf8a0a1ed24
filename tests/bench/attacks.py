"""Requests that are small to send and costly to take or to keep: one for each way that was found, most at the limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from collector.otlp.wire import field_head
from tests import otlp_data as data
from tests.bench import load

_MOST_SPANS = 9_998  # of one trace, below traces.max_spans
_CALLS = json.dumps([{"type": "tool_call", "name": "a"}] * 1_000)
_KEYS = json.dumps({str(number): 0 for number in range(20_000)})
_REPR = "{'y': [" + "-1," * 10_000 + "]}"


_EACH = b"a-trace-of-each!"  # as many bytes as a trace id


class Attack(NamedTuple):
    """A request, as it is before gzip, or several that differ in their trace."""

    body: bytes
    path: str = "/v1/traces"
    content_type: str = "application/x-protobuf"
    times: int = 1
    """How many requests."""
    is_finished: bool = True
    """Otherwise it is sent but for its end, uncompressed, on as many connections at once."""
    first: bytes = b""
    """Sent before, and not measured."""
    before: str = ""
    """What it took of a collector without these limits."""

    def bodies(self) -> Iterator[bytes]:
        """Yield the requests."""
        for number in range(self.times):
            yield self.body.replace(_EACH, b"%016d" % number)


def _traces(*spans: Span) -> Attack:
    return Attack(data.traces(*spans).SerializeToString())


def _one_trace(spans: Iterator[Span]) -> Attack:
    return _traces(data.agent(1), *spans)


def _numbers(last: int = _MOST_SPANS) -> range:
    return range(2, last + 2)


def _trace(number: int) -> bytes:
    return number.to_bytes(16)


def _model(number: int, parent: int, output: str) -> Span:
    return data.span(
        number, parent, "chat", float(number), gen_ai__operation__name="chat", gen_ai__output__messages=output
    )


def _arguments(text: str, count: int) -> Attack:
    return _one_trace(data.tool(number, 1, "a", gen_ai__tool__call__arguments=text) for number in _numbers(count))


def _padded(field: bytes, times: int, spans: int = 1) -> Attack:
    """Agents with one attribute of our names, and another field so often."""
    parts = []
    for number in range(1, spans + 1):
        span = data.agent(number, rightcall__score="1").SerializeToString() + field * times
        parts.append(field_head(0x12, len(span)) + span)
    scope = b"".join(parts)
    for tag in (0x12, 0x0A):
        scope = field_head(tag, len(scope)) + scope
    return Attack(scope)


def _described(kib: int, traces: int, scopes: int = 1) -> Attack:
    """Traces of one agent each, in scopes of one large resource."""
    spans = [data.agent(1, trace_id=_trace(number + 1)) for number in range(traces)]
    groups = [
        ScopeSpans(scope=InstrumentationScope(name=f"scope {at}"), spans=spans[at::scopes]) for at in range(scopes)
    ]
    resource = Resource(attributes=data.attributes({"host.name": "x" * (kib << 10)}))
    request = ExportTraceServiceRequest(resource_spans=[ResourceSpans(resource=resource, scope_spans=groups)])
    return Attack(request.SerializeToString())


def _resources(count: int) -> Attack:
    parts = [
        ResourceSpans(
            resource=Resource(attributes=data.attributes({"service.name": f"service {number}"})),
            scope_spans=[ScopeSpans(spans=[data.tool(1, 2, "a", trace_id=_trace(number + 1))])],
        )
        for number in range(count)
    ]
    return Attack(ExportTraceServiceRequest(resource_spans=parts).SerializeToString())


def _empty(level: int, count: int) -> Attack:
    """Empty messages at one level of a request: 0 resources, 1 scopes, 2 spans."""
    body = (b"\n\0" if level == 0 else b"\x12\0") * count
    for tag in (0x12, 0x0A)[2 - level :] if level else ():
        body = field_head(tag, len(body)) + body
    return Attack(body)


def _log_events(kib: int) -> Attack:
    records = [
        LogRecord(
            trace_id=_trace(1), span_id=data.span_id(number), event_name="gen_ai.choice", time_unix_nano=number,
            attributes=data.attributes({"gen_ai.system": "openai"}),
        )
        for number in range(1, 10_000)
    ]  # fmt: skip
    resource = Resource(attributes=data.attributes({"host.name": "x" * (kib << 10)}))
    groups = [ResourceLogs(resource=resource, scope_logs=[ScopeLogs(log_records=records)])]
    return Attack(ExportLogsServiceRequest(resource_logs=groups).SerializeToString(), "/v1/logs")


def _of_agents(models: int, agents: int) -> Attack:
    """Models that request 1,000 calls each, beside other agents with a call of their own."""
    others = [data.agent(number, 1, f"g{number}", number) for number in range(2, agents + 2)]
    tools = [data.tool(20_000 + number, number, "a", number) for number in range(2, agents + 2)]
    return _one_trace(iter([*others, *tools, *(_model(40_000 + number, 1, _CALLS) for number in range(models))]))


def _late(calls: Iterator[Span]) -> Attack:
    """Calls that come after their run had its verdict."""
    return _traces(*calls)._replace(first=_traces(data.agent(1), data.tool(2, 1, "a")).body)


def _large_resource() -> bytes:
    named = data.attributes({"service.name": _EACH.decode(), "host.name": "x" * (4 << 20)})
    scope = ScopeSpans(spans=[data.span(1, trace_id=_EACH)])
    resource = ResourceSpans(resource=Resource(attributes=named), scope_spans=[scope])
    return ExportTraceServiceRequest(resource_spans=[resource]).SerializeToString()


def _large_output() -> bytes:
    output = '[{"type":"tool_call","name":"a"}' + " " * (4 << 20) + "]"
    model = _model(2, 1, output)
    model.trace_id = _EACH
    return _traces(data.agent(1, trace_id=_EACH), model).body


def _events(spans: int, events: int, attributes: int) -> Attack:
    calls = [data.tool(number, 1, "a") for number in range(2, spans + 2)]
    for call in calls:
        for event in range(events):
            named = {f"k{call.span_id[-1]}.{event}.{at}": "v" for at in range(attributes)}
            call.events.add(name="e", time_unix_nano=event, attributes=data.attributes(named))
    return _one_trace(iter(calls))


def _json(text: str) -> Attack:
    return Attack(text.encode(), content_type="application/json")


def _json_spans() -> Attack:
    spans = ",".join(f'{{"traceId":"{number:032x}","spanId":"{number:016x}"}}' for number in range(1, 100_000))
    return _json('{"resourceSpans":[{"scopeSpans":[{"spans":[' + spans + "]}]}]}")


ATTACKS: dict[str, Callable[[], Attack]] = {
    "for comparison: 8,192 spans of ordinary traffic": lambda: Attack(b"".join(load.requests(16))),
    "9,999 calls of one agent": lambda: _one_trace(data.tool(n, 1, "a", n / 1e3) for n in _numbers()),
    "9,999 calls, each below the one before": lambda: _one_trace(data.tool(n, n - 1, "a") for n in _numbers()),
    "9,999 agents, each below the one before": lambda: _one_trace(data.agent(n, n - 1, f"g{n}") for n in _numbers()),
    "9,999 agents beside each other": lambda: _one_trace(data.agent(n, 1, "g", n) for n in _numbers()),
    "9,999 calls, each below the one before, after the verdict": lambda: _late(
        data.tool(n, n - 1, "a", 0.01) for n in range(3, _MOST_SPANS)
    )._replace(before="28.7 s"),
    "9,999 model spans without a parent": lambda: _traces(*(_model(n, 0, "[]") for n in _numbers()))._replace(
        before="11.3 s"
    ),
    "1,000 model spans that request 1,000 calls each": lambda: _one_trace(
        _model(n, 1, _CALLS) for n in _numbers(1_000)
    )._replace(before="8.1 s for 400"),
    "100 model spans that request 1,000 calls each, beside 2,000 agents": lambda: _of_agents(100, 2_000)._replace(
        before="9.1 s"
    ),
    "38 spans of 250 events of 120 attributes": lambda: _events(38, 250, 120)._replace(before="a hold of 1.0 s"),
    "150 resources of 4 MiB": lambda: Attack(_large_resource(), times=150, before="1.2 GiB more"),
    "150 traces with an output of 4 MiB": lambda: Attack(_large_output(), times=150, before="0.6 GiB more"),
    "40 bodies of which 60 MiB arrive and no end": lambda: Attack(
        bytes(60 << 20), times=40, is_finished=False, before="2.4 GiB"
    ),
    "100,000 traces of one agent": lambda: _traces(*(data.agent(1, trace_id=_trace(n)) for n in range(1, 100_000))),
    "100,000 traces of one root span": lambda: _traces(*(data.span(1, trace_id=_trace(n)) for n in range(1, 100_000))),
    "100,000 copies of one call": lambda: _one_trace(data.tool(2, 1, "a") for _ in range(99_998)),
    "10,000 resources": lambda: _resources(10_000),
    "a resource of 900 KiB, 600 traces": lambda: _described(900, 600),
    "a resource of 900 KiB, 600 scopes": lambda: _described(900, 600, 600),
    "a resource of 500 KiB, 20,000 traces": lambda: _described(500, 19_000),
    "200 arguments of 20,000 keys": lambda: _arguments(_KEYS, 200),
    "200 arguments of nested lists": lambda: _arguments('{"x":' + "[" * 100_000 + "]" * 100_000 + "}", 200),
    "1,500 arguments that are a Python repr": lambda: _arguments(_REPR, 1_500),
    "an argument of 60 MiB": lambda: _arguments('{"x":"' + "y" * (60 << 20) + '"}', 1),
    "a span of 500,000 attributes": lambda: _padded(b"J\x09\n\x01k\x12\x04\n\x02vv", 500_000),
    "15 spans of 2 M empty attributes, and one of ours": lambda: _padded(b"J\0", 2_000_000, 15),
    "a span of 30 M links": lambda: _padded(b"j\0", 30_000_000),
    "10,000 log events of one trace": lambda: _log_events(0),
    "10,000 log events, a resource of 500 KiB": lambda: _log_events(500),
    "OTLP/JSON: 100,000 spans": _json_spans,
    "OTLP/JSON: 20 MB of an unknown key": lambda: _json('{"x":[' + "0," * (10 << 20) + "0]}"),
    "100,000 empty spans": lambda: _empty(2, 100_000),
    "1 M empty spans": lambda: _empty(2, 1_000_000)._replace(before="17.7 s, 350 MiB"),
    "30 M empty spans": lambda: _empty(2, 30 << 20)._replace(before="8.3 GB, no end"),
    "30 M fields that OTLP does not define": lambda: Attack(b"\x18\0" * (30 << 20)),
    "30 M empty resources": lambda: _empty(0, 30 << 20)._replace(before="others waited 100 s"),
    "60 MiB of zeros": lambda: Attack(bytes(60 << 20)),
}
"""By name; each is made when it is called."""
