"""Whether the arguments of calls are what their tools declare: ``schema: declared`` of a rule.

The schemas are part of what was recorded: hostile. They are compiled as those of rules are, up to a size, and what checking
takes is spent as work.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from scorers.quoting import shorten
from scorers.rules.json_schema import compile_schema
from scorers.score import Label, Outcome, Score
from scorers.trajectory import ToolCall, Trajectory
from scorers.work import Work

NAME: Final = "declared_schema"
VERSION: Final = "1"
MAX_SCHEMA: Final = 16_384
"""Characters of the schema of one tool, as JSON; by a longer one nothing is checked."""
_COMPILE_COST: Final = 10  # for each character of a schema, whether it was compiled before or not
_MAX_NAMED: Final = 3  # tools in an explanation
_Check = Callable[[Any, Work], bool]


def score_declared(trajectory: Trajectory, work: Work) -> Score:
    """Score the share of calls whose arguments fit the schema that their tool declares. Raises WorkLimitError.

    Calls that were requested and not executed count, too: what a model asked for is what is looked at. A call that cannot be
    checked, because its arguments, its tool's definition or a usable schema is lacking, leaves a run undecided that has no
    wrong one.
    """
    outcomes: list[Outcome] = []
    unchecked: list[int] = []
    for index, call in enumerate(trajectory.calls):
        fits = _fits(call, trajectory.declared, work)
        if fits is None:
            unchecked.append(index)
        outcomes.append("unscored" if fits is None else "matched" if fits else "wrong_arguments")
    wrong = [
        call.name for call, outcome in zip(trajectory.calls, outcomes, strict=True) if outcome == "wrong_arguments"
    ]
    checked = len(outcomes) - len(unchecked)
    value = 1 - len(wrong) / checked if checked else None if unchecked else 1.0
    explanation = f"{checked - len(wrong)} of {checked} calls fit the schema that their tool declares"
    if wrong:
        explanation += f"; not {_names(wrong)}"
    if unchecked:
        without = [trajectory.calls[index].name for index in unchecked]
        explanation += f"; not checked for lack of arguments or of a schema: {_names(without)}"
    label: Label = "fail" if wrong else "incomplete" if unchecked else "pass"
    return Score(value, label, explanation, tuple(outcomes), details={"unchecked": unchecked} if unchecked else {})


def is_final(_: Trajectory, score: Score) -> bool:
    """Whether no further call could change the label."""
    return score.label == "fail"


def _fits(call: ToolCall, declared: Mapping[str, Mapping[str, Any] | None] | None, work: Work) -> bool | None:
    """Returns None if that cannot be told."""
    if declared is None or call.name not in declared:
        return None
    schema = declared[call.name]
    if schema is None:
        return True  # it declares nothing
    if call.arguments is None:
        return None
    try:
        text = json.dumps(schema, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None
    if len(text) > MAX_SCHEMA:
        return None
    # Spent also where it was compiled before: a label must not depend on the runs before this one.
    work.spend(_COMPILE_COST * len(text), "schema")
    check = _compiled(text)
    return None if check is None else check(call.arguments, work)


@lru_cache(maxsize=256)
def _compiled(text: str) -> _Check | None:
    try:
        return compile_schema(json.loads(text))
    except (ValueError, RecursionError):  # also where it uses what rules may not: it is not the agent's fault
        return None


def _names(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - _MAX_NAMED} more" if len(distinct) > _MAX_NAMED else ""
    return ", ".join(map(shorten, distinct[:_MAX_NAMED])) + more
