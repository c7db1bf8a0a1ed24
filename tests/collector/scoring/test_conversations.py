"""Runs of a conversation as bytes and back, and which conversation a run belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.assembly.conversations import Conversation, ConversationKey
from collector.assembly.trace import Given, Trace
from collector.model.genai_span import Content
from collector.otlp.structure import Envelope
from collector.reconstruction.judged_run import judged_run
from collector.reconstruction.run import Run
from collector.scoring.conversations import collect, conversations_of, read, restore, write
from collector.scoring.select_and_score import Scored
from collector.scoring.verdict import Verdict
from scorers import Doubt, FoundIntent, RuleSet, ToolCall, Trajectory
from scorers.trajectory import DoubtName
from tests.collector.verdicts import run_of
from tests.operations import calls
from tests.otlp_data import TRACE, span_id

KEY = ConversationKey("blue", "shop", "c-1")
DOUBTS = [
    Doubt("missing_anchor", (), "its root"),
    Doubt("uncertain_order", (0, 1), "\ud800", (((0,), (1,)), ((1,), (0,)))),
]


def again(run: Run, resource: bytes = b"res") -> Run:
    conversation = Conversation(KEY, 0.0, 0.0)
    collected = restore(write(KEY, run, resource, complete=True, reading=""))
    conversation.runs[collected.anchor] = collected
    (found,), kept = read(conversation, RuleSet())
    assert (collected.key, collected.complete, collected.calls) == (KEY, True, len(run.trajectory.calls))
    assert (collected.anchor, kept) == (run.trace_id + run.span_id, resource)
    return found


def test_everything_of_a_run_comes_back() -> None:
    calls = [
        ToolCall("a", {"n": 1, "deep": [{"x": None}]}, "id", "error", "Timeout", 5, 9, span_id(2).hex(), step=0),
        ToolCall("b", None, executed=False, step=1, arguments_text="not read", known_by="request"),
    ]
    run = run_of(
        parent_span_id=span_id(8), conversation_id="c-1", route="/x", intent="refund", user_input="Größe\ud800",
        response_id="r", attributes={"tier": "gold", "n": 1, "yes": True}, start_ns=4,
        trajectory=Trajectory(calls, "Größe\ud800", DOUBTS), call_span_ids=(span_id(2), None),
        started_by=span_id(9), found_intent=FoundIntent("refund", "keyword", "keyword 'back'"),
    )  # fmt: skip
    assert again(run) == run


def test_of_what_a_judge_is_told_the_last_words_are_kept() -> None:
    messages = [{"role": "assistant", "content": '{"city": "Rome"}'}]
    judged = judged_run(again(run_of(contents=[Content(messages, ["search"])])))
    assert (judged.response, judged.tools) == ('{"city": "Rome"}', None)
    assert again(run_of()).contents == ()


def test_a_run_belongs_to_the_conversation_it_was_collected_for() -> None:
    assert again(run_of(conversation_id=None)).conversation_id == "c-1"


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.binary(max_size=3) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2) | st.integers() | st.tuples(st.integers()), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(odd)
def test_any_arguments_are_written_and_read(value: Any) -> None:
    (call,) = again(
        run_of(trajectory=Trajectory([ToolCall("a", {"v": value})]), call_span_ids=(None,))
    ).trajectory.calls
    assert call.arguments is not None


doubts = st.builds(
    Doubt,
    st.sampled_from(get_args(DoubtName)),
    st.lists(st.integers(0, 3)).map(tuple),
    st.text(),
    st.lists(st.lists(st.lists(st.integers(0, 3)).map(tuple)).map(tuple)).map(tuple),
)


@given(st.lists(doubts, max_size=3))
def test_every_doubt_is_written_and_read_as_it_was(found: list[Doubt]) -> None:
    trajectory = again(run_of(trajectory=Trajectory([], None, found))).trajectory
    assert trajectory.doubts == found
    assert hash(tuple(trajectory.doubts)) == hash(tuple(found))


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [1 << 40_000, nested(100_000)], ids=["digits", "depth"])
def test_what_json_cannot_say_is_unknown(value: Any) -> None:
    calls = [ToolCall("a", {"v": value}), ToolCall("b", {"v": 1})]
    found = again(run_of(trajectory=Trajectory(calls), call_span_ids=(None, None)))
    assert [(call.name, call.arguments) for call in found.trajectory.calls] == [("a", None), ("b", None)]


@given(st.integers(0, 400), st.binary(min_size=1, max_size=3))
def test_a_damaged_record_is_refused_or_read(at: int, noise: bytes) -> None:
    record = write(KEY, run_of("a"), b"", complete=True, reading="")
    try:
        restore(record[:at] + noise + record[at + len(noise) :])
    except ValueError:
        return


@pytest.mark.parametrize("record", [b"[]", b"{}", b'{"ids": 1}', b"\xff"])
def test_what_is_no_run_is_refused(record: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own, or ours
        restore(record)


# --- which conversation


def named(number: int, conversation_id: str | None, parent: int | None = None, **fields: Any) -> Run:
    return run_of(
        number=number,
        conversation_id=conversation_id,
        parent_span_id=None if parent is None else span_id(parent),
        start_ns=number,
        **fields,
    )


def ids(runs: Sequence[Run]) -> dict[int, str]:
    return {int.from_bytes(anchor): key.conversation_id for anchor, key in conversations_of(runs).items()}


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([named(1, None)], {}),
        ([named(1, "a")], {1: "a"}),
        ([named(1, "a"), named(2, None, 1), named(3, None)], {1: "a", 2: "a", 3: "a"}),
        ([named(1, None), named(2, "a", 1)], {1: "a", 2: "a"}),
        ([named(1, "a"), named(2, "inner", 1), named(3, "inner", 2)], {1: "a", 2: "a", 3: "a"}),
        ([named(1, "a"), named(2, "b"), named(3, None), named(4, "c", 3)], {1: "a", 2: "b", 4: "c"}),
        ([named(1, "a", 2), named(2, "b", 1)], {1: "a", 2: "b"}),
        ([named(2, "a", 99)], {2: "a"}),
    ],
    ids=["none", "one", "whole trace", "from within", "outermost", "several", "a ring", "outer unknown"],
)
def test_whose_run_it_is(runs: list[Run], expected: dict[int, str]) -> None:
    assert ids(runs) == expected


def test_tenants_and_systems_are_kept_apart() -> None:
    def key(**attributes: str) -> ConversationKey:
        return conversations_of([named(1, "c", attributes=attributes)])[span_id(1)]

    assert key() == ConversationKey(None, "shop", "c")
    assert key(**{"tenant.id": "blue"}) == ConversationKey("blue", "shop", "c")
    assert key(**{"service.namespace": "retail"}) == ConversationKey(None, "retail", "c"), (
        "its services share conversations"
    )


def test_runs_with_a_new_verdict_are_collected_with_the_resource_of_their_anchor() -> None:
    trace = Trace(TRACE, 0.0, 0.0, bytearray())
    trace.hold(span_id(1), b"", Envelope(b"mine", b""))
    trace.hold(span_id(5), b"", Envelope(b"other", b""))
    first, second, old = named(1, "c"), named(7, "c", doubts=["missing_span"]), named(9, "c")
    for number in (8, old.span_id[-1]):
        trace.record_verdict(span_id(number), Given(0, conversation=hash(ConversationKey(None, "shop", "c"))))
    scored = Scored()
    scored.verdicts = [
        Verdict(first, "root"),
        Verdict(first, "root", shadow=True),
        Verdict(second, "root"),
        Verdict(first, "root", scope="trace"),
    ]
    scored.parts = {second.span_id: [span_id(8)]}
    collected = list(collect(trace, [first, second, old], scored, ""))
    assert [(run.anchor, run.complete) for run in collected] == [
        (TRACE + span_id(1), True),
        (TRACE + span_id(7), False),
    ]
    assert [run.parts for run in collected] == [(), (TRACE + span_id(8),)]
    for run in collected:
        trace.record_verdict(run.anchor[16:], Given(0))
        trace.record_collected(run)
    assert list(collect(trace, [first, second, old], Scored(), "")) == []
    other = [replace(run, attributes={"tenant.id": "blue"}) for run in (first, second, old)]
    assert [run.key.tenant for run in collect(trace, other, Scored(), "")] == ["blue"] * 3, "they belong elsewhere now"
    conversation = Conversation(KEY, 0.0, 0.0, {run.anchor: run for run in reversed(collected)})
    runs, resource = read(conversation, RuleSet())
    assert ([run.span_id for run in runs], resource) == ([span_id(1), span_id(7)], b"mine")
    assert list(collect(trace, [named(1, None)], scored, "")) == []


def test_nested_agents_find_their_conversation_in_linear_work() -> None:
    def work(depth: int) -> int:
        runs = [named(at, "one" if at == 1 else "two", parent=at - 1) for at in range(1, depth + 1)]
        return calls(lambda: conversations_of(runs))

    assert work(400) < 4.2 * work(100)
