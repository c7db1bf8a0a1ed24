"""Which runs of a trace are around its spans, and around what had a verdict as a run of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from collector.assembly.trace import Trace
from collector.model.genai_span import AGENT
from collector.reconstruction.run import Run

NO_PARTS: Final[Mapping[bytes, Sequence[bytes]]] = MappingProxyType({})
"""What `parts_of` returns for nearly all traces."""
WHOLE_TRACE: Final = b""
"""In place of an anchor: the verdict on a whole trace."""


def parts_of(trace: Trace, runs: Sequence[Run]) -> Mapping[bytes, Sequence[bytes]]:
    """Returns the anchors of what had verdicts as runs of their own and is a part of one of ``runs``, all of the trace.

    A run is anchored at its earliest span until that of its agent comes, and an agent's span may turn out to be inside another
    of the same run.
    """
    # Of spans that were dropped it is not known which were agents: these had runs of their own.
    if not trace.verdicts or trace.seen:  # nearly always
        return NO_PARTS
    anchors = {run.span_id for run in runs}
    former = [anchor for anchor in trace.verdicts if anchor not in anchors and anchor != WHOLE_TRACE]
    if not former:
        return NO_PARTS
    nearest = _nearest_runs(trace, anchors, former)
    agentless = next((anchor for anchor in anchors if not _is_agent(trace, anchor)), b"")
    found: dict[bytes, list[bytes]] = {}
    for anchor in former:
        # What no agent is around is one run, wherever that is anchored.
        whole = nearest[anchor] or (b"" if _is_agent(trace, anchor) else agentless)
        if whole:
            found.setdefault(whole, []).append(anchor)
    return found


def _is_agent(trace: Trace, anchor: bytes) -> bool:
    span = trace.spans.get(anchor)
    return span is not None and span.role is AGENT


def runs_around(keys: Iterable[bytes | int], trace: Trace, runs: Sequence[Run]) -> frozenset[bytes]:
    """Returns the anchors of the runs that these spans are part of."""
    span_ids = [key for key in keys if isinstance(key, bytes) and key]  # log records are below nothing
    nearest = _nearest_runs(trace, {run.span_id for run in runs}, span_ids)
    return frozenset([nearest[span_id] for span_id in span_ids]) - {b""}


def _nearest_runs(trace: Trace, anchors: Iterable[bytes], span_ids: Iterable[bytes]) -> Mapping[bytes, bytes]:
    """Returns for each span, and those above it, the anchor that it is or is nearest below, b"" if there is none."""
    parents, nearest = trace.parents(), {anchor: anchor for anchor in anchors}
    for span_id in span_ids:
        path, at = list[bytes](), span_id
        while at and at not in nearest:
            path.append(at)
            nearest[at] = b""  # for now, and where parents form a ring
            at = parents.get(at, b"")
        nearest.update(dict.fromkeys(path, nearest.get(at, b"")))
    return nearest
