"""MLflow's ``ToolCallCorrectness`` with ``should_exact_match=True`` (PyPI mlflow 3.18.0): yes or no, here 1 or 0.

There must be as many calls as expected, and the signatures of the calls (name, and arguments as JSON with sorted keys)
must be equal: in order with should_consider_ordering, otherwise as SETS.

The documentation and the code differ:

- Arguments are ignored for ALL calls if one expected call has none, so that a name-only expectation relaxes every other
  one.
- "Compare as sets" is meant literally: ``[a, a, b]`` equals ``[a, b, b]``.
- An empty list of expected calls counts as missing: the original raises.

``rationale`` equals the original's except for the order inside a set, which changes there with every process.
"""

from __future__ import annotations

import json
from typing import Any, Final

from scorers.call_scorer import OriginalError, Scorer, labelled_score, make_scorer
from scorers.calls import Call, arguments, names, optional_arguments
from scorers.options import Options, parse_options
from scorers.score import Score

NAME = "mlflow_exact"
VERSION = "mlflow@3.18.0"


class MlflowOptions(Options):
    """Whether the order of the calls matters."""

    should_consider_ordering: bool = False


OPTIONS: Final = MlflowOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer with the original's options. Raises `ValueError` for invalid ones."""
    return make_scorer(parse_options(NAME, MlflowOptions, options), _score)


def _score(options: MlflowOptions, expected: list[Call], actual: list[Call]) -> Score:
    if not expected:
        raise OriginalError("mlflow_exact needs at least one expected call")
    if len(actual) != len(expected):
        rationale = f"Expected {len(expected)} tool call(s), but got {len(actual)} tool call(s)."
        return _answer(False, f"{len(expected)} calls expected, {len(actual)} made", rationale)
    with_arguments = all(optional_arguments(call) is not None for call in expected)
    if options.should_consider_ordering:
        return _ordered(expected, actual, with_arguments=with_arguments)
    return _as_sets(expected, actual, with_arguments=with_arguments)


def _ordered(expected: list[Call], actual: list[Call], *, with_arguments: bool) -> Score:
    sides = zip(
        _signatures(expected, with_arguments=with_arguments),
        _signatures(actual, with_arguments=with_arguments),
        strict=True,
    )
    wrong = [index for index, (wanted, made) in enumerate(sides) if wanted != made]
    if not wrong:
        return _answer(
            True, f"all {len(expected)} calls equal in order", "All tool calls match expected sequence exactly."
        )
    show = _shown if with_arguments else names
    mismatches = (
        f"Position {index + 1}: expected {wanted}, got {made}"
        for index, wanted, made in zip(
            wrong, show([expected[i] for i in wrong]), show([actual[i] for i in wrong]), strict=True
        )
    )
    reason = f"{len(wrong)} of {len(expected)} positions differ"
    return _answer(False, reason, f"Tool calls do not match in order: {'; '.join(mismatches)}")


def _as_sets(expected: list[Call], actual: list[Call], *, with_arguments: bool) -> Score:
    # Dictionaries in place of sets: their order is that of the calls, and the rationale is the same each time.
    wanted = dict.fromkeys(_signatures(expected, with_arguments=with_arguments))
    made = dict.fromkeys(_signatures(actual, with_arguments=with_arguments))
    if wanted.keys() == made.keys():
        reason = f"the same {len(wanted)} distinct calls on both sides"
        return _answer(True, reason, "All expected tool calls present (order ignored).")
    missing = [one for one in wanted if one not in made]
    unexpected = [one for one in made if one not in wanted]
    parts = [
        f"{word}: {{{', '.join(map(repr, several))}}}"
        for word, several in (("Missing", missing), ("Unexpected", unexpected))
        if several
    ]
    return _answer(False, f"{len(missing)} calls missing and {len(unexpected)} not expected", "; ".join(parts))


def _answer(good: bool, reason: str, rationale: str) -> Score:
    details = {"rationale": rationale, "source": "CODE"}
    return labelled_score(float(good), f"Scores {good:d}: {reason}", details)


def _signatures(calls: list[Call], *, with_arguments: bool) -> list[str]:
    if not with_arguments:
        return names(calls)
    return [f"{call.tool}({json.dumps(dict(arguments(call)), sort_keys=True)})" for call in calls]


def _shown(calls: list[Call]) -> list[str]:
    """Like signatures, but with the keys in their original order."""
    return [f"{call.tool}({json.dumps(dict(arguments(call)))})" for call in calls]
