"""DeepEval's ``ToolCorrectnessMetric`` (PyPI deepeval 4.3.1), without its optional judge of the tool selection.

Formula, where the weight of a pair of calls of one name is 1, or with check_args the similarity of their arguments (below),
and 0 if check_output is set and the outputs differ::

    both empty 1;  nothing expected 0
    should_exact_match        1 if the same number of calls, each of equal name [, arguments] [, output], else 0
    should_consider_ordering  weight of the heaviest common subsequence / |E|
    else                      each expected call takes the heaviest call not EQUAL to one already taken; their sum / |E|

Similarity of two argument objects: 1 if equal, else for each common key 1 / |all keys| if the values are equal, or their
similarity / |all keys| if both are objects. strict_mode turns anything but 1 into 0.

The documentation and the code differ:

- A call is "taken" by value: identical calls are used up together, so that two expected and two made give 0.5.
- Extra calls cost nothing except with should_exact_match; arguments are ignored unless check_args is set.

Raises, like the original, if a call without arguments is compared with one that has some.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scorers.call_scorer import OriginalError, Scorer, labelled_score, make_scorer, spend_on_comparisons
from scorers.calls import Call, optional_arguments
from scorers.options import Options, parse_options
from scorers.score import Score
from scorers.systems.pairing import outcomes
from scorers.work import Work

NAME = "deepeval"
VERSION = "deepeval@4.3.1"


class DeepevalOptions(Options):
    """``check_args`` and ``check_output`` are the original's evaluation_params; ``threshold`` decides the success."""

    should_exact_match: bool = False
    should_consider_ordering: bool = False
    strict_mode: bool = False
    threshold: float = 0.5
    check_args: bool = False
    check_output: bool = False

    def weight(self, expected: Call, actual: Call) -> float:
        """How well the actual call matches the expected one, from 0 to 1."""
        if expected.tool != actual.tool:
            return 0.0
        # The similarity comes first: arguments that cannot be compared raise whatever the outputs are.
        weight = _arguments_similarity(expected, actual) if self.check_args else 1.0
        return 0.0 if self.check_output and expected.output != actual.output else weight

    def equal(self, expected: Call, actual: Call) -> bool:
        """Equality under should_exact_match."""
        if expected.tool != actual.tool:
            return False
        if self.check_args and optional_arguments(expected) != optional_arguments(actual):
            return False
        return not self.check_output or bool(expected.output == actual.output)


OPTIONS: Final = DeepevalOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer with the original's options. Raises `ValueError` for invalid ones."""
    return make_scorer(parse_options(NAME, DeepevalOptions, options), _score, _spend)


def _spend(options: DeepevalOptions, _: list[Call], actual: list[Call], work: Work) -> None:
    if not options.should_exact_match and not options.should_consider_ordering:
        by_tool: dict[str, list[Call]] = {}
        for call in actual:
            by_tool.setdefault(call.tool, []).append(call)
        for calls in by_tool.values():  # `_value_numbers` compares them with each other
            spend_on_comparisons(calls, calls, work)


def _score(options: DeepevalOptions, expected: list[Call], actual: list[Call]) -> Score:
    total, matched = _total(options, expected, actual)
    value = total / len(expected) if expected else float(not actual)
    threshold = 1.0 if options.strict_mode else options.threshold
    shown = f"weight {total:g} of matched calls / {len(expected)} expected, {len(actual)} made"
    if options.strict_mode and value < 1.0:
        value, shown = 0.0, f"{shown}; strict mode makes it 0"
    passed = value >= threshold
    return labelled_score(value, shown, {"success": passed}, passed=passed, outcomes=outcomes(len(actual), matched))


def _total(options: DeepevalOptions, expected: list[Call], actual: list[Call]) -> tuple[float, set[int]]:
    """Returns the weight of the matched calls, and the indexes of the actual ones."""
    if options.should_exact_match:
        both = zip(expected, actual, strict=False)
        same = len(expected) == len(actual) and all(options.equal(*pair) for pair in both)
        return (float(len(expected)), set(range(len(actual)))) if same else (0.0, set())
    if options.should_consider_ordering:
        return _heaviest_subsequence(options, expected, actual)
    return _heaviest_each(options, expected, actual)


def _heaviest_each(options: DeepevalOptions, expected: list[Call], actual: list[Call]) -> tuple[float, set[int]]:
    # Numbers of equal values stand for the original's list of taken calls, so that a look-up is no comparison.
    values = _value_numbers(actual)
    spent: set[int] = set()
    matched: set[int] = set()
    total = 0.0
    for call in expected:
        best, best_weight = -1, 0.0
        for index, other in enumerate(actual):
            if values[index] not in spent and (weight := options.weight(call, other)) > best_weight:
                best, best_weight = index, weight
        if best >= 0:
            spent.add(values[best])
            matched.add(best)
            total += best_weight
    return total, matched


def _value_numbers(calls: list[Call]) -> list[int]:
    """Returns for each call the index of the first call equal to it by name, arguments and output."""
    firsts: dict[str, list[int]] = {}
    numbers = []
    for index, call in enumerate(calls):
        earlier = firsts.setdefault(call.tool, [])
        same = next((other for other in earlier if _same_value(calls[other], call)), None)
        if same is None:
            earlier.append(index)
        numbers.append(index if same is None else same)
    return numbers


def _same_value(one: Call, other: Call) -> bool:
    return optional_arguments(one) == optional_arguments(other) and bool(one.output == other.output)


def _heaviest_subsequence(options: DeepevalOptions, expected: list[Call], actual: list[Call]) -> tuple[float, set[int]]:
    """By dynamic programming; the weight is summed while backtracking, as the original does."""
    table = [[0.0] * (len(actual) + 1) for _ in range(len(expected) + 1)]
    for i, wanted in enumerate(expected, 1):
        above, row = table[i - 1], table[i]
        for j, made in enumerate(actual, 1):
            # Names first: only calls of one tool are compared by their arguments, as `spend_on_comparisons` assumes.
            weight = options.weight(wanted, made) if wanted.tool == made.tool else 0.0
            row[j] = max(above[j], row[j - 1], above[j - 1] + weight if weight > 0 else 0.0)
    total, matched = 0.0, set()
    i, j = len(expected), len(actual)
    while i and j:
        if table[i][j] == table[i - 1][j]:
            i -= 1
        elif table[i][j] == table[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            total += table[i + 1][j + 1] - table[i][j]
            matched.add(j)
    return total, matched


def _arguments_similarity(expected: Call, actual: Call) -> float:
    ours, theirs = optional_arguments(expected), optional_arguments(actual)
    if ours == theirs:
        return 1.0
    if ours is None or theirs is None:
        raise OriginalError(f"deepeval cannot compare two calls of {expected.tool!r} where one has no arguments")
    return _similarity(ours, theirs)


def _similarity(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> float:
    if ours == theirs:
        return 1.0
    keys = len(ours.keys() | theirs.keys())
    total = 0.0
    for key, value in ours.items():
        if key in theirs and value == theirs[key]:
            total += 1 / keys
        elif isinstance(value, Mapping) and isinstance(theirs.get(key), Mapping):
            total += _similarity(value, theirs[key]) / keys
    return total
