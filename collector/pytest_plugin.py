"""The pytest plugin: fixtures for agent runs, and a summary of those that `scorers.testing.assert_run` looked at.

- ``agent_runs``: the runs of agents during the test.
- ``recorded_run``: parametrises the test over the runs in ``@pytest.mark.recordings("traces/")``, or in the folders of the
  ini option ``rightcall_recordings``.

Works with xdist: results travel with the reports of the tests.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collector.testing import RecordedRuns

# Every pytest run of an environment with Rightcall loads this file, so it imports the rest when it is first needed.
_PROPERTY = "rightcall"
_MARK = "recordings(path, ...): parametrise `recorded_run` over the agent runs in these files or folders"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option."""
    parser.addini("rightcall_recordings", "folders of recorded traces for `recorded_run`", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARK)


@pytest.fixture
def agent_runs() -> Iterator[RecordedRuns]:
    """The agent runs whose spans end during the test."""
    from collector.testing import record_runs  # noqa: PLC0415

    with record_runs() as runs:
        yield runs


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test one run after the other."""
    if "recorded_run" not in metafunc.fixturenames:
        return
    from collector.receivers.otlp_file import InputError  # noqa: PLC0415
    from collector.testing import read_runs  # noqa: PLC0415

    mark = metafunc.definition.get_closest_marker("recordings")
    root = metafunc.config.rootpath
    paths = [root / path for path in mark.args] if mark else list(metafunc.config.getini("rightcall_recordings"))
    if not paths:
        raise pytest.UsageError('recorded_run: mark the test with recordings("traces/"), or set rightcall_recordings')
    try:
        runs = read_runs(*map(Path, paths))
    except InputError as error:
        raise pytest.UsageError(f"recorded_run: {error}") from None
    # Without one, the test would be skipped, and the suite pass.
    if not runs:
        raise pytest.UsageError(f"recorded_run: no agent run in {', '.join(map(str, paths))}")
    ids = [f"{run.agent or 'agent'}-{run.trace_id.hex()[:8]}-{run.span_id.hex()[:4]}" for run in runs]
    metafunc.parametrize("recorded_run", runs, ids=ids)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> None:
    """Put what the test and its fixtures asserted of runs into its report, before that is made."""
    # Looked up, not imported: where nothing has imported it, no test has asserted anything.
    testing = sys.modules.get("collector.testing")
    if testing is not None:
        item.user_properties += [(_PROPERTY, "\t".join(one)) for one in testing.take_asserted()]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write how many runs passed, and why the others did not, by reason."""
    found = [
        (*value.split("\t"), report.nodeid)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "teardown"  # the last of a test, which has what was asserted until then
        for name, value in report.user_properties
        if name == _PROPERTY
    ]
    if not found:
        return
    from scorers.quoting import shorten  # noqa: PLC0415
    from scorers.wording import quantity  # noqa: PLC0415

    labels = Counter(label for label, *_ in found)
    terminalreporter.section("agent runs")
    # Under xdist, reports come in any order.
    counted = sorted(labels.items(), key=lambda item: (-item[1], item[0]))
    terminalreporter.line(
        f"{quantity(len(found), 'run')}: {', '.join(f'{number} {label}' for label, number in counted)}"
    )
    groups = Counter((label, rule, reasons) for label, rule, reasons, _ in found if label != "pass")
    for (label, rule, reasons), number in sorted(groups.items(), key=lambda group: (-group[1], group[0])):
        example = min(node for *key, node in found if tuple(key) == (label, rule, reasons))
        by = f" by {shorten(rule)}" if rule else ""
        why = f": {shorten(reasons, 200)}" if reasons else ""
        terminalreporter.line(f"{number} {label}{by}{why} ({example})")
