"""Whole traces: the same runs in any order and repetition, and no exception for any input."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector import dialects
from collector.dialects import ATTRIBUTES, DIALECTS
from collector.model.span import LogRecord, Resource, Scope, Span, SpanEvent
from collector.reconstruction.joined_runs import join_runs
from collector.reconstruction.run import Run
from tests.builders import (
    TRACE,
    agent_span,
    called,
    genai_spans,
    log,
    model_span,
    reconstruct,
    result,
    run_of,
    runs_of,
    span,
    span_id,
    tool_span,
    user,
)

EVENTFUL: list[Span | LogRecord] = [
    span("POST /chat", 1, kind=2, lasting=500, attributes={"http.route": "/chat"}),
    agent_span("travel", 2, 1, at=1, lasting=400),
    model_span([("c1", "ask", {"q": "x"}), ("c2", "gone", {})], 3, 2, at=2, lasting=5, input_messages=[user("go")]),
    tool_span("ask", {"q": "x"}, 4, 2, at=10, lasting=100, call_id="c1"),
    agent_span("policy", 5, 4, at=11, lasting=90),
    tool_span("look", {}, 6, 5, at=12, lasting=20),
    tool_span("look", {}, 7, 6, at=13, lasting=10, status=2),
    tool_span("note", {}, 8, 5, at=20, lasting=30),
    model_span(number=9, parent=2, at=150, input_messages=[{"role": "assistant"}, result("c1", "Error: no")]),
    model_span(number=10, parent=2, at=200, lasting=5),
    log(
        "gen_ai.choice",
        10,
        {"message": {"tool_calls": [{"id": "c3", "function": {"name": "mail", "arguments": "{}"}}]}},
        at=201,
    ),
    tool_span("mail", {}, 11, 2, at=210),
]


def shown(runs: list[Run]) -> list[Any]:
    return [
        (
            run.span_id,
            run.parent_span_id,
            run.agent,
            run.route,
            run.user_input,
            run.trajectory,
            run.call_span_ids,
        )
        for run in runs
    ]


def test_a_whole_trace() -> None:
    travel, policy = runs_of(*EVENTFUL)
    assert (travel.agent, called(travel)) == ("travel", ["(gone)", "ask", "mail"])
    assert (policy.agent, called(policy)) == ("policy", ["look", "note"])
    assert (travel.route, travel.user_input, travel.service) == ("/chat", "go", "shop")
    assert [call.step for call in policy.trajectory.calls] == [0, 0]
    assert policy.trajectory.calls[0].status == "error"


@pytest.mark.parametrize("seed", range(20))
def test_runs_do_not_depend_on_arrival_order_or_repetition(seed: int) -> None:
    shuffle = random.Random(seed)
    items = EVENTFUL + shuffle.choices(EVENTFUL, k=10)
    shuffle.shuffle(items)
    assert shown(runs_of(*items)) == shown(runs_of(*EVENTFUL))


def test_reconstructing_twice_gives_the_same_runs() -> None:
    read = genai_spans(EVENTFUL)
    before = repr(read)
    parents = {item.span_id: item.parent_span_id for item in EVENTFUL if isinstance(item, Span)}
    once = shown(reconstruct(read, parents))
    assert shown(reconstruct(read, parents)) == once
    assert repr(read) == before


def test_twenty_thousand_calls_are_reconstructed() -> None:
    tools = [tool_span("get", number=number, parent=number - 1, at=number) for number in range(2, 20_002)]
    run = run_of(agent_span(), *tools)
    assert len(run.trajectory.calls) == 1  # each inside the one before: the same call
    flat = [tool_span("get", {"n": number}, number, 1, at=number * 20) for number in range(2, 20_002)]
    assert len(run_of(agent_span(), *flat).trajectory.calls) == 20_000


def test_many_requests_and_executions_of_one_tool_are_joined() -> None:
    spans: list[Span] = []
    for turn in range(500):
        spans.append(model_span([(f"c{turn}", "get", {"n": turn})], 10 + 2 * turn, at=turn * 30, lasting=5))
        spans.append(tool_span("get", {"n": turn}, 11 + 2 * turn, at=turn * 30 + 10, lasting=5))
    run = run_of(agent_span(lasting=20_000), *spans)
    assert [call.id for call in run.trajectory.calls] == [f"c{turn}" for turn in range(500)]


# --- garbage

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=12)
    | st.binary(max_size=4)
    | st.sampled_from(
        [
            "tool",
            "TOOL",
            "agent",
            "AGENT",
            "LLM",
            "chat",
            "execute_tool",
            "invoke_agent",
            "workflow",
            "task",
            "session",
            "tools/call",
            '{"a": 1}',
            "{'a': 1}",
            '[{"role": "assistant", "parts": [{"type": "tool_call", "name": "f"}]}]',
            '{"kwargs": {}, "args": [1]}',
            "ai.toolCall",
            "ai.generateText",
            "agent_run",
            "model_step",
            "Agent",
            "ToolInvoker",
            "generation",
        ]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(
    [
        *sorted(ATTRIBUTES),
        "gen_ai.completion.0.tool_calls.0.name",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id",
    ]
)
scopes = st.sampled_from(["app", *(scope for dialect in DIALECTS for scope in dialect.scopes)])
span_names = st.sampled_from(
    [
        "step",
        "execute_tool f",
        "running tool",
        "agent run",
        "invoke_agent a",
        "call_llm",
        "agent_run [a]",
        "haystack.component.run",
        "haystack.agent.step.tool",
        "Function: {name}",
        "Agent run: {name!r}",
        "running tool f",
        "raw_gen_ai_request",
        "FunctionTool.task",
    ]
)
ids = st.integers(0, 6)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    number = draw(ids)
    made = span(
        draw(span_names),
        number,
        draw(ids),
        draw(st.integers(0, 50)),
        draw(st.integers(-5, 50)),
        attributes=draw(st.dictionaries(keys, values, max_size=5)),
        scope=draw(scopes),
        kind=draw(st.integers(0, 5)),
        status=draw(st.integers(0, 3)),
        remote=draw(st.none() | st.booleans()),
    )
    event = SpanEvent(
        draw(st.sampled_from(["exception", "gen_ai.choice", "gen_ai.tool.message", "gen_ai.user.message"])),
        1,
        draw(
            st.dictionaries(
                st.sampled_from(["content", "message", "exception.type", "exception.message", "id"]), values, max_size=2
            )
        ),
    )
    return replace(made, events=[event])


@st.composite
def log_records(draw: st.DrawFn) -> LogRecord:
    event = draw(
        st.sampled_from(
            [
                "gen_ai.choice",
                "gen_ai.tool.message",
                "gen_ai.user.message",
                "gen_ai.client.inference.operation.details",
                "",
            ]
        )
    )
    return LogRecord(
        TRACE,
        span_id(draw(ids)),
        event,
        draw(st.integers(0, 9)),
        draw(st.dictionaries(keys, values, max_size=3)),
        draw(values),
        Resource({}),
        Scope("s", ""),
    )


@given(st.lists(spans() | log_records(), max_size=8), st.randoms(use_true_random=False))
def test_any_spans_give_the_same_runs_in_any_order(items: list[Span | LogRecord], shuffle: random.Random) -> None:
    unique = list({(type(item), item.span_id): item for item in items}.values())
    found = shown(runs_of(*unique))
    shuffled = [*unique, *unique]
    shuffle.shuffle(shuffled)
    # repr: an argument may be NaN, which is not even itself
    assert repr(shown(runs_of(*shuffled))) == repr(found)
    join_runs(runs_of(*unique), 0)


@given(st.lists(spans() | log_records(), max_size=8))
def test_any_spans_give_the_same_runs_twice_and_are_not_modified(items: list[Span | LogRecord]) -> None:
    read = genai_spans(items)
    parents = {item.span_id: item.parent_span_id for item in items if isinstance(item, Span)}
    before = repr(read)
    first = repr(reconstruct(read, parents))
    assert repr(reconstruct(read, parents)) == first
    assert repr(read) == before


@given(spans())
def test_any_span_is_read(made: Span) -> None:
    dialects.read_span(made)
