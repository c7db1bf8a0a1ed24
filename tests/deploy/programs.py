"""Real programs that judge our files; a test of one that is not installed is skipped, with the reason."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = ROOT / "helm" / "rightcall"
_TIMEOUT = 600.0


def program(name: str) -> str:
    """The path of a program, or a skipped test."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def run(
    command: Sequence[str | Path], timeout: float = _TIMEOUT, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run to the end, whatever the exit code."""
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=timeout, check=False, cwd=ROOT
    )


def must_run(command: Sequence[str | Path], timeout: float = _TIMEOUT) -> str:
    """Run and give back what was printed; what went wrong is the test's failure."""
    done = run(command, timeout)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def must_run_python(*arguments: str | Path) -> str:
    """Run a script of ours."""
    return must_run([sys.executable, *arguments])


def same_files(made: Path, checked_in: Path, command: str) -> None:
    """Every file under ``made`` is checked in as it is."""
    for file in sorted(path for path in made.rglob("*") if path.is_file()):
        name = file.relative_to(made)
        assert (checked_in / name).is_file(), f"{name} is missing; {command}"
        assert file.read_text("utf-8") == (checked_in / name).read_text("utf-8"), f"{name} is not up to date; {command}"
