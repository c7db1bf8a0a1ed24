"""Matches names against those of a rule: exact, glob (``*``, ``?``, ``[abc]``) or ``{regex: ...}``, case-sensitive."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

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

_ANY_CHARACTER: Final = "(?s)"
_RANGE: Final = re.compile("(.)-(.)", re.DOTALL)
GLOB_CHARACTERS = frozenset("*?[")
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
        if _is_prefix(name):
            prefix = name[:-1]
            return lambda text: text.startswith(prefix)
    return compile_test(_regex_of(name))


def beginning_of(name: Name) -> str:
    """Returns a text that every name it matches begins with: that before the first wildcard, or of an anchored regex."""
    if isinstance(name, str):
        at = min((name.index(character) for character in GLOB_CHARACTERS if character in name), default=len(name))
        return name[:at]
    return common_beginning(name.regex)


def part_of(name: Name) -> str:
    """Returns a text that every name it matches contains, "" if none is known."""
    return common_part(_regex_of(name).removeprefix(_ANY_CHARACTER) if isinstance(name, str) else name.regex)


def _is_prefix(glob: str) -> bool:
    """Whether the glob is a beginning and a final ``*``: the usual form, which needs no expression."""
    return glob.endswith("*") and is_exact(glob[:-1])


def _cost(name: Name) -> int:
    return 2 if isinstance(name, str) and _is_prefix(name) else search_cost(steps_of(_expression(name)), MAX_LENGTH)


def _expression(name: Name) -> Any:
    return compile_regex(_regex_of(name))


def _regex_of(name: Name) -> str:
    return glob_to_regex(name) if isinstance(name, str) else name.regex


def glob_to_regex(glob: str) -> str:
    """Returns an expression in RE2 syntax that matches what the glob does, from beginning to end."""
    # A bracket that is not closed, or is empty, is an ordinary character, as in shells.
    parts: list[str] = []
    at = 0
    while at < len(glob):
        character = glob[at]
        # As in shells, a `]` right after the `[`, or after the `[!`, is one of the characters.
        negated = glob[at + 1 : at + 2] in ("!", "^")
        start = at + 1 + negated
        close = glob.find("]", start + 1) if character == "[" else -1
        if close > 0:
            parts.append(f"[{'^' if negated else ''}{_class(glob[start:close])}]")
            at = close
        else:
            parts.append({"*": ".*", "?": "."}.get(character) or escape(character))
        at += 1
    return f"{_ANY_CHARACTER}\\A{''.join(parts)}\\z"


def _class(characters: str) -> str:
    """The inside of a bracket: ranges stay, characters that are special to the regex engine are escaped."""
    for first, last in _RANGE.findall(characters):
        if last < first:
            raise ValueError(f"not a glob: the range {first}-{last} ends before it begins")
    return "".join(f"\\{c}" if c in "\\]^[" else c for c in characters)
