"""Scores a hostile run with a rule, to find out before an agent does whether the rule can exceed the limit of work.

The run is large but not absurd: `CALLS` calls of the rule's own tools, with texts, lists and objects in their arguments that
make matchers work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from scorers.conformance.scorer import NAME
from scorers.evaluation import CompiledRule, path_to
from scorers.rules.globs import GLOB_CHARACTERS
from scorers.rules.matchers import ArgumentPattern, Exact, OneOfValues, Schema, Subset
from scorers.rules.model import Rule, Tool
from scorers.rules.semantic_texts import tools_of
from scorers.score import Score
from scorers.trajectory import ToolCall, Trajectory
from scorers.work import WorkLimitError

CALLS: Final = 100
CHARACTERS: Final = 1_000
_ITEMS: Final = 10
_LEVELS: Final = 10


class Exceeded(NamedTuple):
    """What exceeds the limit of work: its path in the rule, and the message of the error."""

    path: tuple[str | int, ...]
    message: str


def exceeded_limit(rule: CompiledRule) -> Exceeded | None:
    """Returns what of the rule exceeds the limit of work on a hostile run first; None if nothing does."""
    names = [ref.name or ref.system for ref in rule.rule.scorers]
    scores_natively = any(ref.system == NAME for ref in rule.rule.scorers)
    for trajectory in _hostile_runs(rule.rule):
        exceeding = [one for one in rule.evaluate(trajectory) if _is_exceeded(one.score)]
        # Also where no scorer is native: the alignment gives the others their expected calls, and the difference.
        if exceeding or not scores_natively:
            try:
                rule.native.score(trajectory)
            except WorkLimitError as error:  # which says where
                return Exceeded(path_to(rule.rule, error.part) or ("expect",), str(error))
        for evaluation in exceeding:
            return Exceeded(("scorers", names.index(evaluation.name)), evaluation.score.explanation)
    return None


def _is_exceeded(score: Score) -> bool:
    return score.details.get("error.type") == WorkLimitError.__name__


def _hostile_runs(rule: Rule) -> Iterator[Trajectory]:
    """Yield runs of the rule's tools: one after the other, and concurrently in small steps."""
    tools = list(tools_of(rule)) or [Tool(tool="a")]
    # In no order that the rule expects.
    calls = [_call(tools[at * at * at // 7 % len(tools)], at) for at in range(CALLS)]
    # Concurrent calls take other ways through the alignment, and need the search more often.
    for width in (1, 4):
        yield Trajectory([replace(call, step=at // width) for at, call in enumerate(calls)])


def _call(tool: Tool, at: int) -> ToolCall:
    name = tool.tool if isinstance(tool.tool, str) else "a"
    name = "".join("a" if character in GLOB_CHARACTERS else character for character in name)
    return ToolCall(name, {key: _value(pattern, at) for key, pattern in (tool.arguments or {}).items()}, step=at)


def _value(pattern: ArgumentPattern, at: int) -> Any:
    match pattern:
        case Schema(json_schema=schema):
            return _values_for(schema)[at % 3]
        case Subset(subset=patterns):
            return {key: _value(one, at) for key, one in patterns.items()}
        case OneOfValues(one_of=patterns):
            return _value(patterns[-1], at)
        case Exact(exact=value):
            return value
        case BaseModel():
            return "a" * CHARACTERS
    return pattern


def _values_for(schema: Mapping[str, Any]) -> Sequence[Any]:
    """A long list of objects, a deep object of the properties that the schema names, a long text."""
    keys = [key for properties in _under(schema, "properties") if isinstance(properties, dict) for key in properties]
    deep: Any = "a" * CHARACTERS
    for _ in range(_LEVELS):
        deep = dict.fromkeys(keys[:1] or ["a"], deep)
    return [{"a": at} for at in range(_ITEMS)], deep, "a" * CHARACTERS


def _under(value: Any, key: str) -> Iterator[Any]:
    """Every value under this key, at any depth."""
    if isinstance(value, Mapping):
        yield from (item for name, item in value.items() if name == key)
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _under(item, key)
