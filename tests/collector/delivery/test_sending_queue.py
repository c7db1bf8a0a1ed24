"""The sending queue in memory: order, limits, and what it counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import pytest

from collector.component import ExportRequest
from collector.config.exporters import SendingQueueConfig
from collector.delivery import sending_queue
from collector.delivery.sending_queue import SendingQueue
from tests.waiting import let_others_run


def run(scenario: Callable[[SendingQueue], Awaitable[None]], queue_size: int = 10, max_size_mib: int = 1) -> None:
    asyncio.run(_run(scenario, SendingQueue(SendingQueueConfig(queue_size=queue_size, max_size_mib=max_size_mib))))


async def _run(scenario: Callable[[SendingQueue], Awaitable[None]], queue: SendingQueue) -> None:
    await scenario(queue)


def is_full(queue: SendingQueue) -> bool:
    return queue.full


def test_it_is_full_at_its_number_of_requests_sent_ones_included() -> None:
    async def scenario(queue: SendingQueue) -> None:
        queue.put(ExportRequest("traces", b"1", 1))
        assert not is_full(queue)
        queue.put(ExportRequest("traces", b"2", 1))
        request = await queue.get()
        assert is_full(queue)
        queue.ack(request)
        assert not is_full(queue)

    run(scenario, queue_size=2)


def test_it_is_full_at_its_number_of_bytes_until_they_are_acknowledged() -> None:
    async def scenario(queue: SendingQueue) -> None:
        queue.put(ExportRequest("traces", bytes((1 << 20) - 1), 1))
        assert not is_full(queue)
        queue.put(ExportRequest("traces", b"x", 1))
        assert is_full(queue)
        request = await queue.get()
        queue.requeue(request)
        assert is_full(queue), "a request that was not delivered still takes its bytes"
        queue.ack(await queue.get())
        assert not is_full(queue)

    run(scenario)


def test_a_requeued_request_comes_last_and_counts_once() -> None:
    async def scenario(queue: SendingQueue) -> None:
        for payload in (b"first", b"second"):
            queue.put(ExportRequest("traces", payload, 3))
        queue.requeue(await queue.get())
        assert (len(queue), queue.spans, queue._bytes) == (2, 6, len(b"firstsecond"))
        assert [request.payload for request in queue.pending()] == [b"second", b"first"]
        for _ in range(2):
            queue.ack(await queue.get())
        assert (len(queue), queue.spans, queue._bytes) == (0, 0, 0)
        await queue.drained()

    run(scenario)


def test_only_spans_are_counted_as_spans() -> None:
    async def scenario(queue: SendingQueue) -> None:
        queue.put(ExportRequest("logs", b"", 5))
        assert queue.spans == 0

    run(scenario)


def test_requests_of_log_records_are_counted_until_they_are_delivered_or_dropped_joined_or_not() -> None:
    async def scenario() -> None:
        queue = SendingQueue(SendingQueueConfig(), joins=True, signals=("traces", "logs"))
        for _ in range(3):
            queue.put(ExportRequest("logs", b"", 0))
        queue.put(ExportRequest("traces", b"", 1))
        joined = await queue.get("logs")
        assert (len(joined.parts), queue.log_requests) == (3, 3)
        queue.requeue(joined)
        assert queue.log_requests == 3
        queue.ack(await queue.get("logs"))
        assert queue.log_requests == 0
        queue.put(ExportRequest("logs", b"", 0))
        queue.drop_pending()
        assert queue.log_requests == 0

    asyncio.run(scenario())


def test_it_is_drained_when_the_last_request_is_acknowledged() -> None:
    async def scenario(queue: SendingQueue) -> None:
        assert list(queue.recover()) == [], "it is in memory only"
        await queue.drained()
        for payload in (b"first", b"second"):
            queue.put(ExportRequest("traces", payload, 1))
        drained = asyncio.create_task(queue.drained())
        queue.ack(await queue.get())
        await let_others_run()
        assert not drained.done()
        queue.ack(await queue.get())
        await drained

    run(scenario)


def test_what_is_dropped_is_counted_and_takes_nothing_any_more() -> None:
    async def scenario(queue: SendingQueue) -> None:
        assert queue.dropped == 0
        for dropped in (2, 4):
            for _ in range(2):
                queue.put(ExportRequest("traces", bytes(1 << 19), 1))
            await queue.get()
            queue.drop_pending()
            await queue.drained()
            assert (queue.dropped, len(queue), queue.spans, queue._bytes) == (dropped, 0, 0, 0)

    run(scenario)


def test_a_queue_in_memory_keeps_its_payloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending_queue, "_WINDOW", 1)

    async def scenario(queue: SendingQueue) -> None:
        for payload in (b"first", b"second"):
            queue.put(ExportRequest("traces", payload, 1))
        queue.requeue(await queue.get())
        assert [request.payload for request in queue.pending()] == [b"second", b"first"]

    run(scenario)


def test_a_queue_takes_no_more_than_its_part_of_the_memory() -> None:
    async def scenario(queue: SendingQueue) -> None:
        queue.put(ExportRequest("traces", bytes(1 << 10), 1))
        assert is_full(queue)

    asyncio.run(_run(scenario, SendingQueue(SendingQueueConfig(), max_bytes=1 << 10)))


def test_a_request_goes_to_another_consumer_if_the_one_that_was_woken_up_for_it_is_cancelled() -> None:
    async def scenario(queue: SendingQueue) -> None:
        first, second = (asyncio.create_task(queue.get()) for _ in range(2))
        await let_others_run()
        queue.put(ExportRequest("traces", b"1", 1))
        first.cancel()
        assert (await second).payload == b"1"

    run(scenario)


def test_all_requests_are_taken_at_once_by_as_many_consumers() -> None:
    async def scenario(queue: SendingQueue) -> None:
        consumers = [asyncio.create_task(queue.get()) for _ in range(3)]
        await let_others_run()
        for payload in (b"1", b"2", b"3"):
            queue.put(ExportRequest("traces", payload, 1))
        assert {request.payload for request in await asyncio.gather(*consumers)} == {b"1", b"2", b"3"}

    run(scenario)


def test_the_cost_of_a_request_does_not_grow_with_the_consumers_that_wait() -> None:
    async def scenario(queue: SendingQueue) -> None:
        taken, steps = 0, 0

        class Counted:
            """Counts each time that a consumer goes on."""

            def __await__(self) -> Generator[Any, None, ExportRequest]:
                nonlocal steps
                inner = queue.get().__await__()
                while True:
                    steps += 1
                    try:
                        yield next(inner)
                    except StopIteration as done:
                        request: ExportRequest = done.value
                        return request

        async def consume() -> None:
            nonlocal taken
            while True:
                queue.ack(await Counted())
                taken += 1

        consumers = [asyncio.create_task(consume()) for _ in range(8)]
        await let_others_run()
        begun = steps
        for _ in range(10):
            queue.put(ExportRequest("traces", b"x", 1))
            await let_others_run()
        assert (taken, steps - begun) == (10, 20)  # each is taken, and waited for by the same consumer again
        for consumer in consumers:
            consumer.cancel()
        await asyncio.gather(*consumers, return_exceptions=True)

    run(scenario)
