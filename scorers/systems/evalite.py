"""Evalite's ``toolCallAccuracy`` (npm evalite 1.0.0-beta.16; the ``latest`` tag, 0.19.0, has no such scorer).

Formula, from the numbers of exact and name-only matches, with the weights nameOnly, wrongPenalty and extraPenalty
(0.5, 0.25, 0.25)::

    both empty 1;  one empty 0                                   (in every mode)
    exact      (exact + nameOnly * names - wrongPenalty * wrong) / |E|,     call by call at its position
    flexible   (exact + nameOnly * names - extraPenalty * extras) / |E|,    calls in any order
    clamped to [0, 1], not rounded

The documentation and the code differ:

- ``weights.exact`` is documented and typed, but never used: an exact match counts 1.
- "Penalty for wrong/missing calls": calls missing at the end cost nothing beyond their lost credit (``wrongOrMissing``
  stays 0), while an extra call costs the penalty twice, once for its position and once for the surplus.
- "Flexible only checks that the right functions were called": it compares arguments too.
- An expected call without input means "any input" in exact mode, "no input" in flexible mode.
- ``details.missingToolCalls`` also lists expectations that were later matched by name, which ``missing`` leaves out.

Raises for an unknown mode, unless one side is empty.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from itertools import zip_longest
from typing import Annotated, Any, Final

from pydantic import Field

from scorers.call_scorer import OriginalError, Scorer, labelled_score, make_scorer
from scorers.calls import ABSENT, Call, names
from scorers.options import Choices, Options, parse_options
from scorers.score import Outcome, Score
from scorers.systems.equality import deep_equal, stable_key

NAME = "evalite"
VERSION = "evalite@1.0.0-beta.16"


class Weights(Options):
    """``exact`` is accepted and, as in the original, without effect."""

    exact: float = 1.0
    name_only: float = Field(default=0.5, alias="nameOnly")
    extra_penalty: float = Field(default=0.25, alias="extraPenalty")
    wrong_penalty: float = Field(default=0.25, alias="wrongPenalty")


class EvaliteOptions(Options):
    """``mode`` is checked only when the calls are compared, as in the original."""

    mode: Annotated[str | None, Choices("exact", "flexible")] = None
    weights: Weights | None = None


OPTIONS: Final = EvaliteOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer with the original's options. Raises `ValueError` for invalid ones."""
    return make_scorer(parse_options(NAME, EvaliteOptions, options), _score)


def _score(options: EvaliteOptions, expected: list[Call], actual: list[Call]) -> Score:
    if not expected or not actual:
        return _one_side_empty(expected, actual)
    # Not when the options are parsed: the original takes any mode where one side is empty.
    compare = _MODES.get(options.mode or "exact")
    if compare is None:
        raise OriginalError(f"evalite has no mode {options.mode!r}; it has exact and flexible")
    return compare(options.weights or Weights(), expected, actual)


def _one_side_empty(expected: list[Call], actual: list[Call]) -> Score:
    outcomes: list[Outcome] = ["extra"] * len(actual)
    if expected:
        warning = {"warning": "No tool calls found in output", "referenceCount": len(expected)}
        return labelled_score(
            0.0, f"0 of {len(expected)} expected calls: none was made", warning, missing=names(expected)
        )
    if actual:
        warning = {"warning": "Reference tool calls are empty but predictions exist", "outputCount": len(actual)}
        return labelled_score(0.0, f"No call was expected and {len(actual)} were made", warning, outcomes=outcomes)
    return labelled_score(1.0, "No call was expected and none was made", {"note": "Both empty - perfect match"})


def _exact(weights: Weights, expected: list[Call], actual: list[Call]) -> Score:
    """Compares call by call. Every call beyond the expected ones is wrong at its position, and again as a surplus."""
    outcomes = [_at_position(*pair) for pair in zip_longest(actual, expected[: len(actual)])]
    exact, by_name = outcomes.count("matched"), outcomes.count("wrong_arguments")
    surplus = max(0, len(actual) - len(expected))
    wrong = outcomes.count("extra") + surplus
    value = _clamp(
        (exact + weights.name_only * by_name) / len(expected) - weights.wrong_penalty * (wrong / len(expected))
    )
    reason = (
        f"({exact} exact + {weights.name_only} * {by_name} by name - {weights.wrong_penalty} * {wrong} wrong)"
        f" / {len(expected)} expected, clamped to [0, 1]"
    )
    details = {
        "mode": "exact",
        "exactMatches": exact,
        "nameOnlyMatches": by_name,
        "wrongOrMissing": wrong,
        "totals": {"reference": len(expected), "output": len(actual)},
    }
    missed = [call.tool for call, outcome in zip_longest(expected, outcomes) if call and outcome in {None, "extra"}]
    return labelled_score(value, reason, details, outcomes=outcomes, missing=missed)


def _at_position(actual: Call, expected: Call | None) -> Outcome:
    if expected is None or actual.tool != expected.tool:
        return "extra"
    if expected.args is ABSENT or (actual.args is not ABSENT and deep_equal(actual.args, expected.args)):
        return "matched"
    return "wrong_arguments"


def _flexible(weights: Weights, expected: list[Call], actual: list[Call]) -> Score:
    """Matches calls of equal name and input first, in any order; then the rest by name, while expectations remain."""
    # By a key, as the original does: to compare each call with each expected one would take the product of both.
    open_calls: defaultdict[Hashable, list[Call]] = defaultdict(list)
    for call in expected:
        open_calls[call.tool, stable_key(call.args)].append(call)
    outcomes: list[Outcome] = ["extra"] * len(actual)
    for index, call in enumerate(actual):
        if same := open_calls.get((call.tool, stable_key(call.args))):
            same.pop()
            outcomes[index] = "matched"
    unmatched = [call for calls in open_calls.values() for call in calls]
    open_names = Counter(names(unmatched))
    for index, call in enumerate(actual):
        if outcomes[index] == "extra" and open_names[call.tool]:
            open_names[call.tool] -= 1
            outcomes[index] = "wrong_arguments"
    matched, by_name, extras = (
        [_published(call) for call, outcome in zip(actual, outcomes, strict=True) if outcome == wanted]
        for wanted in ("matched", "wrong_arguments", "extra")
    )
    value = _clamp(
        (len(matched) + weights.name_only * len(by_name)) / len(expected)
        - weights.extra_penalty * (len(extras) / len(expected))
    )
    reason = (
        f"({len(matched)} exact + {weights.name_only} * {len(by_name)} by name - {weights.extra_penalty} * "
        f"{len(extras)} extra) / {len(expected)} expected, clamped to [0, 1]"
    )
    details = {
        "mode": "flexible",
        "exactMatches": len(matched),
        "nameOnlyMatches": len(by_name),
        "extras": len(extras),
        "missing": open_names.total(),
        "totals": {"reference": len(expected), "output": len(actual)},
        "details": {
            "matches": matched,
            "nameOnlyMatches": by_name,
            "extras": extras,
            "missingToolCalls": [_published(call) for call in unmatched],
        },
    }
    return labelled_score(value, reason, details, outcomes=outcomes, missing=list(open_names.elements()))


def _published(call: Call) -> dict[str, Any]:
    return {"toolName": call.tool} if call.args is ABSENT else {"toolName": call.tool, "input": call.args}


def _clamp(value: float) -> float | None:
    """Clamps to [0, 1]. None for NaN, which weights near the largest double can give."""
    return None if value != value else max(0.0, min(1.0, value))  # noqa: PLR0124 - NaN


_MODES: Final = {"exact": _exact, "flexible": _flexible}
