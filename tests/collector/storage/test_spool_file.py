"""The spool's file: all or nothing, and a sentence for everything that can be wrong with it at start."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.errors import ConfigError
from collector.storage.compression import compress
from collector.storage.rows import Change, checksum
from collector.storage.spool import Spool
from collector.storage.spool_file import NAME, SpoolFile
from collector.telemetry.metrics import Telemetry
from tests.harness import value
from tests.sqlite_files import TELLS_TEMPORARY_FILES, temporary_files

REQUEST, EVENT = compress(b"request"), compress(b"event")


def noise(size: int) -> bytes:
    """What cannot be compressed."""
    return random.Random(size).randbytes(size)


def filled(folder: Path) -> SpoolFile:
    file = SpoolFile(folder)
    change = Change()
    change.inserts["inbox"] = [(1, 0, b"spans"), (2, 0, b"more")]
    change.inserts["finished"] = [(3, b"mark")]
    change.inserts["outbox"] = [(4, "traces", 7, REQUEST), (5, "logs", 1, EVENT)]
    file.apply(change)
    return file


def test_what_was_applied_is_there_after_opening_again(tmp_path: Path) -> None:
    filled(tmp_path).close()
    file = SpoolFile(tmp_path)
    assert list(file.inbox()) == [(1, 0, b"spans"), (2, 0, b"more")]
    assert list(file.finished()) == [(3, b"mark")]
    assert list(file.outbox()) == [(4, "traces", 7, 7), (5, "logs", 1, 5)]
    assert (file.last_id(), file.payload(4), file.payload(99)) == (5, REQUEST, None)
    file.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_mark_for_which_the_disk_has_no_room_does_not_prevent_the_start(tmp_path: Path) -> None:
    filled(tmp_path).close()
    mark = tmp_path / f"{NAME}-commits"
    mark.unlink()
    mark.symlink_to("/dev/full")
    file = SpoolFile(tmp_path)
    file.check()
    assert len(list(file.inbox())) == 2
    file.close()


def test_rows_are_deleted_after_what_comes_in_the_same_change_is_inserted(tmp_path: Path) -> None:
    file = filled(tmp_path)
    change = Change()
    change.inserts["inbox"] = [(6, 0, b"short-lived")]
    change.deletes["inbox"] = [1, 6, 12345]
    file.apply(change)
    assert [row for row, _, _ in file.inbox()] == [2]
    file.close()


def test_a_change_is_applied_whole_or_not_at_all(tmp_path: Path) -> None:
    file = filled(tmp_path)
    change = Change()
    change.inserts["inbox"] = [(7, 0, b"new")]
    change.inserts["outbox"] = [(4, "traces", 1, b"an id that is taken")]
    with pytest.raises(sqlite3.Error):
        file.apply(change)
    assert [row for row, _, _ in file.inbox()] == [1, 2]
    file.close()


def test_a_full_disk_raises_and_the_next_change_works_when_there_is_room(tmp_path: Path) -> None:
    file = filled(tmp_path)
    file._connection.execute("PRAGMA max_page_count = 6")
    change = Change()
    change.inserts["outbox"] = [(8, "traces", 1, noise(1 << 20))]
    with pytest.raises(sqlite3.OperationalError, match="full"):
        file.apply(change)
    file._connection.execute("PRAGMA max_page_count = 100000")
    used = file.apply(change)
    assert used > 1 << 20
    file.close()


@pytest.mark.parametrize("content", [b"", b"\x07\0\0\0", b"request", b"\xff\xff\xff\x7f" + bytes(9)])
def test_a_row_that_says_to_be_larger_than_it_can_be_is_left_out(tmp_path: Path, content: bytes) -> None:
    file, row = SpoolFile(tmp_path), (4, "traces", 7, content)
    file._connection.execute("INSERT INTO outbox VALUES (?, ?, ?, ?, ?)", (*row, checksum("outbox", row)))
    assert list(file.outbox()) == [(4, "", 0, None)]
    file.close()


def test_freed_rows_do_not_count_as_used(tmp_path: Path) -> None:
    file = SpoolFile(tmp_path)
    change, gone = Change(), Change()
    change.inserts["outbox"] = [(1, "traces", 1, noise(4 << 20))]
    gone.deletes["outbox"] = [1]
    assert file.apply(change) > 4 << 20
    assert file.apply(gone) < 1 << 20
    file.close()


def test_only_its_user_may_read_it(tmp_path: Path) -> None:
    file = filled(tmp_path / "deep" / "folder")
    assert (tmp_path / "deep" / "folder" / NAME).stat().st_mode & 0o777 == 0o600
    file.close()


def test_two_collectors_cannot_share_a_spool(tmp_path: Path) -> None:
    file = SpoolFile(tmp_path)
    with pytest.raises(ConfigError, match="in use by another process; every collector needs a folder of its own"):
        SpoolFile(tmp_path)
    file.close()
    SpoolFile(tmp_path).close()


def no_database(path: Path) -> None:
    path.write_bytes(b"this was a spool once" * 1000)


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 3 * 16384 // 2])


def overwritten(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[16384 * 1 : 16384 * 4] = b"\xa5" * (16384 * 3)
    path.write_bytes(bytes(whole))


@pytest.mark.parametrize("damage", [no_database, torn, overwritten])
def test_a_damaged_spool_is_moved_aside_and_begun_anew(tmp_path: Path, damage: object) -> None:
    filled(tmp_path).close()
    damage(tmp_path / NAME)  # type: ignore[operator]
    file = SpoolFile(tmp_path)
    file.check()
    assert file.damaged == tmp_path / f"{NAME}.damaged"
    assert file.damaged.exists()
    assert list(file.outbox()) == []
    file.close()
    file = SpoolFile(tmp_path)
    file.check()
    assert (file.damaged, file.missing) == (None, 0), "the new file is sound"
    file.close()


@pytest.mark.parametrize(
    "statements",
    [
        "DROP TABLE finished",
        "ALTER TABLE outbox RENAME TO sent",
        "ALTER TABLE inbox RENAME COLUMN records TO content",
        "ALTER TABLE outbox ADD COLUMN note",
        "ALTER TABLE outbox DROP COLUMN items",
        "DROP TABLE outbox; CREATE TABLE outbox (id TEXT, signal BLOB, items TEXT, payload TEXT, checksum TEXT)",
        "ALTER TABLE outbox RENAME TO hidden; CREATE VIEW outbox AS SELECT * FROM hidden WHERE items > 100",
        "CREATE TRIGGER drain AFTER INSERT ON outbox BEGIN DELETE FROM outbox; END",
        "CREATE INDEX by_signal ON outbox (signal)",
        "CREATE TABLE more (id)",
    ],
)
def test_a_spool_of_which_somebody_changed_the_tables_is_moved_aside_and_that_is_said(
    tmp_path: Path, statements: str, caplog: pytest.LogCaptureFixture
) -> None:
    filled(tmp_path).close()
    other = sqlite3.connect(tmp_path / NAME)
    other.executescript(statements)
    other.close()
    changed = (tmp_path / NAME).read_bytes()

    async def start() -> float | None:
        telemetry = Telemetry()
        spool = Spool(SpoolFile(tmp_path), 1 << 20, telemetry)
        await spool.check()
        assert list(spool.outbox()) == []
        await spool.shutdown()
        return value(telemetry, "spool_failures_total")

    assert asyncio.run(start()) == 1
    aside = tmp_path / f"{NAME}.damaged"
    assert aside.read_bytes() == changed
    (said,) = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert "somebody changed them" in said
    assert f"moved to {aside}" in said


def test_damaged_files_are_kept_beside_each_other_up_to_three(tmp_path: Path) -> None:
    aside = []
    for number in range(4):
        (tmp_path / NAME).write_bytes(b"no database %d" % number * 1_000)
        file = SpoolFile(tmp_path)
        file.check()
        assert file.damaged is not None
        aside.append(file.damaged.name)
        file.close()
    assert aside == [f"{NAME}.damaged", f"{NAME}.damaged-2", f"{NAME}.damaged-3", f"{NAME}.damaged-3"]
    assert [path.read_bytes()[:13] for path in sorted(tmp_path.glob("*.damaged*"))] == [
        b"no database 0", b"no database 1", b"no database 3",
    ]  # fmt: skip


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"spool: .* cannot be written: (Not a directory|File exists)"):
        SpoolFile(tmp_path / "file")


def copied(file: SpoolFile, folder: Path) -> SpoolFile:
    """What a process finds that starts after this one was killed."""
    shutil.copytree(file.path.parent, folder)
    again = SpoolFile(folder)
    again.check()
    return again


def deleted(folder: Path) -> None:
    shutil.rmtree(folder)


def moved(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def without_its_log(folder: Path) -> None:
    (folder / f"{NAME}-wal").unlink()


def without_its_mark(folder: Path) -> None:
    (folder / f"{NAME}-commits").unlink()


@pytest.mark.parametrize("happens", [deleted, moved, without_its_log, without_its_mark])
def test_a_file_that_is_gone_while_it_is_open_is_written_anew(
    happens: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = filled(tmp_path / "spool")
    happens(tmp_path / "spool")
    change = Change()
    change.inserts["inbox"] = [(6, 0, b"after that")]
    file.apply(change)
    assert "was deleted or moved while in use; the spool was written anew" in caplog.text
    caplog.clear()
    file.apply(Change())
    assert caplog.text == "", "it is in place"
    after = copied(file, tmp_path / "copy")
    assert (list(after.inbox()), after.payload(4)) == (
        [(1, 0, b"spans"), (2, 0, b"more"), (6, 0, b"after that")],
        REQUEST,
    )
    assert (after.damaged, after.missing, after.last_id()) == (None, 0, 6)
    assert (tmp_path / "spool" / NAME).stat().st_mode & 0o777 == 0o600
    after.close()
    file.close()


def test_a_file_replaced_while_it_is_open_is_left_alone_and_nothing_is_written(tmp_path: Path) -> None:
    file = filled(tmp_path / "spool")
    moved(tmp_path / "spool")
    SpoolFile(tmp_path / "spool").close()
    change = Change()
    change.inserts["inbox"] = [(6, 0, b"after that")]
    with pytest.raises(sqlite3.OperationalError, match="was replaced by another file; move that away"):
        file.apply(change)
    moved_too = tmp_path / "the other"
    (tmp_path / "spool").rename(moved_too)
    file.apply(change)
    after = copied(file, tmp_path / "copy")
    assert [row[0] for row in after.inbox()] == [1, 2, 6]
    after.close()
    file.close()


def test_an_empty_change_finds_out_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = filled(tmp_path / "spool")
    deleted(tmp_path / "spool")
    file.apply(Change())
    assert "written anew" in caplog.text
    file.close()


@pytest.mark.parametrize("kept", [0, 100, 40_000])
def test_a_log_that_was_cut_or_removed_is_said_to_miss_its_last_transactions(tmp_path: Path, kept: int) -> None:
    file = filled(tmp_path / "spool")
    shutil.copytree(tmp_path / "spool", tmp_path / "killed")
    os.truncate(tmp_path / "killed" / f"{NAME}-wal", kept)
    after = SpoolFile(tmp_path / "killed")
    after.check()
    assert (after.missing, list(after.inbox())) == (1, [])
    assert (tmp_path / "killed" / f"{NAME}-wal.damaged").stat().st_size == kept
    after.close()
    after = SpoolFile(tmp_path / "killed")
    after.check()
    assert after.missing == 0, "it is said once"
    after.close()
    file.close()


@pytest.mark.parametrize(
    "change", ["payload = x'00'", "payload = 'text'", "signal = 'logs'", "items = 8", "id = 7", "checksum = 1"]
)
def test_a_row_that_is_not_what_was_written_is_left_out_wherever_it_is_read(
    tmp_path: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = filled(tmp_path)
    file._connection.execute(f"UPDATE outbox SET {change} WHERE id = 4")
    row = 7 if change.startswith("id") else 4
    assert {row[0]: row[3] for row in file.outbox()} == {row: None, 5: 5}
    assert (file.payload(row), file.payload(5)) == (None, EVENT)
    assert f"row {row} of outbox in the spool" in caplog.text
    assert (tmp_path / "quarantine" / f"outbox-{row}").exists()
    file.close()


@pytest.mark.parametrize(
    "columns", [(-4, "traces", 7, REQUEST), (4, "traces", -7, REQUEST), (4, "traces", "text", REQUEST)]
)
def test_a_row_that_nobody_can_have_written_is_left_out_whatever_its_checksum_says(
    tmp_path: Path, columns: tuple[int, str, int, bytes]
) -> None:
    file = SpoolFile(tmp_path)
    row = (*columns, checksum("outbox", columns))
    file._connection.execute("INSERT INTO outbox VALUES (?, ?, ?, ?, ?)", row)
    assert [(found[0], found[3]) for found in file.outbox()] == [(columns[0], None)]
    assert file.payload(columns[0]) is None
    file.close()


def test_rows_are_written_and_deleted_in_few_statements(tmp_path: Path) -> None:
    file, statements = SpoolFile(tmp_path, fsync=False), list[str]()
    file._connection.set_trace_callback(statements.append)
    change, gone, large = Change(), Change(), Change()
    change.inserts["inbox"] = [(number, 0, b"x") for number in range(1, 402)]
    change.inserts["outbox"] = [(number, "traces", 1, REQUEST) for number in range(500, 901)]
    gone.deletes["inbox"], gone.deletes["outbox"] = list(range(1, 401)), list(range(500, 900))
    large.inserts["outbox"] = [(number, "logs", 1, compress(noise(800 << 10))) for number in range(901, 905)]
    for each in (change, gone, large):
        file.apply(each)
    assert [row for row, _, _ in file.inbox()] == [401]
    assert [row[0] for row in file.outbox()] == [900, *range(901, 905)]
    begun = [statement.split(" VALUES")[0].split(" WHERE")[0] for statement in statements]
    assert begun.count("INSERT INTO inbox") == begun.count("DELETE FROM inbox") == 1, "records share rows"
    assert begun.count("INSERT INTO outbox") == 3 + 4, "no more than a MiB in one of them"
    assert begun.count("DELETE FROM outbox") == 2
    file.close()


@TELLS_TEMPORARY_FILES
def test_no_temporary_file_is_opened(tmp_path: Path) -> None:
    """SQLite notes what a statement changes, in case it fails: where nothing but the folder can be written, that failed."""
    file, found = SpoolFile(tmp_path, fsync=False), list[str]()
    change, more = Change(), Change()
    change.inserts["inbox"] = [(2 * number, 0, bytes(2_000)) for number in range(200)]
    # On pages that are there already.
    more.inserts["inbox"] = [(2 * number + 1, 0, bytes(200)) for number in range(200)]
    file.apply(change)
    file._connection.set_trace_callback(lambda _: found.extend(temporary_files()))
    file.apply(more)
    assert found == []
    file.close()
