"""Sections of Markdown files that are made, not written: between ``<!-- NAME: ... -->`` and ``<!-- end of NAME -->``."""

from __future__ import annotations


def replaced(text: str, name: str, content: str) -> str:
    """The text with ``content`` between the marks of ``name``. Raises ValueError where a mark is missing."""
    before, begin, rest = text.partition(f"<!-- {name}: ")
    mark, close, rest = rest.partition("-->\n")
    _, end, after = rest.partition(f"<!-- end of {name} -->")
    if not (begin and close and end):
        raise ValueError(f"no section marked {name}")
    return before + begin + mark + close + content + end + after
