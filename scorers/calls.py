"""Tool calls as the published scorers take them: a name, perhaps arguments, and what a few of them also read.

A call is an object ``{"tool": str, "args"?: any JSON value, "state"?: str, "output"?: any JSON value}``; other keys are
ignored. ``args`` left out is `ABSENT`: no arguments at all, which JavaScript's systems tell from JSON's null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
"""No value was given, not even null: JavaScript's undefined."""


class Call(NamedTuple):
    """One call; ``args`` is a JSON value or `ABSENT`."""

    tool: str
    args: Any = ABSENT
    state: str | None = None
    output: Any = None


def read_calls(calls: Sequence[Mapping[str, Any]], side: str) -> list[Call]:
    """Read one side's calls. Raises `TypeError` naming ``side`` and the place of what is no call."""
    if not isinstance(calls, list | tuple):
        raise TypeError(f"{side} must be a list of calls, got {type(calls).__name__}")
    read = []
    for index, call in enumerate(calls):
        if not isinstance(call, Mapping) or not isinstance(call.get("tool"), str):
            raise TypeError(f"{side}[{index}] must be an object with a string 'tool'")
        read.append(Call(call["tool"], call.get("args", ABSENT), call.get("state"), call.get("output")))
    return read


def arguments(call: Call) -> Mapping[str, Any]:
    """The arguments as an object; absent and null are the empty one. Raises `TypeError` for any other value."""
    return optional_arguments(call) or {}


def optional_arguments(call: Call) -> Mapping[str, Any] | None:
    """The arguments as an object, None where absent or null. Raises `TypeError` for any other value."""
    if call.args is ABSENT or call.args is None:
        return None
    if not isinstance(call.args, Mapping):
        raise TypeError(f"the arguments of {call.tool!r} must be an object, got {type(call.args).__name__}")
    return call.args


def names(calls: Sequence[Call]) -> list[str]:
    """The tool names, in order."""
    return [call.tool for call in calls]
