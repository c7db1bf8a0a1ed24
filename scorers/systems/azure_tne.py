"""Azure's ``_TaskNavigationEfficiencyEvaluator`` (PyPI azure-ai-evaluation 1.18.10): did the agent follow the path?

Steps are stripped tool names or, with parameters, names with their parameters as text (dicts and lists as JSON with
sorted keys, all else by ``str``, so that 1 equals "1"). The score is 1 or 0::

    exact_match      the two lists of steps are equal
    in_order_match   the expected steps occur in order, with others allowed between them
    any_order_match  every expected step was taken at least as often as expected

The details hold precision, recall and F1 of the steps as multisets, all 0 if nothing was called.

The documentation and the code differ:

- Parameters are given once per tool name, ``(names, {name: parameters})``: two calls of one tool with different
  parameters cannot be expected (the last ones count), and a tool without an entry must be called without parameters.
- That pair must be a Python tuple; its JSON form, a list, is refused, so parameters cannot come from a data set.
- An empty list of expected calls is not possible: the original raises.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from operator import eq
from typing import Any, Final, Literal

from scorers.call_scorer import OriginalError, Scorer, labelled_score, make_scorer
from scorers.calls import Call, arguments
from scorers.options import Options, parse_options
from scorers.score import Score
from scorers.systems.formulas import f1_score, share
from scorers.systems.pairing import in_order_fit

NAME = "azure_tne"
VERSION = "azure-ai-evaluation@1.18.10"

Step = Hashable


class AzureOptions(Options):
    """``with_params``: the expected calls' arguments are the ground truth's parameters."""

    matching_mode: Literal["exact_match", "in_order_match", "any_order_match"] = "exact_match"
    with_params: bool = False


OPTIONS: Final = AzureOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer with the original's options. Raises `ValueError` for invalid ones."""
    return make_scorer(parse_options(NAME, AzureOptions, options), _score)


def _score(options: AzureOptions, expected: list[Call], actual: list[Call]) -> Score:
    if not expected:
        raise OriginalError("azure_tne needs at least one expected call")
    wanted, taken = _steps(options, expected, actual)
    good = _MODES[options.matching_mode](wanted, taken)
    common = (Counter(wanted) & Counter(taken)).total()
    precision, recall = share(common, len(taken)), share(common, len(wanted))
    return labelled_score(
        float(good),
        f"Scores {good:d} by {options.matching_mode}: {common} of {len(wanted)} expected steps "
        f"are among the {len(taken)} taken",
        {
            "result": "pass" if good else "fail",
            "precision_score": precision,
            "recall_score": recall,
            "f1_score": f1_score(precision, recall),
        },
    )


def _steps(options: AzureOptions, expected: list[Call], actual: list[Call]) -> tuple[list[Step], list[Step]]:
    """Both sides as comparable steps."""
    if not options.with_params:
        return [call.tool.strip() for call in expected], [call.tool.strip() for call in actual]
    # By name as in the original's pair, so that the last call of a tool decides for all of them.
    parameters = {call.tool: arguments(call) for call in expected}
    wanted = [_step(name := call.tool.strip(), parameters.get(name, {})) for call in expected]
    return wanted, [_step(call.tool.strip(), arguments(call)) for call in actual]


def _step(name: str, parameters: Mapping[str, Any]) -> Step:
    return name, tuple(sorted((key, _as_text(value)) for key, value in parameters.items()))


def _as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else str(value)


def _in_order(wanted: list[Step], taken: list[Step]) -> bool:
    return len(in_order_fit(wanted, taken, eq)) == len(wanted)


def _any_order(wanted: list[Step], taken: list[Step]) -> bool:
    return Counter(wanted) <= Counter(taken)


_MODES: dict[str, Callable[[list[Step], list[Step]], bool]] = {
    "exact_match": eq,
    "in_order_match": _in_order,
    "any_order_match": _any_order,
}
