"""Problems in a rule file: each with its path in the document, a message, and a suggestion."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.rules.parsing import Problem, RuleError, format_path, parse_rules
from tests.scorers.examples import refund_file


def problems(data: object) -> list[Problem]:
    with pytest.raises(RuleError) as caught:
        parse_rules(data)
    return list(caught.value.problems)


def rule(**keys: Any) -> dict[str, Any]:
    return {"rules": [{"name": "r", **keys}]}


def in_sequence(element: Any) -> dict[str, Any]:
    return rule(expect={"sequence": ["a", element]})


def call_test(**keys: Any) -> dict[str, Any]:
    return {"tests": [{"name": "t", "rule": "r", "passes": True, "calls": [], **keys}]}


DOCUMENTS: list[tuple[object, str, str]] = [
    # the document, where, what
    ([], "the document", "must be a mapping"),
    ("rules", "the document", "must be a mapping"),
    ({"rules": {}}, "rules", "must be a list"),
    ({"rule": []}, "rule", "unknown key rule; did you mean rules?"),
    ({"rules": [{"match": {}}]}, "rules[0]", "name is missing"),
    ({"rules": [{"name": "r"}, {"name": "r"}]}, "rules[1].name", "one before is named r too"),
    (call_test(calls=[{"a": {}, "b": {}}]), "tests[0].calls[0].a", "unknown key a"),
    (call_test(calls=[{"a": 5}]), "tests[0].calls[0]", "must be a mapping"),
    (call_test(passes="yes"), "tests[0].passes", "must be true or false"),
    (call_test(scor=1), "tests[0].scor", "did you mean score?"),
    (call_test(score=None), "tests[0].score", "has no value"),
    (call_test(context=None), "tests[0].context", "has no value"),
]
RULES: list[tuple[dict[str, Any], str, str]] = [
    # keys of a rule, where in the rule, what
    ({"pas": 1}, ".pas", "did you mean pass?"),
    ({"pass": 1.5}, ".pass", "must be at most 1"),
    ({"pass": "0.9"}, ".pass", "must be a number"),
    ({"scope": "runs"}, ".scope", "did you mean run?"),
    ({"match": {"rout": "x"}}, ".match.rout", "did you mean route?"),
    ({"match": {"route": 5}}, ".match.route", "must be text"),
    ({"match": {"route": "/x/[z-a]"}}, ".match.route", "not a glob: the range z-a ends before it begins"),
    ({"expect": {"forbid": ["a", "[z-a]"]}}, ".expect.forbid[1]", "not a glob"),
    ({"scorers": []}, ".scorers", "must not be empty"),
    ({"scorers": ["a", "a"]}, ".scorers", "two scorers are named a"),
    ({"constraints": [{}]}, ".constraints[0]", "exactly one of the keys"),
    ({"constraints": [{"presedence": ["a", "b"]}]}, ".constraints[0].presedence", "did you mean precedence?"),
    (
        {"constraints": [{"precedence": "a"}]},
        ".constraints[0].precedence",
        "must be a list; precedence takes two tools",
    ),
    ({"constraints": [{"response": ["a"]}]}, ".constraints[0].response[1]", "is missing"),
    ({"constraints": [{"response": ["a", "b", "c"]}]}, ".constraints[0].response", "at most 2"),
    ({"expect": {"sequence": ["a"], "any_order": ["b"]}}, ".expect", "sequence and any_order are given"),
    ({"expect": {"mode": "strict"}}, ".expect", "mode and tools go together"),
    ({"expect": {"mode": "single_tool", "tools": ["a", "b"]}}, ".expect", "exactly one tool"),
    ({"expect": {"mode": "inorder", "tools": []}}, ".expect.mode", "did you mean in_order?"),
    ({"expect": {"sequence": ["a"], "arguments": {}}}, ".expect", "arguments goes with tool"),
    ({"expect": {"sequence": None}}, ".expect.sequence", "has no value"),
    ({"match": {"route": None}}, ".match.route", "has no value"),
    ({"expect": {"max_call": 5}}, ".expect.max_call", "did you mean max_calls?"),
    ({"forbid": ["a"]}, ".forbid", "unknown key forbid; forbid goes under expect"),
    ({"route": "/x"}, ".route", "route goes under match"),
    ({"tests": []}, ".tests", "tests goes beside rules"),
    ({"expect": {"pass": 0.5}}, ".expect.pass", "pass goes beside expect"),
    ({"expect": {"repeat": "a", "min": 3, "max": 1}}, ".expect", "max 1 is below min 3"),
    ({"expect": {"repeat": "a", "max": 0}}, ".expect", "max 0 is below min 1"),
    ({"expect": {"threshold": 0.5}}, ".expect.threshold", "unknown key threshold; known are tool, "),
]
ELEMENTS: list[tuple[Any, str, str]] = [
    # an element, where in it, what
    ({"seqence": []}, "", "did you mean sequence?"),
    (5, "", "an element is a tool's name or a mapping"),
    ({"tool": "a", "argumets": {}}, ".argumets", "did you mean arguments?"),
    ({"tool": {"regex": "(?=a)"}}, ".tool.regex", "RE2"),
    ({"optional": {"one_of": ["a", {"tol": "b"}]}}, ".optional.one_of[1]", "did you mean tool?"),
    ({"one_of": []}, ".one_of", "must not be empty"),
    ({"search": {"city": "b"}}, "", "write {tool: search, arguments: {...}}"),
    ({"repeat": {"tool": "a", "min": 3}}, ".repeat.min", "min goes beside repeat"),
    ({"repeat": "a", "min": 3, "max": 2}, "", "max 2 is below min 3"),
    ({"repeat": "a", "min": -1}, ".min", "must be at least 0"),
]
ARGUMENTS: list[tuple[Any, str, str]] = [
    # what is asked of argument x, where in it, what
    ({"regx": "b"}, "", "did you mean regex?"),
    ({"city": "b"}, "", "write a literal mapping as {exact"),
    ({"schema": {"type": "txt"}}, ".schema", "not a JSON Schema"),
    ({"fuzzy": "b", "ratio": "partail"}, ".ratio", "did you mean partial?"),
    ({"min": 3, "max": 1}, "", "min 3 is above max 1"),
    ({"min": None, "max": 1}, ".min", "has no value"),
    ({"subset": {"y": {"one_of": [{"mn": 1}]}}}, ".subset.y.one_of[0]", "did you mean min?"),
]
CASES = [
    *DOCUMENTS,
    *((rule(**keys), f"rules[0]{where}", what) for keys, where, what in RULES),
    *((in_sequence(element), f"rules[0].expect.sequence[1]{where}", what) for element, where, what in ELEMENTS),
    *(
        (
            in_sequence({"tool": "a", "arguments": {"x": pattern}}),
            f"rules[0].expect.sequence[1].arguments.x{where}",
            what,
        )
        for pattern, where, what in ARGUMENTS
    ),
]


@pytest.mark.parametrize(("document", "path", "message"), CASES)
def test_a_problem_has_a_path_and_a_suggestion(document: object, path: str, message: str) -> None:
    first = problems(document)[0]

    assert format_path(first.path) == path
    assert message in first.message


def test_all_problems_are_reported_together() -> None:
    document = refund_file()
    document["rules"][0]["expect"]["sequence"][0]["arguments"]["order_id"] = {"regex": "("}
    document["rules"][0]["pass"] = 2
    document["intents"][0]["regex"] = "["
    document["tests"][0]["passe"] = True

    assert [format_path(problem.path) for problem in problems(document)] == [
        "rules[0].expect.sequence[0].arguments.order_id.regex",
        "rules[0].pass",
        "intents[0].regex",
        "tests[0].passe",
    ]


def test_the_error_message_lists_the_problems() -> None:
    with pytest.raises(
        RuleError, match=r"^rules\[0\]: name is missing\nrulez: unknown key rulez; did you mean rules\?$"
    ):
        parse_rules({"rules": [{}], "rulez": 1})


def test_an_empty_document_has_no_rules() -> None:
    assert parse_rules(None).rules == []


def test_documents_nested_too_deep_are_refused() -> None:
    element: Any = "a"
    for _ in range(5_000):
        element = {"optional": element}

    assert [problem.message for problem in problems(in_sequence(element))] == ["nested deeper than 64 levels"]


def test_the_number_of_reported_problems_is_bounded() -> None:
    assert len(problems({"rules": [{} for _ in range(5_000)]})) == 100


KEYS = ["rules", "name", "expect", "sequence", "tool", "tests", "calls", "match", "x", 1]
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=10,
)


@given(documents)
def test_any_document_gives_rules_or_problems(document: object) -> None:
    with suppress(RuleError):
        assert parse_rules(document) == parse_rules(document)
