"""What can happen to a trace on its way, by family: each change says what arrives, and how many seconds later than the rest."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import otlp_data
from tests.truth.recording import LogRow, Recording, SpanRow, is_tool, role

MS = 1_000_000
_OFFSETS = (("+5 ms", 5), ("-5 ms", -5), ("+500 ms", 500), ("-500 ms", -500), ("+1 h", 3_600_000), ("-1 h", -3_600_000))
_CONTENT = (
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
    "input.value", "output.value", "llm.input_messages", "llm.output_messages", "traceloop.entity.input",
    "traceloop.entity.output", "gen_ai.prompt", "gen_ai.completion", "ai.prompt", "ai.response.text",
    "ai.response.toolCalls", "ai.toolCall.args", "ai.toolCall.result", "tool.parameters", "all_messages_events",
    "pydantic_ai.all_messages", "final_result", "tool_arguments", "tool_response", "gen_ai.system_instructions",
)  # fmt: skip
_BATCHES = (2, 4, 8)
"""Of how many spans."""
_PAUSES = ((2.5, "pauses shorter than idle_timeout"), (4, "longer pauses"))
"""Seconds between the ends of two spans."""
_HOST_NAMES = ("service.name", "host.name", "service.instance.id")


class Stage(NamedTuple):
    """What arrives together, ``delay`` seconds after the first."""

    delay: float
    spans: Sequence[SpanRow]
    logs: Sequence[LogRow]


class Change(NamedTuple):
    """One change of one recording; ``lost`` are the spans that never arrive, or arrive late."""

    family: str
    label: str
    stages: Sequence[Stage]
    lost: Sequence[Span] = ()


def none(item: Recording) -> Change:
    """The recording as it is."""
    return Change("untouched", "", [Stage(0, item.spans, item.logs)])


def loss(item: Recording) -> Iterator[Change]:
    """One span never arrives; the log signal never arrives."""
    for row in item.spans:
        rest = [other for other in item.spans if other is not row]
        yield Change(f"loss: one {role(row.span)} span", row.span.name, [Stage(0, rest, item.logs)], [row.span])
    if item.logs:
        yield Change("loss: the log signal", "", [Stage(0, item.spans, [])])


def tail(item: Recording) -> Iterator[Change]:
    """The process died: only what had ended by then arrives."""
    ended = sorted(item.spans, key=lambda row: row.span.end_time_unix_nano)
    for count in range(1, len(ended)):
        yield Change("tail: cut after some ends", str(count), [Stage(0, ended[:count], item.logs)], [ended[-1].span])


def batch(item: Recording) -> Iterator[Change]:
    """A request of an exporter is lost: spans that ended one after the other, the first of the trace or later ones."""
    ended = sorted(item.spans, key=lambda row: row.span.end_time_unix_nano)
    for size in _BATCHES:
        for first in range(len(ended) - size):  # what came last is there: the rest is a matter of `tail`
            gone = {row.span.span_id: row.span for row in ended[first : first + size]}
            kept = [row for row in item.spans if row.span.span_id not in gone]
            where = "later spans" if first else "the first spans"
            label = f"{size} after {first}"
            yield Change(f"batch lost: {where}", label, [Stage(0, kept, item.logs)], list(gone.values()))


def late(item: Recording) -> Iterator[Change]:
    """A tool's or an agent's span comes two seconds after the rest; so do the log records."""
    for row in item.spans:
        kind = role(row.span)
        if kind in ("tool", "agent"):
            rest = [other for other in item.spans if other is not row]
            stages = [Stage(0, rest, item.logs), Stage(2, [row], [])]
            yield Change(f"late: one {kind} span by 2 s", row.span.name, stages, [row.span])
    if item.logs:
        yield Change("late: the log signal by 2 s", "", [Stage(0, item.spans, []), Stage(2, [], item.logs)])


def slow(item: Recording) -> Iterator[Change]:
    """The spans arrive as they end, each so many seconds after the one before, and the log records with the last."""
    ended = sorted(item.spans, key=lambda row: row.span.end_time_unix_nano)
    for seconds, label in _PAUSES:
        stages = [Stage(at * seconds, [row], []) for at, row in enumerate(ended)]
        stages[-1] = stages[-1]._replace(logs=item.logs)
        yield Change(f"slow: {label}", "", stages)


def repeated(item: Recording) -> Iterator[Change]:
    """Everything is sent again; or one by one, in another order."""
    everything = Stage(0, item.spans, item.logs)
    yield Change("repeated", "at once", [everything, everything._replace(delay=0.2)])
    yield Change("repeated", "after the verdict", [everything, everything._replace(delay=7)])
    mixed = list(item.spans)
    random.Random(7).shuffle(mixed)
    for label, order in (("shuffled", mixed), ("backwards", list(item.spans)[::-1])):
        yield Change("repeated", label, [*(Stage(0, [row], []) for row in order), Stage(0, [], item.logs)])


def content(item: Recording) -> Iterator[Change]:
    """Content capture is off."""

    def strip(span: Span, _: Resource) -> None:
        for one in [one for one in span.attributes if one.key.startswith(_CONTENT)]:
            span.attributes.remove(one)
        del span.events[:]

    yield Change("content: stripped", "", [Stage(0, _changed(item, strip), [])])


def scopes(item: Recording) -> Iterator[Change]:
    """An instrumentation library is switched off."""
    names = sorted({row.scope.name for row in item.spans})
    for name in names if len(names) > 1 else ():
        yield Change("scope: one lost", name, [Stage(0, [r for r in item.spans if r.scope.name != name], item.logs)])


def clocks(item: Recording) -> Iterator[Change]:
    """Times are coarse, zero, reversed or equal; the tools' host has another clock."""
    same = min(row.span.start_time_unix_nano for row in item.spans)

    def start_in_ms(span: Span, _: Resource) -> None:
        span.start_time_unix_nano -= span.start_time_unix_nano % MS

    def both_in_ms(span: Span, resource: Resource) -> None:
        start_in_ms(span, resource)
        span.end_time_unix_nano -= span.end_time_unix_nano % MS

    def reversed_(span: Span, _: Resource) -> None:
        span.start_time_unix_nano, span.end_time_unix_nano = span.end_time_unix_nano, span.start_time_unix_nano

    def zero(span: Span, _: Resource) -> None:
        span.start_time_unix_nano = span.end_time_unix_nano = 0

    def zero_end(span: Span, _: Resource) -> None:
        span.end_time_unix_nano = 0

    def equal(span: Span, _: Resource) -> None:
        duration = span.end_time_unix_nano - span.start_time_unix_nano
        span.start_time_unix_nano, span.end_time_unix_nano = same, same + duration

    for label, change, tools_only in (
        ("milliseconds: starts", start_in_ms, False),
        ("milliseconds: both", both_in_ms, False),
        ("reversed: all", reversed_, False),
        ("reversed: tools", reversed_, True),
        ("zero: all", zero, False),
        ("zero: tools", zero, True),
        ("zero: ends", zero_end, False),
        ("equal starts: tools", equal, True),
    ):
        stages = [Stage(0, _changed(item, change, tools_only=tools_only), item.logs)]
        yield Change(f"times: {label.partition(':')[0]}", label, stages)
    yield from _skews(item)


