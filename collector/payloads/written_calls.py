"""Calls that a span's name holds whole, as a program would write them: ``tool: pay(to='Ada', sum=5)``."""

from __future__ import annotations

import ast
import re
from typing import Any, Final

from collector.payloads.values import UNREADABLE, literal_of, parse_json, read_repr

MAX_NAME: Final = 4_096
"""Longest name that is looked at, in characters: the arguments are in it."""
_WRITTEN: Final = re.compile(
    r"(?:[\w-]{1,64}[./]){0,8}(?:tool|function)(?:[ _.-]?call)?(?:\s{0,4}:\s{0,4}|[ /])([A-Za-z_][\w.-]{0,127})\((.*)\)\s{0,4}",
    re.DOTALL | re.IGNORECASE,
)
_OBJECT: Final = re.compile(r"[A-Za-z_][\w.]{0,127}(?:\(|\[|\{)\w{1,128}[=:].*[)\]}]", re.DOTALL)


def is_written_object(value: object) -> bool:
    """Whether a value is an object as a program prints it, ``Payment(to=Ada, sum=5)``: nothing tells a text from a number."""
    return type(value) is str and len(value) <= MAX_NAME and _OBJECT.fullmatch(value) is not None


def call_in_span_name(name: str) -> tuple[str, Any] | None:
    """Returns the tool that a span's name says was called, and its arguments, ``UNREADABLE`` where they cannot be told.

    None if it says no such thing.
    """
    match = _WRITTEN.fullmatch(name) if "(" in name and len(name) <= MAX_NAME else None
    if match is None:
        return None
    text = match[2].strip()
    if text[:1] == "{":
        given = parse_json(text)
        return match[1], given if isinstance(given, dict) else UNREADABLE
    arguments = read_repr(f"f({text})", _keywords_of)
    return match[1], UNREADABLE if arguments is None else arguments


def _keywords_of(node: ast.expr) -> dict[str, Any]:
    """Returns the arguments of a call. Raises ValueError if one has no name, or is no literal."""
    # Of a name: in `pay(to='Ada').then(by=2)` what `pay` returned is called.
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError("not the call of a function")
    if node.args or any(word.arg is None for word in node.keywords):
        raise ValueError("not all arguments are given by name")
    return {str(word.arg): literal_of(word.value) for word in node.keywords}
