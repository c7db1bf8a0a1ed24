"""Code that a Gemini model wrote and its provider ran, as the parts of its answer have it: each with its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collector.payloads.tool_results import BY_PROVIDER
from collector.payloads.values import name_of, parse_any

CODE: Final = '"executable_code"'
"""In an answer with such a part."""
_TOOL: Final = "code_execution"
_CALL, _RESULT = "executable_code", "code_execution_result"


def executed_code(answer: str) -> list[dict[str, Any]]:
    """Returns calls of code and what came of them, in the conventions' parts, from the first candidate of an answer."""
    parts = _at(_at(_at(_at(parse_any(answer), "candidates"), 0), "content"), "parts")
    found: list[dict[str, Any]] = []
    for part in parts if isinstance(parts, list) else ():
        call, result = _at(part, _CALL), _at(part, _RESULT)
        if isinstance(call, Mapping):
            arguments = {key: value for key, value in call.items() if key != "id"}
            found.append({
                "type": "server_tool_call", "id": name_of(call.get("id")), "name": _TOOL, "arguments": arguments,
            })  # fmt: skip
        elif isinstance(result, Mapping):
            found.append({"type": BY_PROVIDER, "id": name_of(result.get("id")), BY_PROVIDER: result})
    return found


def _at(value: object, key: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(key)
    return value[key] if isinstance(value, list) and type(key) is int and key < len(value) else None