def _skews(item: Recording) -> Iterator[Change]:
    tools = [row.span for row in item.spans if is_tool(row.span)]
    if not tools:
        return
    first = min(tools, key=lambda span: span.start_time_unix_nano).span_id
    for label, milliseconds in _OFFSETS:
        for whose, only in (("all tools", None), ("the first tool", first)):

            def skew(
                span: Span, resource: Resource, offset: int = milliseconds * MS, only: bytes | None = only
            ) -> None:
                if only is not None and span.span_id != only:
                    return
                span.start_time_unix_nano += offset
                span.end_time_unix_nano += offset
                for one in [one for one in resource.attributes if one.key in _HOST_NAMES]:
                    resource.attributes.remove(one)
                resource.attributes.extend(otlp_data.attributes({"service.name": "tools", "host.name": "h2"}))

            stages = [Stage(0, _changed(item, skew, tools_only=True), item.logs)]
            yield Change(f"skew: {label[1:]}", f"{whose} {label}", stages)


def _changed(item: Recording, change: Callable[[Span, Resource], None], *, tools_only: bool = False) -> list[SpanRow]:
    rows = []
    for row in item.spans:
        if tools_only and not is_tool(row.span):
            rows.append(row)
            continue
        span, resource = Span(), Resource()
        span.CopyFrom(row.span)
        resource.CopyFrom(row.resource)
        change(span, resource)
        rows.append(SpanRow(resource, row.scope, span))
    return rows


FAMILIES: dict[str, Callable[[Recording], Iterator[Change]]] = {
    "loss": loss,
    "tail": tail,
    "batch": batch,
    "late": late,
    "slow": slow,
    "repeated": repeated,
    "content": content,
    "scopes": scopes,
    "clocks": clocks,
}
