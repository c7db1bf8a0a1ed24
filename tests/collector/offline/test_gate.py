"""What stops a pull request: each condition, its figures, and what is not counted."""

from __future__ import annotations

from typing import Any

import pytest

from collector.offline.gate import Gate, tally
from collector.offline.reasons import groups_of
from collector.runs.explained import closest_rule
from collector.runs.rows import Row, row_of
from collector.scoring.select_and_score import verdict_of_run
from scorers import RuleSet, Trajectory, load_rules
from scorers.trajectory import ToolCall
from tests.collector.verdicts import run_of, verdict_of

PASS = row_of(verdict_of("search", outcomes=("matched",)))
FAIL = row_of(verdict_of("search", outcomes=("extra",), label="fail", value=0.5))
FORBIDDEN = row_of(verdict_of("delete_order", outcomes=("forbidden",), label="fail", value=0.9))
ERROR = row_of(verdict_of(label="error", value=None))
INCOMPLETE = row_of(verdict_of("search", label="incomplete", doubts=["missing_span"]))
AMBIGUOUS = row_of(verdict_of("search", label="ambiguous", doubts=["uncertain_order"]))
NO_RULE = row_of(verdict_of("search", rule=None, evaluations=[]))
UNKNOWN_ROUTE = row_of(verdict_of("search", rule=None, evaluations=[], is_rule_unknown=True))
OF_KIND = {
    "fail": FAIL, "forbidden": FORBIDDEN, "error": ERROR, "incomplete": INCOMPLETE, "ambiguous": AMBIGUOUS, "no_rule": NO_RULE,
}  # fmt: skip


def objections(*rows: Row, **conditions: Any) -> list[str]:
    return Gate(**conditions).objections(tally(rows))


def test_one_forbidden_call_in_twenty_runs_is_enough() -> None:
    assert objections(*[PASS] * 19, FORBIDDEN) == ["1 run with a forbidden call (--fail-on forbidden)"]
    assert objections(*[PASS] * 19, FORBIDDEN, fail_on=()) == []


def test_figures_are_not_rounded_to_what_they_have_to_reach() -> None:
    figures = tally([*[PASS] * 2999, FAIL])
    assert figures.sentence() == "3000 runs, 2999 pass, 1 fail, mean score 0.9998, accuracy 0.9997"
    assert Gate(min_accuracy=1.0, fail_under=1.0).objections(figures) == [
        "accuracy 0.9997 is under 1 (--min-accuracy)",
        "mean score 0.9998 is under 1 (--fail-under)",
    ]
    (objection,) = Gate(min_accuracy=0.9997).objections(figures)
    assert objection == "accuracy 0.99967 is under 0.9997 (--min-accuracy)"
    (objection,) = Gate(min_accuracy=0.9999999).objections(figures)
    assert objection == "accuracy 0.9997 is under 0.9999999 (--min-accuracy)"


@pytest.mark.parametrize("size", range(len(OF_KIND) + 1))
def test_figures_add_up(size: int) -> None:
    rows = [*OF_KIND.values()]
    assert tally(rows[:size]) + tally(rows[size:]) == tally(rows)


@pytest.mark.parametrize("kind", OF_KIND)
def test_each_kind_is_refused_where_it_is_asked_for_and_only_there(kind: str) -> None:
    rows = [PASS, OF_KIND[kind], OF_KIND[kind]]
    (told,) = objections(*rows, fail_on=(kind,))
    assert told.startswith("2 runs with ")
    assert told.endswith(f"(--fail-on {kind})")
    others = tuple(other for other in OF_KIND if other != kind and (kind, other) != ("forbidden", "fail"))
    assert objections(*rows, fail_on=others) == []


def test_a_run_whose_rule_is_unknown_is_incomplete() -> None:
    told = ["2 runs with the label incomplete or unknown_route (--fail-on incomplete)"]
    assert objections(PASS, INCOMPLETE, UNKNOWN_ROUTE, fail_on=("incomplete",)) == told
    assert objections(PASS, UNKNOWN_ROUTE, fail_on=tuple(kind for kind in OF_KIND if kind != "incomplete")) == []


def test_several_kinds_are_refused_at_once() -> None:
    assert len(objections(PASS, ERROR, NO_RULE, fail_on=("error", "no_rule"))) == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "0 of 0 runs decided (pass or fail), at least 1 needed (--min-runs)"),
        ([NO_RULE] * 3, "0 of 3 runs decided (pass or fail), at least 1 needed (--min-runs)"),
        ([INCOMPLETE], "0 of 1 runs decided (pass or fail), at least 1 needed (--min-runs)"),
    ],
)
def test_runs_of_which_none_is_decided_are_never_good_enough(rows: list[Row], message: str) -> None:
    assert objections(*rows) == [message]
    assert objections(*rows, min_runs=0) == []


def test_without_rules_runs_need_only_be_found() -> None:
    assert objections(NO_RULE, has_rules=False) == []
    assert objections(has_rules=False) == ["0 runs found, at least 1 needed (--min-runs)"]
    assert objections(PASS, min_runs=2) == ["1 of 1 runs decided (pass or fail), at least 2 needed (--min-runs)"]


