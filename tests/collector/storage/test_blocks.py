"""Rows in blocks: whatever is stored, deleted and damaged, what is read is what one row each would give."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from collector.storage import blocks
from collector.storage.spool_file import Change, SpoolFile


def stored(folder: Path, rows: dict[int, bytes]) -> SpoolFile:
    file = SpoolFile(folder, fsync=False)
    change = Change()
    change.inserts["inbox"] = [(row, row % 5, content) for row, content in rows.items()]
    file.apply(change)
    return file


def delete(file: SpoolFile, *rows: int) -> None:
    change = Change()
    change.deletes["inbox"] = list(rows)
    file.apply(change)


def read(file: SpoolFile) -> dict[int, bytes | None]:
    return {row: content for row, _, content in file.inbox()}


def in_file(file: SpoolFile, table: str) -> int:
    (count,) = file._connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(count)


def commit(file: SpoolFile, times: int, begin: int = 1000) -> None:
    for number in range(begin, begin + times):
        change = Change()
        change.inserts["outbox"] = [(number, "logs", 1, b"event")]
        file.apply(change)


def test_what_was_deleted_from_a_block_is_gone_after_opening_again(tmp_path: Path) -> None:
    file = stored(tmp_path, {1: b"one", 2: b"two", 3: b"three"})
    delete(file, 2)
    file.close()
    file = SpoolFile(tmp_path)
    assert list(file.inbox()) == [(1, 1, b"one"), (3, 3, b"three")]
    delete(file, 2, 3)
    assert (read(file), in_file(file, "inbox"), in_file(file, "gone")) == ({1: b"one"}, 1, 1)
    delete(file, 1)
    assert (read(file), in_file(file, "inbox"), in_file(file, "gone")) == ({}, 0, 0)
    file.close()


def test_a_change_that_fails_has_deleted_nothing(tmp_path: Path) -> None:
    file = stored(tmp_path, {1: b"one", 2: b"two"})
    change = Change()
    change.deletes["inbox"] = [1]
    change.inserts["outbox"] = [(4, "logs", 1, b"a"), (4, "logs", 1, b"an id that is taken")]
    with pytest.raises(sqlite3.Error):
        file.apply(change)
    delete(file, 2)
    assert read(file) == {1: b"one"}
    file.close()


def test_a_block_that_stays_half_deleted_is_written_anew_without_what_is_gone(tmp_path: Path) -> None:
    file = stored(tmp_path, {row: bytes([row]) * 20_000 for row in range(1, 7)})
    used = file.used()
    delete(file, 1, 2, 4)
    commit(file, blocks._SPARSE_FOR - 2)
    assert in_file(file, "gone") == 1
    commit(file, 3, 2000)
    assert (in_file(file, "gone"), in_file(file, "inbox")) == (0, 1)
    assert file.used() < used - 40_000
    left = {row: bytes([row]) * 20_000 for row in (3, 5, 6)}
    assert read(file) == left
    file.close()
    file = SpoolFile(tmp_path)
    assert read(file) == left
    delete(file, 3, 5, 6)
    assert in_file(file, "inbox") == 0
    file.close()


def test_a_block_of_which_more_is_deleted_later_is_looked_at_again(tmp_path: Path) -> None:
    file = stored(tmp_path, dict.fromkeys(range(1, 5), b"x"))
    delete(file, 1)
    commit(file, blocks._SPARSE_FOR + 2)
    assert in_file(file, "gone") == 1
    delete(file, 2)
    commit(file, blocks._SPARSE_FOR + 2, 2000)
    assert (in_file(file, "gone"), read(file)) == (0, {3: b"x", 4: b"x"})
    file.close()


def test_a_damaged_row_costs_no_other_and_is_still_found_after_its_block_was_to_be_written_anew(tmp_path: Path) -> None:
    file = stored(tmp_path, {1: b"first", 2: b"second", 3: b"third"})
    file._connection.execute("UPDATE inbox SET block = CAST(replace(block, 'second', 'sEcond') AS BLOB)")
    delete(file, 1, 3)
    commit(file, blocks._SPARSE_FOR + 2)
    assert read(file) == {2: None}
    assert (tmp_path / "quarantine" / "inbox-2").read_bytes() == b"sEcond"
    file.close()


def test_a_damaged_note_of_what_is_deleted_brings_it_back_and_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = stored(tmp_path, {1: b"one", 2: b"two"})
    delete(file, 1)
    file._connection.execute("UPDATE gone SET ids = zeroblob(8)")
    file.close()
    file = SpoolFile(tmp_path)
    assert read(file) == {1: b"one", 2: b"two"}
    assert "row 1 of gone in the spool" in caplog.text
    file.close()


@pytest.mark.parametrize(
    "change",
    [
        "block = x'00'",
        "block = 'text'",
        "last = 3",
        "last = 1.5",
        "last = 'text'",
        "last = 0",
        "id = 7",
        "checksum = 1",
        "checksum = 'text'",
        "checksum = x'00'",
    ],
)
def test_a_block_whose_head_is_damaged_is_one_lost_row_that_can_be_deleted(tmp_path: Path, change: str) -> None:
    file = stored(tmp_path, {1: b"one", 2: b"two"})
    file._connection.execute(f"UPDATE inbox SET {change}")
    file.close()
    file = SpoolFile(tmp_path)
    (row,) = read(file)
    assert read(file) == {row: None}
    assert file.last_id() >= row, "the id is not given again"
    assert isinstance(file.last_id(), int)
    delete(file, row)
    assert (read(file), in_file(file, "inbox")) == ({}, 0)
    file.close()


@pytest.mark.parametrize("seed", range(8))
def test_blocks_hold_what_single_rows_would(tmp_path: Path, seed: int) -> None:
    choice = random.Random(seed)
    file, expected, last = SpoolFile(tmp_path, fsync=False), dict[str, dict[int, bytes]](inbox={}, finished={}), 0
    for number in range(2 * blocks._SPARSE_FOR + 50):
        change = Change()
        for table, rows in expected.items():
            for _ in range(choice.choice([0, 1, 5, 230])):
                last += choice.randint(1, 3)
                content = choice.randbytes(choice.choice([0, 10, 1000]))
                change.inserts[table].append((last, 0, content) if table == "inbox" else (last, content))
                rows[last] = content
            change.deletes[table] = choice.sample(sorted(rows), len(rows) // choice.randint(1, 8))
            for row in change.deletes[table]:
                del rows[row]
        file.apply(change)
        if number % 70 == 60:
            file.close()
            file = SpoolFile(tmp_path, fsync=False)
            assert {row: content for row, _, content in file.inbox()} == expected["inbox"]
            assert dict(file.finished()) == expected["finished"]
    assert read(file) == expected["inbox"]
    assert dict(file.finished()) == expected["finished"]
    file.close()
