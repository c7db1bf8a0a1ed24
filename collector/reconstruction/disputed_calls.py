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
            holders.share(kept, repeated)
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
        """Returns both, that of a run first."""
        return (other, one) if id(other) in self._owner and id(one) not in self._owner else (one, other)

    def share(self, kept: _Call, repeated: _Call) -> None:
        """Leave a call in dispute that is of the run without an agent, too: what is below no agent may be any agent's."""
        owner = self._owner.get(id(kept))
        if owner is not None and owner.anchor is None:
            for spans in self._groups.pop(id(repeated), ()):
                spans.executions.append(kept)
                self._groups.setdefault(id(kept), []).append(spans)

    def doubt(self, repeated: _Call) -> None:
        """Note that a call in dispute may be recorded a second time."""
        for spans in self._groups.get(id(repeated), ()):
            spans.repeated = {*spans.repeated, repeated[0].span_id}


def _has_proof(one: _Call, other: _Call) -> bool:
    """Whether both have an id that is no mere number of a call within its answer."""
    return any(len(call_id) >= MIN_ID for call_id in call_ids(one) & call_ids(other))
