"""Metrics on a registry of their own, and their series: bounded in number, since senders choose some of the label values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge

from collector.telemetry.histogram import Histogram
from scorers.quoting import printable

prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]

OVERFLOW = "__other__"
MAX_LABEL_LENGTH = 128
MAX_COMBINATIONS = 10
"""How many combinations of label values are kept for each value that one label may have; further ones are ``__other__``."""


class MetricInfo(NamedTuple):
    """One row of the table of metrics. The metric is called ``rightcall_<name>``, with ``_total`` if it is a counter."""

    name: str
    kind: type[Counter | Gauge | Histogram]
    labels: tuple[str, ...]
    documentation: str


class MetricTable:
    """Declares metrics, and finds their series.

    ``max_label_values`` bounds each label whose values senders choose, and the combinations of ``dimensions``: attributes
    that become labels of what is counted of runs.
    """

    label_overflow: Counter
    """Counts what is replaced by ``__other__``. Declared like the others, by who declares them."""

    def __init__(self, max_label_values: int, dimensions: Sequence[str]) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.table: list[MetricInfo] = []
        self._max_label_values, self.dimensions = max_label_values, tuple(dimensions)
        self._kept: defaultdict[str, set[str | tuple[str, ...]]] = defaultdict(set)
        self._children: dict[tuple[Any, ...], Any] = {}

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        self.table.append(MetricInfo(name, Counter, labels, documentation))
        return Counter(f"rightcall_{name}", documentation, labels, registry=self.registry)

    def _gauge(self, name: str, documentation: str, *labels: str) -> Gauge:
        self.table.append(MetricInfo(name, Gauge, labels, documentation))
        return Gauge(f"rightcall_{name}", documentation, labels, registry=self.registry)

    def _histogram(self, name: str, documentation: str, *labels: str, buckets: Sequence[float]) -> Histogram:
        self.table.append(MetricInfo(name, Histogram, labels, documentation))
        return Histogram(f"rightcall_{name}", documentation, labels, registry=self.registry, buckets=buckets)

    def child(self, metric: Counter | Gauge | Histogram, *values: str) -> Any:
        """Returns the metric's series for these label values, cached: a lookup costs more than an increment.

        The cache is bounded, because every value comes from a closed set, a rule file or ``label``, and combinations of
        the latter from ``is_within``. What a terminal obeys or no encoding can carry is escaped: one such value would
        make every scrape fail.
        """
        key = (metric, *values)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = metric.labels(*map(printable, values))
        return child

    def label(self, name: str, value: str | None) -> str:
        """Returns a bounded label value: at most `MAX_LABEL_LENGTH` characters, ``__other__`` once there are too many values.

        White space becomes ``_``, so that a line of the text format is two words to ``awk`` and ``cut``.
        """
        text = (value or "")[:MAX_LABEL_LENGTH]
        known = self._kept[name]
        if text in known:
            return text
        text = "_".join(text.split())
        if text in known:
            return text
        if len(known) < self._max_label_values:
            known.add(text)
            return text
        self.child(self.label_overflow, name).inc()
        return OVERFLOW

    def is_within(self, name: str, *values: str) -> bool:
        """Whether these label values may be on one series: those of senders are bounded one by one, their product is not.

        Beyond `MAX_COMBINATIONS` times as many combinations as values it is counted as an overflow of ``name``.
        """
        return self._keep(name, values, MAX_COMBINATIONS * self._max_label_values)

    def has_room(self, name: str, *values: str) -> bool:
        """Whether there is a place for a label value, or for a combination, that a rule names and perhaps no run will have.

        Half of the places are left to what runs have.
        """
        known = self._kept[name]
        key, most = (values, MAX_COMBINATIONS) if len(values) > 1 else (values[0], 1)
        return key in known or len(known) < most * self._max_label_values // 2

    def dimension_values(self, attributes: Mapping[str, Any]) -> tuple[str, ...]:
        """Returns the label values of the dimensions of a run with these attributes, "" for those that it lacks.

        They are bounded one by one and together: once there are too many combinations, each value is ``__other__``.
        """
        values = tuple([self.label(name, dimension_text(attributes.get(name))) for name in self.dimensions])
        return values if self._keep("dimensions", values, self._max_label_values) else (OVERFLOW,) * len(values)

    def _keep(self, name: str, values: tuple[str, ...], most: int) -> bool:
        known = self._kept[name]
        if values not in known:
            if len(known) >= most:
                self.child(self.label_overflow, name).inc()
                return False
            known.add(values)
        return True


def dimension_text(value: object) -> str | None:
    """Returns the value of a dimension as text; None for one that is missing or no single value."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | float) or (isinstance(value, int) and abs(value) < 1 << 63) else None
