"""Collections look at little, however much is kept; and what is kept never dies as a cycle."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.service import garbage
from collector.service.garbage import YoungGarbage
from tests import otlp_data as data
from tests.harness import Bench


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.unfreeze()
    gc.enable()


class Node:
    """An object in a cycle with itself."""

    def __init__(self) -> None:
        self.own = self


def full_collections() -> int:
    return int(gc.get_stats()[1]["collections"] + gc.get_stats()[2]["collections"])


def test_what_is_kept_is_looked_at_once() -> None:
    garbage.tune()
    before, frozen = full_collections(), gc.get_freeze_count()
    kept: list[list[int]] = []
    young = YoungGarbage()
    for number in range(400_000):
        kept.append([number])
        young.advance(0)
    assert full_collections() == before
    assert gc.get_freeze_count() - frozen >= 300_000


def test_nothing_is_looked_at_while_all_is_kept_nor_afterwards() -> None:
    garbage.tune()
    looked, frozen = gc.get_stats()[0]["collections"], gc.get_freeze_count()
    with garbage.kept():
        made = [[number] for number in range(50_000)]
    assert gc.isenabled()
    assert gc.get_stats()[0]["collections"] == looked
    assert gc.get_freeze_count() - frozen >= len(made)


def test_cycles_that_die_young_are_collected() -> None:
    garbage.tune()
    before = gc.get_stats()[0]["collected"]
    young = YoungGarbage()
    for _ in range(20_000):
        Node()
        young.advance(0)
    assert gc.get_stats()[0]["collected"] - before > 10_000


def test_little_is_new_at_a_collection_where_as_much_is_freed_as_is_made() -> None:
    garbage.tune()
    open_traces = deque([number] for number in range(100_000))
    gc.freeze()
    young, most = YoungGarbage(), 0

    def look(phase: str, _: object) -> None:
        nonlocal most
        if phase == "start":
            most = max(most, len(gc.get_objects(0)))

    gc.callbacks.append(look)
    try:
        for number in range(50_000):
            open_traces.append([number])
            open_traces.popleft()
            young.advance(number / 100_000)  # 10 us of work each
    finally:
        gc.callbacks.remove(look)
    assert 1_000 < most < 5_000


def test_where_memory_runs_short_cycles_are_collected_that_died_later() -> None:
    garbage.tune()
    kept = [Node() for _ in range(1000)]
    gc.freeze()
    kept.clear()
    assert gc.collect() < 1000
    before = gc.get_stats()[2]["collected"]
    garbage.give_back()
    assert gc.get_stats()[2]["collected"] - before >= 1000


def test_traces_leave_no_cycles(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def session(first: int) -> None:
        for number in range(first, first + 50):
            trace_id = number.to_bytes(16)
            tools = [data.tool(n, 1, "get_weather", at=n, trace_id=trace_id) for n in range(2, 2 + number % 250)]
            bench.send(*tools, data.agent(1, trace_id=trace_id))
        bench.wait(5)

    session(1)
    gc.collect()
    gc.disable()
    session(200)
    assert gc.collect() < 50
