"""Extracts the agent's final response from whatever the instrumentation recorded as its output."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.payloads.message_text import MessageText
from collector.payloads.messages import may_contain_tool_calls
from collector.payloads.roles import MODEL_ROLES, role_of
from collector.payloads.values import MAX_REPR, parse_any, parse_repr

MAX_BLANK: Final = 256
"""Longest output that may be a message without content."""
_TOOL_KEYS: Final = ("toolCallId", "tool_call_id")  # a call, or the result of one
_GRAPH_NODES: Final = frozenset({"__start__", "__end__"})  # LangGraph: the node that its graph went to next

# Objects as Python reprs: LangChain's message, Agno's and AutoGen's results. The text is the last literal so named.
_REPR_TEXT: Final = re.compile(r"""\b(?:content|text)=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_REPR: Final = re.compile(r"""\A\s*(?:[A-Za-z_]\w*\(|(?:content|id|text|status)=['"])""")


class _ResponseText(MessageText):
    roles = MODEL_ROLES
    skipped_types = frozenset({
        "tool_call", "tool-call", "tool_use", "tool_result", "tool-result", "tool_call_response", "function_call",
        "function_call_output", "reasoning", "thinking", "redacted_thinking",
    })  # fmt: skip
    keys = (
        "last_message", "messages", "message", "text", "content", "contents", "parts", "message_content", "output_text",
        "final_output", "final_answer", "output", "outputs", "response", "answer", "result", "replies", "generations",
        "choices", "candidates", "update", "chat_message", "raw", "value", "data", "kwargs", "_content",
        "output_messages", "completion", "gen_ai", "llm",
    )  # fmt: skip

    def is_message_repr(self, text: str) -> bool:
        return _REPR.match(text) is not None

    def text_of_repr(self, text: str) -> str | None:
        # The message of a tool has content as well, which is no answer of the agent.
        found = [] if "tool_call_id=" in text else _REPR_TEXT.findall(text[:MAX_REPR])
        literal = parse_repr(found[-1]) if found else None
        return literal.strip() or None if isinstance(literal, str) else None

    def is_skipped(self, value: Mapping[Any, Any]) -> bool:
        role = role_of(value)
        return (
            super().is_skipped(value)
            or value.get("thought") is True
            or (role is not None and role not in self.roles)
            or any(key in value for key in _TOOL_KEYS)
        )

    def text_of_field(self, key: str, value: object, depth: int) -> str | None:
        text = self.text(value, depth)
        if text is None and key in ("text", "content") and isinstance(value, str):
            return _structured_answer(value)
        return text

    def text(self, value: object, depth: int) -> str | None:
        text = super().text(value, depth)
        return None if text in _GRAPH_NODES else text


def _structured_answer(text: str) -> str | None:
    """Returns a text that is nothing but JSON: an answer in a format that the agent was asked for."""
    return text.strip() if text[:1] in ("{", "[") and len(text) > 2 and not may_contain_tool_calls(text) else None


_RESPONSE_TEXT: Final = _ResponseText()


def response_text(value: object) -> str | None:
    """Returns the agent's newest text in ``value``: plain text, messages, or an object that holds either.

    None if there is none, or if it is uncertain who wrote the text.
    """
    return _RESPONSE_TEXT.find(value)


def is_blank(output: object) -> bool:
    """Whether ``output`` is one message of a model with nothing in it but empty texts: what it holds was not recorded."""
    if type(output) is not str or len(output) > MAX_BLANK or '"parts"' not in output:
        return False
    messages = parse_any(output)
    if not isinstance(messages, list) or len(messages) != 1 or not isinstance(messages[0], Mapping):
        return False
    parts = messages[0].get("parts")
    return isinstance(parts, list) and all(
        isinstance(part, Mapping) and part.get("type") == "text" and not part.get("content") for part in parts
    )
