"""A cache whose keys senders choose never takes more than its bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.byte_cache import ByteCache


def test_a_cache_forgets_everything_rather_than_grow_beyond_its_bytes() -> None:
    cache: ByteCache[int, str] = ByteCache(40_000)
    for number in range(100):
        assert cache.keep(number, "x", 1_500) == "x"
        assert len(cache) * 2_000 == cache.bytes <= 40_000
    assert 99 in cache
    assert 0 not in cache


def test_a_cache_does_not_keep_what_would_take_much_of_it() -> None:
    cache: ByteCache[int, str] = ByteCache(40_000)
    cache.keep(1, "x", 1_000)
    assert cache.keep(2, "large", 2_100) == "large"
    assert list(cache) == [1]


def test_a_cache_of_no_bytes_keeps_nothing() -> None:
    cache: ByteCache[int, str] = ByteCache(0)
    assert cache.keep(1, "x", 0) == "x"
    assert not cache


def test_entries_without_bytes_of_their_own_are_bounded_too() -> None:
    cache: ByteCache[int, None] = ByteCache(1 << 20)
    for number in range(10_000):
        cache.keep(number, None, 0)
    assert 0 < len(cache) < 5_000


@given(st.integers(0, 100_000), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 10_000)), max_size=60))
def test_what_is_kept_never_takes_more_than_the_bytes(max_bytes: int, entries: list[tuple[int, int]]) -> None:
    cache: ByteCache[int, int] = ByteCache(max_bytes)
    for key, size in entries:
        assert cache.keep(key, size, size) == size
        assert sum(cache.values()) <= cache.bytes <= max_bytes
        assert key not in cache or cache[key] <= max_bytes / 16
