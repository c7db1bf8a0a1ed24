"""Named modes: the pattern of each, and the runs it accepts, compared with the systems it comes from."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.conformance.expectation import compile_expectation
from scorers.rules.model import Expect
from tests.scorers.examples import rule, run


@pytest.mark.parametrize(
    ("mode", "tools", "passing", "failing"),
    [
        ("strict", "ab", "ab", "a b ba abb xab"),
        ("strict", "", "-", "a"),
        ("in_order", "ab", "ab axb xaxbx bab", "a b ba -"),
        ("in_order", "", "- a", ""),
        ("any_order", "ab", "ab ba bxa aab", "a b -"),
        ("superset", "ab", "ab ba bxa aab", "a b -"),
        ("subset", "ab", "- a b ba", "aa abx"),
        ("subset", "aab", "aa aba", "aaa"),
        ("single_tool", "a", "a xa aa", "- b"),
    ],
)
def test_modes(mode: str, tools: str, passing: str, failing: str) -> None:
    scorer = rule({"mode": mode, "tools": list(tools)}).native
    labels = {calls: scorer.score(run(*calls.strip("-"))).label for calls in (passing + " " + failing).split()}

    assert labels == dict.fromkeys(passing.split(), "pass") | dict.fromkeys(failing.split(), "fail")


@pytest.mark.parametrize(
    ("expect", "allow_extra"),
    [
        ({"mode": "in_order", "tools": ["a"], "allow_extra": ["log"]}, ["log", "*"]),
        ({"mode": "strict", "tools": ["a"], "allow_extra": ["log"]}, ["log"]),
        ({"sequence": ["a"]}, []),
    ],
)
def test_further_calls_and_forbidden_names(expect: dict[str, Any], allow_extra: list[str]) -> None:
    assert compile_expectation(Expect.model_validate(expect)).allow_extra == allow_extra


def test_no_expectation_has_no_pattern() -> None:
    assert compile_expectation(None).element is None
    assert compile_expectation(Expect(forbid=["a"])).element is None
