"""Calls that a span lists when they have been made: an object each, or one list of names beside those of inputs and results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from collector.payloads.attribute_shapes import (
    MAX_KEY,
    MAX_LOOKED_AT,
    first_line,
    meaning_of,
    values_by_meaning,
    words_of,
)
from collector.payloads.event_calls import Transcript, exchange_of
from collector.payloads.outcomes import FLAGS, TOLD
from collector.payloads.span_names import role_of_kind
from collector.payloads.values import name_of, parse_any, parse_json

_MAX_CALLS: Final = 1_000
_ROLE: Final = '"role"'
_CONVERSATION: Final = re.compile(
    r"(?:^|_)(?:messages?|prompts?|completions?|choices|requests?|responses?|definitions?|available|llm|model)(?:_|$)"
)
_OF_TOOLS: Final = re.compile(r"(?:^|_)(?:tools?|functions?|actions?|skills?)(?:_|$)")
_OF_CALLS: Final = re.compile(
    r"(?:^|_)(?:tool|function)(?:s|_(?:calls|uses|invocations|executions|runs|results))(?:_|$)"
)
_IS_CALLS: Final = re.compile(rf"{_OF_CALLS.pattern}|(?:^|_)(?:calls|actions)$")
_NAMES: Final = ("tools", "tool", "functions", "actions", "skills", "used", "called", "name", "names", "calls")
_INPUTS: Final = ("args", "arguments", "input", "inputs", "params", "parameters")
_OUTPUTS: Final = ("output", "outputs", "result", "results", "response", "responses")
_ERRORS: Final = ("errors", "error", "failures", "failure", "exceptions")
_DIGIT: Final = re.compile(r"\d")
_NUMBERED: Final = re.compile(
    r"((?:.{0,64}[._])?(?:tools?|tool_?calls?|functions?|function_?calls?)[._](\d{1,4}))[._](.+)", re.IGNORECASE
)
"""Begins the keys of one call of several: `tool.2.name`, `tool_calls.0.result`."""


def transcript_of_lists(attributes: Mapping[str, Any], name: str) -> Transcript | None:
    """Returns what a list among the attributes of a span of this name tells of calls that were made; None if there is none."""
    for key, value in islice(attributes.items(), MAX_LOOKED_AT):
        # Most long lists are of messages: they are not parsed for this.
        if type(value) is str and value[:2] == "[{" and _ROLE not in value[:MAX_KEY]:
            made = _made_among(parse_json(value), _OF_CALLS.search(words_of(key)) is not None)
            if made:
                return _transcript(made)
        # SDKs have no attributes that are lists of objects: each is written as JSON.
        if isinstance(value, (list, tuple)) and value and all(type(one) is str and one[:1] == "{" for one in value):
            made = _made_among(list(map(parse_json, value)), _IS_CALLS.search(words_of(key)) is not None)
            if made:
                return _transcript(made)
    calls = _parallel(attributes, is_of_tools=_OF_TOOLS.search(words_of(name)) is not None) or _numbered(attributes)
    return _transcript(calls) if calls else None


def _numbered(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the calls of which each has a number in its keys, and an outcome: a model's requests have none."""
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for key, value in islice(attributes.items(), MAX_LOOKED_AT):
        match = _NUMBERED.fullmatch(key) if _DIGIT.search(key) is not None and len(key) <= MAX_KEY else None
        if match is not None and _CONVERSATION.search(words_of(match[1])) is None:
            beginning = match[1][: -len(match[2])]
            groups.setdefault(beginning, {}).setdefault(match[2], {})[f"tool_{match[3]}"] = value
    calls = next(iter(groups.values())) if len(groups) == 1 else {}
    made = [calls[number] for number in sorted(calls, key=int)]
    are_made = all("tool_name" in values_by_meaning(call) for call in made) and any(map(_is_made, made))
    return made if are_made else []


def _made_among(steps: object, are_of_tools: bool) -> list[Mapping[str, Any]]:
    """Returns the calls in a list of what was done, other steps left out. Under a word for calls, a name is a tool's."""
    if not isinstance(steps, list) or len(steps) > _MAX_CALLS:
        return []
    named = [_named(step, are_of_tools) if isinstance(step, Mapping) else {} for step in steps]
    calls = [step for step in named if "tool_name" in map(meaning_of, step)]
    return calls if all(map(_is_made, calls)) else []


def _named(step: Mapping[Any, Any], is_of_tool: bool) -> Mapping[str, Any]:
    """Returns what one step of a list tells; its name is its tool's if it is a call."""
    if not all(type(key) is str for key in step):
        return {}
    if not is_of_tool:
        is_of_tool = any(meaning_of(key) == "kind" and role_of_kind(value) == "tool" for key, value in step.items())
    is_unnamed = "tool_name" not in map(meaning_of, step)
    return {**step, "tool_name": step["name"]} if is_of_tool and is_unnamed and name_of(step.get("name")) else step


def _is_made(call: object) -> bool:
    if not isinstance(call, Mapping) or not all(type(key) is str for key in call):
        return False
    meanings = {meaning_of(key) for key in call}
    return {"tool_name", "input"} <= meanings and not TOLD.isdisjoint(meanings)


def _transcript(calls: Sequence[Mapping[str, Any]]) -> Transcript | None:
    messages: list[dict[str, Any]] = []
    for call in calls:
        values = values_by_meaning(call)
        tool = first_line(values.get("tool_name", ()))
        if tool is None:
            return None
        messages += exchange_of(first_line(values.get("call_id", ())), tool, values)
    return Transcript(messages, messages[::2], has_results=True)


def _parallel(attributes: Mapping[str, Any], *, is_of_tools: bool) -> list[dict[str, Any]]:
    """Returns the calls of which each list among the attributes has a part: `tools_used`, `tools_input`, `tools_output`.

    In a span of tools the keys need not say so.
    """
    lists = {
        words_of(key): value
        for key, value in islice(attributes.items(), MAX_LOOKED_AT)
        if isinstance(value, (list, tuple))
        and 0 < len(value) <= _MAX_CALLS
        and (is_of_tools or _OF_TOOLS.search(words_of(key)) is not None)
    }
    if not lists:
        return []
    parts = {
        "tool": _ending(lists, _NAMES),
        "arguments": _ending(lists, _INPUTS),
        "result": _ending(lists, _OUTPUTS),
        "ok": _ending(lists, FLAGS),
        "error": _ending(lists, _ERRORS),
    }
    names = parts["tool"]
    if names is None:
        return []
    known = {part: values for part, values in parts.items() if values is not None and len(values) == len(names)}
    if not {"tool", "arguments"} <= known.keys() or len(known) < 3:
        return []
    calls = [{part: values[at] for part, values in known.items()} for at in range(len(names))]
    return [{**call, "arguments": parse_any(call["arguments"])} for call in calls] if all(map(_is_named, names)) else []


def _ending(lists: Mapping[str, Sequence[Any]], ends: Sequence[str]) -> Sequence[Any] | None:
    found = [values for key, values in lists.items() if key.rpartition("_")[2] in ends]
    return found[0] if len(found) == 1 else None


def _is_named(name: object) -> bool:
    return type(name) is str and re.fullmatch(r"[A-Za-z_][\w.-]{0,127}", name) is not None
