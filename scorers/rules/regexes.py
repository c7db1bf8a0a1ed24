"""Regular expressions by RE2: linear time in the text, whatever an agent sends and whatever a rule asks."""

from __future__ import annotations

from typing import Any

import re2

MEMORY = 1 << 20
"""Bytes the engine may use for one expression; a bigger one is refused when the rule is loaded."""


def compile_regex(text: str) -> Any:
    """The compiled expression; ValueError where RE2 cannot."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
        raise ValueError(
            f"not a regular expression of RE2 syntax (no look-around, no back-references): {reason}"
        ) from None


def found(expression: Any, text: str) -> bool:
    """Whether the compiled expression occurs in the text; surrogates, which UTF-8 cannot carry, read as ``?``."""
    return expression.search(text.encode("utf-8", "replace")) is not None


def escape(text: str) -> str:
    """An expression for exactly this text."""
    escaped: str = re2.escape(text)
    return escaped
