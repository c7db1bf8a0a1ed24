"""Answers of models among the attributes of a span whose words do not say what it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from collector.payloads.attribute_shapes import MAX_KEY, MAX_LOOKED_AT, Meaning, meaning_of
from collector.payloads.messages import is_answer, may_contain_tool_calls, tool_call_parts
from collector.payloads.roles import OTHER_ROLES, role_of
from collector.payloads.text_calls import parse_action
from collector.payloads.tool_results import may_contain_results, result_in
from collector.payloads.values import name_of, parse_json

_ROLE, _TYPE = '"role"', '"type"'
_NO_ANSWERS: Final = ("input", "user_input", "tool_name", "call_id")
_STATE_DEPTH: Final = 4
"""How deep the messages are in what a node of a graph returns."""
_OF_ANSWERS: Final = frozenset({"text", "tool_use", "thinking"})
"""Types of the parts of an answer of Anthropic's models."""


def answer_with_input(attributes: Mapping[str, Any]) -> dict[Meaning, list[Any]]:
    """Returns a message of a model, or the parts of one beside messages, whatever its key; nothing if there is not just one."""
    answers, parts, inputs = list[Any](), list[Any](), list[Any]()
    for value in islice(attributes.values(), MAX_LOOKED_AT):
        if type(value) is not str or value[:1] not in ("{", "["):
            continue
        if value[:1] == "{":
            answers += [value] if _ROLE in value and is_answer(value) else []
        elif _ROLE in value[:MAX_KEY] or _TYPE not in value:
            inputs.append(value)
        elif _are_parts(parse_json(value)):
            parts.append(value)
        elif _ROLE in value:
            inputs.append(value)
    found = answers or (parts if inputs else [])
    return {"output": found, "input": inputs} if len(found) == 1 else {}


def answered_results(attributes: Mapping[str, Any]) -> dict[Meaning, list[Any]]:
    """Returns the one message of a model beside the one list of messages with results of calls; nothing without them."""
    exchange = answer_with_input(attributes)
    inputs = exchange.get("input", ())
    return exchange if len(inputs) == 1 and may_contain_results(inputs[0]) else {}


def asking_answer(attributes: Mapping[str, Any]) -> object:
    """Returns the first value with calls as a provider writes them, and no message or result beside; None without any.

    With these it is what a model was told, or a transcript. An answer has no name of its own in words that are not known.
    """
    for key, value in islice(attributes.items(), MAX_LOOKED_AT):
        if type(value) is str and value[:1] in ("{", "[") and may_contain_tool_calls(value):
            answer = parse_json(value)
            if meaning_of(key) not in _NO_ANSWERS and not _is_told(answer) and tool_call_parts(answer):
                return answer
    return None


def action_in_text(attributes: Mapping[str, Any]) -> object:
    """Returns the call in a model's words, as ReAct's prompts ask for it, whatever the key; None without one."""
    looked_at = islice(attributes.items(), MAX_LOOKED_AT)
    # A prompt shows by an example how to ask.
    texts = (value for key, value in looked_at if type(value) is str and meaning_of(key) not in _NO_ANSWERS)
    found = next((action for text in texts if (action := parse_action(text))), None)
    return None if found is None or len(found) > 1 else found  # with a result it is what a model was told


def _is_told(value: object) -> bool:
    """Whether a value holds messages of others than a model, results, or the state of a graph in which messages are."""
    told = value.get("messages", value) if isinstance(value, Mapping) else value
    items = told if isinstance(told, list) else [told]
    return any(
        isinstance(item, Mapping) and (role_of(item) in OTHER_ROLES or result_in(item) is not None) for item in items
    ) or any(map(_holds_messages, items))


def _holds_messages(item: object) -> bool:
    level = [item]
    for _ in range(_STATE_DEPTH):
        level = [child for node in level if isinstance(node, (Mapping, list)) for child in _children(node)]
        if any(isinstance(node, Mapping) and "messages" in node for node in level):
            return True
    return isinstance(item, Mapping) and "messages" in item


def _children(node: Mapping[Any, Any] | list[Any]) -> Iterable[Any]:
    return node.values() if isinstance(node, Mapping) else node


def _are_parts(value: object) -> bool:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_LOOKED_AT:
        return False
    return all(isinstance(part, Mapping) and name_of(part.get("type")) in _OF_ANSWERS for part in value)
