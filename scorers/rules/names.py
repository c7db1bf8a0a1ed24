"""Whether a name is the one a rule means: exact, glob (``*``, ``?``, ``[abc]``) or ``{regex: ...}``; case matters."""

from __future__ import annotations

from collections.abc import Callable

from scorers.rules.matchers import Name
from scorers.rules.regexes import compile_regex, escape, found

GLOB_CHARACTERS = frozenset("*?[")


def is_exact(name: Name) -> bool:
    """Whether the name stands for itself alone."""
    return isinstance(name, str) and GLOB_CHARACTERS.isdisjoint(name)


def show_name(name: Name) -> str:
    """The name as a sentence has it: a regex between slashes."""
    return name if isinstance(name, str) else f"/{name.regex}/"


def compile_name(name: Name) -> Callable[[str], bool]:
    """A predicate over names. A glob covers the whole name; a regex is found anywhere unless anchored."""
    if isinstance(name, str) and is_exact(name):
        return name.__eq__
    expression = compile_regex(_glob_to_regex(name) if isinstance(name, str) else name.regex)
    return lambda text: found(expression, text)


def _glob_to_regex(glob: str) -> str:
    # A bracket that is never closed, or closes at once, is a character like any other, as shells have it.
    parts: list[str] = []
    at = 0
    while at < len(glob):
        character = glob[at]
        close = glob.find("]", at + 2) if character == "[" else -1
        if close > 0:
            negated = glob[at + 1] in "!^"
            parts.append(f"[{'^' if negated else ''}{_class(glob[at + 1 + negated : close])}]")
            at = close
        else:
            parts.append({"*": ".*", "?": "."}.get(character) or escape(character))
        at += 1
    return f"(?s)\\A{''.join(parts)}\\z"


def _class(characters: str) -> str:
    """The inside of a bracket: ranges stay, what the regex engine would read otherwise is escaped."""
    return "".join(f"\\{c}" if c in "\\]^[" else c for c in characters)
