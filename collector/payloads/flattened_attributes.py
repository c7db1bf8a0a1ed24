"""Values that were flattened into one attribute per leaf: ``llm.tools.0.tool.json_schema``, ``llm.tools.1. ...``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

MAX_PARTS: Final = 16
"""How deep a value is rebuilt: further parts of a name are dropped."""
MAX_ATTRIBUTES: Final = 4_096
"""From how many attributes a value is rebuilt."""


class FlattenedAttributes(dict[str, Any]):
    """The attributes that one value was flattened into, by their full names."""


def first_attribute(attributes: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Returns the first attribute of these names that is not empty; for a name that ends with a dot, all that start with it."""
    for name in names:
        value = attributes.get(name)
        if not value and name.endswith("."):
            value = FlattenedAttributes((key, value) for key, value in attributes.items() if key.startswith(name))
        if value:
            return value
    return None


class _Node(dict[str, Any]):
    """An object or a list that is rebuilt. A leaf may be an object too, whose keys stay what they are."""


def unflatten(value: object) -> object:
    """Returns the nested value that ``FlattenedAttributes`` were written from; any other value unchanged."""
    if not isinstance(value, FlattenedAttributes):
        return value
    root = _Node()
    for name, leaf in list(value.items())[:MAX_ATTRIBUTES]:
        parts = name.split(".")
        at = root
        for part in parts[: MAX_PARTS - 1] if len(parts) > MAX_PARTS else parts[:-1]:
            inner = at.get(part)
            if not isinstance(inner, _Node):
                inner = at[part] = _Node()
            at = inner
        at.setdefault(parts[-1], leaf)
    return _with_lists(root)


_ITEM: Final = re.compile(r"\.(\d{1,4})(?:\.|\Z)")


def lacks_items(value: FlattenedAttributes) -> bool:
    """Whether the list that was flattened has items before others that no attribute is of: they were not recorded."""
    numbers = {int(match[1]) for name in value if (match := _ITEM.search(name)) is not None}
    return bool(numbers) and len(numbers) <= max(numbers)


def _with_lists(node: Any) -> Any:
    if not isinstance(node, _Node):
        return node
    # `isdecimal`, since `isdigit` holds for characters such as a superscript two, which int() refuses.
    if node and all(key.isdecimal() and len(key) <= 4 for key in node):
        return [_with_lists(node[key]) for key in sorted(node, key=int)]
    return {key: _with_lists(inner) for key, inner in node.items()}


# `llm.output_messages.0.message.tool_calls.1.tool_call.function.name`, `gen_ai.completion.0.tool_calls.1.name`; Google's
# automatic calling omits which message, Anthropic's instrumentor repeats each call under `contents`.
_CALL_KEY: Final = re.compile(
    r"(?:(?:^|[._])(?:output[._]messages|completions?|choices)\.(\d{1,4})\.(?:message\.)?|^message\.)"
    r"(?:tool_calls\.(\d{1,4})\.(?:tool_call\.)?|contents\.(\d{1,4})\.tool_call\.)(?:function\.)?(id|name|arguments)$"
)


def flattened_calls(attributes: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Returns the tool calls of a model's answer, in order, of which each part has an attribute; None if there are none."""
    calls: dict[tuple[int, int], dict[str, Any]] = {}
    repeated: dict[tuple[int, int], dict[str, Any]] = {}
    for key, value in attributes.items():
        match = _CALL_KEY.search(key) if "tool_call" in key else None
        if match is not None:
            message, call, content, field = match.groups()
            found, position = (repeated, content) if call is None else (calls, call)
            found.setdefault((int(message or 0), int(position)), {"type": "tool_call"})[field] = value
    return [call for _, call in sorted((calls or repeated).items(), key=lambda item: item[0])] or None


def flattened_messages(attributes: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Returns the messages of a conversation of which each part has an attribute, as providers write them."""
    nested = unflatten(FlattenedAttributes((key, value) for key, value in attributes.items() if key.startswith(name)))
    for part in name.strip(".").split("."):
        nested = nested.get(part) if isinstance(nested, dict) else None
    return [_message_of(item) for item in nested or () if isinstance(item, dict)] if isinstance(nested, list) else []


def _message_of(item: dict[str, Any]) -> dict[str, Any]:
    message = item.get("message")
    if not isinstance(message, dict):
        return item
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [call.get("tool_call", call) for call in calls if isinstance(call, dict)]
    return message
