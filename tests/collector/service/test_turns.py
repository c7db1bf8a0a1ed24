"""Large requests are taken by turns; small ones, and everything else, go on in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator

import pytest

from collector.component import Rejected
from collector.errors import DecodeError, RefusedError
from collector.service import turns
from collector.service.turns import Turns
from tests.waiting import let_others_run


def steps(taken: list[str], name: str, count: int) -> Generator[None, None, Rejected]:
    """A request of which each step takes a whole turn."""
    for _ in range(count):
        taken.append(name)
        end = time.monotonic() + turns._TURN
        while time.monotonic() < end:
            pass
        yield
    return Rejected(count)


def test_a_small_request_is_taken_at_once_while_large_ones_wait_for_each_other() -> None:
    taken: list[str] = []

    async def run() -> None:
        shared = Turns()
        large = [asyncio.create_task(shared.take(steps(taken, name, 4), 100)) for name in "ab"]
        await let_others_run()
        small = await shared.take(steps(taken, "small", 0), 1)
        taken.append("small")
        assert not small
        assert [task.done() for task in large] == [False, False]
        assert [(await task).count for task in large] == [4, 4]

    asyncio.run(run())
    assert taken == ["a", "b", "small", "a", "a", "a", "b", "b", "b"]


def test_the_loop_goes_on_between_turns() -> None:
    taken: list[str] = []

    async def tick() -> None:
        while taken.count("large") < 5:
            taken.append("tick")
            await let_others_run()

    async def run() -> None:
        ticking = asyncio.create_task(tick())
        await Turns().take(steps(taken, "large", 5), 100)
        await ticking

    asyncio.run(run())
    assert "large,large" not in ",".join(taken)


def test_what_has_little_to_do_waits_for_one_turn_and_not_at_each_of_its_steps() -> None:
    taken: list[str] = []

    async def small() -> None:
        taken.append("begins")
        await let_others_run(3)  # its bytes, its task, what that waits for
        taken.append("ends")

    async def run() -> None:
        large = asyncio.create_task(Turns().take(steps(taken, "large", 8), 100))
        await let_others_run()
        await asyncio.create_task(small())
        await large

    asyncio.run(run())
    assert taken[taken.index("begins") : taken.index("ends")].count("large") <= 1


def test_more_work_than_senders_wait_for_is_refused_and_counts_until_it_is_done() -> None:
    taken: list[str] = []

    async def run() -> None:
        shared = Turns()
        first = asyncio.create_task(shared.take(steps(taken, "first", 3), turns._MAX_WAITING))
        await let_others_run()
        with pytest.raises(RefusedError, match="too many large requests"):
            await shared.take(steps(taken, "second", 1), 1)
        await first
        await shared.take(steps(taken, "third", 1), 10 * turns._MAX_WAITING)

    asyncio.run(run())
    assert taken == ["first"] * 3 + ["third"]


def test_a_step_that_fails_ends_the_request_and_lets_the_next_go_on() -> None:
    def failing() -> Generator[None, None, Rejected]:
        yield from steps([], "x", 2)
        raise DecodeError("bad")

    async def run() -> None:
        shared = Turns()
        with pytest.raises(DecodeError):
            await shared.take(failing(), 10)
        assert (await shared.take(steps([], "x", 2), turns._MAX_WAITING)).count == 2
        assert shared._waiting == 0

    asyncio.run(run())
