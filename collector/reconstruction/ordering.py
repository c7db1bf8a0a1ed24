"""Calls of one run -> calls in order, with steps.

By start time. Calls of one step ran concurrently: their intervals overlap, or one model answer asked for them all. A tie
is broken by the place in the model's answers, never by when a span arrived: exporters send spans as they end.
Across hosts, starts closer than the skew tolerance order nothing, unless the model's turns do: those calls share a step
that is *unsure*.
"""

from __future__ import annotations

from collector.model import semconv
from collector.model.span import Resource
from collector.reconstruction.drafts import DraftCall, latest_start


def arrange(calls: list[DraftCall], skew_ns: int) -> frozenset[int]:
    """Sort ``calls`` in place and set their steps; the answer is the unsure steps."""
    calls.sort(key=_start)
    unsure: list[int] = []
    step: list[DraftCall] = []
    step_end = number = 0
    for call in calls:
        if step:
            previous = step[-1]
            if call.turn != previous.turn or call.turn < 0:
                unclear = call.resource is not previous.resource and _is_unclear(previous, call, skew_ns)
                if unclear:
                    unsure.append(number)
                elif not _overlaps(call, step, step_end):
                    step, step_end, number = [], 0, number + 1
        step.append(call)
        call.step = number
        step_end = max(step_end, call.end_ns)
    return frozenset(unsure)


def _start(call: DraftCall) -> tuple[int, int, int, bytes]:
    return call.start_ns, call.turn, call.position, call.span_id or b""


def _overlaps(call: DraftCall, step: list[DraftCall], step_end: int) -> bool:
    start = call.start_ns
    if start == step[-1].start_ns and (call.turn < 0 or step[-1].turn < 0) and call.outer_id != step[-1].span_id:
        return True  # a tie that nothing breaks
    start = latest_start(start)
    if start >= step_end:
        return False
    if call.outer_id is None:
        return True
    return any(start < other.end_ns and other.span_id != call.outer_id for other in step)


def _is_unclear(before: DraftCall, after: DraftCall, skew_ns: int) -> bool:
    if (
        after.start_ns - before.start_ns >= skew_ns
        or (before.turn >= 0 and after.turn >= 0)
        or after.outer_id == before.span_id
    ):
        return False
    return _clock(before.resource) != _clock(after.resource)


def _clock(resource: Resource | None) -> object:
    attributes = {} if resource is None else resource.attributes
    return next((attributes[name] for name in semconv.HOST_NAMES if name in attributes), None)
