"""Runs the ``tests:`` of a rule file and shows the differences of those that fail.

A test passes if the rule's primary scorer labels its calls as ``passes`` says and, where the test gives them, the score
equals ``score`` (to three decimals) and the rule is the one selected for ``context``. If the primary scorer asks a model,
the first scorer that does not takes its place. A scorer's error and an ambiguous order are neither a pass nor a fail: a
test with such a result fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel

from scorers.conformance.diagnosis import Diagnosis
from scorers.conformance.pattern import Pattern
from scorers.evaluation import CompiledRule, RuleSet
from scorers.rules.model import RuleFile, RuleTest, RuleTestCall, Tool
from scorers.rules.names import format_name
from scorers.rules.parsing import nearest
from scorers.rules.selection import MATCH_KEYS, RuleContext
from scorers.score import Score
from scorers.trajectory import ToolCall, Trajectory
from scorers.work import WorkLimitError

SCORE_TOLERANCE = 0.001
_SYMBOLS = {
    "matched": "=",
    "wrong_arguments": "~",
    "out_of_order": "~",
    "extra": "+",
    "forbidden": "!",
    "unscored": " ",
}


class DiffRow(NamedTuple):
    """One line of the aligned calls: the expected call, the actual call (either may be ""), and a note on the outcome."""

    symbol: str
    expected: str
    actual: str
    note: str


@dataclass(frozen=True, slots=True)
class RuleTestResult:
    """The result of one test. ``reason`` is empty if it passed, ``diff`` if there is nothing to compare."""

    name: str
    rule: str
    reason: str = ""
    diff: Sequence[DiffRow] = ()

    @property
    def passed(self) -> bool:
        """Whether the test passed."""
        return not self.reason

    @property
    def text(self) -> str:
        """One line if it passed; otherwise the reason, and the expected and actual calls side by side."""
        if self.passed:
            return f"test {self.name!r} of rule {self.rule} passes"
        return "\n".join([f"test {self.name!r} of rule {self.rule}: {self.reason}", *_columns(self.diff)])


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


def diff(pattern: Pattern | None, diagnosis: Diagnosis, trajectory: Trajectory) -> list[DiffRow]:
    """Returns expected and actual calls side by side, in the order of the run; a missing call stands where it was due."""
    tools = pattern.tools if pattern else []
    expected = {call: tool for tool, call in diagnosis.pairs if call is not None}
    expected |= {call: diagnosis.pairs[gap][0] for gap, call in diagnosis.substitutes.items()}
    missing_before: dict[int, list[DiffRow]] = {}
    next_call = len(diagnosis.calls)
    for index in range(len(diagnosis.pairs) - 1, -1, -1):
        tool, call = diagnosis.pairs[index]
        if call is not None:
            next_call = call
        elif index not in diagnosis.substitutes:
            missing_before.setdefault(next_call, []).insert(0, DiffRow("-", _show_tool(tools[tool]), "", "missing"))
    rows: list[DiffRow] = []
    for index, (made, outcome) in enumerate(zip(trajectory.calls, diagnosis.outcomes, strict=True)):
        shown = _show_tool(tools[expected[index]]) if index in expected else ""
        note = "" if outcome == "matched" else outcome.replace("_", " ")
        rows += [*missing_before.get(index, ()), DiffRow(_SYMBOLS[outcome], shown, _show_call(made), note)]
    return rows + missing_before.get(len(diagnosis.calls), [])


def _run(test: RuleTest, compiled: dict[str, CompiledRule], rules: RuleSet) -> RuleTestResult:
    rule = compiled.get(test.rule)
    if rule is None:
        return RuleTestResult(test.name, test.rule, f"there is no such rule{nearest(test.rule, list(compiled))}")
    trajectory = build_trajectory(test.calls)
    if reason := _selection_mismatch(test, rule, rules):
        return RuleTestResult(test.name, test.rule, reason)
    evaluations = rule.evaluate(trajectory)
    if not evaluations:
        return RuleTestResult(test.name, test.rule, "every scorer of the rule asks a model, which tests do not do")
    reason = _score_mismatch(test, evaluations[0].score)
    if not reason:
        return RuleTestResult(test.name, test.rule)
    try:
        diagnosis, _ = rule.native.diagnose(trajectory)
    except WorkLimitError:  # the reason already says so
        return RuleTestResult(test.name, test.rule, reason)
    return RuleTestResult(test.name, test.rule, reason, diff(rule.native.pattern, diagnosis, trajectory))


def _score_mismatch(test: RuleTest, score: Score) -> str:
    wanted = "pass" if test.passes else "fail"
    if score.label != wanted:
        return f"expected {wanted}, got {score.label}: {score.explanation}"
    if test.score is not None and (score.value is None or abs(score.value - test.score) > SCORE_TOLERANCE):
        return f"expected score {test.score:g}, got: {score.explanation}"
    return ""


def _selection_mismatch(test: RuleTest, rule: CompiledRule, rules: RuleSet) -> str:
    if test.context is None:
        return ""
    known = {key: str(value) for key, value in test.context.items() if key in MATCH_KEYS}
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


def _show_tool(tool: Tool) -> str:
    return _show(format_name(tool.tool), tool.arguments)


def _show_call(call: ToolCall) -> str:
    return _show(call.name, dict(call.arguments) if call.arguments is not None else None)


def _show(name: str, arguments: dict[str, Any] | None) -> str:
    if arguments is None:
        return name
    plain = {key: value.model_dump(by_alias=True, exclude_unset=True) if isinstance(value, BaseModel) else value
             for key, value in arguments.items()}  # fmt: skip
    return f"{name}({', '.join(f'{key}={json.dumps(value, default=str)}' for key, value in plain.items())})"


def _columns(rows: Sequence[DiffRow]) -> list[str]:
    if not rows:
        return []
    heading = DiffRow(" ", "expected", "called", "")
    width = max(len(row.expected) for row in (heading, *rows))
    second = max(len(row.actual) for row in (heading, *rows))
    shown = [f"  {row.symbol} {row.expected:{width}}  {row.actual:{second}}  {row.note}" for row in (heading, *rows)]
    return [line.rstrip() for line in shown]
