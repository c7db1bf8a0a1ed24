"""promptfoo: which tools, in which order, with which arguments, how many; and not."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.systems import promptfoo
from tests.scorers.systems.cases import Call, calls, run

SHELL: Call = {"tool": "Shell ", "args": {"command": ["ls", "-l"]}}
X1 = {"name": "a", "args": {"x": 1}}


@pytest.mark.parametrize(
    ("assertion", "value", "actual", "passed"),
    [
        ("tool-used", "A", calls("a"), True),
        ("tool-used", "execute_tool a", calls("a"), True),  # the name of the span
        ("tool-used", ["a", "b?"], calls("a", "bc"), True),
        ("tool-used", ["a", "b?"], calls("a", "b"), False),
        ("tool-used", "a.c", calls("abc"), False),
        ("tool-used", "k", calls("\u212a"), False),  # the sign of Kelvin: not ASCII
        ("tool-used", "caf\u00c9", calls("caf\u00e9"), True),
        ("tool-used", "?", calls("\U0001f600"), False),  # two UTF-16 units
        ("tool-used", "??", calls("\U0001f600"), True),
        ("tool-used", "a*b", calls("a\nb"), False),
        ("tool-used", {"name": "a", "max": 1}, calls(*"aa"), False),
        ("tool-used", {"name": "a", "min": 0}, [], True),
        ("tool-used", "shell", [SHELL], False),  # a command
        ("tool-used", "shell", calls("shell"), True),
        ("tool-sequence", ["a", "b"], calls(*"axb"), True),
        ("tool-sequence", {"steps": ["a", "b"], "mode": "exact"}, calls(*"axb"), False),
        ("tool-sequence", {"steps": ["a", {"pattern": "*"}], "mode": "exact"}, calls(*"ab"), True),
        ("tool-args-match", X1, calls(("a", {"x": 2}), ("a", {"x": 1, "y": 2})), True),
        ("tool-args-match", X1 | {"mode": "exact"}, calls(("a", {"x": 1, "y": 2})), False),
        ("tool-args-match", X1 | {"mode": "exact", "ignore": "Y*"}, calls(("a", {"x": 1, "yy": 2})), True),
        ("tool-args-match", X1 | {"mode": "exact", "defaults": {"y": 2}}, calls(("a", {"x": 1, "y": 2})), True),
        ("tool-args-match", X1, calls("a", "b"), False),
        ("tool-args-match", {"name": "a", "args": {"x": {"k": 0}}}, calls(("a", {"x": {"k": -0.0}})), False),
        ("tool-args-match", {"name": "a", "args": {"x": {"k": 1}}}, calls(("a", {"x": {"k": 1.0, "j": 2}})), True),
        ("step-count", {"type": "command", "min": 1}, [SHELL], True),
        ("step-count", {"type": ["tool", "command"], "pattern": "ls*", "min": 1}, [SHELL, *calls("a")], True),
    ],
)
def test_scores(assertion: str, value: Any, actual: list[Call], passed: bool) -> None:
    score = run(promptfoo, [], actual, assertion=assertion, value=value)
    assert (score.value, score.details) == (float(passed), {"pass": passed})


@pytest.mark.parametrize(("actual", "value"), [("", 1.0), ("a", 0.0), ("ab", 0.0)])
def test_forbidden_tools_must_all_be_absent(actual: str, value: float) -> None:
    assert run(promptfoo, [], calls(*actual), assertion="tool-used", value=["a", "b"], **{"not": True}).value == value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"assertion": "tool-used"}, "needs the option 'value'"),
        ({"assertion": "tool-used", "value": []}, "tool-used needs a tool, a list of tools, or a mapping with name"),
        ({"assertion": "tool-used", "value": {"min": 1}}, "tool-used needs a name or a pattern"),
        ({"assertion": "tool-sequence", "value": ["a", {}]}, "each step of tool-sequence needs a name or a pattern"),
        ({"assertion": "tool-args-match", "value": {"name": "a"}}, "tool-args-match needs args"),
        ({"assertion": "tool-args-match", "value": "a"}, "tool-args-match needs a mapping"),
        ({"assertion": "step-count", "value": {"max": 1}}, "needs the option 'type': tool or command"),
        ({"assertion": "step-count", "value": {"type": "tool"}}, "step-count needs min or max"),
    ],
)
def test_what_is_missing_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        promptfoo.create(**options)
