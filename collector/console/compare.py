"""Two groups of runs side by side: two periods, versions, models, or whatever else runs are counted by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from collector.console.context import Context
from collector.console.rendering import page
from collector.console.request import RANGES, BadQueryError, Reply, period
from collector.console.statistics import Change, Share, accuracy, change, share
from collector.runs.database import RunsDatabase
from collector.runs.queries import (
    Counted,
    Estimate,
    Filter,
    Reason,
    counted_by,
    dimensions_since,
    estimate_of,
    reasons,
    reasons_since,
    total_of,
    values_of,
)

BY: Final = ("agent", "rule", "route", "intent")
"""What the comparison has a row for."""
_OVER: Final = ("digest", "agent", "route", "rule")
_MAX_ROWS: Final = 50
_MAX_REASONS: Final = 500
_MAX_STEPS: Final = 10


class Step(NamedTuple):
    """A reason for which runs do not pass, and its share of the scored runs of each group; None where it cannot be known."""

    rule: str
    reason: str
    before: Share | None
    after: Share | None
    change: Change | None
    example_before: str | None
    example_after: str | None


class Row(NamedTuple):
    """An agent, a rule, a route or an intent in both groups."""

    name: str
    before: Counted
    after: Counted
    before_share: Share | None
    after_share: Share | None
    change: Change | None


def compare(context: Context) -> Reply:
    """Returns the page. Raises BadQueryError."""
    request = context.request
    query = {key: value for key, value in request.query.items() if key not in ("over", "a", "b", "by")}
    query["range"] = context.range
    choices = ("time", *context.dimensions, *_OVER)
    over, by = _choice(request.query, "over", choices, ""), _choice(request.query, "by", BY, "agent")
    length = period(query)
    base = context.filter(query)
    values = _values(context.database, request.now - length)
    over = over or next(
        (name for name in ("service.version", "gen_ai.request.model") if len(values.get(name, ())) > 1), "time"
    )
    offered = values.get(over, [])
    before_name, after_name = request.query.get("a", ""), request.query.get("b", "")
    if over != "time" and not (before_name and after_name) and len(offered) > 1:
        after_name = after_name or offered[0]
        before_name = before_name or next(name for name in offered if name != after_name)
    sides = _sides(base, over, before_name, after_name, length)
    compared: dict[str, Any] = {"rows": [], "steps": [], "overall": None}
    if sides is not None:
        compared = _compared(context.database, sides, by, request.now)
    return page(
        "compare.html", **context.common("Compare"),
        over=over, by=by, choices=choices, bys=BY, ranges=list(RANGES), range=query["range"],
        offered=offered, before_name=before_name, after_name=after_name,
        **compared,
    )  # fmt: skip


def _choice(query: Mapping[str, str], name: str, known: Sequence[str], default: str) -> str:
    value = query.get(name, default)
    if value and value not in known:
        raise BadQueryError(f"{name} must be one of {', '.join(known)}")
    return value


def _values(database: RunsDatabase, since: float) -> dict[str, list[str]]:
    """What groups may differ in, and what each of it was, the latest version first."""
    found = values_of(database, _OVER, since)
    return {**found, **dimensions_since(database, since)}


def _sides(base: Filter, over: str, before: str, after: str, length: float) -> tuple[Filter, Filter] | None:
    if over == "time":
        since = base.since or 0.0
        return replace(base, since=since - length, until=since), base
    if not before or not after:
        return None
    if over in _OVER:
        return tuple(replace(base, properties={**base.properties, over: one}) for one in (before, after))  # type: ignore[return-value]
    return tuple(replace(base, dimensions={**base.dimensions, over: one}) for one in (before, after))  # type: ignore[return-value]


def _compared(database: RunsDatabase, sides: tuple[Filter, Filter], by: str, now: float) -> dict[str, Any]:
    before, after = (counted_by(database, [by], side) for side in sides)
    rows = [_row(key[0], before.get(key, Counted()), after.get(key, Counted())) for key in {**before, **after}]
    rows.sort(key=lambda row: (row.change.value if row.change else 0.0, row.name))
    total = _row("all", *(total_of(one.values()) for one in (before, after)))
    return {"rows": rows[:_MAX_ROWS], "overall": total, "steps": _steps(database, sides, total, now)}


def _row(name: str, before: Counted, after: Counted) -> Row:
    shares = accuracy(before), accuracy(after)
    return Row(name, before, after, *shares, change(*shares))


def _steps(database: RunsDatabase, sides: tuple[Filter, Filter], total: Row, now: float) -> list[Step]:
    """What goes wrong more often than before: the largest increases first."""
    found = [{(one.rule, one.reason): one for one in reasons(database, side, _MAX_REASONS)} for side in sides]
    scored = [
        _Scored(counted.passed, estimate_of(database, side)) if reasons_since(database, side, now) is None else None
        for side, counted in zip(sides, (total.before, total.after), strict=True)
    ]
    steps = []
    for rule, reason in {**found[0], **found[1]}:
        sides_of = [one.get((rule, reason)) for one in found]
        before, after = (of.share(one) if of is not None else None for of, one in zip(scored, sides_of, strict=True))
        examples = [one.trace if one else None for one in sides_of]
        steps.append(Step(rule, reason, before, after, change(before, after), examples[0], examples[1]))
    return sorted(steps, key=lambda step: -(step.change.value if step.change else 0.0))[:_MAX_STEPS]


class _Scored(NamedTuple):
    """The scored runs of a group: the passes, which are counted, and the others, which are estimated from those stored."""

    passed: int
    others: Estimate

    def share(self, reason: Reason | None) -> Share | None:
        """Returns the share of the runs that have this reason; none has where it is None."""
        total = self.passed + self.others.runs
        if not total:
            return None
        runs, squares = (reason.runs, reason.squares) if reason is not None else (0.0, 0.0)
        value, rest = min(1.0, runs / total), total - runs
        # How many runs a stored one stands for on average, of those with the reason and of all others. By the variance of a
        # ratio, the share is as sure as one of so many fewer runs that are all known.
        own = squares / runs if runs else self.others.squares / self.others.runs if self.others.runs else 1.0
        # Of less than one run only what rounding left is known.
        other = (self.others.squares - squares + self.passed) / rest if rest >= 0.5 else own
        known = total / ((1 - value) * own + value * other)
        return share(value * known, known)
