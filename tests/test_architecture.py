"""The shape of the code: what may import what, beyond what import-linter can say."""

from __future__ import annotations

import ast
import re
import subprocess
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


def test_the_first_name_of_the_project_is_nowhere() -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    old = re.compile(rb"tool[-_ ]?score" + rb"(?!r)", re.IGNORECASE)  # "tool scorers" are something else
    paths = [Path(name) for name in tracked.stdout.decode().split("\0") if name]
    named = [path for path in paths if old.search(str(path).encode())]
    assert [
        *named,
        *(path for path in paths if (ROOT / path).is_file() and old.search((ROOT / path).read_bytes())),
    ] == []


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda path: path.name)
def test_tests_share_helpers_by_builders_not_by_importing_one_another(path: Path) -> None:
    imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    named = [f"{node.module}.{alias.name}" for node in imports for alias in node.names]
    assert [name for name in named if name.startswith("tests.") and ".test_" in name] == []
