"""Tool calls that a span records as events, in the words of any tracer: one event for a call, perhaps one for its result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from collector.payloads.attribute_objects import ONE_NAME
from collector.payloads.attribute_shapes import Values, first_line, values_by_meaning, words_of
from collector.payloads.identified_calls import is_call_id, with_identified_call
from collector.payloads.outcomes import says_failure
from collector.payloads.tool_arguments import arguments_among

MAX_ATTRIBUTES: Final = 5_000
"""Attributes that are looked at of the events that record the calls of one span. Events beyond it are not read."""

_NOUN: Final = r"(?:call|use|invocation|execution|invoke|execute|run)"
# `tool.call`, `gen_ai.tool.call`, `tool_use`, `tool.execution_start`, `execute_tool`
_CALL: Final = re.compile(
    rf"(?:^|_)(?:(?:tool|function)_{_NOUN}(?:_(?:start|started|begin|requested))?|(?:tool|function)_(?:start|started|begin|called|requested|invoked)"
    r"|(?:call|execute|run|invoke|calling|executing|running|invoking)_(?:tool|function)|^tool)$"
)
# `tool.result`, `tool.call.end`, `tool_error`, `tool.rejected`
_RESULT: Final = re.compile(
    rf"(?:^|_)(?:tool|function)_(?:{_NOUN}_)?(?:results?|outputs?|response|end|ended|completed?|finish|finished|done|success|succeeded"
    r"|returned|error|errored|raised|fail|failed|crashed"
    r"|rejected|denied|refused|unknown|not_found)$"
    r"|^(?:results?|outputs?|error)_(?:tool|function)$"  # where the noun comes first: `retour_outil`
)
_REFUSED: Final = re.compile(r"_(rejected|denied|refused|unknown|not_found)$")
_FAILED: Final = re.compile(r"_(?:error|errored|raised|fail|failed|crashed)$|^error_")
_REFUSAL: Final = {"unknown": "unknown tool", "not_found": "tool not found"}
_STARTED: Final = re.compile(r"_(?:start|started|begin)$")


class Transcript(NamedTuple):
    """What the events of a span tell of calls."""

    messages: list[dict[str, Any]]
    """The calls and their results as messages of a conversation; empty if no event records a call of a named tool."""
    requests: list[dict[str, Any]]
    """Those of them that hold calls."""
    has_results: bool
    """Whether an event tells what became of a call, or that it started; else each only names a call."""


def is_result(name: str) -> bool:
    """Whether an event, or a span, of this name tells what came of a call."""
    return _RESULT.search(words_of(name)) is not None


def is_refused(name: str) -> bool:
    """Whether an event of this name tells that a call did not run."""
    words = words_of(name)
    return _RESULT.search(words) is not None and _REFUSED.search(words) is not None


class _OpenCall(NamedTuple):
    tool: str
    call_id: str | None
    result: dict[str, Any]
    at: int
    """Where its result is among the messages, until an event tells of it."""
    has_started: bool


def transcript_of_events(events: Iterable[tuple[str, Mapping[str, Any]]]) -> Transcript:
    """Returns what the events tell of calls.

    An event of a call is taken for its execution: where no event tells its result, it is one without content. A call that
    has started lasts until an event tells its result, so that calls started meanwhile are of the same turn.
    """
    messages: list[dict[str, Any] | None] = []
    requests: list[dict[str, Any]] = []
    has_results, left = False, MAX_ATTRIBUTES
    open_calls: list[_OpenCall] = []
    for name, attributes in events:
        words = words_of(name)
        call = _CALL.search(words)
        if call is None and _RESULT.search(words) is None:
            continue
        left -= len(attributes)
        if left < 0:
            break
        values = with_identified_call(values_by_meaning(attributes), attributes)
        if words == "tool" and "input" not in values:
            call = None  # one name for both: this is what came of the call
        tool = first_line((*values.get("tool_name", ()), attributes.get("function")))
        ids = filter(is_call_id, attributes.values())
        call_id = first_line((*values.get("call_id", ()), attributes.get("id"), *ids))
        if call is None:
            tool = tool or (first_line(values.get("name", ())) if words == "tool" else None)
            same = (one for one in open_calls if tool in (None, one.tool) and call_id in (None, one.call_id))
            found = next(same, None)
            if found is not None:
                open_calls.remove(found)
                found.result.update(_result(found.call_id, values))
                found.result["is_error"] = found.result["is_error"] or _FAILED.search(words) is not None
                if (refused := _REFUSED.search(words)) is not None:
                    words_of_refusal = _REFUSAL.get(refused[1], f"Tool call {refused[1]}")
                    found.result.update(content=words_of_refusal, is_error=True)
                messages[found.at] = None
                messages.append(found.result)
                has_results = True
        elif (tool := tool or first_line(values.get("name", ()))) is not None and ONE_NAME.fullmatch(tool):
            result = _result(call_id, values)
            requests.append(_request(call_id, tool, values))
            messages += [requests[-1], result]
            has_started = _STARTED.search(words) is not None
            open_calls.append(_OpenCall(tool, call_id, result, len(messages) - 1, has_started))
            has_results |= has_started or bool(result["content"]) or "success" in values or "returned" in values
    for one in open_calls:
        if one.has_started:
            messages[one.at] = None
            messages.append(one.result)
    return Transcript([message for message in messages if message is not None], requests, has_results)


def exchange_of(call_id: str | None, tool: str, values: Values) -> list[dict[str, Any]]:
    """Returns a call that has been made, and its result, as messages of a conversation."""
    return [_request(call_id, tool, values), _result(call_id, values)]


def _request(call_id: str | None, tool: str, values: Values) -> dict[str, Any]:
    function = {"name": tool, "arguments": arguments_among(values.get("input", ()), tool)}
    return {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]}


def _result(call_id: str | None, values: Values) -> dict[str, Any]:
    content = next(iter(values.get("output", ())), "")
    return {"role": "tool", "tool_call_id": call_id, "content": content, "is_error": says_failure(values)}
