"""Every recorded answer of the original packages: the same score, the same details, an error where they raise."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from tests.scorers.systems.cases import SYSTEMS, answer, disagreement, recorded

CASES: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
for _case in recorded():
    CASES[_case["system"]].append(_case)

EDGE_CASES = [case for cases in CASES.values() for case in cases if "why" in case]


def sets_unordered(ours: dict[str, Any]) -> dict[str, Any]:
    """MLflow prints sets, in an order that is chance: compare the characters of its rationale."""
    detail = ours.get("detail", {})
    if "rationale" not in detail:
        return ours
    return {**ours, "detail": {**detail, "rationale": "".join(sorted(detail["rationale"]))}}


def test_every_system_that_can_run_is_recorded() -> None:
    assert set(CASES) == set(SYSTEMS) - {"pydantic_evals", "tool_scorer", "vertex"}
    assert {name: len(cases) >= 100 for name, cases in CASES.items()} == dict.fromkeys(CASES, True)


@pytest.mark.parametrize("system", sorted(CASES))
def test_agrees_with_the_original(system: str) -> None:
    wrong = [
        difference
        for case in CASES[system]
        if (difference := disagreement(case, sets_unordered(answer(case)), sets_unordered(case["answer"])))
    ]
    assert wrong == []


@pytest.mark.parametrize("case", [case for case in EDGE_CASES if "claim" in case], ids=lambda case: case["id"])
def test_follows_the_code_where_the_documentation_differs(case: dict[str, Any]) -> None:
    assert answer(case)["score"] == pytest.approx(case["answer"]["score"], abs=1e-9)


def test_raises_where_the_original_raises() -> None:
    raising = [case for cases in CASES.values() for case in cases if not case["answer"]["ok"]]
    assert len(raising) > 100
    assert [case["id"] for case in raising if answer(case)["ok"]] == []
