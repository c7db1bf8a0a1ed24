"""Texts are embedded in a thread: once each, in a bounded queue, and no trace waits forever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.scoring.embedding_queue import MAX_WAITING, EmbeddingQueue
from collector.scoring.embeddings import CACHED_TEXTS, MAX_TEXT, Embeddings
from tests.waiting import wait_for


class Gated(Embeddings):
    """Embeds once the test opens the gate."""

    def __init__(self) -> None:
        super().__init__(Path("nowhere"))
        self.gate, self.embedded = threading.Event(), list[str]()

    def _embed(self, text: str) -> tuple[float, ...]:
        self.gate.wait(10)
        if text == "broken":
            raise OSError(text)
        self.embedded.append(text)
        return (1.0, float(len(text)))


@pytest.fixture
def gated() -> Gated:
    return Gated()


@pytest.fixture
def queue(gated: Gated) -> Iterator[EmbeddingQueue]:
    queue = EmbeddingQueue(gated)
    yield queue
    gated.gate.set()
    asyncio.run(queue.shutdown())


def test_a_new_text_postpones_scoring_and_is_embedded_once(queue: EmbeddingQueue, gated: Gated) -> None:
    assert queue.ahead(["a", "b", "a"]) > 0
    assert queue.ahead(["a"]) > 0
    gated.gate.set()
    wait_for(lambda: queue.ahead(["a", "b"]) == 0, 0.001)
    assert sorted(gated.embedded) == ["a", "b"]
    assert gated("a") == (1.0, 1.0)


def test_without_texts_scoring_is_not_postponed(queue: EmbeddingQueue) -> None:
    assert queue.ahead([]) == 0


def test_texts_beyond_the_limit_wait_for_their_turn(queue: EmbeddingQueue, gated: Gated) -> None:
    texts = [str(number) for number in range(MAX_WAITING + 10)]
    assert queue.ahead(texts) > 0
    assert queue.ahead(["one more"]) > 0
    assert len(queue._waiting) == MAX_WAITING
    gated.gate.set()
    wait_for(lambda: queue.ahead([*texts, "one more"]) == 0, 0.001)
    assert sorted(gated.embedded) == sorted([*texts, "one more"]), "each once"


def test_a_run_with_more_texts_than_the_cache_is_not_postponed_forever(queue: EmbeddingQueue, gated: Gated) -> None:
    gated.gate.set()
    many = [str(number) for number in range(CACHED_TEXTS + 100)]
    for text in many:
        gated(text)
    assert queue.ahead(many) > 0, "the first hundred were evicted"
    wait_for(lambda: queue.ahead(many) == 0, 0.001)


def test_after_a_failure_scoring_is_not_postponed(
    queue: EmbeddingQueue, gated: Gated, caplog: pytest.LogCaptureFixture
) -> None:
    gated.gate.set()
    assert queue.ahead(["broken"]) > 0
    wait_for(lambda: queue.ahead(["other"]) == 0 and bool(caplog.records), 0.001)
    assert "embedding a text failed" in caplog.text


def test_of_long_texts_only_what_is_embedded_waits_and_no_text_is_cached(queue: EmbeddingQueue, gated: Gated) -> None:
    beginning = "x" * MAX_TEXT
    assert queue.ahead([beginning + "1" * 1000, beginning + "2" * 1000]) > 0
    assert queue._waiting == {beginning}
    gated.gate.set()
    wait_for(lambda: queue.ahead([beginning]) == 0, 0.001)
    assert [len(key) for key in gated._cache] == [16]


def test_shutdown_drops_waiting_texts(gated: Gated) -> None:
    queue = EmbeddingQueue(gated)
    queue.ahead(["a", "b", "c"])
    threading.Timer(0.05, gated.gate.set).start()
    asyncio.run(queue.shutdown())
    assert gated.embedded in ([], ["a"], ["b"], ["c"])


def test_the_least_recently_used_text_is_evicted(gated: Gated) -> None:
    gated.gate.set()
    for number in range(CACHED_TEXTS):
        gated(str(number))
    assert gated.knows("0")
    gated("new")
    assert (gated.knows("0"), gated.knows("1")) == (True, False)
