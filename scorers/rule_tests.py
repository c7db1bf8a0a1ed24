"""Running a rule file's own ``tests:``, and showing what differs where one fails.

A test passes when the rule's primary scorer labels its calls as ``passes`` says, gives the ``score`` where the test names
one (to three decimals), and when the rule is the one selected for the ``context`` where the test gives one. Where the
primary scorer asks a model, the first that does not takes its place. A scorer's error, or an ambiguous order, is neither
a pass nor a fail: no test expects it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel

from scorers.conformance.diagnosis import Diagnosis
from scorers.conformance.pattern import Pattern
from scorers.conformance.search import SearchLimitError
from scorers.evaluation import CompiledRule, RuleSet
from scorers.rules.model import RuleFile, RuleTest, RuleTestCall, Tool
from scorers.rules.names import show_name
from scorers.rules.parsing import nearest
from scorers.rules.selection import KEYS, RuleContext
from scorers.score import Score
from scorers.trajectory import ToolCall, Trajectory

SCORE_TOLERANCE = 0.001
_MARKS = {"matched": "=", "wrong_arguments": "~", "out_of_order": "~", "extra": "+", "forbidden": "!", "unscored": " "}


class DiffRow(NamedTuple):
    """One line of the aligned calls: what was expected, what was called, and what became of it ("" where neither)."""

    mark: str
    expected: str
    actual: str
    note: str


@dataclass(frozen=True, slots=True)
class RuleTestResult:
    """What came of one test; ``reason`` is empty where it passed, ``diff`` where there is nothing to compare."""

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
        """One line if it passed; else the reason, and expected and actual calls side by side."""
        if self.passed:
            return f"test {self.name!r} of rule {self.rule} passes"
        return "\n".join([f"test {self.name!r} of rule {self.rule}: {self.reason}", *_columns(self.diff)])


def run_tests(file: RuleFile, rules: RuleSet) -> list[RuleTestResult]:
    """Run the file's tests against these rules, in which the file's own are."""
    compiled = {rule.rule.name: rule for rule in rules.rules}
    return [_run(test, compiled, rules) for test in file.tests]


def trajectory_of(calls: Sequence[RuleTestCall]) -> Trajectory:
    """The run a test describes: one step a call, a parallel group being one step."""
    found: list[ToolCall] = []
    for step, entry in enumerate(calls):
        found += [
            ToolCall(call.tool, call.arguments, status=call.status, executed=call.executed, step=step)
            for call in _members(entry)
            if call.tool is not None
        ]
    return Trajectory(found)


def diff(pattern: Pattern | None, reading: Diagnosis, trajectory: Trajectory) -> list[DiffRow]:
    """Expected and actual calls side by side, in the order of the run; a missing call stands where it was due."""
    tools = pattern.tools if pattern else []
    expected_at = {place: tool for tool, place in reading.pairs if place is not None}
    expected_at |= {place: reading.pairs[pair][0] for pair, place in reading.stand_ins.items()}
    due: dict[int, list[DiffRow]] = {}
    place_of_next = len(reading.calls)
    for at in range(len(reading.pairs) - 1, -1, -1):
        tool, place = reading.pairs[at]
        if place is not None:
            place_of_next = place
        elif at not in reading.stand_ins:
            due.setdefault(place_of_next, []).insert(0, DiffRow("-", _show_tool(tools[tool]), "", "missing"))
    rows: list[DiffRow] = []
    for place, (call, outcome) in enumerate(zip(trajectory.calls, reading.outcomes, strict=True)):
        expected = _show_tool(tools[expected_at[place]]) if place in expected_at else ""
        note = "" if outcome == "matched" else outcome.replace("_", " ")
        rows += [*due.get(place, ()), DiffRow(_MARKS[outcome], expected, _show_call(call), note)]
    return rows + due.get(len(reading.calls), [])


def _run(test: RuleTest, compiled: dict[str, CompiledRule], rules: RuleSet) -> RuleTestResult:
    rule = compiled.get(test.rule)
    if rule is None:
        return RuleTestResult(test.name, test.rule, f"there is no such rule{nearest(test.rule, list(compiled))}")
    trajectory = trajectory_of(test.calls)
    if reason := _misselected(test, rule, rules):
        return RuleTestResult(test.name, test.rule, reason)
    evaluations = rule.evaluate(trajectory)
    if not evaluations:
        return RuleTestResult(test.name, test.rule, "every scorer of the rule asks a model, and a test asks nobody")
    reason = _misjudged(test, evaluations[0].score)
    if not reason:
        return RuleTestResult(test.name, test.rule)
    try:
        reading, _ = rule.native.read(trajectory)
    except SearchLimitError:  # the reason says so already
        return RuleTestResult(test.name, test.rule, reason)
    return RuleTestResult(test.name, test.rule, reason, diff(rule.native.pattern, reading, trajectory))


def _misjudged(test: RuleTest, score: Score) -> str:
    wanted = "pass" if test.passes else "fail"
    if score.label != wanted:
        return f"expected {wanted}, got {score.label}: {score.explanation}"
    if test.score is not None and (score.value is None or abs(score.value - test.score) > SCORE_TOLERANCE):
        return f"expected score {test.score:g}, got another: {score.explanation}"
    return ""


def _misselected(test: RuleTest, rule: CompiledRule, rules: RuleSet) -> str:
    if test.context is None:
        return ""
    known = {key: str(value) for key, value in test.context.items() if key in KEYS}
    context = RuleContext(**known, attributes=test.context)
    selected = rules.select(context, rule.rule.scope, shadow=rule.rule.shadow)
    if selected is rule:
        return ""
    return f"its context selects {selected.rule.name if selected else 'no rule'}"


def _members(entry: RuleTestCall) -> Iterator[RuleTestCall]:
    if entry.parallel is None:
        yield entry
    for call in entry.parallel or ():
        yield from _members(call)


def _show_tool(tool: Tool) -> str:
    return _show(show_name(tool.tool), tool.arguments)


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
    shown = [f"  {row.mark} {row.expected:{width}}  {row.actual:{second}}  {row.note}" for row in (heading, *rows)]
    return [line.rstrip() for line in shown]
