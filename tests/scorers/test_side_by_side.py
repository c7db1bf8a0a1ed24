"""The page that compares all scorers is up to date, and leaves none out."""

from __future__ import annotations

from scorers import SCORERS
from scorers.registry import JUDGES
from tests.scorers import side_by_side


def test_the_page_is_up_to_date() -> None:
    """If this fails: .venv/bin/python -m tests.scorers.side_by_side."""
    assert side_by_side.PAGE.read_text() == side_by_side.page()


def test_every_scorer_that_asks_no_model_is_on_it() -> None:
    assert {scorer["system"] for scorer in side_by_side.SCORERS} == SCORERS.keys() - JUDGES.keys()


def test_every_scorer_gives_the_expected_run_its_best_value() -> None:
    values = [line.split(" | ")[1] for line in side_by_side.page().splitlines() if line.startswith("| `")]
    assert values == ["1"] * len(side_by_side.SCORERS)
