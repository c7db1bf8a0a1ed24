"""The answer of a scorer: a number, a label, a sentence, and what became of each call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Label = Literal["pass", "fail", "error", "ambiguous"]
Outcome = Literal["matched", "wrong_arguments", "out_of_order", "extra", "forbidden", "unscored"]


@dataclass(frozen=True, slots=True)
class Score:
    """What one scorer says of one trajectory.

    ``value`` is finite and in [0, 1], or None where the scorer has no number to give (an error, an undefined case).
    ``outcomes`` has one entry a call, in the trajectory's order; it is empty for scorers that judge no single call.
    ``explanation`` is one sentence from which the value can be recomputed; it never holds argument values.
    """

    value: float | None
    label: Label
    explanation: str
    outcomes: Sequence[Outcome] = ()
    missing: Sequence[str] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.value is not None and not (math.isfinite(self.value) and 0.0 <= self.value <= 1.0):
            raise ValueError(f"a score is a number from 0 to 1, got {self.value!r}")


def error_score(error: Exception) -> Score:
    """The verdict where a scorer raised: no number, ``details["error.type"]`` names the exception's class."""
    kind = type(error).__name__
    return Score(None, "error", f"the scorer raised {kind}: {error}", details={"error.type": kind})
