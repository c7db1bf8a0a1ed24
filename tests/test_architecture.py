"""The shape of the code: what may import what, beyond what import-linter can say."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PURE = {
    "__future__", "ast", "bisect", "collections", "dataclasses", "difflib", "enum", "fractions", "functools", "hashlib",
    "heapq", "itertools", "json", "math", "operator", "re", "string", "sys", "typing",
    "unicodedata",
    "pydantic", "pydantic_core", "rapidfuzz", "re2", "jsonschema", "referencing", "scorers",
}  # fmt: skip


def imported_roots(source: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(source)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named = {node.module or "scorers" for node in nodes if isinstance(node, ast.ImportFrom) if not node.level}
    return {name.partition(".")[0] for name in plain | named}


@pytest.mark.parametrize("path", sorted((ROOT / "scorers").rglob("*.py")), ids=lambda path: path.name)
def test_scorers_import_only_what_is_pure(path: Path) -> None:
    assert imported_roots(path.read_text()) <= PURE


@pytest.mark.parametrize(
    "line",
    [
        "import httpx",
        "import urllib.request",
        "from os import path",
        "def f():\n    import socket",
        "from collector import span",
    ],
)
def test_the_check_itself_sees_violations(line: str) -> None:
    assert not imported_roots(line) <= PURE


@pytest.mark.parametrize("folder", ["collector", "scorers", "tests"])
def test_nothing_of_a_set_up_machine_is_in_the_code(folder: str) -> None:
    words = ("../" + "shared", "/" + "work/")
    files = [
        path
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".yaml", ".md", ".mjs", ".js", ".json"} and "node_modules" not in path.parts
    ]
    assert [str(path) for path in files if any(word in path.read_text() for word in words)] == []
