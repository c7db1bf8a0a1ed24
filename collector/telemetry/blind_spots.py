"""What was received and could not be read, or only by its shape, by the name of the instrumentation scope that wrote it."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import Counter

from collector.telemetry.metrics import Telemetry

BlindSpots = dict[str, dict[str, int]]
"""By metric, without its prefix and suffix: how many of each scope. As bounded as the metrics' labels are."""


def blind_spots(telemetry: Telemetry) -> BlindSpots:
    """Returns the spans that were read by their shape, those that were not read, and the runs without anything readable."""
    return {
        name: {
            sample.labels["scope"]: int(sample.value)
            for family in counter.collect()
            for sample in family.samples
            if sample.name.endswith("_total")
        }
        for name, counter in _counters(telemetry).items()
    }


def add(telemetry: Telemetry, spots: BlindSpots) -> None:
    """Count what another process has found."""
    for name, counter in _counters(telemetry).items():
        for scope, count in spots[name].items():
            telemetry.child(counter, telemetry.label("scope", scope)).inc(count)


def _counters(telemetry: Telemetry) -> dict[str, Counter]:
    return {
        "shape_spans": telemetry.shape_spans,
        "unread_spans": telemetry.unread_spans,
        "unread_runs": telemetry.unread_runs,
    }


def sentences(spots: BlindSpots, *, has_runs: bool) -> Iterator[str]:
    """Yield a line for each scope, the most frequent first; one line if there is nothing to tell."""
    for name, what in _WHAT.items():
        for scope, count in sorted(spots[name].items(), key=lambda item: (-item[1], item[0])):
            yield f"{what}: {count} of scope {scope or '(none)'}"
    if any(spots.values()):
        return
    if not has_runs:  # of spans that have nothing but names, as Griptape writes them, nothing tells whose they are
        yield "no span has the attributes of an agent, a model or a tool: nothing was read"
    else:
        yield "every span that looks like an agent's was read, and every run has something readable"


_WHAT = {
    "shape_spans": "spans read by their shape",
    "unread_spans": "spans not read",
    "unread_runs": "runs with nothing readable",
}
