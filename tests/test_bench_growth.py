"""The laws by which costs grow: in operations, which no other load on the machine changes."""

from __future__ import annotations

import pytest

from tests.bench.growth import Cost, costs, table

FEW, MANY = 20, 80
CONSTANT, LINEAR = 1.3, 1.1 * MANY / FEW
LAWS = {
    "select a rule: exact route": CONSTANT,
    "select a rule: glob": CONSTANT,
    "select a rule: one route, many agents": CONSTANT,
    "select a rule: attribute": CONSTANT,
    "select a rule: anchored regex": CONSTANT,
    "select a rule: regex": LINEAR,
    "find an intent": CONSTANT,
    "load rules": LINEAR,
    "load rules again": LINEAR,
    "check rules": LINEAR,
    "scrape: routes x 10 intents": LINEAR,
    "conversations of nested agents": LINEAR,
    "a turn of a session": CONSTANT,
    "a turn in a span that is open": CONSTANT,
}
"""By how much a cost may grow from few to many."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[Cost]:
    return list(costs((FEW, MANY), tmp_path_factory.mktemp("growth")))


def test_no_cost_grows_faster_than_its_law(measured: list[Cost]) -> None:
    grown = {}
    for kind in LAWS:
        few, many = [cost.operations for cost in measured if cost.what == kind]
        grown[kind] = many / few
    assert {kind: by for kind, by in grown.items() if by > LAWS[kind]} == {}
    assert {cost.what for cost in measured} == LAWS.keys()


def test_the_table_has_a_row_for_each_kind_of_work(measured: list[Cost]) -> None:
    assert len(table(measured).splitlines()) == 1 + len(LAWS)
