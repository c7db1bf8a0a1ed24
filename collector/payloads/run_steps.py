"""The tool calls of a run that a service made, from the list of its steps: Azure's agents run there, and their client asks.

Each step that called tools is an event of the span that lists them. The event has a time in whole seconds and what became of
the step; its content names the calls, unless content is not captured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from collector.payloads.values import name_of, parse_any

EVENT: Final = "gen_ai.run_step.tool_calls"
STATUS: Final = "gen_ai.run_step.status"
START: Final = "gen_ai.run_step.start.timestamp"
MAX_STEPS: Final = 1_000
"""How many steps of one list are read."""

_DECLARED: Final = frozenset({"function", "openapi", "mcp"})
"""Types of tools that have names of their own. The others are the service's, and are called as their type is."""


class RunSteps(NamedTuple):
    """What a list of steps tells."""

    messages: list[dict[str, Any]]
    """The calls and what became of them as messages of a conversation, oldest first."""
    is_whole: bool
    """Whether every call is named, and has ended."""


def run_steps(events: Iterable[tuple[str, Mapping[str, Any]]], content: str) -> RunSteps:
    """Returns what the steps in ``events`` called. ``content`` is the attribute that holds an event's body as JSON."""
    steps: list[tuple[float, list[dict[str, Any]]]] = []
    is_whole = True
    for name, attributes in events:
        if name != EVENT:
            continue
        if len(steps) >= MAX_STEPS:
            return RunSteps(_in_order(steps), is_whole=False)
        body = parse_any(attributes.get(content))
        listed = body.get("tool_calls") if isinstance(body, Mapping) else None
        calls = [_call(call) for call in listed] if isinstance(listed, list) else []
        named = [call for call in calls if call is not None]
        status = attributes.get(STATUS)
        has_ended = status in ("completed", "failed")
        is_whole &= bool(calls) and len(named) == len(calls) and has_ended
        start = attributes.get(START)
        seconds = float(start) if isinstance(start, (int, float)) else 0.0
        if named and has_ended:
            steps.append((seconds, _exchange(named, failed=status == "failed")))
    return RunSteps(_in_order(steps), is_whole)


def _call(call: object) -> dict[str, Any] | None:
    """Returns a call as a part of a model's message; None if nothing names its tool."""
    if not isinstance(call, Mapping):
        return None
    kind = name_of(call.get("type"))
    details = call.get("function") or call.get(kind)
    details = details if isinstance(details, Mapping) else {}
    name = name_of(details.get("name")) or (None if kind in _DECLARED else kind)
    if name is None:
        return None
    function = {"name": name, "arguments": details.get("arguments")}
    return {"id": name_of(call.get("id")), "type": "function", "function": function}


def _exchange(calls: list[dict[str, Any]], *, failed: bool) -> list[dict[str, Any]]:
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "", "is_error": failed} for call in calls]
    return [{"role": "assistant", "tool_calls": calls}, *results]


def _in_order(steps: list[tuple[float, list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    """Returns the messages of the steps, the oldest first: the service lists the newest first unless it is asked otherwise."""
    # Several steps of one second are common, so the direction of the list orders them, and not the times alone.
    if steps and steps[0][0] >= steps[-1][0]:
        steps.reverse()
    return [message for _, messages in steps for message in messages]
