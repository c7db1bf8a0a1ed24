"""Whether one version of an agent is worse than another: a test of two proportions with an interval, rule by rule.

The counts are of verdicts that are pass or fail: from recordings, or from the counters that a Prometheus has scraped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from collector.config.exporters import label_name
from collector.errors import RightcallError
from collector.figures import percent
from collector.offline.ask import NoAnswerError, ask
from collector.offline.progress import Progress
from collector.offline.report import markdown_text, render_table
from collector.offline.scorer import Scorer
from collector.offline.stream import Evaluation, Lists
from collector.scoring.rule_files import LoadedRules
from collector.scoring.verdict import Verdict
from collector.statistics import Interval, difference_interval
from collector.telemetry.metric_table import dimension_text
from scorers.quoting import printable, shorten

Decision = Literal["worse", "no worse", "wait"]
_MOST = 1 << 53  # evaluations: a float holds no more exactly, and statistics multiply them
_HEADING = ("rule", "scorer", "passed of A", "passed of B", "difference", "interval", "decision")


class PrometheusError(RightcallError):
    """The Prometheus did not answer, or not what was asked for."""


class RuleScorer(NamedTuple):
    """What is compared: a scorer of a rule."""

    rule: str
    scorer: str


class Passed(NamedTuple):
    """Evaluations that are pass, of those that are pass or fail."""

    passed: int
    total: int

    @property
    def share(self) -> float:
        """The accuracy; 0 where nothing is known."""
        return self.passed / self.total if self.total else 0.0


Counts = Mapping[RuleScorer, Passed]


@dataclass(frozen=True, slots=True)
class Criteria:
    """When B is worse: all of the interval of B - A is below 0, and part of it below ``-tolerance``."""

    tolerance: float = 0.05
    """How much lower B's accuracy may be."""
    confidence: float = 0.95
    """Of all intervals together."""
    min_runs: int = 20
    """Evaluations of each version before a rule decides."""


