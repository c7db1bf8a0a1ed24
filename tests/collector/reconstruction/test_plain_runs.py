"""Plain traces: whatever is read of one without all the passes of `rebuild` is what these find."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.model.genai_span import AGENT, BY_SHAPE, EVENT, GROUP, MODEL, OTHER, SESSION, TOOL, Content, GenAISpan
from collector.model.span import Resource
from collector.model.span_copies import copy_of
from collector.payloads.refusals import Refusal
from collector.payloads.tool_results import ToolResult
from collector.reconstruction.context import ContextSettings
from collector.reconstruction.plain_runs import plain_run
from collector.reconstruction.reconstruct import rebuild
from tests.builders import EPOCH, MS, RESOURCE, TRACE, links_of, span_id

SETTINGS = ContextSettings(route=("http.route",), intent=("app.intent",), dimensions=("model",), content=True)
Trace = tuple[list[GenAISpan], dict[bytes, bytes]]


def plain_trace(calls: int = 3, above: int = 1, apart: int = 20, lasting: int = 10, *, asks: bool = False) -> Trace:
    """Returns a server's span, steps below it, an agent, its tools one after the other, and their HTTP calls.

    With ``asks`` the agent asks a model before each call, and after the last.
    """
    agent = genai_span(AGENT, 10, above, 0, 1000)
    agent.name, agent.attributes, agent.conversation_id = "support", {"app.intent": "refund"}, "conv-1"
    parents = {span_id(number): span_id(number - 1) for number in range(1, above + 1)} | {span_id(10): span_id(above)}
    spans = [agent]
    for number in range(calls):
        tool = genai_span(TOOL, 20 + number, 10, 10 + apart * number, lasting)
        tool.name, tool.call_id, tool.arguments = f"tool_{number % 2}", f"call_{number}", f'{{"n": {number}}}'
        spans.append(tool)
        parents |= {tool.span_id: agent.span_id, span_id(40 + number): tool.span_id}
    for number in range(calls + 1 if asks else 0):
        model = genai_span(MODEL, 30 + number, 10, 8 + apart * number, 2)
        model.finish, model.response_id = "tool_calls" if number < calls else "other", f"resp_{number}"
        spans.append(model)
        parents[model.span_id] = agent.span_id
    if above:
        root = genai_span(OTHER, 1, 0, -5, 1100)
        root.scope, root.attributes, root.user_input = "http", {"http.route": "/chat"}, "hello"
        spans.append(root)
    return spans, parents


def genai_span(role: Any, number: int, parent: int, at: float, lasting: float) -> GenAISpan:
    start = EPOCH + int(at * MS)
    made = GenAISpan(span_id(number), span_id(parent), start, start + int(lasting * MS), role, "otel_genai", RESOURCE)
    made.scope = "app"
    return made


def plain_of(trace: Trace) -> Any:
    spans, parents = trace
    return plain_run(TRACE, spans, links_of(parents), SETTINGS)


def rebuilt_of(trace: Trace) -> Any:
    spans, parents = trace
    return rebuild(TRACE, spans, dict(parents), SETTINGS).runs


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("above", [0, 1, 3])
@pytest.mark.parametrize("calls", [1, 2, 5])
def test_a_plain_trace_is_read_as_it_is_rebuilt(calls: int, above: int, asks: bool) -> None:
    trace = plain_trace(calls, above, asks=asks)
    Random(calls).shuffle(trace[0])
    found = plain_of(trace)
    assert found is not None
    assert [call.name for call in found.trajectory.calls] == [f"tool_{number % 2}" for number in range(calls)]
    assert [found] == rebuilt_of(trace)


def test_calls_at_once_share_a_step() -> None:
    spans, parents = plain_trace(3)
    spans[2].start_ns -= 12 * MS
    found = plain_of((spans, parents))
    assert found is not None
    assert [call.step for call in found.trajectory.calls] == [0, 0, 1]
    assert [found] == rebuilt_of((spans, parents))


@pytest.mark.parametrize(
    "change",
    [{"call_id": "call_1"}, {"dialect": "openinference"}, {"status": "error"}, {"arguments": "{"}, {"start_ns": 0}],
)
def test_what_may_be_another_run_is_left_to_rebuild(change: dict[str, Any]) -> None:
    spans, parents = plain_trace()
    for name, value in change.items():
        setattr(spans[1], name, value)
    assert plain_of((spans, parents)) is None


# --- the same trace, with something that may be unusual: what is read without `rebuild` is nothing, or the same

FIELDS: dict[str, list[Any]] = {
    "span_id": [b"", span_id(10), span_id(20), span_id(21), span_id(1), b"longer than eight bytes"],
    "parent_span_id": [b"", *(span_id(number) for number in (1, 2, 10, 20, 21, 40, 41, 99))],
    "start_ns": [0, EPOCH, EPOCH - MS, EPOCH + 10 * MS, EPOCH + 25 * MS, EPOCH + 30 * MS, EPOCH - 1 + 29 * MS],
    "end_ns": [0, EPOCH, EPOCH + 10 * MS, EPOCH + 25 * MS, EPOCH + 30 * MS, EPOCH + 90 * MS],
    "role": [OTHER, AGENT, TOOL, MODEL, SESSION, GROUP, EVENT],
    "dialect": ["otel_genai", BY_SHAPE, "openinference", ""],
    "resource": [RESOURCE, Resource({"host.name": "b"}), Resource({"service.name": "shop"})],
    "remote_parent": [True],
    "name": [None, "", " tool_0 ", "StructuredTool", "support", "tool_1"],
    "call_id": [None, "call_0", "call_1", ""],
    "arguments": [
        None, "", "null", "{}", '{"n": 1, "m": 2}', "{'n': 1}", "{", "text", '"text"', '"{}"', "[1]", {"n": 0}, [], 7,
        '{"n": "' + "x" * 20_000 + '"}',
    ],
    "status": ["unset", "ok", "error"],
    "error_type": [None, "ValueError", "JSONDecodeError"],
    "refusal": [Refusal(), Refusal(is_likely=True)],
    "is_pending": [True],
    "agent": [None, "support", "other"],
    "conversation_id": [None, "conv-1", "conv-2"],
    "response_id": ["r1"],
    "tool_results": [(), (ToolResult("call_0", failed=True),)],
    "output": ['[{"role": "assistant", "parts": [{"type": "tool_call", "name": "tool_9", "arguments": {}}]}]'],
    "history": ['[{"role": "user", "content": "go"}]'],
    "has_output": [True],
    "finish": ["tool_calls", "other"],
    "user_input": [None, "hello", "", 7],
    "attributes": [{}, {"http.route": "/agent"}, {"app.intent": "x", "model": "m"}],
    "content": [Content(output="done"), Content(hidden=frozenset({"arguments"}))],
    "scope": ["app", "other", ""],
}  # fmt: skip
NOTES: list[dict[str, Any]] = [
    *({"outcome": value} for value in ("told", "begun", "asked", "open", "text", "converted", "lossy", "hooked")),
    *({"identity": value} for value in ("guessed", "node", "graph", "result")),
    *({"extent": value} for value in ("apart", "resumed", "served", "nested", "memory", "loop", "part", "turns", "some")),
    *({"traced_calls": value} for value in ("all", "tools", "named", "succeeded")),
]  # fmt: skip


def set_field(spans: list[GenAISpan], parents: dict[bytes, bytes], draw: st.DrawFn) -> None:
    name = draw(st.sampled_from(sorted(FIELDS)))
    setattr(draw(st.sampled_from(spans)), name, draw(st.sampled_from(FIELDS[name])))


def note(spans: list[GenAISpan], parents: dict[bytes, bytes], draw: st.DrawFn) -> None:
    draw(st.sampled_from(spans)).note(**draw(st.sampled_from(NOTES)))


def move(spans: list[GenAISpan], parents: dict[bytes, bytes], draw: st.DrawFn) -> None:
    """Give a span another parent, by its link alone, as received."""
    parents[draw(st.sampled_from([span_id(99), *sorted(parents)]))] = draw(st.sampled_from(FIELDS["parent_span_id"]))


def lose(spans: list[GenAISpan], parents: dict[bytes, bytes], draw: st.DrawFn) -> None:
    lost = draw(st.sampled_from([span_id(99), *sorted(parents)]))
    parents.pop(lost, None)
    spans[:] = [one for one in spans if one.span_id != lost] or spans


def repeat(spans: list[GenAISpan], parents: dict[bytes, bytes], draw: st.DrawFn) -> None:
    spans.append(copy_of(draw(st.sampled_from(spans))))


def add(spans: list[GenAISpan], parents: dict[bytes, bytes], draw: st.DrawFn) -> None:
    made = genai_span(draw(st.sampled_from(FIELDS["role"])), 60, draw(st.sampled_from([0, 1, 2, 10, 20, 40])), 35, 5)
    made.name = draw(st.sampled_from(["tool_1", "support", None]))
    parents[made.span_id] = made.parent_span_id
    spans.append(made)


def record_twice(spans: list[GenAISpan], parents: dict[bytes, bytes], draw: st.DrawFn) -> None:
    """Have a call recorded by another library as well."""
    second = copy_of(draw(st.sampled_from(spans)))
    second.span_id, second.call_id = span_id(70), None
    second.scope, second.dialect = draw(st.sampled_from([("other", second.dialect), (second.scope, "openinference")]))
    second.start_ns += draw(st.sampled_from([-1, 1, 2 * MS]))
    parents[second.span_id] = second.parent_span_id
    spans.append(second)


def read_by_shape(spans: list[GenAISpan], parents: dict[bytes, bytes], draw: st.DrawFn) -> None:
    for one in spans:
        one.dialect = BY_SHAPE


def name_two_agents(spans: list[GenAISpan], parents: dict[bytes, bytes], draw: st.DrawFn) -> None:
    """Have the agent's own span name none, and its tools two."""
    for number, one in enumerate(spans):
        if one.role is AGENT:
            one.name = None
        one.agent = f"agent_{number % 2}"


