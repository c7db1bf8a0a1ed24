"""Recovery: in small steps, and no row can keep the process from starting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collector import dialects
from collector.assembly.assembler import Assembler
from collector.assembly.conversations import Conversations
from collector.assembly.gaps import Gaps
from collector.assembly.refused_traces import RefusedTraces
from collector.clock import SYSTEM_CLOCK, Clock
from collector.config.model import ConversationsConfig, TracesConfig
from collector.otlp.decode import Decoder
from collector.storage.journal import Journal
from collector.storage.mark import Attempts
from collector.storage.packing import pack
from collector.storage.records import RecordKind, SpoolRecord
from collector.storage.recovery import Recovery
from collector.storage.rows import Change
from collector.storage.spool import Spool
from collector.storage.spool_file import NAME, SpoolFile
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.harness import Life, value

UNREADABLE = {"stage": "spool", "reason": "unreadable"}
TOOLS = [data.tool(number, 1, "get_weather", at=number / 10) for number in (2, 3)]


def lost(life: Life) -> float:
    return value(life.telemetry, "dropped_spans_total", **UNREADABLE)


def restored(life: Life) -> float:
    """Spans that are accounted for as restored: each is held or queued."""
    return value(life.telemetry, "resumed_spans_total")


def killed(life: Life, row: int, times: int) -> None:
    """Some starts that were killed while they restored this row."""
    life.close()
    for _ in range(times):
        attempts = Attempts(life.folder / "spool" / f"{NAME}-recovering")
        attempts.begin(row - 1)
        attempts.begin(row)
        attempts.close()
    life.begin()


def with_open_trace(folder: Path) -> tuple[Life, int]:
    """A process with one trace open, and the row of its record."""
    life = Life(folder)
    life.send(*TOOLS)
    life.write()
    assert life.file is not None
    return life, next(row for row, _, _ in life.file.inbox())


def test_a_row_at_which_one_start_ended_is_restored(tmp_path: Path) -> None:
    life, row = with_open_trace(tmp_path)
    killed(life, row, 1)
    assert (life.resumed, lost(life)) == (1, 0)
    life.close()


def test_a_row_at_which_two_starts_ended_is_forwarded_without_a_verdict(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    life, row = with_open_trace(tmp_path)
    killed(life, row, 2)
    assert (life.resumed, lost(life), restored(life), life.queue.spans) == (0, 0, 2, 2)
    life.write()
    life.deliver()
    assert sorted(span.SerializeToString() for span in life.spans()) == sorted(s.SerializeToString() for s in TOOLS)
    assert (life.events(), life.rows()) == ([], (0, 0))
    assert f"ended 2 times while row {row} of inbox was restored" in caplog.text
    assert (tmp_path / "spool" / "quarantine" / f"inbox-{row}").exists()
    life.close()


def test_a_row_that_cannot_even_be_forwarded_is_left_out(tmp_path: Path) -> None:
    life, row = with_open_trace(tmp_path)
    killed(life, row, 3)
    assert (life.resumed, lost(life), len(life.queue)) == (0, 1, 0)
    life.write()
    assert life.rows() == (0, 0)
    life.close()


def test_a_start_that_was_ended_in_order_is_no_attempt(tmp_path: Path) -> None:
    life, row = with_open_trace(tmp_path)
    life.close()
    for _ in range(3):
        file = SpoolFile(tmp_path / "spool")
        file.attempts.begin(row)
        file.close()
    life.begin()
    assert life.resumed == 1
    life.close()


def test_damaged_rows_are_counted_and_never_forwarded(tmp_path: Path) -> None:
    life, _ = with_open_trace(tmp_path)
    life.send(data.span(9, parent=2, trace_id=b"p" * 16))
    life.write()
    assert life.file is not None
    for table, column in (("inbox", "records"), ("outbox", "payload")):
        life.file._connection.execute(f"UPDATE {table} SET {column} = zeroblob(length({column}))")
    life.crash()
    assert (life.resumed, lost(life), len(life.queue)) == (0, 3, 0)
    life.settle()
    assert (life.spans(), life.rows(), restored(life)) == ([], (0, 0), 0)
    life.close()


class Restored:
    """A spool with one record, restored into an assembler."""

    def __init__(self, folder: Path, kind: RecordKind, parts: list[bytes]) -> None:
        self.file = SpoolFile(folder, fsync=False)
        self._spool = Spool(self.file, 1 << 30, Telemetry())
        self._spool.store(kind, pack(parts))
        self.write()
        self.assembler = Assembler(TracesConfig())
        self.forwarded: list[SpoolRecord] = []

    def write(self) -> None:
        change, self._spool._pending = self._spool._pending, Change()
        self.file.apply(change)

    def run(self, read_span: Callable[[Any], Any] = dialects.read_span) -> list[bool]:
        journal = Journal(self._spool, self.assembler.is_open, 30.0)
        decoder = Decoder(dialects.ATTRIBUTES, dialects.ATTRIBUTE_PREFIXES, dialects.SCOPES)
        gaps = Gaps(Clock(wall_ns=lambda: 0), 60.0)
        conversations = Conversations(ConversationsConfig(), 1 << 20, gaps)
        filled = journal, self.assembler, conversations, RefusedTraces(SYSTEM_CLOCK, gaps), gaps
        recovery = Recovery(*filled, decoder, read_span, lambda *_: b"", self.forwarded.append, lambda: 0.0)
        return list(recovery.run())


def record_of(count: int) -> list[bytes]:
    spans = [data.tool(number, 1, "get_weather") for number in range(2, count + 2)]
    return [data.TRACE, b"", b"", b"", *(span.SerializeToString() for span in spans)]


def test_a_large_record_is_restored_in_small_steps(tmp_path: Path) -> None:
    record = Restored(tmp_path, RecordKind.SPANS, record_of(1000))
    steps = record.run()
    assert (len(record.assembler), len(steps) >= 20, any(steps)) == (1, True, False)
    record.file.close()


def test_a_record_at_which_restoring_raises_is_forwarded_and_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def read_span(_: Any) -> Any:
        raise MemoryError

    record = Restored(tmp_path, RecordKind.SPANS, record_of(3))
    assert record.run(read_span) == [False]
    record.write()
    assert ([len(each.raws) for each in record.forwarded], list(record.file.inbox())) == ([3], [])
    assert "could not be restored" in caplog.text
    record.file.close()
