"""Whether scored runs are good enough to go on: what `rightcall score` exits 1 for, and the figures it decides by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from collector.figures import score
from collector.runs.rows import Row, is_of_run
from scorers.wording import as_given, quantity

_UNDECIDED = ("incomplete", "ambiguous")


@dataclass(frozen=True, slots=True)
class Tally:
    """The figures of a report. Verdicts on traces and conversations count like those on runs; shadow rules do not."""

    runs: int
    labels: Counter[str]
    """The verdicts by the label of their primary scorer."""
    unscored: Counter[str]
    """The runs that got neither pass nor fail, by the reason."""
    forbidden: int
    """Verdicts on runs with a forbidden call."""
    mean: float | None
    """The mean of the primary scores, an error as 0; undecided ones are left out. None where there is none."""
    decided_runs: int
    """Runs that are pass or fail, by themselves or as part of a trace or conversation that is."""

    @property
    def decided(self) -> int:
        """Verdicts that are pass or fail."""
        return self.labels["pass"] + self.labels["fail"]

    @property
    def accuracy(self) -> float | None:
        """Passes among passes and fails; None where there are none."""
        return self.labels["pass"] / self.decided if self.decided else None

    def __add__(self, other: Tally) -> Tally:
        """Returns the figures of both, which have no run, trace or conversation in common."""
        counted = self._counted + other._counted
        total = (self.mean or 0.0) * self._counted + (other.mean or 0.0) * other._counted
        return Tally(
            self.runs + other.runs,
            self.labels + other.labels,
            self.unscored + other.unscored,
            self.forbidden + other.forbidden,
            total / counted if counted else None,
            self.decided_runs + other.decided_runs,
        )

    @property
    def _counted(self) -> int:
        return self.labels.total() - sum(self.labels[label] for label in _UNDECIDED)

    def count(self, kind: str) -> int:
        """How many runs are of one kind of ``--fail-on``: a label, ``forbidden`` or ``no_rule``."""
        if kind == "forbidden":
            return self.forbidden
        if kind == "no_rule":
            return self.unscored[kind]
        # A run whose rule a missing span may tell has no label, and is as undecided.
        return self.labels[kind] + (self.unscored["unknown_route"] if kind == "incomplete" else 0)

    def sentence(self) -> str:
        """The figures in one line, with what was not scored and why."""
        counts = [f"{self.labels[label]} {label}" for label in ("pass", "fail")]
        counts += [
            f"{self.labels[label]} {label}" for label in ("incomplete", "ambiguous", "error") if self.labels[label]
        ]
        mean = "nothing scored" if self.mean is None else f"mean score {score(self.mean)}"
        accuracy = "" if self.accuracy is None else f", accuracy {score(self.accuracy)}"
        why = ", ".join(f"{number} {reason}" for reason, number in self.unscored.most_common())
        return f"{quantity(self.runs, 'run')}, {', '.join(counts)}, {mean}{accuracy}" + (
            f"; not scored: {why}" if why else ""
        )


def tally(rows: Iterable[Row]) -> Tally:
    """Returns the figures of these rows, which are read more than once."""
    labels, unscored = Counter[str](), Counter[str]()
    runs = forbidden = counted = decided_runs = 0
    total = 0.0
    # A run that only a rule of its conversation decides must count for --min-runs, and only once.
    decided_wholes = _wholes(row for row in rows if _is_scored(row) and _is_decided(row))
    for row in rows:
        if is_of_run(row):
            runs += 1
            decided_runs += _is_decided(row) or _is_part(row, decided_wholes)
        if not _is_scored(row):
            continue
        labels[_label(row)] += 1
        forbidden += "forbidden" in row
        # Undecided runs have a value, that of the calls as recorded, which nobody vouches for.
        if _label(row) not in _UNDECIDED:
            counted += 1
            # An error counts as 0: left out, a rule that always breaks would raise the mean.
            total += row["evaluations"][0]["value"] or 0.0
    for row in undecided(rows):
        unscored[row["unscored_reason"]] += 1
    mean = total / counted if counted else None
    return Tally(runs, labels, unscored, forbidden, mean, decided_runs)


def undecided(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of what got neither pass nor fail, but for runs without a rule whose trace or conversation has one."""
    wholes = _wholes(row for row in rows if _is_scored(row))
    for row in rows:
        if row.get("unscored_reason") and not row.get("shadow") and (row["rule"] or not _is_part(row, wholes)):
            yield row


def _is_scored(row: Row) -> bool:
    return bool(row["evaluations"]) and not row.get("shadow")


_KEY_OF = {"trace": "trace_id", "conversation": "conversation_id"}


def _wholes(rows: Iterable[Row]) -> set[tuple[str, str]]:
    """Returns the traces and conversations that these rows are about."""
    return {(row["scope"], row[_KEY_OF[row["scope"]]]) for row in rows if "scope" in row}


def _is_part(row: Row, wholes: set[tuple[str, str]]) -> bool:
    return any((scope, row[key]) in wholes for scope, key in _KEY_OF.items())


def _is_decided(row: Row) -> bool:
    return bool(row["evaluations"]) and _label(row) in ("pass", "fail")


def _label(row: Row) -> str:
    return str(row["evaluations"][0]["label"])


@dataclass(frozen=True, slots=True)
class Gate:
    """What runs must be. ``min_runs`` is about decided ones (pass or fail) or, without rules, about all."""

    fail_on: Sequence[str] = ("forbidden",)
    min_runs: int = 1
    min_accuracy: float | None = None
    fail_under: float | None = None
    has_rules: bool = True

    def objections(self, figures: Tally) -> list[str]:
        """Returns a sentence for each condition that is not met; none if all are."""
        counts = [(kind, number) for kind in self.fail_on if (number := figures.count(kind))]
        found = [f"{quantity(number, 'run')} with {_NAMES[kind]} (--fail-on {kind})" for kind, number in counts]
        enough = figures.decided_runs if self.has_rules else figures.runs
        if enough < self.min_runs:
            decided = f"{enough} of {figures.runs} runs decided (pass or fail)"
            shown = decided if self.has_rules else f"{quantity(enough, 'run')} found"
            found.append(f"{shown}, at least {self.min_runs} needed (--min-runs)")
        if self.min_accuracy is not None and (figures.accuracy is None or figures.accuracy < self.min_accuracy):
            found.append(f"accuracy {_under(figures.accuracy, self.min_accuracy)} (--min-accuracy)")
        if self.fail_under is not None and (figures.mean is None or figures.mean < self.fail_under):
            found.append(f"mean score {_under(figures.mean, self.fail_under)} (--fail-under)")
        return found


_NAMES = {
    "fail": "the label fail",
    "forbidden": "a forbidden call",
    "error": "the label error",
    "ambiguous": "the label ambiguous",
    "incomplete": "the label incomplete or unknown_route",
    "no_rule": "no rule",
}


def _under(value: float | None, limit: float) -> str:
    return f"{'unknown' if value is None else score(value, limit)} is under {as_given(limit)}"
