"""Whether the arguments of calls are what their tools declare: ``schema: declared`` of a rule.

The schemas are part of what was recorded: hostile. They are compiled as those of rules are, up to a size; what compiling and
checking takes is spent as work, once for each tool and once for each call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from scorers.quoting import shorten
from scorers.rules.json_schema import compile_schema
from scorers.rules.masks import has_mask
from scorers.rules.regexes import compile_cost
from scorers.score import Label, Outcome, Score
from scorers.trajectory import DoubtName, ToolCall, Trajectory
from scorers.work import Work, WorkLimitError

NAME: Final = "declared_schema"
VERSION: Final = "1"
IMMATERIAL: Final[frozenset[DoubtName]] = frozenset({"uncertain_order", "unobserved_results"})
"""Doubts that cannot change this score."""
MAX_SCHEMA: Final = 16_384
"""Characters of the schema of one tool, as JSON; by a longer one nothing is checked."""
MAX_REGEX_MEMORY: Final = 65_536
"""Bytes that the engine may use for one expression of such a schema."""
_CHARS_PER_UNIT: Final = 2  # of a schema that is too long to be compiled
_SCHEMA_COST: Final = 500  # for each schema in a schema
_SCHEMAS: Final = ("{", "true", "false")
_TEXT_COST: Final = 3  # for each character
_MAX_NAMED: Final = 3  # tools in an explanation
_Check = Callable[[Any, Work], bool]


def score_declared(trajectory: Trajectory, work: Work) -> Score:
    """Score the share of calls whose arguments fit the schema that their tool declares. Raises WorkLimitError.

    Calls that were requested and not executed count, too: what a model asked for is what is looked at. A call that cannot be
    checked, because its arguments, one of their values, its tool's definition or a usable schema is lacking, leaves a run
    undecided that has no wrong one.
    """
    outcomes: list[Outcome] = []
    unchecked: list[int] = []
    checks: dict[str, _Check | None] = {}
    for index, call in enumerate(trajectory.calls):
        if call.name not in checks:
            checks[call.name] = _check_of(call.name, trajectory.declared, work)
        fits = _fits(call, checks[call.name], work)
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
        explanation += f"; not checked for lack of arguments, of values in them or of a schema: {_names(without)}"
    label: Label = "fail" if wrong else "incomplete" if unchecked else "pass"
    return Score(value, label, explanation, tuple(outcomes), details={"unchecked": unchecked} if unchecked else {})


def is_final(_: Trajectory, score: Score) -> bool:
    """Whether no further call could change the label."""
    return score.label == "fail"


def _check_of(name: str, declared: Mapping[str, Mapping[str, Any] | None] | None, work: Work) -> _Check | None:
    """Returns None if the tool's schema is not known, or of no use."""
    if declared is None or name not in declared:
        return None
    schema = declared[name]
    if schema is None:
        return _declares_nothing
    try:
        text = json.dumps(schema, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None
    work.spend(len(text) // _CHARS_PER_UNIT, "schema")
    if len(text) > MAX_SCHEMA:
        return None
    # Spent also where it was compiled before: a label must not depend on the runs before this one.
    work.spend(_TEXT_COST * len(text) + _SCHEMA_COST * sum(map(text.count, _SCHEMAS)), "schema")
    try:
        work.spend(sum(map(compile_cost, _patterns(schema))), "pattern")
    except RecursionError:
        return None
    return _compiled(text)


def _patterns(schema: Any) -> Iterator[str]:
    """Whatever may be a regular expression of a schema."""
    if isinstance(schema, Mapping):
        if isinstance(text := schema.get("pattern"), str):
            yield text
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            yield from _patterns(inner)


def _fits(call: ToolCall, check: _Check | None, work: Work) -> bool | None:
    """Returns None if that cannot be told."""
    if check is _declares_nothing:
        return True
    # A masked value that fits is no evidence either: what stands in its place is a text wherever it is.
    if check is None or call.arguments is None or has_mask(call.arguments, work):
        return None
    try:
        return check(call.arguments, work)
    except WorkLimitError:
        raise
    except Exception:  # noqa: BLE001 - a reference to what is no schema: there is no list of what that may raise
        return None


def _declares_nothing(_: Any, __: Work) -> bool:
    return True


@lru_cache(maxsize=256)
def _compiled(text: str) -> _Check | None:
    try:
        return compile_schema(json.loads(text), MAX_REGEX_MEMORY)
    except (ValueError, RecursionError):  # also where it uses what rules may not: it is not the agent's fault
        return None


def _names(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - _MAX_NAMED} more" if len(distinct) > _MAX_NAMED else ""
    return ", ".join(map(shorten, distinct[:_MAX_NAMED])) + more
