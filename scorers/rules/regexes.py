"""Regular expressions by RE2, which take linear time for every text and every expression."""

from __future__ import annotations

from typing import Any

import re2

MAX_REGEX_MEMORY = 1 << 20
"""Bytes that the engine may use for one expression. A larger one is refused when the rule is loaded."""


def compile_regex(text: str) -> Any:
    """Returns the compiled expression. Raises ValueError if RE2 does not support it."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_REGEX_MEMORY
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
        raise ValueError(
            f"not a regular expression in RE2 syntax (no look-around, no back-references): {reason}"
        ) from None


def is_match(expression: Any, text: str) -> bool:
    """Whether the expression matches anywhere in the text. Surrogates, which UTF-8 cannot encode, are read as ``?``."""
    return expression.search(text.encode("utf-8", "replace")) is not None


def escape(text: str) -> str:
    """Returns an expression that matches exactly this text."""
    escaped: str = re2.escape(text)
    return escaped
