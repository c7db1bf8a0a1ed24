"""Regular expressions of Python's engine over texts of strangers: none is slow by the way it begins."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]  # the only parser of Python's own syntax

import pytest

ROOT = Path(__file__).parent.parent
FILES = [
    path
    for part in ("collector", "scorers")
    for path in sorted((ROOT / part).rglob("*.py"))
    if "re.compile(" in path.read_text()
]
_SEARCHED = re.compile(r"\b([A-Za-z_]+)\.(?:search|finditer|findall|split|subn?)\(")
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)


def is_slow_to_search(expression: str | bytes, flags: int) -> bool:
    """Whether a way to match begins with a repetition without end: tried from each place of a text, it takes quadratic time."""
    return any(_begins_endless(way) for way in _ways(_parser.parse(expression, flags)))


def _ways(parsed: _parser.SubPattern) -> Iterator[_parser.SubPattern]:
    while len(parsed) and parsed[0][0] is _constants.SUBPATTERN:
        parsed = parsed[0][1][-1]
    if len(parsed) and parsed[0][0] is _constants.BRANCH:
        for way in parsed[0][1][1]:
            yield from _ways(way)
    else:
        yield parsed


def _begins_endless(way: _parser.SubPattern) -> bool:
    # A repetition with which the expression ends cannot fail: whatever it took is the match.
    return len(way) > 1 and way[0][0] in _REPEATS and way[0][1][1] is _constants.MAXREPEAT


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_expression_that_is_searched_for_begins_endless(path: Path) -> None:
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    searched = {name: getattr(module, name, None) for name in _SEARCHED.findall(path.read_text())}
    assert [
        name
        for name, found in searched.items()
        if isinstance(found, re.Pattern) and is_slow_to_search(found.pattern, found.flags)
    ] == []


@pytest.mark.parametrize(
    ("expression", "is_slow"),
    [
        (r"\s*\[|x", True), (r"x|\s*\[", True), (r"(?:\w+)Error", True), (r"[^@]+@", True), (r".*?x", True),
        (r"\s+", False), (r"\{\s*x", False), (r"\w{1,64}\.", False), (r"^x", False),
    ],
)  # fmt: skip
def test_what_is_slow_to_search(expression: str, *, is_slow: bool) -> None:
    assert is_slow_to_search(expression, 0) is is_slow
