"""``tool_trajectory_avg_score`` of Solo.io's agentevals (PyPI agentevals-cli 0.11.0), for one turn of recorded spans.

It is that of Google ADK (`adk`) without ``ignore_args``, on calls as read from spans: a call without arguments has ``{}``, and
arguments that are not an object are wrapped as ``{"value": ...}``. So

- an expected call without arguments never matches: rules by name alone are impossible, and ``args: {}`` matches only calls
  without arguments;
- where content is not captured, no expected call with arguments matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import Field

from scorers.call_scorer import OriginalError, Scorer, make_scorer
from scorers.calls import ABSENT, Call, names
from scorers.options import Options, parse_options
from scorers.score import Score
from scorers.systems import adk

NAME = "agentevals_cli"
VERSION = "agentevals-cli@0.11.0"


class AgentevalsCliOptions(Options):
    """``trajectory_match_type`` in any case; ``threshold`` only decides the status."""

    trajectory_match_type: str | None = Field(default=None, examples=["EXACT", "IN_ORDER", "ANY_ORDER"])
    threshold: float = 0.5


OPTIONS: Final = AgentevalsCliOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer with the original's options. Raises `ValueError` for invalid ones."""
    parsed = parse_options(NAME, AgentevalsCliOptions, options)
    match_type = (parsed.trajectory_match_type or "EXACT").upper()
    if match_type not in adk.MATCH_TYPES:
        raise OriginalError(
            f"{NAME} has no trajectory_match_type {parsed.trajectory_match_type!r}; it has {', '.join(adk.MATCH_TYPES)}"
        )
    return make_scorer(adk.AdkOptions(match_type=match_type, threshold=parsed.threshold), _score)


def _score(options: adk.AdkOptions, expected: list[Call], actual: list[Call]) -> Score:
    # Only the calls made come from spans; expected ones are compared as they are written.
    score = adk.score(options, expected, [Call(call.tool, _as_read(call.args)) for call in actual])
    return replace(score, details={**score.details, "actual": names(actual), "reason": None})


def _as_read(arguments: Any) -> Mapping[str, Any]:
    if arguments is ABSENT:
        return {}
    # A span holds JSON: the text `null` is not parsed as no value, but kept as text.
    return arguments if isinstance(arguments, Mapping) else {"value": "null" if arguments is None else arguments}
