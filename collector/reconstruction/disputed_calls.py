"""Calls of which nothing tells whose they are, recorded by two instrumentations: each once, or in doubt.

Each of two libraries has an agent's span of its own. Where both are missing, so is what would tell that the calls below the one
are those below the other: only their ids do. Without ids it is in doubt, as two agents may have made equal calls at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from collector.model.genai_span import GenAISpan
from collector.reconstruction.drafts import RunSpans, by_start
from collector.reconstruction.duplicate_calls import call_ids, merge_records, possible_likeness
from collector.reconstruction.pairs import best_pairs
from collector.reconstruction.requested_calls import MIN_ID

_Call = list[GenAISpan]


def disputed_groups(runs: Iterable[RunSpans]) -> list[RunSpans]:
    """Returns what is in dispute between runs, each once."""
    return list({id(spans): spans for run in runs for spans in run.disputed}.values())


def merge_disputed(runs: Sequence[RunSpans], groups: Sequence[RunSpans]) -> Iterator[_Call]:
    """Merge the records of calls in ``groups``, which are in dispute between ``runs``, or note that they may be of one call.

    What an agent's run has as well is that run's. Yields the calls that were merged.
    """
    for spans in groups:  # what was merged below one missing span may be in several groups
        spans.executions = [call for call in spans.executions if call]
    holders = _Holders(runs, groups)
    if not holders.are_of_two_instrumentations():
        return
    calls = sorted(holders.calls.values(), key=lambda call: by_start(call[0]))
    for one, other in best_pairs(calls, possible_likeness, lambda call: call[0]):
        if not one or not other or not holders.are_apart(one, other):
            continue
        kept, repeated = holders.kept_first(one, other)
        if _has_proof(kept, repeated):
            holders.hand_over(kept, repeated)
            merge_records(kept, repeated)
            yield kept
        else:
            holders.doubt(repeated)
    for spans in (*runs, *groups):
        spans.executions = [call for call in spans.executions if call]
    for run in runs:
        run.disputed = [spans for spans in run.disputed if not spans.is_idle]


class _Holders:
    """Which runs and groups in dispute have which calls."""

    def __init__(self, runs: Sequence[RunSpans], groups: Sequence[RunSpans]) -> None:
        self.calls = {id(call): call for spans in (*runs, *groups) for call in spans.executions}
        self._owner = {id(call): run for run in runs for call in run.executions}
        self._groups: dict[int, list[RunSpans]] = {}
        for spans in groups:
            for call in spans.executions:
                self._groups.setdefault(id(call), []).append(spans)

    def are_of_two_instrumentations(self) -> bool:
        return len({span.instrumentation for call in self.calls.values() for span in call}) > 1

    def are_apart(self, one: _Call, other: _Call) -> bool:
        """Whether nothing has compared them yet: at least one is in dispute, and not both in one group."""
        groups, others = self._groups.get(id(one), ()), self._groups.get(id(other), ())
        return bool(groups or others) and not any(spans is another for spans in groups for another in others)

    def kept_first(self, one: _Call, other: _Call) -> tuple[_Call, _Call]:
        """Returns both, that of an agent's run first, else one in dispute: what is below no agent may be any agent's."""
        return (other, one) if self._rank(other) > self._rank(one) else (one, other)

    def _rank(self, call: _Call) -> int:
        owner = self._owner.get(id(call))
        return 1 if owner is None else 2 if owner.anchor is not None else 0

    def hand_over(self, kept: _Call, repeated: _Call) -> None:
        """Have the run of the repeated call dispute the kept one, if it is the run without an agent."""
        owner = self._owner.get(id(repeated))
        if owner is not None:
            new = [spans for spans in self._groups[id(kept)] if all(spans is not known for known in owner.disputed)]
            owner.disputed += new[:1]

    def doubt(self, repeated: _Call) -> None:
        """Note that a call may be recorded a second time."""
        owner = self._owner.get(id(repeated))
        for spans in (*self._groups.get(id(repeated), ()), *(() if owner is None else (owner,))):
            spans.repeated = {*spans.repeated, repeated[0].span_id}


def _has_proof(one: _Call, other: _Call) -> bool:
    """Whether both have an id that is no mere number of a call within its answer."""
    return any(len(call_id) >= MIN_ID for call_id in call_ids(one) & call_ids(other))
