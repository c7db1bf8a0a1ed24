"""Tool calls, failed results and the user's words inside model messages, whatever the provider's or framework's shape.

The shapes differ in names, not in kind, so one walk knows them all: OpenTelemetry parts, OpenAI chat and responses,
Anthropic, Bedrock, Gemini, LangChain, Vercel AI SDK, Genkit. Every walk is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from collector.payloads.refusals import is_refusal
from collector.payloads.values import MAX_TEXT, name_of, parse_any

MAX_NODES: Final = 20_000
MAX_DEPTH: Final = 40
MAX_REQUESTS: Final = 1_000
MAX_RESULT_DEPTH: Final = 5
TAIL: Final = 16_384
"""How far back from the end of a model's input the newest messages are looked for."""


@dataclass(slots=True)
class ToolCallPart:
    """A tool call a model asked for. ``arguments`` as the message held them."""

    id: str | None
    name: str
    arguments: Any


_CALL_TYPES: Final = frozenset({
    "tool_call", "tool-call", "toolCall", "tool_use", "toolUse", "function_call", "server_tool_call", "server_tool_use",
    "mcp_call", "invalid_tool_call",
})  # fmt: skip
_CALL_LISTS: Final = frozenset({"tool_calls", "toolCalls", "invalid_tool_calls"})
_CALL_WRAPPERS: Final = (
    "function",
    "toolUse",
    "functionCall",
    "function_call",
    "toolRequest",
    "tool_call",
    "server_tool_call",
)
_CALL_ID_KEYS: Final = ("call_id", "id", "toolCallId", "tool_call_id", "toolUseId", "ref")
_CALL_NAME_KEYS: Final = ("name", "toolName", "tool_name")
_CALL_ARGUMENT_KEYS: Final = ("arguments", "args", "input", "toolInput")
_RESULT_TYPES: Final = frozenset({
    "tool_call_response", "tool_result", "tool-result", "toolResult", "function_call_output",
    "server_tool_call_response", "tool",
})  # fmt: skip
_RESULT_WRAPPERS: Final = ("toolResult", "functionResponse", "function_response", "toolResponse", "tool_call_result")
_RESULT_ID_KEYS: Final = ("tool_call_id", "call_id", "toolCallId", "toolUseId", "tool_use_id", "id", "ref")
_RESULT_VALUE_KEYS: Final = ("response", "result", "output", "content", "parts")
# What others than the model said holds no new requests, and a definition of a tool is no call of it.
_OTHERS_ROLES: Final = frozenset({"tool", "user", "system", "developer", "human", "function"})
_MODEL_ROLES: Final = frozenset({"assistant", "model", "ai", "MessageRole.ASSISTANT"})
_SKIPPED_KEYS: Final = frozenset({"request", "tools", "functions", "tool_definitions", "functionDeclarations"})


def may_contain_tool_calls(value: object) -> bool:
    """Whether a look inside could find a tool call; far cheaper than the look."""
    if not value:
        return False
    try:
        text = value if type(value) is str else repr(value)
    except RecursionError:
        return False
    return "tool" in text or "function" in text or "Tool" in text


def tool_call_parts(output: object) -> list[ToolCallPart]:
    """The tool calls in a model's output, in its order, each id once.

    Does not look into a call (its arguments may look like one) nor at what others than the model said.
    """
    found: list[ToolCallPart] = []
    seen: set[str] = set()
    stack: list[tuple[object, bool, int]] = [(parse_any(output), False, 0)]
    for _ in range(MAX_NODES):
        if not stack or len(found) >= MAX_REQUESTS:
            break
        node, listed, depth = stack.pop()
        if isinstance(node, Mapping):
            request = _request_in(node, listed)
            if request is None:
                if depth < MAX_DEPTH and name_of(node.get("role")) not in _OTHERS_ROLES:
                    stack.extend(
                        (child, key in _CALL_LISTS, depth + 1)
                        for key, child in reversed(list(node.items()))
                        if key not in _SKIPPED_KEYS and _may_nest(child)
                    )
            elif request.id is None or request.id not in seen:
                seen.add(request.id or "")
                found.append(request)
        elif isinstance(node, (list, tuple)):
            if depth < MAX_DEPTH:
                stack.extend((child, listed, depth + 1) for child in reversed(node) if _may_nest(child))
        elif depth < MAX_DEPTH:  # a part that was encoded on its own
            parsed = parse_any(node)
            if not isinstance(parsed, str):
                stack.append((parsed, listed, depth + 1))
    return found


def _may_nest(value: object) -> bool:
    if type(value) is str:
        return value[:1] in ("{", "[") and may_contain_tool_calls(value)
    return isinstance(value, (Mapping, list, tuple))


def _request_in(node: Mapping[Any, Any], listed: bool) -> ToolCallPart | None:
    is_call = (
        listed
        or name_of(node.get("type")) in _CALL_TYPES
        or ("toolCallId" in node and name_of(node.get("type")) not in _RESULT_TYPES)
    )
    inner: Mapping[Any, Any] | None = node if is_call else None
    for key in _CALL_WRAPPERS:
        wrapped = node.get(key)
        if isinstance(wrapped, Mapping) and (inner is not None or key != "function" or "arguments" in wrapped):
            inner = wrapped
            break
    if inner is None:
        return None
    name = name_of(_first(inner, _CALL_NAME_KEYS)) or name_of(_first(node, _CALL_NAME_KEYS))
    if name is None:
        return None
    call_id = name_of(_first(node, _CALL_ID_KEYS)) or name_of(_first(inner, _CALL_ID_KEYS))
    return ToolCallPart(call_id, name, _first(inner, _CALL_ARGUMENT_KEYS))


