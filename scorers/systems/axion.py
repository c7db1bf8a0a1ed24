"""Axion's ``ToolCorrectness`` (GitHub ax-foundry/axion at 7ab96dc; ``axion`` on PyPI is another project).

Formula, where m expected calls have a matching actual call, each the first one still unused::

    both empty 1;  nothing expected but something called 0           (in every mode)
    strict_order   1 if there are as many calls as expected and each matches at its position, else 0; ``scoring`` is ignored
    else           recall m / |E|, precision m / |A| (1 where nothing was called), or their F1, by ``scoring``

A call matches by name and, with check_parameters, by its arguments: ``exact`` (Python's ==, also for an unknown
strategy), ``subset`` (every expected key, objects recursively, all else ==), ``fuzzy`` (the mean similarity over the
expected keys reaches fuzzy_threshold; an expectation without arguments matches anything).

The documentation and the code differ:

- The documentation mentions recall only; the code has ``scoring`` and starts flexible explanations with ``[recall]``.
- It recommends ``subset`` for a differing string, which ``subset`` still compares with ==; its fuzzy example ("what is
  ML", "what is machine learning") is similar by 0.47 and scores 0 at the default threshold.
- Similarity has surprises: null and null, and 1 and 1.0, have similarity 0; numbers of opposite sign can have -1; and
  for texts of 200 characters or more difflib's autojunk heuristic lowers it.

Our own limit: texts longer than `TEXT_LIMIT` are refused, because difflib's time grows with the product of the lengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Annotated, Any, Final, Literal

from scorers.arithmetic import sum_in_order
from scorers.call_scorer import Scorer, labelled_score, make_scorer
from scorers.calls import Call, arguments, names
from scorers.options import Choices, Options, parse_options
from scorers.score import Score
from scorers.systems.formulas import f1_score, share
from scorers.systems.pairing import first_fit, outcomes
from scorers.work import Work

NAME = "axion"
VERSION = "ax-foundry/axion@7ab96dc"

TEXT_LIMIT = 10_000
"""Characters of a text that fuzzy matching compares: a hostile pair of this length takes a quarter of a second."""
_COMPARED_CHARACTERS_PER_UNIT = 40


class AxionOptions(Options):
    """``threshold`` only decides pass or fail."""

    check_parameters: bool = False
    strict_order: bool = False
    parameter_matching_strategy: Annotated[str, Choices("exact", "subset", "fuzzy")] = "exact"
    fuzzy_threshold: float = 0.8
    scoring: Literal["recall", "precision", "f1"] = "recall"
    threshold: float = 0.5

    def fits(self, expected: Call, actual: Call) -> bool:
        """Whether the actual call is the expected one."""
        if expected.tool != actual.tool:
            return False
        return not self.check_parameters or self._arguments_fit(arguments(expected), arguments(actual))

    def _arguments_fit(self, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> bool:
        if self.parameter_matching_strategy == "subset":
            return _is_subset(expected, actual)
        if self.parameter_matching_strategy == "fuzzy":
            likeness = sum_in_order(_similarity(actual.get(key), value) for key, value in expected.items())
            return not expected or likeness / len(expected) >= self.fuzzy_threshold
        return actual == expected


OPTIONS: Final = AxionOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer with the original's options. Raises `ValueError` for invalid ones."""
    return make_scorer(parse_options(NAME, AxionOptions, options), _score, _spend)


