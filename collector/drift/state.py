"""What was counted, in one small file beside the spool, so that a restart does not begin a new week.

It is replaced as a whole every few minutes. What a crash loses of it are some of the runs, which were as likely as any; a file
that cannot be read is begun anew.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import sys
import zlib
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from collector.drift.stream import MAX_FACTS, MAX_STREAMS, Counts, Fact, Stream
from collector.files import read_regular_file

_log = logging.getLogger(__name__)

NAME: Final = "drift.json"
MAX_BYTES: Final = 64 << 20
"""A larger file is not ours."""
_FORMAT: Final = 1
_WIDTH: Final = 4 * (1 + MAX_FACTS)
_MAX_STREAM: Final = _WIDTH * 1_024  # hours


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
            counts = b"".join([array("I", [one.runs]).tobytes() + one.hits.tobytes() for one in stream.hours.values()])
            packed.append(_Packed({**description, "hours": list(stream.hours)}, counts))
        return packed

    def save(self, packed: list[_Packed]) -> None:
        """Write it. What cannot be written is logged."""
        streams = [
            {**one.description, "counts": base64.b64encode(zlib.compress(one.counts, 1)).decode()} for one in packed
        ]
        new = self.path.with_suffix(".new")
        try:
            new.write_text(json.dumps({"format": [_FORMAT, sys.byteorder], "streams": streams}), "utf-8")
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
        except (OSError, ValueError, TypeError, KeyError, RecursionError, zlib.error, binascii.Error) as error:
            _log.warning("drift: %s is begun anew: %s", self.path, error or type(error).__name__)
            return {}


def _stream(saved: Mapping[str, Any], baseline: int) -> Stream:
    unpacked = zlib.decompressobj()
    raw = unpacked.decompress(base64.b64decode(saved["counts"]), _MAX_STREAM)
    hours, facts = saved["hours"], [None if fact is None else Fact(*fact) for fact in saved["facts"]]
    if len(raw) != _WIDTH * len(hours) or len(facts) != MAX_FACTS:
        raise ValueError("it is damaged")
    counted = {}
    for at, hour in enumerate(hours):
        numbers = array("I", raw[at * _WIDTH : (at + 1) * _WIDTH])
        counted[int(hour)] = Counts(numbers[0], numbers[1:])
    stream = Stream(baseline)
    stream.restore(counted, facts, int(saved["refused"]))
    return stream
