"""Rows of which most is gone for a while are written anew; where that fails, they stay as they are."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.spool_files import count, delete, opened, pass_time, stored


def test_a_row_of_which_most_is_gone_for_a_while_is_written_anew(tmp_path: Path) -> None:
    file = opened(tmp_path)
    records = [*stored(file, *[1_000] * 30), *stored(file, *[1_000] * 30, first=100)]
    delete(file, *records[:29])
    (before,) = file._connection.execute("SELECT sum(length(records)) FROM inbox").fetchone()
    pass_time(file)
    (after,) = file._connection.execute("SELECT sum(length(records)) FROM inbox").fetchone()
    assert (before // 1_000, after // 1_000, count(file, "deleted")) == (60, 31, 0)
    file.close()
    file = opened(tmp_path)
    assert [row for row, _, _ in file.inbox()] == records[29:]
    delete(file, *records[29:])
    assert (count(file, "inbox"), count(file, "deleted")) == (0, 0)
    file.close()


def test_where_there_is_no_room_to_write_them_anew_they_stay(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = opened(tmp_path)
    records = stored(file, *[1_000] * 30)
    delete(file, *records[:29])
    file._connection.execute("CREATE TRIGGER full BEFORE DELETE ON deleted BEGIN SELECT RAISE(ABORT, 'no room'); END")
    with caplog.at_level(logging.WARNING):
        pass_time(file)
    assert "1 rows of the spool take more room than they need: no room" in caplog.text
    assert [row for row, _, _ in file.inbox()] == records[29:]
    file._connection.execute("DROP TRIGGER full")
    delete(file, records[29])
    assert (count(file, "inbox"), count(file, "deleted")) == (0, 0)
    file.close()
