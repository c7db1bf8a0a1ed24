"""The shape of the code, beyond what import-linter can check."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PURE = {
    "__future__", "ast", "bisect", "collections", "contextlib", "contextvars", "dataclasses", "difflib", "enum", "fractions",
    "functools", "hashlib", "heapq", "itertools", "json", "math", "operator", "re", "string", "sys", "types", "typing",
    "unicodedata",
    "pydantic", "pydantic_core", "rapidfuzz", "re2", "jsonschema", "jsonschema_specifications", "referencing", "scorers",
}  # fmt: skip
"""The packages that scorers may import: none does I/O, reads a clock or draws random numbers."""


def imported_packages(source: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(source)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named = {node.module or "scorers" for node in nodes if isinstance(node, ast.ImportFrom) if not node.level}
    return {name.partition(".")[0] for name in plain | named}


PUBLIC_NAMES = {ROOT / "scorers" / "testing.py", ROOT / "scorers" / "opentelemetry.py"}  # of modules of the collector


@pytest.mark.parametrize("path", sorted({*(ROOT / "scorers").rglob("*.py")} - PUBLIC_NAMES), ids=lambda path: path.name)
def test_scorers_import_only_pure_packages(path: Path) -> None:
    assert imported_packages(path.read_text()) <= PURE


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
def test_an_impure_import_is_detected(line: str) -> None:
    assert not imported_packages(line) <= PURE


def test_the_map_lists_the_folders_of_the_collector_in_the_order_of_the_layers() -> None:
    readme = (ROOT / "collector" / "README.md").read_text()
    table = readme.partition("<!-- map -->")[2].partition("<!-- end of map -->")[0]
    shown = re.findall(r"^\| `([\w/.]+)` ", table, re.MULTILINE)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract.get("containers") == ["collector"]]
    names = [name.strip() for layer in layers for name in layer.split("|")]
    assert shown == [f"{name}.py" if (ROOT / "collector" / f"{name}.py").is_file() else f"{name}/" for name in names]
    entries = {
        path.name for path in (ROOT / "collector").iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    assert {name.strip("/") for name in shown} == entries - {"__init__.py", "__main__.py"}


OF_THE_PRODUCT = sorted([*(ROOT / "collector").rglob("*.py"), *(ROOT / "scorers").rglob("*.py")])


def oldest_of_plain_dicts(source: str) -> list[str]:
    """Attributes of which the first entry is taken although they are not declared as OrderedDict."""
    tree = ast.parse(source)
    declared = {
        ast.unparse(node.target): ast.unparse(node.annotation)
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign)
    }
    first = re.findall(r"next\(iter\((self\._\w+)(?:\.\w+\(\))?\)", ast.unparse(tree))
    return [name for name in first if not declared.get(name, "").startswith("OrderedDict[")]


@pytest.mark.parametrize("path", OF_THE_PRODUCT, ids=lambda path: path.name)
def test_the_oldest_entry_is_taken_from_an_ordered_dict(path: Path) -> None:
    """A plain dict walks over every entry deleted before it: 0.09 ms each time in one of 100,000 that lost as many."""
    assert oldest_of_plain_dicts(path.read_text()) == []


@pytest.mark.parametrize("of", ["self._a", "self._a.values()", "self._b"])
def test_the_oldest_entry_of_a_plain_dict_is_detected(of: str) -> None:
    assert oldest_of_plain_dicts(f"self._a: dict[int, int] = {{}}\nself._a.pop(next(iter({of})))") != []


def tracked_files() -> list[Path]:
    """The files in git that exist, by their path from the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [Path(name) for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        # "tool scorers" are something else, and so is the module of PyPI's package tool-scorer
        ("the project's first name", rb"(?i)(?<!from )tool[-_ ]?score" + rb"(?!r)"),
        ("a path of one machine", rb"\.\./" + rb"shared|(?<![\w.-])/" + rb"work/"),
    ],
)
def test_no_file_holds(what: str, pattern: bytes) -> None:
    found = re.compile(pattern).search
    assert [path for path in tracked_files() if found(bytes(path)) or found((ROOT / path).read_bytes())] == [], what


OURS = [path for path in sorted((ROOT / "tests").rglob("*.py")) if ".venv" not in path.parts]  # of other environments


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_no_test_imports_another_test(path: Path) -> None:
    """What tests share stands in a module of its own, such as ``tests/builders.py``."""
    imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    named = [f"{node.module}.{alias.name}" for node in imports for alias in node.names]
    assert [name for name in named if name.startswith("tests.") and ".test_" in name] == []
