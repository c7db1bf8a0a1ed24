"""Declarative rules over the calls of a run (DECLARE; Pesic, Schonenberg and van der Aalst, 2007).

A constraint is *activated* by the calls it is about; one that nothing activated holds vacuously, and says so. Calls of
one step are unordered, so an order is broken only where the steps break it. A call whose arguments nobody captured can
fulfil a condition on them and cannot break one: it never fails a run.

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
from scorers.rules.names import show_name

ORDERED = frozenset({"init", "last", "response", "precedence", "succession", "chain_response", "not_after"})
"""Templates that look at the order of calls."""


class Seen(NamedTuple):
    """A call as constraints see it: its step, and a bit for each condition it surely and possibly meets."""

    step: int
    surely: int
    possibly: int


class ConstraintResult(NamedTuple):
    """Of one constraint over one run: how many times it was activated, and how many times violated."""

    activated: int
    violated: int

    @property
    def state(self) -> str:
        """``violated``, ``satisfied`` or ``vacuous``."""
        return "violated" if self.violated else "satisfied" if self.activated else "vacuous"


class Calls:
    """The calls that surely and that possibly meet each condition, as (step, place), in order."""

    def __init__(self, calls: Sequence[Seen]) -> None:
        self.calls = calls
        self.steps = sorted({call.step for call in calls})

    def surely(self, bit: int) -> list[tuple[int, int]]:
        """Those that surely meet the condition."""
        return [(call.step, at) for at, call in enumerate(self.calls) if call.surely & bit]

    def possibly(self, bit: int) -> list[tuple[int, int]]:
        """Those that possibly do."""
        return [(call.step, at) for at, call in enumerate(self.calls) if call.possibly & bit]


class CompiledConstraint:
    """A constraint over conditions given as bits."""

    def __init__(self, constraint: Constraint, bit_of: Callable[[Tool], int]) -> None:
        self.template = constraint.template
        given = getattr(constraint, self.template)
        operands = list(given) if self.template in CONSTRAINTS_OF_TWO else [given]
        self._bits = [bit_of(operand) for operand in operands]
        self._times = getattr(given, "times", 1)
        times = [f"times {self._times}"] if self.template in {"existence", "exactly"} and self._times != 1 else []
        self.text = f"{self.template}({', '.join([*map(_show, operands), *times])})"

    def check(self, calls: Calls) -> ConstraintResult:
        """Whether the run keeps it."""
        if self.template in _COUNTING:
            return _COUNTING[self.template](calls, self._bits[0], self._times)
        return _RELATIONS[self.template](calls, self._bits[0], self._bits[1])


def _show(tool: Tool) -> str:
    return show_name(tool.tool) + ("{...}" if tool.arguments else "")


def _existence(calls: Calls, x: int, times: int) -> ConstraintResult:
    return ConstraintResult(1, int(len(calls.possibly(x)) < times))


def _absence(calls: Calls, x: int, _: int) -> ConstraintResult:
    return ConstraintResult(1, len(calls.surely(x)))


def _exactly(calls: Calls, x: int, times: int) -> ConstraintResult:
    return ConstraintResult(1, int(not len(calls.surely(x)) <= times <= len(calls.possibly(x))))


def _init(calls: Calls, x: int, _: int) -> ConstraintResult:
    return _at_end(calls, x, 0)


def _last(calls: Calls, x: int, _: int) -> ConstraintResult:
    return _at_end(calls, x, -1)


def _at_end(calls: Calls, x: int, end: int) -> ConstraintResult:
    if not calls.steps:
        return ConstraintResult(0, 0)
    return ConstraintResult(1, int(all(step != calls.steps[end] for step, _ in calls.possibly(x))))


# Of the calls that may answer an activation only the latest (or earliest) can matter, and two of them, lest the one be
# the activating call itself. So each template takes one pass over the run.


def _response(calls: Calls, x: int, y: int) -> ConstraintResult:
    activations, latest = calls.surely(x), calls.possibly(y)[-2:]
    broken = [at for step, at in activations if not any(other != at and later >= step for later, other in latest)]
    return ConstraintResult(len(activations), len(broken))


def _precedence(calls: Calls, x: int, y: int) -> ConstraintResult:
    activations, earliest = calls.surely(y), calls.possibly(x)[:2]
    broken = [at for step, at in activations if not any(other != at and before <= step for before, other in earliest)]
    return ConstraintResult(len(activations), len(broken))


def _succession(calls: Calls, x: int, y: int) -> ConstraintResult:
    response, precedence = _response(calls, x, y), _precedence(calls, x, y)
    return ConstraintResult(response.activated + precedence.activated, response.violated + precedence.violated)


def _chain_response(calls: Calls, x: int, y: int) -> ConstraintResult:
    # Some order puts the activating call last in its step: then the next step follows it. Or another call of its step.
    following = dict(pairwise(calls.steps))
    there: dict[int | None, list[int]] = {}
    for step, at in calls.possibly(y):
        there.setdefault(step, []).append(at)
    activations = calls.surely(x)
    broken = [
        at for step, at in activations if there.get(step, []) in ([], [at]) and not there.get(following.get(step, -1))
    ]
    return ConstraintResult(len(activations), len(broken))


def _not_after(calls: Calls, x: int, y: int) -> ConstraintResult:
    activations, latest = calls.surely(x), calls.surely(y)[-1:]
    return ConstraintResult(len(activations), sum(1 for step, _ in activations if latest and latest[0][0] > step))


def _not_together(calls: Calls, x: int, y: int) -> ConstraintResult:
    one, other = {at for _, at in calls.surely(x)}, {at for _, at in calls.surely(y)}
    both = bool(one and other) and len(one | other) > 1
    return ConstraintResult(int(bool(one or other)), int(both))


_COUNTING: Mapping[str, Callable[[Calls, int, int], ConstraintResult]] = {
    "existence": _existence,
    "absence": _absence,
    "exactly": _exactly,
    "init": _init,
    "last": _last,
}
_RELATIONS: Mapping[str, Callable[[Calls, int, int], ConstraintResult]] = {
    "response": _response,
    "precedence": _precedence,
    "succession": _succession,
    "chain_response": _chain_response,
    "not_after": _not_after,
    "not_together": _not_together,
}


def report(constraint: CompiledConstraint, verdict: ConstraintResult) -> dict[str, Any]:
    """One entry of a score's details."""
    return {"constraint": constraint.text, "state": verdict.state, **verdict._asdict()}
