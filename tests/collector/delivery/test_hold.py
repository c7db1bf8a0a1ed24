"""Results that wait for a judge: until when, and within which budget."""

from __future__ import annotations

from collector.assembly.held_spans import HeldSpans
from collector.config.model import RedactionConfig, SendingQueueConfig
from collector.delivery.hold import HeldExport, HoldQueue
from collector.delivery.sending_queue import SendingQueue
from collector.otlp.lazy import Envelope
from collector.results.redaction import Redaction

ENVELOPE = Envelope(b"", b"")
HOLD = 20.0


def hold_queue(held: HeldSpans) -> HoldQueue:
    return HoldQueue(SendingQueue(SendingQueueConfig()), None, Redaction(RedactionConfig()), held, HOLD)


def export(number: int, size: int, awaited: int = 1) -> HeldExport:
    return HeldExport(bytes([number]) * 16, [(ENVELOPE, bytes(size))], [], awaited=awaited)


def test_bytes_are_added_while_results_wait_and_released_with_them() -> None:
    held = HeldSpans(100)
    queue, first = hold_queue(held), export(1, 60)
    queue.add(first, 0.0)
    assert (held.count, held.bytes, queue.held_spans) == (1, 60, 1)
    queue.add_judgement(first, [], {}, 1.0, awaited=True)
    assert (held.count, held.bytes, queue.held_spans) == (0, 0, 1), "in the batch"
    queue.flush(float("inf"))
    assert queue.held_spans == 0


def test_results_beyond_the_budget_do_not_wait() -> None:
    held = HeldSpans(100)
    queue = hold_queue(held)
    for number in (1, 2):
        queue.add(export(number, 60), 0.0)
    assert (held.count, held.bytes, len(queue._waiting)) == (1, 60, 1)
    queue.advance(HOLD)
    queue.add(export(3, 100), HOLD)
    assert (held.bytes, len(queue._waiting)) == (100, 1)


def test_open_traces_take_from_the_same_budget() -> None:
    held = HeldSpans(100, count=1, bytes=50)
    queue = hold_queue(held)
    queue.add(export(1, 60), 0.0)
    assert (len(queue._waiting), held.bytes) == (0, 50)


def test_the_oldest_results_give_way_to_open_traces() -> None:
    held = HeldSpans(100)
    queue = hold_queue(held)
    for number in (1, 2):
        queue.add(export(number, 40), 0.0)
    held.bytes += 50
    queue.shed(1.0)
    assert (list(queue._waiting), held.bytes) == ([bytes([2]) * 16], 90)


def test_nothing_waits_where_no_judgement_is_to_come() -> None:
    held = HeldSpans(100)
    queue = hold_queue(held)
    queue.add(export(1, 10, awaited=0), 0.0)
    assert (held.bytes, queue.held_spans, queue.next_deadline()) == (0, 1, 0.2)


def test_results_wait_no_longer_than_hold() -> None:
    held = HeldSpans(100)
    queue = hold_queue(held)
    queue.add(export(1, 10), 0.0)
    assert queue.next_deadline() == HOLD
    queue.advance(HOLD - 0.1)
    assert held.count == 1
    queue.advance(HOLD)
    assert held.count == 0
