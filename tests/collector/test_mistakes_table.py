"""Mistakes that people make: the message names the place and the fix, and the page shows it as it is."""

from __future__ import annotations

import pytest

from tests.collector.mistakes_table import CONFIGS, PAGE, RULES, Mistake, page, said_of


@pytest.mark.parametrize("mistake", [*RULES, *CONFIGS], ids=lambda mistake: mistake.what)
def test_a_message_names_the_place_and_the_fix(mistake: Mistake) -> None:
    said = said_of(mistake)
    first = next((line for line in said.splitlines() if mistake.fix in line), "")
    assert mistake.place in first, said
    assert "Input should" not in said


def test_there_are_as_many_as_people_make() -> None:
    assert len({mistake.what for mistake in RULES}) + len({mistake.what for mistake in CONFIGS}) >= 55


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page().rstrip() + "\n", "python -m tests.collector.mistakes_table"
