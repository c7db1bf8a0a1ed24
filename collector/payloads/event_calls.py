"""Tool calls that a span records as events, in the words of any tracer: one event for a call, perhaps one for its result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from collector.payloads.attribute_shapes import Values, first_line, says_failure, values_by_meaning, words_of
from collector.payloads.tool_arguments import arguments_among

MAX_ATTRIBUTES: Final = 5_000
"""Attributes that are looked at of the events that record the calls of one span. Events beyond it are not read."""

_NOUN: Final = r"(?:call|use|invocation|execution|invoke|execute|run)"
# `tool.call`, `gen_ai.tool.call`, `tool_use`, `tool.execution_start`, `execute_tool`
_CALL: Final = re.compile(
    rf"(?:^|_)(?:(?:tool|function)_{_NOUN}(?:_(?:start|started|begin|requested))?|(?:tool|function)_(?:start|started)"
    r"|(?:call|execute|run|invoke)_tool)$"
)
# `tool.result`, `tool.call.end`, `tool_error`
_RESULT: Final = re.compile(
    rf"(?:^|_)(?:tool|function)_(?:{_NOUN}_)?(?:results?|outputs?|response|end|ended|completed?|finish|finished|error|failed)$"
)
_ONE_NAME: Final = re.compile(r"[^\s,;]+")


def transcript_of_events(events: Iterable[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Returns the calls and their results as messages of a conversation; empty if no event records a call of a named tool.

    An event of a call is taken for its execution: where no event tells its result, it is one without content.
    """
    messages: list[dict[str, Any]] = []
    left = MAX_ATTRIBUTES
    open_calls: list[tuple[str, str | None, dict[str, Any]]] = []  # tool, id, and the message with its result
    for name, attributes in events:
        words = words_of(name)
        is_call = _CALL.search(words) is not None
        if not is_call and _RESULT.search(words) is None:
            continue
        left -= len(attributes)
        if left < 0:
            break
        values = values_by_meaning(attributes)
        tool, call_id = first_line(values.get("tool_name", ())), first_line(values.get("call_id", ()))
        if not is_call:
            same = (call for call in open_calls if tool in (None, call[0]) and call_id in (None, call[1]))
            found = next(same, None)
            if found is not None:
                open_calls.remove(found)
                found[2].update(_result(found[1], values))
        elif tool is not None and _ONE_NAME.fullmatch(tool):
            open_calls.append((tool, call_id, _result(call_id, values)))
            messages += [_request(call_id, tool, values), open_calls[-1][2]]
    return messages


def _request(call_id: str | None, tool: str, values: Values) -> dict[str, Any]:
    function = {"name": tool, "arguments": arguments_among(values.get("input", ()), tool)}
    return {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]}


def _result(call_id: str | None, values: Values) -> dict[str, Any]:
    content = next(iter(values.get("output", ())), "")
    return {"role": "tool", "tool_call_id": call_id, "content": content, "is_error": says_failure(values)}
