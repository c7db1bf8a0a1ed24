"""What was found out about one agent run, on its way to the exporters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from collector.reconstruction.reconstruct import Run
from scorers import Evaluation
from scorers.evaluation import RuleJudge


@dataclass(slots=True)
class Verdict:
    """The evaluations of one run under one rule; without a rule there are none.

    ``complete`` is False where spans are missing: then the evaluations are labelled so and never counted.
    ``revision`` is 0 for the first verdict, and grows when late spans change it.
    """

    run: Run
    release: str
    complete: bool
    revision: int = 0
    rule: str | None = None
    digest: str | None = None
    evaluations: Sequence[Evaluation] = ()
    scope: str = "run"
    """``trace`` where the calls of all runs of a trace were scored together, ``conversation`` those of all its traces."""
    shadow: bool = False
    """The rule is on trial: exported as event and, under labels of its own, as metric; nothing is written on spans."""
    judges: Sequence[RuleJudge] = ()
    """The scorers of the rule that ask a model, and so have not said anything yet."""
    judged: bool = False
    """What one of them said, later: the run and its calls are counted already."""

    def outcomes(self) -> Sequence[str]:
        """What became of each call of the run, by the primary scorer; ``unscored`` where it judges no single call."""
        calls = self.run.trajectory.calls
        for evaluation in self.evaluations:
            if evaluation.primary and len(evaluation.score.outcomes) == len(calls):
                return evaluation.score.outcomes
        return ["unscored"] * len(calls)
