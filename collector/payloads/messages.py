"""Finds tool calls and failed tool results in model messages of any provider or framework.

The formats differ in names, not in structure, so one traversal handles them all: OpenTelemetry parts, OpenAI chat and
responses, Anthropic, Bedrock, Gemini, LangChain, Vercel AI SDK, Genkit. Every traversal is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, Literal, NamedTuple

from collector.payloads.refusals import Refusal, find_refusal, refuses
from collector.payloads.reprs import may_be_objects, parse_message
from collector.payloads.text_calls import (
    REPEATED,
    is_observation,
    may_hold_calls,
    parse_call,
    parse_exchange,
    tells_failure,
)
from collector.payloads.values import MAX_TEXT, first_value, name_of, parse_any

MAX_NODES: Final = 20_000
"""How many nodes of a value are visited."""
MAX_DEPTH: Final = 40
MAX_CALLS: Final = 1_000
"""How many tool calls of one output are returned."""
MAX_RESULT_DEPTH: Final = 5
"""How many levels of content parts around a result's text are unwrapped."""
MAX_PARTS: Final = 64
"""How many parts of a tool's message are examined."""
TAIL: Final = 16_384
"""How many characters at the end of a model's input are searched for the newest messages."""


@dataclass(slots=True)
class ToolCallPart:
    """A tool call in a message; ``arguments`` as they were recorded."""

    id: str | None
    name: str
    arguments: Any


_CALL_TYPES: Final = frozenset({
    "tool_call", "tool-call", "toolCall", "tool_use", "toolUse", "function_call", "server_tool_call", "server_tool_use",
    "mcp_call", "invalid_tool_call",
})  # fmt: skip
_CALL_LISTS: Final = frozenset({"tool_calls", "toolCalls", "invalid_tool_calls"})
_CALL_WRAPPERS: Final = (
    "function", "toolUse", "functionCall", "function_call", "toolRequest", "tool_call", "server_tool_call",
)  # fmt: skip
_CALL_ID_KEYS: Final = ("call_id", "id", "toolCallId", "tool_call_id", "toolUseId", "ref")
_CALL_NAME_KEYS: Final = ("name", "toolName", "tool_name")
_CALL_ARGUMENT_KEYS: Final = ("arguments", "args", "input", "toolInput")
_RESULT_TYPES: Final = frozenset({
    "tool_call_response", "tool_result", "tool-result", "toolResult", "function_call_output",
    "server_tool_call_response", "tool",
})  # fmt: skip
_RESULT_MARKERS: Final = (
    "ool_call_response", "tool_result", "tool-result", "oolResult", "function_call_output", "functionResponse",
    "function_response", "oolResponse", "tool_call_result", "tool_call_id", '"tool"', '"ToolMessage"',
)  # fmt: skip
"""Every message that holds results contains one of these."""
_RESULT_WRAPPERS: Final = ("toolResult", "functionResponse", "function_response", "toolResponse", "tool_call_result")
_RESULT_ID_KEYS: Final = ("tool_call_id", "call_id", "toolCallId", "toolUseId", "tool_use_id", "id", "ref")
_RESULT_VALUE_KEYS: Final = ("response", "result", "output", "content", "parts", "value")
# Messages of others than the model hold no new calls, and the definition of a tool is not a call.
_OTHERS_ROLES: Final = frozenset({"tool", "user", "system", "developer", "human", "function", "User", "System", "Tool"})
_USER_ROLES: Final = frozenset({"user", "human", "User", "MessageRole.USER"})
_MODEL_ROLES: Final = frozenset({"assistant", "model", "ai", "Assistant", "MessageRole.ASSISTANT"})
_SKIPPED_KEYS: Final = frozenset({"request", "tools", "functions", "tool_definitions", "functionDeclarations"})


def may_contain_tool_calls(value: object) -> bool:
    """Whether parsing ``value`` could find a tool call; far cheaper than parsing it."""
    if not value:
        return False
    try:
        text = value if type(value) is str else repr(value)
    except RecursionError:
        return False
    return "tool" in text or "function" in text or "Tool" in text


def may_contain_results(messages: object) -> bool:
    """Whether parsing a model's input could find the result of a tool call."""
    return type(messages) is not str or any(marker in messages for marker in _RESULT_MARKERS)


