"""One run read along one rule: what is which expected call, what is missing, what should not be there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    found: dict[int, int] = {}
    taken: set[int] = set()
    wanted = sum(1 << tool for tool in {pairs[gap][0] for gap in gaps})
    # First the calls that are right but for their place: one that is wrong as well must not take theirs.
    passes: tuple[tuple[Outcome, Sequence[int]], ...] = (
        ("out_of_order", [call.fits & wanted for call in calls]),
        ("wrong_arguments", [call.named & wanted for call in calls]),
    )
    for outcome, tools in passes:
        spare: dict[int, list[int]] = {}
        for at in reversed(counted):
            if tools[at] and at not in taken and outcomes[at] not in ("matched", "forbidden"):
                for tool in _bits(tools[at]):
                    spare.setdefault(tool, []).append(at)
        for gap in gaps:
            candidates = [] if gap in found else spare.get(pairs[gap][0], [])
            while candidates and candidates[-1] in taken:
                candidates.pop()
            if candidates:
                found[gap] = candidates.pop()
                taken.add(found[gap])
                outcomes[found[gap]] = outcome
    return found


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
