"""One run read along one rule: what is which expected call, what is missing, what should not be there."""

from __future__ import annotations

from collections.abc import Sequence
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
    ``repaired`` tells of a missing expected call (by its index in ``pairs``) which wrong call stands for it.
    """

    calls: Sequence[Observed]
    counted: Sequence[int]
    outcomes: Sequence[Outcome]
    pairs: Sequence[Pair]
    repaired: dict[int, int]
    verdicts: Sequence[Verdict]

    def missing(self) -> list[int]:
        """The tools nobody called, not even in the wrong place or with the wrong arguments."""
        return [tool for at, (tool, call) in enumerate(self.pairs) if call is None and at not in self.repaired]


def read_run(
    pattern: Pattern | None,
    constraints: Sequence[CompiledConstraint],
    calls: Sequence[Observed],
    steps: Sequence[int],
    counted: Sequence[int],
) -> Reading:
    """Align the counted calls with the pattern and check the constraints on them. Raises SearchLimitError."""
    pairs = align(pattern, _steps(pattern, calls, steps, counted)) if pattern else []
    outcomes, repaired = _judge(calls, counted, pairs, free=pattern is None)
    seen = (
        Calls([Seen(steps[at], calls[at].surely, calls[at].possibly) for at in counted]) if constraints else Calls(())
    )
    verdicts = [constraint.check(seen) for constraint in constraints]
    return Reading(calls, counted, outcomes, pairs, repaired, verdicts)


def without_retries(
    calls: Sequence[Observed], steps: Sequence[int], failed: Sequence[bool], at: Sequence[int]
) -> list[int]:
    """Of the calls at these places, those that are no failed attempt repeated by a call of the same tool one step on."""
    order = sorted({steps[place] for place in at})
    following = dict(pairwise(order))
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


def _steps(
    pattern: Pattern, calls: Sequence[Observed], steps: Sequence[int], counted: Sequence[int]
) -> list[list[Call]]:
    """The calls that fit some tool of the pattern, step by step; a forbidden one never does."""
    known = (1 << len(pattern.tools)) - 1
    groups: dict[int, list[Call]] = {}
    for at in counted:
        call = calls[at]
        fits = call.possibly & known
        if fits and not call.forbidden:
            groups.setdefault(steps[at], []).append(Call(at, fits, int(not call.free)))
    return list(groups.values())


def _judge(
    calls: Sequence[Observed], counted: Sequence[int], pairs: Sequence[Pair], *, free: bool
) -> tuple[list[Outcome], dict[int, int]]:
    """Outcomes, and which wrong call stands for which missing one.

    A call that would be right elsewhere is out of order; one with the right name has wrong arguments. Both leave their
    expected call missing, so pairing them up explains the edits without changing their number.
    """
    outcomes: list[Outcome] = ["unscored"] * len(calls)
    for at in counted:
        call = calls[at]
        outcomes[at] = "forbidden" if call.forbidden else "unscored" if free or call.free else "extra"
    for _, place in pairs:
        if place is not None:
            outcomes[place] = "matched"
    gaps = [at for at, (_, place) in enumerate(pairs) if place is None]
    repaired: dict[int, int] = {}
    if not gaps:
        return outcomes, repaired
    spare = [at for at in counted if outcomes[at] != "matched" and not calls[at].forbidden and calls[at].named]
    for outcome, fits in (("out_of_order", "possibly"), ("wrong_arguments", "named")):
        for gap in gaps:
            bit = 1 << pairs[gap][0]
            stand_in = next((at for at in spare if getattr(calls[at], fits) & bit), None)
            if stand_in is not None and gap not in repaired:
                repaired[gap] = stand_in
                spare.remove(stand_in)
                outcomes[stand_in] = outcome  # type: ignore[call-overload]
    return outcomes, repaired
