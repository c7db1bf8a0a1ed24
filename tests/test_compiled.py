"""The compiled wheel does what the source does. Compiling takes minutes: only where ``RIGHTCALL_TEST_COMPILED=1``."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from hatch_build import TRANSLATE
from tests import recorded

ROOT = Path(__file__).parent.parent
FOLDERS = ("collector/assembly", "collector/dialects", "collector/model", "collector/otlp", "collector/payloads",
           "collector/reconstruction", "collector/results", "collector/scoring", "collector/test_pipeline.py",
           "collector/test_conversation_scope.py", "scorers/conformance", "scorers/test_evaluation.py")  # fmt: skip
LEFT_OUT = ("test_a_bug_in_a_scorer", "cannot_be_scored", "could_not_be_scored", "test_a_genai_span_is_small")
"""Tests that replace a function which compiled code calls directly, and of the size of an interpreted object."""

COMPILES = os.environ.get("RIGHTCALL_TEST_COMPILED") == "1"
needs_wheel = pytest.mark.skipif(not COMPILES, reason="compiling takes minutes: set RIGHTCALL_TEST_COMPILED=1")


def patterns() -> list[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    compiled: list[str] = settings["hooks"]["custom"]["compiled"]
    return compiled


def test_every_module_that_is_to_be_compiled_exists() -> None:
    assert [pattern for pattern in patterns() if not list(ROOT.glob(pattern))] == []


@pytest.mark.skipif(COMPILES, reason="the wheel cannot be built without that")
def test_mypyc_translates_every_module_that_is_to_be_compiled(tmp_path: Path) -> None:
    modules = [path.relative_to(ROOT) for pattern in patterns() for path in ROOT.glob(pattern)]
    assert len(modules) > 50
    run(sys.executable, "-c", TRANSLATE, tmp_path, *modules, cwd=ROOT)
    assert list(tmp_path.glob("c/**/*.c"))


def test_no_named_tuple_that_is_compiled_has_a_field_of_type_object() -> None:
    # mypyc takes it for a name of the module, and fails where that is imported: `Any` is another word for it.
    found = []
    for path in (path for pattern in patterns() for path in ROOT.glob(pattern)):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "NamedTuple" for base in node.bases):
                fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
                found += [
                    f"{path.name}:{field.lineno}" for field in fields if "object" in ast.unparse(field.annotation)
                ]
    assert found == []


def test_the_training_of_the_compiler_runs() -> None:
    run(sys.executable, "-m", "collector.demo.training", cwd=ROOT)


def test_no_compiled_module_is_beside_its_source() -> None:
    assert [path for package in ("collector", "scorers") for path in (ROOT / package).rglob("*.so")] == []


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-10_000:]
    return done.stdout


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment in which the compiled wheel is installed, and with the tests, but not the source."""
    folder = tmp_path_factory.mktemp("compiled")
    tools = {"PATH": f"{os.environ['PATH']}:{Path(sys.executable).parent}"}
    run("uv", "build", "--wheel", "--no-build-isolation", "--out-dir", folder, ROOT,
        cwd=ROOT, VIRTUAL_ENV=sys.prefix, RIGHTCALL_COMPILE="once", **tools)  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
    run("uv", "pip", "install", "--no-deps", "--python", folder / "env/bin/python", wheel, cwd=folder, **tools)
    (packages,) = folder.glob("env/lib/python*/site-packages")
    # What it depends on comes from this environment; the editable install in it is not followed from there.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    for name in ("tests", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture(scope="module")
def python(compiled: Path) -> Path:
    return compiled / "env/bin/python"


@needs_wheel
def test_it_says_which_build_it_is(compiled: Path, python: Path) -> None:
    assert run(compiled / "env/bin/rightcall", "--version", cwd=compiled).strip().endswith("(compiled)")
    assert "compiled" not in run(sys.executable, "-m", "collector", "--version", cwd=ROOT)


@needs_wheel
def test_what_leaves_is_the_same_byte_for_byte(compiled: Path, python: Path, tmp_path: Path) -> None:
    recorded.unpack(tmp_path)
    play = ("-m", "tests.replay", tmp_path)
    interpreted_output = run(sys.executable, *play, cwd=ROOT, PYTHONHASHSEED="0")
    assert len(interpreted_output.splitlines()) > len(recorded.names())
    assert run(python, *play, cwd=compiled, PYTHONHASHSEED="0") == interpreted_output


@needs_wheel
def test_the_tests_of_the_core_pass(compiled: Path, python: Path, tmp_path: Path) -> None:
    folders = [f"tests/{folder}" for folder in FOLDERS]
    selected = " and ".join(f"not {name}" for name in LEFT_OUT)
    options = ("-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'inner'}", "-k", selected)
    print(run(python, "-m", "pytest", *options, *folders, cwd=compiled))
