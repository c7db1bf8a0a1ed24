"""Patterns of `redact`: regular expressions in RE2 syntax, on UTF-8."""

from __future__ import annotations

import re2


def compile_pattern(pattern: str) -> re2.Pattern:
    """Returns the compiled expression. Raises ValueError where it is none."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        reason = error.args[0] if error.args else b""
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        message = "is not a regular expression in RE2 syntax (no look-around, no back-references)"
        raise ValueError(f"{pattern!r} {message}: {said}") from None


def checked_pattern(pattern: str) -> str:
    """Returns the pattern if it can be compiled, and matches no empty text. Raises ValueError."""
    if compile_pattern(pattern).search(b"") is not None:
        raise ValueError(f"{pattern!r} matches the empty text, which is everywhere")
    return pattern
