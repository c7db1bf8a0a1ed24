"""The pytest plugin in projects with real frameworks and scripted models. Skipped where they are not installed (README.md)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

PROJECTS = Path(__file__).parent / "pytest_projects"
PYTHON = PROJECTS / ".venv" / "bin" / "python"
FRAMEWORKS = sorted(path.parent.name for path in PROJECTS.glob("*/shop.py"))


@pytest.mark.skipif(not PYTHON.exists(), reason="tests/newcomers/pytest_projects/install installs the frameworks")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_plugin_in_a_project_with(framework: str, tmp_path: Path) -> None:
    shutil.copy(PROJECTS / framework / "shop.py", tmp_path)
    shutil.copy(PROJECTS / "suite.py", tmp_path / "test_shop.py")
    shutil.copy(PROJECTS / "rules.yaml", tmp_path)
    command = [str(PYTHON), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE)
    said = done.stdout.splitlines()
    assert said[-1].startswith("2 failed, 1 passed"), done.stdout + done.stderr
    # Not the summary: in CI, pytest repeats the messages there.
    shown = [line.split(maxsplit=1)[1] for line in said if line.startswith("E  ")]
    (wrong,) = [line for line in shown if 'lookup_order.order_id: "7" does not match ^ord_' in line]
    assert wrong.startswith("~ ")
    (forbidden,) = [line for line in shown if line.endswith(" forbidden")]
    assert forbidden.startswith("! ")
    summary = said[said.index(next(line for line in said if "= agent runs =" in line)) :]
    assert summary[1:4] == [
        "3 runs: 2 fail, 1 pass",
        "1 fail by refund: forbidden delete_order, missing refund_card (test_shop.py::test_a_forbidden_tool)",
        "1 fail by refund: wrong arguments lookup_order.order_id (test_shop.py::test_a_wrong_order_id)",
    ]


def test_the_frameworks_are_there() -> None:
    assert FRAMEWORKS == ["langgraph_shop", "openai_agents_shop", "pydantic_ai_shop"]
