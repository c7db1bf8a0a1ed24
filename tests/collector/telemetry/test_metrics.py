"""Our own metrics: what the table says is what /metrics shows."""

from __future__ import annotations

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from collector.telemetry.metrics import Telemetry
from tests.collector import metrics_table


def test_the_table_is_what_is_exported() -> None:
    telemetry = Telemetry()
    for name, _, labels, _ in telemetry.table:
        if labels:
            getattr(telemetry, name).labels(*("x" for _ in labels))
    text = generate_latest(telemetry.registry).decode()
    exported = {
        family.name: family for family in text_string_to_metric_families(text) if family.name.startswith("rightcall_")
    }
    assert set(exported) == {f"rightcall_{name}" for name, *_ in telemetry.table}
    for name, kind, labels, documentation in telemetry.table:
        family = exported[f"rightcall_{name}"]
        assert (family.type, family.documentation) == (kind.__name__.lower(), documentation)
        assert set(family.samples[0].labels) - {"le"} == set(labels)


def test_the_process_is_measured_too() -> None:
    assert Telemetry().registry.get_sample_value("process_resident_memory_bytes")


def test_the_reference_has_the_table_as_it_is() -> None:
    assert metrics_table.DOCUMENT.read_text() == metrics_table.document(), "run python -m tests.collector.metrics_table"
