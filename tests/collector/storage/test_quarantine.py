"""What the spool cannot read is copied for whoever looks into it, within bounds, and never over an older copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.storage import quarantine
from collector.storage.quarantine import Quarantine, aside


def test_a_copy_is_what_was_in_the_row_and_for_its_owner_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = Quarantine(tmp_path / "quarantine")
    bad.add("inbox", 7, b"\x00raw")
    bad.add("outbox", 8, "not bytes")
    copies = {path.name: path for path in (tmp_path / "quarantine").iterdir()}
    assert {name: path.read_bytes() for name, path in copies.items()} == {
        "inbox-7": b"\x00raw",
        "outbox-8": b"not bytes",
    }
    assert [path.stat().st_mode & 0o077 for path in (tmp_path / "quarantine", *copies.values())] == [0, 0, 0]
    assert f"row 7 of inbox in the spool (4 bytes) is left out; a copy is in {copies['inbox-7']}" in caplog.text


def test_it_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(quarantine, "_MAX_FILES", 2)
    for bad in (Quarantine(tmp_path / "files"), Quarantine(tmp_path / "files")):
        for row in range(5):
            bad.add("inbox", row, b"x")
    assert len(list((tmp_path / "files").iterdir())) == 2
    assert len(caplog.records) == 3 + 1, "then it says that it is full"
    monkeypatch.setattr(quarantine, "_MAX_BYTES", 10)
    Quarantine(tmp_path / "bytes").add("inbox", 1, bytes(11))
    assert list((tmp_path / "bytes").iterdir()) == []


def test_without_a_folder_to_write_to_the_log_says_why(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "quarantine").write_text("a file is where the folder would be")
    Quarantine(tmp_path / "quarantine").add("inbox", 7, b"x")
    assert "row 7 of inbox in the spool (1 bytes) is left out; no copy could be made: File exists" in caplog.text


def test_three_damaged_files_are_kept_and_a_fourth_replaces_the_last(tmp_path: Path) -> None:
    names = []
    for _ in range(4):
        names.append(aside(tmp_path / "spool.db"))
        names[-1].touch()
    assert [name.name for name in names] == [
        "spool.db.damaged", "spool.db.damaged-2", "spool.db.damaged-3", "spool.db.damaged-3",
    ]  # fmt: skip
