"""Observations taken all at once are those taken one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest

from collector.telemetry.histogram import Histogram

BOUNDS = (0.25, 0.5, 2.0)
# Halves, so that sums are exact in any order.
amounts = st.lists(st.integers(-2, 20).map(lambda number: number / 4))


def shown(registry: CollectorRegistry) -> bytes:
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text


@given(amounts, amounts)
def test_many_observations_are_each_counted(first: list[float], second: list[float]) -> None:
    one_by_one, at_once = CollectorRegistry(), CollectorRegistry()
    single = Histogram("h", "h", ("route",), registry=one_by_one, buckets=BOUNDS).labels("/chat")
    many = Histogram("h", "h", ("route",), registry=at_once, buckets=BOUNDS).labels("/chat")
    for amount in first + second:
        single.observe(amount)
    many.observe_all(first)
    many.observe_all(second)
    assert shown(at_once) == shown(one_by_one)
