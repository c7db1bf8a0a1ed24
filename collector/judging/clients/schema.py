"""How the JSON Schema of an answer is sent to an endpoint: as ``response_format``, or in words if the endpoint refuses it.

A refusal is remembered once the endpoint accepted the same question with the schema in words: only then was it the schema
that it refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

MAX_SCHEMAS = 256
"""Schemas whose state is remembered; scorers define them, so there are few."""


class SchemaState(Enum):
    """What is known about one schema at one endpoint."""

    UNTRIED = auto()
    PROVEN = auto()
    """It was accepted."""
    DOUBTED = auto()
    """It was refused, and is now sent in words to find out why."""
    IN_WORDS = auto()
    """It was refused, and accepted in words: it is sent in words from now on."""


class SchemaEvent(Enum):
    """How an endpoint reacted to a question with a schema."""

    TAKEN = auto()
    REFUSED = auto()
    TAKEN_IN_WORDS = auto()
    REFUSED_IN_WORDS = auto()
    """It was not the schema that the endpoint refused."""


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
"""Other events change nothing; they occur because several questions are in flight at once."""


class Schemas:
    """The state of each schema at one endpoint."""

    def __init__(self) -> None:
        self._states: dict[str, SchemaState] = {}

    def in_words(self, schema: Mapping[str, Any]) -> bool:
        """Returns whether to send the schema in words rather than as ``response_format``."""
        return self._states.get(_key(schema), SchemaState.UNTRIED) in (SchemaState.DOUBTED, SchemaState.IN_WORDS)

    def learn(self, schema: Mapping[str, Any], event: SchemaEvent) -> bool:
        """Record an event. Returns whether to send the same question again, with the schema in words."""
        key = _key(schema)
        before = self._states.get(key, SchemaState.UNTRIED)
        after = TRANSITIONS[before].get(event, before)
        if key in self._states or len(self._states) < MAX_SCHEMAS:
            self._states[key] = after
        return event is SchemaEvent.REFUSED and after in (SchemaState.DOUBTED, SchemaState.IN_WORDS)


def _key(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, sort_keys=True)


def strict(schema: Any) -> Any:
    """Returns the schema with all objects closed and all properties required. What fits it fits the original."""
    if isinstance(schema, Mapping):
        changed = {key: strict(value) for key, value in schema.items()}
        if isinstance(schema.get("properties"), Mapping):
            # OpenAI's strict mode asks for both.
            changed["additionalProperties"] = False
            changed["required"] = list(schema["properties"])
        return changed
    return [strict(item) for item in schema] if isinstance(schema, list) else schema


def worded(schema: Mapping[str, Any]) -> str:
    """Returns the schema as text that ends a question."""
    return f"Answer with one JSON object that fits this JSON Schema, and nothing else:\n{json.dumps(schema)}"
