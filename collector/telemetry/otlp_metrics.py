"""The metrics of /metrics as an OTLP request: the same registry, read the same way, so that both always agree.

Not the SDK's instruments: a histogram cannot be observed there, only recorded a second time. A counter's name loses its
``_total``, which whoever stores OTLP in Prometheus puts back. Exemplars are on /metrics only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.samples import Sample

from collector.telemetry.resource import SCOPE, resource

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import HistogramDataPoint, NumberDataPoint
    from opentelemetry.sdk.metrics.export import Metric as OtlpMetric


def encode(registry: CollectorRegistry, start_ns: int, now_ns: int) -> bytes:
    """Everything in the registry; ``start_ns`` is when it was all zero, in Unix nanoseconds."""
    from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics  # noqa: PLC0415 - only where wanted
    from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics  # noqa: PLC0415 - as above
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415 - as above

    metrics = [metric for family in registry.collect() if (metric := _metric(family, start_ns, now_ns)) is not None]
    scope = ScopeMetrics(InstrumentationScope(SCOPE), metrics, "")
    request = encode_metrics(MetricsData([ResourceMetrics(resource(), [scope], "")]))
    return bytes(request.SerializeToString())


def _metric(family: Family, start_ns: int, now_ns: int) -> OtlpMetric | None:
    from opentelemetry.sdk.metrics import export  # noqa: PLC0415 - as above

    cumulative = export.AggregationTemporality.CUMULATIVE
    data: export.Sum | export.Gauge | export.Histogram
    if family.type == "counter":
        data = export.Sum([_number(sample, start_ns, now_ns) for sample in family.samples], cumulative, True)
    elif family.type == "gauge":
        data = export.Gauge([_number(sample, start_ns, now_ns) for sample in family.samples])
    elif family.type == "histogram":
        data = export.Histogram(list(_histograms(family.samples, start_ns, now_ns)), cumulative)
    else:
        return None
    return export.Metric(family.name, family.documentation, "", data) if data.data_points else None


def _number(sample: Sample, start_ns: int, now_ns: int) -> NumberDataPoint:
    from opentelemetry.sdk.metrics.export import NumberDataPoint  # noqa: PLC0415 - as above

    return NumberDataPoint(dict(sample.labels), start_ns, now_ns, sample.value)


def _histograms(samples: Iterable[Sample], start_ns: int, now_ns: int) -> Iterator[HistogramDataPoint]:
    """The samples of one histogram, a point for each set of labels: buckets in order, then count and sum."""
    from opentelemetry.sdk.metrics.export import HistogramDataPoint  # noqa: PLC0415 - as above

    bounds: list[float] = []
    totals: list[int] = []
    count = 0
    for sample in samples:
        if sample.name.endswith("_bucket"):
            bounds.append(float(sample.labels["le"]))
            totals.append(int(sample.value))
        elif sample.name.endswith("_count"):
            count = int(sample.value)
        elif sample.name.endswith("_sum"):
            each = [total - before for before, total in zip([0, *totals], totals, strict=False)]
            finite = [bound for bound in bounds if bound != math.inf]
            labels = dict(sample.labels)
            yield HistogramDataPoint(labels, start_ns, now_ns, count, sample.value, each, finite, None, None)  # type: ignore[arg-type]  # least and greatest are optional on the wire
            bounds, totals = [], []
