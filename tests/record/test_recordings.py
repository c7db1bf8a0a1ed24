"""A recording made for real: the environment of the framework, its instrumentation, and a collector that reads what it can.

It installs packages, so it runs only where ``RIGHTCALL_RECORD`` names recordings (or ``all``), separated by commas.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from collector.offline.score import score_files
from tests import recorded
from tests.builders import no_rules
from tests.collector.corpus_differences import differences
from tests.collector.corpus_limits import LIMITS
from tests.record.recordings import RECORDINGS, EnvironmentMissingError, Recording, record
from tests.record.scenarios import scenarios

WANTED = os.environ.get("RIGHTCALL_RECORD", "").split(",")


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_fresh_recording_is_read_exactly_but_for_known_limits(name: str, tmp_path: Path) -> None:
    if name not in WANTED and "all" not in WANTED:
        pytest.skip("RIGHTCALL_RECORD does not name it")
    try:
        folders = list(record(name, tmp_path))
    except EnvironmentMissingError as error:
        pytest.skip(f"its packages cannot be installed: {error}")
    assert [folder.name for folder in folders] == [f"{name}-{scenario}" for scenario in RECORDINGS[name].scenarios]
    for folder in folders:
        runs = [verdict.run for verdict in score_files([folder], no_rules())]
        known, _ = LIMITS.get(folder.name, (frozenset(), ""))
        assert set(differences(recorded.truth(folder), runs, has_content=True)) == known


@pytest.mark.parametrize("recording", RECORDINGS.values(), ids=RECORDINGS)
def test_every_recording_has_a_script_and_pins(recording: Recording) -> None:
    assert importlib.util.find_spec(f"tests.record.frameworks.{recording.script}") is not None
    assert all("==" in requirement for requirement in recording.requirements)
    assert set(recording.scenarios) <= set(scenarios())
