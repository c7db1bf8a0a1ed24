"""Rows of the spool of which most records are gone are written anew without these."""

from __future__ import annotations

import logging
import sqlite3

from collector.storage.rows import INSERTS, SELECTS, VALUES, is_sound, with_checksums
from collector.storage.shared_rows import SharedRow, SharedRows, without

_log = logging.getLogger(__name__)


def condense(connection: sqlite3.Connection, shared: SharedRows) -> None:
    """Write some rows anew, if any are sparse for long, in a transaction of their own. Where it fails they stay as they are."""
    rows = shared.take_sparse()
    if not rows:
        return
    try:
        connection.execute("BEGIN IMMEDIATE")
        written = [row for row in rows if _write_anew(connection, row)]
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.rollback()
        _log.warning("%d rows of the spool take more room than they need: %s", len(rows), error)
    else:
        shared.condensed(written)


def _write_anew(connection: sqlite3.Connection, row: SharedRow) -> bool:
    found = connection.execute(f"{SELECTS[row.table]} WHERE id = ?", (row.id,)).fetchone()
    if found is None or not is_sound(row.table, found):
        return False  # damage is found when it is read at a start
    dense = (row.id, without(found[1], row.deleted))
    connection.execute(f"DELETE FROM {row.table} WHERE id = ?", (row.id,))  # noqa: S608 - our own names
    connection.execute(f"{INSERTS[row.table]} VALUES {VALUES[row.table]}", with_checksums(row.table, [dense]))
    connection.execute("DELETE FROM deleted WHERE id = ?", (row.id,))
    return True