def is_unreadable(output: object) -> bool:
    """Whether ``output`` is meant to be JSON and cannot be parsed: too long, nested too deeply, or damaged."""
    return type(output) is str and output.lstrip()[:1] in ("[", "{") and parse_any(output) is output


def tool_call_parts(output: object) -> list[ToolCallPart]:
    """Returns the tool calls in a model's output, in order, each id once.

    Does not search inside a call, whose arguments may look like one, nor messages of others than the model.
    """
    found: list[ToolCallPart] = []
    seen: set[str] = set()
    stack: list[tuple[object, bool, int]] = [(parse_any(output), False, 0)]
    for _ in range(MAX_NODES):
        if not stack or len(found) >= MAX_CALLS:
            break
        node, listed, depth = stack.pop()
        if isinstance(node, Mapping):
            call = _call_in(node, listed)
            if call is None:
                if depth < MAX_DEPTH and name_of(node.get("role")) not in _OTHERS_ROLES:
                    stack.extend(
                        (child, key in _CALL_LISTS, depth + 1)
                        for key, child in reversed(list(node.items()))
                        if key not in _SKIPPED_KEYS and _may_nest(child)
                    )
            elif call.id is None or call.id not in seen:
                seen.add(call.id or "")
                found.append(call)
        elif isinstance(node, (list, tuple)):
            if depth < MAX_DEPTH:
                stack.extend((child, listed, depth + 1) for child in reversed(node) if _may_nest(child))
        elif depth < MAX_DEPTH:  # a part that was encoded separately
            parsed = parse_message(node) if isinstance(node, str) else node
            if isinstance(parsed, str):
                parsed = parse_call(parsed)
            if parsed is not None:
                stack.append((parsed, listed, depth + 1))
    return found


def _may_nest(value: object) -> bool:
    if type(value) is str:
        return (value[:1] in ("{", "[") and may_contain_tool_calls(value)) or may_be_objects(value)
    return isinstance(value, (Mapping, list, tuple))


def _call_in(node: Mapping[Any, Any], listed: bool) -> ToolCallPart | None:
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
    name = name_of(first_value(inner, _CALL_NAME_KEYS)) or name_of(first_value(node, _CALL_NAME_KEYS))
    if name is None:
        name = _name_in_type(node)
    if name is None:
        return None
    name = name.strip() or name
    call_id = name_of(first_value(node, _CALL_ID_KEYS)) or name_of(first_value(inner, _CALL_ID_KEYS))
    return ToolCallPart(call_id, name, first_value(inner, _CALL_ARGUMENT_KEYS))


def _name_in_type(node: Mapping[Any, Any]) -> str | None:
    """The tool's name in a part of a message as the Vercel AI SDK shows it to users, whose type is `tool-<name>`."""
    kind = node.get("type")
    return name_of(kind[5:]) if type(kind) is str and kind.startswith("tool-") and "state" in node else None


# --- tool results ----------------------------------------------------------------------------------------------------

ResultStatus = Literal["ok", "error", "refused", "unclear"]
"""What became of a call: "unclear" if the words of its result may be a tool's, or mean that none ran."""


class ToolResult(NamedTuple):
    """A tool result in a model's input."""

    call_id: str | None
    """The id of its call, if it names one."""
    failed: bool
    refusal: Refusal | None = None
    """What it says of a call that did not run, if it may say so."""
    name: str | None = None
    """The tool that it names."""

    def status(self, tool_name: str | None) -> ResultStatus:
        """Returns what became of the call, which was one of this tool."""
        refused = refuses(self.refusal, tool_name)
        if refused == "no":
            return "error" if self.failed else "ok"
        return "refused" if refused == "yes" else "unclear"


