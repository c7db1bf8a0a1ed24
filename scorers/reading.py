"""One run read along one rule: what is which expected call, what is missing, what should not be there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scorers.alignment import align
from scorers.constraints import Calls, CompiledConstraint, Seen, Verdict
from scorers.observation import Observed
from scorers.pattern import Pattern
from scorers.score import Outcome
from scorers.search import Call, Pair


@dataclass(frozen=True, slots=True)
class Reading:
    """The calls of a run and what became of them. ``counted`` are the places of the calls that are scored at all.

    ``pairs`` are the expected calls of the cheapest reading, each with the place of the call that is it or None.
    ``stand_ins`` tells of a missing expected call (by its index in ``pairs``) which wrong call stands for it.
    """

    calls: Sequence[Observed]
    counted: Sequence[int]
    outcomes: Sequence[Outcome]
    pairs: Sequence[Pair]
    stand_ins: Mapping[int, int]
    verdicts: Sequence[Verdict]

    def missing(self) -> list[int]:
        """The tools nobody called, not even in the wrong place or with the wrong arguments."""
        return [tool for at, (tool, call) in enumerate(self.pairs) if call is None and at not in self.stand_ins]


def read_run(
    pattern: Pattern | None,
    constraints: Sequence[CompiledConstraint],
    calls: Sequence[Observed],
    steps: Sequence[int],
    counted: Sequence[int],
) -> Reading:
    """Align the counted calls with the pattern and check the constraints on them. Raises SearchLimitError."""
    pairs: list[Pair] = []
    if pattern is not None:
        fitting = [at for at in counted if calls[at].fits]
        pairs = align(
            pattern, [Call(at, calls[at].fits, calls[at].cost) for at in fitting], [steps[at] for at in fitting]
        )
    outcomes: list[Outcome] = ["unscored"] * len(calls)
    for at in counted:
        outcomes[at] = calls[at].otherwise
    gaps = []
    for index, (_, place) in enumerate(pairs):
        if place is None:
            gaps.append(index)
        else:
            outcomes[place] = "matched"
    stand_ins = _find_stand_ins(calls, counted, pairs, gaps, outcomes) if gaps else {}
    verdicts: list[Verdict] = []
    if constraints:
        seen = Calls([Seen(steps[at], calls[at].surely, calls[at].possibly) for at in counted])
        verdicts = [constraint.check(seen) for constraint in constraints]
    return Reading(calls, counted, outcomes, pairs, stand_ins, verdicts)


def without_retries(
    calls: Sequence[Observed], steps: Sequence[int], failed: Sequence[bool], at: Sequence[int]
) -> list[int]:
    """Of the calls at these places, those that are no failed attempt repeated by a call of the same tool one step on."""
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
    spare = [at for at in counted if calls[at].named and outcomes[at] not in ("matched", "forbidden")]
    found: dict[int, int] = {}
    for gap in gaps:
        _take(spare, found, gap, [calls[at].fits >> pairs[gap][0] & 1 for at in spare], outcomes, "out_of_order")
    for gap in gaps:
        if gap not in found:
            _take(
                spare, found, gap, [calls[at].named >> pairs[gap][0] & 1 for at in spare], outcomes, "wrong_arguments"
            )
    return found


def _take(
    spare: list[int], found: dict[int, int], gap: int, usable: list[int], outcomes: list[Outcome], outcome: Outcome
) -> None:
    if 1 in usable:
        found[gap] = spare.pop(usable.index(1))
        outcomes[found[gap]] = outcome
