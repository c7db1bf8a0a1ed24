"""The original promptfoo 0.121.20 on fresh cases against ours. Skipped where it is absent (see promptfoo/README.md)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.scorers.systems import originals
from tests.scorers.systems.cases import answer, disagreement
from tests.scorers.systems.generated import as_shell, both_sides, promptfoo_case

CASES = 2000


def cases(seed: int, count: int) -> list[dict[str, Any]]:
    """Cases of one seed, in which some calls are of a shell."""
    random = Random(f"promptfoo {seed}")
    made = []
    for number in range(count):
        expected, actual = both_sides(random)
        actual = [as_shell(random, one) for one in actual]
        options = promptfoo_case(random, expected)
        case = {"id": f"promptfoo-{seed}-{number}", "system": "promptfoo", "expected": []}
        made.append({**case, "actual": actual, "options": options})
    return made


@pytest.mark.skipif(originals.missing_promptfoo() is not None, reason=str(originals.missing_promptfoo()))
def test_agrees_with_the_original_on_fresh_cases() -> None:
    generated = cases(0, CASES)
    theirs = originals.ask_promptfoo(generated)
    wrong = [
        f"{difference}\n  in {case}"
        for case in generated
        if (difference := disagreement(case, answer(case), theirs[case["id"]]))
    ]
    assert wrong[:3] == []


def test_the_fresh_cases_cover_every_kind_of_answer() -> None:
    generated = cases(0, 400)
    found = {(case["options"]["assertion"], case["options"]["not"], answer(case).get("score")) for case in generated}
    assert len(found) == 4 * 2 * 2