_FAILURE: Final = re.compile(r"(?i)\W*(?:an (?=error occurred))?(?:\w+(?:Error|Exception)|error|exception|traceback)\b")
_HINTS: Final = (
    "rror", "xception", "raceback", "ailed", "rejected", "ot found", "nvalid", "nknown tool", "nknown function", "o such tool",
    "o such function", "not exist", "n't exist", "navailable", "not available", "is not registered", "is not known",
    "is not defined", "is not supported", "is undefined", "is unsupported", "is unregistered", "is unknown", " tool named",
    " tool called", " function named", " function called", "not a valid tool", "enied", "eclined", "not approved", "anceled",
    "ancelled", "nterrupted", "not executed", "to proceed", "did not match", "nrecognized", "too_", "gnoring this",
)  # fmt: skip
"""Every failure and refusal contains one of these."""


def result_status(result: object, tool_name: str | None = None) -> ResultStatus:
    """Returns the status of a tool result.

    Messages record no status. An error flag, a text that starts like an error or an object with an ``error`` is an error;
    the messages with which frameworks refuse a call are a refusal.
    """
    return tool_result(None, result).status(tool_name)


def tool_result(call_id: str | None, result: object) -> ToolResult:
    """Returns what a result says of its call. Only the outermost levels of content around its text are unwrapped."""
    value = parse_any(result)
    failed = False
    for _ in range(MAX_RESULT_DEPTH):  # content parts around the text
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, Mapping):
            failed = failed or value.get("is_error") is True or value.get("isError") is True
            failed = failed or value.get("status") in ("error", "failed") or bool(value.get("error"))
            failed = failed or value.get("type") in ("error-text", "error-json")  # Vercel AI SDK
            if value.get("type") == "execution-denied":  # Vercel AI SDK
                return ToolResult(call_id, True, Refusal())
            value = parse_any(first_value(value, ("text", *_RESULT_VALUE_KEYS, "message", "error")))
        else:
            break
    if not isinstance(value, str):
        return ToolResult(call_id, failed)
    return ToolResult(call_id, failed or _FAILURE.match(value[:200]) is not None, find_refusal(value))


@dataclass(slots=True)
class ToldCall:
    """A tool call in a model's input: the model requested it earlier, and was told what became of it."""

    id: str | None
    name: str
    arguments: Any
    turn: int = 0
    """Calls of one turn are told before the results of any of them. -1 where nothing tells the turn."""
    status: ResultStatus | None = None
    """None if the input holds no result."""


def told_calls(messages: object, unread: list[str] | None = None) -> list[ToldCall]:
    """Returns the tool calls in a model's input since the user's last message, in order, with what became of each.

    Bounded in nodes, depth and calls. A result without the id of a call belongs to the first one that has none yet, of the
    tool that it names if it names one. A call that one message holds twice, in two formats, counts once. Messages that are
    reprs and could not be parsed are added to ``unread``.
    """
    calls: list[ToldCall] = []
    stack: list[tuple[object, bool, int]] = [(messages, False, 0)]
    for _ in range(MAX_NODES):
        if not stack or len(calls) >= MAX_CALLS:
            break
        node, listed, depth = stack.pop()
        if isinstance(node, Mapping):
            result = _result_in(node)
            if result is not None:
                _settle(calls, result)
            elif (request := _call_in(node, listed)) is not None:
                _add(calls, request, node)
            else:
                if name_of(node.get("role")) in _USER_ROLES and not (_contains_results(node) or is_observation(node)):
                    calls.clear()
                if depth < MAX_DEPTH:
                    stack.extend(
                        (child, key in _CALL_LISTS, depth + 1)
                        for key, child in reversed(list(node.items()))
                        if key not in _SKIPPED_KEYS and _may_nest_exchange(child)
                    )
        elif isinstance(node, list) and depth < MAX_DEPTH:
            stack.extend((child, listed, depth + 1) for child in reversed(node) if _may_nest_exchange(child))
        elif isinstance(node, str) and depth < MAX_DEPTH and (parsed := _read_text(node, unread)) is not None:
            stack.append((parsed, listed, depth + 1))
    return calls


def _read_text(text: str, unread: list[str] | None) -> object:
    """Returns the messages that were encoded as ``text``, if it holds any and can be parsed."""
    if may_hold_calls(text):
        return parse_exchange(text) or None
    parsed = parse_message(text)
    if not isinstance(parsed, str):
        return parsed
    if unread is not None and may_be_objects(text):
        unread.append(text)
    return None


