"""The registry: every name is that of a scorer of plain calls."""

from __future__ import annotations

from typing import Any

import pytest

from scorers import SCORERS
from scorers.registry import JUDGES, VERSIONS

# What a scorer cannot do without, where it cannot do without something.
OPTIONS: dict[str, dict[str, Any]] = {
    "mastra_code": {"expectedTool": "a"},
    "mastra_llm": {"judge": {"evaluations": []}},
    "vertex": {"metric": "exact_match"},
}


def test_every_scorer_has_a_version() -> None:
    assert SCORERS.keys() | JUDGES.keys() == VERSIONS.keys()


@pytest.mark.parametrize("name", sorted(SCORERS))
def test_every_scorer_scores_a_perfect_run_1(name: str) -> None:
    calls = [{"tool": "a", "args": {"x": 1}}]

    score = SCORERS[name](**OPTIONS.get(name, {}))(expected=calls, actual=calls)

    assert (score.value, score.label) == (1.0, "pass")


@pytest.mark.parametrize("name", sorted(SCORERS))
def test_every_scorer_refuses_unknown_options(name: str) -> None:
    with pytest.raises(ValueError, match="no_such_option"):
        SCORERS[name](**OPTIONS.get(name, {}), no_such_option=1)
