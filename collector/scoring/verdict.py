"""The result of scoring one agent run, on its way to the exporters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from collector.reconstruction.run import Run
from collector.scoring.kinds import Kind, kind_of
from scorers import CompiledRule, Evaluation
from scorers.conformance.difference import Difference
from scorers.doubts import DECIDING, is_open
from scorers.evaluation import RuleJudge
from scorers.quoting import printable, shorten

COUNTED: Final = ("pass", "fail")
"""Labels that say something of the agent: with others, nothing of its calls is counted."""
_MAX_KNOWN: Final = 8
"""Of how many tools it is remembered that forbidden calls are counted: whoever has been told of so many looks at the agent."""


@dataclass(slots=True, init=False)
class Verdict:
    """The evaluations of one run under one rule; without a rule there are none.

    ``revision`` is 0 for the first verdict, and grows when late spans change it.
    """

    run: Run
    release: str
    revision: int
    rule: str | None
    digest: str | None
    evaluations: Sequence[Evaluation]
    scope: str
    """``run``; ``trace`` if the calls of all its runs were scored together, ``conversation`` those of all its traces."""
    shadow: bool
    """The rule is a shadow rule: exported as event and, under labels of its own, as metric, but not on spans."""
    judges: Sequence[RuleJudge]
    """The scorers of the rule that ask a model; their evaluations follow later."""
    judged: bool
    """This is the evaluation of one of them: the run and its calls are counted already."""
    is_rule_unknown: bool
    """There is no rule because the span that may carry what selects it was not received."""
    compiled_rule: CompiledRule | None
    """The rule itself, which tells on demand what differs; None if there is none."""
    closest: tuple[CompiledRule, Sequence[str]] | None
    """Where no rule matches: the one that comes closest, and the keys of its ``match`` in which the run differs."""
    known_forbidden: frozenset[str] | None
    """Of a revision: tools of which an earlier verdict counted forbidden calls; None if that is not known."""

    # What follows from these. Set once: spans, events, counters and judges all ask for it.
    label: str = field(init=False)
    """The label of the primary scorer; "" if there is none."""
    has_unobserved_arguments: bool = field(init=False)
    """The rule constrains arguments that were not captured."""
    doubts: tuple[str, ...] = field(init=False)
    """The names of what is in doubt, each once."""
    outcomes: Sequence[str] = field(init=False)
    """The outcome of each call by the primary scorer, ``unscored`` if it scores no single calls."""
    complete: bool = field(init=False)
    """Nothing recorded says that the run made further calls."""
    in_scored_whole: bool = field(init=False)
    """No rule scores the run, but one scores its trace or conversation."""
    kind: Kind | None = field(init=False)
    """What it has in common with other verdicts, if it is a first one and nothing about it is its own."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that is said of a run
        self,
        run: Run,
        release: str,
        revision: int = 0,
        rule: str | None = None,
        digest: str | None = None,
        evaluations: Sequence[Evaluation] = (),
        scope: str = "run",
        shadow: bool = False,
        judges: Sequence[RuleJudge] = (),
        judged: bool = False,
        is_rule_unknown: bool = False,
        compiled_rule: CompiledRule | None = None,
        closest: tuple[CompiledRule, Sequence[str]] | None = None,
        known_forbidden: frozenset[str] | None = None,
    ) -> None:
        self.run, self.release, self.revision, self.rule, self.digest = run, release, revision, rule, digest
        self.evaluations, self.scope, self.shadow, self.judges, self.judged = evaluations, scope, shadow, judges, judged
        self.is_rule_unknown, self.compiled_rule, self.closest = is_rule_unknown, compiled_rule, closest
        self.known_forbidden = known_forbidden
        self.label, self.has_unobserved_arguments, self.outcomes = "", False, ()
        for evaluation in evaluations:
            if evaluation.primary:
                self.label, self.outcomes = evaluation.score.label, evaluation.score.outcomes
            if evaluation.score.details.get("unobserved"):
                self.has_unobserved_arguments = True
        calls, doubts = len(run.trajectory.calls), run.trajectory.doubts
        if len(self.outcomes) != calls:
            self.outcomes = ("unscored",) * calls
        self.doubts, self.complete, self.in_scored_whole = (), True, False
        if doubts or self.has_unobserved_arguments:
            unobserved = ("unobserved_arguments",) if self.has_unobserved_arguments else ()
            self.doubts = tuple(dict.fromkeys((*(doubt.name for doubt in doubts), *unobserved)))
            self.complete = not is_open(doubts)
        elif rule is None and evaluations:  # an error of the collector: its calls are unknown
            self.complete = False
        # Never copied with the verdict: a changed copy is of another kind.
        self.kind = None if revision or judged else kind_of(run, evaluations, rule, release, scope, self.doubts)

    def difference(self) -> Difference:
        """Returns what differs between the run and what its rule expects. It is computed at each call."""
        return self.compiled_rule.difference(self.run.trajectory) if self.compiled_rule is not None else Difference(())

    def headline(self, evaluation: Evaluation) -> str:
        """Returns an evaluation in a line for people: label, rule, and the explanation of its score."""
        by = f" by rule {shorten(self.rule)}" if self.rule is not None else ""
        what = "" if evaluation.primary else f" ({shorten(evaluation.name)})"
        return f"{evaluation.score.label}{by}{what}: {printable(evaluation.score.explanation)}"

    def explain(self, evaluation: Evaluation, *, values: bool) -> str:
        """Returns why an evaluation has its label: the headline, and below it expected beside actual calls.

        Values of arguments are in it only if ``values``.
        """
        return "\n".join([self.headline(evaluation), *self.difference().lines(values=values)])

    @property
    def unscored_reason(self) -> str | None:
        """Why the run is neither a pass nor a fail: the doubt that leaves it undecided, or why it has no score."""
        if self.rule is None:
            if self.evaluations:  # as above
                return "internal"
            return "unknown_route" if self.is_rule_unknown else "no_rule"
        label = self.label
        if label == "incomplete" or label == "ambiguous":
            return next((doubt.name for doubt in self.run.trajectory.doubts if doubt.name in DECIDING), label)
        return "error" if label == "error" else None


def known_forbidden(verdicts: Sequence[Verdict], before: frozenset[str] | None) -> frozenset[str] | None:
    """Returns the tools of which forbidden calls are counted once these verdicts are, with those known ``before``.

    None if they are more than are remembered.
    """
    if before is None:
        return None
    for verdict in verdicts:
        if "forbidden" in verdict.outcomes and verdict.label in COUNTED and not verdict.shadow:
            calls = zip(verdict.run.trajectory.calls, verdict.outcomes, strict=True)
            before = before.union([call.name for call, outcome in calls if outcome == "forbidden"])
    return before if len(before) <= _MAX_KNOWN else None
