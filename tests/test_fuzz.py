"""A few thousand mutated real requests on every run; ``python -m tests.fuzz 1000000`` is the long form."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz import fuzz


def test_mutated_requests_give_verdicts_or_refusals(tmp_path: Path) -> None:
    target = fuzz(3000, 7, tmp_path)
    assert target.internal() == 0
    assert target.outcomes["accepted"] > 1000
    assert target.outcomes["DecodeError"] > 300
