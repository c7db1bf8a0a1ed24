"""What the values of one argument have in common: a constant, a few values, a range, or the shape of a text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any, NamedTuple

from collector.learning.text_shapes import MAX_TEXT, TextShapes
from scorers.rules.masks import is_masked
from scorers.work import Work

MIN_CALLS = 8
"""Values before anything is concluded from them."""
MIN_NUMBERS = 20
"""Numbers before their range is: of fewer, the next is too likely outside."""
_MAX_DISTINCT = 64
_MAX_LISTED = 10
_MAX_NUMBERS = 4_096
_MAX_NUMBER = 1e15  # beyond, a float is not exact
_RARE = 0.1  # a value so much rarer than the most frequent one is taken for a mistake
_FENCE = 3.0  # distances between the quartiles beyond which a number may be a mistake


class Constraint(NamedTuple):
    """A matcher as rule files have it, and how many of the calls it matches."""

    kind: str
    matcher: Any
    hits: int
    calls: int


class Values:
    """The values of one argument seen so far. Memory is limited, whatever comes."""

    def __init__(self) -> None:
        self.count = 0
        self._masked = 0
        self._literals: Counter[str] = Counter()  # as JSON, which tells 1 from "1" and from true
        self._texts, self._text_count = TextShapes(), 0
        self._numbers: list[float] = []
        self._number_count, self._each, self._whole = 0, 1, True

    def add(self, value: Any) -> None:
        """See one more value, as it was parsed from JSON."""
        self.count += 1
        if isinstance(value, str):
            if is_masked(value, Work()):  # there, but nothing tells what it was
                self._masked += 1
                return
            self._text_count += 1
            self._texts.add(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if not -_MAX_NUMBER < value < _MAX_NUMBER:  # nor is NaN
                return
            self._add_number(value)
        if isinstance(value, str | int | float) and len(literal := json.dumps(value)) <= MAX_TEXT:
            self._add_literal(literal)

    def constraint(self, noise: float) -> Constraint | None:
        """Returns what holds of all but a share of ``noise``; None for too few values or if nothing does."""
        count = self.count - self._masked
        if count < MIN_CALLS:
            return None
        enough = (1 - noise) * count
        listed = self._listed(enough)
        if len(listed) == 1:
            return Constraint("constant", json.loads(listed[0]), self._literals[listed[0]], count)
        if self._number_count >= enough:
            return self._range(noise, count)
        if listed:
            values = sorted(json.loads(literal) for literal in listed)
            return Constraint("enum", {"one_of": values}, sum(self._literals[one] for one in listed), count)
        if self._text_count >= enough and (expression := self._texts.expression(noise)) is not None:
            return Constraint("regex", {"regex": expression}, self._text_count, count)
        return None

    def _listed(self, enough: float) -> Sequence[str]:
        """The values of a constant or an enumeration; none if there are too many for one."""
        if not self._literals:
            return []
        (_, most), *_ = self._literals.most_common(1)
        # A value seen once may be a mistake, or the first of many.
        usual = [literal for literal, count in self._literals.items() if count >= max(2, _RARE * most)]
        is_enough = sum(self._literals[literal] for literal in usual) >= enough
        # Of ids each call has its own: few calls would look like an enumeration of them.
        few_for_calls = len(usual) <= min(_MAX_LISTED, (self.count - self._masked) // 3)
        # Texts and numbers in turn are no enumeration that anybody meant, and cannot be sorted.
        same_type = len({type(json.loads(literal)) for literal in usual}) == 1
        return usual if usual and is_enough and few_for_calls and same_type and not _are_both(usual) else []

    def _add_literal(self, literal: str) -> None:
        if literal in self._literals or len(self._literals) < _MAX_DISTINCT:
            self._literals[literal] += 1

    def _add_number(self, value: float) -> None:
        self._whole = self._whole and float(value).is_integer()
        self._number_count += 1
        if self._number_count % self._each == 0:
            self._numbers.append(value)
            if len(self._numbers) > _MAX_NUMBERS:  # every second one tells as much of the range
                self._numbers = sorted(self._numbers)[::2]
                self._each *= 2

    def _range(self, noise: float, count: int) -> Constraint | None:
        if self._number_count < MIN_NUMBERS:
            return None
        numbers = sorted(self._numbers)
        first, third = numbers[len(numbers) // 4], numbers[(3 * len(numbers)) // 4]
        fence = _FENCE * (third - first)
        usual = [number for number in numbers if first - fence <= number <= third + fence]
        # So many outside are no mistakes: the numbers are spread that way.
        if len(usual) < (1 - noise) * len(numbers):
            usual = numbers
        # The next number is outside the range of n with a chance of 2 in n + 1: the range is widened by what that is worth.
        low, high = usual[0], usual[-1]
        margin = 3 * (high - low) / len(usual)
        least = max(0.0, low - margin) if low >= 0 else low - margin
        matcher = {"min": _round(least, high - low, floor), "max": _round(high + margin, high - low, ceil)}
        if self._whole:
            matcher = {"min": floor(matcher["min"]), "max": ceil(matcher["max"])}
        return Constraint("range", matcher, self._number_count * len(usual) // len(numbers), count)


def _are_both(literals: Sequence[str]) -> bool:
    return set(literals) == {"true", "false"}


def _round(value: float, span: float, outward: Any) -> float:
    """Returns the number rounded outward to a hundredth of the span: bounds that a person would write."""
    if span <= 0:
        return value
    unit = 10.0 ** (floor(log10(span)) - 2)
    return float(f"{outward(value / unit) * unit:.12g}")
