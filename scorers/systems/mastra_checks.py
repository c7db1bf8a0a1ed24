"""Mastra's checks of tool calls (npm @mastra/evals 1.10.2): 1 or 0.

::

    calledTool     the tool ``arg`` was called at least ``times`` times (1)
    didNotCall     the tool ``arg`` was not called
    toolOrder      the tools ``arg`` were called in this order, with others allowed between them
    maxToolCalls   at most ``arg`` calls were made
    usedNoTools    no call was made
    noToolErrors   no call failed: state output-error, state call (unfinished), ``isError``, or a truthy ``error`` in its result

What is expected comes from the options only: ``expected`` is ignored, and so are arguments. An unfinished ``partial-call`` does
not count as a call, except for noToolErrors. ``toolOrder`` finds every subsequence, where ``mastra_code`` of the same package
compares first occurrences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import Field

from scorers.call_scorer import Scorer, labelled_score, make_scorer
from scorers.calls import Call
from scorers.options import Options, parse_options
from scorers.score import Score
from scorers.systems.mastra_code import called_tools

NAME = "mastra_checks"
VERSION = "@mastra/evals@1.10.2"

Check = Literal["calledTool", "didNotCall", "toolOrder", "maxToolCalls", "usedNoTools", "noToolErrors"]


class MastraChecksOptions(Options):
    """``layout`` is how the calls were grouped into messages: only ``parts``, the newer one, carries ``isError``."""

    check: Check = Field(
        description="which of calledTool, didNotCall, toolOrder, maxToolCalls, usedNoTools, noToolErrors"
    )
    arg: str | list[str] | float | None = None
    times: float | None = None
    layout: Literal["parts", "per_message"] | None = None


_ARGUMENTS: dict[Check, tuple[type | tuple[type, ...], str]] = {
    "calledTool": (str, "the name of a tool"),
    "didNotCall": (str, "the name of a tool"),
    "toolOrder": (list, "a list of names of tools"),
    "maxToolCalls": ((int, float), "a number of calls"),
    "usedNoTools": (type(None), ""),
    "noToolErrors": (type(None), ""),
}

OPTIONS: Final = MastraChecksOptions


def create(**options: Any) -> Scorer:
    """Returns the scorer of one check. Raises `ValueError` for invalid options, or an ``arg`` that the check does not take."""
    parsed = parse_options(NAME, MastraChecksOptions, options)
    kind, meaning = _ARGUMENTS[parsed.check]
    if not isinstance(parsed.arg, kind):
        raise ValueError(f"{NAME} option 'arg': {parsed.check} " + (f"needs {meaning}" if meaning else "takes none"))
    if parsed.times is not None and parsed.check != "calledTool":
        raise ValueError(f"{NAME} option 'times': only calledTool takes it")
    return make_scorer(parsed, _score, reads_expected=False, reads_arguments=False)


def _score(options: MastraChecksOptions, _expected: list[Call], actual: list[Call]) -> Score:
    # The filter by state of the same package: an unfinished call is none, except for noToolErrors below.
    tools = called_tools(actual)
    if options.check == "noToolErrors":
        failed = sum(_failed(call, with_is_error=options.layout == "parts") for call in actual)
        details: dict[str, Any] = {"errorCount": failed, "totalCalls": len(actual)}
        return _checked(failed == 0, f"{failed} of {len(actual)} calls failed", details)
    if options.check == "usedNoTools":
        return _checked(not tools, f"{len(tools)} calls were made", {"count": len(tools)})
    if options.check == "maxToolCalls":
        limit: Any = options.arg
        details = {"count": len(tools), "max": limit}
        return _checked(len(tools) <= limit, f"{len(tools)} calls were made, at most {limit:g} may be", details)
    if options.check == "toolOrder":
        return _in_order(options.arg, tools)
    return _of_one_tool(options, tools)


def _in_order(order: Any, tools: Sequence[str]) -> Score:
    found = 0
    for tool in tools:
        found += found < len(order) and tool == order[found]
    reason = f"{found} of the {len(order)} tools of the order were called one after the other"
    return _checked(found == len(order), reason, {"actualTools": list(tools), "expectedOrder": order})


def _of_one_tool(options: MastraChecksOptions, tools: Sequence[str]) -> Score:
    count = sum(tool == options.arg for tool in tools)
    reason = f"{options.arg!r} was called {count} times"
    if options.check == "didNotCall":
        return _checked(count == 0, reason, {"toolName": options.arg, "count": count})
    times = 1 if options.times is None else options.times
    details = {"toolName": options.arg, "expectedTimes": times, "actualCount": count}
    return _checked(count >= times, f"{reason} of at least {times:g}", details)


def _checked(good: bool, reason: str, details: Mapping[str, Any]) -> Score:
    return labelled_score(float(good), f"Scores {good:d}: {reason}", {**details, "passed": good})


def _failed(call: Call, *, with_is_error: bool) -> bool:
    if call.state in {"call", "output-error"} or (with_is_error and call.is_error):
        return True
    return isinstance(call.result, Mapping) and _truthy(call.result.get("error"))


def _truthy(value: Any) -> bool:
    """Truth in JavaScript: every object and array is true."""
    return isinstance(value, Mapping | list | tuple) or bool(value)
