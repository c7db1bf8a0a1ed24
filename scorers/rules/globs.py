"""Globs as regular expressions: ``*``, ``?`` and ``[abc]``, case-sensitive."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from scorers.rules.regexes import compile_test, escape

GLOB_CHARACTERS = frozenset("*?[")
ANY_CHARACTER: Final = "(?s)"
"""Begins the expression of a glob: its wildcards stand for line breaks, too."""
_RANGE: Final = re.compile("(.)-(.)", re.DOTALL)


def compile_glob(glob: str) -> Callable[[str], bool]:
    """Returns a predicate over whole texts. Raises ValueError for a range that ends before it begins."""
    if is_prefix(glob):
        prefix = glob[:-1]
        return lambda text: text.startswith(prefix)
    return compile_test(glob_to_regex(glob))


def is_prefix(glob: str) -> bool:
    """Whether the glob is a beginning and a final ``*``: the usual form, which needs no expression."""
    return glob.endswith("*") and GLOB_CHARACTERS.isdisjoint(glob[:-1])


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
    return f"{ANY_CHARACTER}\\A{''.join(parts)}\\z"


def _class(characters: str) -> str:
    """The inside of a bracket: ranges stay, characters that are special to the regex engine are escaped."""
    for first, last in _RANGE.findall(characters):
        if last < first:
            raise ValueError(f"not a glob: the range {first}-{last} ends before it begins")
    return "".join(f"\\{c}" if c in "\\]^[" else c for c in characters)
