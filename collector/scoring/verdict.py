"""The result of scoring one agent run, on its way to the exporters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from collector.reconstruction.reconstruct import Run
from scorers import Evaluation
from scorers.doubts import DECIDING, is_open
from scorers.evaluation import RuleJudge


@dataclass(slots=True)
class Verdict:
    """The evaluations of one run under one rule; without a rule there are none.

    ``revision`` is 0 for the first verdict, and grows when late spans change it.
    """

    run: Run
    release: str
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
    is_rule_unknown: bool = False
    """There is no rule because the span that may carry what selects it was not received."""

    @property
    def complete(self) -> bool:
        """Whether nothing recorded says that the run made further calls."""
        return not is_open(self.run.trajectory.doubts)

    @property
    def label(self) -> str:
        """The label of the primary scorer; "" if there is none."""
        for evaluation in self.evaluations:
            if evaluation.primary:
                return evaluation.score.label
        return ""

    @property
    def doubts(self) -> Sequence[str]:
        """The names of what is in doubt, each once."""
        names = [doubt.name for doubt in self.run.trajectory.doubts]
        if self.has_unobserved_arguments:
            names.append("unobserved_arguments")
        return list(dict.fromkeys(names))

    @property
    def has_unobserved_arguments(self) -> bool:
        """Whether the rule constrains arguments that were not captured."""
        return any(evaluation.score.details.get("unobserved") for evaluation in self.evaluations)

    @property
    def unscored_reason(self) -> str | None:
        """Why the run is neither a pass nor a fail: the doubt that leaves it undecided, or why it has no score."""
        if self.rule is None:
            if self.evaluations:  # of an error of the collector
                return "internal"
            return "unknown_route" if self.is_rule_unknown else "no_rule"
        label = self.label
        if label == "incomplete" or label == "ambiguous":
            return next((doubt.name for doubt in self.run.trajectory.doubts if doubt.name in DECIDING), label)
        return "error" if label == "error" else None

    def outcomes(self) -> Sequence[str]:
        """Returns the outcome of each call by the primary scorer, ``unscored`` if it scores no single calls."""
        calls = self.run.trajectory.calls
        for evaluation in self.evaluations:
            if evaluation.primary and len(evaluation.score.outcomes) == len(calls):
                return evaluation.score.outcomes
        return ["unscored"] * len(calls)
