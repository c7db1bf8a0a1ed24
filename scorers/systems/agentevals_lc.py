"""LangChain's ``create_trajectory_match_evaluator`` (PyPI agentevals 0.0.9): do the calls match the reference?

The score is 1 or 0. ``cover(A, B)``: for every call of B, in order, there is an unused call of A with its name and
matching arguments; the first such call is used. Then::

    superset   cover(actual, expected)
    subset     cover(expected, actual)
    unordered  both
    strict     message by message: the same number of messages and of calls in each; inside a message in any order

Argument matchers compare top-level values with Python's ==: ``exact``, ``ignore``, ``subset`` (all actual arguments
are in the expected ones), ``superset`` (the reverse), or a list of dotted keys, each equal or absent on both sides.

The documentation and the code differ:

- Strict is described as an exact match in order and content; message contents are not compared.
- In subset mode the sides are swapped, and with them the direction of the argument matchers; unordered checks both
  directions, so that subset and superset arguments amount to equality.
- An empty key list as an override counts as no override.
- The assignment is greedy: it misses matches that another assignment would find.

``layout`` is how calls are grouped into messages, for strict only: ``per_message`` one each (default), ``one_message`` all.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal

from scorers.call_scorer import Scorer, labelled_score, make_scorer
from scorers.calls import Call, arguments
from scorers.options import Choices, Options, parse_options
from scorers.score import Score
from scorers.systems.pairing import first_fit, outcomes

NAME = "agentevals_lc"
VERSION = "agentevals@0.0.9"

Arguments = Mapping[str, Any]
Matcher = Callable[[Arguments, Arguments], bool]


def _within(some: Arguments, other: Arguments) -> bool:
    return all(key in other and other[key] == value for key, value in some.items())


MATCHERS: dict[str, Matcher] = {
    "exact": operator.eq,
    "subset": _within,
    "superset": lambda actual, expected: _within(expected, actual),
    "ignore": lambda _actual, _expected: True,
}


class AgentevalsOptions(Options):
    """An override is a matcher's name (any other name ignores arguments) or a list of dotted keys, for one tool."""

    trajectory_match_mode: Literal["strict", "unordered", "subset", "superset"] = "strict"
    tool_args_match_mode: Literal["exact", "ignore", "subset", "superset"] = "exact"
    tool_args_match_overrides: dict[str, str | list[str]] | None = None
    layout: Literal["one_message", "per_message"] = "per_message"

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """The original takes an unknown override for ``ignore``."""
        for tool, override in (self.tool_args_match_overrides or {}).items():
            if isinstance(override, str) and (mistake := Choices(*MATCHERS).mistake(override)) is not None:
                yield f"tool_args_match_overrides.{tool}", mistake

    def fits(self, actual: Call, expected: Call) -> bool:
        """Whether names are equal and the tool's matcher accepts the arguments."""
        return actual.tool == expected.tool and self._matcher(actual.tool)(arguments(actual), arguments(expected))

    def _matcher(self, tool: str) -> Matcher:
        # `or`, and not a default: to the original an empty list of keys is no override.
        override = (self.tool_args_match_overrides or {}).get(tool) or self.tool_args_match_mode
        return MATCHERS.get(override, MATCHERS["ignore"]) if isinstance(override, str) else _on_keys(override)


OPTIONS: Final = AgentevalsOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer with the original's options. Raises `ValueError` for invalid ones."""
    return make_scorer(parse_options(NAME, AgentevalsOptions, options), _score)


def _score(options: AgentevalsOptions, expected: list[Call], actual: list[Call]) -> Score:
    mode = options.trajectory_match_mode
    good, matched = _MODES[mode](options, expected, actual)
    return labelled_score(
        float(good),
        f"Scores {good:d}: {len(matched)} of {len(actual)} calls made match one of the "
        f"{len(expected)} expected, for a {mode} match",
        {"key": f"trajectory_{mode}_match", "comment": None},
        outcomes=outcomes(len(actual), matched),
    )


def _superset(options: AgentevalsOptions, expected: list[Call], actual: list[Call]) -> tuple[bool, set[int]]:
    """Whether the actual calls cover the expected ones, and which actual ones were used."""
    pairs = first_fit(expected, actual, lambda wanted, given: options.fits(given, wanted))
    return None not in pairs, {index for index in pairs if index is not None}


def _subset(options: AgentevalsOptions, expected: list[Call], actual: list[Call]) -> tuple[bool, set[int]]:
    """The original swaps the sides, so the expected call is the first argument of the matcher."""
    pairs = first_fit(actual, expected, lambda wanted, given: options.fits(given, wanted))
    return None not in pairs, {index for index, pair in enumerate(pairs) if pair is not None}


def _unordered(options: AgentevalsOptions, expected: list[Call], actual: list[Call]) -> tuple[bool, set[int]]:
    covers, used = _superset(options, expected, actual)
    return covers and _subset(options, expected, actual)[0], used


def _strict(options: AgentevalsOptions, expected: list[Call], actual: list[Call]) -> tuple[bool, set[int]]:
    if options.layout == "one_message":
        pairs = first_fit(actual, expected, options.fits)
        matched = {index for index, pair in enumerate(pairs) if pair is not None}
    else:
        both = enumerate(zip(actual, expected, strict=False))
        matched = {index for index, (one, other) in both if options.fits(one, other)}
    return len(matched) == len(actual) == len(expected), matched


_MODES = {"strict": _strict, "unordered": _unordered, "subset": _subset, "superset": _superset}


def _on_keys(paths: list[str]) -> Matcher:
    return lambda actual, expected: all(_at(actual, path) == _at(expected, path) for path in paths)


def _at(value: Any, path: str) -> Any:
    """The value under a dotted key; None if there is none."""
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
