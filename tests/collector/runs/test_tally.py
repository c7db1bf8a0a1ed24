"""Verdicts are counted exactly, by what the console compares, and strangers cannot make the counts grow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.runs.tally import DIMENSIONS, MAX_SERIES, OTHER, Series, Tally, cut, dimensions_of, shown_dimensions
from tests.collector.verdicts import verdict_of


def series_of(**fields: Any) -> Series:
    tally = Tally()
    tally.add(verdict_of("pay", **fields))
    ((series, count),) = tally.take().items()
    assert count == 1
    return series


def test_a_verdict_is_counted_by_what_it_is() -> None:
    attributes = {"service.name": "shop", "service.version": "2", "gen_ai.request.model": "m", "other": "x"}
    run = {"route": "/pay", "intent": "refund", "agent": "helper", "dialect": "mcp", "attributes": attributes}
    assert series_of(run=run, shadow=True, scope="trace") == Series(
        "weather", "d1", "trace", True, "pass", "/pay", "refund", "helper", "mcp", "",
        (("service.name", "shop"), ("service.version", "2"), ("gen_ai.request.model", "m")),
    )  # fmt: skip


def test_a_run_without_a_rule_is_counted_as_such() -> None:
    series = series_of(rule=None, digest=None, evaluations=[])
    assert (series.rule, series.digest, series.label, series.doubt) == ("", "", "no_rule", "no_rule")


@pytest.mark.parametrize(
    ("label", "doubt"), [("pass", ""), ("fail", ""), ("incomplete", "missing_span"), ("error", "error")]
)
def test_only_what_is_undecided_has_a_doubt(label: str, doubt: str) -> None:
    assert series_of(label=label, doubts=["missing_span"]).doubt == doubt


@pytest.mark.parametrize(
    ("attributes", "environment"),
    [
        ({"deployment.environment.name": "prod"}, "prod"),
        ({"deployment.environment": "old"}, "old"),
        ({"deployment.environment": "old", "deployment.environment.name": "prod"}, "prod"),
        ({"deployment.environment": "old", "deployment.environment.name": ""}, "old"),
        ({"deployment.environment.name": 7}, "7"),
        ({"deployment.environment.name": True}, "true"),
        ({"deployment.environment.name": ["a"]}, ""),
        ({"deployment.environment.name": "x" * 500}, "x" * 120),
        ({}, ""),
    ],
)
def test_an_environment_has_its_name_or_its_old_one(attributes: dict[str, Any], environment: str) -> None:
    counted = dict(series_of(run={"attributes": attributes}).dimensions)
    assert counted == {name: cut(value) for name, value in dimensions_of(attributes, DIMENSIONS).items()}
    assert counted.get("deployment.environment.name", "") == environment


def test_runs_are_counted_by_the_dimensions_that_are_configured() -> None:
    tally = Tally(("service.version", "team"))
    tally.add(verdict_of(run={"attributes": {"team": "blue", "service.version": "2", "service.name": "shop"}}))
    ((series, _),) = tally.take().items()
    assert series.dimensions == (("service.version", "2"), ("team", "blue"))


def test_a_text_is_redacted_before_it_is_cut() -> None:
    tally = Tally(redacted=lambda text: text.replace("s3cret", "-"))
    end = "x" * 117 + "s3cret"
    run = {"route": end, "intent": end, "agent": end, "attributes": {"service.version": end}}
    tally.add(verdict_of(run=run))
    ((series, _),) = tally.take().items()
    expected = "x" * 117 + "-"
    assert (series.route, series.intent, series.agent) == (expected,) * 3
    assert series.dimensions == (("service.version", expected),)


@pytest.mark.parametrize("hidden", ["deployment.environment", "deployment.environment.name"])
def test_a_dimension_that_is_hidden_by_either_name_is_none(hidden: str) -> None:
    names = ("service.name", "deployment.environment.name")
    assert shown_dimensions(names, lambda name: name == hidden) == ("service.name",)


def test_names_are_cut() -> None:
    series = series_of(run={"route": "r" * 500, "agent": "a" * 500, "intent": "i" * 500})
    assert {len(series.route), len(series.agent), len(series.intent)} == {120}


def test_names_that_are_the_same_once_cut_are_counted_together() -> None:
    tally = Tally()
    for end in ("a", "b"):
        tally.add(verdict_of(run={"route": "r" * 120 + end}))
    assert list(tally.take().values()) == [2]


def test_counts_are_taken_once() -> None:
    tally = Tally()
    tally.add(verdict_of("pay"))
    assert list(tally.take().values()) == [1]
    assert tally.take() == {}


def test_beyond_the_limit_rule_and_label_are_counted_still() -> None:
    tally = Tally()
    for number in range(MAX_SERIES + 40):
        tally.add(verdict_of(run={"agent": f"agent {number}", "attributes": {"service.name": f"{number}"}}))
    tally.add(verdict_of(label="fail", run={"agent": "one more"}))
    tally.add(verdict_of(run={"agent": "agent 0", "attributes": {"service.name": "0"}}))
    counts = tally.take()
    others = {series.label: count for series, count in counts.items() if series.agent == OTHER}
    assert others == {"pass": 40, "fail": 1}
    assert len(counts) == MAX_SERIES + 2
    assert [count for series, count in counts.items() if series.agent == "agent 0"] == [2]
    (other,) = [series for series in counts if series.agent == OTHER and series.label == "pass"]
    assert (other.rule, other.route, other.dialect) == ("weather", OTHER, OTHER)
    assert {value for _, value in other.dimensions} == {OTHER}


@given(st.lists(st.tuples(st.sampled_from(["pass", "fail", "error"]), st.sampled_from("ab"), st.booleans())))
def test_no_verdict_is_lost_or_counted_twice(verdicts: list[tuple[str, str, bool]]) -> None:
    tally = Tally()
    for label, agent, shadow in verdicts:
        tally.add(verdict_of(label=label, run={"agent": agent}, shadow=shadow))
    counts = {(series.label, series.agent, series.shadow): count for series, count in tally.take().items()}
    assert counts == {key: verdicts.count(key) for key in verdicts}
