"""The results of a large trace: written in several small transactions, and queued all together or not at all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from collector.delivery.batch import MAX_REQUEST_BYTES
from collector.storage.compression import size_of
from tests import otlp_data as data
from tests.harness import Life

_CALLS = 10


def sent(folder: Path) -> Life:
    """A collector that holds a run of ten calls of a MiB."""
    life = Life(folder)
    text = "x" * (1 << 20)
    calls = [data.tool(number, 1, "log", number, gen_ai__tool__call__result=text) for number in range(2, _CALLS + 2)]
    life.send(data.agent(1, name="helper"), *calls)
    life.write()
    return life


def advance_and_write(life: Life) -> int:
    """One step, and the transaction after it. Returns how many bytes of requests were in that."""
    life.wait(0.25)
    size = sum(size_of(row[-1]) or 0 for row in life.spool._pending.inserts["outbox"])
    life.write()
    return size


def test_no_transaction_is_much_larger_than_a_request(tmp_path: Path) -> None:
    life = sent(tmp_path)
    sizes = [advance_and_write(life) for _ in range(40)]
    assert sum(sizes) > _CALLS << 20
    assert max(sizes) < 3 * MAX_REQUEST_BYTES
    assert len(list(filter(None, sizes))) > 1
    life.close()


def test_nothing_of_them_is_sent_before_all_of_them_are_written(tmp_path: Path) -> None:
    life = sent(tmp_path)
    while not advance_and_write(life):
        pass
    assert (len(life.queue), life.rows()) == (0, (_CALLS, 0))
    while not len(life.queue):
        advance_and_write(life)
    assert life.queue.spans == _CALLS + 1
    assert life.rows() == (0, 1), "in the same transaction"
    life.close()


@pytest.mark.parametrize("written", range(5))
def test_a_crash_while_they_are_written_makes_them_again(tmp_path: Path, written: int) -> None:
    life = sent(tmp_path)
    while not advance_and_write(life):
        pass
    for _ in range(written):
        advance_and_write(life)
    life.crash()
    for _ in range(10):
        life.settle()
    counts = Counter(span.span_id for span in life.spans())
    assert (len(counts), set(counts.values()), len(life.events())) == (_CALLS + 1, {1}, 1)
    assert life.file is not None
    assert list(life.file.outbox()) == []
    life.close()


def test_one_request_of_results_is_written_with_the_end_of_its_trace_however_large_it_is(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.send(data.agent(1, name="helper", gen_ai__output__messages="x" * ((4 << 20) - 300)))
    life.write()
    while not any(life.spool._pending.inserts["outbox"]) and not life.spool._large_requests:
        life.wait(0.25)
    change, _ = life.spool._take()
    assert life.file is not None
    life.file.apply(change)
    life.crash()
    life.settle()
    assert len(life.spans()) == len(life.events()) == 1
    life.close()


def test_what_is_evicted_at_once_is_no_large_transaction(tmp_path: Path) -> None:
    life, count = Life(tmp_path), 60
    for number in range(count):
        trace_id = bytes(15) + bytes([number + 1])
        life.send(data.agent(1, name="helper", trace_id=trace_id, gen_ai__output__messages="x" * 200_000))
    life.write()
    life.pipeline.evict()
    sizes = [sum(size_of(row[-1]) or 0 for row in life.spool._pending.inserts["outbox"])]
    life.write()
    sizes += [advance_and_write(life) for _ in range(20)]
    assert max(sizes) < 3 * MAX_REQUEST_BYTES
    life.deliver()
    assert len(life.spans()) == count
    life.close()
