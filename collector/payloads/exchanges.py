"""Calls and results as a model's provider writes them: one of each in two attributes of a step, or a whole conversation."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from collector.payloads.attribute_shapes import MAX_KEY, MAX_LOOKED_AT, Meaning
from collector.payloads.history import calls_in_history
from collector.payloads.messages import may_contain_tool_calls, tool_call_parts
from collector.payloads.roles import MODEL_ROLES, role_of
from collector.payloads.tool_results import may_contain_results, result_in
from collector.payloads.values import parse_json

_KEYS: Final = ("toolUse", "toolResult", "functionCall", "functionResponse", "function_call", "function_response")
"""Keys that say of an object, which does not say so itself, that it is a call, or a result."""
_ROLE: Final = '"role"'


def exchange_among(attributes: Mapping[str, Any]) -> dict[Meaning, list[Any]]:
    """Returns id, tool, input and output of the one call of which the result, of the same id, is another attribute's value."""
    texts = [
        (key, value)
        for key, value in islice(attributes.items(), MAX_LOOKED_AT)
        if type(value) is str
        and value[:1] == "{"
        and (may_contain_results(value) or may_contain_tool_calls(value) or any(word in key for word in _KEYS))
    ]
    objects = [(key.rpartition(".")[2], value) for key, text in texts if isinstance(value := parse_json(text), dict)]
    told = [
        (result, value) for key, value in objects if (result := result_in(value) or result_in({key: value})) is not None
    ]
    if len(told) != 1:
        return {}
    result, message = told[0]
    calls = [
        part
        for key, asked in objects
        if asked is not message
        for part in tool_call_parts(asked) or tool_call_parts({key: asked})
    ]
    if len(calls) != 1 or result.call_id is None or calls[0].id != result.call_id:
        return {}
    call = calls[0]
    return {"call_id": [call.id], "tool_name": [call.name], "input": [call.arguments], "output": [message]}


def conversation_among(attributes: Mapping[str, Any]) -> str | None:
    """Returns the only list of messages in which a model asks for calls, is told their results, and answers; None without."""
    found = [
        value
        for value in islice(attributes.values(), MAX_LOOKED_AT)
        if type(value) is str
        and value[:1] == "["
        and _ROLE in value[:MAX_KEY]
        and may_contain_tool_calls(value)
        and may_contain_results(value)
    ]
    messages = parse_json(found[0]) if len(found) == 1 else None
    last = messages[-1] if isinstance(messages, list) and messages else None
    if not isinstance(last, Mapping) or role_of(last) not in MODEL_ROLES:
        return None
    return found[0] if any(call.status is not None for call in calls_in_history(messages)) else None
