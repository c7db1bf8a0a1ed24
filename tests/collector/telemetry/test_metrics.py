"""Our own metrics: what the table says is what /metrics shows, and senders cannot make it grow."""

from __future__ import annotations

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from collector.telemetry.metrics import MAX_LABEL_LENGTH, OVERFLOW, Telemetry
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


def test_a_label_keeps_so_many_values_and_counts_the_rest() -> None:
    telemetry = Telemetry(max_label_values=2)
    assert [telemetry.label("tool", name) for name in ("a", "b", "c", "a", "d")] == ["a", "b", OVERFLOW, "a", OVERFLOW]
    assert telemetry.label("route", "c") == "c"
    assert telemetry.registry.get_sample_value("rightcall_label_overflow_total", {"label": "tool"}) == 2


def test_label_values_are_short_and_one_word() -> None:
    telemetry = Telemetry()
    assert telemetry.label("tool", None) == ""
    assert telemetry.label("tool", "Travel  work\nflow") == "Travel_work_flow"
    assert telemetry.label("tool", "x" * MAX_LABEL_LENGTH) == "x" * 128
    assert telemetry.label("tool", "y" * 10_000) == "y" * 128


def test_a_series_is_looked_up_once() -> None:
    telemetry = Telemetry()
    assert telemetry.child(telemetry.runs, "root") is telemetry.child(telemetry.runs, "root")
    assert telemetry.child(telemetry.runs, "root") is not telemetry.child(telemetry.runs, "idle")


def test_the_readme_has_the_table_as_it_is() -> None:
    assert metrics_table.README.read_text() == metrics_table.readme(), "run python -m tests.collector.metrics_table"
