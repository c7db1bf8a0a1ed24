"""Items gathered until they make a request worth sending."""

from __future__ import annotations

from collector.delivery.batch import MAX_AGE, MAX_BYTES, MAX_ITEMS, MAX_REQUEST_BYTES, MAX_REQUEST_ITEMS, Batch
from collector.otlp.lazy import iter_scopes
from collector.otlp.structure import Envelope
from tests import otlp_data as data


def envelope_of(service: str) -> Envelope:
    ((envelope, _),) = iter_scopes(data.traces(service=service).SerializeToString())
    return envelope


def test_items_of_one_envelope_stay_together() -> None:
    batch, spans = Batch("traces"), [data.span(number).SerializeToString() for number in range(1, 4)]
    for service, span in zip(("a", "b", "a"), spans, strict=True):
        batch.add(envelope_of(service), span, 0.0)
    request = batch.take()
    assert request is not None
    assert (request.signal, request.items) == ("traces", 3)
    assert [list(items) for _, items in iter_scopes(request.payload)] == [[spans[0], spans[2]], [spans[1]]]


def test_it_is_ready_when_full_in_items_or_bytes_or_old() -> None:
    batch, envelope = Batch("logs"), envelope_of("a")
    assert not batch.ready(1e9)
    batch.add(envelope, b"", 10.0)
    assert not batch.ready(10.0 + MAX_AGE / 2)
    assert batch.ready(10.0 + MAX_AGE)
    for _ in range(MAX_ITEMS - 1):
        batch.add(envelope, b"", 10.0)
    assert batch.ready(10.0)
    batch.take()
    batch.add(envelope, bytes(MAX_BYTES // 2), 10.0)
    assert not batch.ready(10.0)
    batch.add(envelope, bytes(MAX_BYTES // 2), 10.0)
    assert batch.ready(10.0)


def test_taking_empties_it() -> None:
    batch = Batch("traces")
    batch.add(envelope_of("a"), b"", 0.0)
    assert batch.take() is not None
    assert batch.take() is None
    assert batch.due is None


def test_more_than_one_request_should_hold_becomes_several() -> None:
    batch, envelope = Batch("traces"), envelope_of("a")
    for _ in range(2 * MAX_REQUEST_ITEMS + 1):
        batch.add(envelope, b"", 0.0)
    assert len(batch) == 2 * MAX_REQUEST_ITEMS + 1
    assert [request.items for request in iter(batch.take, None) if request] == [MAX_REQUEST_ITEMS, MAX_REQUEST_ITEMS, 1]
    assert (len(batch), batch.due) == (0, None)
    for size in (1, MAX_REQUEST_BYTES - 1, 1, 3 * MAX_REQUEST_BYTES, 1):
        batch.add(envelope, bytes(size), 0.0)
    assert [request.items for request in iter(batch.take, None) if request] == [2, 1, 1, 1]