class Row(NamedTuple):
    """The comparison for one scorer of a rule."""

    tested: RuleScorer
    a: Passed
    b: Passed
    interval: Interval
    decision: Decision
    is_enough: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows, and what follows from them."""

    rows: Sequence[Row]

    @property
    def decision(self) -> Decision:
        """``worse`` if a rule is; ``wait`` if one with enough runs is not decided yet, or none has enough."""
        decisions = [row.decision for row in self.rows if row.is_enough]
        if "worse" in decisions:
            return "worse"
        return "no worse" if decisions and "wait" not in decisions else "wait"


def compare(a: Counts, b: Counts, criteria: Criteria) -> Comparison:
    """Compare two versions. The confidence is that of all rules together: each interval is wider the more there are."""
    tested = sorted({*a, *b})
    # Bonferroni: of twenty rules at 95 % each, one would differ by chance.
    each = 1 - (1 - criteria.confidence) / max(1, len(tested))
    return Comparison([_row(one, a.get(one, Passed(0, 0)), b.get(one, Passed(0, 0)), each, criteria) for one in tested])


def _row(tested: RuleScorer, a: Passed, b: Passed, confidence: float, criteria: Criteria) -> Row:
    interval = difference_interval(a.passed, a.total, b.passed, b.total, confidence)
    is_enough = min(a.total, b.total) >= criteria.min_runs
    decision: Decision = "wait"
    # First, so that a small loss within the tolerance is no reason to stop, however sure it is.
    if is_enough and interval.low >= -criteria.tolerance:
        decision = "no worse"
    elif is_enough and interval.high < 0:
        decision = "worse"
    return Row(tested, a, b, interval, decision, is_enough)


def count_files(
    paths: Iterable[Path],
    rules: LoadedRules,
    attribute: str,
    values: Sequence[str],
    *,
    jobs: int,
    progress: Progress | None,
) -> list[Counts]:
    """Returns the counts of the recorded runs with each of these values of an attribute. Raises InputError."""
    counts: list[Counts] = [{} for _ in values]
    digest = partial(_counts_of_each, attribute, values)
    evaluation = Evaluation([Scorer(rules, [attribute])], digest, jobs=jobs, progress=progress)
    for found in evaluation.of_files(paths):
        counts = [_sum(*both) for both in zip(counts, found, strict=True)]
    return counts


def _counts_of_each(attribute: str, values: Sequence[str], lists: Lists) -> list[Counts]:
    return [counts_of(lists[0], attribute, value) for value in values]


def _sum(some: Counts, more: Counts) -> Counts:
    none = Passed(0, 0)
    return {
        tested: Passed(*(a + b for a, b in zip(some.get(tested, none), more.get(tested, none), strict=True)))
        for tested in {*some, *more}
    }


def counts_of(verdicts: Iterable[Verdict], attribute: str, value: str) -> Counts:
    """Returns the counts of the verdicts on runs with this value of an attribute, without those of shadow rules."""
    passed: Counter[RuleScorer] = Counter()
    total: Counter[RuleScorer] = Counter()
    for verdict in verdicts:
        # The text of the attribute is that of the metrics: both sources must count the same runs.
        if verdict.shadow or dimension_text(verdict.run.attributes.get(attribute)) != value:
            continue
        for evaluation in verdict.evaluations:
            if evaluation.score.label in ("pass", "fail"):
                tested = RuleScorer(verdict.rule or "", evaluation.name)
                total[tested] += 1
                passed[tested] += evaluation.score.label == "pass"
    return {tested: Passed(passed[tested], runs) for tested, runs in total.items()}


def query_counts(url: str, attribute: str, value: str, window: str) -> Counts:
    """Returns the counts of the last ``window`` that a Prometheus has of one version. Raises PrometheusError.

    The collector must have the attribute among ``exporters.prometheus.dimensions``. Without the scorers that ask a model: all
    failed runs are judged and few others, so what passes there is no accuracy.
    """
    # A JSON string is a PromQL string: quotes in a version cannot end it.
    labels = f'{label_name(attribute)}={json.dumps(value, ensure_ascii=False)}, label=~"pass|fail"'
    query = (
        f"sum by (rule, scorer, label) (increase(rightcall_evaluations_total{{{labels}}}[{window}])) "
        f"unless on (rule, scorer) last_over_time(rightcall_judge_agreement_total[{window}])"
    )
    counts: dict[RuleScorer, dict[str, int]] = {}
    try:
        for series in _query(url, query):
            labelled, (_, number) = series["metric"], series["value"]
            tested = RuleScorer(str(labelled.get("rule", "")), str(labelled.get("scorer", "")))
            # `increase` extrapolates to the ends of the window, so its counts are fractions.
            counts.setdefault(tested, {})[str(labelled.get("label"))] = _count(number)
    # Whatever answers under that address may send any JSON.
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        raise PrometheusError(f"{shorten(url)}: this is not the API of a Prometheus") from None
    return {
        tested: Passed(labels.get("pass", 0), labels.get("pass", 0) + labels.get("fail", 0))
        for tested, labels in counts.items()
    }


def _count(number: str) -> int:
    count = round(float(number))
    if not 0 <= count <= _MOST:
        raise ValueError("no number of runs")
    return count


def _query(url: str, query: str) -> Iterable[Any]:
    """Returns the series that a query finds. Raises PrometheusError, and what unexpected JSON raises."""
    try:
        # POST, as the API of Prometheus allows, since a query may be longer than a URL.
        answer = ask(f"{url.rstrip('/')}/api/v1/query", {"query": query})
    except NoAnswerError as error:
        raise PrometheusError(f"{shorten(url)}: {error}") from None
    said = json.loads(answer.body)
    if said["status"] != "success":
        raise PrometheusError(f"{shorten(url)}: {shorten(str(said.get('error', answer.status)))}")
    found: Iterable[Any] = said["data"]["result"]
    return found


def table(comparison: Comparison, a: str, b: str) -> str:
    """A table for a terminal under a sentence."""
    return f"{sentence(comparison, a, b)}\n" + (
        render_table(_HEADING, map(_cells, comparison.rows)) if comparison.rows else ""
    )


def markdown(comparison: Comparison, a: str, b: str) -> str:
    """The same for a pull request."""
    lines = [f"**{markdown_text(sentence(comparison, a, b))}**"]
    if comparison.rows:
        lines += ["", f"| {' | '.join(_HEADING)} |", "|---|---|--:|--:|--:|---|---|"]
        lines += [f"| {' | '.join(map(markdown_text, _cells(row)))} |" for row in comparison.rows]
    return "\n".join([*lines, ""])


FORMATS = {"table": table, "markdown": markdown}


def sentence(comparison: Comparison, a: str, b: str) -> str:
    """The decision in a sentence."""
    decision = comparison.decision
    if decision == "wait":
        # A misspelt version would be waited for without end.
        counted = {a: sum(row.a.total for row in comparison.rows), b: sum(row.b.total for row in comparison.rows)}
        none = " or ".join(side for side, runs in counted.items() if not runs)
        return f"{b} cannot be told from {a} yet: {f'no run of {none} is pass or fail' if none else 'too few runs'}"
    worse = ", ".join(shorten(printable(row.tested.rule)) for row in comparison.rows if row.decision == "worse")
    return f"{b} is worse than {a}: {worse}" if decision == "worse" else f"{b} is no worse than {a}"


def _cells(row: Row) -> tuple[str, ...]:
    counts = [f"{side.passed} of {side.total} ({percent(side.share)}%)" for side in (row.a, row.b)]
    interval = f"{_signed(row.interval.low)} to {_signed(row.interval.high)}"
    decision = row.decision if row.is_enough else "too few runs"
    return (*row.tested, *counts, _signed(row.b.share - row.a.share), interval, decision)


def _signed(difference: float) -> str:
    return f"{'' if difference < 0 else '+'}{percent(difference)}%"
