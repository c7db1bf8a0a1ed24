"""The overview: how accurate each rule was, where it is worst, why runs failed, and what could not be decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from collector.console.charts import Series, series
from collector.console.context import Context
from collector.console.rendering import page
from collector.console.request import RANGES, Reply, period
from collector.console.statistics import Change, Share, accuracy, change
from collector.runs.queries import Counted, Filter, counted_by, grouped, reasons, reasons_since, total_of

_STEPS: Final = {3600: 60, 86_400: 3600, 604_800: 6 * 3600, 2_592_000: 24 * 3600}
_TOP: Final = 8
_MAX_RULES: Final = 40
_REASONS: Final = 12


class RuleRow(NamedTuple):
    """One rule in the period."""

    name: str
    counted: Counted
    share: Share | None
    change: Change | None
    series: Series
    objective: float | None


class Place(NamedTuple):
    """A route, an agent, a doubt or an instrumentation."""

    name: str
    counted: Counted
    share: Share | None


def overview(context: Context) -> Reply:
    """Returns the page. Raises BadQueryError."""
    request, database = context.request, context.database
    query = {**request.query, "range": context.range}
    length = period(query)
    since, step = request.now - length, _STEPS[length]
    wanted = context.filter(query)
    by_time = counted_by(database, ["rule"], wanted, step)
    before = counted_by(database, ["rule"], _earlier(wanted, length))
    places = counted_by(database, ["route", "agent", "doubt", "dialect"], wanted)
    total, rules = total_of(by_time.values()), _rules(context, by_time, before, since, step)
    return page(
        "overview.html",
        **context.common("Overview"),
        ranges=list(RANGES),
        range=query["range"],
        since=since,
        total=total,
        share=accuracy(total),
        change=change(accuracy(total_of(before.values())), accuracy(total)),
        series=series(_by(0, by_time), since, request.now, step, 960, 150),
        rules=rules[:_MAX_RULES],
        are_more_rules=len(rules) > _MAX_RULES,
        routes=_worst(places, 0),
        agents=_worst(places, 1),
        without_rule=_largest(places, 0, lambda one: one.no_rule),
        doubts=_largest(places, 2, lambda one: one.undecided),
        instrumentations=_largest(places, 3, lambda one: one.undecided),
        reasons=reasons(database, wanted, _REASONS),
        reasons_since=reasons_since(database, wanted, request.now),
    )


def _earlier(wanted: Filter, length: float) -> Filter:
    since = wanted.since or 0.0
    return Filter(wanted.properties, wanted.dimensions, wanted.text, since - length, since)


def _rules(
    context: Context, by_time: Mapping[tuple[Any, ...], Counted], before: Mapping[tuple[Any, ...], Counted], since: float,
    step: int,
) -> list[RuleRow]:  # fmt: skip
    objectives = {compiled.rule.name: compiled.rule.objective for compiled in context.rules.set.rules}
    slots: dict[str, dict[int, Counted]] = defaultdict(dict)
    for (at, rule), counted in by_time.items():
        slots[rule][at] = counted
    rows = []
    for rule, counted_at in slots.items():
        # The empty name is that of runs without a rule.
        if rule:
            counted = total_of(counted_at.values())
            now, earlier = accuracy(counted), accuracy(before.get((rule,), Counted()))
            chart = series(counted_at, since, context.request.now, step, 160, 36)
            rows.append(RuleRow(rule, counted, now, change(earlier, now), chart, objectives.get(rule)))
    return sorted(rows, key=lambda row: (-row.counted.failed, row.name))


def _by(place: int, counts: Mapping[tuple[Any, ...], Counted]) -> dict[Any, Counted]:
    """Returns the sums by one part of the keys."""
    return grouped((key[place], counted) for key, counted in counts.items())


def _worst(places: Mapping[tuple[Any, ...], Counted], at: int) -> Sequence[Place]:
    """Those of which it is the surest that they fail: a low upper bound, not a low value of few runs."""
    found = [Place(name, counted, accuracy(counted)) for name, counted in _by(at, places).items()]
    failing = [place for place in found if place.share is not None and place.counted.failed]
    return sorted(failing, key=lambda place: place.share.high if place.share else 1.0)[:_TOP]


def _largest(places: Mapping[tuple[Any, ...], Counted], at: int, size: Callable[[Counted], int]) -> Sequence[Place]:
    found = [Place(name, counted, None) for name, counted in _by(at, places).items() if size(counted)]
    return sorted(found, key=lambda place: -size(place.counted))[:_TOP]
