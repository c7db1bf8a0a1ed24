"""A pattern as the flat list of expected calls that published scorers take.

Optional, alternative, repeated or unordered elements have no single list. The list used is that of the alignment closest
to the run: the branches taken and the repetitions made, in the order they were made, or listed if they ran concurrently.
Arguments that are all literals are used as they are. If matchers are among them, a call that satisfies all, even out of order,
lends its own arguments, but for values that are masked, if the matchers need these. Where none does, a text that no call has
stands for each matcher: most published scorers take an expectation without arguments for any arguments at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from pydantic import BaseModel

from scorers.conformance.diagnosis import Diagnosis
from scorers.conformance.pattern import Pattern
from scorers.rules.masks import with_filled_masks
from scorers.rules.matchers import Exact, Ignore
from scorers.rules.model import Tool
from scorers.rules.names import format_name, is_exact
from scorers.trajectory import ToolCall, Trajectory
from scorers.work import Work

PlainCall = dict[str, Any]


def check_flattening(pattern: Pattern | None) -> None:
    """Raises ValueError if there is no pattern, or if one of its tools has no exact name."""
    if pattern is None:
        raise ValueError("it compares with a list of expected calls, and this rule has no pattern")
    # Published scorers compare names as texts: a glob would match only a call that is named like the glob.
    inexact = [tool.tool for tool in pattern.tools if not is_exact(tool.tool)]
    if inexact:
        raise ValueError(
            f"it compares with a list of expected calls, and {format_name(inexact[0])} is not an exact name: list the tools "
            "with one_of, or score this rule with trajectory only"
        )


def expected_calls(pattern: Pattern, diagnosis: Diagnosis, trajectory: Trajectory, work: Work) -> list[PlainCall]:
    """Returns the expected calls of the alignment closest to the run. Raises WorkLimitError."""
    calls, expected = trajectory.calls, []
    unmet = _text_of_no_call(calls)
    for at, tool in enumerate(diagnosis.expected):
        fitting = diagnosis.fitting(at)
        call = None if fitting is None else calls[fitting]
        lent = None if call is None else call.arguments
        if call is not None and fitting is not None and not diagnosis.calls[fitting].definitely >> tool & 1:
            # What nobody could read, or a mask, does not satisfy a matcher.
            call = None if call.arguments_text is not None else call
            lent = None if lent is None else with_filled_masks(lent, (), unmet, work)
        expected.append(_expected(pattern.tools[tool], lent, unmet, is_met=call is not None))
    return expected


def actual_calls(trajectory: Trajectory, indexes: Sequence[int]) -> list[PlainCall]:
    """Returns the calls at these indexes. Arguments that were not captured are left out."""
    return [_actual(trajectory.calls[index]) for index in indexes]


def _expected(tool: Tool, lent: Mapping[str, Any] | None, unmet: str, *, is_met: bool) -> PlainCall:
    """Returns the expected call, with the arguments of the one that satisfies it; if none does, ``unmet`` for its matchers."""
    flat: PlainCall = {"tool": tool.tool}
    if tool.arguments is None:
        return flat
    # A scorer that compares whole argument objects would fail on a part of them: so either all literals or the call's own.
    if is_met and any(map(_is_matcher, tool.arguments.values())):
        return flat | _arguments(lent)
    args = {
        key: unmet if _is_matcher(value) else value.exact if isinstance(value, Exact) else value
        for key, value in tool.arguments.items()
        if not isinstance(value, Ignore)
    }
    return flat | {"args": args}


def _is_matcher(value: Any) -> bool:
    return isinstance(value, BaseModel) and not isinstance(value, Exact)


def _text_of_no_call(calls: Sequence[ToolCall]) -> str:
    # Looked for, since an agent that knows the text could send it.
    given = {value for call in calls for value in (call.arguments or {}).values() if isinstance(value, str)}
    return next(text for number in count() if (text := f"∅{number or ''}") not in given)


def _actual(call: ToolCall) -> PlainCall:
    failed = call.status == "error"
    state = "output-error" if failed else "result"
    return {"tool": call.name, "state": state, "success": not failed} | _arguments(call.arguments)


def _arguments(arguments: Mapping[str, Any] | None) -> PlainCall:
    return {} if arguments is None else {"args": dict(arguments)}
