"""Variants into a pattern: the runs are split at the relation that separates their activities, and each part again.

This is inductive mining with two changes: relations are of all pairs, not of neighbours, so that they need fewer runs; and
what less than a share of the runs does is taken for a mistake at every split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from collector.learning.relations import Relations, components
from collector.learning.variants import (
    Activity,
    Log,
    Variant,
    activities_of,
    counts_of,
    least_support,
    number_repeated,
    project,
)

Kind = Literal["tool", "sequence", "any_order", "one_of", "optional", "repeat"]
_MAX_DEPTH = 12
_MAX_UNIT = 10


@dataclass(frozen=True, slots=True)
class Node:
    """An element of a pattern, as rule files have them; ``runs`` of ``total`` have calls of it."""

    kind: Kind
    runs: int
    total: int
    tool: str = ""
    children: tuple[Node, ...] = ()
    low: int = 1
    high: int | None = None
    """Of a ``repeat``: how often; None is any number of times."""


def find_pattern(log: Log, noise: float) -> Node | None:
    """Returns the pattern of most runs; None if nothing is called often enough."""
    total, numbered = sum(log.values()), number_repeated(log, noise)
    often: Counter[Activity] = Counter()
    for variant, runs in numbered.items():
        for activity in counts_of(variant):
            often[activity] += runs
    kept = {activity for activity, runs in often.items() if runs >= least_support(total, noise)}
    return _node(project(numbered, kept), noise, 0) if kept else None


def _node(log: Counter[Variant], noise: float, depth: int) -> Node:
    total, called = log.total(), Counter({variant: runs for variant, runs in log.items() if variant})
    node = _pattern(called, total, noise, depth)
    # Of the runs of this part, not of all: noise is counted anew at every split.
    is_optional = total - called.total() >= least_support(total, noise)
    return Node("optional", called.total(), total, children=(node,)) if is_optional else node


def _pattern(log: Counter[Variant], total: int, noise: float, depth: int) -> Node:
    """Returns the pattern of runs that all call something."""
    activities = activities_of(log)
    if len(activities) == 1:
        return _leaf(activities[0], log, total, noise)
    relations = Relations(log, noise)
    if depth < _MAX_DEPTH:
        for kind, cut in _CUTS:
            # Before any order: the calls of a loop come before and after each other, which looks like none.
            if kind == "any_order" and (loop := _loop(log, total, noise)) is not None:
                return loop
            parts = cut(relations)
            if len(parts) > 1:
                logs = _assign(log, parts) if kind == "one_of" else [project(log, part) for part in parts]
                children = [_node(part, noise, depth + 1) for part in logs if any(part)]
                return _simplest(kind, children, log.total(), total)
    return _any_order_of_tools(activities, log, total, noise)


def _simplest(kind: Kind, children: Sequence[Node], runs: int, total: int) -> Node:
    """Returns the node without children of its own kind, and equal neighbours as a repetition."""
    flat = [item for child in children for item in (child.children if child.kind == kind else (child,))]
    merged: list[Node] = []
    for node in flat:
        before = merged[-1] if merged else None
        if kind == "sequence" and before is not None and node.kind == "tool" and _is_of(before, node.tool):
            merged[-1] = Node("repeat", before.runs, before.total, node.tool, (), before.low + 1, before.low + 1)
        else:
            merged.append(node)
    return merged[0] if len(merged) == 1 else Node(kind, runs, total, children=tuple(merged))


def _is_of(node: Node, tool: str) -> bool:
    return node.tool == tool and (node.kind == "tool" or (node.kind == "repeat" and node.low == node.high))


def _leaf(activity: Activity, log: Counter[Variant], total: int, noise: float) -> Node:
    times: Counter[int] = Counter()
    for variant, runs in log.items():
        times[counts_of(variant)[activity]] += runs
    enough = least_support(log.total(), noise)
    usual = sorted(count for count, runs in times.items() if runs >= enough) or [times.most_common(1)[0][0]]
    if usual == [1]:
        return Node("tool", log.total(), total, activity.tool)
    # The highest number is a limit only where it is no rarer than the noise twice: else there may be higher ones.
    is_limit = times[usual[-1]] >= 2 * enough or usual[0] == usual[-1]
    return Node("repeat", log.total(), total, activity.tool, (), usual[0], usual[-1] if is_limit else None)


def _choice(relations: Relations) -> list[list[Activity]]:
    return components(relations.activities, lambda a, b: not relations.excludes(a, b))


def _sequence(relations: Relations) -> list[list[Activity]]:
    groups = components(relations.activities, lambda a, b: not relations.is_ordered(a, b))
    groups.sort(key=lambda group: sum(relations.precedes(a, group[0]) for a in relations.activities))
    at = 0
    while at + 1 < len(groups):  # all of a group come before all of the next, else both are one
        if all(relations.precedes(a, b) for a in groups[at] for b in groups[at + 1]):
            at += 1
        else:
            groups[at : at + 2] = [[*groups[at], *groups[at + 1]]]
            # The larger group may no longer come after all of the one before it.
            at = max(at - 1, 0)
    return _with_optional_sequences(groups, relations)


def _with_optional_sequences(groups: Sequence[list[Activity]], relations: Relations) -> list[list[Activity]]:
    """Returns the groups with neighbours that are only left out together as one."""
    joined: list[list[Activity]] = []
    for group in groups:
        if joined and relations.belong_together(joined[-1], group):
            joined[-1] = [*joined[-1], *group]
        else:
            joined.append(group)
    return joined


def _parallel(relations: Relations) -> list[list[Activity]]:
    return components(relations.activities, lambda a, b: relations.is_ordered(a, b) or relations.excludes(a, b))


_CUTS: Sequence[tuple[Kind, Callable[[Relations], list[list[Activity]]]]] = (
    ("one_of", _choice),
    ("sequence", _sequence),
    ("any_order", _parallel),
)


def _assign(log: Log, parts: Sequence[Sequence[Activity]]) -> list[Counter[Variant]]:
    """Returns the runs of each alternative: a run belongs to the one it calls most of."""
    logs: list[Counter[Variant]] = [Counter() for _ in parts]
    for variant, runs in log.items():
        counts = counts_of(variant)
        # A run with calls of two alternatives has a mistake in it: the smaller part is left out.
        best = max(range(len(parts)), key=lambda at: sum(counts[activity] for activity in parts[at]))
        logs[best] += project({variant: runs}, parts[best])
    return logs


def _loop(log: Counter[Variant], total: int, noise: float) -> Node | None:
    """Returns a repeated sequence, if nearly all runs are the same steps again and again."""
    units: Counter[Variant] = Counter()
    times: dict[Variant, Counter[int]] = {}
    for variant, runs in log.items():
        unit = _unit(variant)
        units[unit] += runs
        times.setdefault(unit, Counter())[len(variant) // len(unit)] += runs
    (unit, runs), enough = units.most_common(1)[0], least_support(log.total(), noise)
    if len(unit) > _MAX_UNIT or any(len(step) > 1 for step in unit) or log.total() - runs >= enough:
        return None
    usual = sorted(count for count, seen in times[unit].items() if seen >= enough)
    if not usual or usual[-1] == 1:
        return None
    tools = tuple(Node("tool", runs, total, step[0].tool) for step in unit)
    high = usual[-1] if times[unit][usual[-1]] >= 2 * enough else None
    sequence = Node("sequence", runs, total, children=tools)
    return Node("repeat", runs, total, children=(sequence,), low=usual[0], high=high)


def _unit(variant: Variant) -> Variant:
    length = len(variant)
    sizes = (size for size in range(1, length + 1) if not length % size)
    return next(variant[:size] for size in sizes if variant[:size] * (length // size) == variant)


def _any_order_of_tools(activities: Sequence[Activity], log: Counter[Variant], total: int, noise: float) -> Node:
    """Where no split is found: which tools are called and how often, in any order."""
    children: list[Node] = []
    for activity in activities:
        part = project(log, {activity})
        called = Counter({variant: runs for variant, runs in part.items() if variant})
        leaf = _leaf(activity, called, total, noise)
        is_always = part.total() - called.total() < least_support(part.total(), noise)
        children.append(leaf if is_always else Node("optional", called.total(), total, children=(leaf,)))
    return Node("any_order", log.total(), total, children=tuple(children))
