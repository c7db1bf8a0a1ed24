"""Where batches end that cannot be unpacked, found as a broker would answer: with the whole batch, or what follows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from collector.transport.unreadable_batches import Sifted, UnreadableBatches


@dataclass
class Read:
    """What librdkafka gives: a message, or that a batch cannot be unpacked."""

    at: int
    failure: str | None = None

    def offset(self) -> int:
        return self.at

    def partition(self) -> int:
        return 0

    def error(self) -> Any:
        return self if self.failure else None

    def str(self) -> str:
        return self.failure or ""


def high() -> int:
    return 9


def answer(batches: list[tuple[int, int, bool]], at: int) -> list[Any]:
    """What is read from an offset on, one batch: its messages, or its failure, which has its first offset."""
    for first, end, is_sound in batches:
        if at < end:
            return [Read(one) for one in range(max(at, first), end)] if is_sound else [Read(first, "bad")]
    return []


def read_all(batches: list[tuple[int, int, bool]]) -> tuple[list[int], list[tuple[int, int]], int]:
    """Read a partition from its beginning. Returns the messages, what was left out, and how often it was asked."""
    unreadable, taken, left_out, at, asked = UnreadableBatches(), list[int](), list[tuple[int, int]](), 0, 0
    while read := answer(batches, at):
        asked += 1
        assert asked < 200, "it goes on for ever"
        sifted = unreadable.sift(read, lambda: batches[-1][1])
        taken += [message.offset() or 0 for message in sifted.messages]
        if sifted.left_out is not None:
            left_out.append((sifted.left_out.failure.offset() or 0, sifted.left_out.end))
        if sifted.seek is not None:
            at = sifted.seek
        elif read[-1].error() is None:
            at = read[-1].offset() + 1
    return taken, left_out, asked


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 1000])
@pytest.mark.parametrize("behind", [0, 1, 2, 5, 100_000])
def test_only_what_cannot_be_unpacked_is_left_out(size: int, behind: int) -> None:
    end = 10 + size
    batches = [(0, 10, True), (10, end, False), (end, end + behind, True), (end + behind, end + behind + 3, True)]
    taken, left_out, asked = read_all([batch for batch in batches if batch[0] < batch[1]])
    assert taken == [*range(10), *range(end, end + behind + 3)]
    assert left_out == [(10, end)]
    assert asked < 30


def test_several_in_a_row_are_told_apart() -> None:
    taken, left_out, _ = read_all([(0, 4, False), (4, 5, False), (5, 9, True), (9, 90, False)])
    assert taken == [5, 6, 7, 8]
    assert left_out == [(0, 4), (4, 5), (9, 90)]


def test_one_that_was_damaged_on_its_way_is_read_when_it_is_sent_again() -> None:
    unreadable, failure, sound = UnreadableBatches(), Read(3, "bad"), Read(3)
    for _ in range(5):
        assert unreadable.sift([Read(2), failure], high) == Sifted([Read(2)])  # type: ignore[list-item]
        assert unreadable.sift([failure], high) == Sifted([])  # type: ignore[list-item]
        assert unreadable.sift([sound], high) == Sifted([sound])  # type: ignore[list-item]


def test_what_was_found_of_a_partition_does_not_survive_its_leaving() -> None:
    unreadable, failure = UnreadableBatches(), Read(3, "bad")
    for _ in range(2):
        assert unreadable.sift([failure], high) == Sifted([])  # type: ignore[list-item]
    unreadable.forget(0)
    assert unreadable.sift([failure], high) == Sifted([])  # type: ignore[list-item]
