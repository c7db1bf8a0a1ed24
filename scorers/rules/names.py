"""Matches names against those of a rule: exact, glob (``*``, ``?``, ``[abc]``) or ``{regex: ...}``, case-sensitive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scorers.rules.globs import ANY_CHARACTER, GLOB_CHARACTERS, compile_glob, glob_to_regex, is_prefix
from scorers.rules.matchers import Name
from scorers.rules.regexes import (
    common_beginning,
    common_part,
    compile_regex,
    compile_test,
    escape,
    search_cost,
    steps_of,
)

MAX_LENGTH = 256
"""Characters of a name that are recorded: further ones are cut off."""


class Names:
    """The names of one list of a rule: tells which of them a name matches."""

    def __init__(self, names: Sequence[Name]) -> None:
        self._exact: dict[str, int] = {}
        self._others: list[tuple[int, Callable[[str], bool]]] = []
        self.cost = 2
        """Units of work to match one name of up to `MAX_LENGTH` characters."""
        for at, name in enumerate(names):
            if isinstance(name, str) and is_exact(name):
                # Cut like the names of calls: a longer name in a rule would never match what is recorded of it.
                self._exact[name[:MAX_LENGTH]] = self._exact.get(name[:MAX_LENGTH], 0) | 1 << at
            else:
                self._others.append((1 << at, compile_name(name)))
                self.cost += _cost(name)

    def matching(self, name: str) -> int:
        """Returns the matching names as bits."""
        found = self._exact.get(name, 0)
        for bit, is_name in self._others:
            if is_name(name):
                found |= bit
        return found


def is_exact(name: Name) -> bool:
    """Whether the name matches only itself."""
    return isinstance(name, str) and GLOB_CHARACTERS.isdisjoint(name)


def exactly(text: str) -> str | dict[str, str]:
    """Returns a name as rule files have it that matches this text and nothing else."""
    return text if is_exact(text) else {"regex": f"^{escape(text)}$"}


def format_name(name: Name) -> str:
    """Returns the name as messages show it: a regex between slashes."""
    return name if isinstance(name, str) else f"/{name.regex}/"


def compile_name(name: Name) -> Callable[[str], bool]:
    """Returns a predicate over names. A glob matches the whole name; a regex matches anywhere unless anchored.

    Raises ValueError for a glob with a range that ends before it begins.
    """
    if isinstance(name, str):
        if is_exact(name):
            return name.__eq__ if len(name) < MAX_LENGTH else name[:MAX_LENGTH].__eq__
        return compile_glob(name)
    return compile_test(name.regex)


def beginning_of(name: Name) -> str:
    """Returns a text that every name it matches begins with: that before the first wildcard, or of an anchored regex."""
    if isinstance(name, str):
        at = min((name.index(character) for character in GLOB_CHARACTERS if character in name), default=len(name))
        return name[:at]
    return common_beginning(name.regex)


def part_of(name: Name) -> str:
    """Returns a text that every name it matches contains, "" if none is known."""
    return common_part(_regex_of(name).removeprefix(ANY_CHARACTER) if isinstance(name, str) else name.regex)


def _cost(name: Name) -> int:
    return 2 if isinstance(name, str) and is_prefix(name) else search_cost(steps_of(_expression(name)), MAX_LENGTH)


def _expression(name: Name) -> Any:
    return compile_regex(_regex_of(name))


def _regex_of(name: Name) -> str:
    return glob_to_regex(name) if isinstance(name, str) else name.regex
