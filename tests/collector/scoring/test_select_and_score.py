"""Which rule scores a run, what completeness is, and when a verdict is a revision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from collector.assembly.trace import Trace
from collector.scoring.select_and_score import Scoring
from collector.scoring.verdict import Verdict
from scorers import FoundIntent, RuleSet, compile_rules, load_rules, parse_rules
from scorers.trajectory import DoubtName
from tests.collector.verdicts import run_of
from tests.otlp_data import TRACE


def rules(*written: dict[str, Any], **sections: Any) -> RuleSet:
    defaults = {"expect": {"sequence": ["a", "b"]}}
    return load_rules(
        {"rules": [{"name": f"rule-{at}", **defaults, **rule} for at, rule in enumerate(written)], **sections}
    )


def score(rule_set: RuleSet, *runs: Any, trace: Trace | None = None) -> list[Verdict]:
    trace = trace or Trace(TRACE, 0.0, 0.0, bytearray())
    scored = Scoring(rule_set).verdicts_of(trace, runs, "root", trace.touched)
    for anchor, given in scored.given.items():
        trace.record_verdict(anchor, given)
    return scored.verdicts


def names(verdicts: list[Verdict]) -> list[str | None]:
    return [verdict.rule for verdict in verdicts]


@pytest.mark.parametrize(
    ("match", "run"),
    [
        ({"route": "/chat/*"}, {"route": "/chat/refund"}),
        ({"intent": "refund"}, {"intent": "refund"}),
        ({"agent": {"regex": "^help"}}, {"agent": "helper"}),
        ({"service": "shop"}, {"service": "shop"}),
        ({"tenant": "blue"}, {"attributes": {"tenant.id": "blue"}}),
        ({"attributes": {"tier": "gold"}}, {"attributes": {"tier": "gold"}}),
        ({}, {}),
    ],
    ids=str,
)
def test_the_first_rule_that_matches(match: dict[str, Any], run: dict[str, Any]) -> None:
    rule_set = rules({"match": {"route": "never"}}, {"match": match}, {"match": {}})
    assert names(score(rule_set, run_of("a", "b", **run))) == ["rule-1"]


@pytest.mark.parametrize(
    ("rule", "conversation", "in_scored_whole"),
    [
        ({"scope": "trace"}, None, True),
        ({"scope": "trace", "match": {"agent": "outer"}}, None, True),
        ({"scope": "trace", "match": {"agent": "helper"}}, None, False),
        ({"scope": "trace", "shadow": True}, None, False),
        ({"scope": "conversation"}, "c", True),
        ({"scope": "conversation"}, None, False),
        ({"match": {"agent": "never"}}, "c", False),
    ],
    ids=str,
)
def test_a_run_without_a_rule_is_part_of_what_has_one(
    rule: dict[str, Any], conversation: str | None, in_scored_whole: bool
) -> None:
    outer = run_of("a", agent="outer", conversation_id=conversation)
    verdicts = score(rules(rule), outer, run_of("b", number=5, parent_span_id=outer.span_id))
    assert [verdict.in_scored_whole for verdict in verdicts if verdict.rule is None] == [in_scored_whole] * 2


def test_no_rule_is_a_verdict_without_evaluations() -> None:
    (verdict,) = score(rules({"match": {"route": "never"}}), run_of("a"))
    assert (verdict.rule, list(verdict.evaluations)) == (None, [])


@pytest.mark.parametrize(
    ("doubts", "complete", "label", "reason"),
    [
        ([], True, "pass", None),
        (["missing_remote_parent"], True, "pass", None),
        (["uncertain_owner"], True, "incomplete", "uncertain_owner"),
        (["missing_remote_parent", "missing_anchor", "missing_span"], False, "incomplete", "missing_anchor"),
        (["uncertain_order"], True, "ambiguous", "uncertain_order"),
    ],
)
def test_a_run_without_verdict_says_which_doubt_leaves_it_undecided(
    doubts: list[DoubtName], complete: bool, label: str, reason: str | None
) -> None:
    (verdict,) = score(rules({}), run_of("a", "b", doubts=doubts))
    assert (verdict.complete, verdict.label, verdict.unscored_reason) == (complete, label, reason)
    assert verdict.doubts == tuple(doubts)


def test_what_was_seen_may_suffice_for_a_fail() -> None:
    (verdict,) = score(rules({"expect": {"forbid": ["a"]}}), run_of("a", doubts=["missing_span"]))
    assert (verdict.complete, verdict.label, verdict.unscored_reason) == (False, "fail", None)


@pytest.mark.parametrize(
    ("match", "run", "reason"),
    [
        ({"route": "/chat"}, {}, "unknown_route"),
        ({"tenant": "blue"}, {"route": "/chat"}, "unknown_route"),
        ({"intent": "refund"}, {"route": "/chat"}, "unknown_route"),
        ({"intent": "refund"}, {"route": "/chat", "intent": "other"}, None),
        ({"agent": "other"}, {}, None),
        ({"route": "/chat"}, {"route": "/else"}, None),
        ({"tenant": "blue"}, {"attributes": {"tenant.id": "green"}}, None),
    ],
    ids=str,
)
def test_no_rule_is_chosen_while_the_span_that_may_name_its_route_is_missing(
    match: dict[str, str], run: dict[str, Any], reason: str | None
) -> None:
    (verdict,) = score(rules({"match": match}, {}), run_of("a", "b", doubts=["unknown_route"], **run))
    assert (verdict.rule, verdict.unscored_reason) == ("rule-1" if reason is None else None, reason)


@pytest.mark.parametrize(
    ("rule", "run", "expected"),
    [
        ({"match": {"agent": "admin-*"}}, {}, (None, "unknown_route")),
        ({"match": {"agent": "admin-*"}, "shadow": True}, {}, ("rule-1", None)),
        ({"match": {"agent": "admin-*", "service": "other"}}, {}, ("rule-1", None)),
        ({"match": {"agent": "admin-*", "service": "shop"}}, {}, (None, "unknown_route")),
        ({"match": {"agent": "admin-*"}, "scope": "trace"}, {}, ("rule-1", None)),
        ({"match": {"agent": "admin-*"}}, {"agent": "helper"}, ("rule-1", None)),
        ({"match": {"agent": "admin-*"}}, {"doubts": []}, ("rule-1", None)),
        ({"match": {"service": "shop"}, "expect": {"forbid": ["a"]}}, {}, ("rule-0", None)),
    ],
    ids=str,
)
def test_no_rule_is_chosen_after_one_that_only_the_missing_agent_could_match(
    rule: dict[str, Any], run: dict[str, Any], expected: tuple[str | None, str | None]
) -> None:
    rule_set = rules(rule, {"expect": {"forbid": ["a"]}})
    verdict = score(rule_set, run_of("a", **{"agent": None, "doubts": ["missing_anchor"], **run}))[0]
    assert (verdict.rule, verdict.unscored_reason) == expected


def test_a_shadow_rule_that_only_the_missing_agent_could_match_displaces_none_and_is_not_replaced() -> None:
    rule_set = rules({"match": {"agent": "admin-*"}, "shadow": True}, {"shadow": True}, {})
    run = run_of("a", "b", agent=None, doubts=["missing_anchor"])
    assert [(verdict.rule, verdict.shadow) for verdict in score(rule_set, run)] == [("rule-2", False)]
    known = run_of("a", "b", doubts=["missing_anchor"])
    assert names(score(rule_set, known)) == ["rule-2", "rule-1"]


def test_arguments_that_were_not_captured_are_named_where_the_rule_constrains_them() -> None:
    sequence = [{"tool": "a", "arguments": {"city": "Oslo"}}, "b"]
    (verdict,) = score(rules({"expect": {"sequence": sequence}}), run_of("a", "b"))
    assert (verdict.label, verdict.doubts) == ("pass", ("unobserved_arguments",))
    (verdict,) = score(rules({}), run_of("a", "b"))
    assert verdict.doubts == ()


def test_a_truncated_trace_is_incomplete() -> None:
    trace = Trace(TRACE, 0.0, 0.0, bytearray(), truncated=True)
    (verdict,) = score(rules({}), run_of("a", "b"), trace=trace)
    assert (verdict.label, verdict.unscored_reason) == ("incomplete", "truncated")


def test_spans_that_go_on_leave_the_run_around_them_and_its_whole_trace_undecided() -> None:
    runs = [run_of("a", number=1), run_of("b", number=5)]
    scoring = Scoring(rules({"scope": "trace"}, {}), running=lambda trace_id: [b"", runs[1].span_id])
    verdicts = scoring.verdicts_of(Trace(TRACE, 0.0, 0.0, bytearray()), runs, "shutdown", 0.0).verdicts
    assert [(verdict.scope, verdict.unscored_reason) for verdict in verdicts] == [
        ("run", None), ("run", "truncated"), ("trace", "truncated")
    ]  # fmt: skip


def test_a_shadow_rule_is_scored_beside_the_rule_in_force() -> None:
    verdicts = score(rules({"shadow": True}, {}), run_of("a", "b"))
    assert [(verdict.rule, verdict.shadow) for verdict in verdicts] == [("rule-1", False), ("rule-0", True)]


def test_a_trace_rule_scores_all_runs_together() -> None:
    rule_set = rules({"scope": "trace"}, {"match": {"agent": "never"}})
    verdicts = score(rule_set, run_of("a", number=1), run_of("b", number=5, parent_span_id=b"00000001"))
    assert names(verdicts) == [None, None, "rule-0"]
    assert [call.name for call in verdicts[2].run.trajectory.calls] == ["a", "b"]
    assert verdicts[2].evaluations[0].score.value == 1.0


def test_only_changed_calls_make_a_revision() -> None:
    trace, rule_set = Trace(TRACE, 0.0, 0.0, bytearray()), rules({})
    assert [verdict.revision for verdict in score(rule_set, run_of("a"), trace=trace)] == [0]
    assert score(rule_set, run_of("a"), trace=trace) == []
    assert [verdict.revision for verdict in score(rule_set, run_of("a", "b"), trace=trace)] == [1]


def test_an_intent_is_found_in_the_users_words_where_nobody_said_it() -> None:
    intents = [{"name": "refund", "keywords": ["money back"]}]
    rule_set = rules({"match": {"intent": "refund"}}, intents=intents)
    said, told = run_of(user_input="I want my money back!"), run_of(user_input="money back", intent="other")
    assert names(score(rule_set, said)) == ["rule-0"]
    assert names(score(rule_set, told)) == [None]
    assert said.found_intent == FoundIntent("refund", "keyword", "keyword 'money back'")


def test_words_are_embedded_only_where_nobody_said_the_intent() -> None:
    embedded: list[str] = []

    def embed(text: str) -> list[float]:
        embedded.append(text)
        return [1.0]

    file = parse_rules({"intents": [{"name": "refund", "examples": ["money back"]}]})
    rule_set = RuleSet(compile_rules(file), file.intents, embed)
    score(rule_set, run_of(user_input="one", intent="said"), run_of(user_input=None), run_of(user_input="two"))
    assert embedded == ["money back", "two"]


def test_a_call_whose_status_changed_makes_a_revision() -> None:
    trace, rule_set = Trace(TRACE, 0.0, 0.0, bytearray()), rules({})
    score(rule_set, run_of("a"), trace=trace)
    failed = run_of("a")
    failed.trajectory = replace(failed.trajectory, calls=[replace(failed.trajectory.calls[0], status="error")])
    assert [verdict.revision for verdict in score(rule_set, failed, trace=trace)] == [1]


@pytest.mark.parametrize("late", [{"arguments": {"city": "Oslo"}}, {"step": 0}], ids=str)
def test_a_call_whose_arguments_or_place_became_known_makes_a_revision(late: dict[str, Any]) -> None:
    trace, rule_set = Trace(TRACE, 0.0, 0.0, bytearray()), rules({})
    run = run_of("a", "b")
    first, second = [replace(call, arguments=None) for call in run.trajectory.calls]
    run.trajectory = replace(run.trajectory, calls=[first, second])
    score(rule_set, run, trace=trace)
    assert score(rule_set, run, trace=trace) == []
    run.trajectory = replace(run.trajectory, calls=[first, replace(second, **late)])
    assert [verdict.revision for verdict in score(rule_set, run, trace=trace)] == [1]


def test_a_doubt_that_came_up_since_makes_no_revision() -> None:
    trace, rule_set = Trace(TRACE, 0.0, 0.0, bytearray()), rules({})
    score(rule_set, run_of("a", "b"), trace=trace)
    trace.truncated = True
    assert score(rule_set, run_of("a", "b", doubts=["unrecorded_calls"]), trace=trace) == []


def test_an_undecided_run_of_which_the_doubt_is_settled_makes_a_revision() -> None:
    trace, rule_set = Trace(TRACE, 0.0, 0.0, bytearray()), rules({})
    for said in ([(0, "incomplete")], []):
        verdicts = score(rule_set, run_of("a", "b", doubts=["unrecorded_calls"]), trace=trace)
        assert [(verdict.revision, verdict.label) for verdict in verdicts] == said
    for said in ([(1, "pass")], []):
        verdicts = score(rule_set, run_of("a", "b"), trace=trace)
        assert [(verdict.revision, verdict.label) for verdict in verdicts] == said
