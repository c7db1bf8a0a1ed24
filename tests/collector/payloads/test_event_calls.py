"""Tool calls that a span records as events."""

from __future__ import annotations

from typing import Any

from collector.payloads.event_calls import MAX_ATTRIBUTES, transcript_of_events


def test_only_so_many_attributes_of_events_are_looked_at() -> None:
    notes: dict[str, Any] = {f"note_{number}": "x" for number in range(99)}
    events = [("tool.call", {"tool_name": f"t{number}", **notes}) for number in range(MAX_ATTRIBUTES // 100 + 9)]
    calls = transcript_of_events(events).requests
    assert len(calls) == MAX_ATTRIBUTES // 100
