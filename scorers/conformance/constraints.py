"""Declarative rules over the calls of a run (DECLARE; Pesic, Schonenberg and van der Aalst, 2007).

A constraint is *activated* by the calls it is about; a constraint that nothing activated holds vacuously and is reported
as vacuous. Calls of one step are unordered, so an order is violated only between steps. A call whose arguments were not
captured can satisfy a condition on them and cannot violate one: it never fails a run.

==============  ===================================================  =====================
template        holds when                                           activated by
==============  ===================================================  =====================
existence       there are at least ``times`` X (1)                   every run
absence         there is no X                                        every run
exactly         there are exactly ``times`` X (1)                    every run
init, last      an X is among the first (last) calls                 every run with calls
response        after each X comes a Y                               each X
precedence      before each Y comes an X                             each Y
succession      response and precedence                              each X, each Y
chain_response  right after each X comes a Y                         each X
not_after       after no X comes a Y                                 each X
not_together    there are not both X and Y                           every X or Y
==============  ===================================================  =====================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from scorers.rules.model import CONSTRAINTS_OF_TWO, Constraint, Tool
from scorers.rules.names import format_name

ORDERED = frozenset({"init", "last", "response", "precedence", "succession", "chain_response", "not_after"})
"""Templates that look at the order of calls."""


class ConstraintCall(NamedTuple):
    """A call as constraints see it: its step, and a bit for each condition it definitely and possibly meets."""

    step: int
    definitely: int
    possibly: int


class ConstraintResult(NamedTuple):
    """How many times a run activated a constraint, and how many times it violated it."""

    activated: int
    violated: int
    is_final: bool = False
    """Whether no further call could mend the violation."""

    @property
    def state(self) -> str:
        """``violated``, ``satisfied`` or ``vacuous``."""
        return "violated" if self.violated else "satisfied" if self.activated else "vacuous"


class ConditionIndex:
    """The calls that definitely and that possibly meet each condition, as (step, index), in order."""

    def __init__(self, calls: Sequence[ConstraintCall]) -> None:
        self.calls = calls
        self.steps = sorted({call.step for call in calls})

    def definitely(self, bit: int) -> list[tuple[int, int]]:
        """The calls that definitely meet the condition."""
        return [(call.step, index) for index, call in enumerate(self.calls) if call.definitely & bit]

    def possibly(self, bit: int) -> list[tuple[int, int]]:
        """The calls that possibly meet the condition."""
        return [(call.step, index) for index, call in enumerate(self.calls) if call.possibly & bit]


class CompiledConstraint:
    """A constraint over conditions that are given as bits."""

    def __init__(self, constraint: Constraint, bit_of: Callable[[Tool], int]) -> None:
        self.template = constraint.template
        given = getattr(constraint, self.template)
        operands = list(given) if self.template in CONSTRAINTS_OF_TWO else [given]
        self._bits = [bit_of(operand) for operand in operands]
        self._times = getattr(given, "times", 1)
        times = [f"times {self._times}"] if self.template in {"existence", "exactly"} and self._times != 1 else []
        self.text = f"{self.template}({', '.join([*map(_show, operands), *times])})"

    def check(self, calls: ConditionIndex) -> ConstraintResult:
        """Check one run."""
        if self.template in _COUNTING:
            return _COUNTING[self.template](calls, self._bits[0], self._times)
        return _RELATIONS[self.template](calls, self._bits[0], self._bits[1])


def _show(tool: Tool) -> str:
    return format_name(tool.tool) + ("{...}" if tool.arguments else "")


def _existence(calls: ConditionIndex, x: int, times: int) -> ConstraintResult:
    # What must be there may be a call whose arguments were not captured; what must not be there may not (`_absence`).
    return ConstraintResult(1, int(len(calls.possibly(x)) < times))


def _absence(calls: ConditionIndex, x: int, _: int) -> ConstraintResult:
    found = len(calls.definitely(x))
    return ConstraintResult(1, found, found > 0)


def _exactly(calls: ConditionIndex, x: int, times: int) -> ConstraintResult:
    found = len(calls.definitely(x))
    # Any number between the definite and the possible calls can be the true one. Too few can still be mended.
    return ConstraintResult(1, int(not found <= times <= len(calls.possibly(x))), found > times)


def _init(calls: ConditionIndex, x: int, _: int) -> ConstraintResult:
    return _at_end(calls, x, 0)


def _last(calls: ConditionIndex, x: int, _: int) -> ConstraintResult:
    return _at_end(calls, x, -1)


def _at_end(calls: ConditionIndex, x: int, end: int) -> ConstraintResult:
    if not calls.steps:
        return ConstraintResult(0, 0)
    return ConstraintResult(1, int(all(step != calls.steps[end] for step, _ in calls.possibly(x))))


# Of the calls that may answer an activation only the latest (or earliest) two matter: two, since one of them may be the
# activating call itself. So each template needs one pass over the run.


def _response(calls: ConditionIndex, x: int, y: int) -> ConstraintResult:
    activations, latest = calls.definitely(x), calls.possibly(y)[-2:]
    violations = [i for step, i in activations if not any(other != i and later >= step for later, other in latest)]
    return ConstraintResult(len(activations), len(violations))


def _precedence(calls: ConditionIndex, x: int, y: int) -> ConstraintResult:
    activations, earliest = calls.definitely(y), calls.possibly(x)[:2]
    violations = [
        i for step, i in activations if not any(other != i and earlier <= step for earlier, other in earliest)
    ]
    return ConstraintResult(len(activations), len(violations))


def _succession(calls: ConditionIndex, x: int, y: int) -> ConstraintResult:
    response, precedence = _response(calls, x, y), _precedence(calls, x, y)
    return ConstraintResult(response.activated + precedence.activated, response.violated + precedence.violated)


def _chain_response(calls: ConditionIndex, x: int, y: int) -> ConstraintResult:
    # In some order the activating call is the last of its step, and the next step follows it; in another, a call of its own
    # step follows it. Either satisfies the constraint.
    next_step = dict(pairwise(calls.steps))
    answers: dict[int | None, list[int]] = {}
    for step, index in calls.possibly(y):
        answers.setdefault(step, []).append(index)
    activations = calls.definitely(x)
    violations = [
        index
        for step, index in activations
        if answers.get(step, []) in ([], [index]) and not answers.get(next_step.get(step))
    ]
    return ConstraintResult(len(activations), len(violations))


def _not_after(calls: ConditionIndex, x: int, y: int) -> ConstraintResult:
    # One is enough here: a call is never in a later step than itself, so it cannot be its own violation.
    activations, latest = calls.definitely(x), calls.definitely(y)[-1:]
    violated = sum(1 for step, _ in activations if latest and latest[0][0] > step)
    return ConstraintResult(len(activations), violated, violated > 0)


def _not_together(calls: ConditionIndex, x: int, y: int) -> ConstraintResult:
    one, other = {index for _, index in calls.definitely(x)}, {index for _, index in calls.definitely(y)}
    # A single call that meets both conditions is not two calls together.
    both = bool(one and other) and len(one | other) > 1
    return ConstraintResult(int(bool(one or other)), int(both), both)


_COUNTING: Mapping[str, Callable[[ConditionIndex, int, int], ConstraintResult]] = {
    "existence": _existence,
    "absence": _absence,
    "exactly": _exactly,
    "init": _init,
    "last": _last,
}
_RELATIONS: Mapping[str, Callable[[ConditionIndex, int, int], ConstraintResult]] = {
    "response": _response,
    "precedence": _precedence,
    "succession": _succession,
    "chain_response": _chain_response,
    "not_after": _not_after,
    "not_together": _not_together,
}


def constraint_details(constraint: CompiledConstraint, result: ConstraintResult) -> dict[str, Any]:
    """Returns the entry of a constraint in a score's details."""
    counts = {"activated": result.activated, "violated": result.violated}
    return {"constraint": constraint.text, "state": result.state, **counts}
