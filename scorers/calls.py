"""Tool calls as the published scorers take them: a name, optional arguments, and what a few scorers also read.

A call is an object ``{"tool": str, "args"?, "state"?, "output"?, "isError"?, "success"?, "result"?}``; ``args``, ``output``
and ``result`` are any JSON values, and other keys are ignored. Missing ``args`` are `ABSENT`, which systems written in
JavaScript distinguish from null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
"""No value, not even null: JavaScript's undefined."""


class Call(NamedTuple):
    """One call; ``args`` is a JSON value or `ABSENT`."""

    tool: str
    args: Any = ABSENT
    state: str | None = None
    output: Any = None
    is_error: bool = False
    success: bool | None = None
    result: Any = None


def parse_calls(calls: Sequence[Mapping[str, Any]], side: str) -> list[Call]:
    """Parse the calls of one side. Raises `TypeError` naming ``side`` and the index of what is not a call."""
    if not isinstance(calls, list | tuple):
        raise TypeError(f"{side} must be a list of calls, got {type(calls).__name__}")
    parsed = []
    for index, call in enumerate(calls):
        if not isinstance(call, Mapping) or not isinstance(call.get("tool"), str):
            raise TypeError(f"{side}[{index}] must be an object with a string 'tool'")
        parsed.append(
            Call(
                call["tool"],
                call.get("args", ABSENT),
                call.get("state"),
                call.get("output"),
                call.get("isError") is True,
                call.get("success"),
                call.get("result"),
            )
        )
    return parsed


def arguments(call: Call) -> Mapping[str, Any]:
    """The arguments as an object, empty if absent or null. Raises `TypeError` for any other value."""
    return optional_arguments(call) or {}


def optional_arguments(call: Call) -> Mapping[str, Any] | None:
    """The arguments as an object, None if absent or null. Raises `TypeError` for any other value."""
    # Null counts as absent here; systems that tell the two apart read `args` themselves.
    if call.args is ABSENT or call.args is None:
        return None
    if not isinstance(call.args, Mapping):
        raise TypeError(f"the arguments of {call.tool!r} must be an object, got {type(call.args).__name__}")
    return call.args


def failed(call: Call) -> bool:
    """Whether the call is known to have failed."""
    return call.is_error or call.state == "output-error" or call.success is False


def names(calls: Sequence[Call]) -> list[str]:
    """The tool names, in order."""
    return [call.tool for call in calls]
