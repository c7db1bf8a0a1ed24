"""What verdicts write on spans."""

from __future__ import annotations

from collector.results.span_attributes import span_attributes
from scorers import FoundIntent
from tests.collector.verdicts import evaluation, run_of, verdict_of
from tests.otlp_data import span_id


def test_the_anchor_has_the_rule_and_every_score_the_primary_one_under_its_standard_name() -> None:
    second = evaluation("fail", 0.25, "evalite", primary=False)
    verdict = verdict_of(
        "a", "b",
        evaluations=[evaluation("fail", 0.5, outcomes=("matched", "extra"), missing=("c",), explanation="why"), second],
        run={"route": "/chat", "intent": "refund"},
    )  # fmt: skip
    assert dict(span_attributes([verdict])[span_id(1)]) == {
        "rightcall.complete": True,
        "rightcall.rule": "weather",
        "rightcall.rule.digest": "d1",
        "rightcall.route": "/chat",
        "rightcall.intent": "refund",
        "rightcall.trajectory.score": 0.5,
        "rightcall.trajectory.label": "fail",
        "rightcall.evalite.score": 0.25,
        "rightcall.evalite.label": "fail",
        "gen_ai.evaluation.name": "trajectory",
        "gen_ai.evaluation.score.value": 0.5,
        "gen_ai.evaluation.score.label": "fail",
        "gen_ai.evaluation.explanation": "why",
        "rightcall.missing_tools": ("c",),
        "rightcall.extra_tools": ("b",),
    }


def test_an_intent_found_in_the_users_words_comes_with_its_reason() -> None:
    found = FoundIntent("refund", "keyword", "keyword 'money back'")
    verdict = verdict_of("a", run={"intent": "refund", "found_intent": found})
    added = dict(span_attributes([verdict])[span_id(1)])
    assert (added["rightcall.intent"], added["rightcall.intent.reason"]) == ("refund", "keyword 'money back'")


def test_each_tool_span_has_its_outcome() -> None:
    added = span_attributes([verdict_of("a", "b", outcomes=("matched", "forbidden"))])
    assert added[span_id(2)] == (("rightcall.outcome", "matched"),)
    assert added[span_id(3)] == (("rightcall.outcome", "forbidden"),)


def test_a_scorer_of_whole_runs_leaves_calls_unscored() -> None:
    assert span_attributes([verdict_of("a")])[span_id(2)] == (("rightcall.outcome", "unscored"),)


def test_a_failed_scorer_has_a_label_and_no_score() -> None:
    anchor = dict(span_attributes([verdict_of(label="error", value=None)])[span_id(1)])
    assert anchor["rightcall.trajectory.label"] == "error"
    assert not [name for name in anchor if name.endswith((".score", ".value"))]


def test_a_tool_that_is_the_anchor_has_both() -> None:
    run = {"span_id": span_id(2)}
    names = [name for name, _ in span_attributes([verdict_of("a", outcomes=("matched",), run=run)])[span_id(2)]]
    assert "rightcall.rule" in names
    assert "rightcall.outcome" in names


def test_a_shadow_rule_writes_nothing() -> None:
    assert span_attributes([verdict_of("a", shadow=True)]) == {}


def test_a_run_without_a_rule_says_so_and_why() -> None:
    unmatched = verdict_of("a", rule=None, evaluations=[])
    assert span_attributes([unmatched]) == {
        span_id(1): (("rightcall.complete", True), ("rightcall.rule", ""), ("rightcall.unscored_reason", "no_rule"))
    }
    unknown = verdict_of("a", rule=None, evaluations=[], doubts=["unknown_route"], is_rule_unknown=True)
    assert dict(span_attributes([unknown])[span_id(1)]) == {
        "rightcall.complete": True,
        "rightcall.rule": "",
        "rightcall.unscored_reason": "unknown_route",
        "rightcall.doubts": ("unknown_route",),
    }


def test_what_a_rule_for_the_whole_trace_says_goes_before_that_none_is_for_the_run() -> None:
    verdicts = [verdict_of("a", rule=None, evaluations=[]), verdict_of("a", scope="trace")]
    assert dict(span_attributes(verdicts)[span_id(1)])["rightcall.rule"] == "weather"


def test_the_anchor_names_what_is_in_doubt() -> None:
    verdict = verdict_of("a", label="incomplete", doubts=["missing_span", "uncertain_owner"])
    added = dict(span_attributes([verdict])[span_id(1)])
    assert (added["rightcall.complete"], added["rightcall.doubts"]) == (False, ("missing_span", "uncertain_owner"))
    assert "rightcall.doubts" not in dict(span_attributes([verdict_of("a")])[span_id(1)])


def test_calls_that_have_no_span_are_passed_over() -> None:
    run = run_of("a", call_span_ids=(None,))
    verdict = verdict_of("a", outcomes=("matched",))
    verdict.run = run
    assert list(span_attributes([verdict])) == [span_id(1)]
