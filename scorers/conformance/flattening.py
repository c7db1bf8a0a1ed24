"""A pattern as the flat list of expected calls that published scorers take.

What is optional, alternative, repeated or unordered in a pattern has no one list; so the list is that of the reading
closest to the run, from the optimal alignment: the branch taken, the repetitions made, in the order they were made.
Arguments that are all literals stand as they are. Where a matcher is among them, a call that satisfies it lends its own
arguments, and a missing call has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from scorers.conformance.diagnosis import Diagnosis
from scorers.conformance.pattern import Pattern
from scorers.rules.matchers import Exact
from scorers.rules.model import Tool
from scorers.rules.names import is_exact, show_name
from scorers.trajectory import ToolCall, Trajectory

Plain = dict[str, Any]


def check_flattening(pattern: Pattern | None) -> None:
    """Raise ValueError where the pattern can have no list of calls: there is none, or a tool has no one name."""
    if pattern is None:
        raise ValueError("it compares with a list of expected calls, and this rule expects no particular ones")
    vague = [tool.tool for tool in pattern.tools if not is_exact(tool.tool)]
    if vague:
        raise ValueError(
            f"it compares with a list of expected calls, in which {show_name(vague[0])} has no one name: write the tools "
            "out with one_of, or score this rule by trajectory alone"
        )


def expected_calls(pattern: Pattern, reading: Diagnosis, trajectory: Trajectory) -> list[Plain]:
    """The expected calls of the reading closest to the run."""
    return [
        _expected(pattern.tools[tool], None if place is None else trajectory.calls[place])
        for tool, place in reading.pairs
    ]


def made_calls(trajectory: Trajectory, places: Sequence[int]) -> list[Plain]:
    """The calls at these places. Arguments nobody captured are left out."""
    return [_made(trajectory.calls[place]) for place in places]


def _expected(tool: Tool, call: ToolCall | None) -> Plain:
    flat: Plain = {"tool": tool.tool}
    if tool.arguments is None:
        return flat
    # Half a set of arguments would be a wrong one to a scorer that compares them whole: so all of them, or the call's own.
    if not any(isinstance(value, BaseModel) and not isinstance(value, Exact) for value in tool.arguments.values()):
        return flat | {"args": {key: _literal(value) for key, value in tool.arguments.items()}}
    return flat | _arguments(call.arguments) if call else flat


def _literal(value: Any) -> Any:
    return value.exact if isinstance(value, Exact) else value


def _made(call: ToolCall) -> Plain:
    return {"tool": call.name, "isError": call.status == "error"} | _arguments(call.arguments)


def _arguments(arguments: Mapping[str, Any] | None) -> Plain:
    return {} if arguments is None else {"args": dict(arguments)}
