"""Compiled rules: what is refused and with which path, the evaluations of a run, digests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from scorers import (
    SCORERS,
    Doubt,
    RuleError,
    Score,
    ToolCall,
    Trajectory,
    load_rules,
    parse_rules,
    score_rule,
)
from scorers.evaluation import digest
from scorers.rules.parsing import format_path
from tests.scorers.examples import any_order, refund_file, rule, run

HAPPY = run(("lookup_order", {"order_id": "ord_7"}), "check_inventory", "check_policy", "refund_card")


def mistakes(**keys: Any) -> list[tuple[str, str]]:
    with pytest.raises(RuleError) as caught:
        load_rules({"rules": [{"name": "first"}, {"name": "r", **keys}]})
    return [(format_path(problem.path), problem.message) for problem in caught.value.problems]


def test_every_scorer_of_a_rule_gives_an_evaluation() -> None:
    (compiled,) = load_rules(refund_file()).rules

    native, evalite = compiled.evaluate(HAPPY)

    assert (native.name, native.version, native.primary, native.score.value) == (
        "trajectory",
        "trajectory@1",
        True,
        1.0,
    )
    assert (evalite.name, evalite.version, evalite.primary) == ("evalite", "evalite@1.0.0-beta.16", False)
    assert (evalite.score.value, evalite.score.label) == (1.0, "pass")
    assert list(evalite.score.outcomes) == ["matched"] * 4


@pytest.mark.parametrize(
    ("keys", "path", "message"),
    [
        (
            {"scorers": ["evalit"], "expect": {"tool": "a"}},
            ".scorers[0]",
            "unknown scorer evalit; did you mean evalite?",
        ),
        ({"scorers": ["trajectory", "evalite"]}, ".scorers[1]", "this rule has no pattern"),
        ({"scorers": ["tpmjs"], "expect": {"tool": "a*"}}, ".scorers[0]", "a* is not an exact name"),
        ({"scorers": [{"system": "evalite", "mod": 1}], "expect": {"tool": "a"}}, ".scorers[0]", "has no option 'mod'"),
        ({"scorers": [{"system": "trajectory", "mode": 1}]}, ".scorers[0]", "has no options"),
        ({"scorers": [{"system": "trajectory", "sample_rate": 1}]}, ".scorers[0]", "has no sample_rate"),
        ({"scorers": [{"system": "mastra_llm", "judge": {}}]}, ".scorers[0]", "has no option 'judge'"),
        ({"expect": {"tool": "a", "forbid": ["*"]}}, ".expect", "both expected and forbidden"),
        (
            {"expect": {"sequence": ["b", {"tool": "a", "arguments": {"x": {"semantic": "hello"}}}]}},
            ".expect.sequence[1].arguments.x.semantic",
            "needs embeddings",
        ),
        (
            {"constraints": [{"absence": {"tool": "a", "arguments": {"x": {"one_of": [{"semantic": "y"}]}}}}]},
            ".constraints[0].absence.arguments.x.one_of[0].semantic",
            "needs embeddings",
        ),
    ],
)
def test_unusable_rules_are_refused_when_loaded(keys: dict[str, Any], path: str, message: str) -> None:
    ((where, what),) = mistakes(**keys)

    assert where == f"rules[1]{path}"
    assert message in what


def test_a_pattern_too_large_is_refused_when_loaded() -> None:
    blocks = [{"sequence": [f"a{at}", "b", f"c{at}"]} for at in range(9)]

    ((where, what),) = mistakes(expect={"any_order": blocks})

    assert where == "rules[1].expect"
    assert "fewer or smaller elements" in what


def test_embeddings_come_from_outside() -> None:
    file = {"rules": [{"name": "r", "expect": {"tool": "a", "arguments": {"x": {"semantic": "hello"}}}}]}
    (compiled,) = load_rules(file, embed=lambda text: [1.0, float(len(text) > 5)]).rules

    assert compiled.evaluate(run(("a", {"x": "hi"})))[0].score.label == "pass"
    assert compiled.evaluate(run(("a", {"x": "something else"})))[0].score.label == "fail"


@pytest.fixture
def broken_scorer() -> Iterator[str]:
    """A registered scorer that raises on every run."""

    def create(**_: Any) -> Any:
        def scorer(*, expected: Any, actual: Any, work: Any) -> Score:
            raise LookupError(f"{len(expected)} and {len(actual)}")

        return scorer

    SCORERS["broken"] = create
    yield "broken"
    del SCORERS["broken"]


def test_a_scorer_that_raises_gives_an_error_and_disturbs_no_other(broken_scorer: str) -> None:
    compiled = rule({"sequence": ["a"]}, scorers=[broken_scorer, "trajectory"])

    error, native = compiled.evaluate(run("a"))

    assert (error.score.value, error.score.label) == (None, "error")
    assert error.score.details == {"error.type": "LookupError"}
    assert (error.version, error.primary) == ("broken", True)
    assert native.score.label == "pass"


def test_a_run_too_entangled_to_search_is_an_error() -> None:
    shuffled = Random(3)
    expected = [f"t{shuffled.randrange(10)}" for _ in range(200)]
    trajectory = run(*shuffled.sample(expected, 200), steps=[at // 8 for at in range(200)])

    (evaluation,) = rule({"sequence": [{"optional": name} for name in expected]}).evaluate(trajectory)

    assert evaluation.score.label == "error"
    assert evaluation.score.details == {"error.type": "WorkLimitError"}


COSTLY = {"repeat": {"tool": "search", "arguments": {"query": {"fuzzy": "refund policy" * 9, "ratio": "weighted"}}}}
SEARCHES = [("search", {"query": "x" * 19_000})] * 3


@pytest.mark.parametrize("scorers", [["trajectory"], ["trajectory", "evalite"]])
def test_a_forbidden_call_stands_where_the_rest_takes_too_much_work(scorers: list[str]) -> None:
    compiled = rule(COSTLY | {"forbid": ["delete_*"]}, scorers=scorers)

    score = compiled.evaluate(run(*SEARCHES, "delete_account"))[0].score

    assert (score.label, score.value, score.outcomes) == ("fail", 0.0, (*["unscored"] * 3, "forbidden"))
    assert score.explanation.startswith(
        "score 0.000: forbidden delete_account; nothing else is scored: the scorer raised"
    )
    assert score.details == {"error.type": "WorkLimitError"}
    assert compiled.evaluate(run(*SEARCHES, "answer"))[0].score.label == "error"
    not_run = run(*SEARCHES, ToolCall("delete_account", executed=False))
    assert compiled.evaluate(not_run)[0].score.label == "error"
    doubtful = compiled.evaluate(run(*SEARCHES, "delete_account", doubts=[Doubt("uncertain_owner", (3,))]))[0].score
    assert (doubtful.label, doubtful.outcomes) == ("error", score.outcomes)


def test_looking_for_a_forbidden_call_is_limited_as_well() -> None:
    patterns = [{"regex": f"delete{at}$"} for at in range(100)]
    names = [f"tool {at}" for at in range(5_000)]

    (evaluation,) = rule({"forbid": patterns}).evaluate(run(*names, "delete7"))

    assert evaluation.score.label == "error"


def test_published_scorers_have_the_outcome_of_forbidden_calls_and_their_own_value_and_label() -> None:
    scorers = [{"system": "axion"}, {"system": "deepeval_permission", "denied_tools": ["other"]}, {"system": "tpmjs"}]
    compiled = rule({"sequence": ["refund"], "forbid": ["delete_*"]}, scorers=scorers)

    found = [
        one.score for one in compiled.evaluate(run("refund", ToolCall("delete_x", executed=False), "delete_account"))
    ]

    assert [score.outcomes[-1] for score in found] == ["forbidden"] * 3
    assert [(score.value, score.label) for score in found[:2]] == [(1.0, "pass")] * 2
    assert found[0].outcomes == ("matched", "unscored", "forbidden")


@pytest.mark.parametrize(
    ("trajectory", "label", "value"),
    [
        (run("a", "b"), "pass", 1.0),
        (run("a"), "fail", 2 / 3),
        (run("a", "b", doubts=[Doubt("missing_span")]), "incomplete", 1.0),
        (run("a", "b", steps=[0, 0], doubts=[any_order(0, 1)]), "ambiguous", 1.0),
        (run("x", doubts=[Doubt("missing_span")]), "fail", 0.0),  # extra, whatever is missing
    ],
)
def test_only_what_every_possible_run_would_get_is_a_pass_or_a_fail(
    trajectory: Trajectory, label: str, value: float
) -> None:
    (evaluation,) = rule({"sequence": ["a", "b"]}).evaluate(trajectory)

    assert (evaluation.score.label, evaluation.score.value) == (label, value)


@pytest.mark.parametrize(("bar", "label"), [(0.4, "pass"), (0.5, "pass"), (0.6, "fail")])
def test_a_published_score_passes_at_the_bar_of_the_rule(bar: float, label: str) -> None:
    compiled = rule({"sequence": ["a", "b"]}, scorers=["evalite"], **{"pass": bar})

    (evaluation,) = compiled.evaluate(run("a"))

    assert (evaluation.score.value, evaluation.score.label) == (0.5, label)


def test_published_scorers_see_executed_calls_only_and_answer_for_all() -> None:
    compiled = rule({"sequence": ["a", "b"]}, scorers=[{"system": "evalite", "mode": "flexible"}])

    (evaluation,) = compiled.evaluate(run(ToolCall("x", executed=False), "a", "b"))

    assert evaluation.score.value == 1.0
    assert list(evaluation.score.outcomes) == ["unscored", "matched", "matched"]


def test_one_system_twice_under_two_names() -> None:
    modes = [{"system": "evalite", "mode": mode, "name": f"evalite_{mode}"} for mode in ("exact", "flexible")]
    compiled = rule({"sequence": ["a", "b"]}, scorers=modes)

    evaluations = compiled.evaluate(run("b", "a"))

    assert [(one.name, one.score.value) for one in evaluations] == [("evalite_exact", 0.0), ("evalite_flexible", 1.0)]


def changed(**keys: Any) -> str:
    return digest(parse_rules({"rules": [{"name": "r", "match": {}, **keys}]}).rules[0])


def test_digests_tell_rules_apart_and_nothing_else() -> None:
    same = {
        changed(expect={"sequence": ["a"]}),
        changed(expect={"sequence": [{"tool": "a"}]}, scope="run", shadow=False),
        changed(expect={"sequence": ["a"]}, description="what it is for", **{"pass": 1}),
        changed(expect={"sequence": ["a"]}, objective=0.95),
    }
    different = [
        changed(expect={"sequence": ["b"]}),
        changed(expect={"any_order": ["a"]}),
        changed(expect={"sequence": ["a"]}, match={"route": "x"}),
        changed(expect={"sequence": ["a"]}, **{"pass": 0.9}),
        changed(expect={"sequence": ["a"]}, scorers=["trajectory", {"system": "evalite", "mode": "exact"}]),
        changed(expect={"sequence": ["a"]}, scorers=["trajectory", {"system": "evalite", "mode": "flexible"}]),
        changed(expect={"sequence": [{"tool": "a", "arguments": {"x": 1}}]}),
        changed(expect={"sequence": [{"tool": "a", "arguments": {"x": True}}]}),
        changed(expect={"sequence": ["a"]}, shadow=True),
    ]

    assert len(same) == 1
    assert len({*same, *different}) == 1 + len(different)
    assert all(len(one) == 12 and int(one, 16) >= 0 for one in different)


def test_a_digest_never_changes_between_releases_by_accident() -> None:
    assert changed(expect={"sequence": ["a", {"optional": "b"}]}) == "919831020199"


def test_a_rule_scores_a_run_without_further_ado() -> None:
    (parsed,) = parse_rules(refund_file()).rules

    assert [evaluation.score.label for evaluation in score_rule(parsed, HAPPY)] == ["pass", "pass"]


def test_details_are_plain_data() -> None:
    (compiled,) = load_rules(refund_file()).rules
    for trajectory in (HAPPY, run(), run("refund_card", "delete_x", "refund_credit")):
        for evaluation in compiled.evaluate(trajectory):
            assert json.loads(json.dumps(dict(evaluation.score.details))) == dict(evaluation.score.details)
