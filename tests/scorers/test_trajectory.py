"""Runs are plain, frozen data."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from scorers import ToolCall, Trajectory


def test_a_call_nobody_told_more_of_is_one_that_ran() -> None:
    call = ToolCall("a")

    assert (call.executed, call.status, call.arguments, call.step) == (True, "unset", None, 0)


def test_not_captured_is_not_without_arguments() -> None:
    assert ToolCall("a") != ToolCall("a", {})


def test_a_run_without_calls_is_data() -> None:
    assert Trajectory() == Trajectory((), complete=True, unsure_steps=frozenset())


def test_runs_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Trajectory().complete = False  # type: ignore[misc]
    with pytest.raises(AttributeError):
        ToolCall("a").name = "b"  # type: ignore[misc]
