"""The live scoreboard: the accuracy of each rule, and why recent runs failed."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from collector.scoring.verdict import Verdict
from scorers.quoting import printable

_RECENT = 8
_TOP = 5  # reasons of fails


class Scoreboard:
    """Counts verdicts; ``render`` shows them."""

    def __init__(self) -> None:
        self.addresses: Sequence[str] = ()
        self._labels: dict[str, Counter[str]] = {}
        self._outcomes: Counter[str] = Counter()
        self._recent: deque[Text] = deque(maxlen=_RECENT)
        self._reasons: Counter[str] = Counter()
        self.runs = 0

    def add(self, verdict: Verdict) -> None:
        """Count a verdict."""
        self.runs += 1
        labels = self._labels.setdefault(verdict.rule or "no rule", Counter())
        self._outcomes.update(verdict.outcomes if verdict.rule else ())
        for evaluation in verdict.evaluations:
            if evaluation.primary:
                score = evaluation.score
                labels[score.label] += 1
                style = {"pass": "green", "fail": "red"}.get(score.label, "yellow")
                value = "-" if score.value is None else f"{score.value:.2f}"
                rule, agent = verdict.rule or "no rule", verdict.run.agent or "agent"
                said = printable(f" {value} {rule:<8} {agent:<13} {score.explanation}")
                if score.label == "fail":
                    self._reasons.update(verdict.difference().reasons)
                self._recent.appendleft(Text.assemble((f"{score.label:<5}", style), said))

    def render(self) -> Group:
        """Returns the current scoreboard."""
        rules = Table(
            "rule", "runs", "pass", "fail", "other", "accuracy", title="Tool-call accuracy", title_justify="left"
        )
        for rule, labels in sorted(self._labels.items()):
            passed, failed = labels["pass"], labels["fail"]
            accuracy = f"{passed / (passed + failed):.1%}" if passed + failed else "-"
            other = labels.total() - passed - failed
            rules.add_row(Text(printable(rule)), str(labels.total()), str(passed), str(failed), str(other), accuracy)
        calls = ", ".join(f"{count} {outcome}" for outcome, count in self._outcomes.most_common())
        reasons = ", ".join(f"{count} {printable(reason)}" for reason, count in self._reasons.most_common(_TOP))
        return Group(
            *map(Text, self.addresses),
            rules,
            Text(f"calls: {calls or 'none yet'}"),
            *self._recent,
            Text(f"top reasons: {reasons or 'none yet'}"),
            Text("Ctrl-C stops."),
        )
