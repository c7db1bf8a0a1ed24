"""SECURITY.md says what is bounded by which setting: each limit has a test, and the tables are up to date."""

from __future__ import annotations

import ast

import pytest

from tests.collector import limits_table
from tests.collector.limits_table import CONSTANTS, GUARDED, NO_LIMITS, ROOT, SETTINGS

TESTS = sorted({*SETTINGS.values(), *CONSTANTS.values()})


def test_every_number_of_the_configuration_is_a_limit_with_a_test_or_none() -> None:
    names = {limit.name for limit in limits_table.settings()}
    assert {name for name in names if name.rpartition(".")[2] not in NO_LIMITS} == SETTINGS.keys()


def test_every_constant_at_the_edges_is_a_limit_with_a_test() -> None:
    names = {limit.name for limit in limits_table.constants()}
    guarded = tuple(name.removesuffix(".py").replace("/", ".") + "." for name in GUARDED)
    public = {name for name in names if name.startswith(guarded) and "._" not in name}
    assert public <= CONSTANTS.keys() <= names


def test_every_limit_says_what_it_bounds() -> None:
    limits = [*limits_table.settings(), *limits_table.constants()]
    assert [limit.name for limit in limits if limit.name in {**SETTINGS, **CONSTANTS} and not limit.bounds] == []


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.rpartition("::")[2])
def test_the_test_of_a_limit_exists(test: str) -> None:
    file, _, name = test.partition("::")
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_tables_are_up_to_date() -> None:
    shown = limits_table.SECURITY.read_text()
    assert limits_table.tables() in shown, "run python -m tests.collector.limits_table"
