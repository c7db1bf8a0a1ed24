"""Of many keys the latest are remembered, and it is known since when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.assembly.recent_keys import RecentKeys
from tests.sinks import ManualClock


@given(st.integers(1, 8), st.lists(st.lists(st.integers(0, 40), max_size=5), max_size=40))
def test_the_last_keys_up_to_the_limit_are_remembered(limit: int, added: list[list[int]]) -> None:
    keys, latest = RecentKeys(limit, lambda: 0), dict[int, None]()
    for some in added:
        keys.add(some)
        for key in some:
            latest.pop(key, None)
            latest[key] = None
    assert [key for key in list(latest)[-limit:] if key not in keys] == []


@given(st.integers(1, 8), st.integers(1, 60))
def test_no_more_than_twice_the_limit_and_what_is_added_at_once_are_kept(limit: int, count: int) -> None:
    keys = RecentKeys(limit, lambda: 0)
    for key in range(count):
        keys.add([key])
    assert sum(key in keys for key in range(count)) <= 2 * (limit + 1)


def test_what_is_forgotten_was_added_before_known_since() -> None:
    clock = ManualClock()
    keys = RecentKeys(2, clock.wall_ns)
    added_ns = dict[int, int]()
    for key in range(20):
        clock.seconds += 1
        keys.add([key])
        added_ns[key] = clock.wall_ns()
        assert [old for old, at in added_ns.items() if old not in keys and at > keys.known_since_ns] == []
    assert keys.known_since_ns > 0


def test_a_key_is_known_by_what_it_is_not_by_its_identity() -> None:
    keys = RecentKeys(2, lambda: 0)
    keys.add([(b"trace", "agent")])
    assert (bytes([*b"trace"]), "agent") in keys


def test_what_an_earlier_process_had_forgotten_stays_unknown() -> None:
    keys = RecentKeys(2, lambda: 9)
    keys.restore(7)
    keys.add([1])
    assert (keys.known_since_ns, 1 in keys) == (7, True)
