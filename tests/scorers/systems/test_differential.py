"""The original npm packages on fresh cases: `@mastra/evals` 1.10.2 and `evalite@1.0.0-beta.16` against ours.

Each seed makes other cases, random and adversarial; a disagreement names its case. Skipped where node or the packages
are absent (see node/README.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.scorers.systems import originals
from tests.scorers.systems.cases import answer, disagreement
from tests.scorers.systems.generated import (
    STATES,
    WRAPPINGS,
    both_sides,
    evalite_case,
    mastra_checks_case,
    mastra_code_case,
    mastra_llm_case,
    mastra_trajectory_case,
    with_failures,
)

pytestmark = pytest.mark.skipif(originals.missing() is not None, reason=str(originals.missing()))

SEEDS = range(3)
CASES_A_SEED = {
    "evalite": 1500,
    "mastra_checks": 120,
    "mastra_code": 200,
    "mastra_llm": 60,
    "mastra_trajectory": 250,
}
OPTIONS: dict[str, Callable[[Random], dict[str, Any]]] = {
    "evalite": evalite_case,
    "mastra_checks": mastra_checks_case,
    "mastra_code": mastra_code_case,
    "mastra_llm": mastra_llm_case,
    "mastra_trajectory": mastra_trajectory_case,
}


def cases(system: str, seed: int) -> list[dict[str, Any]]:
    """The cases of one seed. Mastra cannot carry arguments that are no objects, and reads the state of a call."""
    random = Random(f"{system} {seed}")
    made = []
    for number in range(CASES_A_SEED[system]):
        expected, actual = both_sides(random)
        if system in {"mastra_checks", "mastra_trajectory"}:
            actual = [with_failures(random, one) for one in actual]
        if system not in {"evalite", "mastra_trajectory"}:
            states = [{"state": random.choice(STATES)} if random.random() < 0.3 else {} for _ in actual]
            actual = [{**one, "args": {}, **state} for one, state in zip(actual, states, strict=True)]
        options = OPTIONS[system](random)
        if system == "mastra_llm" and random.random() < 0.5:
            options["judge"] = random.choice(WRAPPINGS).format(json.dumps(options["judge"]))
        case_id = f"{system}-{seed}-{number}"
        made.append({"id": case_id, "system": system, "expected": expected, "actual": actual, "options": options})
    return made


def as_javascript(given: Any) -> Any:
    """Our answer as JavaScript prints it: doubles, those beyond its range as null."""
    if isinstance(given, dict):
        return {key: as_javascript(item) for key, item in given.items()}
    if isinstance(given, list):
        return [as_javascript(item) for item in given]
    if isinstance(given, int) and not isinstance(given, bool) and abs(given) > 2**53:
        return float(given) if abs(given) < 2**1023 else None
    return None if isinstance(given, float) and not math.isfinite(given) else given


@pytest.fixture(scope="module")
def theirs() -> dict[str, dict[str, Any]]:
    """What the originals answer to all cases: in one process, since the packages take seconds to load."""
    return originals.ask([case for system in originals.SYSTEMS for seed in SEEDS for case in cases(system, seed)])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("system", originals.SYSTEMS)
def test_agrees_with_the_original_on_fresh_cases(system: str, seed: int, theirs: dict[str, dict[str, Any]]) -> None:
    wrong = [
        f"{difference}\n  in {case}"
        for case in cases(system, seed)
        if (difference := disagreement(case, as_javascript(answer(case)), theirs[case["id"]]))
    ]
    assert wrong[:3] == []


@pytest.mark.parametrize("system", originals.SYSTEMS)
def test_the_fresh_cases_cover_every_kind_of_answer(system: str) -> None:
    ours = [answer(case) for case in cases(system, 0)]
    raised = sum(not one["ok"] for one in ours)
    values = [one["score"] for one in ours if one["ok"]]
    assert (raised == 0) == (system in {"mastra_checks", "mastra_trajectory"})
    assert raised < len(ours) / 2
    assert min(values) == 0.0
    assert max(values) == 1.0
    assert system in {"mastra_checks", "mastra_code"} or any(0 < value < 1 for value in values)
