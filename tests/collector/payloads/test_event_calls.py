"""Tool calls that a span records as events."""

from __future__ import annotations

from typing import Any

import pytest

from collector.payloads.event_calls import MAX_ATTRIBUTES, transcript_of_events


def test_only_so_many_attributes_of_events_are_looked_at() -> None:
    notes: dict[str, Any] = {f"note_{number}": "x" for number in range(99)}
    events = [("tool.call", {"tool_name": f"t{number}", **notes}) for number in range(MAX_ATTRIBUTES // 100 + 9)]
    calls = transcript_of_events(events).requests
    assert len(calls) == MAX_ATTRIBUTES // 100


@pytest.mark.parametrize(
    ("name", "content", "is_error"),
    [
        ("tool.completed", "", False),
        ("tool.failed", "", True),
        ("tool.rejected", "Tool call rejected", True),
        ("tool_denied", "Tool call denied", True),
    ],
)
def test_the_name_of_an_event_may_tell_what_came_of_a_call(name: str, content: str, is_error: bool) -> None:
    requested = ("tool.requested", {"tool": "pay", "arguments": '{"sum": 5}', "id": "c1"})
    found = transcript_of_events([requested, (name, {"tool": "pay", "id": "c1", "reason": "no"})])
    result = {"role": "tool", "tool_call_id": "c1", "content": content, "is_error": is_error}
    assert (found.has_results, found.messages[-1]) == (True, result)
