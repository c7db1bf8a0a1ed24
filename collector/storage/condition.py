"""What the log says of a spool at its start: what of it is lost, and whether its disk has room for it."""

from __future__ import annotations

import logging

from collector.storage.spool_file import SpoolFile

_log = logging.getLogger(__name__)


def tell_condition(file: SpoolFile, max_bytes: int) -> bool:
    """Log what was found by its check. Returns whether something is lost."""
    if file.damaged is not None:
        _log.error(
            "the spool was damaged: %s; moved to %s and recreated empty; what it held is not delivered: mend it, stop the "
            "collector and put it back, or delete it", file.damage, file.damaged,
        )  # fmt: skip
    if file.missing:
        _log.error(
            "the last %d transactions of the spool are missing, its log was damaged, cut or removed: what was "
            "acknowledged in them is lost", file.missing,
        )  # fmt: skip
    if file.room < max_bytes:
        _log.warning(
            "the spool may grow to %d MiB, and its disk has room for %d, beside the %d that delivering takes: requests are "
            "refused from there on; lower spool.max_size_mib or enlarge the disk",
            max_bytes >> 20, max(0, file.room) >> 20, file.kept_free >> 20,
        )  # fmt: skip
    return file.damaged is not None or bool(file.missing)
