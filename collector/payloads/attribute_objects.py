"""Finds what one object among a span's attributes tells of a call: all of it, its request, or the name of its tool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from collector.payloads.attribute_shapes import MAX_LOOKED_AT, meaning_of, values_by_meaning, words_of
from collector.payloads.values import first_name, name_of, parse_any, parse_json

ONE_NAME: Final = re.compile(r"[^\s,;]+")
ACTION: Final = re.compile(r"(?:^|_)(?:action|tool_call|function_call|tool_use)$")
"""Ends the key of an object that tells which tool was called, and with what."""
_NAMES: Final = ("tool_name", "toolName", "tool")
"""Keys of a tool's name among the details of its call."""
_FEW: Final = 8
"""Attributes that a span may have beside one that holds all that is told of it."""
_OF_SPANS: Final = frozenset({"kind", "tool_name", "model", "input", "output"})
"""What says of attributes that they are those of a span."""
_OUTCOMES: Final = frozenset({"success", "failure", "status"})
_REQUEST: Final = re.compile(r"(?:^|_)request$")
_IDS: Final = ("id", "call_id", "callId", "tool_call_id", "toolCallId")

_OF_ONE_TOOL: Final = re.compile(r"(?:^|_)(?:tool|function)(?:_(?:call|use|invocation|execution|run))?$")


def with_details(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the attributes with what the one object among a few holds, where they say no more than what came of the span."""
    if len(attributes) > _FEW:
        return None
    if (call := _call_under_word(attributes)) is not None:
        return {**attributes, **call}
    objects = {key: value for key, value in attributes.items() if type(value) is str and value[:1] == "{"}
    about = _OF_SPANS & values_by_meaning(attributes).keys()
    if (call := _call_and_outcome(objects)) is not None and about <= {"kind"}:
        return {**attributes, **call}
    if about == {"output"}:
        objects = {key: value for key, value in objects.items() if ACTION.search(words_of(key)) is not None}
    if len(objects) != 1 or about - {"output"}:
        return None
    details = parse_json(next(iter(objects.values())))
    if type(details) is not dict:
        return None
    told = values_by_meaning(details).keys()
    is_told = {"tool_name", "input"} <= told if about else not _OF_SPANS.isdisjoint(told)
    return {**attributes, **details} if is_told else None


def _call_under_word(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the object with a name and an input that stands under a word for a tool's call: it is the tool's name."""
    found = [
        value
        for key, one in attributes.items()
        if (one[:1] == "{" if type(one) is str else isinstance(one, Mapping))
        and _OF_ONE_TOOL.search(words_of(key)) is not None
        and isinstance(value := parse_any(one), Mapping)
        and name_of(value.get("name")) is not None
    ]
    if len(found) != 1 or "input" not in values_by_meaning(found[0]) or not all(type(key) is str for key in found[0]):
        return None
    return {f"tool.{key}": value for key, value in found[0].items()}


def _call_and_outcome(objects: Mapping[str, str]) -> dict[str, Any] | None:
    """Returns the two objects of which one is a call with its tool and input, and the other tells what came of it."""
    parsed = [value for value in map(parse_json, objects.values()) if type(value) is dict]
    calls = [value for value in parsed if {"tool_name", "input"} <= values_by_meaning(value).keys()]
    outcomes = [value for value in parsed if not _OUTCOMES.isdisjoint(values_by_meaning(value))]
    is_pair = len(parsed) == 2 and len(calls) == len(outcomes) == 1 and calls != outcomes
    return {**outcomes[0], **calls[0]} if is_pair else None


def name_in_metadata(attributes: Mapping[str, Any], span_name: str) -> str | None:
    """Returns the tool's name where a tracer gives the span a name of its own, and keeps the tool's with other details."""
    for key, value in islice(attributes.items(), MAX_LOOKED_AT):
        if words_of(key).endswith("metadata") and isinstance(details := parse_any(value), Mapping):
            name = first_name(details, _NAMES)
            own = name_of(details.get("name"))  # a name of what, only the span's own tells
            name = name or (own if own is not None and span_name.endswith(own) else None)
            if name is not None and ONE_NAME.fullmatch(name):
                return name
    return None


_EXCHANGE: Final = re.compile(r"((?:.*_)?)(?:request|payload|body)")
_OF_CALLS: Final = frozenset({"tool_name", "call_id", "input"})
"""What says of an object's keys that the arguments are one of its values."""
_ANSWERS: Final = ("response", "reply", "result", "output", "answer", "problem")


def answered_request(attributes: Mapping[str, Any], *, has_failed: bool) -> Mapping[str, Any] | None:
    """Returns the object that is a call's request, where the answer to it stands beside: `tool.request`, `tool.response`.

    Of a call that failed there is no answer.
    """
    keys = {words_of(key): key for key in islice(attributes, MAX_LOOKED_AT)}
    for words, key in keys.items():
        match = _EXCHANGE.fullmatch(words)
        if match is not None and (has_failed or any(f"{match[1]}{answer}" in keys for answer in _ANSWERS)):
            request = parse_any(attributes[key])
            return request if isinstance(request, Mapping) and _OF_CALLS.isdisjoint(map(meaning_of, request)) else None
    return None


def request_among(attributes: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Returns id and arguments of a call from its request, if that holds these two alone: ``{"id": "c1", "args": {...}}``."""
    for key, value in islice(attributes.items(), MAX_LOOKED_AT):
        if _REQUEST.search(words_of(key)) is None or not isinstance(request := parse_any(value), Mapping):
            continue
        call_id = first_name(request, _IDS)
        inputs = [
            inner for name, inner in request.items() if isinstance(inner, Mapping) and meaning_of(name) == "input"
        ]
        if call_id is not None and len(inputs) == 1 and len(request) == 2:
            return call_id, inputs[0]
    return None
