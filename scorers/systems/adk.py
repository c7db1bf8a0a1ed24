"""Google ADK's ``tool_trajectory_avg_score`` (PyPI google-adk 2.13.0), for one invocation (over several, it is their mean).

The score is 1 or 0::

    EXACT      the same number of calls, each equal at its position
    IN_ORDER   the expected calls occur in order, with others allowed between them
    ANY_ORDER  each expected call has an equal call of its own, in any order

Equal: the same name and, unless ignore_args, arguments equal by Python's ==; no arguments (None) is not ``{}``.

The documentation does not mention that with nothing expected, IN_ORDER and ANY_ORDER pass whatever was called.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from scorers.call_scorer import OriginalError, Scorer, labelled_score, make_scorer
from scorers.calls import Call, optional_arguments
from scorers.options import Options, parse_options
from scorers.score import Score
from scorers.systems.pairing import first_fit, in_order_fit, outcomes
from scorers.wording import nearest

NAME = "adk"
VERSION = "google-adk@2.13.0"


class AdkOptions(Options):
    """``match_type`` in any case, ``-`` or a space may replace ``_``; ``threshold`` only decides the status."""

    match_type: str = Field(default="EXACT", examples=["EXACT", "IN_ORDER", "ANY_ORDER"])
    ignore_args: bool = False
    threshold: float = 1.0

    def fits(self, expected: Call, actual: Call) -> bool:
        """Whether the two calls are equal."""
        if expected.tool != actual.tool:
            return False
        return self.ignore_args or optional_arguments(expected) == optional_arguments(actual)


OPTIONS: Final = AdkOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer with the original's options. Raises `ValueError` for invalid ones."""
    parsed = parse_options(NAME, AdkOptions, options)
    match_type = parsed.match_type.strip().upper().replace("-", "_").replace(" ", "_")
    if match_type not in MATCH_TYPES:
        known = f"it has {', '.join(MATCH_TYPES)}{nearest(match_type, list(MATCH_TYPES))}"
        raise OriginalError(f"adk has no match_type {parsed.match_type!r}; {known}")
    return make_scorer(parsed.model_copy(update={"match_type": match_type}), score)


def score(options: AdkOptions, expected: list[Call], actual: list[Call]) -> Score:
    """Returns the score of parsed calls; ``options.match_type`` is a key of `MATCH_TYPES`."""
    found = MATCH_TYPES[options.match_type](options, expected, actual)
    # `zip` ends with the shorter side, so that the lengths are compared here.
    good = len(found) == len(expected) and (options.match_type != "EXACT" or len(actual) == len(expected))
    passed = float(good) >= options.threshold
    return labelled_score(
        float(good),
        f"Scores {good:d}: {len(found)} of {len(expected)} expected calls were found among "
        f"{len(actual)} by {options.match_type}",
        {"status": "PASSED" if passed else "FAILED"},
        passed=passed,
        outcomes=outcomes(len(actual), found),
    )


def _exact(options: AdkOptions, expected: list[Call], actual: list[Call]) -> set[int]:
    both = enumerate(zip(expected, actual, strict=False))
    return {index for index, (one, other) in both if options.fits(one, other)}


def _in_order(options: AdkOptions, expected: list[Call], actual: list[Call]) -> set[int]:
    return set(in_order_fit(expected, actual, options.fits))


def _any_order(options: AdkOptions, expected: list[Call], actual: list[Call]) -> set[int]:
    return {index for index in first_fit(expected, actual, options.fits) if index is not None}


MATCH_TYPES = {"EXACT": _exact, "IN_ORDER": _in_order, "ANY_ORDER": _any_order}
