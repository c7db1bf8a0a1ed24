"""Runs that are not a pass, grouped by what stands against it: hundreds of failures have a handful of reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from collector.offline.gate import undecided
from collector.runs.rows import Row
from scorers.conformance.difference import columns
from scorers.quoting import printable, shorten

MAX_GROUPS = 20
"""Reasons that are listed, the most frequent first."""
_MAX_REASONS = 6  # of one group
_NO_RULE = "no_rule"


@dataclass(frozen=True, slots=True)
class Group:
    """Runs of one rule that are not a pass for one reason; ``example`` is the first of them."""

    rule: str
    label: str
    reasons: Sequence[str]
    count: int
    example: Row

    @property
    def sentence(self) -> str:
        """Rule, label, what differs or which rule is the closest, how many, and an example's trace id."""
        shown = ", ".join(shorten(reason, 120) for reason in self.reasons[:_MAX_REASONS])
        more = f", {len(self.reasons) - _MAX_REASONS} more" if len(self.reasons) > _MAX_REASONS else ""
        example = "" if self.count == 1 else "for example "
        by = f" by {shorten(self.rule)}" if self.label != _NO_RULE else ""
        return f"{self.count} {self.label}{by}: {shown}{more} ({example}{self.example['trace_id']})"

    @property
    def lines(self) -> list[str]:
        """The explanation of the example's score, and its expected beside its actual calls."""
        if not self.example["evaluations"]:
            return []
        return [printable(self.example["evaluations"][0]["explanation"]), *columns(self.example["difference"])]


def groups_of(rows: Iterable[Row]) -> list[Group]:
    """Returns the groups of the rows that are not a pass, the largest first. Shadow rules are left out.

    The ``closest_rule`` of runs that no rule matches is their reason. The rows are read more than once.
    """
    counts: Counter[_Key] = Counter()
    examples: dict[_Key, Row] = {}
    for key, row in chain(_with_reasons(rows), _without_rule(rows)):
        counts[key] += 1
        examples.setdefault(key, row)
    return [Group(*key, count, examples[key]) for key, count in counts.most_common()]


_Key = tuple[str, str, tuple[str, ...]]


def _with_reasons(rows: Iterable[Row]) -> Iterator[tuple[_Key, Row]]:
    for row in rows:
        if "reasons" in row and not row.get("shadow"):
            # Reasons have no values in them, so that runs which fail alike are one group.
            yield (row["rule"] or "no rule", row["evaluations"][0]["label"], tuple(row["reasons"])), row


def _without_rule(rows: Iterable[Row]) -> Iterator[tuple[_Key, Row]]:
    for row in undecided(rows):
        if row.get("closest_rule"):
            yield ("", _NO_RULE, (f"the closest is {row['closest_rule']}",)), row
