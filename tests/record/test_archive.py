"""The archive of recordings: what is added is found again, and the same recordings give the same bytes."""

from __future__ import annotations

import os
from pathlib import Path

from tests import recorded
from tests.record.archive import add


def recording(folder: Path, name: str, content: str) -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "truth.json").write_text(content)
    return folder / name


def test_a_recording_replaces_the_one_of_its_name(tmp_path: Path) -> None:
    packed = tmp_path / "recorded.tar.xz"
    add([recording(tmp_path / "old", "a", "1"), recording(tmp_path / "old", "b", "2")], packed)
    add([recording(tmp_path / "new", "b", "3")], packed)
    unpacked = tmp_path / "unpacked"
    recorded.unpack(unpacked, packed)
    assert {path.parent.name: path.read_text() for path in unpacked.rglob("truth.json")} == {"a": "1", "b": "3"}


def test_the_same_recordings_give_the_same_bytes(tmp_path: Path) -> None:
    one, other = recording(tmp_path / "1", "a", "1"), recording(tmp_path / "2", "a", "1")
    os.utime(other / "truth.json", (1, 1))
    (other / "truth.json").chmod(0o600)
    add([one], tmp_path / "one.xz")
    add([other], tmp_path / "other.xz")
    assert (tmp_path / "one.xz").read_bytes() == (tmp_path / "other.xz").read_bytes()