def correct(spans: list[GenAISpan], parents: dict[bytes, bytes], draw: st.DrawFn) -> None:
    """Have a call fail that is made again with more arguments."""
    for number, one in enumerate(spans[1:3]):
        one.name, one.status = "tool_0", ("error", "ok")[number]
        one.arguments = ('{"n": 1}', '{"n": 1, "m": 2}')[number]


def run_elsewhere(spans: list[GenAISpan], parents: dict[bytes, bytes], draw: st.DrawFn) -> None:
    """Have a tool run on another host, by the clock of that."""
    one = draw(st.sampled_from(spans))
    one.resource = Resource({"host.name": "b"})
    one.start_ns, one.end_ns = one.start_ns - 9 * MS, one.end_ns - 9 * MS


def truncate_start(spans: list[GenAISpan], parents: dict[bytes, bytes], draw: st.DrawFn) -> None:
    """Have a call begin at a whole millisecond, as JavaScript's clock tells it, in which the one before ends."""
    for before, after in pairwise(spans[1:3]):
        after.start_ns = after.start_ns // MS * MS
        before.end_ns = after.start_ns + draw(st.sampled_from([0, MS // 2, MS - 1, MS]))


CHANGES: list[Callable[[list[GenAISpan], dict[bytes, bytes], st.DrawFn], None]] = [
    set_field, set_field, set_field, set_field, note, move, lose, repeat, add, record_twice, read_by_shape,
    name_two_agents, correct, run_elsewhere, truncate_start,
]  # fmt: skip


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    apart, lasting = draw(st.sampled_from([4, 20])), draw(st.sampled_from([3, 10]))
    calls, above, asks = draw(st.integers(0, 4)), draw(st.sampled_from([0, 1, 3])), draw(st.booleans())
    spans, parents = plain_trace(calls, above, apart, lasting, asks=asks)
    for _ in range(draw(st.integers(0, 4))):
        draw(st.sampled_from(CHANGES))(spans, parents, draw)
    draw(st.randoms(use_true_random=False)).shuffle(spans)
    return spans, parents


@settings(max_examples=500)
@given(traces())
def test_what_is_read_as_plain_is_what_is_rebuilt(trace: Trace) -> None:
    found = plain_of(trace)
    assert found is None or [found] == rebuilt_of(trace)


def test_a_run_that_ends_to_wait_is_not_plain() -> None:
    spans, parents = plain_trace(calls=1, asks=True)
    next(span for span in spans if span.role is AGENT).is_pending = True
    assert plain_of((spans, parents)) is None
    (run,) = rebuilt_of((spans, parents))
    assert [doubt.name for doubt in run.trajectory.doubts] == ["other_traces"]
