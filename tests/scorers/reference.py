"""Brute force: every word a pattern accepts, every order the calls can have had, every alignment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from itertools import permutations, product
from typing import Any

from scorers import ToolCall
from scorers.rules.model import AnyOrder, Element, OneOf, Optional, Repeat, Tool
from scorers.rules.model import Sequence as InSequence

Word = tuple[Tool, ...]
MOST_REPEATS = 3


def words(element: Element) -> list[Word]:
    """Every sequence of tools the pattern accepts; a repeat without max stands for at most three."""
    if isinstance(element, Tool):
        return [(element,)]
    if isinstance(element, InSequence):
        return [sum(parts, ()) for parts in product(*map(words, element.sequence))]
    if isinstance(element, AnyOrder):
        return [word for parts in product(*map(words, element.any_order)) for word in interleavings(parts)]
    if isinstance(element, OneOf):
        return [word for one in element.one_of for word in words(one)]
    if isinstance(element, Optional):
        return [(), *words(element.optional)]
    assert isinstance(element, Repeat)
    top = max(MOST_REPEATS, element.min) if element.max is None else element.max
    counts = range(element.min, top + 1)
    return [sum(parts, ()) for times in counts for parts in product(words(element.repeat), repeat=times)]


def interleavings(parts: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Every way to merge the parts that keeps each part's own order."""
    if not any(parts):
        yield ()
    for at, part in enumerate(parts):
        if part:
            for tail in interleavings([*parts[:at], part[1:], *parts[at + 1 :]]):
                yield (part[0], *tail)


def linear_extensions(calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
    """Every order the calls can have had: those of one step in any."""
    steps = sorted({call.step for call in calls})
    groups = [permutations([call for call in calls if call.step == step]) for step in steps]
    for order in product(*groups):
        yield [call for group in order for call in group]


def fits(tool: Tool, call: ToolCall) -> bool:
    """Whether a call is the one meant, for globs and literal arguments."""
    assert isinstance(tool.tool, str)
    if not fnmatchcase(call.name, tool.tool):
        return False
    if tool.arguments is None or call.arguments is None:
        return True
    return all(key in call.arguments and call.arguments[key] == value for key, value in tool.arguments.items())


def fewest_edits(element: Element, calls: Sequence[ToolCall], free: str = "") -> int:
    """Missing and extra calls of the cheapest alignment; calls of the tools named in ``free`` may be extra for nothing."""
    accepted = {repr(word): word for word in words(element)}.values()
    return min(_edits(word, order, free) for order in linear_extensions(calls) for word in accepted)


def shortest(element: Element) -> int:
    """The calls of the shortest run the pattern accepts."""
    return min(map(len, words(element)))


def _edits(word: Word, calls: Sequence[ToolCall], free: str) -> int:
    @cache
    def best(at: int, call: int) -> int:
        if at == len(word):
            return sum(one.name not in free for one in calls[call:])
        if call == len(calls):
            return len(word) - at
        ways = [1 + best(at + 1, call), (calls[call].name not in free) + best(at, call + 1)]
        return min(ways + ([best(at + 1, call + 1)] if fits(word[at], calls[call]) else []))

    return best(0, 0)


def lcs_f1(expected: Sequence[str], actual: Sequence[str]) -> float:
    """F1 of the longest common subsequence; nothing expected and nothing called is 1."""
    table = [[0] * (len(actual) + 1) for _ in range(len(expected) + 1)]
    for i, one in enumerate(expected):
        for j, other in enumerate(actual):
            table[i + 1][j + 1] = table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
    total = len(expected) + len(actual)
    return 2 * table[-1][-1] / total if total else 1.0
