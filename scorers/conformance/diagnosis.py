"""One run diagnosed by one rule: which call is which expected one, what is missing, what should not be there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from scorers.conformance.alignment import align
from scorers.conformance.assignment import Partners
from scorers.conformance.constraints import CompiledConstraint, ConditionIndex, ConstraintCall, ConstraintResult
from scorers.conformance.observation import ObservedCall, bits
from scorers.conformance.pattern import Pattern
from scorers.score import Outcome
from scorers.work import Work

_CALL_COST = 25
_CHECK_COST = 4  # of one constraint, for each call


class Diagnosis:
    """The calls of a run and their outcomes. ``counted`` are the indexes of the calls that are scored at all.

    ``expected`` are the calls of the cheapest alignment, as numbers of tools; ``partners[i]`` is the index of the call that
    matches ``expected[i]``, or None. ``gaps`` are the indexes of those without one. ``substitutes`` maps some gaps to the index
    of a call that was made instead: out of order or with wrong arguments.
    """

    def __init__(
        self,
        calls: tuple[ObservedCall, ...],
        counted: list[int],
        outcomes: list[Outcome],
        expected: Sequence[int],
        partners: Partners,
        gaps: list[int],
        substitutes: dict[int, int],
        constraint_results: Sequence[ConstraintResult],
    ) -> None:
        self.calls, self.counted, self.outcomes = calls, counted, outcomes
        self.expected, self.partners, self.gaps, self.substitutes = expected, partners, gaps, substitutes
        self.constraint_results = constraint_results

    def missing(self) -> list[int]:
        """The tools that were not called, not even out of order or with wrong arguments."""
        return [self.expected[gap] for gap in self.gaps if gap not in self.substitutes]

    def fitting(self, at: int) -> int | None:
        """The call that is ``expected[at]``, perhaps out of order; None if no call is."""
        matching = self.partners[at]
        if matching is not None:
            return matching
        substitute = self.substitutes.get(at)
        return substitute if substitute is not None and self.outcomes[substitute] == "out_of_order" else None


def diagnose(
    pattern: Pattern | None,
    constraints: Sequence[CompiledConstraint],
    calls: tuple[ObservedCall, ...],
    steps: tuple[int, ...],
    counted: list[int],
    work: Work,
) -> Diagnosis:
    """Align the counted calls with the pattern and check the constraints on them. Raises WorkLimitError."""
    # Before anything is built of the calls, so that a run that is too large costs nothing.
    work.spend(len(calls) * _CALL_COST, "the number of calls")
    work.spend(len(constraints) * len(counted) * _CHECK_COST, "constraints")
    outcomes: list[Outcome] = ["unscored"] * len(calls)
    made: list[ObservedCall] = []
    for index in counted:
        call = calls[index]
        # What the alignment does not match keeps this outcome.
        outcomes[index] = call.if_unmatched
        made.append(call)
    expected: Sequence[int] = ()
    partners: Partners = []
    if pattern is not None:
        expected, partners = align(pattern, made, [steps[index] for index in counted], work)
    gaps: list[int] = []
    for at, position in enumerate(partners):
        if position is None:
            gaps.append(at)
        else:
            partners[at] = index = counted[position]
            outcomes[index] = "matched"
    substitutes = _find_substitutes(calls, counted, expected, gaps, outcomes, work) if gaps else {}
    results: list[ConstraintResult] = []
    if constraints:
        by_condition = ConditionIndex(
            [ConstraintCall(steps[index], calls[index].definitely, calls[index].possibly) for index in counted]
        )
        results = [constraint.check(by_condition) for constraint in constraints]
    return Diagnosis(calls, counted, outcomes, expected, partners, gaps, substitutes, results)


def without_retries(
    calls: tuple[ObservedCall, ...], steps: tuple[int, ...], failed: tuple[bool, ...], indexes: list[int]
) -> list[int]:
    """Returns the indexes without failed attempts that were retried by a call of the same tool in the next step."""
    # Only an immediate retry counts: the same tool two steps later, after others were tried, is a call of its own. Attempts
    # of one step were made together, so none is the retry of another; and a call is the retry of at most one other.
    next_step = dict(pairwise(sorted({steps[index] for index in indexes})))
    retries: dict[tuple[int, str], int] = {}
    for index in indexes:
        key = (steps[index], calls[index].name)
        retries[key] = retries.get(key, 0) + 1
    remaining = []
    for index in indexes:
        key = (next_step.get(steps[index], -1), calls[index].name)
        if failed[index] and retries.get(key, 0):
            retries[key] -= 1
        else:
            remaining.append(index)
    return remaining


def _find_substitutes(
    calls: tuple[ObservedCall, ...],
    counted: list[int],
    expected: Sequence[int],
    gaps: list[int],
    outcomes: list[Outcome],
    work: Work,
) -> dict[int, int]:
    """Returns, for some gaps, the call that was made instead, and sets the outcome of these calls.

    A call that would be right elsewhere is out of order; one with the right name has wrong arguments. Both leave their
    expected call missing, so pairing them up explains the edits without changing their number.
    """
    wanted = 0
    for gap in gaps:
        wanted |= 1 << expected[gap]
    unmatched = [index for index in counted if outcomes[index] in ("extra", "unscored") and calls[index].named & wanted]
    work.spend(4 * sum([(calls[index].named & wanted).bit_count() for index in unmatched]), "expect")
    substitutes: dict[int, int] = {}
    # First the calls that are wrong only in their position: a call with wrong arguments must not take their gaps.
    passes: tuple[tuple[Outcome, bool], ...] = (("out_of_order", True), ("wrong_arguments", False))
    for outcome, arguments_fit in passes:
        waiting: dict[int, list[int]] = {}
        # Backwards, so that `pop` takes the earliest call, and without moving the rest of a list.
        for index in reversed(unmatched):
            for tool in bits((calls[index].fits if arguments_fit else calls[index].named) & wanted):
                waiting.setdefault(tool, []).append(index)
        for gap in gaps:
            candidates = [] if gap in substitutes else waiting.get(expected[gap], [])
            # A call that fits several tools waits in several lists, and may have been taken from another one.
            while candidates and outcomes[candidates[-1]] in ("out_of_order", "wrong_arguments"):
                candidates.pop()
            if candidates:
                substitutes[gap] = candidates.pop()
                outcomes[substitutes[gap]] = outcome
    return substitutes
