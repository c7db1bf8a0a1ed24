"""Which runs are judged: the same ones on every replica, and the configured share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from collector.judging.sampling import is_sampled, not_judgeable
from collector.scoring.verdict import Verdict
from scorers import Doubt, Evaluation
from scorers.evaluation import RuleJudge
from scorers.registry import JUDGES
from scorers.score import Label, Score
from tests.builders import agent_span, run_of, span_id, tool_span


def verdict(number: int = 1, *labels: Label, doubts: Sequence[Doubt] = (), revision: int = 0) -> Verdict:
    trace_id = number.to_bytes(16, "big")
    run = run_of(agent_span(), tool_span("search"))
    run.trace_id, run.span_id = trace_id, span_id(number)
    run.trajectory = replace(run.trajectory, doubts=doubts)
    evaluations = [Evaluation("trajectory", Score(None, label, "so"), "1", at == 0) for at, label in enumerate(labels)]
    return Verdict(run, "root", revision, "any", "digest", evaluations)


def judge(rate: float) -> RuleJudge:
    return RuleJudge("mastra_llm", JUDGES["mastra_llm"](), "1", False, rate, 0.9)


@pytest.mark.parametrize("label", ["fail", "ambiguous", "error"])
def test_runs_that_did_not_pass_are_always_judged(label: Label) -> None:
    assert is_sampled(verdict(1, "pass", label), judge(0.0))


@pytest.mark.parametrize("labels", [("pass", "pass"), ()], ids=["passed", "no rules of its own"])
def test_other_runs_are_judged_at_the_sample_rate(labels: tuple[Label, ...]) -> None:
    assert not any(is_sampled(verdict(number, *labels), judge(0.0)) for number in range(1, 200))
    assert all(is_sampled(verdict(number, *labels), judge(1.0)) for number in range(1, 200))
    sampled = sum(is_sampled(verdict(number, *labels), judge(0.1)) for number in range(1, 3000))
    assert 240 < sampled < 360  # 300 expected, standard deviation 16, although the ids are not random


def test_a_higher_rate_judges_every_run_that_a_lower_one_does() -> None:
    low, high = (
        {number for number in range(1, 500) if is_sampled(verdict(number, "pass"), judge(rate))} for rate in (0.1, 0.4)
    )
    assert low < high


def test_runs_of_one_trace_are_sampled_independently() -> None:
    runs = []
    for number in range(1, 100):
        one = verdict(1, "pass")
        one.run.span_id = span_id(number)
        runs.append(is_sampled(one, judge(0.5)))
    assert 30 < sum(runs) < 70


def test_incomplete_and_revised_runs_are_not_judgeable() -> None:
    assert not_judgeable(verdict()) is None
    assert not_judgeable(verdict(1, "incomplete", doubts=[Doubt("uncertain_owner", (0,))])) == "incomplete"
    # A rule with no scorer but the judge.
    assert not_judgeable(verdict(doubts=[Doubt("missing_anchor")])) == "incomplete"
    assert not_judgeable(verdict(1, "ambiguous", doubts=[Doubt("uncertain_order", (0,))])) is None
    assert not_judgeable(verdict(revision=1)) == "revised"
