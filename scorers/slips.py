"""Names in a rule that differ by a slip of the pen from those of calls: the explanation of a fail says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from scorers.quoting import shorten
from scorers.score import Score
from scorers.trajectory import Trajectory
from scorers.wording import is_misspelt

_MAX_MISSING: Final = 12
_MAX_CALLED: Final = 50  # names that are compared with each missing one: a run may have thousands


def with_slips(score: Score, trajectory: Trajectory) -> Score:
    """Returns the score, which says of missing tools that a call which matches nothing has nearly their name."""
    if score.label != "fail" or not score.missing or len(score.outcomes) != len(trajectory.calls):
        return score
    called: list[str] = []
    for at, outcome in enumerate(score.outcomes):
        if outcome == "extra" or outcome == "unscored":
            call = trajectory.calls[at]
            if call.executed and call.name not in called and len(called) < _MAX_CALLED:
                called.append(call.name)
    hints = []
    for name in list(dict.fromkeys(score.missing))[:_MAX_MISSING]:
        meant = next((other for other in called if is_misspelt(name, other)), None)
        if meant is not None:
            hints.append(f"{shorten(meant)} was called, not {shorten(name)}: is one of them misspelt?")
    return replace(score, explanation="; ".join([score.explanation, *hints])) if hints else score
