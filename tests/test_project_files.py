"""The files for contributors and CI: what they name exists, and the versions in them agree."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import collector

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def steps(workflow: str) -> list[dict[str, Any]]:
    return [step for job in WORKFLOWS[workflow]["jobs"].values() for step in job.get("steps", [])]


def commands(workflow: str) -> str:
    return "\n".join(step.get("run", "") for step in steps(workflow))


def test_a_tag_and_every_change_start_a_workflow() -> None:
    starts = {name: workflow[True] for name, workflow in WORKFLOWS.items()}  # YAML reads the key "on" as true
    assert starts["release"] == {"push": {"tags": ["v*"]}}
    assert {"push", "pull_request", "workflow_call"} == set(starts["ci"])


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_workflows_run_what_exists(workflow: str) -> None:
    text = commands(workflow)
    assert set(re.findall(r"^make (\w+)", text, re.MULTILINE)) <= TARGETS
    named = re.findall(r"(?<![\w/])(?:deploy|helm|\.ci)/[\w/.-]+|requirements\.lock", text)
    assert [path for path in named if not (ROOT / path).exists()] == []
    jobs = WORKFLOWS[workflow]["jobs"]
    assert all((ROOT / job["uses"]).exists() for job in jobs.values() if "uses" in job)
    assert {job["needs"] for job in jobs.values() if "needs" in job} <= jobs.keys()
    assert all(re.search(r"@v\d+$", step["uses"]) for step in steps(workflow) if "uses" in step)


def test_every_python_that_is_named_is_tested() -> None:
    tested = WORKFLOWS["ci"]["jobs"]["test"]["strategy"]["matrix"]["python-version"]
    prefix = "Programming Language :: Python :: "
    assert tested == [
        name.removeprefix(prefix) for name in PROJECT["project"]["classifiers"] if name.startswith(prefix)
    ]
    assert PROJECT["project"]["requires-python"] == f">={tested[0]}"
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{tested[0].replace('.', '')}"


def test_the_version_is_written_once() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"] == {"path": "collector/__init__.py"}
    chart = yaml.safe_load((ROOT / "helm" / "rightcall" / "Chart.yaml").read_text())
    assert chart["appVersion"] == collector.__version__


@pytest.mark.parametrize(("tag", "released"), [(f"v{collector.__version__}", True), ("v0.0.0", False), ("v", False)])
def test_a_release_needs_the_tag_of_its_version(tag: str, released: bool) -> None:
    (check,) = [step["run"] for step in steps("release") if "__version__" in step.get("run", "")]
    done = subprocess.run(["bash", "-c", check], cwd=ROOT, env={**os.environ, "GITHUB_REF_NAME": tag}, check=False)
    assert (done.returncode == 0) is released


@pytest.mark.parametrize("lock", ["requirements.lock", "tests/newcomers/pytest_projects/requirements.lock"])
def test_all_that_rightcall_needs_is_locked_wherever_it_is_installed_by_a_lock(lock: str) -> None:
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / lock).read_text(), re.MULTILINE))
    needed = {re.split(r"[>=]", requirement)[0] for requirement in PROJECT["project"]["dependencies"]}
    assert needed - locked == set()


def test_pre_commit_runs_the_tools_of_the_lock() -> None:
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repo["repo"] == "local"
    lint = set(re.findall(r"^\t\$\(BIN\)/(\S+(?: check| format)?)", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for hook in repo["hooks"]:
        assert hook["language"] == "system"
        tool = re.fullmatch(r"\.venv/bin/(\S+(?: check| format)?)( --\S+)*", hook["entry"])
        assert tool
        assert tool[1] in lint


def test_what_contributors_are_told_to_open_exists() -> None:
    named = set(re.findall(r"`((?:collector|scorers|tests|deploy|helm|\.ci)/[^`<]*)`", CONTRIBUTING))
    links = set(re.findall(r"\]\((?!http)([^)]+)\)", CONTRIBUTING))
    tests = {name for name in named if "::" in name}
    assert [path for path in (named | links) - tests if not (ROOT / path).exists()] == []
    for path, _, test in (name.partition("::") for name in tests):
        assert f"def {test}(" in (ROOT / path).read_text()
    assert set(re.findall(r"(?:^|`)make (\w+)", CONTRIBUTING, re.MULTILINE)) <= TARGETS
    assert len(named) >= 20


def test_the_mutation_tester_is_given_what_exists() -> None:
    mutants = PROJECT["tool"]["mutmut"]
    assert [pattern for pattern in mutants["only_mutate"] if not list(ROOT.glob(pattern))] == []
    assert [path for path in mutants["pytest_add_cli_args_test_selection"] if not (ROOT / path).exists()] == []


def test_make_help_names_every_target() -> None:
    command = ["make", "--no-print-directory", "help"]  # make test is itself a make around this one
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.split()[0] for line in shown.splitlines()} == TARGETS