def _spend(options: AxionOptions, expected: list[Call], actual: list[Call], work: Work) -> None:
    if options.check_parameters and options.parameter_matching_strategy == "fuzzy":
        # difflib takes the product of two lengths at worst; the product of the sums is that of all pairs together.
        ours, theirs = sum(map(_characters, expected)), sum(map(_characters, actual))
        work.spend(ours * theirs // _COMPARED_CHARACTERS_PER_UNIT, "fuzzy")


def _characters(value: Any) -> int:
    """The characters of all texts in a value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return sum(map(_characters, value))
    return len(value) if isinstance(value, str) else 0


def _score(options: AxionOptions, expected: list[Call], actual: list[Call]) -> Score:
    if not expected and not actual:
        explanation = "Correct: No tools were expected and none were called."
        return labelled_score(1.0, "No call was expected and none was made", {"explanation": explanation})
    if not expected:
        explanation = f"Incorrect: No tools were expected, but {len(actual)} were called."
        reason = f"No call was expected and {len(actual)} were made"
        return labelled_score(0.0, reason, {"explanation": explanation}, outcomes=outcomes(len(actual), ()))
    return (_strict if options.strict_order else _flexible)(options, expected, actual)


def _strict(options: AxionOptions, expected: list[Call], actual: list[Call]) -> Score:
    if len(expected) != len(actual):
        explanation = f"Tool count mismatch: expected {len(expected)}, got {len(actual)}"
        reason = f"Scores 0: {len(expected)} calls expected, {len(actual)} made"
        return labelled_score(0.0, reason, {"explanation": explanation})
    wrong = next((i for i, pair in enumerate(zip(expected, actual, strict=True)) if not options.fits(*pair)), None)
    if wrong is None:
        explanation = f"All {len(expected)} tools called correctly in order."
        everything = outcomes(len(actual), range(len(actual)))
        return labelled_score(
            1.0, f"All {len(expected)} calls fit in order", {"explanation": explanation}, outcomes=everything
        )
    seen = f" with args {dict(arguments(actual[wrong]))}" if options.check_parameters else ""
    explanation = (
        f"Tool mismatch at position {wrong}: expected {_quoted(expected[wrong])}, got {_quoted(actual[wrong])}{seen}"
    )
    reason = (
        f"Scores 0: at position {wrong} {actual[wrong].tool!r} was called, not {expected[wrong].tool!r} as expected"
    )
    return labelled_score(0.0, reason, {"explanation": explanation}, missing=[expected[wrong].tool])


def _flexible(options: AxionOptions, expected: list[Call], actual: list[Call]) -> Score:
    pairs = first_fit(expected, actual, options.fits)
    used = set(pairs)
    found = [call for call, index in zip(expected, pairs, strict=True) if index is not None]
    lost = [call for call, index in zip(expected, pairs, strict=True) if index is None]
    rest = [call for index, call in enumerate(actual) if index not in used]
    recall, precision = len(found) / len(expected), share(len(found), len(actual), empty=1.0)
    value = {"recall": recall, "precision": precision, "f1": f1_score(precision, recall)}[options.scoring]
    parts = []
    if found:
        parts.append(f"Correctly called: {names(found)}")
    if lost and options.check_parameters:
        parts.append(f"Missing/incorrect calls: {[f'{call.tool}({dict(arguments(call))})' for call in lost]}")
    elif lost:
        parts.append(f"Missing tools: {names(lost)}")
    if rest:
        parts.append(f"Unexpected tools: {names(rest)}")
    return labelled_score(
        value,
        f"{options.scoring} of {len(found)} matched calls, {len(expected)} expected and {len(actual)} made",
        {"explanation": f"[{options.scoring}] {'; '.join(parts)}"},
        passed=value >= options.threshold,
        outcomes=outcomes(len(actual), used),
        missing=names(lost),
    )


def _quoted(call: Call) -> str:
    return f"'{call.tool}'"


def _is_subset(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> bool:
    return all(key in actual and _value_fits(value, actual[key]) for key, value in expected.items())


def _value_fits(expected: Any, actual: Any) -> bool:
    both_objects = isinstance(expected, Mapping) and isinstance(actual, Mapping)
    return _is_subset(expected, actual) if both_objects else bool(expected == actual)


def _similarity(actual: Any, expected: Any) -> float:
    """From -1 to 1, and 0 for anything of two types; see the module docstring for its surprises."""
    if actual is None or expected is None or type(actual) is not type(expected):
        return 0.0
    if isinstance(actual, str):
        return _text_similarity(actual, expected)
    if isinstance(actual, int | float):
        # 0 would be divided by below.
        if not actual or not expected:
            return float(actual == expected)
        return float(1.0 - abs(actual - expected) / max(abs(actual), abs(expected)))
    if isinstance(actual, Mapping):
        return _object_similarity(actual, expected)
    return float(actual == expected)


def _object_similarity(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> float:
    """The mean of the keys' Jaccard index and of the common keys' mean similarity."""
    union = actual.keys() | expected.keys()
    if not union:
        return 1.0
    common = [key for key in actual if key in expected]
    likeness = share(sum_in_order(_similarity(actual[key], expected[key]) for key in common), len(common))
    return (len(common) / len(union) + likeness) / 2.0


def _text_similarity(actual: str, expected: str) -> float:
    if actual == expected:
        return 1.0
    if max(len(actual), len(expected)) > TEXT_LIMIT:
        raise ValueError(f"axion's fuzzy matching compares texts of up to {TEXT_LIMIT} characters")
    return SequenceMatcher(None, actual, expected).ratio()
