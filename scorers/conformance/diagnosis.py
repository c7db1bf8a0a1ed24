"""One run read along one rule: what is which expected call, what is missing, what should not be there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scorers.conformance.alignment import align
from scorers.conformance.constraints import Calls, CompiledConstraint, ConstraintResult, Seen
from scorers.conformance.observation import Observed
from scorers.conformance.pattern import Pattern
from scorers.conformance.search import Pair
from scorers.score import Outcome


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The calls of a run and what became of them. ``counted`` are the places of the calls that are scored at all.

    ``pairs`` are the expected calls of the cheapest reading, each with the place of the call that is it or None; ``gaps``
    are the indexes of those without one, and ``stand_ins`` the places of wrong calls that stand for some of them.
    """

    calls: Sequence[Observed]
    counted: Sequence[int]
    outcomes: Sequence[Outcome]
    pairs: Sequence[Pair]
    gaps: Sequence[int]
    stand_ins: Mapping[int, int]
    verdicts: Sequence[ConstraintResult]

    def missing(self) -> list[int]:
        """The tools nobody called, not even in the wrong place or with the wrong arguments."""
        return [self.pairs[gap][0] for gap in self.gaps if gap not in self.stand_ins]


def read_run(
    pattern: Pattern | None,
    constraints: Sequence[CompiledConstraint],
    calls: Sequence[Observed],
    steps: Sequence[int],
    counted: Sequence[int],
) -> Diagnosis:
    """Align the counted calls with the pattern and check the constraints on them. Raises SearchLimitError."""
    outcomes: list[Outcome] = ["unscored"] * len(calls)
    fits, costs = [], []
    for at in counted:
        call = calls[at]
        outcomes[at] = call.otherwise
        fits.append(call.fits)
        costs.append(call.cost)
    pairs: list[Pair] = []
    gaps = []
    for tool, index in align(pattern, fits, costs, [steps[at] for at in counted]) if pattern is not None else ():
        if index is None:
            gaps.append(len(pairs))
            pairs.append((tool, None))
        else:
            outcomes[counted[index]] = "matched"
            pairs.append((tool, counted[index]))
    stand_ins = _find_stand_ins(calls, counted, pairs, gaps, outcomes) if gaps else {}
    verdicts: list[ConstraintResult] = []
    if constraints:
        seen = Calls([Seen(steps[at], calls[at].surely, calls[at].possibly) for at in counted])
        verdicts = [constraint.check(seen) for constraint in constraints]
    return Diagnosis(calls, counted, outcomes, pairs, gaps, stand_ins, verdicts)


def without_retries(
    calls: Sequence[Observed], steps: Sequence[int], failed: Sequence[bool], at: Sequence[int]
) -> list[int]:
    """Of the calls at these places, those that are no failed attempt repeated by a call of the same tool one step on."""
    # "Repeated" means at once: the same tool two steps later, after others were tried, is a call of its own. Attempts of
    # one step were made together, so none is the retry of another; and one call is the retry of at most one.
    following = dict(pairwise(sorted({steps[place] for place in at})))
    repeats: dict[tuple[int, str], int] = {}
    for place in at:
        key = (steps[place], calls[place].name)
        repeats[key] = repeats.get(key, 0) + 1
    kept = []
    for place in at:
        key = (following.get(steps[place], -1), calls[place].name)
        if failed[place] and repeats.get(key, 0):
            repeats[key] -= 1
        else:
            kept.append(place)
    return kept


def _find_stand_ins(
    calls: Sequence[Observed],
    counted: Sequence[int],
    pairs: Sequence[Pair],
    gaps: Sequence[int],
    outcomes: list[Outcome],
) -> Mapping[int, int]:
    """Which wrong call stands for which missing one; their outcomes are set.

    A call that would be right elsewhere is out of order; one with the right name has wrong arguments. Both leave their
    expected call missing, so pairing them up explains the edits without changing their number.
    """
    wanted = sum(1 << tool for tool in {pairs[gap][0] for gap in gaps})
    spare = [at for at in counted if outcomes[at] in ("extra", "unscored") and calls[at].named & wanted]
    found: dict[int, int] = {}
    # First the calls that are right but for their place: one that is wrong as well must not take theirs.
    passes: tuple[tuple[Outcome, bool], ...] = (("out_of_order", True), ("wrong_arguments", False))
    for outcome, right in passes:
        waiting: dict[int, list[int]] = {}
        for at in reversed(spare):
            for tool in _bits((calls[at].fits if right else calls[at].named) & wanted):
                waiting.setdefault(tool, []).append(at)
        for gap in gaps:
            candidates = [] if gap in found else waiting.get(pairs[gap][0], [])
            while candidates and outcomes[candidates[-1]] in ("out_of_order", "wrong_arguments"):
                candidates.pop()
            if candidates:
                found[gap] = candidates.pop()
                outcomes[found[gap]] = outcome
    return found


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
