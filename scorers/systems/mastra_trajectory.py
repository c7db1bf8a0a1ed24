"""Mastra's ``createTrajectoryScorerCode`` and ``createTrajectoryAccuracyScorerCode`` (npm @mastra/evals 1.10.2).

``scorer: accuracy`` is the second one: the share of the expected steps that were matched::

    strict      at their positions; half a step less for each call beyond the expected number
    relaxed     each expected step is searched after the last match (default)
    unordered   each takes the first unused call
    nothing expected: 1 if nothing was called, else 0
    with allowRepeatedSteps: false a tenth less for each name that occurs more than once
    rounded to two decimals, halves up

``scorer: trajectory``, the default, is the weighted mean of the measurements that are active: accuracy (0.4); efficiency (0.3),
with maxSteps or noRedundantCalls; failures (0.2), where a call was retried; blacklist (0.1), with forbidden tools or sequences,
of which any makes the whole score 0.

The documentation and the code differ:

- Arguments are ignored unless an expected step has a stepType, which ``typed`` gives to all of them. They are then compared as
  JSON texts, so that the order of keys matters.
- The relaxed order is greedy, not the longest common subsequence: ``[c, a, b]`` matches one step of ``[a, b, c]``.
- Once maxSteps is set, repeated calls are penalised too, unless noRedundantCalls is false.

Budgets of tokens and duration are no options here, since a list of calls has neither; nor are the children of steps. Where the
original takes an unknown ordering for relaxed and a negative budget until it runs, these are refused at once.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from scorers.arithmetic import sum_in_order
from scorers.call_scorer import Scorer, labelled_score, make_scorer
from scorers.calls import Call
from scorers.options import Options, parse_options
from scorers.score import Score
from scorers.systems import mastra_steps
from scorers.systems.formulas import round_half_up
from scorers.systems.mastra_steps import Ordering, Pair, Report
from scorers.systems.pairing import outcomes
from scorers.work import Work

NAME = "mastra_trajectory"
VERSION = "@mastra/evals@1.10.2"


class Weights(Options):
    """Weights of the measurements; negative ones count as 0."""

    accuracy: float = 0.4
    efficiency: float = 0.3
    tool_failures: float = Field(default=0.2, alias="toolFailures")
    blacklist: float = 0.1


class MastraTrajectoryOptions(Options):
    """``scorer: accuracy`` reads only ``ordering``, ``allowRepeatedSteps`` and ``typed``."""

    scorer: Literal["trajectory", "accuracy"] = "trajectory"
    ordering: Ordering = "relaxed"
    allow_repeated_steps: bool = Field(default=True, alias="allowRepeatedSteps")
    typed: bool = False
    max_steps: float | None = Field(default=None, alias="maxSteps", ge=0)
    no_redundant_calls: bool | None = Field(default=None, alias="noRedundantCalls")
    max_retries_per_tool: float = Field(default=2, alias="maxRetriesPerTool")
    blacklisted_tools: list[str] = Field(default=[], alias="blacklistedTools")
    blacklisted_sequences: list[list[str]] = Field(default=[], alias="blacklistedSequences")
    weights: Weights = Weights()


OPTIONS: Final = MastraTrajectoryOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer with the original's options. Raises `ValueError` for invalid ones."""
    parsed = parse_options(NAME, MastraTrajectoryOptions, options)
    return make_scorer(parsed, _score, _spend, tells_failures_apart=True)


def _spend(options: MastraTrajectoryOptions, _: list[Call], actual: list[Call], work: Work) -> None:
    forbidden = sum(2 + len(sequence) for sequence in options.blacklisted_sequences) + len(options.blacklisted_tools)
    # Beyond the pairs of calls that every scorer spends: sequences are compared at each place of the run.
    work.spend(forbidden * (1 + len(actual)), "the comparison of the calls with the forbidden ones")


def _score(options: MastraTrajectoryOptions, expected: list[Call], actual: list[Call]) -> Score:
    comparison, pairs = mastra_steps.accuracy(
        expected, actual, options.ordering, typed=options.typed, allow_repeated=options.allow_repeated_steps
    )
    if options.scorer == "accuracy":
        return _scored(comparison["score"], _accuracy_text(comparison), {"comparison": comparison}, pairs, actual)
    details = {"accuracy": comparison, **_measurements(options, actual)}
    value, explanation = _total(options.weights, details)
    return _scored(value, explanation, {**details, "reason": _reason(value, details)}, pairs, actual)


def _scored(value: float, explanation: str, details: Report, pairs: list[Pair], actual: list[Call]) -> Score:
    comparison = details.get("accuracy") or details["comparison"]
    matched = {made for _, made in pairs}
    return labelled_score(
        value, explanation, details, outcomes=outcomes(len(actual), matched), missing=comparison["missingSteps"]
    )


