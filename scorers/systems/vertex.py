"""Vertex AI's trajectory metrics, by their published definitions: the scoring itself runs on Google's servers.

::

    exact_match      the same calls in the same order
    in_order_match   all expected calls in order, with others allowed between them
    any_order_match  all expected calls in any order, each with an equal call of its own; others are allowed
    precision        share of the calls made that are among the expected ones; 0 if none was made
    recall           share of the expected calls that are among those made; 0 if none was expected
    single_tool_use  whether the tool named by ``tool_name`` was called at all

Calls are equal by name and by their arguments as JSON values, in any key order; no arguments equal ``{}``.

Not verified against the server, but our interpretation of the definitions: repeated calls, key order, and empty
trajectories, which the published client silently drops from the request.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from scorers.call_scorer import Scorer, labelled_score, make_scorer
from scorers.calls import Call, arguments, names
from scorers.options import Options, parse_options
from scorers.score import Score
from scorers.systems.equality import deep_equal
from scorers.systems.formulas import share
from scorers.systems.pairing import first_fit, in_order_fit, outcomes

NAME = "vertex"
VERSION = "vertex-ai-trajectory-metrics (definitions)"


class VertexOptions(Options):
    """The metric, and for single_tool_use the tool."""

    metric: Literal["exact_match", "in_order_match", "any_order_match", "precision", "recall", "single_tool_use"] = (
        "exact_match"
    )
    tool_name: str | None = None


OPTIONS: Final = VertexOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer of one metric. Raises `ValueError` for invalid options, or single_tool_use without its tool."""
    parsed = parse_options(NAME, VertexOptions, options)
    if (parsed.metric == "single_tool_use") != (parsed.tool_name is not None):
        raise ValueError("vertex needs tool_name for the metric single_tool_use, and for no other")
    compares = parsed.metric != "single_tool_use"
    return make_scorer(parsed, _score, reads_expected=compares, reads_arguments=compares)


def _score(options: VertexOptions, expected: list[Call], actual: list[Call]) -> Score:
    if options.metric == "single_tool_use":
        used = options.tool_name in names(actual)
        reason = f"{options.tool_name!r} was {'' if used else 'not '}among the {len(actual)} calls made"
        return labelled_score(float(used), reason, {"metric": options.metric})
    matched, value = _METRICS[options.metric](expected, actual)
    reason = f"{options.metric} of {len(matched)} matched calls, {len(expected)} expected and {len(actual)} made"
    return labelled_score(value, reason, {"metric": options.metric}, outcomes=outcomes(len(actual), matched))


def _equal(one: Call, other: Call) -> bool:
    return one.tool == other.tool and deep_equal(arguments(one), arguments(other))


def _exact(expected: list[Call], actual: list[Call]) -> tuple[set[int], float]:
    matched = {index for index, pair in enumerate(zip(expected, actual, strict=False)) if _equal(*pair)}
    return matched, float(len(matched) == len(expected) == len(actual))


def _in_order(expected: list[Call], actual: list[Call]) -> tuple[set[int], float]:
    matched = set(in_order_fit(expected, actual, _equal))
    return matched, float(len(matched) == len(expected))


def _any_order(expected: list[Call], actual: list[Call]) -> tuple[set[int], float]:
    # Taking the first fit loses nothing here: equality is transitive, so equal calls are interchangeable.
    pairs = first_fit(expected, actual, _equal)
    return {index for index in pairs if index is not None}, float(None not in pairs)


def _precision(expected: list[Call], actual: list[Call]) -> tuple[set[int], float]:
    matched = {index for index, call in enumerate(actual) if any(_equal(call, other) for other in expected)}
    return matched, share(len(matched), len(actual))


def _recall(expected: list[Call], actual: list[Call]) -> tuple[set[int], float]:
    found = sum(any(_equal(call, other) for other in actual) for call in expected)
    return _precision(expected, actual)[0], share(found, len(expected))


_METRICS = {
    "exact_match": _exact,
    "in_order_match": _in_order,
    "any_order_match": _any_order,
    "precision": _precision,
    "recall": _recall,
}
