"""How good the model of the demo is: it gets worse for a while, and better again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple


class Phase(NamedTuple):
    """For how many seconds which share of the runs has a fault."""

    name: str
    seconds: float
    faulty: float


PHASES: Final[Sequence[Phase]] = (
    Phase("the model as it was released", 20, 0.05),
    Phase("a new prompt: half of the runs go wrong", 20, 0.5),
    Phase("the prompt is taken back", 20, 0.05),
)


def phase_at(seconds: float) -> Phase:
    """Returns the phase so many seconds after the start; after the last it begins again."""
    left = seconds % sum(phase.seconds for phase in PHASES)
    for phase in PHASES:
        if left < phase.seconds:
            return phase
        left -= phase.seconds
    return PHASES[-1]
