"""What an agent answered in the end, found in whatever the instrumentation recorded as its output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from collector.payloads.messages import may_contain_tool_calls
from collector.payloads.values import MAX_REPR, name_of, parse_any, parse_repr

MAX_CHARS: Final = 8_192
MAX_DEPTH: Final = 12
MAX_ITEMS: Final = 10_000

_ROLES: Final = frozenset({"assistant", "model", "ai", "aimessage", "aimessagechunk"})
# Parts of an answer that are no words of it.
_NOT_WORDS: Final = frozenset({
    "tool_call", "tool-call", "tool_use", "tool_result", "tool-result", "tool_call_response", "function_call",
    "function_call_output", "reasoning", "thinking", "redacted_thinking",
})  # fmt: skip
_TOOL_KEYS: Final = ("toolCallId", "tool_call_id")  # a call, or the result of one
_NODES: Final = frozenset({"__start__", "__end__"})  # LangGraph: where its graph went next
# Where a record of an output keeps the words, the most telling first.
_OUTPUT_KEYS: Final = (
    "last_message", "messages", "message", "text", "content", "contents", "parts", "message_content", "output_text",
    "final_output", "final_answer", "output", "outputs", "response", "answer", "result", "replies", "generations",
    "choices", "candidates", "update", "chat_message", "raw", "value", "data", "kwargs", "_content", "output_messages",
    "completion", "gen_ai", "llm",
)  # fmt: skip

_WORDS: Final = ("text", "content")

# Objects as Python reprs: LangChain's message, Agno's and AutoGen's results. The words are the last literal so named.
_REPR_WORDS: Final = re.compile(r"""\b(?:content|text)=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_REPR: Final = re.compile(r"""\A\s*(?:[A-Za-z_]\w*\(|(?:content|id|text|status)=['"])""")


def response_text(value: object) -> str | None:
    """The agent's last words in ``value``: plain text, messages, or an object that holds either. None where unsure."""
    text = _text(value, 0)
    return text[:MAX_CHARS] if text else None


def _text(value: object, depth: int) -> str | None:
    if depth > MAX_DEPTH:
        return None
    value = parse_any(value)
    if isinstance(value, str):
        text = _text_of_repr(value) if _REPR.match(value) else value.strip() or None
        return None if text in _NODES else text
    if isinstance(value, Mapping):
        return _text_of_object(value, depth)
    if isinstance(value, (list, tuple)):
        return _text_of_list(value, depth)
    return None


def _text_of_repr(text: str) -> str | None:
    words = [] if "tool_call_id=" in text else _REPR_WORDS.findall(text[:MAX_REPR])
    literal = parse_repr(words[-1]) if words else None
    return literal.strip() or None if isinstance(literal, str) else None


def _text_of_object(value: Mapping[Any, Any], depth: int) -> str | None:
    if name_of(value.get("type")) in _NOT_WORDS or value.get("thought") is True:
        return None
    role = _role(value)
    if (role is not None and role not in _ROLES) or any(key in value for key in _TOOL_KEYS):
        return None
    for key in _OUTPUT_KEYS:
        inner = value.get(key)
        if inner:
            text = _text(inner, depth + 1)
            if text is None and key in _WORDS and isinstance(inner, str):
                text = _structured(inner)
            if text is not None:
                return text
    if len(value) == 1:  # a wrapper by a name of the user's own
        (inner,) = value.values()
        return _text(inner, depth + 1) if isinstance(inner, (Mapping, list)) else None
    return None


def _structured(words: str) -> str | None:
    """A message that says nothing but JSON: an answer in a form the agent was asked for."""
    return words.strip() if words[:1] in ("{", "[") and len(words) > 2 and not may_contain_tool_calls(words) else None


def _text_of_list(items: Sequence[Any], depth: int) -> str | None:
    items = items[-MAX_ITEMS:]
    if any(_role(item) is not None for item in items):
        answers = (item for item in reversed(items) if _role(item) in _ROLES)
        return next((text for item in answers if (text := _text(item, depth + 1)) is not None), None)
    if any(isinstance(item, str) and _REPR.match(item) for item in items[:64]):  # messages, one text each
        return next((text for item in reversed(items) if (text := _text(item, depth + 1)) is not None), None)
    texts = [text for item in items[:64] if (text := _text(item, depth + 1)) is not None]
    return "\n".join(texts) if texts else None


def _role(item: object) -> str | None:
    """Who speaks in a message; None where ``item`` is no message (a content part, a plain text)."""
    if not isinstance(item, Mapping):
        return None
    constructor = item.get("id")
    if "lc" in item and isinstance(constructor, list) and constructor:
        return str(constructor[-1]).lower()
    inner = item.get("message")
    if isinstance(inner, Mapping) and "role" not in item:
        return _role(inner)
    kind = item.get("type") if item.get("type") in ("human", "ai", "system", "tool") else None
    role = item.get("role", item.get("_role", kind if "content" in item else None))
    return role.rpartition(".")[2].lower() if isinstance(role, str) else None
