"""The live scoreboard: the accuracy of each rule and over time, what most fails have in common, and the last of them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from collector.figures import percent
from collector.scoring.verdict import Verdict
from scorers.quoting import printable

_RECENT = 4
_TOP = 5  # reasons of fails
_WINDOW, _WINDOWS = 4.0, 45  # seconds of one bar of the accuracy over time, and how many are shown
_BARS = "▁▂▃▄▅▆▇█"
_NEXT = (
    "next: rightcall record -- COMMAND keeps what your agent sends; README.md goes on from there to rules and a gate"
)


class Scoreboard:
    """Counts verdicts; ``render`` shows them."""

    def __init__(self) -> None:
        self.addresses: Sequence[str] = ()
        self._labels: dict[str, Counter[str]] = {}
        self._outcomes: Counter[str] = Counter()
        self._recent: deque[Text] = deque(maxlen=_RECENT)
        self._reasons: Counter[str] = Counter()
        self._windows: deque[tuple[int, Counter[str]]] = deque(maxlen=_WINDOWS)
        self._last_fail: list[str] = []
        self.phase = ""
        self.runs = 0

    def add(self, verdict: Verdict, seconds: float = 0.0, phase: str = "") -> None:
        """Count a verdict given so many seconds after the start; ``phase`` says how good the model is meanwhile.

        The reasons are those of the phase.
        """
        self.runs += 1
        if phase != self.phase:
            self.phase = phase
            # Reasons of the phase before would outnumber those of the prompt that is on show.
            self._reasons.clear()
        window = int(seconds / _WINDOW)
        if not self._windows or self._windows[-1][0] != window:
            self._windows.append((window, Counter()))
        labels = self._labels.setdefault(verdict.rule or "no rule", Counter())
        self._outcomes.update(verdict.outcomes if verdict.rule else ())
        for evaluation in verdict.evaluations:
            if evaluation.primary:
                score = evaluation.score
                labels[score.label] += 1
                self._windows[-1][1][score.label] += 1
                style = {"pass": "green", "fail": "red"}.get(score.label, "yellow")
                value = "-" if score.value is None else f"{score.value:.2f}"
                rule, agent = verdict.rule or "no rule", verdict.run.agent or "agent"
                said = printable(f" {value} {rule:<8} {agent:<13} {score.explanation}")
                if score.label == "fail":
                    self._reasons.update(verdict.difference().reasons)
                    self._last_fail = [printable(line) for line in verdict.explain(evaluation, values=True).split("\n")]
                self._recent.appendleft(
                    Text.assemble((f"{score.label:<5}", style), said, no_wrap=True, overflow="ellipsis")
                )

    def render(self) -> Group:
        """Returns the current scoreboard."""
        rules = Table(
            "rule", "runs", "pass", "fail", "other", "accuracy", title="Tool-call accuracy", title_justify="left"
        )
        for rule, labels in sorted(self._labels.items()):
            passed, failed = labels["pass"], labels["fail"]
            accuracy = f"{percent(passed / (passed + failed))}%" if passed + failed else "-"
            other = labels.total() - passed - failed
            rules.add_row(Text(printable(rule)), str(labels.total()), str(passed), str(failed), str(other), accuracy)
        calls = ", ".join(f"{count} {outcome}" for outcome, count in self._outcomes.most_common())
        reasons = ", ".join(f"{count} {printable(reason)}" for reason, count in self._reasons.most_common(_TOP))
        return Group(
            *map(Text, self.addresses),
            rules,
            Text(f"calls: {calls or 'none yet'}"),
            Text(f"accuracy over time: {self._over_time()} ({_WINDOW:g} s each)"),
            Text(f"now: {self.phase or 'starting'}"),
            _line(f"top reasons: {reasons or 'none yet'}"),
            *self._recent,
            *map(_line, ["", "the last fail:", *self._last_fail, ""] if self._last_fail else []),
            Text(_NEXT),
            Text("Ctrl-C stops."),
        )

    def _over_time(self) -> str:
        bars = []
        for _, labels in self._windows:
            decided = labels["pass"] + labels["fail"]
            bars.append(_BARS[round(labels["pass"] / decided * (len(_BARS) - 1))] if decided else " ")
        return "".join(bars)


def _line(text: str) -> Text:
    """Returns a text that is cut where the terminal ends."""
    return Text(text, no_wrap=True, overflow="ellipsis")
