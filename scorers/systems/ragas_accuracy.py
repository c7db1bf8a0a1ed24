"""Ragas's ``ToolCallAccuracy`` (PyPI ragas 0.4.3; the older and the ``collections`` class agree).

Formula: both empty 1, one empty 0. The two sequences of names must be equal, else 0 (without strict_order both sides are
first sorted by name, then by their sorted arguments as text). The score is the mean over the calls of

    no expected arguments   1 if none were given, else 0
    else                    the share of expected keys whose values are equal as ``str``: 1 equals "1"

The documentation and the code differ:

- A "proportional coverage penalty" for a length mismatch is documented but unreachable: with different lengths the names
  differ and the score is 0.
- Extra arguments cost nothing, unless no arguments were expected.
- Without strict_order the sorting can pair calls of one name wrongly.

Missing or null arguments, which the original refuses, count as none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scorers.arithmetic import sum_in_order
from scorers.call_scorer import Scorer, labelled_score, make_scorer
from scorers.calls import Call, arguments, names
from scorers.options import Options, parse_options
from scorers.score import Score

NAME = "ragas_accuracy"
VERSION = "ragas@0.4.3"


class RagasAccuracyOptions(Options):
    """Whether the order of the calls matters."""

    strict_order: bool = True


OPTIONS: Final = RagasAccuracyOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer with the original's options. Raises `ValueError` for invalid ones."""
    return make_scorer(parse_options(NAME, RagasAccuracyOptions, options), _score)


def _score(options: RagasAccuracyOptions, expected: list[Call], actual: list[Call]) -> Score:
    value, reason = _value(options, expected, actual)
    return labelled_score(value, reason, {"collections": value})


def _value(options: RagasAccuracyOptions, expected: list[Call], actual: list[Call]) -> tuple[float, str]:
    counts = f"{len(expected)} calls expected, {len(actual)} made"
    if not expected or not actual:
        return float(not expected and not actual), counts
    if not options.strict_order:
        expected, actual = sorted(expected, key=_sort_key), sorted(actual, key=_sort_key)
    if names(expected) != names(actual):
        return 0.0, f"Scores 0: the sequences of names differ; {counts}"
    shares = [_argument_score(arguments(one), arguments(other)) for one, other in zip(expected, actual, strict=True)]
    return sum_in_order(shares) / len(shares), f"the mean over {len(shares)} calls of their shares of equal arguments"


def _argument_score(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> float:
    if not expected:
        return float(not actual)
    equal = sum(key in actual and str(actual[key]) == str(value) for key, value in expected.items())
    return equal / len(expected)


def _sort_key(call: Call) -> tuple[str, ...]:
    given = arguments(call)
    # As text, like the comparison: values of mixed types could not be sorted otherwise.
    return (call.tool, *(text for key in sorted(given) for text in (key, str(given[key]))))
