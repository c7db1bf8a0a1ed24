"""A few thousand mutated real requests on every run; ``python -m tests.fuzz 1000000`` is the long form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import fuzz
from tests.fuzz_targets import TARGETS, seeds


def test_mutated_requests_give_verdicts_or_refusals(tmp_path: Path) -> None:
    target = fuzz(3000, 7, tmp_path)
    assert target.internal() == 0
    assert target.outcomes["accepted"] > 1000
    assert target.outcomes["DecodeError"] > 300


@pytest.mark.parametrize("target", TARGETS)
def test_inputs_that_fuzzing_found_raise_nothing(target: str) -> None:
    found = seeds(target)
    for seed in found:
        TARGETS[target](seed)
    assert len(found) > 3
