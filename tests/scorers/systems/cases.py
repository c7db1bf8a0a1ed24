"""What the tests of the published scorers share: the systems, builders of calls, the recorded answers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from scorers.registry import PUBLISHED
from scorers.score import Score

SYSTEMS: dict[str, ModuleType] = {module.NAME: module for module in PUBLISHED}

NEEDED_OPTIONS: dict[str, dict[str, Any]] = {
    "deepeval_permission": {"allowed_tools": ["a"]},
    "mastra_checks": {"check": "calledTool", "arg": "a"},
    "mastra_code": {"expectedTool": "a"},
    "mastra_llm": {"judge": {"evaluations": []}},
    "promptfoo": {"assertion": "tool-used", "value": "a"},
    "pydantic_evals": {"evaluator": "TrajectoryMatch"},
    "strands_scorers": {"scorer": "exact"},
    "vertex": {"metric": "exact_match"},
}
"""What a scorer cannot do without, where it cannot do without something."""

Call = dict[str, Any]


def calls(*given: str | tuple[str, Any]) -> list[Call]:
    """``"a"`` is a call without arguments, ``("a", {...})`` one with."""
    return [{"tool": one} if isinstance(one, str) else {"tool": one[0], "args": one[1]} for one in given]


def run(system: ModuleType, expected: list[Call], actual: list[Call], **options: Any) -> Score:
    """Make the system's scorer and use it once."""
    scored: Score = system.create(**options)(expected=expected, actual=actual)
    return scored


def recorded() -> list[dict[str, Any]]:
    """Every recorded case with its answer."""
    path = Path(__file__).parent / "oracle" / "answers.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Our answer to a case, in the form of the recorded ones; the error's text is left to us."""
    try:
        score = run(SYSTEMS[case["system"]], case["expected"], case["actual"], **case["options"])
    except (TypeError, ValueError) as error:
        return {"ok": False, "error": str(error)}
    return {"ok": True, "score": score.value, "detail": dict(score.details)}


def disagreement(case: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """What differs between two answers to a case, None where they agree to 1e-9 and in every published detail."""
    if ours["ok"] != theirs["ok"]:
        return f"{case['id']}: ours {ours}, theirs {theirs}"
    if not theirs["ok"]:
        return None
    if not _same(ours["score"], theirs["score"]):
        return f"{case['id']}: score {ours['score']}, theirs {theirs['score']}"
    for key, value in theirs["detail"].items():
        if not _same(ours["detail"].get(key), value):
            return f"{case['id']}: {key} is {ours['detail'].get(key)!r}, theirs {value!r}"
    return None


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_same(ours[key], theirs[key]) for key in theirs)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    if isinstance(ours, bool) or isinstance(theirs, bool | str):
        return type(ours) is type(theirs) and bool(ours == theirs)
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return abs(_double(ours) - _double(theirs)) <= 1e-9 * max(1.0, abs(_double(theirs)))
    return bool(ours == theirs)


def _double(value: float) -> float:
    return float(value)
