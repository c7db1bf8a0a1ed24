"""The cache: what its key covers, and how many answers it keeps."""

from __future__ import annotations

import pytest

from collector.config.judge import CacheConfig
from collector.judging.cache import ENTRY_OVERHEAD, Cache, digest
from scorers.judged.judge import JudgeRequest


def test_everything_that_may_change_the_answer_is_in_the_key() -> None:
    keys = [
        digest("model", JudgeRequest("a", "b")),
        digest("other", JudgeRequest("a", "b")),
        digest("model", JudgeRequest("ab", "")),
        digest("model", JudgeRequest("a", "b", {})),
        digest("model", JudgeRequest("a", "b", {"type": "object"})),
        digest("model", JudgeRequest("a", "\ud800")),
    ]
    assert len(set(keys)) == len(keys)
    assert digest("model", JudgeRequest("a", "b", {"x": 1, "y": 2})) == digest(
        "model", JudgeRequest("a", "b", {"y": 2, "x": 1})
    )


def test_the_least_recently_used_answer_is_evicted_first() -> None:
    cache = Cache(CacheConfig(max_entries=2))
    cache.put(b"1", "one")
    cache.put(b"2", "two")
    assert cache.get(b"1") == "one"
    cache.put(b"3", "three")
    assert [cache.get(key) for key in (b"1", b"2", b"3")] == ["one", None, "three"]


@pytest.mark.parametrize("letter", ["x", "é"])
def test_an_entry_counts_its_bytes_and_its_overhead(letter: str) -> None:
    cache = Cache(CacheConfig(max_entries=10_000, max_size_mib=1))
    answer = letter * ((1024 - ENTRY_OVERHEAD) // len(letter.encode()))
    for number in range(1024):
        cache.put(number.to_bytes(4), answer)
    assert (len(cache), cache.bytes) == (1024, 1 << 20)
    cache.put(b"one more", "")
    assert (len(cache), cache.bytes) == (1024, (1 << 20) - 1024 + ENTRY_OVERHEAD)


def test_bytes_are_bounded_too() -> None:
    cache = Cache(CacheConfig(max_entries=100, max_size_mib=1))
    for number in range(10):
        cache.put(bytes([number]), "x" * 300_000)
    assert len(cache) == 3
    assert cache.bytes <= 1 << 20
    cache.put(b"huge", "x" * (2 << 20))
    assert (len(cache), cache.bytes) == (0, 0)


def test_with_0_entries_nothing_is_cached() -> None:
    cache = Cache(CacheConfig(max_entries=0))
    cache.put(b"1", "one")
    assert cache.get(b"1") is None
