"""Answers of models among the attributes of a span whose words do not say what it is."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from collector.payloads.attribute_shapes import MAX_KEY, MAX_LOOKED_AT, Meaning
from collector.payloads.messages import is_answer
from collector.payloads.values import name_of, parse_json

_ROLE, _TYPE = '"role"', '"type"'
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


def _are_parts(value: object) -> bool:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_LOOKED_AT:
        return False
    return all(isinstance(part, Mapping) and name_of(part.get("type")) in _OF_ANSWERS for part in value)
