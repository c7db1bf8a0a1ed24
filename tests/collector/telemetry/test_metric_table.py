"""Series are bounded in number: senders cannot make /metrics grow."""

from __future__ import annotations

from collector.telemetry.metric_table import MAX_LABEL_LENGTH, OVERFLOW
from collector.telemetry.metrics import Telemetry
from tests.harness import value


def test_a_label_keeps_so_many_values_and_counts_the_rest() -> None:
    telemetry = Telemetry(max_label_values=2)
    assert [telemetry.label("tool", name) for name in ("a", "b", "c", "a", "d")] == ["a", "b", OVERFLOW, "a", OVERFLOW]
    assert telemetry.label("route", "c") == "c"
    assert value(telemetry, "label_overflow_total", label="tool") == 2


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
