"""What was counted, in one small file beside the spool, so that a restart does not begin a new week.

It is replaced as a whole every few minutes. What a crash loses of it are some of the runs, which were as likely as any; a file
that cannot be read is begun anew.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import sys
import zlib
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from collector.drift.comparison import MAX_FACTS, Counts, Fact
from collector.drift.stream import MAX_STREAMS, Stream
from collector.drift.versions import MAX_VERSIONS, Version
from collector.files import read_regular_file

_log = logging.getLogger(__name__)

NAME: Final = "drift.json"
MAX_BYTES: Final = 64 << 20
"""A larger file is not ours."""
_FORMAT: Final = 1
_WIDTH: Final = 4 * (1 + MAX_FACTS)
_MAX_STREAM: Final = _WIDTH * 2_048  # hours


class _Packed(NamedTuple):
    description: dict[str, Any]
    counts: bytes


class DriftState:
    """The file in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME

    def pack(self, streams: Mapping[tuple[str, str], Stream]) -> list[_Packed]:
        """Returns a copy of what was counted, quickly."""
        packed = []
        for (route, agent), stream in streams.items():
            facts = [None if fact is None else [fact.name, fact.born, fact.since] for fact in stream.facts]
            description = {"route": route, "agent": agent, "facts": facts, "refused": stream.refused}
            versions = stream.versions.known.values()
            description["hours"] = list(stream.hours)
            description["versions"] = [[one.name, one.born, one.against, list(one.hours)] for one in versions]
            counted = [*stream.hours.values(), *(counts for one in versions for counts in one.hours.values())]
            counts = b"".join([array("I", [one.runs]).tobytes() + one.hits.tobytes() for one in counted])
            packed.append(_Packed(description, counts))
        return packed

    def save(self, packed: list[_Packed]) -> None:
        """Write it. What cannot be written is logged."""
        streams = [
            {**one.description, "counts": base64.b64encode(zlib.compress(one.counts, 1)).decode()} for one in packed
        ]
        new = self.path.with_suffix(".new")
        try:
            new.touch(0o600)  # as all files beside it
            with new.open("w", encoding="utf-8") as file:
                file.write(json.dumps({"format": [_FORMAT, sys.byteorder], "streams": streams}))
                file.flush()
                # Before the rename: after a power cut the name must not stand for a file that was never written out.
                os.fsync(file.fileno())
            new.replace(self.path)
        except OSError as error:
            _log.warning("drift: %s cannot be written: %s", self.path, error)

    def load(self, baseline: int) -> dict[tuple[str, str], Stream]:
        """Returns what was saved; nothing, and a line in the log, where that is no longer readable."""
        try:
            data = json.loads(read_regular_file(self.path, MAX_BYTES))
            if data["format"] != [_FORMAT, sys.byteorder]:
                raise ValueError("it was written by another version")
            return {
                (str(one["route"]), str(one["agent"])): _stream(one, baseline) for one in data["streams"][:MAX_STREAMS]
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, LookupError, OverflowError, RecursionError, zlib.error) as error:
            _log.warning("drift: %s is begun anew: %s", self.path, error or type(error).__name__)
            return {}


def _stream(saved: Mapping[str, Any], baseline: int) -> Stream:
    unpacked = zlib.decompressobj()
    raw = unpacked.decompress(base64.b64decode(saved["counts"]), _MAX_STREAM)
    facts = [None if fact is None else Fact(*fact) for fact in saved["facts"]]
    versions = saved.get("versions", ())[:MAX_VERSIONS]
    numbers = array("I", raw)
    width = 1 + MAX_FACTS
    of_hours = iter([Counts(numbers[at], numbers[at + 1 : at + width]) for at in range(0, len(numbers), width)])
    hours = [saved["hours"], *(one[3] for one in versions)]
    if len(raw) != _WIDTH * sum(map(len, hours)) or len(facts) != MAX_FACTS:
        raise ValueError("it is damaged")
    counted, *by_version = [{int(hour): next(of_hours) for hour in group} for group in hours]
    stream = Stream(baseline)
    known = []
    for (name, born, against, _), counts in zip(versions, by_version, strict=True):
        # What is compared is made again from the hours: it begins with the first.
        known.append(Version(str(name), int(born), against, counts, paired=int(born)))
    stream.restore(counted, facts, int(saved["refused"]), known)
    return stream
