"""Parses reprs of message objects: `ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult(...)])` of Haystack,
a whole `{'messages': [ChatMessage(...` of its generators (2.x, where a callback among the inputs is no JSON),
`ChatMessage(role=<MessageRole.TOOL: 'tool'>, blocks=[TextBlock(...)])` of LlamaIndex,
`ResponseFunctionToolCall(arguments='{}', name='pay', ...)`, `ChatCompletion(choices=[...])` and
`ChatCompletionMessageToolCall(function=Function(arguments='{}', name='pay'), ...)` of OpenAI's SDK,
`[TaskOutput(description='', messages=[...])]` of CrewAI.

Bounded like all reprs (``values.parse_repr``), and never raises. Nothing is looked up, called or evaluated: a constructor
becomes a mapping of its keywords, with the words that messages in JSON have for them.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Final

from collector.payloads.refusals import MAX_CHARS
from collector.payloads.values import literal_of, parse_any, read_repr

_OBJECTS: Final = (
    "{'messages': [ChatMessage(",
    "ChatMessage(",
    "ResponseFunctionToolCall(",
    "[TaskOutput(",
    "ChatCompletion(",
    "ChatCompletionMessage(",
    "ChatCompletionMessageToolCall(",
    "McpCall(",
)
"""How the repr of a message begins."""
# A member of an enumeration, or an object without a repr of its own, outside of strings: these are matched first, and kept.
# A text without an end is one to the end, or each of its quotes would be tried.
_MEMBER: Final = re.compile(
    r"""(?P<result>\bresult=)?(?P<text>'(?:[^'\\]|\\.?)*+(?:'|\Z)|"(?:[^"\\]|\\.?)*+(?:"|\Z))"""
    r"""|<[\w.]{1,128}: (?P<value>'[^'\\]{0,128}'|\d{1,9})>"""
    r"""|<[\w. ]{1,128}(?:<\w{1,16}>[\w. ]{0,128}){0,4} at 0x[0-9a-fA-F]{1,16}>""",
    re.DOTALL,
)
_BEGINNING: Final = re.compile(rf"(?:[^\\]|\\(?:x..|u.{{4}}|U.{{8}}|[^xuU])){{0,{MAX_CHARS}}}+", re.DOTALL)
"""Of a text in quotes, without half of an escape sequence."""
_TYPES: Final = {
    "ToolCall": "tool_call",
    "ToolCallBlock": "tool_call",
    "ResponseFunctionToolCall": "tool_call",
    "ToolCallResult": "tool_call_response",
}
_WORDS: Final = {
    "_role": "role", "_content": "content", "tool_name": "name", "error": "is_error",
    "tool_call_id": "id", "tool_kwargs": "arguments",
}  # fmt: skip


def may_be_objects(text: str) -> bool:
    """Whether ``text`` begins like the repr of a message."""
    return text.startswith(_OBJECTS)


def parse_message(text: str) -> Any:
    """Returns what ``parse_any`` makes of ``text``, or the message that it is the repr of."""
    if not may_be_objects(text):
        return parse_any(text)
    value = read_repr(_MEMBER.sub(_written_plainly, text), _value_of)
    return text if value is None else value


def _written_plainly(match: re.Match[str]) -> str:
    """Returns the literal for a part of a repr. Of a tool's result only what is searched for a refusal is kept: it may be as
    long as a tool likes, and hide the call that it belongs to behind the limit.
    """
    quoted = match["text"]
    if quoted is None:
        return match["value"] or "None"
    if match["result"] is None:
        return quoted
    if len(quoted) > MAX_CHARS:
        beginning = _BEGINNING.match(quoted, 1)
        quoted = quoted[0] + (beginning[0] if beginning else "") + quoted[0]
    return "result=" + quoted


def _value_of(node: ast.expr) -> Any:
    """Returns the value of a syntax tree. Raises ValueError for anything but literals and constructors of objects."""
    if isinstance(node, ast.Call):
        if node.args or not isinstance(node.func, ast.Name):
            raise ValueError("not the repr of a data class")
        fields = {word.arg: _value_of(word.value) for word in node.keywords if word.arg is not None}
        kind = _TYPES.get(node.func.id)
        if kind is None and node.func.id != "ChatMessage":
            return fields
        renamed = {_WORDS.get(key, key): value for key, value in fields.items()}
        return renamed if kind is None else {"type": kind, **renamed}
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value_of(item) for item in node.elts]
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {literal_of(key): _value_of(value) for key, value in zip(node.keys, node.values, strict=True) if key}
    return literal_of(node)
