"""Work in slices: interrupted at checkpoints however deep, resumed where it was, and never by another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from collector.checkpoints import checkpoint, in_parts
from collector.resumable import Resumable
from scorers import ToolCall, Trajectory, load_rules


class Ticks:
    """A clock that goes on by one at each look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def finish(work: Resumable[Any], until: Callable[[], float]) -> int:
    """Resume it until it is done; how often that was."""
    slices = 1
    while not work.resume(until()):
        slices += 1
    return slices


def test_it_is_interrupted_deep_in_plain_functions_and_goes_on_there() -> None:
    done: list[int] = []

    def deep(depth: int) -> int:
        checkpoint()
        done.append(depth)
        return depth if depth == 0 else deep(depth - 1)

    work = Resumable(lambda: deep(5), Ticks())
    assert (work.resume(0), done) == (False, [])
    assert (work.resume(0), done) == (False, [5])
    assert finish(work, lambda: 0.0) == 5
    assert (done, work.result) == ([5, 4, 3, 2, 1, 0], 0)


def test_it_is_not_interrupted_before_its_time_is_up() -> None:
    clock = Ticks()

    def hundred() -> None:
        for _ in range(100):
            checkpoint()

    work = Resumable(hundred, clock)
    assert finish(work, lambda: clock.now + 26) == 4


def test_it_raises_what_the_work_raises() -> None:
    def fail() -> None:
        checkpoint()
        raise ZeroDivisionError

    work = Resumable(fail, Ticks())
    assert not work.resume(0)
    with pytest.raises(ZeroDivisionError):
        work.resume(0)


def test_a_checkpoint_outside_of_any_work_and_one_of_another_thread_do_nothing() -> None:
    checkpoint()
    passed: list[int] = []

    def meanwhile() -> int:
        def elsewhere() -> None:
            checkpoint()
            passed.append(1)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return len(passed)

    work = Resumable(meanwhile, Ticks())
    assert (work.resume(0), work.result) == (True, 1)


def test_work_that_is_dropped_ends_where_it_was() -> None:
    ended: list[str] = []

    def begin() -> None:
        try:
            checkpoint()
            ended.append("went on")
        finally:
            ended.append("ended")

    work = Resumable(begin, Ticks())
    assert not work.resume(0)
    del work
    assert ended == ["ended"]


def test_items_come_in_parts_with_a_checkpoint_before_each() -> None:
    work = Resumable(lambda: [len(part) for part in in_parts(range(1200))], Ticks())
    assert finish(work, lambda: 0.0) == 4
    assert work.result == [500, 500, 200]


def test_evaluations_that_interrupt_one_another_spend_apart() -> None:
    """jsonschema passes nothing on to its keywords: where they spend their work may not depend on who came last."""
    schema = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    means = {"tool": "t", "arguments": {"x": {"schema": schema}}}
    (rule,) = load_rules({"rules": [{"name": "r", "match": {}, "expect": means}]}).rules

    def label(numbers: int) -> str:
        return rule.evaluate(Trajectory([ToolCall("t", {"x": list(range(numbers))})]), checkpoint)[0].score.label

    clock = Ticks()
    large, slices = Resumable(lambda: label(3600), clock), 1
    while not large.resume(clock.now + 40):
        assert label(1) == "pass"
        slices += 1
    assert slices > 10
    assert large.result == label(3600) == "error"
