"""The GitHub Action and the pre-commit hook: their commands are run, in a project as a user would have it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests import otlp_data as data
from tests.deploy.programs import DEPLOY, ROOT

ACTION = yaml.safe_load((DEPLOY / "github-action" / "action.yml").read_text("utf-8"))
RULES = """
rules:
  - {name: orders, match: {agent: shop}, expect: {sequence: [lookup, refund], forbid: ["delete_*"]}}
tests:
  - {name: good, rule: orders, calls: [lookup, refund], passes: true}
"""
INSTALL, CHECK, SCORE = (step["name"] for step in ACTION["runs"]["steps"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "rules.yaml").write_text(RULES)
    (tmp_path / "traces").mkdir()
    return tmp_path


def add_trace(project: Path, number: int, *tools: str) -> None:
    trace = bytes([number]) * 16
    calls = [data.tool(at + 2, 1, name, at * 0.1, trace) for at, name in enumerate(tools)]
    request = data.traces(data.agent(1, name="shop", trace_id=trace), *calls)
    (project / "traces" / f"{number}.pb").write_bytes(request.SerializeToString())


def run_step(project: Path, name: str, inputs: Mapping[str, str], path: str) -> int:
    """Runs one step of the action as a runner does; returns its exit code."""
    (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == name]
    assert "inputs." not in step["run"]
    given = {key: str(value["default"]) for key, value in ACTION["inputs"].items()} | dict(inputs)
    files = {name: str(project / name.lower()) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
    environment = {
        **os.environ, **files, "PATH": path, "RUNNER_TEMP": str(project / "temp"),
        "GITHUB_ACTION_PATH": str(DEPLOY / "github-action"),
        **{key: given[re.fullmatch(r"\$\{\{ inputs\.([\w-]+) }}", value)[1]] for key, value in step.get("env", {}).items()},  # type: ignore[index]
    }  # fmt: skip
    (project / "temp").mkdir(exist_ok=True)
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=project, env=environment, check=False).returncode


HERE = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def test_the_action_checks_rules_and_gates_on_scores(project: Path) -> None:
    add_trace(project, 1, "lookup", "refund")
    add_trace(project, 2, "lookup")
    inputs = {"traces": "traces"}
    assert run_step(project, CHECK, inputs, HERE) == 0
    assert run_step(project, SCORE, inputs, HERE) == 0
    add_trace(project, 3, "lookup", "delete_order")
    assert run_step(project, SCORE, inputs | {"min-accuracy": "0.9", "junit": "results.xml"}, HERE) == 1
    assert "1 run with a forbidden call" in (project / "github_step_summary").read_text()
    results = (project / "results.xml").read_text()
    assert results.count("<testcase") == 4
    assert "accuracy 0.333 is under 0.9" in results


def test_the_action_fails_for_invalid_rules(project: Path) -> None:
    (project / "rules" / "rules.yaml").write_text(RULES.replace("calls: [lookup, refund]", "calls: [lookup]"))
    assert run_step(project, CHECK, {}, HERE) == 1


def test_an_input_is_no_script(project: Path) -> None:
    assert run_step(project, CHECK, {"rules": "rules; touch owned"}, HERE) == 2
    assert not (project / "owned").exists()


@pytest.mark.skipif("RIGHTCALL_TEST_INSTALL" not in os.environ, reason="RIGHTCALL_TEST_INSTALL=1 installs from PyPI")
def test_the_action_installs_what_it_runs(project: Path) -> None:
    assert run_step(project, INSTALL, {}, os.environ["PATH"]) == 0
    folder = (project / "github_path").read_text().strip()
    assert folder == str(project / "temp" / "rightcall" / "bin")
    assert run_step(project, CHECK, {}, f"{folder}{os.pathsep}/usr/bin:/bin") == 0


def test_every_input_is_used() -> None:
    used = {value for step in ACTION["runs"]["steps"] for value in step.get("env", {}).values()}
    assert used == {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]}
    assert all(step["shell"] == "bash" for step in ACTION["runs"]["steps"])


def test_the_hook_checks_all_rules_when_one_changes(project: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert re.search(hook["files"], "rules/a/b.yml")
    assert not re.search(hook["files"], "other/rules/a.yaml")
    assert hook["pass_filenames"] is False
    command = [sys.executable, "-m", "collector", *hook["entry"].split()[1:], *hook["args"]]
    assert hook["entry"].split()[0] == "rightcall"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run(command, cwd=project, env=environment, check=False).returncode == 0
    (project / "rules" / "again.yaml").write_text(RULES)
    done = subprocess.run(command, cwd=project, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "a rule of this name is already at" in done.stderr
