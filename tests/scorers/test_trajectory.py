"""Runs are plain data."""

from __future__ import annotations

from scorers import ToolCall, Trajectory


def test_defaults_of_a_call() -> None:
    call = ToolCall("a")

    assert (call.executed, call.status, call.arguments, call.step) == (True, "unset", None, 0)


def test_missing_arguments_differ_from_empty_ones() -> None:
    assert ToolCall("a") != ToolCall("a", {})


def test_a_run_may_have_no_calls() -> None:
    assert Trajectory() == Trajectory((), None, ())
