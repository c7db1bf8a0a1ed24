"""What is said of the path of one run."""

from __future__ import annotations

import pytest

from collector.drift.paths import MAX_CALLS, MAX_NAME, Path, facts_of, path_of
from scorers import ToolCall, Trajectory
from tests.collector.verdicts import run_of


def path(*names: str) -> Path:
    """A path of calls one after the other; ``!`` marks those that fail."""
    return tuple([(name.rstrip("!"), name.endswith("!"), step) for step, name in enumerate(names)])


@pytest.mark.parametrize(
    ("calls", "fact"),
    [
        ((), "calls no tool"),
        (("a",), "calls a"),
        (("a", "b"), "calls only a, b"),
        (("b", "a", "b"), "calls only a, b"),
        (("a", "b"), "calls b right after a"),
        (("a", "b", "a"), "calls a twice or more"),
        (("a", "b", "a"), "makes 2 calls or more"),
        (("a!", "b"), "has a call of a that fails"),
        (("a!", "b"), "has a call that fails"),
        (("a!", "a"), "calls a again after it failed"),
        (("a!", "b", "a"), "retries a failed call"),
        (("a", "b"), "begins with a"),
        (("a", "b"), "ends with b"),
        (tuple("abcdefghi"), "calls only a, b, c, d, e and 4 other tools"),
        (("a",) * 9, "makes 8 calls or more"),
    ],
)
def test_a_path_is_told_in_facts(calls: tuple[str, ...], fact: str) -> None:
    assert fact in facts_of(path(*calls))


@pytest.mark.parametrize(
    ("calls", "fact"),
    [
        (("a",), "calls a twice or more"),
        (("a", "b", "c"), "calls c right after a"),
        (("a!", "b"), "calls a again after it failed"),
        (("a", "a!"), "retries a failed call"),
        (("a",), "makes 2 calls or more"),
    ],
)
def test_and_in_no_others(calls: tuple[str, ...], fact: str) -> None:
    assert fact not in facts_of(path(*calls))


def test_concurrent_calls_follow_what_was_before_all_of_them() -> None:
    found = facts_of((("a", False, 0), ("b", False, 1), ("c", False, 1), ("d", False, 2)))
    assert {"calls b right after a", "calls c right after a", "calls d right after b", "ends with d"} <= found
    assert "calls c right after b" not in found


def test_a_concurrent_call_is_no_retry() -> None:
    assert "retries a failed call" not in facts_of((("a", True, 1), ("a", False, 1)))


def test_a_call_that_was_never_made_is_one_that_failed() -> None:
    calls = [ToolCall("a", executed=False), ToolCall("b", status="error", step=1), ToolCall("c", step=2)]
    assert path_of(run_of(trajectory=Trajectory(calls))) == (("a", True, 0), ("b", True, 1), ("c", False, 2))


def test_long_runs_and_long_names_are_cut() -> None:
    long = path_of(run_of(*["t" * 500] * (MAX_CALLS + 9)))
    assert len(long) == MAX_CALLS
    assert f"calls {'t' * (MAX_NAME - 1)}…" in facts_of(long)


def test_a_name_is_nothing_but_a_name() -> None:
    assert "calls a\\x1b[2Jb" in facts_of(path("a\x1b[2Jb"))
