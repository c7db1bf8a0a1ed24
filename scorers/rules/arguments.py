"""Whether the arguments of a call are the ones a rule asks for.

A literal is equal as JSON is: ``1`` equals ``1.0``, never ``true`` and never ``"1"``; the order of keys is nothing, the
order of a list is. A text matcher reads a number or a boolean as its JSON text, and never holds for null, lists or
mappings. Arguments come from outside: any value, however large or deep, gives True or False and no exception.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import mul
from typing import Any

from rapidfuzz import fuzz

from scorers.rules.json_schema import compile_schema
from scorers.rules.matchers import (
    Approx,
    ArgumentPattern,
    Exact,
    Fuzzy,
    Ignore,
    OneOfValues,
    Present,
    Range,
    Regex,
    Schema,
    Semantic,
    Subset,
)
from scorers.rules.regexes import compile_regex, found

Embed = Callable[[str], Sequence[float]]
"""The meaning of a text as a vector; given from outside, for scorers do no I/O."""

Test = Callable[[Any], bool]

MAX_TEXT = 20_000
"""Longer texts match no text matcher: nobody meant them, and similarity takes time in proportion."""

ABSENT = object()
"""In place of the value of a key that is not there."""

MANY = 5
"""Literal choices from which a look-up is faster than trying each."""

_SCALARS = (str, int, float, type(None))

_RATIOS: Mapping[str, Callable[..., float]] = {
    "ratio": fuzz.ratio,
    "partial": fuzz.partial_ratio,
    "token_sort": fuzz.token_sort_ratio,
    "token_set": fuzz.token_set_ratio,
    "weighted": fuzz.WRatio,
}


class SemanticsMissingError(ValueError):
    """A rule asks for semantic similarity and nobody gave the function that embeds a text."""


def compile_arguments(patterns: Mapping[str, ArgumentPattern], mode: str, embed: Embed | None = None) -> Test:
    """A predicate over a call's arguments. Raises ValueError where a matcher cannot be built.

    Mode ``subset`` lets a call have further keys, ``exact`` does not.
    """
    # Plain scalars are compared in place, for they are what most rules ask and what is asked most often.
    scalars = [(key, pattern) for key, pattern in patterns.items() if type(pattern) in _SCALARS]
    tests = [
        (key, compile_argument(pattern, embed)) for key, pattern in patterns.items() if type(pattern) not in _SCALARS
    ]
    known = frozenset(patterns) if mode == "exact" else None

    def matches(arguments: Mapping[str, Any]) -> bool:
        get = arguments.get
        for key, expected in scalars:
            value = get(key, ABSENT)
            # Python has True equal 1; JSON does not. No scalar kept here is a boolean.
            if value != expected or value is True or value is False:
                return False
        for key, test in tests:
            if not test(get(key, ABSENT)):
                return False
        return known is None or known.issuperset(arguments)

    return matches


def compile_choices(
    choices: Sequence[tuple[int, Mapping[str, ArgumentPattern], str]], embed: Embed | None = None
) -> Callable[[Mapping[str, Any]], int]:
    """Of several (bit, patterns, mode) those that hold, as the sum of their bits."""
    tests = [(bit, compile_arguments(patterns, mode, embed)) for bit, patterns, mode in choices]
    literals = [(bit, patterns) for bit, patterns, mode in choices if mode == "subset" and _all_scalar(patterns)]
    if len(literals) == len(choices) >= MANY and len({tuple(sorted(patterns)) for _, patterns in literals}) == 1:
        return _look_up(dict(tests), literals)
    if len(tests) == 1:
        ((only, holds),) = tests
        return lambda arguments: only if holds(arguments) else 0

    def bits(arguments: Mapping[str, Any]) -> int:
        found = 0
        for bit, test in tests:
            if test(arguments):
                found |= bit
        return found

    return bits


def _look_up(
    tests: Mapping[int, Test], literals: Sequence[tuple[int, Mapping[str, ArgumentPattern]]]
) -> Callable[[Mapping[str, Any]], int]:
    """Where one tool is expected many times over and only literals differ, the few that can hold are looked up."""
    keys = sorted(literals[0][1])
    table: dict[tuple[Any, ...], list[int]] = {}
    for bit, patterns in literals:
        table.setdefault(tuple(patterns[key] for key in keys), []).append(bit)

    def bits(arguments: Mapping[str, Any]) -> int:
        try:
            candidates = table.get(tuple([arguments.get(key, ABSENT) for key in keys]), ())
        except TypeError:  # a list or a mapping, which no scalar equals
            return 0
        return sum(bit for bit in candidates if tests[bit](arguments))

    return bits


def _all_scalar(patterns: Mapping[str, ArgumentPattern]) -> bool:
    return bool(patterns) and all(type(pattern) in _SCALARS for pattern in patterns.values())


def compile_argument(pattern: ArgumentPattern, embed: Embed | None = None) -> Test:
    """A predicate over one argument's value, or `ABSENT`."""
    build = _BUILDERS.get(type(pattern))
    return build(pattern, embed) if build is not None else lambda value: equal(pattern, value)


