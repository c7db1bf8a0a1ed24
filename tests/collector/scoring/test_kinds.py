"""Verdicts of one kind share what is made of them: it has to be what would be made of each alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.otlp.annotate import annotate
from collector.reconstruction.run import Run
from collector.results.evaluation_events import evaluation_events
from collector.results.span_attributes import annotations_of, span_attributes
from collector.results.verdict_counter import VerdictCounter
from collector.scoring import kinds
from collector.scoring.select_and_score import verdict_of_run
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry
from scorers import Doubt, FoundIntent, ToolCall, Trajectory, load_rules
from tests.collector.verdicts import run_of
from tests.otlp_data import span_id

RULES = load_rules({
    "rules": [
        {"name": "strict", "match": {"route": "/strict"}, "expect": {"sequence": ["a", "b"]}},
        {
            "name": "loose",
            "match": {"route": "/loose*"},
            "expect": {"sequence": [{"tool": "a", "arguments": {"x": 1}}], "allow_extra": ["*"], "max_errors": 0},
        },
        {"name": "twice", "match": {"route": "/twice"}, "expect": {"any_order": ["a"]},
         "scorers": ["trajectory", "agentevals_lc"]},
    ]
})  # fmt: skip
RAW = b"\x0a\x10" + bytes(16)

calls = st.builds(
    ToolCall,
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from([None, {"x": 1}, {"x": 2}]),
    status=st.sampled_from(["ok", "error"]),
    executed=st.booleans(),
    known_by=st.sampled_from(["span", "span", "result"]),
)
doubts = st.sampled_from([(), (), (), (Doubt("missing_remote_parent"),), (Doubt("missing_span"),)])
found = st.sampled_from([None, None, FoundIntent("pay", "keyword", "it says pay"), FoundIntent("pay", "regex", "p.y")])


@st.composite
def verdicts(draw: Any) -> Verdict:
    made: Sequence[ToolCall] = draw(st.lists(calls, max_size=3))
    fields = {
        "route": draw(st.sampled_from(["/strict", "/loose", "/twice", "/none"])),
        "agent": draw(st.sampled_from(["helper", "other"])),
        "service": draw(st.sampled_from([None, "shop", "desk"])),
        "intent": draw(st.sampled_from([None, "pay"])),
        "trajectory": Trajectory([replace(call, step=at) for at, call in enumerate(made)], doubts=draw(doubts)),
        "call_span_ids": tuple(span_id(2 + at) if call.known_by == "span" else None for at, call in enumerate(made)),
        "found_intent": draw(found),
    }
    run: Run = run_of(**fields)
    release: str = draw(st.sampled_from(["root", "idle"]))
    return replace(verdict_of_run(run, RULES), release=release)


def alone(verdict: Verdict) -> Verdict:
    found = replace(verdict)
    found.kind = None
    return found


def spans_of(verdict: Verdict) -> dict[bytes | None, bytes]:
    return {key: one.on(RAW) for key, one in annotations_of([verdict]).items() if key is not None}


def check(some: Sequence[Verdict]) -> None:
    """Each has to be exported and counted as it would be alone."""
    shared, single = Telemetry(), Telemetry()
    of_kinds, of_each = VerdictCounter(shared), VerdictCounter(single)
    for verdict in some:
        other = alone(verdict)
        assert spans_of(verdict) == {key: annotate(RAW, added) for key, added in span_attributes([other]).items()}
        assert list(evaluation_events(verdict, 7)) == list(evaluation_events(other, 7))
        of_kinds.count(verdict)
        of_each.count(other)
    of_kinds.flush()
    of_each.flush()
    assert list(samples(shared)) == list(samples(single))


@settings(deadline=None, max_examples=30)
@given(st.lists(verdicts(), max_size=8))
def test_what_is_made_of_a_kind_is_what_would_be_made_of_each_verdict(some: list[Verdict]) -> None:
    check(some)


@pytest.mark.parametrize(
    "changed",
    [
        {"route": "/loose/2"},
        {"intent": "pay"},
        {"agent": "other"},
        {"trajectory": Trajectory([ToolCall("a", {"x": 1}), ToolCall("c", step=1)])},
        {"trajectory": Trajectory([ToolCall("a", {"x": 2}), ToolCall("b", step=1)])},
        {"trajectory": Trajectory([ToolCall("a", {"x": 1}), ToolCall("b", step=1, known_by="result")])},
        {"trajectory": Trajectory([ToolCall("a", {"x": 1}), ToolCall("b", step=1)], doubts=[Doubt("missing_step")])},
        {"found_intent": FoundIntent(None, "none", "nothing")},
        {"found_intent": FoundIntent(None, "regex", "nothing")},
    ],
)
def test_runs_that_differ_in_one_thing_do_not_share_what_follows_from_it(changed: dict[str, Any]) -> None:
    calls = Trajectory([ToolCall("a", {"x": 1}), ToolCall("b", step=1)])
    usual: dict[str, Any] = {"route": "/loose", "trajectory": calls, "found_intent": FoundIntent(None, "none", "none")}
    fields = [usual, {**usual, **changed}, usual]
    check([verdict_of_run(run_of("a", "b", **of_run), RULES) for of_run in fields])


def samples(telemetry: Telemetry) -> Iterator[tuple[str, dict[str, str], float]]:
    for metric in telemetry.registry.collect():
        for sample in metric.samples:
            if metric.name.startswith(("rightcall", "gen_ai")) and not sample.name.endswith("_created"):
                yield sample.name, sample.labels, sample.value


def test_two_runs_of_one_shape_have_one_kind_and_a_changed_copy_has_another() -> None:
    first, second = (verdict_of_run(run_of("a", "b", number=number, route="/strict"), RULES) for number in (1, 5))
    assert first.kind is not None
    assert first.kind is second.kind
    assert replace(first, run=replace(first.run, agent="x")).kind is not first.kind
    assert (replace(first, revision=1).kind, replace(first, judged=True).kind) == (None, None)


@pytest.mark.parametrize("judged", [True, False])
def test_a_verdict_with_evaluations_of_its_own_is_of_no_kind(judged: bool) -> None:
    verdict = verdict_of_run(run_of("a", "b", route="/strict"), RULES)
    assert replace(verdict, evaluations=list(verdict.evaluations), judged=judged).kind is None


def test_kinds_are_bounded_in_bytes() -> None:
    for at in range(2 * kinds.MAX_KINDS_BYTES // 100_000):
        verdict_of_run(run_of("a", "b", route="/strict", agent=f"{at}" + "x" * 20_000), RULES)
        assert kinds._kinds.bytes <= kinds.MAX_KINDS_BYTES
    assert len(kinds._kinds) < at
