"""The result of scoring one agent run, on its way to the exporters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from collector.reconstruction.reconstruct import Run
from scorers import Evaluation
from scorers.evaluation import RuleJudge


@dataclass(slots=True)
class Verdict:
    """The evaluations of one run under one rule; without a rule there are none.

    ``complete`` is False if spans are missing: the evaluations are labelled so and never counted as pass or fail.
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
    """``run``; ``trace`` if the calls of all its runs were scored together, ``conversation`` those of all its traces."""
    shadow: bool = False
    """The rule is a shadow rule: exported as event and, under labels of its own, as metric, but not on spans."""
    judges: Sequence[RuleJudge] = ()
    """The scorers of the rule that ask a model; their evaluations follow later."""
    judged: bool = False
    """This is the evaluation of one of them: the run and its calls are counted already."""

    def outcomes(self) -> Sequence[str]:
        """Returns the outcome of each call by the primary scorer, ``unscored`` if it scores no single calls."""
        calls = self.run.trajectory.calls
        for evaluation in self.evaluations:
            if evaluation.primary and len(evaluation.score.outcomes) == len(calls):
                return evaluation.score.outcomes
        return ["unscored"] * len(calls)
