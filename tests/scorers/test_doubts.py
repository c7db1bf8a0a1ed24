"""A verdict stands only where every run that the evidence allows would get it."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain, combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers import CompiledRule, Doubt, ToolCall, Trajectory, parse_rules
from scorers.doubts import MAX_ALTERNATIVES, MORE_CALLS, alternatives

OPEN = sorted(MORE_CALLS)


def rule(**parts: Any) -> CompiledRule:
    return CompiledRule(parse_rules({"rules": [{"name": "r", **parts}]}).rules[0])


def run(*names: str, doubts: tuple[Doubt, ...] = (), steps: tuple[int, ...] | None = None) -> Trajectory:
    steps = steps or tuple(range(len(names)))
    return Trajectory([ToolCall(name, step=step) for name, step in zip(names, steps, strict=True)], doubts=doubts)


def label(compiled: CompiledRule, trajectory: Trajectory) -> str:
    (evaluation,) = compiled.evaluate(trajectory)
    return evaluation.score.label


def either_order(one: int, other: int) -> Doubt:
    return Doubt("uncertain_order", (one, other), orders=(((one,), (other,)), ((other,), (one,))))


def sequences(trajectory: Trajectory) -> list[list[str]]:
    possible = alternatives(trajectory)
    assert possible is not None
    return [[call.name for call in one.calls if call.executed] for one in possible]


A_THEN_B = rule(expect={"sequence": ["a", "b"]})


@pytest.mark.parametrize("name", OPEN)
def test_calls_may_be_missing_so_neither_a_pass_nor_a_fail_is_sure(name: Any) -> None:
    assert label(A_THEN_B, run("a", "b", doubts=(Doubt(name),))) == "incomplete"
    assert label(A_THEN_B, run("a", doubts=(Doubt(name),))) == "incomplete"
    assert label(rule(expect={"sequence": []}), run(doubts=(Doubt(name),))) == "incomplete"
    assert label(rule(expect={"forbid": ["x"]}), run("a", doubts=(Doubt(name),))) == "incomplete"
    assert label(rule(expect={"max_calls": 3}), run("a", doubts=(Doubt(name),))) == "incomplete"


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ({"expect": {"forbid": ["x"]}}, ("a", "x")),
        ({"expect": {"max_calls": 1}}, ("a", "b")),
        ({"expect": {"sequence": ["b"]}}, ("a",)),
        ({"constraints": [{"absence": "a"}]}, ("a",)),
        ({"constraints": [{"not_after": ["a", "b"]}]}, ("a", "b")),
        ({"constraints": [{"not_together": ["a", "b"]}]}, ("a", "b")),
        ({"constraints": [{"exactly": {"tool": "a", "times": 1}}]}, ("a", "a")),
    ],
)
def test_what_was_seen_and_cannot_be_undone_is_a_fail_whatever_is_missing(
    parts: dict[str, Any], names: tuple[str, ...]
) -> None:
    assert label(rule(**parts), run(*names, doubts=(Doubt("missing_span"),))) == "fail"


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ({"expect": {"sequence": ["a", "b"]}}, ("a",)),
        ({"expect": {"sequence": ["a", "b"]}}, ("b",)),
        ({"expect": {"sequence": ["b"]}, "pass": 0.5}, ("a",)),
        ({"constraints": [{"existence": "b"}]}, ("a",)),
        ({"constraints": [{"precedence": ["b", "a"]}]}, ("a",)),
        ({"constraints": [{"response": ["a", "b"]}]}, ("a",)),
        ({"constraints": [{"init": "b"}]}, ("a",)),
        ({"constraints": [{"last": "b"}]}, ("a",)),
        ({"constraints": [{"chain_response": ["a", "b"]}]}, ("a", "c")),
        ({"constraints": [{"exactly": {"tool": "a", "times": 2}}]}, ("a",)),
    ],
)
def test_what_a_missing_call_would_heal_is_no_fail(parts: dict[str, Any], names: tuple[str, ...]) -> None:
    assert label(rule(**parts), run(*names)) == "fail"
    assert label(rule(**parts), run(*names, doubts=(Doubt("missing_span"),))) == "incomplete"


def test_more_failures_than_allowed_are_a_fail_whatever_is_missing() -> None:
    one_failure = rule(expect={"max_errors": 1})
    calls = [ToolCall("a", status="error", step=0), ToolCall("b", step=1), ToolCall("c", status="error", step=2)]

    assert label(one_failure, Trajectory(calls, doubts=(Doubt("missing_span"),))) == "fail"
    assert label(one_failure, Trajectory(calls[:2], doubts=(Doubt("missing_span"),))) == "incomplete"


def failed(name: str, step: int = 0, **arguments: Any) -> ToolCall:
    return ToolCall(name, arguments, status="error", step=step)


@pytest.mark.parametrize(
    ("parts", "calls", "unseen"),
    [
        ({"expect": {"max_errors": 0}}, [failed("a")], ToolCall("a", step=1)),
        (
            {"expect": {"max_calls": 2}},
            [failed("a"), ToolCall("b", step=1), ToolCall("a", step=2)],
            failed("a", step=1),
        ),
        (
            {"constraints": [{"absence": {"tool": "a", "arguments": {"x": 1}}}]},
            [failed("a", x=1)],
            ToolCall("a", {}, step=1),
        ),
        (
            {"expect": {"tool": "a", "arguments": {"x": 1}, "allow_extra": ["*"]}},
            [failed("a", x=1)],
            ToolCall("a", {}, step=1),
        ),
    ],
)
def test_a_failed_call_settles_nothing_where_a_retry_that_was_not_seen_would_take_it_out_of_the_count(
    parts: dict[str, Any], calls: list[ToolCall], unseen: ToolCall
) -> None:
    compiled = rule(**{**parts, "expect": {**parts.get("expect", {}), "retries": "collapse"}})
    whole = Trajectory(sorted([*calls, unseen], key=lambda call: call.step))

    assert {label(compiled, Trajectory(calls)), label(compiled, whole)} == {"pass", "fail"}
    assert label(compiled, Trajectory(calls, doubts=(Doubt("missing_span"),))) == "incomplete"


def test_what_calls_that_did_not_fail_break_stands_whatever_retries_were_not_seen() -> None:
    def sure(calls: list[ToolCall], **expect: Any) -> str:
        compiled = rule(expect={**expect, "retries": "collapse"})
        return label(compiled, Trajectory(calls, doubts=(Doubt("missing_span"),)))

    assert sure([failed("a"), ToolCall("b", step=1), ToolCall("c", step=2)], max_calls=1) == "fail"
    assert sure([failed("a")], forbid=["a"]) == "fail"  # and so is its retry
    assert sure([failed("b"), ToolCall("a", step=1)], sequence=["a"], allow_extra=["*"]) == "pass"


def test_a_pass_stands_where_no_further_call_could_break_it() -> None:
    anything_more = rule(expect={"sequence": ["a"], "allow_extra": ["*"]})
    assert label(anything_more, run("a", doubts=(Doubt("missing_span"),))) == "pass"
    assert label(anything_more, run("b", doubts=(Doubt("missing_span"),))) == "incomplete"
    limited = rule(expect={"sequence": ["a"], "allow_extra": ["*"], "forbid": ["x"]})
    assert label(limited, run("a", doubts=(Doubt("missing_span"),))) == "incomplete"


def test_a_forbidden_call_that_may_not_have_run_is_no_fail() -> None:
    doubts = (Doubt("uncertain_execution", (1,)), Doubt("missing_span"))
    assert label(rule(expect={"forbid": ["x"]}), run("a", "x", doubts=doubts)) == "incomplete"


@pytest.mark.parametrize("name", ["uncertain_execution", "uncertain_owner", "uncertain_duplicate"])
def test_a_verdict_that_holds_with_and_without_the_calls_stands(name: Any) -> None:
    doubts = (Doubt(name, (1,)),)
    assert sequences(run("a", "b", doubts=doubts)) == [["a", "b"], ["a"]]
    assert label(A_THEN_B, run("a", "b", doubts=doubts)) == "incomplete"
    assert label(rule(expect={"sequence": ["a", {"optional": "b"}]}), run("a", "b", doubts=doubts)) == "pass"
    assert label(rule(expect={"sequence": ["c"]}), run("a", "b", doubts=doubts)) == "fail"


def test_a_call_that_probably_did_not_run_is_tried_as_one_that_did() -> None:
    calls = [ToolCall("a"), ToolCall("b", executed=False, step=1)]
    assert sequences(Trajectory(calls, doubts=(Doubt("uncertain_execution", (1,)),))) == [["a"], ["a", "b"]]


def test_calls_without_order_are_tried_in_every_order() -> None:
    doubts = (either_order(0, 1),)
    assert sequences(run("a", "b", doubts=doubts, steps=(0, 0))) == [["a", "b"], ["b", "a"]]
    assert label(A_THEN_B, run("a", "b", doubts=doubts, steps=(0, 0))) == "ambiguous"
    assert label(rule(expect={"any_order": ["a", "b"]}), run("a", "b", doubts=doubts, steps=(0, 0))) == "pass"
    assert label(rule(expect={"sequence": ["c"]}), run("a", "b", doubts=doubts, steps=(0, 0))) == "fail"


def test_calls_that_ran_at_once_or_one_by_one_are_tried_both_ways() -> None:
    doubt = Doubt("uncertain_order", (0, 1), orders=(((0, 1),), ((0,), (1,))))
    assert label(A_THEN_B, run("a", "b", doubts=(doubt,), steps=(0, 0))) == "pass"
    assert label(rule(expect={"sequence": ["b", "a"]}), run("a", "b", doubts=(doubt,), steps=(0, 0))) == "ambiguous"


def test_calls_that_ran_at_once_are_not_in_doubt() -> None:
    assert label(A_THEN_B, run("b", "a", steps=(0, 0))) == "pass"


def test_more_readings_than_are_tried_decide_nothing() -> None:
    few = tuple(Doubt("uncertain_execution", (at,)) for at in range(7))
    many = (*few, Doubt("uncertain_execution", (7,)))
    assert len(sequences(run(*"abcdefg", doubts=few))) == MAX_ALTERNATIVES
    assert alternatives(run(*"abcdefgh", doubts=many)) is None
    assert label(rule(expect={"forbid": ["z"]}), run(*"abcdefgh", doubts=many)) == "ambiguous"
    untold = Doubt("uncertain_order", (0, 1))
    assert alternatives(run("a", "b", doubts=(untold,), steps=(0, 0))) is None
    assert label(A_THEN_B, run("a", "b", doubts=(untold,), steps=(0, 0))) == "ambiguous"
    assert label(rule(expect={"any_order": ["a", "b"]}), run("a", "b", doubts=(untold,), steps=(0, 0))) == "pass"


def untold_order(*calls: int) -> Doubt:
    """The order of calls that can be told in more ways than are listed."""
    return Doubt("uncertain_order", calls)


@pytest.mark.parametrize(
    ("parts", "names", "expected"),
    [
        ({"expect": {"sequence": ["a", "b"], "forbid": ["x"]}}, "abx", "fail"),
        ({"expect": {"sequence": ["a", "b"], "max_calls": 2}}, "abc", "fail"),
        ({"expect": {"sequence": ["a", "b"]}}, "abc", "fail"),
        ({"expect": {"sequence": ["a", "b"]}, "constraints": [{"absence": "c"}]}, "abc", "fail"),
        ({"expect": {"sequence": ["a", "b", "c"]}}, "ab", "ambiguous"),  # known by the order alone
        ({"expect": {"sequence": ["a", "b"]}, "pass": 0.5}, "abc", "ambiguous"),
    ],
)
def test_what_all_readings_break_stands_although_they_are_more_than_are_tried(
    parts: dict[str, Any], names: str, expected: str
) -> None:
    steps = (0, 0, 1)[: len(names)]
    assert label(rule(**parts), run(*names, steps=steps, doubts=(untold_order(0, 1),))) == expected


def test_a_call_that_may_not_be_of_the_run_breaks_nothing_for_sure() -> None:
    forbidding = rule(expect={"sequence": ["a", "b"], "forbid": ["x"]})
    doubts = (untold_order(0, 1), Doubt("uncertain_execution", (2,)))
    assert label(forbidding, run("a", "b", "x", steps=(0, 0, 1), doubts=doubts)) == "ambiguous"
    assert label(forbidding, run("a", "x", "b", "x", steps=(0, 0, 1, 2), doubts=doubts)) == "fail"


def test_of_calls_without_a_result_only_as_many_count_as_do_in_all_readings() -> None:
    untold = (untold_order(0, 1), Doubt("unobserved_results", (2, 3)))
    collapsing = rule(expect={"sequence": ["a", "b", "c"], "max_calls": 3, "retries": "collapse"})
    counting = rule(expect={"sequence": ["a", "b", "c", "c"], "max_errors": 0})
    run_ = run("a", "b", "c", "c", steps=(0, 0, 1, 2), doubts=untold)
    assert [label(collapsing, run_), label(counting, run_)] == ["ambiguous", "ambiguous"]
    failing = Trajectory([failed("a"), *run_.calls[1:]], doubts=untold)
    assert label(counting, failing) == "fail"


def test_calls_of_which_no_result_was_seen_decide_nothing_where_a_rule_counts_failures() -> None:
    unseen = Doubt("unobserved_results", (0, 1), "a, b: no span and no message says whether it failed")
    run_ = run("a", "b", doubts=(unseen,))
    assert label(A_THEN_B, run_) == "pass"  # failures do not matter to it
    assert label(rule(expect={"sequence": ["b"], "max_errors": 0}), run_) == "fail"  # whatever failed
    assert label(rule(expect={"sequence": ["a", "b"], "max_errors": 2}), run_) == "pass"
    (evaluation,) = rule(expect={"sequence": ["a", "b"], "max_errors": 0}).evaluate(run_)
    assert (evaluation.score.label, evaluation.score.value) == ("incomplete", 1.0)
    assert evaluation.score.explanation.endswith("; incomplete: a, b: no span and no message says whether it failed")


def test_a_call_that_seems_to_have_failed_may_have_succeeded() -> None:
    failed = Trajectory([ToolCall("a", status="error")], doubts=(Doubt("unobserved_results", (0,)),))
    assert label(rule(expect={"max_errors": 0}), failed) == "incomplete"
    assert label(rule(expect={"max_errors": 1}), failed) == "pass"


def test_a_retry_is_none_if_nothing_says_that_the_call_before_it_failed() -> None:
    twice = run("a", "a", doubts=(Doubt("unobserved_results", (0, 1)),))
    assert label(rule(expect={"sequence": ["a", "a"]}), twice) == "pass"
    assert label(rule(expect={"sequence": ["a"], "retries": "collapse"}), twice) == "incomplete"


def test_none_and_all_of_the_calls_without_a_result_may_have_failed_whatever_was_recorded() -> None:
    one_of_two = Trajectory([failed("a"), ToolCall("b", step=1)], doubts=(Doubt("unobserved_results", (0, 1)),))
    by_limit = [label(rule(expect={"max_errors": limit}), one_of_two) for limit in (0, 1, 2)]
    assert by_limit == ["incomplete", "incomplete", "pass"]


def test_each_attempt_alone_may_have_failed_where_a_retry_takes_it_out_of_the_count() -> None:
    retried = rule(expect={"sequence": ["a", "b"], "retries": "collapse", "max_errors": 0})
    assert label(retried, Trajectory([failed("a"), ToolCall("a", step=1), ToolCall("b", step=2)])) == "pass"
    assert label(retried, run("a", "a", "b", doubts=(Doubt("unobserved_results", (0, 1, 2)),))) == "incomplete"


def test_attempts_without_a_result_decide_nothing_where_there_are_more_than_are_tried() -> None:
    def of(names: str) -> str:
        compiled = rule(expect={"sequence": list(names), "max_errors": 0, "retries": "collapse"})
        return label(compiled, run(*names, doubts=(Doubt("unobserved_results", tuple(range(len(names)))),)))

    assert [of("aaaaaaa"), of("aaaaaaaa"), of("abcdefghi")] == ["incomplete", "ambiguous", "incomplete"]


def test_each_call_alone_may_have_failed_where_a_published_scorer_tells_failures_apart() -> None:
    correct = {"system": "pydantic_evals", "evaluator": "ToolCorrectness"}
    published = rule(expect={"sequence": ["a"]}, scorers=[correct])
    for names in ("aa", "ab"):
        first, last = (ToolCall(name, step=step) for step, name in enumerate(names))
        assert label(published, Trajectory([first, failed(names[1], step=1)])) == "pass"
        assert (
            label(published, Trajectory([first, last], doubts=(Doubt("unobserved_results", (0, 1)),))) == "incomplete"
        )
    every_call = rule(expect={"sequence": ["a"]}, scorers=[{**correct, "include_failed": True}])
    assert label(every_call, run(*"a" * 9, doubts=(Doubt("unobserved_results", tuple(range(9))),))) == "fail"


def test_a_call_that_may_have_run_may_have_failed_as_well() -> None:
    doubts = (Doubt("uncertain_execution", (1,)), Doubt("unobserved_results", (1,)))
    assert label(rule(expect={"max_errors": 0}), run("a", "b", doubts=doubts[:1])) == "pass"
    assert label(rule(expect={"max_errors": 0}), run("a", "b", doubts=doubts)) == "incomplete"


def test_doubts_that_cannot_matter_to_a_rule_are_not_tried() -> None:
    few = tuple(Doubt("uncertain_execution", (at,)) for at in range(7))
    besides = (either_order(0, 1), Doubt("unobserved_results", tuple(range(7))))
    many = run(*"abcdefg", doubts=(*few, *besides), steps=(0, 0, 1, 2, 3, 4, 5))
    assert label(rule(expect={"forbid": ["z"]}), many) == "pass"
    assert label(rule(expect={"forbid": ["z"], "max_errors": 9}), many) == "ambiguous"


def test_doubts_that_only_inform_change_nothing() -> None:
    doubts = (Doubt("unobserved_arguments", (0,)), Doubt("missing_remote_parent"))
    assert label(A_THEN_B, run("a", "b", doubts=doubts)) == "pass"


def test_arguments_that_nothing_can_read_are_no_pass_where_a_rule_constrains_them() -> None:
    unread = run("a", "b", doubts=(Doubt("unreadable_arguments", (1,), "b: its arguments could not be parsed"),))
    constrained = rule(expect={"sequence": ["a", {"tool": "b", "arguments": {"x": 1}}]})
    (evaluation,) = constrained.evaluate(unread)
    assert evaluation.score.label == "incomplete"
    assert evaluation.score.explanation.endswith("; incomplete: b: its arguments could not be parsed")
    above_all = rule(constraints=[{"absence": {"tool": "b", "arguments": {"x": 1}}}])
    assert label(above_all, unread) == "incomplete"
    other = rule(expect={"sequence": [{"tool": "a", "arguments": {"x": 1}}, "b"]})
    assert [label(one, unread) for one in (A_THEN_B, other)] == ["pass", "pass"]
    assert label(rule(expect={"sequence": [{"tool": "b", "arguments": {"x": 1}}, "a"]}), unread) == "fail"


def test_published_scorers_are_undecided_where_calls_may_be_missing() -> None:
    published = rule(expect={"sequence": ["a"]}, scorers=[{"system": "evalite", "mode": "exact"}])
    assert label(published, run("a")) == "pass"
    assert label(published, run("a", doubts=(Doubt("missing_span"),))) == "incomplete"
    assert label(published, run("a", "b", doubts=(Doubt("uncertain_owner", (1,)),))) == "incomplete"


def test_an_undecided_verdict_says_what_would_settle_it() -> None:
    doubt = Doubt("uncertain_execution", (1,), "the span of call_7 never came")
    (evaluation,) = A_THEN_B.evaluate(run("a", "b", doubts=(doubt,)))
    assert evaluation.score.explanation.endswith("; incomplete: the span of call_7 never came")
    assert evaluation.score.value == 1.0


names = st.sampled_from("abc")


@given(st.lists(names, max_size=4), st.lists(names, max_size=2), st.integers(0, 4))
def test_no_call_that_may_be_missing_turns_a_sure_verdict(calls: list[str], unseen: list[str], at: int) -> None:
    """What the doubt allows is tried here the slow way: the calls that were unseen are put back."""
    for compiled in (
        A_THEN_B,
        rule(expect={"sequence": ["a", "b"], "allow_extra": ["*"]}),
        rule(expect={"forbid": ["c"]}),
    ):
        sure = label(compiled, run(*calls, doubts=(Doubt("missing_span"),)))
        whole = [*calls[:at], *unseen, *calls[at:]]
        if sure != "incomplete":
            assert label(compiled, run(*whole)) == sure


@given(
    st.lists(names, max_size=4), st.sets(st.integers(0, 3)), st.integers(0, 2), st.sampled_from(["count", "collapse"])
)
def test_no_failure_that_nobody_saw_turns_a_sure_verdict(
    called: list[str], recorded: set[int], limit: int, retries: str
) -> None:
    """Each set of failures is tried here."""

    def with_failures(at: Collection[int], *doubts: Doubt) -> Trajectory:
        calls = [failed(name, step) if step in at else ToolCall(name, step=step) for step, name in enumerate(called)]
        return Trajectory(calls, doubts=doubts)

    compiled, places = (
        rule(expect={"sequence": ["a", "b"], "max_errors": limit, "retries": retries}),
        range(len(called)),
    )
    sure = label(compiled, with_failures(recorded, Doubt("unobserved_results", tuple(places))))
    some = chain.from_iterable(combinations(places, size) for size in range(len(called) + 1))
    possible = {label(compiled, with_failures(at)) for at in some}
    assert possible == ({"pass", "fail"} if sure == "incomplete" else {sure})
