"""What every page is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from collector.config.model import ConsoleConfig
from collector.console.request import RANGES, Request, filter_of
from collector.drift.monitor import Watched
from collector.runs.database import RunsDatabase
from collector.runs.queries import Filter, first_counted
from collector.scoring.rule_files import LoadedRules


class Fact(NamedTuple):
    """A part of the line that says how the collector itself is."""

    text: str
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """One request, and what of the collector it is about."""

    request: Request
    database: RunsDatabase
    dimensions: Sequence[str]
    rules: LoadedRules
    config: ConsoleConfig
    health: Sequence[Fact]
    shown_config: Mapping[str, Any]
    drift: Sequence[Watched] | None = None
    """None where nothing is watched."""

    def filter(self, query: Mapping[str, str] | None = None) -> Filter:
        """Returns which runs a query asks for, that of the request unless another is given. Raises BadQueryError."""
        return filter_of(self.request.query if query is None else query, self.request.now, self.dimensions)

    @property
    def range(self) -> str:
        """The period that the query names, else an hour of a collector that has seen no more, else a day."""
        if "range" in self.request.query:
            return self.request.query["range"]
        # A day of a collector that has just started would be one point in an empty chart.
        first = first_counted(self.database)
        return "1h" if first is not None and self.request.now - first < RANGES["1h"] else "24h"

    def common(self, title: str) -> dict[str, Any]:
        """Returns what the frame around every page shows."""
        return {
            "title": title,
            "request": self.request,
            "now": self.request.now,
            "health": self.health,
            "links": self.config,
        }
