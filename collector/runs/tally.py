"""How many verdicts there were, exactly, by what the console compares: the store itself keeps a sample only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from collector.reconstruction.reconstruct import Run
from collector.scoring.verdict import Verdict

DIMENSIONS: Final = ("service.name", "service.version", "deployment.environment.name", "gen_ai.request.model")
"""Attributes of a run, or of its resource, by which runs are compared."""
_OLD_NAMES: Final = {"deployment.environment.name": "deployment.environment"}
MAX_SERIES: Final = 500
"""Combinations counted apart between two flushes; further ones are counted by rule and label alone, under ``__other__``."""
OTHER: Final = "__other__"
_MAX_TEXT: Final = 120


class Series(NamedTuple):
    """What verdicts are counted by."""

    rule: str
    digest: str
    scope: str
    shadow: bool
    label: str
    route: str
    intent: str
    agent: str
    dialect: str
    doubt: str
    dimensions: tuple[str, ...]
    """The values of `DIMENSIONS`, "" where unknown."""


class Tally:
    """Counts verdicts until they are taken. A revision is not a run of its own."""

    def __init__(self) -> None:
        self._counts: dict[Series, int] = {}

    def add(self, verdict: Verdict) -> None:
        """Count a verdict."""
        run = verdict.run
        series = Series(
            verdict.rule or "",
            verdict.digest or "",
            verdict.scope,
            verdict.shadow,
            verdict.label or "no_rule",
            _cut(run.route),
            _cut(run.intent),
            _cut(run.agent),
            run.dialect,
            (verdict.unscored_reason or "") if verdict.label != "pass" and verdict.label != "fail" else "",
            tuple(dimensions_of(run).values()),
        )
        counts = self._counts
        if series not in counts and len(counts) >= MAX_SERIES:
            series = series._replace(
                route=OTHER, intent=OTHER, agent=OTHER, dialect=OTHER, dimensions=(OTHER,) * len(DIMENSIONS)
            )
        counts[series] = counts.get(series, 0) + 1

    def take(self) -> Mapping[Series, int]:
        """Returns the counts since the last call."""
        counts, self._counts = self._counts, {}
        return counts


def dimensions_of(run: Run) -> dict[str, str]:
    """Returns the dimensions of a run; "" for those that are unknown."""
    attributes = run.attributes
    return {name: _cut(attributes.get(name) or attributes.get(_OLD_NAMES.get(name, ""))) for name in DIMENSIONS}


def _cut(value: Any) -> str:
    return value[:_MAX_TEXT] if type(value) is str else ""