def test_a_run_is_decided_with_its_conversation_and_once() -> None:
    turns = [NO_RULE | {"conversation_id": "c"}] * 3
    conversation = PASS | {"scope": "conversation", "conversation_id": "c"}
    assert objections(*turns, conversation, min_runs=3) == []
    others = [PASS | {"conversation_id": "c"}] * 3
    needed = "3 of 3 runs decided (pass or fail), at least 4 needed (--min-runs)"
    assert objections(*others, conversation, min_runs=4) == [needed]
    undecided = INCOMPLETE | {"scope": "conversation", "conversation_id": "c"}
    assert objections(*turns, undecided) == ["0 of 3 runs decided (pass or fail), at least 1 needed (--min-runs)"]


def test_accuracy_is_passes_among_the_decided() -> None:
    rows = [PASS, PASS, PASS, FAIL, ERROR, INCOMPLETE, NO_RULE]
    assert tally(rows).accuracy == 0.75
    assert objections(*rows, min_accuracy=0.75) == []
    assert objections(*rows, min_accuracy=0.76) == ["accuracy 0.750 is under 0.76 (--min-accuracy)"]
    assert objections(NO_RULE, min_accuracy=0.0, min_runs=0) == ["accuracy unknown is under 0 (--min-accuracy)"]


def test_the_mean_score_hides_what_accuracy_shows() -> None:
    assert objections(PASS, FORBIDDEN, fail_under=0.95, fail_on=()) == []
    assert objections(PASS, FORBIDDEN, fail_under=0.96, fail_on=()) == ["mean score 0.950 is under 0.96 (--fail-under)"]


def test_the_figures_name_what_was_not_scored_and_why() -> None:
    told = tally([PASS, FAIL, ERROR, INCOMPLETE, NO_RULE, NO_RULE]).sentence()
    assert told == (
        "6 runs, 1 pass, 1 fail, 1 incomplete, 1 error, mean score 0.500, accuracy 0.500; "
        "not scored: 2 no_rule, 1 error, 1 missing_span"
    )


def test_shadow_rules_stop_nothing() -> None:
    row = row_of(verdict_of("delete_order", outcomes=("forbidden",), label="fail", value=0.0, shadow=True))
    assert objections(PASS, row, fail_on=("forbidden", "fail")) == []


def test_a_run_whose_trace_or_conversation_is_scored_has_a_rule() -> None:
    run = {"conversation_id": "c1"}
    plain = row_of(verdict_of("search", rule=None, evaluations=[], run=run))
    scored = [row_of(verdict_of("search", scope=scope, run=run)) for scope in ("trace", "conversation")]
    assert [tally([plain, one]).unscored["no_rule"] for one in scored] == [0, 0]
    assert tally([NO_RULE, scored[1]]).unscored["no_rule"] == 1


@pytest.mark.parametrize("scorer", ["trajectory", "tpmjs", "tool_choice"])
def test_a_forbidden_call_counts_whichever_scorer_is_primary(scorer: str) -> None:
    expect = {"forbid": ["delete_*"], "sequence": ["a"]}
    (rule,) = load_rules({"rules": [{"name": "r", "match": {}, "expect": expect, "scorers": [scorer]}]}).rules
    trajectory = Trajectory([ToolCall("a"), ToolCall("delete_order", step=1)])
    run = {"trajectory": trajectory, "call_span_ids": (None, None)}
    row = row_of(verdict_of(rule="r", evaluations=rule.evaluate(trajectory), compiled_rule=rule, run=run))
    assert ("forbidden" in [call["outcome"] for call in row["tool_calls"]]) is (scorer != "tool_choice")
    assert row["forbidden"]
    is_gated = "1 run with a forbidden call (--fail-on forbidden)" in objections(PASS, row)
    assert is_gated is (scorer != "tool_choice")  # of which the verdict follows


def test_runs_without_a_rule_are_grouped_by_the_rule_that_is_the_closest() -> None:
    rules = load_rules(
        {"rules": [{"name": "far", "match": {"agent": "a", "route": "/a"}}, {"name": "near", "match": {"route": "/b"}}]}
    ).rules
    closest = closest_rule(verdict_of_run(run_of("search", agent="shop"), RuleSet(rules)))
    assert closest == "near: route is unknown, must be /b"
    assert closest_rule(verdict_of_run(run_of("search"), RuleSet())) is None
    assert closest_rule(verdict_of_run(run_of("search", route="/b"), RuleSet(rules))) is None
    unmatched = NO_RULE | {"closest_rule": closest, "conversation_id": "c"}
    (group,) = groups_of([PASS, unmatched, unmatched])
    assert group.sentence.startswith("2 no_rule: the closest is near: route is unknown, must be /b (for example ")
    assert group.lines == []
    assert groups_of([unmatched, PASS | {"scope": "conversation", "conversation_id": "c"}]) == []