def equal(expected: Any, value: Any) -> bool:
    """Equality of JSON values. Only as deep as ``expected``, which a rule bounds."""
    if isinstance(expected, dict):
        return (
            isinstance(value, Mapping)
            and len(expected) == len(value)
            and all(key in value and equal(item, value[key]) for key, item in expected.items())
        )
    if isinstance(expected, list):
        return (
            isinstance(value, list | tuple)
            and len(expected) == len(value)
            and all(equal(item, got) for item, got in zip(expected, value, strict=True))
        )
    if isinstance(expected, bool) or isinstance(value, bool):
        return expected is value
    if isinstance(expected, int | float):
        return isinstance(value, int | float) and expected == value
    return type(expected) is type(value) and bool(expected == value)


def text_of(value: Any) -> str | None:
    """The value as text matchers read it; None where they never hold for it."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or (isinstance(value, int) and value.bit_length() < 1_000):
        return str(value)
    return None


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _regex(pattern: Regex, _: Embed | None) -> Test:
    expression = compile_regex(pattern.regex)
    return lambda value: (text := text_of(value)) is not None and found(expression, text)


def _fuzzy(pattern: Fuzzy, _: Embed | None) -> Test:
    similarity, wanted, cutoff = _RATIOS[pattern.ratio], pattern.fuzzy.casefold(), pattern.threshold * 100 - 1e-9
    return lambda value: (text := text_of(value)) is not None and similarity(wanted, text.casefold()) >= cutoff


def _semantic(pattern: Semantic, embed: Embed | None) -> Test:
    if embed is None:
        raise SemanticsMissingError(f"semantic {pattern.semantic!r} needs embeddings; install the extra `semantic`")
    wanted, threshold = tuple(embed(pattern.semantic)), pattern.threshold

    def means(value: Any) -> bool:
        text = text_of(value)
        return text is not None and _cosine(wanted, embed(text)) >= threshold

    return means


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    norm = math.hypot(*left) * math.hypot(*right)
    return sum(map(mul, left, right)) / norm if norm else 0.0


def _range(pattern: Range, _: Embed | None) -> Test:
    low = -math.inf if pattern.min is None else pattern.min
    high = math.inf if pattern.max is None else pattern.max
    return lambda value: _number(value) and low <= value <= high


def _approx(pattern: Approx, _: Embed | None) -> Test:
    low, high = pattern.approx - pattern.tolerance, pattern.approx + pattern.tolerance
    return lambda value: _number(value) and low <= value <= high


def _one_of(pattern: OneOfValues, embed: Embed | None) -> Test:
    tests = [compile_argument(item, embed) for item in pattern.one_of]
    return lambda value: any(test(value) for test in tests)


def _subset(pattern: Subset, embed: Embed | None) -> Test:
    matches = compile_arguments(pattern.subset, "subset", embed)
    return lambda value: isinstance(value, Mapping) and matches(value)


def _schema(pattern: Schema, _: Embed | None) -> Test:
    valid = compile_schema(pattern.json_schema)
    return lambda value: value is not ABSENT and valid(value)


_BUILDERS: Mapping[type, Callable[[Any, Embed | None], Test]] = {
    Regex: _regex,
    Fuzzy: _fuzzy,
    Semantic: _semantic,
    Range: _range,
    Approx: _approx,
    OneOfValues: _one_of,
    Subset: _subset,
    Schema: _schema,
    Present: lambda pattern, _: lambda value: (value is not ABSENT) == pattern.present,
    Ignore: lambda _, __: lambda _value: True,
    Exact: lambda pattern, _: lambda value: equal(pattern.exact, value),
}
