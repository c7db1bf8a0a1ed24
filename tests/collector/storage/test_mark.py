"""A small record that outlives the process, and what recovery counts with it."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector.storage.mark import Attempts, Mark

LAYOUT = "<QB"


def written(path: Path, *values: int) -> None:
    mark = Mark(path, LAYOUT)
    mark.write(*values)
    mark.close()


def read(path: Path) -> tuple[int, ...] | None:
    mark = Mark(path, LAYOUT)
    found = mark.read()
    mark.close()
    return found


def test_what_was_written_last_is_read_by_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    assert read(path) is None
    written(path, 2**64 - 1, 255)
    written(path, 7, 0)
    assert read(path) == (7, 0)
    assert path.stat().st_size == struct.calcsize(LAYOUT) + 4, "overwritten in place"


def test_only_its_user_may_read_it(tmp_path: Path) -> None:
    written(tmp_path / "mark", 1, 1)
    assert (tmp_path / "mark").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_where_the_disk_is_full_recovery_goes_on_without_it(tmp_path: Path) -> None:
    (tmp_path / "mark").symlink_to("/dev/full")
    attempts = Attempts(tmp_path / "mark")
    assert [attempts.begin(7), attempts.begin(8)] == [0, 0]
    attempts.end()
    attempts.close()


def test_every_damaged_bit_and_every_missing_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    written(path, 0x0123456789ABCDEF, 3)
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert read(path) is None
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert read(path) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=20))
def test_a_file_of_anything_can_be_overwritten(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mark").write_bytes(content)
    written(tmp_path / "mark", 5, 6)
    assert read(tmp_path / "mark") == (5, 6)


def test_a_mark_may_be_closed_twice(tmp_path: Path) -> None:
    mark = Mark(tmp_path / "mark", LAYOUT)
    mark.close()
    mark.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        mark.write(1, 1)


def test_a_folder_that_is_gone_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Mark(tmp_path / "gone" / "mark", LAYOUT)
    assert os.listdir(tmp_path) == []


def starts(path: Path, *rows: int) -> list[int]:
    """What each of several starts is told, each of which ends at its row."""
    told = []
    for row in rows:
        attempts = Attempts(path)
        told.append(attempts.begin(row))
        attempts.close()
    return told


def test_starts_that_end_at_the_same_row_one_after_the_other_are_counted(tmp_path: Path) -> None:
    assert starts(tmp_path / "a", 4, 4, 4, 5, 4, 4) == [0, 1, 2, 0, 0, 1]


def test_a_start_that_got_further_ended_not_at_the_row_before(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path / "a")
    assert [attempts.begin(row) for row in (1, 2, 3)] == [0, 0, 0]
    attempts.close()
    assert starts(tmp_path / "a", 3) == [1]
    assert starts(tmp_path / "a", 2) == [0]


def test_rows_that_are_noted_together_are_told_apart_by_the_next_start(tmp_path: Path) -> None:
    def ended_after(*rows: int) -> list[int]:
        attempts = Attempts(tmp_path / "a")
        told = [attempts.begin(row) for row in rows]
        attempts.close()
        return told

    assert ended_after(7, 8, 9) == [0, 0, 0], "at 9, which is noted as one of those from 7 on"
    assert ended_after(7, 8, 9) == [1, 1, 1], "at 9 again, which is noted alone"
    assert ended_after(7, 8, 9, 10) == [0, 0, 2, 0], "9 is left out, and the start ends at 10"
    assert ended_after(9, 10, 26) == [0, 1, 0], "those from 10 on were noted together again"


def test_a_file_of_the_version_that_noted_single_rows_counts_as_none(tmp_path: Path) -> None:
    mark = Mark(tmp_path / "a", "<qB")
    mark.write(4, 1)
    mark.close()
    assert starts(tmp_path / "a", 4, 4) == [0, 1]


def test_a_start_that_restored_all_counts_as_none(tmp_path: Path) -> None:
    starts(tmp_path / "a", 4, 4)
    attempts = Attempts(tmp_path / "a")
    attempts.begin(4)
    attempts.end()
    attempts.close()
    assert starts(tmp_path / "a", 4) == [0]


def test_a_damaged_count_begins_anew(tmp_path: Path) -> None:
    starts(tmp_path / "a", 4, 4)
    (tmp_path / "a").write_bytes(b"damaged")
    assert starts(tmp_path / "a", 4, 4) == [0, 1]


def test_more_starts_than_a_byte_counts_stay_many(tmp_path: Path) -> None:
    assert starts(tmp_path / "a", *[9] * 300)[-1] == 255


def test_a_damaged_row_may_have_any_number(tmp_path: Path) -> None:
    assert starts(tmp_path / "a", -(2**63), -1, -1, 2**63 - 1) == [0, 0, 1, 0]
