"""Files that are not what they were: pipes, devices, folders, files that are too large."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collector.files import read_regular_file


def test_a_file_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(1 << 20))
    assert read_regular_file(tmp_path / "f", 1 << 20) == bytes(1 << 20)
    with pytest.raises(OSError, match="larger than 0 MiB"):
        read_regular_file(tmp_path / "f", (1 << 20) - 1)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_regular_file(tmp_path / "pipe", 100)


@pytest.mark.parametrize("path", ["/dev/zero", "/"])
def test_what_is_no_file_is_not_read(path: str) -> None:
    with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
        read_regular_file(Path(path), 100)
