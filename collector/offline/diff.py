"""What other rules would say of recorded runs: each is scored by both sets of rules, and the verdicts are compared.

Shadow rules are left out: they never decide. Evaluations by a judge are too, since only ``rightcall run`` has one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from collector.offline.progress import Progress
from collector.offline.scorer import Scorer
from collector.offline.stream import Evaluation, Lists
from collector.runs.rows import reasons_of
from collector.scoring.rule_files import LoadedRules
from collector.scoring.verdict import Verdict

MAX_EXAMPLES = 3
"""Runs that are named for each group of changes; ``jsonl`` has all."""
_NONE = "none"


class Side(NamedTuple):
    """What one set of rules says of a run, trace or conversation."""

    label: str
    """The label of the primary scorer; without one why there is none; ``none`` where no rule is about this scope."""
    rule: str | None = None
    value: float | None = None
    reasons: tuple[str, ...] = ()
    """What stands against a pass, in a few words each."""


class Change(NamedTuple):
    """A run, trace or conversation that gets another label under the other rules."""

    scope: str
    trace_id: str
    span_id: str
    agent: str | None
    route: str | None
    before: Side
    after: Side

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the new rules object to, or what the old ones objected to if the new ones do not."""
        return self.after.reasons or self.before.reasons


class Group(NamedTuple):
    """Changes of the same kind: by the same rules, between the same labels, for the same reasons."""

    scope: str
    before: tuple[str | None, str]
    """Rule and label."""
    after: tuple[str | None, str]
    reasons: tuple[str, ...]
    changes: list[Change]


@dataclass(slots=True)
class RulesDiff:
    """All changes, and the figures beside them."""

    compared: int = 0
    """Verdicts compared: one for each run, and for each trace and conversation that a rule is about."""
    changes: list[Change] = field(default_factory=list)
    other_rule: int = 0
    """Verdicts with the same label from a rule of another name."""
    other_score: int = 0
    """Verdicts with the same label and another score."""
    labels_before: Counter[str] = field(default_factory=Counter)
    labels_after: Counter[str] = field(default_factory=Counter)

    def groups(self) -> list[Group]:
        """Returns the changes by kind, the most frequent first."""
        found: dict[tuple[object, ...], Group] = {}
        for change in self.changes:
            before, after = change.before, change.after
            group = Group(change.scope, (before.rule, before.label), (after.rule, after.label), change.reasons, [])
            found.setdefault(group[:-1], group).changes.append(change)
        return sorted(found.values(), key=lambda group: -len(group.changes))

    def add(self, key: _Key, before: Side, after: Side) -> None:
        """Compare the verdicts on one run, trace or conversation."""
        self.compared += 1
        self.labels_before[before.label] += 1
        self.labels_after[after.label] += 1
        if before.label != after.label:
            self.changes.append(Change(*key, before, after))
            return
        self.other_rule += before.rule != after.rule
        self.other_score += before.value != after.value

    def merge(self, other: RulesDiff) -> None:
        """Add what was compared elsewhere."""
        self.compared += other.compared
        self.changes += other.changes
        self.other_rule += other.other_rule
        self.other_score += other.other_score
        self.labels_before += other.labels_before
        self.labels_after += other.labels_after


class _Key(NamedTuple):
    scope: str
    trace_id: str
    span_id: str
    agent: str | None
    route: str | None


def diff_files(
    paths: Iterable[Path],
    before: LoadedRules,
    after: LoadedRules,
    *,
    jobs: int,
    progress: Progress | None,
) -> RulesDiff:
    """Score the runs in the files by both sets of rules and compare. Raises InputError.

    Of a run that stays the same nothing is kept.
    """
    diff = RulesDiff()
    evaluation = Evaluation([Scorer(before), Scorer(after)], _diff_of, jobs=jobs, progress=progress)
    for found in evaluation.of_files(paths):
        diff.merge(found)
    return diff


def _diff_of(lists: Lists) -> RulesDiff:
    """Compare the verdicts by two sets of rules on the same traces."""
    diff = RulesDiff()
    first, second = map(_sides, lists)
    # Of either side: a rule for traces or conversations may be in one of them only.
    for key in dict.fromkeys((*first, *second)):
        diff.add(key, first.get(key, Side(_NONE)), second.get(key, Side(_NONE)))
    return diff


def _sides(verdicts: Iterable[Verdict]) -> Mapping[_Key, Side]:
    return {_key(verdict): _side(verdict) for verdict in verdicts if not verdict.shadow}


def _key(verdict: Verdict) -> _Key:
    run = verdict.run
    return _Key(verdict.scope, run.trace_id.hex(), run.span_id.hex(), run.agent, run.route)


def _side(verdict: Verdict) -> Side:
    label = verdict.label or verdict.unscored_reason or _NONE
    return Side(label, verdict.rule, next(_values(verdict), None), tuple(reasons_of(verdict)))


def _values(verdict: Verdict) -> Iterator[float | None]:
    return (evaluation.score.value for evaluation in verdict.evaluations if evaluation.primary)
