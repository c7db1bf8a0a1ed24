"""Every recorded run, read from its requests by the collector's own pipeline, against what really happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collector.offline.score import score_files
from tests import recorded
from tests.builders import no_rules
from tests.collector.corpus_differences import NO_CONTENT, differences
from tests.collector.corpus_limits import LIMITS


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    recorded.unpack(folder)
    return folder


@pytest.mark.parametrize("name", recorded.names())
def test_a_recorded_run_is_what_happened(corpus: Path, name: str) -> None:
    truth = recorded.truth(corpus / name)
    runs = [verdict.run for verdict in score_files([corpus / name], no_rules())]
    wrong = set(differences(truth, runs, has_content=not any(word in name for word in NO_CONTENT)))
    known, reason = LIMITS.get(name, (frozenset(), ""))
    assert wrong == known, f"differs in {sorted(wrong)}, known limits {sorted(known)} {reason}"


@pytest.mark.parametrize("name", recorded.names())
def test_a_recorded_run_is_the_same_when_its_requests_come_backwards_and_twice(
    corpus: Path, tmp_path: Path, name: str
) -> None:
    bodies = sorted(recorded.requests(corpus / name))
    for number, body in enumerate([*reversed(bodies), *bodies]):
        kind = "-logs" if "-logs" in body.name else ""
        (tmp_path / f"request-{number:03}{kind}{body.suffix}").write_bytes(body.read_bytes())
    assert outline(tmp_path) == outline(corpus / name)


def outline(folder: Path) -> list[tuple[Any, ...]]:
    runs = [verdict.run for verdict in score_files([folder], no_rules())]
    return sorted((run.span_id, run.agent, run.user_input, repr(run.trajectory)) for run in runs)


def test_limits_are_of_runs_that_exist() -> None:
    assert set(LIMITS) <= set(recorded.names())
