"""The memory limiter, with memory and time moved by hand."""

from __future__ import annotations

import errno

import pytest
from pydantic import ValidationError

from collector.config.model import MemoryLimiterConfig
from collector.errors import RefusedError
from collector.service.garbage import give_back
from collector.service.memory_limiter import MemoryLimiter, resident_bytes
from tests.sinks import ManualClock


class Machine:
    """A process whose resident memory the test sets; ``freed`` can be returned of it, and ``garbage`` collected.

    To return memory takes 10 ms, to collect garbage 300 ms.
    """

    def __init__(self, **config: object) -> None:
        self.clock, self.mib, self.freed, self.garbage = ManualClock(), 50, 0, 0
        self.looks = self.trims = self.collections = 0
        self.limiter = MemoryLimiter(
            MemoryLimiterConfig.model_validate(config), self.clock.now, self.resident, self.trim, self.give_back
        )

    def resident(self) -> int:
        self.looks += 1
        return self.mib << 20

    def trim(self) -> None:
        self.trims += 1
        self.clock.seconds += 0.01
        self.mib -= self.freed
        self.freed = 0

    def give_back(self) -> None:
        self.collections += 1
        self.clock.seconds += 0.3
        self.mib -= self.garbage
        self.garbage = 0

    def at(self, mib: int, after: float = 1.0) -> str:
        self.mib = mib
        self.clock.seconds += after
        try:
            self.limiter.admit()
        except RefusedError:
            return "refused, evicting" if self.limiter.exceeded() else "refused"
        return "taken"


def test_it_is_known_when_memory_has_been_short_without_a_break_and_the_time_begins_anew() -> None:
    machine = Machine(limit_mib=100, spike_limit_mib=30)
    said = []
    for mib in [71] * 8 + [69] + [71] * 6:
        machine.at(mib, after=5.0)
        said.append(machine.limiter.has_been_short(15.0))
    assert [at for at, is_due in enumerate(said) if is_due] == [3, 6, 12]


def test_soft_and_hard_limit() -> None:
    machine = Machine(limit_mib=100, spike_limit_mib=30)
    said = [machine.at(mib) for mib in (69, 71, 99, 101, 60)]
    assert said == ["taken", "refused", "refused", "refused, evicting", "taken"]


def test_it_is_ample_while_less_than_half_of_the_soft_limit_is_used() -> None:
    machine = Machine(limit_mib=100, spike_limit_mib=30)
    assert [machine.at(mib) and machine.limiter.is_ample() for mib in (30, 34, 36, 69)] == [True, True, False, False]


def test_it_looks_a_few_times_a_second_at_most() -> None:
    machine = Machine(limit_mib=100)
    for _ in range(1000):
        machine.limiter.admit()
        machine.clock.seconds += 0.01
    assert 150 <= machine.looks <= 210


def test_free_memory_is_no_reason_to_refuse_nor_to_collect_garbage() -> None:
    machine = Machine(limit_mib=100, spike_limit_mib=30)
    machine.freed = 40
    assert machine.at(90) == "taken"
    assert (machine.trims, machine.collections) == (1, 0)


def test_garbage_is_no_reason_to_refuse() -> None:
    machine = Machine(limit_mib=100, spike_limit_mib=30)
    machine.garbage = 40
    assert machine.at(90) == "taken"
    assert (machine.trims, machine.collections) == (1, 1)


def test_free_memory_is_returned_again_as_soon_as_it_takes_little_of_the_time() -> None:
    machine = Machine(limit_mib=100, spike_limit_mib=30)
    machine.at(95)  # in vain, and with a collection
    machine.clock.seconds += 10
    machine.trims = machine.collections = 0
    begun, said = machine.clock.seconds, []
    for _ in range(100):
        machine.freed = 40
        said.append(machine.at(90, after=0.05))
    assert said.count("taken") > 20
    assert machine.trims * 0.01 < 0.06 * (machine.clock.seconds - begun)
    assert machine.collections == 0


def test_garbage_is_not_collected_all_the_time() -> None:
    machine = Machine(limit_mib=100, spike_limit_mib=30)
    for _ in range(20):
        machine.at(95)
    assert 3 <= machine.collections <= 4


@pytest.mark.parametrize("config", [{"limit_mib": 10}, {"limit_mib": 100, "spike_limit_mib": 100}])
def test_limits_that_make_no_sense_are_mistakes(config: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        MemoryLimiterConfig.model_validate(config)


def test_this_process_has_memory() -> None:
    give_back()
    assert 10 << 20 < resident_bytes() < 64 << 30


def test_resident_memory_is_read_where_no_descriptor_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    before = resident_bytes()

    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr("os.open", refuse)
    monkeypatch.setattr("builtins.open", refuse)
    assert resident_bytes() > before // 2
