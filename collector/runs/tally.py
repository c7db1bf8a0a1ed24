"""How many verdicts there were, exactly, by what the console compares: the store itself keeps a sample only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from collector.scoring.verdict import Verdict
from collector.telemetry.metric_table import dimension_text

DIMENSIONS: Final = ("service.name", "service.version", "deployment.environment.name", "gen_ai.request.model")
"""Attributes of a run, or of its resource, by which runs are compared, beside those of ``exporters.prometheus.dimensions``."""
_OLD_NAMES: Final = {"deployment.environment.name": "deployment.environment"}
MAX_SERIES: Final = 500
"""Combinations counted apart between two flushes; further ones are counted by rule and label alone, under ``__other__``."""
OTHER: Final = "__other__"
_MAX_TEXT: Final = 120
_SCALARS: Final = frozenset([str, bool, int, float])


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
    dimensions: tuple[tuple[str, str], ...]
    """Those that are known, with their values."""


class Tally:
    """Counts verdicts until they are taken, by these ``dimensions`` among others. A revision is not a run of its own."""

    def __init__(self, dimensions: Sequence[str] = DIMENSIONS, redacted: Callable[[str], str] = str) -> None:
        """``redacted`` gives a text of a sender as it may be stored."""
        self._dimensions, self._read, self._redacted = dimensions, (*dimensions, *_OLD_NAMES.values()), redacted
        self._counts: dict[tuple[Any, ...], int] = {}

    def add(self, verdict: Verdict) -> None:
        """Count a verdict."""
        run, label = verdict.run, verdict.label
        attributes = run.attributes
        doubt = None if label == "pass" or label == "fail" else verdict.unscored_reason
        # The raw values, uncut: this runs for each verdict, and series are made of them once for each flush.
        key = (
            verdict.rule, verdict.digest, verdict.scope, verdict.shadow, label, run.route, run.intent, run.agent, run.dialect,
            doubt, *[value if type(value := attributes.get(name)) in _SCALARS else None for name in self._read],
        )  # fmt: skip
        before = self._counts.get(key, 0)
        # Routes and agents are named by senders, so their number has no limit.
        if not before and len(self._counts) >= MAX_SERIES:
            key = (*key[:5], *(OTHER,) * 4, doubt, *(OTHER,) * len(self._read))
            before = self._counts.get(key, 0)
        self._counts[key] = before + 1

    def take(self) -> Mapping[Series, int]:
        """Returns the counts since the last call."""
        counts, self._counts = self._counts, {}
        taken: dict[Series, int] = {}
        for key, count in counts.items():
            # Values that are equal once cut are one series.
            series = self._series(key)
            taken[series] = taken.get(series, 0) + count
        return taken

    def _series(self, key: tuple[Any, ...]) -> Series:
        rule, digest, scope, shadow, label, route, intent, agent, dialect, doubt, *read = key
        found = dimensions_of(dict(zip(self._read, read, strict=True)), self._dimensions)
        return Series(
            rule or "", digest or "", scope, shadow, label or "no_rule", self._text(route), self._text(intent),
            self._text(agent), dialect or "", doubt or "", tuple([(name, self._text(value)) for name, value in found.items()]),
        )  # fmt: skip

    def _text(self, value: str | None) -> str:
        # Before it is cut: a pattern may need what is behind.
        return cut(self._redacted(value)) if value else ""


def shown_dimensions(names: Sequence[str], hides: Callable[[str], bool]) -> tuple[str, ...]:
    """Returns the dimensions whose values may be stored, by whichever name they come."""
    return tuple([name for name in names if not (hides(name) or hides(_OLD_NAMES.get(name, name)))])


def dimensions_of(attributes: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Returns those of the dimensions ``names`` that attributes of a run tell."""
    found = {
        name: dimension_text(attributes.get(name)) or dimension_text(attributes.get(_OLD_NAMES.get(name, "")))
        for name in names
    }
    return {name: value for name, value in found.items() if value}


def cut(text: str) -> str:
    """Returns so much of a text as runs are counted and filtered by."""
    return text[:_MAX_TEXT]
