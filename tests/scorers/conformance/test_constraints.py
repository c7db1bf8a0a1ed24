"""Every DECLARE template: when it holds, what activates it, the effect of steps and missing arguments."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers import ToolCall, Trajectory
from scorers.rules.model import CONSTRAINTS_OF_ONE, CONSTRAINTS_OF_TWO
from tests.scorers.examples import rule, run

VIOLATED, SATISFIED, VACUOUS = "violated", "satisfied", "vacuous"


def state(constraint: dict[str, Any], trajectory: Trajectory) -> str:
    (entry,) = rule(constraints=[constraint]).native.score(trajectory).details["constraints"]
    return str(entry["state"])


@pytest.mark.parametrize(
    ("template", "operands", "vacuous", "satisfied", "violated"),
    [  # the runs, a letter a call, "-" being the one without calls
        ("existence", "a", "", "a ba", "- b"),
        ("existence", {"tool": "a", "times": 2}, "", "aba aaa", "- a"),
        ("absence", "a", "", "- b", "a ba"),
        ("exactly", "a", "", "a bab", "- b aa"),
        ("exactly", {"tool": "a", "times": 0}, "", "- b", "a"),
        ("init", "a", "-", "a ab", "b ba"),
        ("last", "a", "-", "a ba", "b ab"),
        ("response", ["a", "b"], "- c b", "ab acb aab", "a ba aba"),
        ("precedence", ["a", "b"], "- c a", "ab acbb", "b ba"),
        ("succession", ["a", "b"], "- c", "ab aab", "a b ba"),
        ("chain_response", ["a", "b"], "- b", "ab abab", "a acb aab"),
        ("not_after", ["a", "b"], "- b", "a ba", "ab bacb"),
        ("not_together", ["a", "b"], "- c", "aa b", "ab ba"),
        ("response", ["a", "a"], "- b", "", "a aa"),
        ("precedence", ["a", "a"], "-", "", "a"),
        ("not_together", ["a", "[ab]"], "-", "a", "aa ab"),
    ],
)
def test_templates(template: str, operands: Any, vacuous: str, satisfied: str, violated: str) -> None:
    expected = dict.fromkeys(vacuous.split(), VACUOUS)
    expected |= dict.fromkeys(satisfied.split(), SATISFIED) | dict.fromkeys(violated.split(), VIOLATED)

    assert {calls: state({template: operands}, run(*calls.strip("-"))) for calls in expected} == expected


@pytest.mark.parametrize(
    ("constraint", "steps", "expected"),
    [
        # Calls of one step have no order: what some order would keep is kept.
        ({"precedence": ["b", "a"]}, [0, 0], SATISFIED),
        ({"response": ["b", "a"]}, [0, 0], SATISFIED),
        ({"not_after": ["a", "b"]}, [0, 0], SATISFIED),
        ({"not_after": ["a", "b"]}, [0, 1], VIOLATED),
        ({"init": "b"}, [0, 0], SATISFIED),
        ({"init": "b"}, [0, 1], VIOLATED),
        ({"last": "a"}, [0, 0], SATISFIED),
        ({"chain_response": ["b", "a"]}, [3, 3], SATISFIED),
    ],
)
def test_calls_of_one_step_are_unordered(constraint: dict[str, Any], steps: list[int], expected: str) -> None:
    assert state(constraint, run("a", "b", steps=steps)) == expected


def test_the_rest_of_a_step_and_the_next_step_directly_follow_a_call() -> None:
    constraint = {"chain_response": ["a", "b"]}

    assert state(constraint, run("a", "c", "b", steps=[0, 0, 1])) == SATISFIED
    assert state(constraint, run("a", "c", "b", steps=[0, 1, 2])) == VIOLATED


LARGE = {"tool": "pay", "arguments": {"amount": {"min": 1000}}}


@pytest.mark.parametrize(
    ("constraint", "amount", "expected"),
    [
        ({"precedence": ["approve", LARGE]}, 5000, VIOLATED),
        ({"precedence": ["approve", LARGE]}, 5, VACUOUS),
        # Nobody captured the amount: it cannot break a rule, and it can keep one.
        ({"precedence": ["approve", LARGE]}, None, VACUOUS),
        ({"absence": LARGE}, 5000, VIOLATED),
        ({"absence": LARGE}, None, SATISFIED),
        ({"existence": LARGE}, 5, VIOLATED),
        ({"existence": LARGE}, None, SATISFIED),
        ({"exactly": LARGE}, None, SATISFIED),
        ({"exactly": LARGE | {"times": 0}}, None, SATISFIED),
        ({"exactly": LARGE | {"times": 2}}, None, VIOLATED),
        ({"init": LARGE}, None, SATISFIED),
    ],
)
def test_conditions_on_arguments(constraint: dict[str, Any], amount: int | None, expected: str) -> None:
    arguments = None if amount is None else {"amount": amount}

    assert state(constraint, run(("pay", arguments))) == expected


def test_the_details_count_activations_and_violations() -> None:
    constraints = [{"response": ["a", {"tool": "b", "arguments": {"x": 1}}]}, {"existence": {"tool": "c", "times": 2}}]

    details = rule(constraints=constraints).native.score(run("a", ("b", {"x": 1}), "a", "a")).details

    assert details["constraints"] == [
        {"constraint": "response(a, b{...})", "state": "violated", "activated": 3, "violated": 2},
        {"constraint": "existence(c, times 2)", "state": "violated", "activated": 1, "violated": 1},
    ]


@pytest.mark.parametrize(
    ("constraint", "calls", "expected"),
    [  # how often it was activated, how often violated, and whether no further call could mend that
        ({"existence": "a"}, "b", (1, 1, False)),
        ({"absence": "a"}, "b", (1, 0, False)),
        ({"absence": "a"}, "aba", (1, 2, True)),
        ({"absence": "a"}, "a", (1, 1, True)),
        ({"exactly": {"tool": "a", "times": 2}}, "a", (1, 1, False)),
        ({"exactly": {"tool": "a", "times": 2}}, "aa", (1, 0, False)),
        ({"exactly": {"tool": "a", "times": 2}}, "aaa", (1, 1, True)),
        ({"init": "a"}, "", (0, 0, False)),
        ({"init": "a"}, "ba", (1, 1, False)),
        ({"succession": ["a", "b"]}, "bba", (3, 3, False)),
        ({"not_after": ["a", "b"]}, "ba", (1, 0, False)),
        ({"not_after": ["a", "b"]}, "ab", (1, 1, True)),
        ({"not_after": ["a", "b"]}, "aaba", (3, 2, True)),
        ({"not_together": ["a", "b"]}, "a", (1, 0, False)),
        ({"not_together": ["a", "b"]}, "aab", (1, 1, True)),
    ],
)
def test_activations_violations_and_whether_they_are_final(
    constraint: dict[str, Any], calls: str, expected: tuple[int, int, bool]
) -> None:
    diagnosis, _ = rule(constraints=[constraint]).native.diagnose(run(*calls))
    (result,) = diagnosis.constraint_results
    assert result == expected
    assert [type(value) for value in result] == [int, int, bool]


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        ({"existence": {"tool": "a", "times": 1}}, "existence(a)"),
        ({"exactly": {"tool": "a", "times": 0}}, "exactly(a, times 0)"),
        ({"absence": "a"}, "absence(a)"),
    ],
)
def test_a_constraint_is_named_with_its_count(constraint: dict[str, Any], text: str) -> None:
    (entry,) = rule(constraints=[constraint]).native.score(run("a")).details["constraints"]
    assert entry["constraint"] == text


def test_only_executed_calls_count() -> None:
    asked_for = ToolCall("a", executed=False)

    assert state({"absence": "a"}, run(asked_for)) == SATISFIED
    assert state({"existence": "a"}, run(asked_for)) == VIOLATED


def by_definition(template: str, calls: str) -> bool:
    """The definition of each template over an ordered run, word for word."""
    after = [(one, calls[at + 1 :]) for at, one in enumerate(calls)]
    before = [(one, calls[:at]) for at, one in enumerate(calls)]
    response = all("b" in later for one, later in after if one == "a")
    precedence = all("a" in earlier for one, earlier in before if one == "b")
    return {
        "existence": "a" in calls,
        "absence": "a" not in calls,
        "exactly": calls.count("a") == 1,
        "init": calls[:1] in ("", "a"),
        "last": calls[-1:] in ("", "a"),
        "response": response,
        "precedence": precedence,
        "succession": response and precedence,
        "chain_response": all(pair[1] == "b" for pair in pairwise(calls + "." if calls else "") if pair[0] == "a"),
        "not_after": not any("b" in later for one, later in after if one == "a"),
        "not_together": not ("a" in calls and "b" in calls),
    }[template]


@given(st.sampled_from([*CONSTRAINTS_OF_ONE, *CONSTRAINTS_OF_TWO]), st.text("abc", max_size=8))
def test_constraints_on_ordered_runs_follow_the_definition(template: str, calls: str) -> None:
    operands: Any = "a" if template in CONSTRAINTS_OF_ONE else ["a", "b"]

    assert (state({template: operands}, run(*calls)) != VIOLATED) == by_definition(template, calls)
