"""Records share rows: whatever goes and stays, those that are left are read back, in order, and no row outlives its records."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.storage.packing import pack
from collector.storage.rows import Change, checksum
from collector.storage.spool_file import SpoolFile
from tests.spool_files import count, delete, opened, pass_time, stored

ROW = 32 << 10  # bytes


STEPS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from(["inbox", "finished"]), st.sampled_from([0, 5, 900, 20_000, 40_000]))),
        st.sets(st.integers(0, 30)),  # which of all records so far are deleted
        st.sampled_from(["", "restart", "time"]),  # what comes then
    ),
    max_size=8,
)


@settings(max_examples=60)
@given(STEPS)
def test_what_is_left_is_read_back(steps: list[tuple[list[tuple[str, int]], set[int], str]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, last, left = Path(name), 0, dict[int, tuple[str, bytes]]()
        file = opened(folder)
        for inserted, deleted, follows in steps:
            change = Change()
            for table, size in inserted:
                last += 1
                content = bytes([last % 256]) * size
                left[last] = table, content
                change.inserts[table].append((last, 3, content) if table == "inbox" else (last, content))
            for at in deleted & left.keys():
                change.deletes[left.pop(at)[0]] += [at, at]  # a second time is none
            file.apply(change)
            if follows == "restart":
                file.close()
                file = opened(folder)
            elif follows == "time":
                pass_time(file)
        of = {
            table: [(i, content) for i, (t, content) in left.items() if t == table] for table in ("inbox", "finished")
        }
        assert [(row, record) for row, _, record in file.inbox()] == of["inbox"]
        assert list(file.finished()) == of["finished"]
        change = Change()
        change.deletes |= {table: [row for row, _ in rows] for table, rows in of.items()}
        file.apply(change)
        assert [count(file, table) for table in ("inbox", "finished", "deleted")] == [0, 0, 0]
        file.close()


def test_a_record_that_stays_keeps_no_more_than_a_row_of_others(tmp_path: Path) -> None:
    file = opened(tmp_path)
    records = stored(file, *[1_000] * 320)
    assert count(file, "inbox") == 10
    (largest,) = file._connection.execute("SELECT max(length(records)) FROM inbox").fetchone()
    assert largest < ROW + 2_000
    delete(file, *records[:-1])
    assert [row for row, _, _ in file.inbox()] == records[-1:]
    assert (count(file, "inbox"), count(file, "deleted")) == (1, 1)
    file.close()


def test_a_change_that_failed_is_made_whole_when_there_is_room(tmp_path: Path) -> None:
    file = opened(tmp_path)
    records = stored(file, 10, 10, 10)
    change = Change()
    change.inserts["inbox"] = [(10, 0, bytes(1 << 20)), (11, 0, b"x")]
    change.deletes["inbox"] = records[:2]
    file._connection.execute("PRAGMA max_page_count = 8")
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError, match="full"):
            file.apply(change)
    file._connection.execute("PRAGMA max_page_count = 100000")
    file.apply(change)
    assert [row for row, _, _ in file.inbox()] == [records[2], 10, 11]
    delete(file, records[2], 10, 11)
    assert (count(file, "inbox"), count(file, "deleted")) == (0, 0)
    file.close()


@pytest.mark.parametrize("damage", ["UPDATE deleted SET ids = zeroblob(8)", "UPDATE deleted SET ids = 'x'"])
def test_where_it_is_not_known_which_are_gone_none_is_read(tmp_path: Path, damage: str) -> None:
    """A trace that has its verdict would be judged again."""
    file = opened(tmp_path)
    delete(file, *stored(file, 10, 20)[:1])
    stored(file, 30, first=3)
    file._connection.execute(damage)
    file.close()
    file = SpoolFile(tmp_path, fsync=False)
    assert list(file.inbox()) == [(2, 0, None), (3, 0, bytes(30))]
    assert {path.name for path in (tmp_path / "quarantine").iterdir()} == {"deleted-2", "inbox-2"}
    delete(file, 2, 3)
    assert (count(file, "inbox"), count(file, "deleted")) == (0, 0)
    file.close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        pack([]),
        pack([b"", b""]),
        pack([bytes(8), b"\0\0", b"one"]),
        pack([bytes(16), b"\0", b"one"]),
        pack([bytes(7), b"\0", b"one"]),
        pack([bytes(8), b"", b"one"]),
    ],
)
def test_a_row_that_nobody_can_have_written_is_left_out(tmp_path: Path, content: bytes) -> None:
    file = opened(tmp_path)
    file._connection.execute("INSERT INTO inbox VALUES (5, ?, ?)", (content, checksum("inbox", (5, content))))
    assert list(file.inbox()) == [(5, 0, None)]
    assert [path.name for path in (tmp_path / "quarantine").iterdir()] == ["inbox-5"]
    file.close()
