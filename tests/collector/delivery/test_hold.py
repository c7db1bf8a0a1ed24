"""Results that wait for a judge: until when, and within which budget."""

from __future__ import annotations

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.assembly.held_spans import HeldSpans
from collector.config.exporters import SendingQueueConfig
from collector.config.model import RedactionConfig
from collector.delivery.batch import MAX_AGE
from collector.delivery.hold import HeldExport, HoldQueue
from collector.delivery.sending_queue import SendingQueue
from collector.otlp.lazy import iter_scopes
from collector.otlp.structure import Envelope
from collector.results.redaction import Redaction
from tests import otlp_data as data

ENVELOPE = Envelope(b"", b"")
HOLD = 20.0


def hold_queue(held: HeldSpans, sending: SendingQueue | None = None) -> HoldQueue:
    redaction = Redaction(RedactionConfig(attributes=["secret"]))
    if sending is None:
        sending = SendingQueue(SendingQueueConfig())
    return HoldQueue(sending, None, redaction, held, HOLD)


def items_of(sending: SendingQueue) -> list[tuple[str, list[bytes]]]:
    """What was queued: signal and items of each request."""
    return [
        (request.signal, [item for _, items in iter_scopes(request.payload) for item in items])
        for request in sending.pending()
    ]


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


def test_a_judgement_joins_the_results_that_wait_for_it() -> None:
    sending = SendingQueue(SendingQueueConfig())
    queue = hold_queue(HeldSpans(1000), sending)
    judged, other = data.span(1), data.span(2)
    results = HeldExport(
        data.TRACE,
        [(ENVELOPE, judged.SerializeToString()), (ENVELOPE, other.SerializeToString())],
        [(ENVELOPE, b"verdict")],
        (judged.span_id, other.span_id),
        awaited=2,
    )
    queue.add(results, 0.0)
    queue.add_judgement(
        results, [(ENVELOPE, b"judged")], {judged.span_id: (("score", 0.5), ("secret", "x"))}, 1.0, awaited=True
    )
    queue.flush(HOLD - 1.0)
    assert items_of(sending) == []
    queue.add_judgement(results, [], {}, 2.0, awaited=True)
    queue.flush(3.0)
    (_, (first, second)), (_, events) = items_of(sending)
    assert [request.signal for request in sending.pending()] == ["traces", "logs"]
    assert data.values_of(Span.FromString(first)) == {"score": 0.5, "secret": "[redacted]"}
    assert second == other.SerializeToString()
    assert events == [b"verdict", b"judged"]


def test_a_judgement_of_results_that_left_leaves_by_itself() -> None:
    sending = SendingQueue(SendingQueueConfig())
    queue, results = hold_queue(HeldSpans(100), sending), export(1, 10)
    queue.add(results, 0.0)
    queue.advance(HOLD)
    queue.flush(HOLD + MAX_AGE)
    assert queue.next_deadline() is None
    queue.add_judgement(results, [(ENVELOPE, b"judged")], {}, 30.0, awaited=True)
    assert queue.next_deadline() == 30.0 + MAX_AGE
    queue.flush(30.0 + MAX_AGE)
    assert items_of(sending)[1:] == [("logs", [b"judged"])]


def test_results_of_a_trace_that_reopened_leave_before_its_further_ones() -> None:
    held = HeldSpans(100)
    queue = hold_queue(held)
    for size, now in ((10, 0.0), (20, 1.0)):
        queue.add(export(1, size), now)
    queue.add(export(2, 30), 2.0)
    assert (held.count, held.bytes, queue.held_spans) == (2, 50, 3)
    assert queue.next_deadline() == 1.0 + MAX_AGE, "of the batch with the first ones"


def test_without_an_exporter_nothing_is_queued() -> None:
    held = HeldSpans(100)
    queue = HoldQueue(None, None, Redaction(RedactionConfig()), held, HOLD)
    queue.add(export(1, 10, awaited=0), 0.0)
    queue.flush(MAX_AGE)
    assert queue.held_spans == 0


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
