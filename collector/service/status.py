"""How the collector itself is, in a line for people: what the console shows at the top of each page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from collector.console.context import Fact
from collector.service.health import Health
from collector.telemetry.metrics import Telemetry

_FULL = 0.8  # share of a queue or spool in use that is worth a warning


def facts(health: Health, telemetry: Telemetry) -> list[Fact]:
    """Returns the state of intake, queues, backends, spool and store, the worst news marked."""
    return list(_facts(health, telemetry))


def _facts(health: Health, telemetry: Telemetry) -> Iterator[Fact]:
    trouble = health.trouble
    yield Fact(f"not ready: {trouble}", is_bad=True) if trouble else Fact("ready")
    yield Fact(f"{_sum(telemetry.receiver_accepted_spans):,.0f} spans taken in")
    if refused := _sum(telemetry.receiver_refused_spans):
        yield Fact(f"{refused:,.0f} requests refused", is_bad=True)
    yield Fact(f"{_sum(telemetry.traces_open):,.0f} traces open")
    size, capacity = _sum(telemetry.exporter_queue_size), _sum(telemetry.exporter_queue_capacity)
    taken, most = _sum(telemetry.exporter_queue_bytes), _sum(telemetry.exporter_queue_capacity_bytes)
    if capacity:
        failed = _sum(telemetry.exporter_send_failed_spans)
        sent = f"{_sum(telemetry.exporter_sent_spans):,.0f} spans sent"
        yield Fact(f"{sent}, {failed:,.0f} failed" if failed else sent, is_bad=bool(failed))
        queued = f"sending queue {size:,.0f} of {capacity:,.0f}"
        in_bytes = f", {taken / 2**20:,.1f} of {most / 2**20:,.0f} MiB" if most else ""
        yield Fact(queued + in_bytes, is_bad=size > _FULL * capacity or taken > _FULL * most)
    else:
        yield Fact("no backend")
    used, room = _sum(telemetry.spool_bytes), _sum(telemetry.spool_capacity_bytes)
    if room:
        yield Fact(f"spool {used / 2**20:,.1f} of {room / 2**20:,.0f} MiB", is_bad=used > _FULL * room)
    if _sum(telemetry.rules_refused):
        yield Fact("changed rules refused, the old ones stay in force", is_bad=True)
    if missing := _sum(telemetry.runs_not_stored):
        yield Fact(f"{missing:,.0f} runs not stored", is_bad=True)


def _sum(metric: Any) -> float:
    values = (
        sample.value for family in metric.collect() for sample in family.samples if not sample.name.endswith("_created")
    )
    return float(sum(values))
