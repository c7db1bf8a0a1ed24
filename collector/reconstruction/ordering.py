"""Calls of one run -> calls in order, with steps, and what of the order nothing tells.

Causes come first: a call made inside another follows it, and the model's turns follow one another. Calls that one answer
of the model asked for ran concurrently. Where neither says anything the clocks do: calls whose intervals overlap ran
concurrently, others in the order of their starts. Equal starts and missing times order nothing; nor do the clocks of two
hosts where starts are closer than the tolerated skew, or where a host's clock contradicts the span that encloses its
calls.

Nearly always the clocks tell all there is, and one pass over the calls does. Only where they do not, calls are compared
in pairs, and every order that the known pairs allow is handed on to be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Final, Literal, NamedTuple

from collector.model.genai_span import GenAISpan
from collector.reconstruction.drafts import DraftCall, begin_ns, clock_of, latest_start

MAX_COMPARED: Final = 64
"""How many calls are compared in pairs; where more are in doubt, no order is tried."""
MAX_ORDERS: Final = 128
"""How many orders of a step are handed on; where there are more, none is."""

Clocks = frozenset[object]
"""The clocks of two hosts."""
Steps = Sequence[Sequence[DraftCall]]
"""Calls in order; those of one inner sequence are concurrent."""
Relation = Literal["before", "after", "concurrent", "unknown", "before_or_concurrent", "after_or_concurrent"]


class Unordered(NamedTuple):
    """Calls of one step whose order is in doubt, with each order they may have had; none where there are too many."""

    calls: Sequence[DraftCall]
    orders: Sequence[Steps]


def assign_steps(
    calls: list[DraftCall], skew_ns: int, *, turns_are_ordered: bool = True, wrong_clocks: Collection[Clocks] = ()
) -> list[Unordered]:
    """Sort ``calls`` in place and set their steps. Returns the steps whose order is in doubt.

    Unless ``turns_are_ordered`` nothing tells which turn came first. ``wrong_clocks`` are pairs that contradict one another.
    """
    if turns_are_ordered and _follow_one_another(calls):
        for number, call in enumerate(calls):
            call.step = number
        return []
    calls.sort(key=_start)
    if turns_are_ordered and _is_plain(calls):
        _sweep(calls)
        return []
    # Pairs grow with the square of the calls, and what follows from them with the cube.
    if len(calls) > MAX_COMPARED:
        for call in calls:
            call.step = 0
        return [Unordered(calls, ())]
    return _compare_all(calls, _Comparison(skew_ns, turns_are_ordered, frozenset(wrong_clocks)))


def contradicting_clocks(call: DraftCall | GenAISpan, enclosing: GenAISpan, skew_ns: int) -> Clocks | None:
    """Returns the clocks of a call or run and of a span that encloses it if, by them, it does not; None if they agree."""
    clocks = frozenset((clock_of(call.resource), clock_of(enclosing.resource)))
    if len(clocks) < 2 or not call.start_ns or not 0 < enclosing.start_ns <= enclosing.end_ns:
        return None
    agree = enclosing.start_ns - skew_ns <= begin_ns(call) and _end(call) <= enclosing.end_ns + skew_ns
    return None if agree else clocks


def _start(call: DraftCall) -> tuple[int, int, int, bytes]:
    start = call.start_ns if call.start_ns <= call.end_ns else begin_ns(call)
    return start, call.turn, call.position, call.span_id or b""


def _end(call: DraftCall | GenAISpan) -> int:
    return max(call.start_ns, call.end_ns)


# --- where the clocks tell all there is -------------------------------------------------------------------------------


def _follow_one_another(calls: Sequence[DraftCall]) -> bool:
    """Whether the calls are in order already: by one clock each began after the last had ended, in a later turn if any."""
    ended = begun = latest_turn = latest_response = -1
    resource = calls[0].resource if calls else None
    for call in calls:
        start = call.start_ns
        if call.resource is not resource or start <= 0 or start <= begun or start < ended or call.end_ns < start:
            return False
        if call.turn >= 0 or call.response >= 0:
            if 0 <= call.turn <= latest_turn or 0 <= call.response == latest_response:
                return False
            latest_turn = max(latest_turn, call.turn)
        begun, ended, latest_response = start, call.end_ns, call.response
    return True


def _is_plain(calls: Sequence[DraftCall]) -> bool:
    """Whether one clock orders all calls, and the model's turns agree with it."""
    latest_turn: dict[tuple[int, bytes | None], int] = {}
    for call in calls:
        if not call.start_ns or 0 < call.end_ns < call.start_ns:
            return False
    # Neighbours suffice: calls are sorted by start, so a tie or a change of clock shows between two of them.
    for before, after in pairwise(calls):
        # Identity first: nearly always it is one Resource, and its host names need not be looked up.
        if before.resource is not after.resource and clock_of(before.resource) != clock_of(after.resource):
            return False
        if before.start_ns == after.start_ns and not _is_settled_tie(before, after):
            return False
        # Without outputs, two calls after one response may be one turn or two, which only pairs can express.
        if after.response >= 0 and after.response == before.response:
            return False
        # Compared with the latest turn so far, not with the neighbour, which may be a call of another run.
        if before.turn >= 0:
            latest_turn[_conversation_of(before)] = max(latest_turn.get(_conversation_of(before), -1), before.turn)
        if 0 <= after.turn < latest_turn.get(_conversation_of(after), -1):
            return False
    return True


