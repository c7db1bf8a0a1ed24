"""When a JSON Schema is sent in words, and for how many schemas that is remembered."""

from __future__ import annotations

from typing import Any

from collector.judging.clients.schema import MAX_SCHEMAS, SchemaEvent, Schemas


def schema(number: int) -> dict[str, Any]:
    return {"const": number}


def test_a_refusal_is_final_once_the_same_question_was_accepted_in_words() -> None:
    schemas = Schemas()
    assert schemas.learn(schema(1), SchemaEvent.REFUSED)
    assert not schemas.learn(schema(1), SchemaEvent.TAKEN_IN_WORDS)
    assert (schemas.in_words(schema(1)), schemas.in_words(schema(2))) == (True, False)


def test_a_refusal_in_words_too_was_not_for_the_schema() -> None:
    schemas = Schemas()
    schemas.learn(schema(1), SchemaEvent.REFUSED)
    schemas.learn(schema(1), SchemaEvent.REFUSED_IN_WORDS)
    assert not schemas.in_words(schema(1))


def test_an_accepted_schema_stays_a_schema() -> None:
    schemas = Schemas()
    schemas.learn(schema(1), SchemaEvent.TAKEN)
    assert not schemas.learn(schema(1), SchemaEvent.REFUSED)
    assert not schemas.in_words(schema(1))


def test_the_number_of_schemas_is_bounded() -> None:
    schemas = Schemas()
    for number in range(MAX_SCHEMAS + 1):
        schemas.learn(schema(number), SchemaEvent.REFUSED)
    assert schemas.in_words(schema(MAX_SCHEMAS - 1))
    assert not schemas.in_words(schema(MAX_SCHEMAS))
    schemas.learn(schema(0), SchemaEvent.TAKEN_IN_WORDS)
    assert schemas.in_words(schema(0))