def _measurements(options: MastraTrajectoryOptions, actual: list[Call]) -> Report:
    measured: Report = {"toolFailures": mastra_steps.tool_failures(actual, options.max_retries_per_tool)}
    if options.max_steps is not None or options.no_redundant_calls is not None:
        redundancy = options.no_redundant_calls is not False
        measured["efficiency"] = mastra_steps.efficiency(actual, options.max_steps, no_redundant_calls=redundancy)
    if options.blacklisted_tools or options.blacklisted_sequences:
        measured["blacklist"] = mastra_steps.blacklist(actual, options.blacklisted_tools, options.blacklisted_sequences)
    return measured


def _total(weights: Weights, details: Report) -> tuple[float, str]:
    """Returns the weighted mean of the active measurements, and how it comes about."""
    # Before the weights: a forbidden call is not to be outweighed.
    if "blacklist" in details and details["blacklist"]["score"] == 0:
        return 0.0, f"Scores 0: {_violations(details['blacklist'])}"
    parts = [("accuracy", weights.accuracy, details["accuracy"]["score"])]
    if "efficiency" in details:
        parts.append(("efficiency", weights.efficiency, details["efficiency"]["score"]))
    if details["toolFailures"]["patterns"]:
        parts.append(("failures", weights.tool_failures, details["toolFailures"]["score"]))
    if "blacklist" in details:
        parts.append(("blacklist", weights.blacklist, details["blacklist"]["score"]))
    parts = [(name, max(0.0, weight), score) for name, weight, score in parts]
    total = sum_in_order(weight for _, weight, _ in parts)
    value = 1.0
    # All weights may be 0, or negative, which the original counts as 0.
    if total > 0:
        value = min(1.0, round_half_up(sum_in_order(weight / total * score for _, weight, score in parts), 2))
    shown = " + ".join(f"{weight:g} * {score:g} {name}" for name, weight, score in parts)
    return value, f"({shown}) / {total:g}; accuracy is {_accuracy_text(details['accuracy'])}"


def _accuracy_text(comparison: Report) -> str:
    return (
        f"{comparison['score']:g}: {comparison['matchedSteps']} of {comparison['totalExpectedSteps']} expected steps were "
        f"matched by {comparison['totalActualSteps']} calls, {len(comparison['repeatedSteps'])} tools called repeatedly"
    )


def _violations(blacklist: Report) -> str:
    return (
        f"{len(blacklist['violatedTools'])} forbidden tools and {len(blacklist['violatedSequences'])} forbidden sequences "
        "were called"
    )


def _reason(value: float, details: Report) -> str:
    """The original's explanation."""
    head = f"Score: {value:g}"
    blacklist = details.get("blacklist")
    if blacklist and blacklist["score"] == 0:
        return f"{head}\n{_blacklist_reason(blacklist)}"
    parts = [head, _accuracy_reason(details["accuracy"])]
    if "efficiency" in details:
        parts.append(_efficiency_reason(details["efficiency"]))
    if details["toolFailures"]["patterns"]:
        parts.append(_failures_reason(details["toolFailures"]))
    return "\n".join(parts)


def _blacklist_reason(blacklist: Report) -> str:
    violations = []
    if blacklist["violatedTools"]:
        violations.append(f"forbidden tools used: {', '.join(blacklist['violatedTools'])}")
    if blacklist["violatedSequences"]:
        sequences = "; ".join(" → ".join(sequence) for sequence in blacklist["violatedSequences"])
        violations.append(f"forbidden sequences: {sequences}")
    return f"Blacklist violation: {'. '.join(violations)}."


def _accuracy_reason(accuracy: Report) -> str:
    parts = [f"{accuracy['matchedSteps']}/{accuracy['totalExpectedSteps']} expected steps matched"]
    lists = (("missing", "missingSteps"), ("extra", "extraSteps"), ("out of order", "outOfOrderSteps"))
    parts += [f"{word}: {', '.join(accuracy[key])}" for word, key in lists if accuracy[key]]
    return f"Accuracy ({accuracy['score']:g}): {'. '.join(parts)}."


def _efficiency_reason(efficiency: Report) -> str:
    parts = []
    if efficiency["overStepBudget"]:
        parts.append(f"over step budget ({efficiency['totalSteps']} steps)")
    if redundant := efficiency["redundantCalls"]:
        parts.append(f"redundant calls: {', '.join(call['name'] for call in redundant)}")
    return f"Efficiency ({efficiency['score']:g}): {'. '.join(parts) or 'all budgets met, no redundant calls'}."


def _failures_reason(failures: Report) -> str:
    parts = [f"{failures['totalRetries']} total retries"]
    if tools := failures["excessiveRetryTools"]:
        parts.append(f"excessive retries: {', '.join(tools)}")
    return f"Tool failures ({failures['score']:g}): {'. '.join(parts)}."
