"""Orders the calls of one run and groups concurrent ones into steps.

Calls are ordered by start. Calls of one step ran concurrently: their intervals overlap, or one model response requested
them all. Ties are broken by the position in the model's responses, never by arrival: exporters send spans as they end.
Between hosts, starts closer than the clock skew have no order, unless the model's turns give one: such calls share a
step that is *unsure*.
"""

from __future__ import annotations

from collector.model import semconv
from collector.model.span import Resource
from collector.reconstruction.drafts import DraftCall, latest_start


def assign_steps(calls: list[DraftCall], skew_ns: int) -> frozenset[int]:
    """Sort ``calls`` in place and set their steps; returns the unsure steps."""
    calls.sort(key=_start)
    unsure: list[int] = []
    step: list[DraftCall] = []
    step_end = number = 0
    for call in calls:
        if step:
            previous = step[-1]
            if call.turn != previous.turn or call.turn < 0:
                if call.resource is not previous.resource and _is_order_unknown(previous, call, skew_ns):
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
    if start == step[-1].start_ns and (call.turn < 0 or step[-1].turn < 0) and call.enclosing_id != step[-1].span_id:
        return True  # equal starts, and nothing to order them by
    start = latest_start(start)
    if start >= step_end:
        return False
    if call.enclosing_id is None:
        return True
    return any(start < other.end_ns and other.span_id != call.enclosing_id for other in step)


def _is_order_unknown(before: DraftCall, after: DraftCall, skew_ns: int) -> bool:
    if (
        after.start_ns - before.start_ns >= skew_ns
        or (before.turn >= 0 and after.turn >= 0)
        or after.enclosing_id == before.span_id
    ):
        return False
    return _clock(before.resource) != _clock(after.resource)


def _clock(resource: Resource | None) -> object:
    attributes = {} if resource is None else resource.attributes
    return next((attributes[name] for name in semconv.HOST_NAMES if name in attributes), None)
