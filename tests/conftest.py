"""Settings of every test, and a check after each that it left nothing running and no file behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.leftovers import Snapshot, left_since, unfinished_tasks
from tests.sinks import OtlpSink

# Workers of xdist have the width of its terminal there; without it reports have one of their own.
os.environ.pop("COLUMNS", None)
# A proxy of the environment is for what the tests install: their own servers are on loopback.
for _variable in ("NO_PROXY", "no_proxy"):
    os.environ[_variable] = ",".join(filter(None, [os.environ.get(_variable), "127.0.0.1", "localhost"]))
# Property tests are not timed, since machines differ. Where CI is set, hypothesis draws the same examples in each run.
settings.register_profile("rightcall", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rightcall")
# For `make mutants`: few examples, the same in each run, and none of the time goes into finding the smallest that fails.
_UNSHRUNK = set(Phase) - {Phase.shrink, Phase.explain}
settings.register_profile(
    "mutants", settings.get_profile("rightcall"), max_examples=20, derandomize=True, database=None, phases=_UNSHRUNK
)


def pytest_xdist_auto_num_workers() -> int:
    """Two workers a core: half of the time tests wait for processes, sockets and timeouts."""
    return 2 * (os.cpu_count() or 1)


_LONGEST: Final = (
    "test_compiled.py", "test_prometheus_rules.py", "test_documents.py", "test_testing.py", "test_newcomers.py",
    "test_actions.py", "test_small_model.py", "test_pytest_projects.py", "test_crash.py", "test_order.py",
)  # fmt: skip
"""Files whose tests take a minute or more together, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no core works on it when all others are done."""
    items.sort(key=lambda item: _LONGEST.index(item.path.name) if item.path.name in _LONGEST else len(_LONGEST))


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Escape what xdist cannot send: hostile text, with lone surrogates, gets into what is logged and asserted."""
    return _encodable((yield))


def _encodable(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode(errors="backslashreplace").decode()
    if isinstance(data, dict):
        return {_encodable(key): _encodable(value) for key, value in data.items()}
    return type(data)(map(_encodable, data)) if type(data) in (list, tuple) else data


@pytest.fixture(scope="session", autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for the temporary files of tests and of the processes they start, so that it shows what they leave."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        patch.setenv("TMPDIR", str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def unfinished() -> Iterator[list[str]]:
    """The tasks that were left so far."""
    with unfinished_tasks() as found:
        yield found


@pytest.fixture(scope="module", autouse=True)
def before_module(temporary: Path) -> Iterator[Snapshot]:
    """Fail the last test of a module whose fixtures left something."""
    before = Snapshot.take(temporary)
    yield before
    assert left_since(before, temporary) == []


@pytest.fixture(autouse=True)
def nothing_left_behind(before_module: Snapshot, temporary: Path, unfinished: list[str]) -> Iterator[None]:
    """Fail a test that left a thread, a task, a child process or a file."""
    before = Snapshot.take(temporary)
    unfinished.clear()
    yield
    assert unfinished == []
    if before.runs_the_same_as(before_module):  # else servers of the module run, whose thread pools grow meanwhile
        assert left_since(before, temporary) == []


@pytest.fixture(scope="module")
def sink() -> Iterator[OtlpSink]:
    """A backend for the tests of a module."""
    with OtlpSink() as sink:
        yield sink
