"""Runs the original npm scorers with node: fresh answers for the differential test, timings for the benchmark."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "node"
SYSTEMS = ("evalite", "mastra_checks", "mastra_code", "mastra_llm", "mastra_trajectory")


def missing() -> str | None:
    """Why the originals cannot run here, None where they can."""
    if shutil.which("node") is None:
        return "node is not installed"
    if not (FOLDER / "node_modules").is_dir():
        return "the original packages are not installed: npm ci --prefix tests/scorers/systems/node"
    return None


def ask(cases: Sequence[dict[str, Any]], *arguments: str, timeout_s: float = 240) -> dict[str, dict[str, Any]]:
    """What the original packages answer, by case id. ``arguments`` go to the driver."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(
        ["node", "driver.mjs", *arguments],
        input=lines,
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=True,
        timeout=timeout_s,
    )
    answers = [json.loads(line) for line in done.stdout.split("\n") if line]
    return {answer["id"]: answer for answer in answers}
