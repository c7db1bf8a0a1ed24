"""How an answer's JSON Schema is put to an endpoint, and which endpoints' refusals are remembered.

A refusal is remembered once the same question, with the schema in words, was taken: then it was the schema that was not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

_MAX_SCHEMAS = 256  # scorers write them, so they are few


class SchemaState(Enum):
    """What is known of a schema."""

    UNTRIED = auto()
    PROVEN = auto()
    """It was taken."""
    DOUBTED = auto()
    """It was refused, and is tried in words now."""
    IN_WORDS = auto()
    """It was refused, and taken in words: so it stays."""


class SchemaEvent(Enum):
    """What an endpoint may make of a question with a schema."""

    TAKEN = auto()
    REFUSED = auto()
    TAKEN_IN_WORDS = auto()
    REFUSED_IN_WORDS = auto()
    """So it was not the schema that it refused."""


TRANSITIONS: dict[SchemaState, dict[SchemaEvent, SchemaState]] = {
    SchemaState.UNTRIED: {SchemaEvent.TAKEN: SchemaState.PROVEN, SchemaEvent.REFUSED: SchemaState.DOUBTED},
    SchemaState.PROVEN: {},
    SchemaState.DOUBTED: {
        SchemaEvent.TAKEN: SchemaState.PROVEN,
        SchemaEvent.TAKEN_IN_WORDS: SchemaState.IN_WORDS,
        SchemaEvent.REFUSED_IN_WORDS: SchemaState.UNTRIED,
    },
    SchemaState.IN_WORDS: {},
}
"""Events that are not named change nothing: several questions are under way at once."""


class Schemas:
    """What is known of each schema at one endpoint."""

    def __init__(self) -> None:
        self._states: dict[str, SchemaState] = {}

    def in_words(self, schema: Mapping[str, Any]) -> bool:
        """Whether to put it in words; else it is sent as ``response_format``."""
        return self._states.get(_key(schema), SchemaState.UNTRIED) in (SchemaState.DOUBTED, SchemaState.IN_WORDS)

    def learn(self, schema: Mapping[str, Any], event: SchemaEvent) -> bool:
        """Take note; whether the same question is worth a try in words now."""
        key = _key(schema)
        before = self._states.get(key, SchemaState.UNTRIED)
        after = TRANSITIONS[before].get(event, before)
        if key in self._states or len(self._states) < _MAX_SCHEMAS:
            self._states[key] = after
        return event is SchemaEvent.REFUSED and after in (SchemaState.DOUBTED, SchemaState.IN_WORDS)


def _key(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, sort_keys=True)


def strict(schema: Any) -> Any:
    """The schema as strict endpoints want it: every object closed, every property required. Its answers fit the original."""
    if isinstance(schema, Mapping):
        changed = {key: strict(value) for key, value in schema.items()}
        if isinstance(schema.get("properties"), Mapping):
            changed["additionalProperties"] = False
            changed["required"] = list(schema["properties"])
        return changed
    return [strict(item) for item in schema] if isinstance(schema, list) else schema


def worded(schema: Mapping[str, Any]) -> str:
    """The schema as the end of a question."""
    return f"Answer with one JSON object that fits this JSON Schema, and nothing else:\n{json.dumps(schema)}"
