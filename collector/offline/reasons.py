"""Runs that are not a pass, grouped by what stands against it: hundreds of failures have a handful of reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


def groups_of(rows: Sequence[Row]) -> list[Group]:
    """Returns the groups of the rows that are not a pass, the largest first. Shadow rules are left out.

    The ``closest_rule`` of runs that no rule matches is their reason.
    """
    members: dict[tuple[str, str, tuple[str, ...]], list[Row]] = {}
    for row in rows:
        if "reasons" in row and not row.get("shadow"):
            # Reasons have no values in them, so that runs which fail alike are one group.
            key = (row["rule"] or "no rule", row["evaluations"][0]["label"], tuple(row["reasons"]))
            members.setdefault(key, []).append(row)
    for row in undecided(rows):
        if row.get("closest_rule"):
            key = ("", _NO_RULE, (f"the closest is {row['closest_rule']}",))
            members.setdefault(key, []).append(row)
    groups = [Group(*key, len(found), found[0]) for key, found in members.items()]
    return sorted(groups, key=lambda group: -group.count)
