"""The function through which a loop of one's own calls its tools, `run_tool(name, arguments)`, where it is traced as a tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from collector.payloads.messages import tool_call_parts
from collector.payloads.values import Arguments, parse_arguments
from collector.reconstruction.drafts import DraftCall, RunSpans
from collector.reconstruction.requested_calls import RequestedCall

_BY_POSITION: Final = {"args", "kwargs"}
"""The keys of a recorded Python call, of whose parameters only some are named."""
_MAX_PARAMETERS: Final = 16
"""Of such a function; senders may make up any number, to be looked at for each call inside it."""


def values_given(arguments: Arguments) -> list[Any]:
    """Returns what a function was given, whatever it calls its parameters; of a call as a provider writes it, its parts.

    Nothing of one that has too many parameters to be the function that calls the tools.
    """
    if arguments is None:
        return []
    values = list(arguments.values())
    if arguments.keys() == _BY_POSITION:
        args, kwargs = arguments["args"], arguments["kwargs"]
        values = [*(args if isinstance(args, list) else ()), *(kwargs.values() if isinstance(kwargs, Mapping) else ())]
    if len(values) > _MAX_PARAMETERS:
        return []
    parts = tool_call_parts(arguments)
    return [*values, parts[0].name, parts[0].arguments] if len(parts) == 1 else values


def is_told_to_call(given: Sequence[object], tool: str, wanted: Arguments) -> bool:
    """Whether a function was given the name of ``tool`` and the arguments ``wanted``, which may be unknown or have defaults."""
    return tool in given and any(_are_among(value, wanted) for value in given)


def _are_among(value: object, wanted: Arguments) -> bool:
    """Whether ``value`` is an object, or one as text, of which ``wanted`` has each argument."""
    given = parse_arguments(value)[0]
    if given is None or (wanted and not given):
        return False
    return wanted is None or all(key in wanted and wanted[key] == argument for key, argument in given.items())


def without_dispatchers(calls: list[DraftCall], requested: Iterable[RequestedCall], run: RunSpans) -> list[DraftCall]:
    """Returns the calls of ``run`` without those of a function that was told to make the call inside it, where models asked for
    that tool, and never for the function: a server's tool that calls others may be the one that was asked for.
    """
    if not run.enclosing:
        return calls
    asked = {one.name for one in requested}
    around = {call.span_id: call for call in calls if call.span_id is not None and call.name not in asked}
    given: dict[bytes | None, list[Any]] = {}
    dropped: set[bytes | None] = set()
    for call in calls:
        outer = around.get(call.enclosing_id or b"")
        if outer is None or call.name not in asked:
            continue
        if outer.span_id not in given:
            given[outer.span_id] = values_given(outer.arguments)
        if not is_told_to_call(given[outer.span_id], call.name, call.arguments):
            continue
        dropped.add(outer.span_id)
        call.id, call.enclosing_id = call.id or outer.id, outer.enclosing_id
        if outer.status == "error":
            call.status, call.error_type = outer.status, call.error_type or outer.error_type
    return [call for call in calls if call.span_id not in dropped] if dropped else calls