def _conversation_of(call: DraftCall) -> tuple[int, bytes | None]:
    """Returns whose turns the call's turn is one of: those of a model that is asked inside a call are not the run's."""
    return call.run, call.enclosing_id


def _is_settled_tie(before: DraftCall, after: DraftCall) -> bool:
    if after.enclosing_id is not None and after.enclosing_id == before.span_id:
        return True
    return before.turn >= 0 and after.turn >= 0 and _conversation_of(before) == _conversation_of(after)


def _sweep(calls: Sequence[DraftCall]) -> None:
    """Set the steps of calls that are in order of start."""
    step: list[DraftCall] = []
    step_end = number = 0
    for call in calls:
        if step and not _is_concurrent(call, step, step_end):
            step, step_end, number = [], 0, number + 1
        step.append(call)
        call.step = number
        step_end = max(step_end, call.end_ns)


def _is_concurrent(call: DraftCall, step: Sequence[DraftCall], step_end: int) -> bool:
    if call.turn >= 0 and step[-1].turn >= 0 and _conversation_of(call) == _conversation_of(step[-1]):
        return call.turn == step[-1].turn  # the result of one turn was told before the next
    return _overlaps(call, step, step_end)


def _overlaps(call: DraftCall, step: Sequence[DraftCall], step_end: int) -> bool:
    # A start cut to a whole millisecond would seem to lie before the end of the call that it followed.
    start = latest_start(call.start_ns)
    if start >= step_end:
        return False
    if call.enclosing_id is None:
        return True
    # The call that encloses this one overlaps it and is not concurrent with it. Others of the step may be.
    return any(start < other.end_ns and other.span_id != call.enclosing_id for other in step)


# --- where they do not ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What orders two calls."""

    skew_ns: int
    turns_are_ordered: bool
    wrong_clocks: frozenset[Clocks]

    def relation(self, one: DraftCall, other: DraftCall) -> Relation:
        """How ``one`` stands to ``other``."""
        # The surest evidence first: nesting and turns hold whatever the clocks say.
        if other.enclosing_id is not None and other.enclosing_id == one.span_id:
            return "before"
        if one.enclosing_id is not None and one.enclosing_id == other.span_id:
            return "after"
        if one.turn >= 0 and other.turn >= 0 and _conversation_of(one) == _conversation_of(other):
            if one.turn == other.turn:
                return "concurrent"
            if self.turns_are_ordered:
                return "before" if one.turn < other.turn else "after"
        return self._by_clocks(one, other)

    def _by_clocks(self, one: DraftCall, other: DraftCall) -> Relation:
        begun, begun_other = begin_ns(one), begin_ns(other)
        if begun == begun_other or not begun or not begun_other:
            return "unknown"
        clocks = frozenset((clock_of(one.resource), clock_of(other.resource)))
        if len(clocks) > 1 and (abs(begun - begun_other) < self.skew_ns or clocks in self.wrong_clocks):
            return "unknown"
        first, second = (one, other) if begun < begun_other else (other, one)
        if latest_start(begin_ns(second)) < _end(first):
            return "concurrent"
        if one.response >= 0 and one.response == other.response:  # one answer asked for both, or one for each by itself
            return "before_or_concurrent" if first is one else "after_or_concurrent"
        return "before" if first is one else "after"


