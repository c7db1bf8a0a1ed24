"""The original PyPI packages on fresh cases: pydantic-evals 2.62.0 and tool-scorer 1.10.0 against ours.

Each seed makes other cases, random and adversarial; a disagreement names its case. Skipped where the packages are absent (see
python/README.md).
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.scorers.systems import originals
from tests.scorers.systems.cases import answer, disagreement
from tests.scorers.systems.generated import (
    both_sides,
    expected_arguments_of,
    pydantic_evals_case,
    tool_scorer_case,
    with_plain_arguments,
)

pytestmark = pytest.mark.skipif(originals.missing_from_pypi() is not None, reason=str(originals.missing_from_pypi()))

SEEDS = range(2)
CASES_A_SEED = 1000


def cases(system: str, seed: int) -> list[dict[str, Any]]:
    """The cases of one seed. Some calls failed; tool-scorer takes no arguments that are no objects."""
    random = Random(f"{system} {seed}")
    made = []
    for number in range(CASES_A_SEED):
        expected, actual = both_sides(random)
        actual = [{**one, "isError": True} if random.random() < 0.2 else one for one in actual]
        if system == "pydantic_evals":
            options = expected_arguments_of(random, expected, pydantic_evals_case(random))
        else:
            options = tool_scorer_case(random)
            expected, actual = ([with_plain_arguments(one) for one in side] for side in (expected, actual))
        case_id = f"{system}-{seed}-{number}"
        made.append({"id": case_id, "system": system, "expected": expected, "actual": actual, "options": options})
    return made


@pytest.fixture(scope="module")
def theirs() -> dict[str, dict[str, Any]]:
    return originals.ask_python(
        [case for system in originals.PYTHON_SYSTEMS for seed in SEEDS for case in cases(system, seed)]
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("system", originals.PYTHON_SYSTEMS)
def test_agrees_with_the_original_on_fresh_cases(system: str, seed: int, theirs: dict[str, dict[str, Any]]) -> None:
    wrong = [
        f"{difference}\n  in {case}"
        for case in cases(system, seed)
        if (difference := disagreement(case, answer(case), theirs[case["id"]]))
    ]
    assert wrong[:3] == []


@pytest.mark.parametrize("system", originals.PYTHON_SYSTEMS)
def test_the_fresh_cases_cover_every_kind_of_answer(system: str) -> None:
    ours = [answer(case) for case in cases(system, 0)]
    values = [one["score"] for one in ours if one["ok"]]
    assert (len(values) < len(ours)) == (system == "tool_scorer")
    assert (None in values) == (system == "tool_scorer")
    shares = [value for value in values if value is not None]
    assert (min(shares), max(shares)) == (0.0, 1.0)
    assert any(0 < value < 1 for value in shares)
