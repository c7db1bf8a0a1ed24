"""The deterministic scorers of Strands (PyPI strands-agents-evals 1.7.0), by the names of the tools.

::

    exact         equal at their positions / |E|;  calls after the last expected one cost nothing
    in_order      expected calls found one after the other, up to the first that is not / |E|
    any_order     expected names that were called / |E|, each name counted once
    tool_called   1 if ``tool`` was called, else 0;  ``expected`` is ignored

Nothing expected: ``exact`` raises, since it divides by 0; the others give 1.

The first three are published as tools for a model that judges, not as metrics. Their documentation and the code differ:
``any_order`` compares sets but divides by the length of the list, so that ``[a, a]`` against itself scores 0.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from pydantic import Field

from scorers.call_scorer import OriginalError, Scorer, labelled_score, make_scorer
from scorers.calls import Call, names
from scorers.options import Options, parse_options
from scorers.score import Score
from scorers.systems.pairing import in_order_fit, outcomes

NAME = "strands_scorers"
VERSION = "strands-agents-evals@1.7.0"


class StrandsOptions(Options):
    """Which scorer; ``tool`` is the one that ``tool_called`` looks for."""

    scorer: Literal["exact", "in_order", "any_order", "tool_called"] = Field(
        description="which of exact, in_order, any_order, tool_called"
    )
    tool: str | None = None


OPTIONS: Final = StrandsOptions


def create(**options: Any) -> Scorer:
    """Returns one of the scorers. Raises `ValueError` for invalid options, or tool_called without its tool."""
    parsed = parse_options(NAME, StrandsOptions, options)
    if (parsed.scorer == "tool_called") != (parsed.tool is not None):
        raise ValueError(f"{NAME} needs the option 'tool' for the scorer tool_called, and for no other")
    return make_scorer(parsed, _score, reads_expected=parsed.scorer != "tool_called", reads_arguments=False)


def _score(options: StrandsOptions, expected: list[Call], actual: list[Call]) -> Score:
    made = names(actual)
    if options.scorer == "tool_called":
        called = options.tool in made
        reason = f"tool {options.tool!r} was {'' if called else 'not '}called"
        published = f"tool '{options.tool}' was {'' if called else 'not '}called"
        return labelled_score(float(called), f"Scores {called:d}: {reason}", {"reason": published})
    if not expected:
        if options.scorer == "exact":
            raise OriginalError(f"{NAME} cannot divide by the number of expected calls: there is none")
        return labelled_score(1.0, "Scores 1: no call is expected", {}, outcomes=outcomes(len(made), ()))
    found, matched = _SCORERS[options.scorer](names(expected), made)
    reason = f"{found} of {len(expected)} expected calls by {options.scorer}, {len(made)} made"
    return labelled_score(found / len(expected), reason, {}, outcomes=outcomes(len(made), matched))


Found = tuple[int, set[int]]
"""How many expected calls count, and the indexes of the calls that match one."""


def _exact(expected: list[str], made: list[str]) -> Found:
    matched = {index for index, pair in enumerate(zip(expected, made, strict=False)) if pair[0] == pair[1]}
    return len(matched), matched


def _in_order(expected: list[str], made: list[str]) -> Found:
    matched = in_order_fit(expected, made, str.__eq__)
    return len(matched), set(matched)


def _any_order(expected: list[str], made: list[str]) -> Found:
    wanted = set(expected)
    return len(wanted & set(made)), {index for index, name in enumerate(made) if name in wanted}


_SCORERS: dict[str, Callable[[list[str], list[str]], Found]] = {
    "exact": _exact,
    "in_order": _in_order,
    "any_order": _any_order,
}