def _compare_all(calls: list[DraftCall], comparison: _Comparison) -> list[Unordered]:
    relations = [[comparison.relation(one, other) for other in calls] for one in calls]
    before = _closure([[relation == "before" for relation in row] for row in relations])
    if any(before[at][at] for at in range(len(calls))):  # turns and clocks contradict one another
        for call in calls:
            call.step = 0
        return [Unordered(calls, ())]
    steps: list[list[int]] = []
    for at in _linear(before):
        step = [at]
        # All calls of a step are known to precede all of the next. A call in doubt against one of them makes the
        # two steps one.
        while steps and not all(before[other][at] for other in steps[-1]):
            step = steps.pop() + step
        steps.append(step)
    found = []
    for number, step in enumerate(steps):
        for at in step:
            calls[at].step = number
        pairs = [(one, other) for one in step for other in step if one != other and not before[one][other]]
        if any(relations[one][other] not in ("concurrent", "after") for one, other in pairs if not before[other][one]):
            found.append(Unordered([calls[at] for at in step], _orders(step, calls, before, relations)))
    calls[:] = [calls[at] for step in steps for at in step]
    return found


def _closure(before: list[list[bool]]) -> list[list[bool]]:
    """What follows from which call is before which."""
    # Warshall's algorithm, in place.
    for middle, after in enumerate(before):
        for row in before:
            if row[middle]:
                row[:] = [known or further for known, further in zip(row, after, strict=True)]
    return before


def _linear(before: Sequence[Sequence[bool]]) -> Iterator[int]:
    """All calls so that none comes before one that is known to be before it; else as they are listed."""
    left = list(range(len(before)))
    while left:
        at = next(at for at in left if not any(before[other][at] for other in left))
        left.remove(at)
        yield at


def _orders(
    step: Sequence[int],
    calls: Sequence[DraftCall],
    before: Sequence[Sequence[bool]],
    relations: Sequence[Sequence[Relation]],
) -> Sequence[Steps]:
    """Every order the calls of a step may have had; none where there are too many. Concurrent calls stay together."""
    units: list[list[int]] = []
    for at in step:
        together = [unit for unit in units if any(relations[at][other] == "concurrent" for other in unit)]
        units = [unit for unit in units if unit not in together]
        units.append([*(other for unit in together for other in unit), at])

    def precedes(one: Sequence[int], other: Sequence[int]) -> bool:
        return any(before[a][b] or relations[a][b] == "before_or_concurrent" for a in one for b in other)

    # One beyond the limit tells that there are too many, without making a factorial number of them.
    found = list(islice(_extensions(units, precedes), MAX_ORDERS + 1))
    if len(found) > MAX_ORDERS:
        return ()
    return [[[calls[at] for at in unit] for unit in order] for order in found]


def _extensions(
    units: Sequence[list[int]], precedes: Callable[[Sequence[int], Sequence[int]], bool]
) -> Iterator[list[list[int]]]:
    """The orders of ``units`` that contradict nothing known."""
    if not units:
        yield []
    for unit in units:
        others = [other for other in units if other is not unit]
        if not any(precedes(other, unit) for other in others):
            for rest in _extensions(others, precedes):
                yield [unit, *rest]
