"""The metrics of /metrics as an OTLP request, from the same registry, so that both always agree.

Not by the SDK's instruments: it has no observable histogram, so every observation would have to be recorded twice. Counters
lose their ``_total``, which Prometheus adds again when it ingests OTLP. Exemplars are on /metrics only.
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
    """Returns every metric of the registry, serialised; ``start_ns`` is when all were zero, in Unix nanoseconds."""
    from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics  # noqa: PLC0415 - only if enabled
    from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics  # noqa: PLC0415 - only if enabled
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415 - only if enabled

    metrics = [metric for family in registry.collect() if (metric := _metric(family, start_ns, now_ns)) is not None]
    scope = ScopeMetrics(InstrumentationScope(SCOPE), metrics, "")
    request = encode_metrics(MetricsData([ResourceMetrics(resource(), [scope], "")]))
    return bytes(request.SerializeToString())


def _metric(family: Family, start_ns: int, now_ns: int) -> OtlpMetric | None:
    from opentelemetry.sdk.metrics import export  # noqa: PLC0415 - only if enabled

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
    from opentelemetry.sdk.metrics.export import NumberDataPoint  # noqa: PLC0415 - only if enabled

    return NumberDataPoint(dict(sample.labels), start_ns, now_ns, sample.value)


def _histograms(samples: Iterable[Sample], start_ns: int, now_ns: int) -> Iterator[HistogramDataPoint]:
    """Yields a data point for each label set of one histogram, whose samples are its buckets in order, count and sum."""
    from opentelemetry.sdk.metrics.export import HistogramDataPoint  # noqa: PLC0415 - only if enabled

    bounds: list[float] = []
    cumulative: list[int] = []
    count = 0
    for sample in samples:
        if sample.name.endswith("_bucket"):
            bounds.append(float(sample.labels["le"]))
            cumulative.append(int(sample.value))
        elif sample.name.endswith("_count"):
            count = int(sample.value)
        elif sample.name.endswith("_sum"):
            counts = [count - below for below, count in zip([0, *cumulative], cumulative, strict=False)]
            finite = [bound for bound in bounds if bound != math.inf]
            labels = dict(sample.labels)
            yield HistogramDataPoint(labels, start_ns, now_ns, count, sample.value, counts, finite, None, None)  # type: ignore[arg-type]  # min and max are optional on the wire
            bounds, cumulative = [], []
