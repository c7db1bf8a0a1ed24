"""Patterns of `redact`: regular expressions in RE2 syntax, on UTF-8; and its globs, which are those of rules."""

from __future__ import annotations

import re2

from scorers.rules.globs import glob_to_regex


def compile_pattern(pattern: str) -> re2.Pattern:
    """Returns the compiled expression. Raises ValueError where it is none."""
    return _compiled(
        pattern, f"{pattern!r} is not a regular expression in RE2 syntax (no look-around, no back-references)"
    )


def compile_glob(glob: str) -> re2.Pattern:
    """Returns an expression that matches what the glob does. Raises ValueError where it is none."""
    return _compiled(glob_to_regex(glob), f"{glob!r} is not a glob")


def checked_pattern(pattern: str) -> str:
    """Returns the pattern if it can be compiled, and matches no empty text. Raises ValueError."""
    if compile_pattern(pattern).search(b"") is not None:
        raise ValueError(f"{pattern!r} matches the empty text, which is everywhere")
    return pattern


def checked_glob(glob: str) -> str:
    """Returns the glob if it can be compiled. Raises ValueError."""
    compile_glob(glob)
    return glob


def _compiled(expression: str, complaint: str) -> re2.Pattern:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(expression.encode(), options)
    except re2.error as error:
        reason = error.args[0] if error.args else b""
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(f"{complaint}: {said}") from None
