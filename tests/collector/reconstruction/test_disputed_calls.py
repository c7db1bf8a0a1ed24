"""Calls below spans that are missing, recorded by two instrumentations: each once where ids prove it, else in doubt."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from collector.model.span import Span
from collector.reconstruction.run import Run
from collector.scoring.joined import join
from scorers import CompiledRule, parse_rules
from tests.builders import agent_span, called, doubts, runs_of, span, tool_span

TOOLS = ("search", "book")
ROOT = span("GET", 1, lasting=1000)
ONE = [agent_span("one", 2, 1, at=1, lasting=900)]
TWO = [*ONE, agent_span("two", 3, 1, at=1, lasting=900)]


def recorded(number: int, parent: int, scope: str, ids: Sequence[str], later: float = 0.0) -> list[Span]:
    """The calls as one library records them."""
    return [
        tool_span(
            name, {"q": name}, number + at, parent, at=10 + 100 * at + later, lasting=50, call_id=ids[at], scope=scope
        )
        for at, name in enumerate(TOOLS)
    ]


IDS = ("call_0123456789", "call_9876543210")
NUMBERS = ("call_0", "call_1")
NONE = ("", "")


def label(run: Run, most: int) -> str:
    file = parse_rules({"rules": [{"name": "r", "expect": {"max_calls": most}}]})
    return CompiledRule(file.rules[0]).evaluate(run.trajectory)[0].score.label


@pytest.mark.parametrize("agents", [[], ONE, TWO], ids=["no agent", "one", "two"])
@pytest.mark.parametrize("second_parent", [90, 91], ids=["one span missing", "two spans missing"])
def test_equal_ids_prove_one_call(agents: list[Span], second_parent: int) -> None:
    runs = runs_of(
        ROOT, *agents, *recorded(10, 90, "first", IDS), *recorded(20, second_parent, "second", IDS, later=0.2)
    )

    assert [called(run) for run in runs] == [["search", "book"]] * max(1, len(agents))
    whole = join(runs, 0)
    assert called(whole) == ["search", "book"]
    assert "uncertain_duplicate" not in doubts(whole)


@pytest.mark.parametrize("ids", [NONE, NUMBERS], ids=["none", "numbers"])
@pytest.mark.parametrize("agents", [[], ONE, TWO], ids=["no agent", "one", "two"])
def test_without_proof_it_is_in_doubt(agents: list[Span], ids: Sequence[str]) -> None:
    runs = runs_of(ROOT, *agents, *recorded(10, 90, "first", ids), *recorded(20, 91, "second", ids, later=0.2))

    for run in runs:
        assert called(run) == ["search", "search", "book", "book"]
        assert label(run, 1) == "incomplete"
    whole = join(runs, 0)
    assert called(whole) == ["search", "search", "book", "book"]
    assert [list(doubt.calls) for doubt in whole.trajectory.doubts if doubt.name == "uncertain_duplicate"] == [[1], [3]]
    assert [label(whole, most) for most in (1, 2, 3)] == ["fail", "incomplete", "incomplete"]


def test_two_calls_of_one_library_stay_two() -> None:
    runs = runs_of(ROOT, *TWO, *recorded(10, 90, "first", IDS), *recorded(20, 91, "first", IDS, later=0.2))

    assert len(join(runs, 0).trajectory.calls) == 4


def test_calls_at_other_times_stay_two() -> None:
    runs = runs_of(ROOT, *TWO, *recorded(10, 90, "first", NONE), *recorded(20, 91, "second", NONE, later=300))

    whole = join(runs, 0)
    assert len(whole.trajectory.calls) == 4
    assert "uncertain_duplicate" not in doubts(whole)


@pytest.mark.parametrize(("ids", "found"), [(IDS, 2), (NONE, 4)], ids=["proof", "none"])
def test_what_the_other_library_recorded_below_the_root_may_be_the_same_calls(ids: Sequence[str], found: int) -> None:
    runs = runs_of(ROOT, *ONE, *recorded(10, 90, "first", ids), *recorded(20, 1, "second", ids, later=0.2))

    assert [called(run) for run in runs] == [["search", "book"]] * 2
    assert len(join(runs, 0).trajectory.calls) == found
    assert [label(run, 0) for run in runs] == ["incomplete", "fail"], (
        "what is below no agent is the root's, or the agent's"
    )
