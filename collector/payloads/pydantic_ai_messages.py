"""Pydantic AI's own messages (1.x, 2.x), as what serialises them writes them, in the words of the conventions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from collector.payloads.values import parse_any

_KIND: Final = "part_kind"
_RESULTS: Final = ("tool-return", "retry-prompt")
_DENIED: Final = "The tool call was denied."


def answer_of_pydantic_ai(output: object) -> object:
    """Returns the answer of a model as messages; ``output`` if it is something else."""
    answer = parse_any(output)
    parts = answer.get("parts") if isinstance(answer, Mapping) else None
    return output if not isinstance(parts, list) else _messages(parts)


def conversation_of_pydantic_ai(given: object) -> object:
    """Returns the messages that a model was given; ``given`` if that is something else."""
    record = parse_any(given)
    told = record.get("messages") if isinstance(record, Mapping) else None
    if not isinstance(told, list):
        return given
    parts = [one.get("parts") for one in told if isinstance(one, Mapping)]
    return [message for one in parts if isinstance(one, list) for message in _messages(one)]


def _messages(parts: Iterable[object]) -> list[dict[str, Any]]:
    """Returns the parts of a message: those of one answer stay together, what a model is told may come from several."""
    messages: list[dict[str, Any]] = []
    for part in parts:
        role, converted = _converted(part) if isinstance(part, Mapping) else ("", {})
        if role == "assistant" and messages and messages[-1]["role"] == role:
            messages[-1]["parts"].append(converted)
        elif role:
            messages.append({"role": role, "parts": [converted]})
    return messages


def _converted(part: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Returns who said a part of a message, and the part."""
    kind, content = part.get(_KIND), part.get("content")
    if kind == "tool-call":
        call = {"id": part.get("tool_call_id"), "name": part.get("tool_name"), "arguments": part.get("args")}
        return "assistant", {"type": "tool_call", **call}
    if kind in _RESULTS and part.get("tool_name") is not None:
        return "tool", _result(part)
    role = "assistant" if kind == "text" else "system" if kind == "system-prompt" else "user"
    # A question may have images in it; of what a model thinks, and what its provider ran, nothing is made.
    return (role if kind in ("text", "user-prompt", "system-prompt") else ""), {"type": "text", "content": content}


def _result(part: Mapping[str, Any]) -> dict[str, Any]:
    content, outcome = part.get("content"), part.get("outcome")
    if outcome == "denied":
        content = _DENIED  # what the model is told may be in anybody's words
    elif outcome != "success" and isinstance(content, list):
        content = f"{len(content)} validation errors:\n{json.dumps(content)}"
    failed = part.get(_KIND) == "retry-prompt" or outcome not in (None, "success")
    result = {"type": "tool_call_response", "id": part.get("tool_call_id"), "name": part.get("tool_name")}
    return {**result, "response": content, **({"is_error": True} if failed else {})}
