"""The result of a scorer: a value, a label, an explanation, and the outcome of each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from scorers.quoting import shorten

TOLERANCE: Final = 1e-9
"""By how much a value may miss a threshold: values are quotients, and their floats are not exact."""

MAX_REASON: Final = 500
"""Characters of an exception's message in an explanation: it may repeat what an agent sent."""

Label = Literal["pass", "fail", "error", "ambiguous", "incomplete"]
Outcome = Literal["matched", "wrong_arguments", "out_of_order", "extra", "forbidden", "unscored"]

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(slots=True, init=False)
class Score:
    """The score of one trajectory by one scorer.

    ``value`` is finite and in [0, 1], or None if the scorer has no value (an error, an undefined case). ``outcomes`` has
    one entry per call, in the trajectory's order; it is empty for scorers without a result per call. ``explanation`` is
    one sentence from which the value can be recomputed; it never contains argument values.
    """

    # With an `__init__` of its own: that of a dataclass stays interpreted in the compiled build.
    value: Final[float | None]
    label: Final[Label]
    explanation: Final[str]
    outcomes: Final[Sequence[Outcome]]
    missing: Final[Sequence[str]]
    details: Final[Mapping[str, Any]]

    def __init__(
        self,
        value: float | None,
        label: Label,
        explanation: str,
        outcomes: Sequence[Outcome] = (),
        missing: Sequence[str] = (),
        details: Mapping[str, Any] = _NONE,
    ) -> None:
        if value is not None and not 0.0 <= value <= 1.0:  # as is NaN
            raise ValueError(f"a score must be a number from 0 to 1, got {value!r}")
        self.value, self.label, self.explanation = value, label, explanation
        self.outcomes, self.missing, self.details = outcomes, missing, details


def reaches(value: float, threshold: float) -> bool:
    """Whether a value reaches a threshold, up to `TOLERANCE`."""
    return value >= threshold - TOLERANCE


def error_score(error: Exception) -> Score:
    """Returns the score for a scorer that raised: no value, ``details["error.type"]`` names the exception's class."""
    kind = type(error).__name__
    return Score(
        None, "error", f"the scorer raised {kind}: {shorten(str(error), MAX_REASON)}", details={"error.type": kind}
    )