def _add(calls: list[ToldCall], request: ToolCallPart, part: Mapping[Any, Any]) -> None:
    if "state" in part and "toolCallId" in part:
        _add_shown(calls, request, part)
        return
    turn = calls[-1].turn if calls else 0
    newest = list(takewhile(lambda call: call.turn == turn, reversed(calls)))
    if request.id is not None and any(call.id == request.id and call.status is None for call in newest):
        return
    if part.get(REPEATED) is True and any(call.name == request.name and call.status is None for call in newest):
        return
    turn += any(call.status is not None for call in newest)
    calls.append(ToldCall(request.id, request.name, request.arguments, turn))


def _add_shown(calls: list[ToldCall], request: ToolCallPart, part: Mapping[Any, Any]) -> None:
    """Add the call in a part of a message as the Vercel AI SDK shows it to users: with its result, and without its turn."""
    if any(call.id == request.id for call in calls):
        return
    state, status = part["state"], None
    if state == "output-available":
        status = result_status(part.get("output"), request.name)
    elif state == "output-error":
        status = result_status({"is_error": True, "text": part.get("errorText")}, request.name)
    elif state == "output-denied":
        status = "refused"
    calls.append(ToldCall(request.id, request.name, request.arguments, -1, status))


def _may_nest_exchange(value: object) -> bool:
    if type(value) is str:
        return value[:1] in ("{", "[") or may_be_objects(value) or may_hold_calls(value)
    return isinstance(value, (Mapping, list))


def _settle(calls: Sequence[ToldCall], result: ToolResult) -> None:
    named = [call for call in calls if result.call_id is not None and call.id == result.call_id]
    named = named or [call for call in calls if call.name == result.name]
    told = next((call for call in named or calls if call.status is None), None)
    if told is not None:
        told.status = result.status(told.name)


_MODEL_MARKERS: Final = (
    '"assistant"', '"Assistant"', '"AIMessage"', '"function_call"', "ASSISTANT: 'assistant'", "MessageRole.ASSISTANT",
)  # fmt: skip


def newest_tool_results(messages: object) -> tuple[ToolResult, ...] | None:
    """Returns the tool results after the model's last message, in order; None if none of them failed, the usual case."""
    if type(messages) is str:
        tail = messages[-TAIL:]
        last_output = max(0, *[tail.rfind(word) for word in _MODEL_MARKERS])
        if len(messages) > MAX_TEXT or not any(tail.find(hint, last_output) >= 0 for hint in _HINTS):
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
                stack.extend(
                    (child, depth + 1) for child in reversed(list(node.values())) if _may_contain_results(child)
                )
        elif isinstance(node, list) and depth < MAX_DEPTH:
            stack.extend((child, depth + 1) for child in reversed(node) if _may_contain_results(child))
        elif isinstance(node, str) and tells_failure(node):
            results.append(ToolResult(None, failed=True))
    return tuple(results) if any(result.failed or result.refusal for result in results) else None


def _may_contain_results(value: object) -> bool:
    return isinstance(value, (Mapping, list)) or (isinstance(value, str) and tells_failure(value))


def _result_in(node: Mapping[Any, Any]) -> ToolResult | None:
    inner = next((node[key] for key in _RESULT_WRAPPERS if isinstance(node.get(key), Mapping)), None)
    if inner is None:
        is_result = name_of(node.get("type")) in _RESULT_TYPES or ("tool_call_id" in node and "content" in node)
        if not is_result and (node.get("role") != "tool" or _contains_results(node)):
            return None
        inner = node
    origin = inner.get("origin")  # Haystack: the call of this result
    sources = (origin, inner, node) if isinstance(origin, Mapping) else (inner, node)
    call_id = next((found for source in sources if (found := name_of(first_value(source, _RESULT_ID_KEYS)))), None)
    return tool_result(call_id, inner)._replace(name=name_of(first_value(inner, _CALL_NAME_KEYS)))


def _contains_results(message: Mapping[Any, Any]) -> bool:
    """Whether a tool's message is a list of results, not one result."""
    parts = parse_any(first_value(message, ("parts", "content")))
    return isinstance(parts, list) and any(
        isinstance(part, Mapping) and _result_in(part) is not None for part in parts[:MAX_PARTS]
    )
