"""JSON Schema as a matcher: local references only, and no regex that untrusted text could make slow.

jsonschema and referencing are imported when the first rule needs them: they cost 0.1 s and several MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from scorers.rules.regexes import compile_regex, is_match


def compile_schema(schema: Mapping[str, Any]) -> Callable[[Any], bool]:
    """Returns a predicate over JSON values (draft 2020-12 unless ``$schema`` names another).

    Raises ValueError for an invalid schema, for references that are remote or do not resolve, and for
    ``patternProperties``. A value too deep or too large to check is invalid.
    """
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415
    from jsonschema.validators import Draft202012Validator, extend, validator_for  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415

    draft = validator_for(schema, default=Draft202012Validator)
    try:
        draft.check_schema(dict(schema))
    except SchemaError as error:
        raise ValueError(f"not a JSON Schema: {error.message[:500]}") from None
    _check_references(schema)
    expressions = {text: compile_regex(text) for text in _values(schema, "pattern") if isinstance(text, str)}

    def pattern(_: Any, text: str, value: Any, __: Any) -> Iterator[Any]:
        if isinstance(value, str) and not is_match(expressions[text], value):
            yield SchemaError(f"does not match {text}")

    checker: Any = extend
    validator = checker(draft, {"pattern": pattern})(schema, registry=Registry())

    def valid(value: Any) -> bool:
        try:
            return bool(validator.is_valid(value))
        except (RecursionError, ArithmeticError, ValueError):  # too deep, too large a number, or one too long to print
            return False

    return valid


def _check_references(schema: Mapping[str, Any]) -> None:
    from referencing import Registry, Resource  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

    if next(_values(schema, "patternProperties"), None) is not None:
        raise ValueError("patternProperties is not supported")
    resolver = Registry().with_resource("", Resource.from_contents(schema, DRAFT202012)).resolver()
    for key in ("$ref", "$dynamicRef"):
        for reference in _values(schema, key):
            if not isinstance(reference, str) or not reference.startswith("#"):
                raise ValueError(
                    f"{key} {reference!r} points outside the schema; only local references (#...) are supported"
                )
            try:
                resolver.lookup(reference)
            except Unresolvable:
                raise ValueError(f"{key} {reference!r} does not resolve") from None


def _values(schema: Any, key: str) -> Iterator[Any]:
    """Every value under this key, at any depth."""
    if isinstance(schema, Mapping):
        if key in schema:
            yield schema[key]
        for value in schema.values():
            yield from _values(value, key)
    elif isinstance(schema, list):
        for item in schema:
            yield from _values(item, key)
