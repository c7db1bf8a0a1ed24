"""What the user said to an agent, found in whatever the instrumentation recorded as the agent's input."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from collector.payloads.values import MAX_REPR, name_of, parse_any, parse_repr

MAX_CHARS: Final = 8_192
MAX_DEPTH: Final = 12
MAX_ITEMS: Final = 10_000

_USER_ROLES: Final = frozenset({"user", "human", "humanmessage"})
_NOT_WORDS: Final = frozenset(
    {"tool_result", "tool-result", "tool_call", "tool_call_response", "tool_use", "function_call_output"}
)
# Where a record of an input keeps the words, the most telling first. Anything else is a record of something else.
_INPUT_KEYS: Final = (
    "messages", "new_message", "message", "user_prompt", "prompt", "query", "question", "user_msg", "user_input", "input",
    "inputs", "task", "contents", "text", "content", "parts", "args", "kwargs", "request", "generations", "value",
    "description",
)  # fmt: skip

# Messages as Python reprs (Haystack, LlamaIndex, AutoGen): who speaks, and the first literal they say.
_REPR_SPEAKER: Final = re.compile(r"\brole=<\w+\.[A-Z]+: '|_role=<\w+\.[A-Z]+: '|\bsource='[^']+' models_usage=")
_REPR_USER: Final = re.compile(r"USER: 'user'>|\bsource='user' ")
_REPR_WORDS: Final = re.compile(r"""\b(?:text|content)=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)

# Prompts a framework builds around the user's words. CrewAI 1.x: the task of an agent.
_TEMPLATES: Final = (
    re.compile(r"\s*Current Task: (.*?)\n\nThis is the expected criteria for your final answer:", re.DOTALL),
)


def user_text(value: object) -> str | None:
    """The user's newest words in ``value``: plain text, messages, or an object that holds either. None where unsure."""
    text = _text(value, 0)
    if not text:
        return None
    for template in _TEMPLATES:
        match = template.match(text)
        if match is not None:
            return match[1][:MAX_CHARS]
    return text[:MAX_CHARS]


def _text(value: object, depth: int) -> str | None:
    if depth > MAX_DEPTH:
        return None
    value = parse_any(value)
    if isinstance(value, str):
        return _text_of_repr(value) if _REPR_SPEAKER.search(value[:MAX_REPR]) else value.strip() or None
    if isinstance(value, Mapping):
        return _text_of_object(value, depth)
    if isinstance(value, (list, tuple)):
        return _text_of_list(value, depth)
    return None


def _text_of_repr(text: str) -> str | None:
    text = text[:MAX_REPR]
    spoken = [match.end() for match in _REPR_USER.finditer(text)]
    words = _REPR_WORDS.search(text, spoken[-1]) if spoken else None
    literal = None if words is None else parse_repr(words[1])
    return literal.strip() or None if isinstance(literal, str) else None


def _text_of_object(value: Mapping[Any, Any], depth: int) -> str | None:
    if name_of(value.get("type")) in _NOT_WORDS:
        return None
    kwargs = value.get("kwargs")
    if "lc" in value and isinstance(kwargs, Mapping):  # LangChain's constructor form of a message
        return _text(kwargs.get("content"), depth + 1)
    for key in _INPUT_KEYS:
        inner = value.get(key)
        if inner:
            text = _text(inner, depth + 1)
            if text is not None:
                return text
    if len(value) == 1:  # a wrapper by a name of the user's own
        (inner,) = value.values()
        return _text(inner, depth + 1) if isinstance(inner, (Mapping, list)) else None
    return None


def _text_of_list(items: Sequence[Any], depth: int) -> str | None:
    roles = [_role(item) for item in items[:MAX_ITEMS]]
    for item, role in zip(reversed(items[:MAX_ITEMS]), reversed(roles), strict=True):
        if role in _USER_ROLES:
            text = _text_of_object(item, depth) if isinstance(item, Mapping) else _text(item[1], depth + 1)
            if text is not None:
                return text
    if any(role is not None for role in roles):
        return None  # messages, but none from the user
    if any(isinstance(item, str) and _REPR_USER.search(item[:MAX_REPR]) for item in items[:64]):
        return next((text for item in reversed(items[:64]) if (text := _text(item, depth + 1)) is not None), None)
    texts = [text for item in items[:64] if (text := _text(item, depth + 1)) is not None]
    return "\n".join(texts) if texts else None


def _role(item: object) -> str | None:
    """Who speaks in a message; None where ``item`` is no message (a content part, a plain text)."""
    if isinstance(item, (list, tuple)) and len(item) == 2 and item[0] in ("user", "human", "system", "assistant", "ai"):
        return str(item[0])  # LangChain's shorthand
    if not isinstance(item, Mapping):
        return None
    constructor = item.get("id")
    if "lc" in item and isinstance(constructor, list) and constructor:
        return str(constructor[-1]).lower()
    role = item.get(
        "role",
        item.get("type") if "content" in item and item.get("type") in ("human", "ai", "system", "tool") else None,
    )
    return role.rpartition(".")[2].lower() if isinstance(role, str) else None
