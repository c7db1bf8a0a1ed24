"""The example package of plug-ins, built and installed into an environment of its own, in every command that uses rules."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.waiting import wait_for

EXAMPLE = Path(__file__).parent / "plugin_example"
RULES = """
rules:
  - name: payout
    match: {}
    expect: {sequence: [{tool: pay, arguments: {account: {iban: {country: DE}}}}]}
    scorers: [trajectory, {system: call_budget, budget: 3, prices: {search: 2}}]
tests:
  - {name: right, rule: payout, calls: [pay: {account: DE89370400440532013000}], passes: true}
  - {name: wrong digits, rule: payout, calls: [pay: {account: DE88370400440532013000}], passes: false}
  - {name: another country, rule: payout, calls: [pay: {account: GB82WEST12345698765432}], passes: false}
"""
CALL: Any = {"gen_ai__tool__call__arguments": json.dumps({"account": "DE89370400440532013000"})}
RUN = (data.tool(2, 1, "search", 0.1), data.tool(3, 1, "pay", 0.2, **CALL), data.agent(1))


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with this checkout, the example, and a package whose scorer cannot be imported. Nothing is downloaded."""
    folder = tmp_path_factory.mktemp("environment")
    builder = venv.EnvBuilder(symlinks=True)
    builder.create(folder)
    installed = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
    (installed / "checkout.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    wheels = folder / "wheels"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    subprocess.run(build, cwd=EXAMPLE, check=True, capture_output=True)
    (wheel,) = wheels.iterdir()
    with ZipFile(wheel) as files:
        files.extractall(installed)
    about = installed / "broken_scorers-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-scorers\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text("[rightcall.scorers]\nbroken = no_such_module:SCORER\n")
    return folder / "bin" / "python"


def rightcall(python: Path, *arguments: str) -> tuple[int, str]:
    command = [str(python), "-P", "-m", "collector", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


def test_check_runs_the_tests_of_its_rules_and_says_where_each_scorer_comes_from(python: Path, rules: Path) -> None:
    code, report = rightcall(python, "check", str(rules))

    assert code == 0, report
    assert "3 of 3 tests pass" in report
    assert f"{rules}: call_budget is a scorer of acme-scorers@1.0" in report
    assert f"{rules}: iban is a matcher of acme-scorers@1.0" in report
    assert f"{rules}: trajectory is a built-in scorer: trajectory@1" in report


def test_check_lists_what_is_installed_and_what_of_it_cannot_be_used(python: Path) -> None:
    code, listed = rightcall(python, "check", "--systems")

    assert code == 0
    assert "call_budget  acme-scorers@1.0 (rightcall.scorers): budget, prices" in listed
    assert "iban  acme-scorers@1.0 (rightcall.matchers): country" in listed
    assert "broken  broken-scorers@0.1 (rightcall.scorers): cannot be used: " in listed


def test_wrong_options_and_what_cannot_be_imported_are_errors_where_a_rule_names_them(
    python: Path, rules: Path
) -> None:
    rules.write_text(RULES.replace("budget: 3, prices: {search: 2}}", "budget: -3, price: {}}, broken"))

    code, report = rightcall(python, "check", str(rules))

    assert code == 1
    place = f"{rules}:6: rule payout: scorers"
    assert (
        f"{place}.1: call_budget option 'budget' must be greater than 0.0, not -3; call_budget has no option" in report
    )
    assert f"{place}.2: scorer broken of broken-scorers@0.1 cannot be loaded: ModuleNotFoundError" in report


def test_score_uses_both(python: Path, rules: Path, tmp_path: Path) -> None:
    (tmp_path / "run.pb").write_bytes(data.traces(*RUN).SerializeToString())

    code, lines = rightcall(python, "score", "--rules", str(rules), "--format", "jsonl", str(tmp_path / "run.pb"))

    assert code == 0
    native, budget = json.loads(lines)["evaluations"]
    assert (native["value"], native["explanation"]) == (
        pytest.approx(2 / 3),
        "score 0.667 = 1 - 1/(1 + 2): extra search (cost 1); 1 call matched",
    )
    assert (budget["name"], budget["value"], budget["label"]) == ("call_budget", 1.0, "pass")
    assert budget["explanation"] == "the calls cost 3 of 3"


@pytest.fixture
def collector(python: Path) -> Iterator[CollectorProcess]:
    with CollectorProcess(RULES, None, python=python, traces={"settle": "100ms", "confirm": "0s"}) as process:
        yield process


def test_run_uses_both(collector: CollectorProcess) -> None:
    send(collector, *RUN)

    def count(scorer: str, label: str) -> float:
        labels = f'intent="",label="{label}",route="",rule="payout",scorer="{scorer}"'
        return collector.metric(f"rightcall_evaluations_total{{{labels}}}")

    wait_for(lambda: count("call_budget", "pass") == 1)
    assert count("trajectory", "fail") == 1
