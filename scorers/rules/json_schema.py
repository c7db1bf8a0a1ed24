"""JSON Schema as a matcher: local references only, and no regex that untrusted text could make slow.

Some keywords take quadratic time, and some schemas exponential: each keyword that is applied spends work. ``uniqueItems`` is
our own, since that of jsonschema compares each pair of items, and so is ``multipleOf``, since that of jsonschema divides
floats, by which 19.99 is no multiple of 0.01. So is the metaschema, in one piece: by references among those of its
vocabularies, each schema in a schema takes ten times as long to check.

jsonschema and referencing are imported when the first rule needs them: they cost 0.1 s and several MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from scorers.rules.regexes import MAX_REGEX_MEMORY, compile_regex, is_match, search_cost, steps_of
from scorers.work import Work, hash_key

_KEYWORD_COST: Final = 100
_REFERENCE_COST: Final = 500
_ITEM_COST: Final = 10
_CHARS_PER_UNIT: Final = 8
_BITS_PER_UNIT: Final = 8  # of numbers that are divided
_LISTS: Final = frozenset({"unevaluatedItems", "unevaluatedProperties"})
"""Keywords that look each item up in a list of all others."""


def compile_schema(schema: Mapping[str, Any], regex_memory: int = MAX_REGEX_MEMORY) -> Callable[[Any, Work], bool]:
    """Returns a predicate over JSON values (draft 2020-12 unless ``$schema`` names another).

    Raises ValueError for an invalid schema, for references that are remote or do not resolve, and for
    ``patternProperties``. A value too deep or too large to check, or none that JSON has, is invalid.
    """
    from jsonschema.exceptions import SchemaError, best_match  # noqa: PLC0415
    from jsonschema.validators import Draft202012Validator, extend, validator_for  # noqa: PLC0415

    if not isinstance(schema.get("$schema", ""), str):
        raise ValueError("$schema is not a string")
    draft = validator_for(schema, default=Draft202012Validator)
    if (error := best_match(islice(_metaschema(draft).iter_errors(dict(schema)), 1))) is not None:
        raise ValueError(f"not a JSON Schema: {error.message[:500]}")
    # When the rule is loaded: jsonschema resolves a reference only when it meets it, in the middle of a run.
    registry = _registry(schema)
    schemas = list(_schemas(schema, registry.resolver(_ROOT)))
    expressions = {
        text: compile_regex(text, regex_memory) for found in schemas if isinstance(text := found.get("pattern"), str)
    }

    def pattern(_: Any, text: str, value: Any, __: Any) -> Iterator[Any]:
        if isinstance(value, str):
            _spend(search_cost(steps_of(expressions[text]), len(value)))
            if not is_match(expressions[text], value):
                yield SchemaError(f"does not match {text}")

    def unique_items(_: Any, unique: Any, value: Any, __: Any) -> Iterator[Any]:
        if unique and isinstance(value, list) and len({_key(item) for item in value}) < len(value):
            yield SchemaError("has equal items")

    def multiple_of(validator: Any, unit: Any, value: Any, _: Any) -> Iterator[Any]:
        if validator.is_type(value, "number") and not _is_multiple(value, unit):
            yield SchemaError("is not a multiple")

    ours = {**draft.VALIDATORS, "pattern": pattern, "uniqueItems": unique_items, "multipleOf": multiple_of}
    checker: Any = extend
    metered = {keyword: _metered(keyword, check) for keyword, check in ours.items()}
    # By a reference: jsonschema would look for the anchors of its own schema at each reference to one.
    by_anchor = any(not _is_pointer(found[key]) for found in schemas for key in _REFERENCES.intersection(found))
    validator = checker(draft, metered)({"$ref": _ROOT} if by_anchor else schema, registry=registry)

    def valid(value: Any, work: Work) -> bool:
        _work.set(work)
        try:
            return bool(validator.is_valid(value))
        # A value that cannot be checked is not valid: whoever makes it so must not pass by it. It is too deep, has too large
        # a number or one too long to print, or is none that JSON has, such as a set.
        except (RecursionError, ArithmeticError, ValueError, TypeError):
            return False

    return valid


@lru_cache(maxsize=8)  # there are six drafts
def _metaschema(draft: Any) -> Any:
    """Returns what tells schemas of this draft, without references to other documents."""
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # noqa: PLC0415

    whole: dict[str, Any] = draft.META_SCHEMA
    if "allOf" not in whole:  # in one piece since it was written
        return draft(whole)
    properties, definitions = dict(whole["properties"]), dict[str, Any]()
    for part in whole["allOf"]:
        vocabulary: Any = REGISTRY.resolver(whole["$id"]).lookup(part["$ref"]).contents
        properties |= vocabulary.get("properties", {})
        definitions |= vocabulary.get("$defs", {})
    return draft(_in_one({"type": whole["type"], "properties": properties, "$defs": definitions}))


def _in_one(node: Any) -> Any:
    if isinstance(node, Mapping):
        # A property by this name, which is described by a schema, stays.
        if any(isinstance(node.get(key), str) for key in _SELF):
            return {"$ref": "#"}
        whole = {key: _in_one(value) for key, value in node.items()}
        if isinstance(reference := node.get("$ref"), str):
            whole["$ref"] = reference[reference.index("#") :]  # of another vocabulary, too
        return whole
    return [_in_one(item) for item in node] if isinstance(node, list) else node


_SELF: Final = frozenset({"$dynamicRef", "$recursiveRef"})
"""How the vocabularies refer to the schema that they are part of."""

_work: ContextVar[Work] = ContextVar("work")
"""Where the keywords of a schema spend: jsonschema passes nothing on to them. An evaluation in slices has a context of its own,
so another one that uses the same schema meanwhile spends elsewhere."""


def _spend(units: int) -> None:
    _work.get().spend(units, "schema")


def _metered(keyword: str, check: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    """Returns the check of a keyword, spending its own work; that of the schemas below it they spend themselves."""
    base = _REFERENCE_COST if keyword in ("$ref", "$dynamicRef") else _KEYWORD_COST

    def checked(validator: Any, expected: Any, value: Any, schema: Any) -> Iterator[Any]:
        size = len(value) if isinstance(value, list | Mapping) else 0
        size += len(expected) if isinstance(expected, list | Mapping) else 0
        # Every keyword spends, not each schema once: references that branch apply the same schema exponentially often.
        _spend(base + _ITEM_COST * size + (size * size // 4 if keyword in _LISTS else 0))
        for error in check(validator, expected, value, schema) or ():
            _spend(len(error.message) // _CHARS_PER_UNIT)  # it quotes the value
            yield error

    return checked


def _key(value: Any) -> Any:
    """Equal exactly if two JSON values are: 1 equals 1.0, and neither equals true; the order of keys does not matter."""
    if isinstance(value, Mapping):
        _spend(_ITEM_COST * (1 + len(value)))
        return ("object", frozenset((key, _key(item)) for key, item in value.items()))
    if isinstance(value, list):
        _spend(_ITEM_COST * (1 + len(value)))
        return ("array", tuple(_key(item) for item in value))
    if isinstance(value, str):
        _spend(len(value) // _CHARS_PER_UNIT)
        return value
    if isinstance(value, int | float):
        return (isinstance(value, bool), hash_key(value))
    return value


def _is_multiple(value: float, unit: float) -> bool:
    """Whether that holds for the numbers as they are written. Raises ValueError for infinity and NaN."""
    number, divisor = _as_written(value), _as_written(unit)
    # In integers: a quotient of fractions would be reduced first, which takes longer than the division.
    whole, part = number.numerator * divisor.denominator, divisor.numerator * number.denominator
    _spend((whole.bit_length() + part.bit_length()) // _BITS_PER_UNIT)
    return whole % part == 0


def _as_written(number: float) -> Fraction:
    return Fraction(repr(number) if isinstance(number, float) else number)


_ROOT: Final = "urn:schema"
_REFERENCES: Final = frozenset({"$ref", "$dynamicRef"})
_BY_NAME: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords of all drafts that hold schemas by name; a name may be that of a keyword."""
_SCHEMAS: Final = frozenset(
    {
        *("additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema", "disallow", "else"),
        *("extends", "if", "items", "not", "oneOf", "prefixItems", "propertyNames", "then", "type"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
"""Those that hold a schema or a list of them. Whatever others hold, such as ``const`` and ``default``, are values."""


def _registry(schema: Mapping[str, Any]) -> Any:
    """Returns what knows the anchors of the schema. Raises ValueError."""
    from referencing import Registry, Resource  # noqa: PLC0415
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

    try:
        return Registry().with_resource(_ROOT, Resource.from_contents(schema, DRAFT202012)).crawl()
    except AttributeError:  # at `extends` of draft 3
        raise ValueError("its parts cannot be told apart; write it in a newer draft") from None


def _schemas(schema: Mapping[str, Any], resolver: Any) -> Iterator[Mapping[str, Any]]:
    """Every schema in a schema, once. Raises ValueError for what is not supported.

    Where a reference leads there is a schema, too, even if it is a value as well.
    """
    seen, waiting = set[int](), [schema]
    while waiting:
        found = waiting.pop()
        if not isinstance(found, Mapping) or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        if "patternProperties" in found:
            raise ValueError("patternProperties is not supported")
        if found is not schema and isinstance(found.get("$schema"), str):
            raise ValueError("$schema is supported only at the top of a schema")
        for keyword, value in found.items():
            if keyword in _BY_NAME and isinstance(value, Mapping):
                waiting += value.values()
            elif keyword in _SCHEMAS:
                waiting += value if isinstance(value, list) else [value]
            elif keyword in _REFERENCES:
                waiting.append(_target(keyword, value, resolver))


def _target(keyword: str, reference: object, resolver: Any) -> Any:
    """Returns the schema that a reference leads to. Raises ValueError."""
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    if not isinstance(reference, str) or not reference.startswith("#"):
        raise ValueError(
            f"{keyword} {reference!r} points outside the schema; only local references (#...) are supported"
        )
    try:
        target = resolver.lookup(reference).contents
    except (Unresolvable, TypeError, ValueError):  # the latter two on the way through what is no schema
        target = None
    # What is no schema would raise when a run is checked.
    if not isinstance(target, Mapping | bool):
        raise ValueError(f"{keyword} {reference!r} does not resolve to a schema")
    return target


def _is_pointer(reference: str) -> bool:
    return reference == "#" or reference.startswith("#/")
