"""Writes scorers/SIDE_BY_SIDE.md: what every scorer says of the same twelve runs. ``python -m tests.scorers.side_by_side``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from scorers import Evaluation, ToolCall, load_rules
from scorers.trajectory import Trajectory

PAGE = Path(__file__).parents[2] / "scorers" / "SIDE_BY_SIDE.md"

SEARCH, BOOK = ToolCall("search", {"city": "Paris"}), ToolCall("book", {"room": 7})


class Run(NamedTuple):
    """A run, and what is instructive about it."""

    name: str
    trajectory: Trajectory


def _run(name: str, *calls: ToolCall, parallel: bool = False) -> Run:
    return Run(name, Trajectory([replace(call, step=0 if parallel else step) for step, call in enumerate(calls)]))


RUNS = (
    _run("as expected", SEARCH, BOOK),
    _run("nothing called", *()),
    _run("one call missing", SEARCH),
    _run("one call too many", SEARCH, BOOK, ToolCall("mail", {})),
    _run("one call too many, in between", SEARCH, ToolCall("mail", {}), BOOK),
    _run("swapped", BOOK, SEARCH),
    _run("in parallel, recorded the other way round", BOOK, SEARCH, parallel=True),
    _run("a call repeated", SEARCH, SEARCH, BOOK),
    _run("failed, then tried again", replace(SEARCH, status="error"), SEARCH, BOOK),
    _run("a wrong argument", SEARCH, replace(BOOK, arguments={"room": 8})),
    _run("an argument more", SEARCH, replace(BOOK, arguments={"room": 7, "nights": 1})),
    _run("arguments not captured", replace(SEARCH, arguments=None), replace(BOOK, arguments=None)),
)

EXPECT = {
    "sequence": [{"tool": call.name, "arguments": dict(call.arguments or {})} for call in (SEARCH, BOOK)],
}
SCORERS: tuple[dict[str, Any], ...] = (
    {"system": "trajectory"},
    {"system": "adk", "match_type": "EXACT"},
    {"system": "adk", "match_type": "IN_ORDER"},
    {"system": "adk", "match_type": "ANY_ORDER"},
    {"system": "agentevals_cli"},
    {"system": "agentevals_lc"},
    {"system": "agentevals_lc", "trajectory_match_mode": "superset"},
    {"system": "axion"},
    {"system": "axion", "check_parameters": True, "scoring": "f1"},
    {"system": "azure_tne"},
    {"system": "azure_tne", "with_params": True},
    {"system": "deepeval"},
    {"system": "deepeval", "should_consider_ordering": True, "check_args": True},
    {"system": "deepeval_permission", "allowed_tools": ["search", "book"]},
    {"system": "evalite"},
    {"system": "evalite", "mode": "flexible"},
    {"system": "mastra_checks", "check": "noToolErrors"},
    {"system": "mastra_code", "expectedToolOrder": ["search", "book"]},
    {"system": "mastra_trajectory"},
    {"system": "mastra_trajectory", "ordering": "strict", "typed": True, "noRedundantCalls": True},
    {"system": "mlflow_exact"},
    {"system": "promptfoo", "assertion": "tool-sequence", "value": ["search", "book"]},
    {"system": "pydantic_evals", "evaluator": "ToolCorrectness"},
    {"system": "pydantic_evals", "evaluator": "TrajectoryMatch"},
    {"system": "ragas_accuracy"},
    {"system": "ragas_f1"},
    {"system": "strands_scorers", "scorer": "in_order"},
    {"system": "strands_scorers", "scorer": "any_order"},
    {"system": "tool_scorer"},
    {"system": "tool_scorer", "metric": "trajectory_accuracy"},
    {"system": "tpmjs"},
    {"system": "vertex", "metric": "precision"},
    {"system": "vertex", "metric": "recall"},
)


def page() -> str:
    """The page as Markdown."""
    named = [{**scorer, "name": f"s{at}"} if at else scorer for at, scorer in enumerate(SCORERS)]
    rules = load_rules({"rules": [{"name": "booking", "match": {}, "expect": EXPECT, "scorers": named}]})
    evaluations = [rules.rules[0].evaluate(run.trajectory) for run in RUNS]
    numbers = range(1, len(RUNS) + 1)
    lines = [
        "# Side by side",
        "",
        "What every scorer says of the same twelve runs, so that you see which number you want. Expected is `search` with",
        '`{"city": "Paris"}`, then `book` with `{"room": 7}`. Made by `python -m tests.scorers.side_by_side`.',
        "",
        "| run | what happened | `trajectory` | why |",
        "|---|---|---|---|",
        *(
            f"| {number} | {run.name} | {_value(of_run[0])} | {of_run[0].score.explanation} |"
            for number, run, of_run in zip(numbers, RUNS, evaluations, strict=True)
        ),
        "",
        f"| scorer | {' | '.join(map(str, numbers))} |",
        f"|---|{'---|' * len(RUNS)}",
        *(
            f"| {_label(scorer)} | {' | '.join(_value(of_run[at]) for of_run in evaluations)} |"
            for at, scorer in enumerate(SCORERS)
        ),
        "",
        "*error*: the original raises. `mastra_llm` and `tool_choice` ask a model, and are left out.",
        "",
    ]
    return "\n".join(lines)


def _label(scorer: dict[str, Any]) -> str:
    options = ", ".join(
        f"{key}: {value if isinstance(value, str) else json.dumps(value)}"
        for key, value in scorer.items()
        if key != "system"
    )
    return f"`{scorer['system']}`" + (f" {options}" if options else "")


def _value(evaluation: Evaluation) -> str:
    value = evaluation.score.value
    return "*error*" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    PAGE.write_text(page())
