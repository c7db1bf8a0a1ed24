"""What a Gemini model had its provider run, as the parts of its answers have it: code, and tools such as Google's search."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from collector.payloads.tool_results import BY_PROVIDER
from collector.payloads.values import name_of, parse_any

_CODE, _OUTCOME = "executable_code", "code_execution_result"
_CODE_IN_JSON, _OUTCOME_IN_JSON = "executableCode", "codeExecutionResult"
_TOOL, _RESPONSE = "tool_call", "tool_response"
_TYPE: Final = "tool_type"
_FUNCTION: Final = "function_call"
_CODE_TOOL: Final = "code_execution"
_MARKERS: Final = (f'"{_CODE}"', f'"{_TYPE}"')


def may_hold_provided(text: str) -> bool:
    """Whether an answer, or a history of answers, may have parts that its provider ran."""
    return any(marker in text for marker in _MARKERS)


def provided_calls(answer: str) -> list[dict[str, Any]]:
    """Returns what the provider ran for the first candidate of an answer, and what came of it, in the conventions' parts."""
    return [told for part in _parts_of(answer) if (told := _in_conventions(part)) is not None]


def with_provided_calls(history: str) -> str:
    """Returns a history of messages in which what the provider ran is in the conventions' parts."""
    known = parse_any(history) if may_hold_provided(history) else None
    if not isinstance(known, Mapping):
        return history
    told = {
        key: [_with_conventions(message) for message in messages] if isinstance(messages, list) else messages
        for key, messages in known.items()
    }
    return json.dumps(told)


def with_code(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a message of Genkit's in which the code that the provider ran is in the conventions' parts."""
    return {**message, "content": [_code_told(part) or part for part in _list_at(message, "content")]}


def _code_told(part: object) -> dict[str, Any] | None:
    custom = _at(part, "custom")
    told = {_CODE: _at(custom, _CODE_IN_JSON), _OUTCOME: _at(custom, _OUTCOME_IN_JSON)}
    return _in_conventions(told)


def left_calls(answer: str, history: str) -> list[dict[str, Any]] | None:
    """Returns what of a stream is not in its history, of whose answer are the parts of all turns; None if nothing is left."""
    known = parse_any(history)
    messages = next(iter(known.values()), None) if isinstance(known, Mapping) else None
    answered = messages if isinstance(messages, list) else []
    told = [part for message in answered for part in _list_at(message, "parts") if _asked_or_told(part)]
    parts = [found for part in _parts_of(answer) if (found := _asked_or_told(part)) is not None]
    return parts[len(told) :] or None


def _asked_or_told(part: object) -> dict[str, Any] | None:
    call = _at(part, _FUNCTION)
    if not isinstance(call, Mapping):
        return _in_conventions(part)
    return {"type": _TOOL, "id": name_of(call.get("id")), "name": call.get("name"), "arguments": call.get("args") or ""}


def _with_conventions(message: object) -> object:
    if not isinstance(message, Mapping):
        return message
    return {**message, "parts": [_in_conventions(part) or part for part in _list_at(message, "parts")]}


def _in_conventions(part: object) -> dict[str, Any] | None:
    call, outcome = _at(part, _CODE), _at(part, _OUTCOME)
    if isinstance(call, Mapping):
        return _called(_CODE_TOOL, call, {key: value for key, value in call.items() if key != "id"})
    if isinstance(outcome, Mapping):
        return _returned(outcome)
    call, response = _at(part, _TOOL), _at(part, _RESPONSE)
    if isinstance(call, Mapping) and (name := name_of(call.get(_TYPE))) is not None:
        return _called(name.lower(), call, call.get("args"))
    return _returned(response) if isinstance(response, Mapping) else None


def _called(name: str, call: Mapping[str, Any], arguments: object) -> dict[str, Any]:
    return {"type": "server_tool_call", "id": name_of(call.get("id")), "name": name, "arguments": arguments}


def _returned(result: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": BY_PROVIDER, "id": name_of(result.get("id")), BY_PROVIDER: result}


def _parts_of(answer: str) -> list[Any]:
    return _list_at(_at(_at(_at(parse_any(answer), "candidates"), 0), "content"), "parts")


def _list_at(value: object, key: str) -> list[Any]:
    found = _at(value, key)
    return found if isinstance(found, list) else []


def _at(value: object, key: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(key)
    return value[key] if isinstance(value, list) and type(key) is int and key < len(value) else None