def _first(node: Mapping[Any, Any], keys: Iterable[str]) -> Any:
    for key in keys:
        value = node.get(key)
        if value is not None:
            return value
    return None


# --- what the model was told -----------------------------------------------------------------------------------------

ResultStatus = Literal["ok", "error", "refused"]
ToolResult = tuple[str | None, ResultStatus]
"""A tool's result as the model was told it: the call's id where it names one, and what became of the call."""

_FAILURE: Final = re.compile(r"""\W*(?:\w+(?:Error|Exception)|error|exception|traceback)\b""", re.IGNORECASE)
_HINTS: Final = ("rror", "xception", "raceback", "ailed", "rejected", "ot found", "nvalid")
# smolagents 1.2x tells its model of results in the user's name, and of a failure in these words.
_SMOLAGENTS_FAILURE: Final = re.compile(r"\bError executing tool '[^']+' with arguments ")


def result_status(result: object) -> ResultStatus:
    """What became of a call, by the result the model was told.

    Messages have no status: an error flag counts, a text that starts like an error, an object with an ``error``, and the
    words by which frameworks refuse a call.
    """
    value = parse_any(result)
    failed = False
    for _ in range(MAX_RESULT_DEPTH):  # content parts around the text
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, Mapping):
            failed = failed or value.get("is_error") is True or value.get("isError") is True
            failed = failed or value.get("status") in ("error", "failed") or bool(value.get("error"))
            value = parse_any(_first(value, ("text", *_RESULT_VALUE_KEYS, "message", "error")))
        else:
            break
    if isinstance(value, str):
        if is_refusal(value):
            return "refused"
        failed = failed or _FAILURE.match(value[:200]) is not None
    return "error" if failed else "ok"


def newest_tool_results(messages: object) -> tuple[ToolResult, ...] | None:
    """The results since the model last spoke, in order; None where all went well (the usual case)."""
    if type(messages) is str:
        tail = messages[-TAIL:]
        spoken = max(0, *[tail.rfind(word) for word in _ANSWERS])
        if len(messages) > MAX_TEXT or not any(tail.find(hint, spoken) >= 0 for hint in _HINTS):
            return None
    results: list[ToolResult] = []
    stack: list[tuple[object, int]] = [(parse_any(messages), 0)]
    for _ in range(MAX_NODES):
        if not stack:
            break
        node, depth = stack.pop()
        if isinstance(node, Mapping):
            if name_of(node.get("role")) in _MODEL_ROLES or name_of(node.get("type")) in _CALL_TYPES:
                results.clear()
                continue
            result = _result_in(node)
            if result is not None:
                results.append(result)
            elif depth < MAX_DEPTH:
                stack.extend((child, depth + 1) for child in reversed(list(node.values())) if _may_hold_results(child))
        elif isinstance(node, list) and depth < MAX_DEPTH:
            stack.extend((child, depth + 1) for child in reversed(node) if _may_hold_results(child))
        elif isinstance(node, str) and _SMOLAGENTS_FAILURE.search(node):
            results.append((None, "error"))
    return tuple(results) if any(outcome != "ok" for _, outcome in results) else None


def _may_hold_results(value: object) -> bool:
    return isinstance(value, (Mapping, list)) or (
        isinstance(value, str) and _SMOLAGENTS_FAILURE.search(value) is not None
    )


def _result_in(node: Mapping[Any, Any]) -> ToolResult | None:
    inner = next((node[key] for key in _RESULT_WRAPPERS if isinstance(node.get(key), Mapping)), None)
    if inner is None:
        if name_of(node.get("type")) not in _RESULT_TYPES and (node.get("role") != "tool" or _holds_parts(node)):
            return None
        inner = node
    origin = inner.get("origin")  # Haystack: the call a result belongs to
    sources = (origin, inner, node) if isinstance(origin, Mapping) else (inner, node)
    call_id = next((found for source in sources if (found := name_of(_first(source, _RESULT_ID_KEYS)))), None)
    return call_id, result_status(inner)


def _holds_parts(message: Mapping[Any, Any]) -> bool:
    """Whether a tool's message is a list of results, rather than one result."""
    parts = parse_any(_first(message, ("parts", "content")))
    return isinstance(parts, list) and any(
        isinstance(part, Mapping) and _result_in(part) is not None for part in parts[:64]
    )


_ASKED: Final = ('"user"', '"human"', '"HumanMessage"', "USER: 'user'", "MessageRole.USER")
_ANSWERS: Final = ('"assistant"', '"AIMessage"', '"function_call"', "ASSISTANT: 'assistant'", "MessageRole.ASSISTANT")
_ANSWERED: Final = (
    '"assistant"', '"AIMessage"', '"tool"', '"ToolMessage"', '"tool_result"', '"tool_call_response"', '"toolResult"',
    '"function_call_output"', '"functionResponse"', '"function_response"', "ASSISTANT: 'assistant'", "TOOL: 'tool'",
)  # fmt: skip


def newest_user_input(messages: object) -> object | None:
    """``messages`` itself where the user spoke last, so that a model asked again after its tools keeps nothing.

    Only the end of a long text is looked at, and no text is parsed: a run needs its first request's input alone.
    """
    if type(messages) is str:
        tail = messages[-TAIL:] if len(messages) <= MAX_TEXT else ""
        asked = next((place for word in _ASKED if (place := tail.rfind(word)) >= 0), -1)
        return None if asked < 0 or any(tail.find(word, asked) >= 0 for word in _ANSWERED) else messages
    if isinstance(messages, list) and messages:
        newest = messages[-1]
        return messages if not isinstance(newest, Mapping) or newest.get("role", "user") in ("user", "human") else None
    return messages or None
