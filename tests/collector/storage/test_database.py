"""How the spool's database is opened, and what is refused as no spool of this version."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from collector.errors import ConfigError
from collector.storage.database import FORMAT, connect, is_damage


def created(path: Path) -> Path:
    connect(path, fsync=False).close()
    return path


def test_what_it_created_is_opened_again(tmp_path: Path) -> None:
    connection = connect(created(tmp_path / "spool.db"), fsync=True)
    assert connection.execute("SELECT number FROM commits").fetchall() == [(0,)]
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL: each commit survives a power cut
    connection.close()


def test_another_process_cannot_open_what_is_open(tmp_path: Path) -> None:
    connection = connect(tmp_path / "spool.db", fsync=False)
    with pytest.raises(sqlite3.OperationalError, match="locked") as error:
        connect(tmp_path / "spool.db", fsync=False)
    assert not is_damage(error.value)
    connection.close()
    created(tmp_path / "spool.db")


@pytest.mark.parametrize(("version", "age"), [(FORMAT - 1, "an older"), (FORMAT + 1, "a newer")])
def test_another_version_is_refused_and_left_alone(tmp_path: Path, version: int, age: str) -> None:
    path = created(tmp_path / "spool.db")
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {version}")
    other.close()
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=f"written by {age} version .*let that version run until its queue is empty"):
        connect(path, fsync=False)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "spool.db")
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()
    with pytest.raises(ConfigError, match="SQLite file of another program"):
        connect(tmp_path / "spool.db", fsync=False)


def test_tables_that_somebody_changed_are_damage(tmp_path: Path) -> None:
    other = sqlite3.connect(created(tmp_path / "spool.db"))
    other.execute("ALTER TABLE outbox ADD COLUMN note")
    other.close()
    with pytest.raises(sqlite3.DatabaseError, match="somebody changed them") as error:
        connect(tmp_path / "spool.db", fsync=False)
    assert is_damage(error.value)
