"""Runs the original scorers of npm and PyPI: fresh answers for the differential tests, timings for the benchmark."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "node"
SYSTEMS = ("evalite", "mastra_checks", "mastra_code", "mastra_llm", "mastra_trajectory")
PYTHON_FOLDER = Path(__file__).parent / "python"
PYTHON_SYSTEMS = ("pydantic_evals", "tool_scorer")
PROMPTFOO_FOLDER = Path(__file__).parent / "promptfoo"
_PYTHON = PYTHON_FOLDER / ".venv" / "bin" / "python"


def missing() -> str | None:
    """Why the originals from npm cannot run here, None where they can."""
    if shutil.which("node") is None:
        return "node is not installed"
    if not (FOLDER / "node_modules").is_dir():
        return "the original packages are not installed: npm ci --prefix tests/scorers/systems/node"
    return None


def missing_from_pypi() -> str | None:
    """Why those from PyPI cannot, None where they can."""
    return (
        None if _PYTHON.is_file() else "the original packages are not installed: tests/scorers/systems/python/install"
    )


def missing_promptfoo() -> str | None:
    """Why promptfoo cannot, None where it can."""
    if shutil.which("node") is None:
        return "node is not installed"
    return None if (PROMPTFOO_FOLDER / "node_modules").is_dir() else "promptfoo is not installed: see its README.md"


def ask(cases: Sequence[dict[str, Any]], *arguments: str, timeout_s: float = 240) -> dict[str, dict[str, Any]]:
    """What the original packages from npm answer, by case id. ``arguments`` go to the driver."""
    return _answers(["node", "driver.mjs", *arguments], FOLDER, cases, timeout_s)


def ask_python(cases: Sequence[dict[str, Any]], timeout_s: float = 240) -> dict[str, dict[str, Any]]:
    """What those from PyPI answer, by case id."""
    return _answers([str(_PYTHON), "driver.py"], PYTHON_FOLDER, cases, timeout_s)


def ask_promptfoo(cases: Sequence[dict[str, Any]], timeout_s: float = 240) -> dict[str, dict[str, Any]]:
    """What promptfoo answers, by case id."""
    with_texts = [case | {"actual": [_with_text(call) for call in case["actual"]]} for case in cases]
    return _answers(["node", "driver.mjs"], PROMPTFOO_FOLDER, with_texts, timeout_s)


def _with_text(call: dict[str, Any]) -> dict[str, Any]:
    """The call with its arguments as the text that a span holds."""
    return {"tool": call["tool"]} | ({"text": json.dumps(call["args"])} if "args" in call else {})


def _answers(
    command: list[str], folder: Path, cases: Sequence[dict[str, Any]], timeout_s: float
) -> dict[str, dict[str, Any]]:
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(
        command, input=lines, cwd=folder, capture_output=True, text=True, check=True, timeout=timeout_s
    )
    answers = [json.loads(line) for line in done.stdout.split("\n") if line]
    return {answer["id"]: answer for answer in answers}
