"""Ragas's ``ToolCallF1`` (PyPI ragas 0.4.3; the older and the ``collections`` class agree).

Formula: F1 of the two SETS of (name, arguments), rounded to four decimals half to even; 0 if both are empty
(ToolCallAccuracy gives 1). Duplicates are merged; arguments are equal as in Python, where True equals 1; ``[]`` is not ``{}``.

Missing or null arguments, which the original refuses, count as none.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

from scorers.call_scorer import Scorer, labelled_score, make_scorer
from scorers.calls import Call, arguments
from scorers.options import Options, parse_options
from scorers.score import Score
from scorers.systems.formulas import f1_score, share
from scorers.systems.pairing import outcomes
from scorers.work import hash_key

NAME = "ragas_f1"
VERSION = "ragas@0.4.3"

OPTIONS: Final = Options


def create(**options: Any) -> Scorer:
    """Returns a scorer. The original has no options: raises `ValueError` for any."""
    return make_scorer(parse_options(NAME, Options, options), _score)


def _score(_options: Options, expected: list[Call], actual: list[Call]) -> Score:
    wanted, made = [_frozen_call(call) for call in expected], [_frozen_call(call) for call in actual]
    distinct, taken = set(wanted), set(made)
    common = distinct & taken
    value = round(f1_score(share(len(common), len(taken)), share(len(common), len(distinct))), 4)
    return labelled_score(
        value,
        f"F1 of {len(common)} common calls, {len(distinct)} distinct ones expected and {len(taken)} made",
        {"collections": value},
        outcomes=outcomes(len(made), {index for index, call in enumerate(made) if call in common}),
        missing=[call.tool for call, frozen in zip(expected, wanted, strict=True) if frozen not in common],
    )


def _frozen_call(call: Call) -> Hashable:
    return call.tool, _frozen(arguments(call))


def _frozen(value: Any) -> Hashable:
    if isinstance(value, Mapping):
        # A frozenset for an object, a tuple for a list: `[]` and `{}` stay different, as to the original.
        return frozenset((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, int | float):
        return hash_key(value)
    return value  # type: ignore[no-any-return]  # a JSON scalar; hashing anything else raises TypeError
