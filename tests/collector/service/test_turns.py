"""Large requests are taken by turns; small ones, and everything else, go on in between."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from collector.component import Rejected
from collector.errors import DecodeError, RefusedError
from collector.service import turns
from collector.service.turns import Turns, next_budget, pause_after
from tests.waiting import let_others_run, until


class Work:
    """Requests of which each step takes a whole turn of the CPU time that ``turns`` reads; ``taken`` says whose it was."""

    def __init__(self) -> None:
        self.cpu = 0.0
        self.taken = list[str]()
        self.turns = Turns(cpu=lambda: self.cpu)

    def steps(self, name: str, count: int, seconds: float = turns._FIRST) -> Generator[None, None, Rejected]:
        for _ in range(count):
            self.taken.append(name)
            self.cpu += seconds
            yield
        return Rejected(count)

    def take(self, name: str, count: int, cost: int) -> asyncio.Task[Rejected]:
        return asyncio.create_task(self.turns.take(self.steps(name, count), cost))


def test_a_request_of_one_turn_is_taken_at_once_while_others_wait() -> None:
    async def run() -> None:
        work = Work()
        large = [work.take(name, 4, 100) for name in "ab"]
        await let_others_run()
        assert (await work.turns.take(work.steps("small", 1, turns._FIRST / 2), 1)).count == 1
        assert work.taken == ["a", "b", "small"]
        assert [(await task).count for task in large] == [4, 4]

    asyncio.run(run())


def test_a_request_of_several_turns_waits_for_room_before_each_further_one() -> None:
    async def run() -> None:
        work, waits = Work(), list[str]()

        async def room() -> None:
            waits.append("".join(work.taken))
            await may_go_on.wait()

        may_go_on = asyncio.Event()
        work.turns = Turns(room, lambda: work.cpu)
        large = work.take("a", 3, 100)
        await until(lambda: waits)
        assert (await work.turns.take(work.steps("b", 1, turns._FIRST / 2), 1)).count == 1
        assert (waits, work.taken) == (["a"], ["a", "b"])
        may_go_on.set()
        assert (await large).count == 3
        assert waits == ["a", "aba", "abaa"]

    asyncio.run(run())


def test_what_is_small_goes_first_until_as_much_has_been_taken_as_the_large_one_brings() -> None:
    async def run() -> list[str]:
        work = Work()
        large = [work.take(name, 20, 100) for name in "ab"]
        await let_others_run()
        for name in "12345":
            await work.take(name, 2, 30)
        await asyncio.gather(*large)
        return work.taken

    taken = asyncio.run(run())
    ends = {name: at for at, name in enumerate(taken)}
    assert "".join(sorted(ends, key=ends.__getitem__)) == "123ab45"


def test_the_time_that_others_have_the_processor_is_nobodys_turn() -> None:
    async def run() -> None:
        work = Work()
        large = work.take("large", 5, 100)
        await let_others_run()
        # It takes ten steps, and however long that lasts by the clock on the wall, little of it is its own work.
        await work.turns.take(work.steps("small", 10, turns._FIRST / 20), 1)
        assert work.taken == ["large", *["small"] * 10]
        await large

    asyncio.run(run())


def test_the_loop_goes_on_between_turns() -> None:
    async def run() -> None:
        work = Work()

        async def tick() -> None:
            while work.taken.count("large") < 5:
                work.taken.append("tick")
                await let_others_run()

        ticking = asyncio.create_task(tick())
        # Twice as long as a further turn: those have one step.
        await work.turns.take(work.steps("large", 5), 100)
        await ticking
        assert "large,large" not in ",".join(work.taken)

    asyncio.run(run())


def test_what_has_little_to_do_waits_for_one_turn_and_not_at_each_of_its_steps() -> None:
    async def run() -> None:
        work = Work()

        async def small() -> None:
            work.taken.append("begins")
            await let_others_run(3)  # its bytes, its task, what that waits for
            work.taken.append("ends")

        large = work.take("large", 8, 100)
        await let_others_run()
        await asyncio.create_task(small())
        await large
        assert work.taken[work.taken.index("begins") : work.taken.index("ends")].count("large") <= 1

    asyncio.run(run())


def test_a_turn_that_took_very_long_is_followed_by_a_pause_as_long() -> None:
    async def run() -> None:
        work = Work()
        large = asyncio.create_task(work.turns.take(work.steps("large", 9, seconds=60.0), 100))
        await let_others_run(100)
        assert work.taken == ["large"]
        large.cancel()

    asyncio.run(run())
    assert [pause_after(seconds) for seconds in (0.0, turns._FIRST, 0.05)] == [0.0, 0.0, 0.05]


def test_more_work_than_senders_wait_for_is_refused_and_counts_until_it_is_done() -> None:
    async def run() -> None:
        work = Work()
        first = work.take("first", 3, turns._MAX_WAITING)
        await let_others_run()
        with pytest.raises(RefusedError, match="too many large requests"):
            await work.take("second", 1, 1)
        await first
        await work.take("third", 1, 10 * turns._MAX_WAITING)
        assert work.taken == ["first"] * 3 + ["third"]

    asyncio.run(run())


def test_a_step_that_fails_ends_the_request_and_lets_the_next_go_on() -> None:
    async def run() -> None:
        work = Work()

        def failing() -> Generator[None, None, Rejected]:
            yield from work.steps("bad", 2)
            raise DecodeError("bad")

        bad, good = asyncio.create_task(work.turns.take(failing(), 10)), work.take("good", 3, 20)
        with pytest.raises(DecodeError):
            await bad
        assert (await good).count == 3
        assert (await work.take("late", 2, turns._MAX_WAITING)).count == 2

    asyncio.run(run())


def test_a_sender_that_gives_up_makes_room_for_the_next() -> None:
    async def run() -> None:
        work = Work()
        large = [work.take(name, 9, 100) for name in "ab"]
        await let_others_run(3)
        large[0].cancel()
        assert (await large[1]).count == 9
        assert work.taken.count("a") < 9

    asyncio.run(run())


def test_steps_of_scoring_grow_only_while_there_is_more_to_do() -> None:
    shortest, longest = turns._BUDGETS
    budgets = [next_budget()]
    for _ in range(5):
        budgets.append(next_budget(budgets[-1], has_more=True))
    assert budgets == [shortest, 2 * shortest, longest, longest, longest, longest]
    assert next_budget(longest) == shortest
