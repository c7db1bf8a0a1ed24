"""Runs the ``tests:`` of a rule file and shows the differences of those that fail.

A test passes if the rule's primary scorer labels its calls as ``passes`` says and, where the test gives them, the score
equals ``score`` (to three decimals) and the rule is the one selected for ``context``. If the primary scorer asks a model,
the first scorer that does not takes its place. A scorer's error and an ambiguous order are neither a pass nor a fail: a
test with such a result fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scorers.conformance.difference import columns
from scorers.evaluation import CompiledRule
from scorers.rule_set import RuleSet
from scorers.rules.model import RuleFile, RuleTest, RuleTestCall
from scorers.rules.selection import MATCH_KEYS, RuleContext, as_text
from scorers.score import Score
from scorers.trajectory import ToolCall, Trajectory
from scorers.wording import as_given, nearest

SCORE_TOLERANCE = 0.001


@dataclass(frozen=True, slots=True)
class RuleTestResult:
    """The result of one test. ``reason`` is empty if it passed."""

    name: str
    rule: str
    reason: str = ""
    difference: Sequence[Mapping[str, Any]] = ()
    """Expected beside actual calls, as `scorers.conformance.difference` gives them."""

    @property
    def passed(self) -> bool:
        """Whether the test passed."""
        return not self.reason

    @property
    def text(self) -> str:
        """One line if it passed; otherwise the reason, and the expected and actual calls side by side."""
        if self.passed:
            return f"test {self.name!r} of rule {self.rule} passes"
        return "\n".join([f"test {self.name!r} of rule {self.rule}: {self.reason}", *columns(self.difference)])


def run_tests(file: RuleFile, rules: RuleSet) -> list[RuleTestResult]:
    """Run the file's tests against these rules, which include the file's own."""
    compiled = {rule.rule.name: rule for rule in rules.rules}
    return [_run(test, compiled, rules) for test in file.tests]


def build_trajectory(calls: Sequence[RuleTestCall]) -> Trajectory:
    """Returns the run that a test describes: each call is a step, and so is each parallel group."""
    made: list[ToolCall] = []
    for step, entry in enumerate(calls):
        made += [
            ToolCall(call.tool, call.arguments, status=call.status, executed=call.executed, step=step)
            for call in _flatten(entry)
            if call.tool is not None
        ]
    return Trajectory(made)


def _run(test: RuleTest, compiled: dict[str, CompiledRule], rules: RuleSet) -> RuleTestResult:
    rule = compiled.get(test.rule)
    if rule is None:
        return RuleTestResult(test.name, test.rule, f"there is no such rule{nearest(test.rule, list(compiled))}")
    trajectory = build_trajectory(test.calls)
    # Before the score: calls that another rule would get say nothing of this one.
    if reason := _selection_mismatch(test, rule, rules):
        return RuleTestResult(test.name, test.rule, reason)
    evaluations = rule.evaluate(trajectory)
    if not evaluations:
        return RuleTestResult(test.name, test.rule, "every scorer of the rule asks a model, which tests do not do")
    reason = _score_mismatch(test, evaluations[0].score)
    if not reason:
        return RuleTestResult(test.name, test.rule)
    return RuleTestResult(test.name, test.rule, reason, rule.difference(trajectory).data(values=True))


def _score_mismatch(test: RuleTest, score: Score) -> str:
    wanted = "pass" if test.passes else "fail"
    if score.label != wanted:
        return f"expected {wanted}, got {score.label}: {score.explanation}"
    if test.score is not None and (score.value is None or abs(score.value - test.score) > SCORE_TOLERANCE):
        return f"expected score {as_given(test.score)}, got: {score.explanation}"
    return ""


def _selection_mismatch(test: RuleTest, rule: CompiledRule, rules: RuleSet) -> str:
    if test.context is None:
        return ""
    known = {key: as_text(value) for key, value in test.context.items() if key in MATCH_KEYS and value is not None}
    context = RuleContext(**known, attributes=test.context)
    selected = rules.select(context, rule.rule.scope, shadow=rule.rule.shadow)
    if selected is rule:
        return ""
    return f"its context selects {selected.rule.name if selected else 'no rule'}"


def _flatten(entry: RuleTestCall) -> Iterator[RuleTestCall]:
    if entry.parallel is None:
        yield entry
    for call in entry.parallel or ():
        yield from _flatten(call)
