"""The texts that the semantic matchers of a rule compare, known before the run is scored.

Embedding a text is slow. A caller that must not block embeds these texts elsewhere first, and scores afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from scorers.rules.arguments import text_of
from scorers.rules.matchers import ArgumentPattern, OneOfValues, Semantic, Subset
from scorers.rules.model import Expect, Rule, Tool
from scorers.rules.names import compile_name
from scorers.trajectory import Trajectory


class SemanticTexts:
    """The arguments of a run that the semantic matchers of a rule read. False if the rule has no such matcher.

    A matcher that follows others may never be evaluated, so these are all texts that scoring embeds, and rarely more.
    """

    def __init__(self, rule: Rule) -> None:
        self._tools = [
            (compile_name(tool.tool), patterns)
            for tool in tools_of(rule)
            if (patterns := {key: p for key, p in (tool.arguments or {}).items() if _is_semantic(p)})
        ]

    def __bool__(self) -> bool:
        return bool(self._tools)

    def of(self, trajectory: Trajectory) -> Iterator[str]:
        """The texts, possibly with duplicates."""
        for call in trajectory.calls if self._tools else ():
            if call.arguments is not None:
                for matches_name, patterns in self._tools:
                    # Whether a matcher before this one fails is not known yet. A text too many costs time; one too
                    # few would be embedded in the event loop.
                    if matches_name(call.name):
                        yield from _in_mapping(patterns, call.arguments)


def tools_of(value: Any) -> Iterator[Tool]:
    """All tools of a rule, at any depth."""
    if isinstance(value, Tool):
        yield value
    elif isinstance(value, Expect):
        # As an element, since a tool is written there as fields of its own.
        yield from tools_of([value.element(), value.tools])
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from tools_of(getattr(value, name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tools_of(item)


def _is_semantic(pattern: ArgumentPattern) -> bool:
    if isinstance(pattern, OneOfValues):
        return any(map(_is_semantic, pattern.one_of))
    if isinstance(pattern, Subset):
        return any(map(_is_semantic, pattern.subset.values()))
    return isinstance(pattern, Semantic)


def _in_mapping(patterns: Mapping[str, ArgumentPattern], values: Mapping[str, Any]) -> Iterator[str]:
    for key, pattern in patterns.items():
        if key in values:
            yield from _in_value(pattern, values[key])


def _in_value(pattern: ArgumentPattern, value: Any) -> Iterator[str]:
    if isinstance(pattern, Semantic):
        if (text := text_of(value)) is not None:
            yield text
    elif isinstance(pattern, OneOfValues):
        for item in pattern.one_of:
            yield from _in_value(item, value)
    elif isinstance(pattern, Subset) and isinstance(value, Mapping):
        yield from _in_mapping(pattern.subset, value)
