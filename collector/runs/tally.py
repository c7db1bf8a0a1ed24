"""How many verdicts there were, exactly, by what the console compares: the store itself keeps a sample only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from collector.reconstruction.reconstruct import Run
from collector.scoring.verdict import Verdict

DIMENSIONS: Final = ("service.name", "service.version", "deployment.environment.name", "gen_ai.request.model")
"""Attributes of a run, or of its resource, by which runs are compared."""
_OLD_NAMES: Final = {"deployment.environment.name": "deployment.environment"}
_READ: Final = (*DIMENSIONS, *_OLD_NAMES.values())
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
        self._counts: dict[tuple[Any, ...], int] = {}

    def add(self, verdict: Verdict) -> None:
        """Count a verdict."""
        run, label = verdict.run, verdict.label
        attributes = run.attributes
        doubt = None if label == "pass" or label == "fail" else verdict.unscored_reason
        # The raw values, uncut: this runs for each verdict, and series are made of them once for each flush.
        key = (
            verdict.rule, verdict.digest, verdict.scope, verdict.shadow, label, run.route, run.intent, run.agent, run.dialect,
            doubt, *[value if type(value := attributes.get(name)) is str else None for name in _READ],
        )  # fmt: skip
        counts = self._counts
        if key in counts:
            counts[key] += 1
        # Routes and agents are named by senders, so their number has no limit.
        elif len(counts) < MAX_SERIES:
            counts[key] = 1
        else:
            key = (*key[:5], *(OTHER,) * 4, doubt, *(OTHER,) * len(_READ))
            counts[key] = counts.get(key, 0) + 1

    def take(self) -> Mapping[Series, int]:
        """Returns the counts since the last call."""
        counts, self._counts = self._counts, {}
        taken: dict[Series, int] = {}
        for key, count in counts.items():
            # Values that are equal once cut are one series.
            series = _series(key)
            taken[series] = taken.get(series, 0) + count
        return taken


def _series(key: tuple[Any, ...]) -> Series:
    rule, digest, scope, shadow, label, route, intent, agent, dialect, doubt, *read = key
    found = dict(zip(_READ, read, strict=True))
    dimensions = tuple(_cut(found[name] or found.get(_OLD_NAMES.get(name, ""))) for name in DIMENSIONS)
    return Series(
        rule or "", digest or "", scope, shadow, label or "no_rule", _cut(route), _cut(intent), _cut(agent), _cut(dialect),
        _cut(doubt), dimensions,
    )  # fmt: skip


def dimensions_of(run: Run) -> dict[str, str]:
    """Returns the dimensions of a run; "" for those that are unknown."""
    attributes = run.attributes
    return {name: _cut(attributes.get(name) or attributes.get(_OLD_NAMES.get(name, ""))) for name in DIMENSIONS}


def _cut(value: Any) -> str:
    return value[:_MAX_TEXT] if type(value) is str else ""
