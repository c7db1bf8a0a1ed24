"""The budget of memory: shares of one limit, and never more than the settings ask for."""

from __future__ import annotations

import pytest

from collector.config.memory import SHARES, MemoryBudget, memory_budget
from collector.config.model import Config, MemoryLimiterConfig
from tests.collector import memory_table

MIB = 1 << 20


def test_the_readme_has_the_table_as_it_is() -> None:
    assert memory_table.README.read_text() == memory_table.readme(), "run python -m tests.collector.memory_table"


def budget(limit_mib: int, **sections: object) -> MemoryBudget:
    return memory_budget(Config.model_validate({"memory_limiter": {"limit_mib": limit_mib}, **sections}))


def test_the_shares_leave_the_process_what_it_needs_below_the_soft_limit() -> None:
    config = MemoryLimiterConfig(limit_mib=1000)
    assert sum(share.percent for share in SHARES.values()) <= 60
    assert config.spike() == 200


def test_little_memory_is_shared_out() -> None:
    small = budget(200, exporters={"otlp": {"endpoint": "x:4317"}})
    assert small.shown() == {
        "requests": 40, "open_traces": 30, "sending_queue": 16, "finished_traces": 16, "unclaimed_traces": 8,
        "conversations": 6, "judging": 4, "open_traces_most": 55,
    }  # fmt: skip


@pytest.mark.parametrize(("taken", "spare"), [(0, 25), (20, 15), (50, 0), (60, 0)])
def test_open_traces_may_take_half_of_what_others_leave(taken: int, spare: int) -> None:
    assert budget(200, exporters={"otlp": {"endpoint": "x:4317"}}).spare(taken * MIB) == spare * MIB


def test_open_traces_never_take_more_than_their_setting() -> None:
    asked = budget(200, traces={"max_held_mib": 40})
    assert (asked.open_traces, asked.open_traces_most, asked.spare(0)) == (30 * MIB, 40 * MIB, 10 * MIB)
    assert budget(200, traces={"max_held_mib": 20}).spare(0) == 0


def test_with_plenty_of_memory_the_settings_decide() -> None:
    assert budget(100_000, exporters={"otlp": {"endpoint": "x:4317"}}) == MemoryBudget()
    asked = budget(100_000, traces={"max_held_mib": 7}, conversations={"max_held_mib": 5})
    assert (asked.open_traces, asked.conversations) == (7 * MIB, 5 * MIB)
    queue = budget(100_000, exporters={"otlp": {"endpoint": "x:4317", "sending_queue": {"max_size_mib": 3}}})
    assert queue.sending_queue == 3 * MIB
