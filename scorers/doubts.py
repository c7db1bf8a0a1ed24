"""What a run's evidence leaves open, and the trajectories it allows.

A run is what was recorded of it, and recordings have holes: spans are lost, content is not captured, two clocks disagree.
A hole that could change a verdict is a *doubt*. A verdict is ``pass`` or ``fail`` only where every run that the evidence
allows would get it; else the doubts say why there is none.

======================  ============  ==========================================================================
doubt                   allows        meaning
======================  ============  ==========================================================================
missing_span            more calls    spans arrived whose parent, of this process, did not
missing_anchor          more calls    neither the agent's span nor the root arrived: the run may be cut off
unrecorded_calls        more calls    a model asked for tools, and nothing tells which
nothing_recorded        more calls    neither tool spans nor readable messages: nothing tells what was called
truncated               more calls    a limit or a shutdown left spans out, or did not let those on their way arrive
other_traces            more calls    the agent goes on in other traces of its conversation, which alone is whole
torn_trace              more calls    it began before the process could see it: its first spans may be elsewhere
refused_spans           more calls    spans were refused, or sent to a process that was down or stood still, and not sent again
unconfirmed_reading     more calls,   its spans are in unknown words, and nothing else bears out what was read of them
                        not these
uncertain_execution     the opposite  nothing tells for sure whether these calls ran
uncertain_owner         not these     calls below a span that is missing or their caller's: of this run or of another
uncertain_duplicate     not these     calls that may be other calls of the run, recorded a second time
uncertain_order         other orders  calls that neither turns nor clocks put into order
unobserved_results      failures      nothing tells whether these calls failed
unreadable_arguments    no pass       arguments that were recorded, constrained by the rule, and too long, deep or damaged
unobserved_arguments    -             a rule constrains arguments that were not captured: they matched by name alone
missing_step            -             as missing_span; but by its messages the run made no further call
missing_remote_parent   -             the caller, in another process, sent no span: its route or tenant is unknown
unknown_route           no verdict    a missing span of this process may carry the route or intent that selects the rule
======================  ============  ==========================================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final, Literal

from scorers.quoting import shorten
from scorers.score import Score
from scorers.trajectory import Doubt, DoubtName, Order, Status, ToolCall, Trajectory
from scorers.work import Work

MAX_ALTERNATIVES: Final = 128
"""How many trajectories are tried for one run; where the evidence allows more, nothing is decided."""
MORE_CALLS: Final = frozenset({
    "missing_span", "missing_anchor", "unrecorded_calls", "nothing_recorded", "truncated", "other_traces", "torn_trace",
    "refused_spans", "unconfirmed_reading",
})  # fmt: skip
"""Doubts that allow any number of further calls; `unconfirmed_reading` also that its calls are none."""
_EITHER_WAY: Final = frozenset({
    "uncertain_execution", "uncertain_owner", "uncertain_duplicate", "unconfirmed_reading", "unobserved_results",
})  # fmt: skip
_EXISTENCE: Final = _EITHER_WAY - {"unobserved_results"}
DECIDING: Final[frozenset[str]] = MORE_CALLS | _EITHER_WAY | {"uncertain_order", "unreadable_arguments"}
"""Doubts that can leave a run undecided."""
_MAX_SENTENCES: Final = 3
_ALTERNATIVE_COST: Final = 25  # for each call


def is_open(doubts: Iterable[Doubt]) -> bool:
    """Whether the run may have made calls that nobody recorded."""
    return any(doubt.name in MORE_CALLS for doubt in doubts)


def decide(
    trajectory: Trajectory,
    score: Callable[[Trajectory], Score],
    is_final: Callable[[Trajectory, Score], bool],
    work: Work,
    immaterial: Collection[DoubtName] = (),
    *,
    collapses_retries: bool = False,
    tells_failures_apart: bool = False,
) -> Score:
    """The score of a run with doubts: labelled as every run that they allow would be, else undecided.

    ``is_final`` tells whether a label would stand whatever further calls were made. ``immaterial`` are doubts of which
    ``score`` looks at nothing. With ``collapses_retries`` it does not count a failed call that was retried; with
    ``tells_failures_apart`` it may matter to it which calls failed. The value is that of the calls as recorded. Raises
    WorkLimitError, as ``score`` and ``is_final`` may.
    """
    # The calls as recorded are scored first: their value is reported whatever the label, and no doubt decides
    # what is an error, or undecided by itself.
    recorded = score(trajectory)
    # Immaterial ones are dropped before they are tried: they would multiply the alternatives for nothing, and may exceed
    # their limit, which would leave the run undecided.
    doubts = [doubt for doubt in trajectory.doubts if doubt.name in DECIDING and doubt.name not in immaterial]
    if recorded.label not in ("pass", "fail"):
        return recorded
    if not doubts:
        return without_pass(trajectory, recorded, doubts)
    tried = doubts
    if collapses_retries or tells_failures_apart:
        calls = trajectory.calls
        tried = [part for doubt in doubts for part in _attempts(doubt, calls, each=tells_failures_apart)]
    possible = alternatives(replace(trajectory, doubts=tried))
    if possible is None:
        work.spend(_ALTERNATIVE_COST * (1 + len(trajectory.calls)), "the doubts of the run")
        least = _in_all_readings(trajectory, doubts, collapses_retries=collapses_retries)
        found = score(least)
        if recorded.label == found.label == "fail" and is_final(least, found):
            return recorded
        return undecided(recorded, "ambiguous", ["its calls can be read in more ways than are tried"])
    may_be_more = is_open(doubts)
    for other in possible:
        work.spend(_ALTERNATIVE_COST * (1 + len(trajectory.calls)), "the doubts of the run")
        found = score(other)
        if found.label != recorded.label or (may_be_more and not is_final(other, found)):
            only_order = all(doubt.name == "uncertain_order" for doubt in doubts)
            sentences = list(dict.fromkeys(doubt.sentence or doubt.name for doubt in doubts))
            return undecided(recorded, "ambiguous" if only_order else "incomplete", sentences)
    return without_pass(trajectory, recorded, doubts)


def without_pass(trajectory: Trajectory, score: Score, doubts: Iterable[Doubt] = ()) -> Score:
    """Returns the score, undecided if it is a pass for which unreadable or masked arguments were taken on trust.

    Whoever makes them so would evade every rule about arguments.
    """
    if score.label == "pass":
        trusted = set(score.details.get("unobserved", ()))
        unread = [d for d in doubts if d.name == "unreadable_arguments" and not trusted.isdisjoint(d.calls)]
        sentences = [doubt.sentence or doubt.name for doubt in unread]
        # Arguments that were captured and yet not observed have a value that is masked.
        masked = [call for at, call in enumerate(trajectory.calls) if at in trusted and call.arguments is not None]
        sentences += [f"{shorten(call.name)}: a value of its arguments is masked" for call in masked]
        if sentences:
            return undecided(score, "incomplete", sentences)
    return score


def sure_calls(trajectory: Trajectory) -> frozenset[int]:
    """The calls, by index, that every run has which the doubts allow."""
    doubtful = {at for doubt in trajectory.doubts if doubt.name in _EXISTENCE for at in doubt.calls}
    return frozenset(range(len(trajectory.calls))) - doubtful


def _in_all_readings(trajectory: Trajectory, doubts: Iterable[Doubt], *, collapses_retries: bool) -> Trajectory:
    """Returns a run of which each reading has all calls: what these break whatever further ones were made is broken in each."""
    sure = sure_calls(trajectory)
    unobserved = {at for doubt in doubts if doubt.name == "unobserved_results" for at in doubt.calls}
    # Whichever breaks less: a failure counts, but where retries collapse a failed call may not.
    status: Status = "error" if collapses_retries else "unset"
    calls = enumerate(trajectory.calls)
    kept = [replace(call, status=status) if at in unobserved else call for at, call in calls if at in sure]
    return replace(trajectory, calls=kept, doubts=())


def undecided(score: Score, label: Literal["ambiguous", "incomplete"], sentences: Sequence[str]) -> Score:
    """Returns the score without its verdict; the sentences say what leaves it open."""
    shown = [*sentences[:_MAX_SENTENCES], *(["..."] if len(sentences) > _MAX_SENTENCES else [])]
    return replace(score, label=label, explanation=f"{score.explanation}; {label}: {'; '.join(shown)}")


def _attempts(doubt: Doubt, calls: Sequence[ToolCall], *, each: bool) -> list[Doubt]:
    """Returns a doubt of results in parts: ``each`` call alone, or else each that may be an attempt or its retry."""
    if doubt.name != "unobserved_results":
        return [doubt]
    times = Counter([call.name for call in calls])
    alone = [(at,) for at in doubt.calls if each or times[calls[at].name] > 1]
    together = tuple([at for at in doubt.calls if not each and times[calls[at].name] == 1])
    return [doubt._replace(calls=part) for part in (*alone, together) if part]


def alternatives(trajectory: Trajectory) -> Iterator[Trajectory] | None:
    """The trajectories that the doubts allow, without doubts of their own; None where there are too many to try.

    What a doubt says of several calls holds for all of them or for none. For results that suffices where only their number
    matters: what is broken neither by no failure nor by all of them is broken by none of the numbers between.
    """
    either_way = [doubt for doubt in trajectory.doubts if doubt.name in _EITHER_WAY]
    unordered = [doubt.orders for doubt in trajectory.doubts if doubt.name == "uncertain_order"]
    # 0 where a doubt lists no orders: there were too many to list. Counted, since making them would be the cost.
    if not 0 < prod([2 ** len(either_way), *map(len, unordered)]) <= MAX_ALTERNATIVES:
        return None
    return _alternatives(trajectory, either_way, unordered)


def _alternatives(
    trajectory: Trajectory, either_way: Sequence[Doubt], unordered: Sequence[Sequence[Order]]
) -> Iterator[Trajectory]:
    for as_recorded in product((True, False), repeat=len(either_way)):
        calls: list[ToolCall | None] = list(trajectory.calls)
        for doubt, same in zip(either_way, as_recorded, strict=True):
            for at in doubt.calls:
                # All calls of a doubt at once: one cause settles them all. A call that is left out keeps its place
                # until the calls are ordered: orders name calls by index.
                call = calls[at]
                calls[at] = None if call is None else _possible(call, doubt.name, as_recorded=same)
        for orders in product(*unordered):
            yield _arranged(trajectory, calls, orders)


def _possible(call: ToolCall, doubt: DoubtName, *, as_recorded: bool) -> ToolCall | None:
    """Returns the call as recorded, or as it may have been instead; None if it may not have been."""
    if doubt == "unobserved_results":
        # Not what was recorded or its opposite: of several calls either may be neither no failure nor all of them.
        return replace(call, status="unset" if as_recorded else "error")
    if as_recorded:
        return call
    return replace(call, executed=not call.executed) if doubt == "uncertain_execution" else None


def _arranged(trajectory: Trajectory, calls: Sequence[ToolCall | None], orders: Iterable[Order]) -> Trajectory:
    places = [(call.step, 0) for call in trajectory.calls]
    for order in orders:
        for rank, together in enumerate(order):
            for at in together:
                places[at] = (trajectory.calls[at].step, rank)
    # A step that is split into ranks moves all later steps, so all are numbered anew.
    step_of = {place: step for step, place in enumerate(sorted(set(places)))}
    listed = sorted(range(len(places)), key=places.__getitem__)
    kept = [_at(step_of[places[at]], call) for at in listed if (call := calls[at]) is not None]
    return replace(trajectory, calls=kept, doubts=())


def _at(step: int, call: ToolCall) -> ToolCall:
    return call if call.step == step else replace(call, step=step)
