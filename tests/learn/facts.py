"""What a rule says, in facts that can be counted: which of those of a hidden rule are learnt, and which are learnt wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

Fact = tuple[Any, ...]


def facts_of(expect: Mapping[str, Any]) -> set[Fact]:
    """The facts of an ``expect``: its calls, their order, what may be left out or repeated, and its arguments."""
    found: set[Fact] = set()
    pattern = {key: value for key, value in expect.items() if key != "retries"}
    if "retries" in expect:
        found.add(("retries",))
    if pattern:
        _walk(pattern, found)
    return found


def _walk(element: Any, found: set[Fact]) -> frozenset[str]:
    """Add the facts of an element; returns its tools."""
    if isinstance(element, str):
        found.add(("call", element))
        return frozenset([element])
    if "tool" in element:
        found.add(("call", element["tool"]))
        found.update(_of_arguments(element["tool"], element.get("arguments", {})))
        return frozenset([element["tool"]])
    kind = next(key for key in element if key not in ("min", "max"))
    if kind in ("optional", "repeat"):
        tools = _walk(element[kind], found)
        found.add((kind, tools, element.get("min", 1), element.get("max")) if kind == "repeat" else (kind, tools))
        return tools
    parts = [_walk(one, found) for one in element[kind]]
    for first, second in combinations(parts, 2):
        for a in first:
            for b in second - {a}:
                found.add((kind, a, b) if kind == "sequence" else (kind, frozenset([a, b])))
    return frozenset().union(*parts)


def _of_arguments(tool: str, arguments: Mapping[str, Any]) -> Iterator[Fact]:
    for name, matcher in arguments.items():
        if not isinstance(matcher, Mapping):
            yield ("constant", tool, name, matcher)
        elif "one_of" in matcher:
            yield ("enum", tool, name, frozenset(matcher["one_of"]))
        elif "regex" in matcher:
            yield ("regex", tool, name, matcher["regex"])
        elif "min" in matcher:
            yield ("range", tool, name, _Bound(matcher["min"], matcher["max"]))


class _Bound:
    """A range that equals another where both ends are within a tenth of the wider one."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Bound):
            return NotImplemented
        span = max(self.high - self.low, other.high - other.low)
        return abs(self.low - other.low) <= span / 10 and abs(self.high - other.high) <= span / 10
