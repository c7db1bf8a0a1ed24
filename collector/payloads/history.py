"""Finds the tool calls in a model's input: those it requested earlier, with what became of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from collector.payloads.messages import (
    CALL_LISTS,
    MAX_CALLS,
    MAX_DEPTH,
    MAX_NODES,
    SKIPPED_KEYS,
    ToolCallPart,
    added_call,
    call_in,
)
from collector.payloads.provider_results import provider_result
from collector.payloads.reprs import may_be_objects, parse_message
from collector.payloads.roles import MODEL_ROLES, USER_ROLES, plain_role, role_of
from collector.payloads.text_calls import (
    REPEATED,
    follows_lost_attempt,
    is_broken_action,
    is_observation,
    may_hold_calls,
    parse_action,
    parse_exchange,
)
from collector.payloads.tool_results import (
    BY_PROVIDER,
    MAX_PARTS,
    ResultStatus,
    ToolResult,
    contains_results,
    is_decision,
    result_in,
    result_status,
)
from collector.payloads.values import first_value

_JSON: Final = ("{", "[")
"""How an input in JSON begins, also one of which the end was cut off."""


@dataclass(slots=True)
class HistoryCall:
    """A tool call in a model's input: the model requested it earlier, and was told what became of it."""

    id: str | None
    name: str
    arguments: Any
    turn: int = 0
    """Calls of one turn are told before the results of any of them. -1 where nothing tells the turn."""
    status: ResultStatus | None = None
    """None if the input holds no result."""
    ran_with: Any = None
    """The arguments with which it ran, if its result repeats them."""


def calls_in_history(
    messages: object, unread: list[str] | None = None, unasked: list[ToolResult] | None = None
) -> list[HistoryCall]:
    """Returns the tool calls in a model's input since the user's last message, in order, with what became of each.

    Bounded in nodes, depth and calls. A result without the id of a call belongs to the first one that has none yet, of the
    tool that it names if it names one. A call that one message holds twice, in two formats, counts once. Messages that are
    reprs and could not be parsed, the rest of an input that was not read to its end, requests in words that are damaged, and
    prompts after an attempt that is not told are added to ``unread``, results of calls that the input does not hold to
    ``unasked``.
    """
    calls: list[HistoryCall] = []
    stack: list[tuple[object, bool, int]] = [(messages, False, 0)]
    is_decided, added = False, set[str]()
    for _ in range(MAX_NODES):
        if not stack or len(calls) >= MAX_CALLS:
            break
        node, listed, depth = stack.pop()
        if isinstance(node, Mapping):
            result = provider_result(node) if node.get("type") == BY_PROVIDER else result_in(node)
            is_decided = is_decided or is_decision(node)
            if result is not None:
                _tell(result.settled() if is_decided else result, calls, unasked, added)
            elif (by_framework := added_call(node)) is not None:
                added.update([by_framework.id] if by_framework.id is not None else ())
            elif (request := call_in(node, listed)) is not None:
                _add(calls, request, node)
            else:
                if is_of_user(node):
                    is_decided = False
                    _forget(calls, unasked)
                stack.extend((told, False, depth + 1) for told in _told_in_words(node, unread)[::-1])
                if depth < MAX_DEPTH:
                    stack.extend(
                        (child, key in CALL_LISTS, depth + 1)
                        for key, child in reversed(list(node.items()))
                        if key not in SKIPPED_KEYS and _may_nest_exchange(child)
                    )
        elif isinstance(node, list) and depth < MAX_DEPTH:
            stack.extend((child, listed, depth + 1) for child in reversed(node) if _may_nest_exchange(child))
        elif isinstance(node, str) and depth < MAX_DEPTH and (parsed := _read_text(node, unread)) is not None:
            stack.append((parsed, listed, depth + 1))
    _note_rest(messages, calls, bool(stack), unread)
    return calls


def _tell(result: ToolResult, calls: Sequence[HistoryCall], unasked: list[ToolResult] | None, added: set[str]) -> None:
    """Note what a result says of its call, unless the framework has ``added`` both."""
    if result.call_id not in added and not _settle(calls, result) and unasked is not None:
        unasked.append(result)


def _forget(calls: list[HistoryCall], unasked: list[ToolResult] | None) -> None:
    calls.clear()
    if unasked is not None:
        unasked.clear()


def _note_rest(messages: object, calls: Sequence[HistoryCall], has_rest: bool, unread: list[str] | None) -> None:
    """Note that an input was not read to its end: a limit was reached, or it is JSON that was cut, which cannot be parsed."""
    if unread is None or unread:
        return
    is_cut = not calls and type(messages) is str and messages[:1] in _JSON and _read_text(messages, None) is None
    if has_rest or is_cut:
        unread.append("")


def is_of_user(node: Mapping[Any, Any]) -> bool:
    """Whether an object is a message of the user, and not one that brings results as the user's words."""
    if "role" not in node and "message" in node:
        return False  # around a message, which comes next
    if role_of(node) not in USER_ROLES:
        return False
    written = node["kwargs"] if "lc" in node and isinstance(node.get("kwargs"), Mapping) else node
    return not (contains_results(written) or is_observation(written))


def _told_in_words(message: Mapping[Any, Any], unread: list[str] | None) -> list[Mapping[str, Any]]:
    """Returns the call in the words of a model, and its result, as messages. Prompts have such words as an example."""
    is_of_model = plain_role(message.get("role")) in MODEL_ROLES
    if not is_of_model and unread is None:
        return []
    content = message.get("content") or message.get("parts")
    parts = content if isinstance(content, list) else [content]
    found = [
        first_value(part, ("text", "content")) if isinstance(part, Mapping) else part for part in parts[:MAX_PARTS]
    ]
    texts = [text for text in found if type(text) is str]
    if unread is not None:
        unread += filter(is_broken_action if is_of_model else follows_lost_attempt, texts)
    return [told for text in texts for told in parse_action(text)] if is_of_model else []


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


def _add(calls: list[HistoryCall], request: ToolCallPart, part: Mapping[Any, Any]) -> None:
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
    calls.append(HistoryCall(request.id, request.name, request.arguments, turn))


def _add_shown(calls: list[HistoryCall], request: ToolCallPart, part: Mapping[Any, Any]) -> None:
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
    calls.append(HistoryCall(request.id, request.name, request.arguments, -1, status))


def _may_nest_exchange(value: object) -> bool:
    if type(value) is str:
        return value[:1] in ("{", "[") or may_be_objects(value) or may_hold_calls(value)
    return isinstance(value, (Mapping, list))


def _settle(calls: Sequence[HistoryCall], result: ToolResult) -> bool:
    """Note what became of the call that the result is of. Returns whether there is one."""
    named = [call for call in calls if result.call_id is not None and call.id == result.call_id]
    named = named or [call for call in calls if call.name == result.name]
    told = next((call for call in named or calls if call.status is None), None)
    if told is not None:
        told.status, told.ran_with = result.status(told.name), result.arguments
    return told is not None
